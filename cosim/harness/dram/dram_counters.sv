// What a DRAM counts: bytes, beats, bursts, blocks, jumps and row misses, by kind of region and direction.
//
// Streams are bursts of one ID; each keeps one row open in each bank. What is counted depends on the order of
// the bursts in each stream alone, not on time.

`default_nettype none
`timescale 1ns / 1ps

module dram_counters #(
    parameter int IdBits = 0
) (
    input wire clk,
    input wire clear,
    input wire [31:0] geometry,        // see `open_rows`

    // An address is accepted.
    input wire       ar,
    input wire [3:0] ar_kind,
    input wire       aw,
    input wire [3:0] aw_kind,

    // What of a read burst is wanted is known.
    input wire        wanted,
    input wire [ 3:0] wanted_kind,
    input wire [IdBits-1:0] wanted_stream,
    input wire [31:0] wanted_address,  // of the first byte
    input wire [12:0] wanted_bytes,

    // A beat is read.
    input wire        r_beat,
    input wire [ 3:0] r_kind,
    input wire        r_enters_block,
    input wire [IdBits-1:0] r_stream,
    input wire [31:0] r_byte,          // where the beat begins

    // A beat is written.
    input wire        w_beat,
    input wire [ 3:0] w_kind,
    input wire        w_enters_block,
    input wire [IdBits-1:0] w_stream,
    input wire [31:0] w_byte,
    input wire        w_first,         // of its burst
    input wire [31:0] w_address,       // of the burst
    input wire [31:0] w_behind,        // the byte address after what is written
    input wire [ 7:0] w_bytes
);

  localparam int Streams = 1 << IdBits;

  // Index {kind, write}.
  logic [47:0] bytes[32];
  logic [47:0] beats[32];
  logic [47:0] bursts[32];
  logic [47:0] blocks[32];
  logic [47:0] jumps[32];
  logic [47:0] row_misses[32];

  // Where what was wanted, or written, of each stream's last burst ended.
  logic [31:0] stream_end[Streams];
  logic [Streams-1:0] stream_known;

  // Streams are read or written, none is both.
  wire r_misses, w_misses;
  open_rows #(
      .IdBits(IdBits)
  ) read_rows (
      .clk(clk),
      .clear(clear),
      .geometry(geometry),
      .accessed(r_beat && r_enters_block),
      .stream(r_stream),
      .address(r_byte),
      .misses(r_misses)
  );
  open_rows #(
      .IdBits(IdBits)
  ) written_rows (
      .clk(clk),
      .clear(clear),
      .geometry(geometry),
      .accessed(w_beat && w_enters_block),
      .stream(w_stream),
      .address(w_byte),
      .misses(w_misses)
  );

  wire [4:0] ri = {r_kind, 1'b0};
  wire [4:0] wi = {w_kind, 1'b1};
  wire [4:0] ui = {wanted_kind, 1'b0};
  always_ff @(posedge clk) begin
    if (clear) begin
      stream_known <= '0;
      for (int i = 0; i < 32; i++) begin
        bytes[i]      <= 48'd0;
        beats[i]      <= 48'd0;
        bursts[i]     <= 48'd0;
        blocks[i]     <= 48'd0;
        jumps[i]      <= 48'd0;
        row_misses[i] <= 48'd0;
      end
    end else begin
      if (ar) bursts[{ar_kind, 1'b0}] <= bursts[{ar_kind, 1'b0}] + 48'd1;
      if (aw) bursts[{aw_kind, 1'b1}] <= bursts[{aw_kind, 1'b1}] + 48'd1;
      if (wanted) begin
        bytes[ui] <= bytes[ui] + 48'(wanted_bytes);
        if (!stream_known[wanted_stream] || stream_end[wanted_stream] != wanted_address) jumps[ui] <= jumps[ui] + 48'd1;
        stream_known[wanted_stream] <= 1'b1;
        stream_end[wanted_stream]   <= wanted_address + 32'(wanted_bytes);
      end
      if (r_beat) begin
        beats[ri] <= beats[ri] + 48'd1;
        if (r_enters_block) begin
          blocks[ri] <= blocks[ri] + 48'd1;
          if (r_misses) row_misses[ri] <= row_misses[ri] + 48'd1;
        end
      end
      if (w_beat) begin
        beats[wi] <= beats[wi] + 48'd1;
        bytes[wi] <= bytes[wi] + 48'(w_bytes);
        if (w_first && (!stream_known[w_stream] || stream_end[w_stream] != w_address)) jumps[wi] <= jumps[wi] + 48'd1;
        stream_known[w_stream] <= 1'b1;
        stream_end[w_stream]   <= w_behind;
        if (w_enters_block) begin
          blocks[wi] <= blocks[wi] + 48'd1;
          if (w_misses) row_misses[wi] <= row_misses[wi] + 48'd1;
        end
      end
    end
  end

endmodule

`default_nettype wire
