// What a master of the AXI4 port must not do, watched and counted.
//
// Breaches: 0 AR changed or withdrawn, 1 AW, 2 W; 3 a burst that is none of ours; 4 a burst across 4 KiB; 5 strobes
// before the burst's first byte or with gaps, or bytes left out before the last beat; 6 `wlast` in the wrong place; 7 a
// beat before its address is offered, or anything that is offered in reset or before the first edge after it.

`default_nettype none
`timescale 1ns / 1ps

module axi_rules #(
    parameter int DataBits = 64,
    parameter int IdBits = 0,
    parameter int MasterIdBits = 0  // the low bits of an ID are those of a DMA, which has three; 0: any ID may come
) (
    input wire clk,
    input wire rst,     // of the master, from the next edge on
    input wire clear,

    input wire [    IdBits-1:0] awid,
    input wire [          31:0] awaddr,
    input wire [           7:0] awlen,
    input wire [           2:0] awsize,
    input wire [           1:0] awburst,
    input wire [           7:0] awuser,
    input wire                  awvalid,
    input wire                  awready,
    input wire [  DataBits-1:0] wdata,
    input wire [DataBits/8-1:0] wstrb,
    input wire                  wlast,
    input wire                  wvalid,
    input wire                  wready,
    input wire                  bready,
    input wire [    IdBits-1:0] arid,
    input wire [          31:0] araddr,
    input wire [           7:0] arlen,
    input wire [           2:0] arsize,
    input wire [           1:0] arburst,
    input wire [           7:0] aruser,
    input wire                  arvalid,
    input wire                  arready,
    input wire                  rready,

    // What the slave knows of the beat that is to be written: whether its address has come, the bytes from there on,
    // whether it is the last one. A beat may be offered with its address, which it must not wait for.
    input wire                  w_known,
    input wire [DataBits/8-1:0] w_from,
    input wire                  w_final,

    output logic [31:0] violations,
    output logic [ 7:0] violated     // which
);

  localparam int Low = $clog2(DataBits / 8);

  logic [ 7:0] broken;
  logic        ar_waits, aw_waits, w_waits, in_reset;
  logic [52+IdBits:0] ar_kept, aw_kept;
  logic [DataBits+DataBits/8:0] w_kept;
  function automatic logic odd(input logic [2:0] size, input logic [1:0] burst, input logic [IdBits-1:0] id,
                               input logic write);
    return size != 3'(Low) || burst != 2'd1 || id[0] != write ||
        (MasterIdBits != 0 && 32'(id) % (1 << MasterIdBits) > 2);
  endfunction
  function automatic logic crosses(input logic [31:0] address, input logic [7:0] length);
    logic [31:0] last;
    last = (address & ~32'((1 << Low) - 1)) + (32'(length) << Low);
    return address[31:12] != last[31:12];
  endfunction
  // After an error beats may be without any strobe.
  wire [DataBits/8-1:0] filled = wstrb | ~w_from;
  always_comb begin
    broken = 8'd0;
    broken[0] = ar_waits && (!arvalid || {arid, araddr, arlen, arsize, arburst, aruser} != ar_kept);
    broken[1] = aw_waits && (!awvalid || {awid, awaddr, awlen, awsize, awburst, awuser} != aw_kept);
    broken[2] = w_waits && (!wvalid || {wlast, wstrb, wdata} != w_kept);
    if (arvalid && arready) begin
      broken[3] = odd(arsize, arburst, arid, 1'b0);
      broken[4] = crosses(araddr, arlen);
    end
    if (awvalid && awready) begin
      broken[3] = broken[3] || odd(awsize, awburst, awid, 1'b1);
      broken[4] = broken[4] || crosses(awaddr, awlen);
    end
    if (wvalid && wready) begin
      broken[5] = (wstrb & ~w_from) != '0 || (filled & (filled + 1'b1)) != '0 ||
          (!w_final && wstrb != '0 && filled != '1);
      broken[6] = wlast != w_final;
    end
    broken[7] = (wvalid && !w_known && !awvalid) || (in_reset && (arvalid || awvalid || wvalid));
`ifndef VERILATOR
    if (arvalid === 1'bx || awvalid === 1'bx || wvalid === 1'bx || rready === 1'bx || bready === 1'bx)
      broken[7] = 1'b1;
`endif
  end

  always_ff @(posedge clk) begin
    in_reset <= rst;
    if (clear) begin
      violations <= 32'd0;
      violated   <= 8'd0;
      ar_waits   <= 1'b0;
      aw_waits   <= 1'b0;
      w_waits    <= 1'b0;
    end else begin
      ar_waits <= arvalid && !arready && !rst;
      aw_waits <= awvalid && !awready && !rst;
      w_waits  <= wvalid && !wready && !rst;
      ar_kept  <= {arid, araddr, arlen, arsize, arburst, aruser};
      aw_kept  <= {awid, awaddr, awlen, awsize, awburst, awuser};
      w_kept   <= {wlast, wstrb, wdata};
      if (broken != 8'd0) violations <= violations + 32'd1;
      violated <= violated | broken;
    end
  end

endmodule

`default_nettype wire
