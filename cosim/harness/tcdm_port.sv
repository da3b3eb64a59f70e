// The memory's side of one TCDM port of the HWC: grants, responses, protocol checks, and the access counters.
//
// Written independently of the generator: nothing here is derived from it, and nothing in the HWC is trusted. The memory
// itself is in `harness`; this module decides when a request is granted, forms the response and counts.
//
// Timing. A request is transferred in a cycle in which `req` and `gnt` are both 1. Its response follows one cycle later,
// or `more_latency` cycles after that, or later still with random delays; responses stay in order. `gnt` may be 1 while
// `req` is 0. Writes have responses or not, as the memory is told.

`default_nettype none
`timescale 1ns / 1ps

module tcdm_port #(
    parameter int Width = 32  // bits of a word of the port
) (
    input wire clk,
    input wire clear,                  // forget everything: queue, counters, violations; loads `random_start`

    // The HWC's request and its response.
    input  wire        req,
    output wire        gnt,
    input  wire [31:0] add,            // byte address
    input  wire        wen,            // 1: read, 0: write
    input  wire [Width/8-1:0] be,      // bytes that are written, or (read) used
    input  wire [  Width-1:0] wdata,
    output wire        r_valid,
    output wire        r_opc,          // 1: error response
    output wire [  Width-1:0] r_rdata,

    // The memory.
    input  wire [  Width-1:0] word,    // what the memory holds at `add`
    input  wire        missing,        // there is no memory at `add`

    // Controls, constant while an HWC runs.
    input wire [ 31:0] random_start,   // not 0
    input wire [  7:0] stall_rate,     // so many cycles in 256 are without grant
    input wire [  7:0] delay_rate,     // so many cycles in 256 are without response
    input wire [  2:0] more_latency,   // from a grant to its response, less one
    input wire [  1:0] write_answers,  // 0: writes have responses, 1: those that fail have, 2: no write has
    input wire         error_enable,   // answer accesses to the word with `error_address` with an error
    input wire [ 31:0] error_address,
    input wire [159:0] region_base,    // byte addresses: input, weights, bias, partial, output from bit 0 up
    input wire [159:0] region_end      // the first byte address behind each
);

  localparam int Bytes = Width / 8;
  localparam int Regions = 6;  // the five and `elsewhere`

  // Counters, index {region, write}: accesses, and bytes marked by `be`. Reads and writes of each region apart, so that
  // a write on an operand that is only read shows up as what it is.
  logic [47:0] accesses[2*Regions];
  logic [47:0] bytes[2*Regions];
  logic [31:0] violations;  // requests changed or withdrawn before the grant, unaligned, or with unknown bits

  // What the HWC sees of this port comes from registers. `ready` may be 1 while there is no request.
  logic        ready;
  logic        answering;
  logic [Width:0] answer;  // error bit and data

  wire accept = req && ready;
  assign gnt     = ready;
  assign r_valid = answering;
  assign r_opc   = answering && answer[Width];
  assign r_rdata = answer[Width-1:0];

  // Random numbers: xorshift (Marsaglia 2003), once a cycle while they are needed; the low byte stalls grants, the next
  // one responses. Bytes that the HWC did not ask for hold `noise` (a generator of Numerical Recipes).
  logic [31:0] random;
  logic [31:0] noise;
  wire         calm = stall_rate == 8'd0 && delay_rate == 8'd0 && more_latency == 3'd0 && write_answers == 2'd0;

  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction

  // Responses to come: {whether there is one, response}, the next cycle's first. Then those that wait, in order. Never
  // more than eight together: `ready` falls when they may become as many.
  logic [Width+1:0] coming[7];
  logic [Width:0] queue[8];
  logic [ 2:0] first;
  logic [ 3:0] level;
  logic [ 3:0] unanswered;

  // Which region an address lies in; the input first, as most accesses go there.
  function automatic logic [2:0] region_of(input logic [31:0] at);
    return at >= region_base[31:0] && at < region_end[31:0] ? 3'd0
         : at >= region_base[63:32] && at < region_end[63:32] ? 3'd1
         : at >= region_base[95:64] && at < region_end[95:64] ? 3'd2
         : at >= region_base[127:96] && at < region_end[127:96] ? 3'd3
         : at >= region_base[159:128] && at < region_end[159:128] ? 3'd4
         : 3'd5;
  endfunction

  function automatic logic [Width:0] response(input logic failed, input logic [Width-1:0] held, input logic [31:0] rest);
    logic [Width-1:0] used;
    for (int i = 0; i < Bytes; i++) used[8*i+:8] = {8{wen && be[i]}};
    return {failed, (held & used) | ({(Width / 32) {rest ^ (rest >> 15)}} & ~used)};
  endfunction

  function automatic logic [47:0] marked(input logic [Bytes-1:0] enable);
    marked = 48'd0;
    for (int i = 0; i < Bytes; i++) marked = marked + 48'(enable[i]);
  endfunction

  // The request of the last cycle, if it was not granted.
  logic        waiting;
  logic [Width+Bytes+32:0] kept;

  // Only what has to happen in every cycle stands outside the branches: simulation speed is part of the contract. What
  // no other block reads in the simulation is assigned at once (`=`), which spares a simulator a copy of it in every
  // cycle: counters, random numbers, responses to come. What the HWC sees is assigned at the end of the cycle (`<=`).
  logic [ 3:0] index;
  logic [Width:0] fresh;
  logic        responds;
  logic [Width+1:0] come;
  logic [ 2:0] place;
  logic        pushes;
  logic        pops;
  logic        ahead;
  logic        wrong;
  always @(posedge clk) begin
    if (clear) begin
      random     = random_start;
      noise      = ~random_start;
      ready      <= 1'b0;
      answering  <= 1'b0;
      first      = 3'd0;
      level      = 4'd0;
      unanswered = 4'd0;
      waiting    = 1'b0;
      for (int i = 0; i < 7; i++) coming[i] = '0;
      violations = 32'd0;
      for (int i = 0; i < 2 * Regions; i++) begin
        accesses[i] = 48'd0;
        bytes[i]    = 48'd0;
      end
    end else begin
      wrong = 1'b0;
      if (waiting) wrong = !req || {wen, be, add} != kept[Width+:Bytes+33] || (!wen && wdata != kept[Width-1:0]);
      waiting = req && !ready;
      if (waiting) kept = {wen, be, add, wdata};
`ifndef VERILATOR
      if (req === 1'bx || (req && ^{wen, be, add} === 1'bx)) wrong = 1'b1;
`endif

      if (accept) begin
        index = {region_of(add), !wen};
        fresh = response(missing || (error_enable && add == (error_address & ~32'(Bytes - 1))), word, noise);
        accesses[index] = accesses[index] + 48'd1;
        bytes[index]    = bytes[index] + marked(be);
        noise           = noise * 32'd1664525 + 32'd1013904223;
        if (calm) answer <= fresh;
        if ((add & 32'(Bytes - 1)) != 32'd0) wrong = 1'b1;
      end
      if (wrong) violations = violations + 32'd1;

      if (calm) begin
        ready     <= 1'b1;
        answering <= accept;
      end else begin
        responds = accept && (wen || write_answers == 2'd0 || (write_answers == 2'd1 && fresh[Width]));
        come     = more_latency == 3'd0 ? {responds, fresh} : coming[0];
        for (int i = 0; i < 6; i++) coming[i] = coming[i+1];
        coming[6] = '0;
        if (more_latency != 3'd0) coming[more_latency-3'd1] = {responds, fresh};
        ahead  = level != 4'd0;
        pops   = random[15:8] >= delay_rate && (come[Width+1] || ahead);
        pushes = come[Width+1] && !(pops && !ahead);
        place  = first + level[2:0];  // wraps; as an index it would not under Icarus
        if (pops) answer <= ahead ? queue[first] : come[Width:0];
        if (pops && ahead) first = first + 3'd1;
        if (pushes) queue[place] = come[Width:0];
        level = level + 4'(pushes) - 4'(pops && ahead);
        ready      <= random[7:0] >= stall_rate && unanswered < 4'd7;
        unanswered = unanswered + 4'(responds) - 4'(pops);
        answering  <= pops;
        random     = xorshift(random);
      end
    end
  end

endmodule

`default_nettype wire
