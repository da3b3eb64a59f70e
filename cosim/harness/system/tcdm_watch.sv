// The accesses of one port of a cluster's memory, counted beside it: nothing here is in their way.

`default_nettype none
`timescale 1ns / 1ps

module tcdm_watch #(
    parameter int Bytes = 4,   // of a word of the port
    parameter int Regions = 4
) (
    input wire clk,
    input wire clear,

    input wire             req,
    input wire             gnt,
    input wire [     31:0] add,
    input wire             wen,  // 1: read, 0: write
    input wire [Bytes-1:0] be,   // bytes that are written, or (read) used

    // First byte address of each region, and the one after its last, from bit 0 up.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end
);

  // Counters, index {region, write}; the last region is elsewhere.
  logic [47:0] words[2*Regions+2];
  logic [47:0] bytes[2*Regions+2];

  logic [ 7:0] region;
  logic [15:0] marked;
  always_comb begin
    region = 8'(Regions);
    for (int i = Regions - 1; i >= 0; i--)
      if (add >= region_base[32*i+:32] && add < region_end[32*i+:32]) region = 8'(i);
    marked = '0;
    for (int i = 0; i < Bytes; i++) marked += 16'(be[i]);
  end

  wire [7:0] index = {region[6:0], !wen};
  always_ff @(posedge clk) begin
    if (clear) begin
      for (int i = 0; i < 2 * Regions + 2; i++) begin
        words[i] <= 48'd0;
        bytes[i] <= 48'd0;
      end
    end else if (req && gnt) begin
      words[index] <= words[index] + 48'd1;
      bytes[index] <= bytes[index] + 48'(marked);
    end
  end

endmodule

`default_nettype wire
