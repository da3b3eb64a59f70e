// Between one master of a cluster and its port of the shared memory: stalls and errors on demand; see `tcdm_watch`.
//
// Written independently of the generator. A request that has been let through stays until the memory grants it. What a
// master reads without having marked it in `be` is noise.

`default_nettype none
`timescale 1ns / 1ps

module cluster_port #(
    parameter int Width = 32,  // bits of a word of the port
    parameter int Regions = 5
) (
    input wire clk,
    input wire clear,                  // forget everything; loads `random_start`

    // The master's side.
    input  wire        m_req,
    output wire        m_gnt,
    input  wire [31:0] add,            // byte address
    input  wire        wen,            // 1: read, 0: write
    input  wire [Width/8-1:0] be,      // bytes that are written, or (read) used
    input  wire [  Width-1:0] wdata,
    output wire        m_r_valid,
    output wire        m_r_opc,
    output wire [  Width-1:0] m_r_rdata,

    // The memory's side; address, direction and data are the master's.
    output wire        s_req,
    input  wire        s_gnt,
    output wire [Width/8-1:0] s_be,
    input  wire        s_r_valid,
    input  wire        s_r_opc,
    input  wire [  Width-1:0] s_r_rdata,

    // What accesses are counted by, and checked: see `tcdm_watch`.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end,
    input wire        only_reads,
    input wire        only_writes,

    // Controls, constant while a program runs.
    input wire [31:0] random_start,    // not 0
    input wire [ 7:0] stall_rate,      // so many cycles in 256 do not let a request through
    input wire        error_enable,    // answer accesses to `error_address` with an error
    input wire [31:0] error_address
);

  localparam int Bytes = Width / 8;

  wire pass;
  wire fails = error_enable && add == (error_address & ~32'(Bytes - 1));
  wire accept = m_req && m_gnt;
  assign s_req = m_req && pass;
  assign m_gnt = s_gnt && pass;
  assign s_be  = fails ? '0 : be;

  stalls stalls (
      .clk(clk),
      .clear(clear),
      .random_start(random_start),
      .rate(stall_rate),
      .accept(accept),
      .pass(pass)
  );

  tcdm_watch #(
      .Width(Width),
      .Regions(Regions)
  ) watch (
      .clk(clk),
      .clear(clear),
      .req(m_req),
      .gnt(m_gnt),
      .pass(pass),
      .add(add),
      .wen(wen),
      .be(be),
      .wdata(wdata),
      .region_base(region_base),
      .region_end(region_end),
      .only_reads(only_reads),
      .only_writes(only_writes)
  );

  logic             failed;
  logic [     31:0] noise;
  logic [Width-1:0] unused;
  assign m_r_valid = s_r_valid;
  assign m_r_opc   = s_r_opc || (s_r_valid && failed);
  assign m_r_rdata = (s_r_rdata & ~unused) | ({Bytes / 4{noise}} & unused);

  logic [Width-1:0] unmarked;
  always_comb for (int i = 0; i < Bytes; i++) unmarked[8*i+:8] = {8{~be[i]}};

  always_ff @(posedge clk) begin
    if (clear) begin
      noise  <= ~random_start;
      failed <= 1'b0;
      unused <= '0;
    end else if (accept) begin
      noise  <= noise * 32'd1664525 + 32'd1013904223;
      failed <= fails;
      unused <= unmarked;
    end
  end

endmodule

`default_nettype wire
