// What is wanted of each burst that a DMA reads: from its descriptors, which are decoded here once more.
//
// Written independently of the DMA. The descriptors are words in the harness' memory: alone, or in a program, whose MOVEs
// to the load queue are looked for. The bursts of loads (ID 0) must read their runs from the first byte to the last, in
// order; those of the program (ID 2), its bytes. Runs that are contiguous share bursts inside a descriptor, and from one
// to the next if it says so. What a burst reads besides is counted, and the first such place is kept.

`default_nettype none
`timescale 1ns / 1ps

module descriptor_runs #(
    parameter int DataBits = 64,
    parameter int IdBits = 0,
    parameter int DepthLog2 = 20   // words of `harness.memory`, as a power of two
) (
    input wire clk,
    input wire clear,               // begin with the first descriptor

    input wire        in_program,    // the words are a program
    input wire [31:0] first_word,    // of `harness.memory`, and the one after the last; constant while clear is 0
    input wire [31:0] end_word,
    input wire [31:0] program_first, // byte address of the program that is fetched, and the one after it
    input wire [31:0] program_end,

    input wire        taken,         // the address of a read burst is accepted
    input wire [IdBits-1:0] id,
    input wire [31:0] address,
    input wire [ 7:0] length,        // beats less one

    output logic [12:0] used,            // bytes that the burst accepted one cycle ago was wanted for; else 0
    output logic [31:0] unwanted_bursts, // that begin at no wanted byte
    output logic [31:0] unwanted_beats,  // that read no wanted byte
    output logic [31:0] unwanted_at      // byte address of the first of either
);

  localparam int Low = $clog2(DataBits / 8);
  localparam int Words = 1 << DepthLog2;
  localparam logic [1:0] ToLoads = 2'd0;
  localparam logic [2:0] Move = 3'd1, End = 3'd6;

  // The run: the next byte, bytes left; where the rows of runs and the descriptor stand. State of this one block only.
  logic [31:0] at, left, row, next_word;
  logic [31:0] size, step_1, step_2;
  logic [15:0] count_1, runs_left, rows_left;
  logic        continues, joins;  // the next run, if it is contiguous, shares the burst

  // One descriptor, from word `from` on.
  task automatic read_descriptor(input logic [31:0] from);
    size = 32'(harness.memory[DepthLog2'(from)][19:0]);
    continues = harness.memory[DepthLog2'(from)][27];
    at = harness.memory[DepthLog2'(from+1)];
    count_1 = harness.memory[DepthLog2'(from+2)][15:0];
    runs_left = count_1;
    rows_left = harness.memory[DepthLog2'(from+2)][31:16];
    step_1 = harness.memory[DepthLog2'(from+3)];
    step_2 = harness.memory[DepthLog2'(from+4)];
    row = at;
    left = count_1 == 16'd0 || rows_left == 16'd0 ? 32'd0 : size;
  endtask

  // The next descriptor that loads; nothing is left if there is none.
  task automatic next_descriptor;
    logic [31:0] word, header;
    logic found;
    found = 1'b0;
    while (!found && next_word < end_word && next_word < 32'(Words)) begin
      word = next_word;
      header = harness.memory[DepthLog2'(word)];
      if (!in_program) begin
        found = 1'b1;
        next_word = word + (header[26] ? 32'd10 : 32'd8);
        read_descriptor(word);
      end else begin
        next_word = header[4:2] == End ? end_word : word + 32'd1 + 32'(header[23:16]);
        found = header[1:0] == ToLoads && header[4:2] == Move;
        if (found) read_descriptor(word + 32'd1);
      end
    end
  endtask

  // After the last byte of a run, the next one.
  task automatic next_run;
    if (runs_left > 16'd1 && rows_left != 16'd0) begin
      runs_left = runs_left - 16'd1;
      at = at - size + step_1;
      left = size;
      joins = 1'b1;
    end else if (rows_left > 16'd1) begin
      rows_left = rows_left - 16'd1;
      runs_left = count_1;
      row = row + step_2;
      at = row;
      left = size;
      joins = 1'b1;
    end else begin
      joins = continues;
      next_descriptor();
    end
  endtask

  // Bytes of the burst from its address on; those of them that are wanted, so far; beats up to the last of these.
  logic [31:0] whole, wanted, part, beats, fetched;
  logic [ 1:0] which;
  always @(posedge clk) begin
    if (clear) begin
      next_word = first_word;
      left = 32'd0;
      runs_left = 16'd0;
      rows_left = 16'd0;
      continues = 1'b0;
      fetched = program_first;
      used <= 13'd0;
      unwanted_bursts <= 32'd0;
      unwanted_beats <= 32'd0;
      unwanted_at <= 32'd0;
    end else if (!taken) used <= 13'd0;
    else begin
      whole = ((32'(length) + 32'd1) << Low) - 32'(address[Low-1:0]);
      wanted = 32'd0;
      if (id != '0) begin
        if (address == fetched && fetched < program_end)
          wanted = program_end - fetched < whole ? program_end - fetched : whole;
        fetched = fetched + wanted;
      end else begin
        if (left == 32'd0) next_run();
        joins = 1'b1;
        while (wanted < whole && left != 32'd0 && joins && at == address + wanted) begin
          part = left < whole - wanted ? left : whole - wanted;
          wanted = wanted + part;
          at = at + part;
          left = left - part;
          if (left == 32'd0) next_run();
        end
      end
      used <= wanted == 32'd0 ? 13'(whole) : 13'(wanted);
      beats = (32'(address[Low-1:0]) + wanted + 32'((1 << Low) - 1)) >> Low;
      if (wanted == 32'd0) unwanted_bursts <= unwanted_bursts + 32'd1;
      else if (beats <= 32'(length)) unwanted_beats <= unwanted_beats + 32'(length) + 32'd1 - beats;
      if ((wanted == 32'd0 || beats <= 32'(length)) && unwanted_bursts == 32'd0 && unwanted_beats == 32'd0)
        unwanted_at <= wanted == 32'd0 ? address : {address[31:Low], {Low{1'b0}}} + (beats << Low);
    end
  end

endmodule

`default_nettype wire
