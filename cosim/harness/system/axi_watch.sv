// What one master of an AXI4 interconnect moves, counted beside its port: nothing here is in its way.
//
// Written independently of the generator. A burst is counted as what the region is that its address is in, with its blocks and
// rows as the DRAM has them (see `dram`): each stream, by its ID, has open rows of its own.

`default_nettype none
`timescale 1ns / 1ps

module axi_watch #(
    parameter int DataBits = 64,
    parameter int IdBits = 0,
    parameter int Regions = 16
) (
    input wire clk,
    input wire clear,

    input wire [    IdBits-1:0] awid,
    input wire [          31:0] awaddr,
    input wire [           7:0] awlen,
    input wire                  awvalid,
    input wire                  awready,
    input wire [DataBits/8-1:0] wstrb,
    input wire                  wlast,
    input wire                  wvalid,
    input wire                  wready,
    input wire [    IdBits-1:0] arid,
    input wire [          31:0] araddr,
    input wire [           7:0] arlen,
    input wire                  arvalid,
    input wire                  arready,
    input wire [          12:0] read_used,   // bytes that the burst accepted one cycle ago was wanted for

    // See `dram`.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end,
    input wire [ 4*Regions-1:0] region_kind,
    input wire [         127:0] timing       // see `dram`
);

  localparam int Low = $clog2(DataBits / 8);
  wire [31:0] geometry = timing[127:96];  // see `open_rows`
  localparam int Streams = 1 << IdBits;
  localparam int Kinds = 32;

  // Counters, index {kind, write}, as those of the DRAM.
  logic [47:0] bytes[Kinds];
  logic [47:0] beats[Kinds];
  logic [47:0] bursts[Kinds];
  logic [47:0] blocks[Kinds];
  logic [47:0] jumps[Kinds];
  logic [47:0] row_misses[Kinds];
  logic [31:0] worst_read, worst_write;  // most cycles that an address waited

  function automatic logic [6:0] kind_of(input logic [31:0] at);
    kind_of = 7'd15;
    for (int i = Regions - 1; i >= 0; i--)
      if (at >= region_base[32*i+:32] && at < region_end[32*i+:32]) kind_of = 7'(region_kind[4*i+:4]);
  endfunction

  // Of each stream: where its last burst ended, and its open rows by bank.
  logic [31:0] stream_end[Streams];
  logic [Streams-1:0] stream_known;
  logic [31:0] open_row[16*Streams];
  logic [16*Streams-1:0] open_known;

  // The bursts whose data are to be written: their regions, and where they begin; whether the first beat is to come.
  logic [ 7:0] w_kind[32];
  logic [IdBits-1:0] w_id[32];
  logic [31:0] w_address[32];
  logic [ 4:0] w_in, w_out;
  logic        w_first;
  logic [31:0] w_next;  // the byte address of the beat, or of its first byte that is the burst's

  // The read burst that was accepted one cycle ago.
  logic        fresh;
  logic [IdBits-1:0] fresh_id;
  logic [ 7:0] fresh_kind;
  logic [31:0] fresh_address;

  logic [ 7:0] at;
  logic [31:0] first, last, row;
  logic [31:0] opened, reads_wait, writes_wait;
  logic [IdBits+3:0] place;
  task automatic enter(input logic [IdBits-1:0] id, input logic [31:0] address, input logic [7:0] length, input logic [7:0] index);
    first = address >> 7;
    last = (((address >> Low) + 32'(length)) << Low) >> 7;
    opened = 32'd0;
    for (logic [31:0] block = first; block <= last; block = block + 32'd1) begin
      row = (block << 7) >> geometry[4:0];
      place = {id, row[3:0] & 4'((5'd1 << geometry[7:5]) - 5'd1)};
      if (!open_known[place] || open_row[place] != row) opened = opened + 32'd1;
      open_known[place] = 1'b1;
      open_row[place] = row;
    end
    bursts[index] <= bursts[index] + 48'd1;
    beats[index] <= beats[index] + 48'(length) + 48'd1;
    blocks[index] <= blocks[index] + 48'(last - first) + 48'd1;
    row_misses[index] <= row_misses[index] + 48'(opened);
  endtask

  // A burst begins at a byte; if that is not where the last one of its stream ended, it is a jump.
  task automatic follow(input logic [IdBits-1:0] id, input logic [31:0] address, input logic [7:0] index);
    if (!stream_known[id] || stream_end[id] != address) jumps[index] <= jumps[index] + 48'd1;
    stream_known[id] = 1'b1;
  endtask

  logic [47:0] size;
  always_ff @(posedge clk) begin
    if (clear) begin
      for (int i = 0; i < Kinds; i++) begin
        bytes[i]      <= 48'd0;
        beats[i]      <= 48'd0;
        bursts[i]     <= 48'd0;
        blocks[i]     <= 48'd0;
        jumps[i]      <= 48'd0;
        row_misses[i] <= 48'd0;
      end
      worst_read   <= 32'd0;
      worst_write  <= 32'd0;
      reads_wait   <= 32'd0;
      writes_wait  <= 32'd0;
      stream_known = '0;
      open_known   = '0;
      w_in         <= 5'd0;
      w_out        <= 5'd0;
      w_first      <= 1'b1;
      fresh        <= 1'b0;
    end else begin
      reads_wait  <= arvalid && !arready ? reads_wait + 32'd1 : 32'd0;
      writes_wait <= awvalid && !awready ? writes_wait + 32'd1 : 32'd0;
      if (reads_wait > worst_read) worst_read <= reads_wait;
      if (writes_wait > worst_write) worst_write <= writes_wait;
      if (arvalid && arready) begin
        at = {kind_of(araddr), 1'b0};
        enter(arid, araddr, arlen, at);
        fresh_id <= arid;
        fresh_kind <= at;
        fresh_address <= araddr;
      end
      fresh <= arvalid && arready;
      if (fresh) begin
        follow(fresh_id, fresh_address, fresh_kind);
        stream_end[fresh_id] = fresh_address + 32'(read_used);
        bytes[fresh_kind] <= bytes[fresh_kind] + 48'(read_used);
      end
      if (wvalid && wready) begin
        size = 48'd0;
        for (int i = 0; i < DataBits / 8; i++) size = size + 48'(wstrb[i]);
        at = w_kind[w_out];
        bytes[at] <= bytes[at] + size;
        if (w_first) follow(w_id[w_out], w_address[w_out], at);
        w_next = w_first ? w_address[w_out] : stream_end[w_id[w_out]];
        stream_end[w_id[w_out]] = w_next + size[31:0];  // strobes have no gaps: see `axi_rules`
        w_first <= wlast;
        if (wlast) w_out <= w_out + 5'd1;
      end
      if (awvalid && awready) begin
        at = {kind_of(awaddr), 1'b1};
        enter(awid, awaddr, awlen, at);
        w_kind[w_in] <= at;
        w_id[w_in] <= awid;
        w_address[w_in] <= awaddr;
        w_in <= w_in + 5'd1;
      end
    end
  end

endmodule

`default_nettype wire
