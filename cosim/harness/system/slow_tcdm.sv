// A cluster's memory whose ports let requests through at random: in the place of `cluster_tcdm`, which is inside.
//
// The harness sets the first three variables.

`default_nettype none
`timescale 1ns / 1ps

module slow_tcdm #(
    parameter int Ports = 1,
    parameter int Bits = 32  // of a word of each port, all together
) (
    input wire clk,
    input wire rst,
    input wire clear,

    input  wire [   Ports-1:0] ports__req,
    output wire [   Ports-1:0] ports__gnt,
    input  wire [32*Ports-1:0] ports__add,
    input  wire [   Ports-1:0] ports__wen,
    input  wire [  Bits/8-1:0] ports__be,
    input  wire [    Bits-1:0] ports__wdata,
    output wire [   Ports-1:0] ports__r_valid,
    output wire [   Ports-1:0] ports__r_opc,
    output wire [    Bits-1:0] ports__r_rdata,
    output wire [32*Ports-1:0] conflicts
);

  logic               forget;      // begin anew
  logic [       31:0] seed;        // not 0
  logic [8*Ports-1:0] stall_rate;  // of each port: see `stalls`

  wire [Ports-1:0] pass;
  wire  [Ports-1:0] granted;
  assign ports__gnt = granted & pass;

  cluster_tcdm memory (
      .clk(clk),
      .rst(rst),
      .clear(clear),
      .ports__req(ports__req & pass),
      .ports__gnt(granted),
      .ports__add(ports__add),
      .ports__wen(ports__wen),
      .ports__be(ports__be),
      .ports__wdata(ports__wdata),
      .ports__r_valid(ports__r_valid),
      .ports__r_opc(ports__r_opc),
      .ports__r_rdata(ports__r_rdata),
      .conflicts(conflicts)
  );

  genvar g;
  generate
    for (g = 0; g < Ports; g = g + 1) begin : ports
      stalls stalls (
          .clk(clk),
          .clear(forget),
          .random_start(seed ^ (32'h9e3779b1 * (g + 1))),
          .rate(stall_rate[8*g+:8]),
          .accept(ports__req[g] && ports__gnt[g]),
          .pass(pass[g])
      );
    end
  endgenerate

endmodule

`default_nettype wire
