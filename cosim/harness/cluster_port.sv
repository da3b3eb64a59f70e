// Between one master of a cluster and its port of the shared memory: stalls, errors on demand, protocol checks, counters.
//
// Written independently of the generator. A request that has been let through stays until the memory grants it. What a
// master reads without having marked it in `be` is noise.

`default_nettype none
`timescale 1ns / 1ps

module cluster_port #(
    parameter int Width = 32,  // bits of a word of the port
    parameter int Regions = 4
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

    // What accesses are counted by: a region's first byte address, and the one after its last; the last is `elsewhere`.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end,
    input wire        only_reads,      // the master never writes
    input wire        only_writes,     // or never reads

    // Controls, constant while a program runs.
    input wire [31:0] random_start,    // not 0
    input wire [ 7:0] stall_rate,      // so many cycles in 256 do not let a request through
    input wire        error_enable,    // answer accesses to `error_address` with an error
    input wire [31:0] error_address
);

  localparam int Bytes = Width / 8;

  // Counters, index {region, write}.
  logic [47:0] words[2*Regions+2];
  logic [47:0] bytes[2*Regions+2];
  logic [31:0] waits;       // cycles in which the memory, not this module, kept a request waiting
  logic [31:0] violations;  // requests changed or withdrawn before the grant, unaligned, or of the wrong direction

  logic pass;
  wire  fails = error_enable && add == (error_address & ~32'(Bytes - 1));
  wire  accept = m_req && m_gnt;
  assign s_req = m_req && pass;
  assign m_gnt = s_gnt && pass;
  assign s_be  = fails ? '0 : be;

  logic [31:0] random, noise;
  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  logic             failed;
  logic [Width-1:0] unused;
  assign m_r_valid = s_r_valid;
  assign m_r_opc   = s_r_opc || (s_r_valid && failed);
  assign m_r_rdata = (s_r_rdata & ~unused) | ({Bytes / 4{noise}} & unused);

  // What is marked.
  logic [     15:0] marked;
  logic [Width-1:0] unmarked;
  always_comb begin
    marked = '0;
    for (int i = 0; i < Bytes; i++) begin
      marked += 16'(be[i]);
      unmarked[8*i+:8] = {8{~be[i]}};
    end
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
      random     = random_start;
      noise      <= ~random_start;
      pass       <= 1'b1;
      failed     <= 1'b0;
      unused     <= '0;
      waiting    = 1'b0;
      violations = 32'd0;
      waits      = 32'd0;
      for (int i = 0; i < 2 * Regions + 2; i++) begin
        words[i] = 48'd0;
        bytes[i] = 48'd0;
      end
    end else begin
      wrong = 1'b0;
      if (waiting) wrong = !m_req || {wen, be, add} != kept[32+Bytes+Width:Width] || (!wen && wdata != kept[Width-1:0]);
      waiting = m_req && !m_gnt;
      if (waiting) kept = {wen, be, add, wdata};
      if (accept) begin
        index = {region_of(add), 1'b0} | 8'(!wen);
        words[index] = words[index] + 48'd1;
        bytes[index] = bytes[index] + 48'(marked);
        noise       <= noise * 32'd1664525 + 32'd1013904223;
        failed      <= fails;
        unused      <= unmarked;
        if ((add & 32'(Bytes - 1)) != 32'd0 || (only_reads && !wen) || (only_writes && wen)) wrong = 1'b1;
      end
      if (wrong) violations = violations + 32'd1;
      if (stall_rate != 8'd0) begin
        pass   <= (pass && !accept) || random[7:0] >= stall_rate;
        random = xorshift(random);
      end
      if (s_req && !s_gnt) waits = waits + 32'd1;
    end
  end

endmodule

`default_nettype wire
