// What one master of a cluster does at its port of the shared memory, counted and checked: nothing here is in its way.
//
// Written independently of the generator.

`default_nettype none
`timescale 1ns / 1ps

module tcdm_watch #(
    parameter int Width = 32,  // bits of a word of the port
    parameter int Regions = 5
) (
    input wire clk,
    input wire clear,  // forget everything

    input wire               req,
    input wire               gnt,
    input wire               pass,  // the harness lets requests through
    input wire [       31:0] add,   // byte address
    input wire               wen,   // 1: read, 0: write
    input wire [Width/8-1:0] be,    // bytes that are written, or (read) used
    input wire [  Width-1:0] wdata,

    // What accesses are counted by: a region's first byte address, and the one after its last; the last is `elsewhere`.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end,
    input wire                  only_reads,  // the master never writes
    input wire                  only_writes  // or never reads
);

  localparam int Bytes = Width / 8;

  // Counters, index {region, write}.
  logic [47:0] words[2*Regions+2];
  logic [47:0] bytes[2*Regions+2];
  logic [31:0] waits;       // cycles in which the memory, not the harness, kept a request waiting
  logic [31:0] violations;  // requests changed or withdrawn before the grant, unaligned, or of the wrong direction

  logic [15:0] marked;
  always_comb begin
    marked = '0;
    for (int i = 0; i < Bytes; i++) marked += 16'(be[i]);
  end

  function automatic logic [7:0] region_of(input logic [31:0] at);
    region_of = 8'(Regions);
    for (int i = Regions - 1; i >= 0; i--)
      if (at >= region_base[32*i+:32] && at < region_end[32*i+:32]) region_of = 8'(i);
  endfunction

  logic [7:0]              index;
  logic                    waiting;
  logic [32+Bytes+Width:0] kept;
  logic                    wrong;
  // Assigned at once (`=`) is what no other block reads: no simulator then has to keep two of it (see `tcdm_port`).
  always @(posedge clk) begin
    if (clear) begin
      waiting    = 1'b0;
      violations = 32'd0;
      waits      = 32'd0;
      for (int i = 0; i < 2 * Regions + 2; i++) begin
        words[i] = 48'd0;
        bytes[i] = 48'd0;
      end
    end else begin
      wrong = 1'b0;
      if (waiting) wrong = !req || {wen, be, add} != kept[32+Bytes+Width:Width] || (!wen && wdata != kept[Width-1:0]);
      waiting = req && !gnt;
      if (waiting) kept = {wen, be, add, wdata};
      if (req && gnt) begin
        index = {region_of(add), 1'b0} | 8'(!wen);
        words[index] = words[index] + 48'd1;
        bytes[index] = bytes[index] + 48'(marked);
        if ((add & 32'(Bytes - 1)) != 32'd0 || (only_reads && !wen) || (only_writes && wen)) wrong = 1'b1;
      end
      if (wrong) violations = violations + 32'd1;
      if (waiting && pass) waits = waits + 32'd1;
    end
  end

endmodule

`default_nettype wire
