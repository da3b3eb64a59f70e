// Which access to a DRAM opens a row: each stream, the bursts of one ID, keeps the row of each bank open that it used last.
//
// Row r is in bank r mod banks. What misses depends on the order of a stream's accesses alone, not on time.

`default_nettype none
`timescale 1ns / 1ps

module open_rows #(
    parameter int IdBits = 0
) (
    input wire clk,
    input wire clear,               // no row is open
    input wire [31:0] geometry,     // row_log2 (4:0): bytes of a row; bank_log2 (7:5): banks, at most 16

    input wire accessed,            // at the next edge
    input wire [IdBits-1:0] stream,
    input wire [31:0] address,      // of any byte in the row
    output wire misses              // another row is open in its bank, or none
);

  logic [31:0] open[16<<IdBits];
  logic [(16<<IdBits)-1:0] known;

  wire [31:0] row = address >> geometry[4:0];
  wire [3:0] bank = row[3:0] & 4'((5'd1 << geometry[7:5]) - 5'd1);
  wire [IdBits+3:0] place = {stream, bank};
  assign misses = !known[place] || open[place] != row;
  always_ff @(posedge clk) begin
    if (clear) known <= '0;
    else if (accessed) begin
      known[place] <= 1'b1;
      open[place]  <= row;
    end
  end

endmodule

`default_nettype wire
