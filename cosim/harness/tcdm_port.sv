// The memory's side of one TCDM port of the HWC: grants, responses, protocol checks, and the access counters.
//
// Written independently of the generator: nothing here is derived from it, and nothing in the HWC is trusted. The memory
// itself is in `harness`; this module decides when a request is granted, forms the response and counts.
//
// Timing. A request is transferred in a cycle in which `req` and `gnt` are both 1. Its response follows one cycle later,
// or later still with random delays; responses stay in order. `gnt` may be 1 while `req` is 0.

`default_nettype none
`timescale 1ns / 1ps

module tcdm_port (
    input wire clk,
    input wire clear,                  // forget everything: queue, counters, violations; loads `random_start`

    // The HWC's request and its response.
    input  wire        req,
    output wire        gnt,
    input  wire [31:0] add,            // byte address
    input  wire        wen,            // 1: read, 0: write
    input  wire [ 3:0] be,             // bytes that are written, or (read) used
    input  wire [31:0] wdata,
    output wire        r_valid,
    output wire        r_opc,          // 1: error response
    output wire [31:0] r_rdata,

    // The memory.
    input  wire [31:0] word,           // what the memory holds at `add`
    input  wire        missing,        // there is no memory at `add`

    // Controls, constant while an HWC runs.
    input wire [ 31:0] random_start,   // not 0
    input wire [  7:0] stall_rate,     // a cycle in 256 is without grant this often
    input wire [  7:0] delay_rate,     // a cycle in 256 is without response this often
    input wire         error_enable,   // answer accesses to `error_address` with an error
    input wire [ 31:0] error_address,
    input wire [159:0] region_base,    // byte addresses: input, weights, bias, partial, output from bit 0 up
    input wire [159:0] region_end      // the first byte address behind each
);

  localparam int Regions = 6;  // the five and `elsewhere`

  // Counters, index {region, write}: accesses, and bytes marked by `be`. Reads and writes of each region apart, so that
  // a write on an operand that is only read shows up as what it is.
  logic [47:0] accesses[2*Regions];
  logic [47:0] bytes[2*Regions];
  logic [31:0] violations;  // requests changed or withdrawn before the grant, unaligned, or with unknown bits

  // xorshift (Marsaglia 2003), once a cycle while it is needed; the low byte stalls grants, the next one responses.
  logic [31:0] random;
  logic        stall;
  logic        hold;

  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  // Responses in order: error bit and data.
  logic [32:0] queue[8];
  logic [ 2:0] first;
  logic [ 3:0] level;
  logic        full;
  wire  [ 2:0] next = first + level[2:0];

  wire   accept  = req && gnt;
  assign gnt     = !stall && !full;
  assign r_valid = level != 0 && !hold;
  assign r_opc   = r_valid && queue[first][32];
  assign r_rdata = queue[first][31:0];

  // Bytes that the HWC did not ask for hold whatever this generator gives (Numerical Recipes' constants).
  logic [31:0] noise;
  wire  [31:0] noisy = noise ^ (noise >> 15);
  wire  [31:0] used = {{8{be[3]}}, {8{be[2]}}, {8{be[1]}}, {8{be[0]}}};
  wire  [31:0] mask = wen ? used : 32'd0;

  // The request of the last cycle, if it was not granted.
  logic        waiting;
  logic [68:0] kept;

  // Which region `add` lies in; the input first, as most accesses go there.
  wire [2:0] region =
      add >= region_base[31:0] && add < region_end[31:0] ? 3'd0
    : add >= region_base[63:32] && add < region_end[63:32] ? 3'd1
    : add >= region_base[95:64] && add < region_end[95:64] ? 3'd2
    : add >= region_base[127:96] && add < region_end[127:96] ? 3'd3
    : add >= region_base[159:128] && add < region_end[159:128] ? 3'd4
    : 3'd5;

  wire [3:0] index = {region, !wen};
  wire [2:0] marked = 3'(be[0]) + 3'(be[1]) + 3'(be[2]) + 3'(be[3]);
  wire       failed = missing || (error_enable && add == error_address);

  always_ff @(posedge clk) begin
    if (clear) begin
      random  <= random_start;
      noise   <= ~random_start;
      stall   <= 1'b0;
      hold    <= 1'b0;
      first   <= 3'd0;
      level   <= 4'd0;
      full    <= 1'b0;
      waiting <= 1'b0;
      violations <= 32'd0;
      for (int i = 0; i < 2 * Regions; i++) begin
        accesses[i] <= 48'd0;
        bytes[i]    <= 48'd0;
      end
    end else begin
      if (stall_rate != 0 || delay_rate != 0) begin
        random <= xorshift(random);
        stall  <= random[7:0] < stall_rate;
        hold   <= random[15:8] < delay_rate;
      end

      if (accept) begin
        queue[next]     <= {failed, (word & mask) | (noisy & ~mask)};
        noise           <= noise * 32'd1664525 + 32'd1013904223;
        accesses[index] <= accesses[index] + 48'd1;
        bytes[index]    <= bytes[index] + 48'(marked);
      end
      if (r_valid) first <= first + 3'd1;
      level <= level + 4'(accept) - 4'(r_valid);
      full  <= level + 4'(accept) - 4'(r_valid) == 4'd8;

      waiting <= req && !gnt;
      if (req && !gnt) kept <= {wen, be, add, wdata};
      if (waiting && (!req || {wen, be, add} != kept[68:32] || (!wen && wdata != kept[31:0])))
        violations <= violations + 32'd1;
      else if (req && add[1:0] != 2'd0) violations <= violations + 32'd1;
`ifndef VERILATOR
      else if (req === 1'bx || (req && ^{wen, be, add} === 1'bx)) violations <= violations + 32'd1;
`endif
    end
  end

endmodule

`default_nettype wire
