// Counts the accesses that the lanes of one HWC make to its local memories, each of a vector of all lanes.
//
// Written independently of the generator. The HWC tells of each access; what it tells is also what enables the memory.

`default_nettype none
`timescale 1ns / 1ps

module lane_watch (
    input wire       clk,
    input wire       clear,  // forget everything
    input wire [3:0] made    // reads of the input, of weights, of sums, writes of sums, from bit 0 up
);

  logic [47:0] vectors[4];

  always @(posedge clk)
    for (int i = 0; i < 4; i++)
      if (clear) vectors[i] = 48'd0;
      else if (made[i]) vectors[i] = vectors[i] + 48'd1;

endmodule

`default_nettype wire
