// Lets the requests of one port through, or not, at random. One that has been let through stays until it is granted.

`default_nettype none
`timescale 1ns / 1ps

module stalls (
    input wire        clk,
    input wire        clear,         // begin anew; loads `random_start`
    input wire [31:0] random_start,  // not 0
    input wire [ 7:0] rate,          // so many cycles in 256 do not let a request through
    input wire        accept,        // a request is granted
    output logic      pass
);

  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  // Assigned at once (`=`) is what no other block reads: no simulator then has to keep two of it (see `tcdm_port`).
  logic [31:0] random;
  always @(posedge clk) begin
    if (clear) begin
      random = random_start;
      pass   <= 1'b1;
    end else if (rate != 8'd0) begin
      pass   <= (pass && !accept) || random[7:0] >= rate;
      random = xorshift(random);
    end
  end

endmodule

`default_nettype wire
