// The configuration port of a block: one transfer at a time on demand, and the time from its start to its interrupt.

`default_nettype none
`timescale 1ns / 1ps

module configuration (
    input wire clk,
    input wire clear,                 // forget everything

    // One transfer per change of `go`.
    input  wire         go,
    input  wire         write,
    input  wire  [31:0] address,
    input  wire  [31:0] data,
    output logic        served,       // follows `go` when the transfer's response has arrived
    output logic [31:0] answer,
    output logic        error,
    output logic [31:0] violations,   // responses without a request

    // The block's port.
    output logic        req,
    output logic        wen,
    output logic [31:0] add,
    output logic [31:0] wdata,
    input  wire         gnt,
    input  wire         r_valid,
    input  wire         r_opc,
    input  wire  [31:0] r_rdata,

    input  wire         irq,
    input  wire  [31:0] start_at,     // writing `start_data` to this register starts the cycle counter
    input  wire  [31:0] start_data,
    input  wire  [47:0] limit,        // `finished` rises after so many cycles even without an interrupt
    output wire         finished,     // interrupt, or too many cycles
    output logic        timed_out,
    output logic [47:0] cycles        // from the start write's grant to the interrupt
);

  logic open;  // granted, response to come
  always_ff @(posedge clk) begin
    if (clear) violations <= 32'd0;
    else if (r_valid && !open) violations <= violations + 32'd1;

    if (clear) begin
      req    <= 1'b0;
      open   <= 1'b0;
      served <= go;
    end else if (req) begin
      if (gnt) req <= 1'b0;
      if (gnt) open <= 1'b1;
    end else if (open) begin
      if (r_valid) begin
        open   <= 1'b0;
        served <= !served;
        answer <= r_rdata;
        error  <= r_opc;
      end
    end else if (go != served) begin
      req   <= 1'b1;
      wen   <= !write;
      add   <= address;
      wdata <= data;
    end
  end

  logic running;
  logic starts;
  assign finished = irq || timed_out;
  always @(posedge clk) begin
    starts = 1'b0;
    if (req) starts = gnt && !wen && add == start_at && wdata == start_data;
    if (clear) begin
      running   = 1'b0;
      timed_out <= 1'b0;
      cycles    = 48'd0;
    end else if (starts) begin
      running   = 1'b1;
      timed_out <= 1'b0;
      cycles    = 48'd0;
    end else if (running) begin
      if (cycles >= limit) timed_out <= 1'b1;
      if (irq) running = 1'b0;
      else cycles = cycles + 48'd1;
    end
  end

endmodule

`default_nettype wire
