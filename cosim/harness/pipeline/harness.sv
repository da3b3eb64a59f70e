// The harness of one depth-first pipeline: DRAM, the streams to and from it, access counters, configuration.
// Runs on Verilator and on Icarus 11.
//
// All inputs of a run are read from files when the simulation starts, and all results are written to files when it ends.
// A script has configuration accesses, and waits for the interrupt. Each stream walks its own list of segments; a segment
// is a number of lines, of pixels and of bytes. A stream that reads a byte of DRAM which is not yet written stalls.
//
// The files are FOLDER/INDEX.*.hex of plusarg +folder=FOLDER; without them the harness has finished at once.

`default_nettype none
`timescale 1ns / 1ps

module pipeline_harness #(
    parameter int Index = 0,
    parameter int Reads = 1,  // streams from DRAM
    parameter int Writes = 1,  // streams to DRAM
    parameter int Beat = 1,  // bytes of the widest stream
    parameter logic [8*(Reads+Writes)-1:0] Beats = '1,  // bytes of each, reads from bit 0 up, then writes
    parameter int MemoryLog2 = 16,  // bytes
    parameter int SegmentLog2 = 12,
    parameter int ScriptLog2 = 12
) (
    input  wire  clk,
    output logic rst,

    output logic [Reads*Beat*8-1:0] read_payload,
    output logic [       Reads-1:0] read_valid,
    input  wire  [       Reads-1:0] read_ready,
    input  wire  [  Reads*Beat-1:0] read_keep,     // bytes of the beat that are used
    input  wire  [       Reads-1:0] read_apart,    // the beat is counted apart

    input  wire  [Writes*Beat*8-1:0] write_payload,
    input  wire  [       Writes-1:0] write_valid,
    output logic [       Writes-1:0] write_ready,
    input  wire  [  Writes*Beat-1:0] write_keep,

    output logic        cfg_req,
    input  wire         cfg_gnt,
    output logic [31:0] cfg_add,
    output logic        cfg_wen,
    output logic [31:0] cfg_wdata,
    input  wire         cfg_r_valid,
    input  wire         cfg_r_opc,
    input  wire  [31:0] cfg_r_rdata,
    input  wire         irq,

    output logic finished
);

  localparam int Streams = Reads + Writes;

  // A line of the script: the operation in bits 67 to 64, below it address and data. A wait writes the cycle and the
  // times of the streams to the answers. A read whose result has any bit of its data set ends the run. A poll reads until
  // no such bit is set.
  localparam logic [3:0] OpRead = 4'd1, OpWait = 4'd2, OpEnd = 4'd3, OpPoll = 4'd5;

  // One segment: `lines` x `columns` pixels of `size` bytes; the pitch of lines is `pitch` bytes.
  typedef struct packed {
    logic [31:0] address;
    logic [31:0] pitch;
    logic [15:0] lines;
    logic [15:0] columns;
    logic [15:0] size;
  } segment_t;

  logic [  8:0] memory  [1<<MemoryLog2];  // a byte; bit 8: it was written
  logic [111:0] segments[1<<SegmentLog2];
  logic [ 67:0] script  [1<<ScriptLog2];
  // Bytes of memory, segments, lines of script; cycle limit; seed of the random numbers, not 0; cycles of 256 in which
  // a stream stalls; the stream whose first beat ends the fill of the pipeline; one unused word; then for each stream
  // its first segment and the one after its last.
  logic [ 31:0] header  [8+2*Streams];

  logic         present;
  logic [ 47:0] cycles;
  logic [ 31:0] pc;
  logic         polls;
  logic         asked;  // a configuration access is outstanding
  logic [ 31:0] noise;
  logic [ 31:0] shown_noise;
  logic [Reads*Beat*8-1:0] held;
  logic [ 31:0] twice;  // bytes that were written twice
  logic [ 31:0] beyond;  // beats outside all segments, and bytes missing or in excess in a segment

  // For each stream: its position in the list and in the segment, and what it moved.
  logic [ 31:0] position[Streams];
  logic [ 31:0] line    [Streams];
  logic [ 31:0] column  [Streams];
  logic [ 31:0] offset  [Streams];
  logic [ 47:0] bytes   [Streams];
  logic [ 47:0] apart   [Streams];
  logic [ 47:0] beats   [Streams];
  // The same since the last wait of the script: beats, cycles of the first and the last beat, and, after the fill of
  // the pipeline, cycles between them in which only one side was ready.
  logic [ 47:0] run_beats [Streams];
  logic [ 47:0] first_beat[Streams];
  logic [ 47:0] last_beat [Streams];
  logic [ 47:0] waited    [Streams];
  logic [ 47:0] waits_now [Streams];
  logic         full;

  string        folder;
  string        stem;
  integer       file;
  integer       i, b;
  segment_t     now;
  logic [ 31:0] place, width;
  logic         there;

  function automatic logic [31:0] next_random(input logic [31:0] given);
    logic [31:0] x;
    x = given ^ (given << 13);
    x = x ^ (x >> 17);
    next_random = x ^ (x << 5);
  endfunction

  initial begin
    finished = 1'b0;
    present = 1'b0;
    if ($value$plusargs("folder=%s", folder)) begin
      stem = $sformatf("%0s/%0d", folder, Index);
      file = $fopen({stem, ".header.hex"}, "r");
      if (file != 0) begin
        $fclose(file);
        present = 1'b1;
        $readmemh({stem, ".header.hex"}, header);
        $readmemh({stem, ".memory.hex"}, memory, 0, int'(header[0]) - 1);
        $readmemh({stem, ".segments.hex"}, segments, 0, int'(header[1]) - 1);
        $readmemh({stem, ".script.hex"}, script, 0, int'(header[2]) - 1);
      end
    end
    if (!present) finished = 1'b1;
    for (i = 0; i < Streams; i = i + 1) begin
      position[i] = present ? header[8+2*i] : 32'd0;
      line[i] = 32'd0;
      column[i] = 32'd0;
      offset[i] = 32'd0;
      bytes[i] = 48'd0;
      apart[i] = 48'd0;
      beats[i] = 48'd0;
      first_beat[i] = 48'd0;
      last_beat[i] = 48'd0;
      run_beats[i] = 48'd0;
      waited[i] = 48'd0;
      waits_now[i] = 48'd0;
    end
    noise = present ? header[4] : 32'd1;
    shown_noise = 32'd0;
    held = '0;
    read_valid = '0;
    write_ready = '0;
    cycles = 48'd0;
    twice = 32'd0;
    beyond = 32'd0;
    pc = 32'd0;
    polls = 1'b0;
    asked = 1'b0;
    cfg_req = 1'b0;
    cfg_add = 32'd0;
    cfg_wen = 1'b1;
    cfg_wdata = 32'd0;
    rst = 1'b1;
    file = 0;
    if (present) file = $fopen({stem, ".answers.txt"}, "w");
  end

  // Unused bytes of a beat are random.
  always_comb
    for (int n = 0; n < Reads * Beat; n = n + 1)
      read_payload[8*n+:8] = read_keep[n] ? held[8*n+:8] : shown_noise[7:0] ^ 8'(n);

  // The segment of stream `i`, its current address, and the bytes left of its pixel.
  task automatic look;
    now   = segments[position[i][SegmentLog2-1:0]];
    place = now.address + line[i] * now.pitch + column[i] * 32'(now.size) + offset[i];
    width = 32'(now.size) - offset[i];
    if (width > 32'(Beats[8*i+:8])) width = 32'(Beats[8*i+:8]);
  endtask

  // Stream `i` advances by `width` bytes.
  task automatic advance;
    offset[i] = offset[i] + width;
    if (offset[i] == 32'(now.size)) begin
      offset[i] = 32'd0;
      column[i] = column[i] + 32'd1;
      if (column[i] == 32'(now.columns)) begin
        column[i] = 32'd0;
        line[i] = line[i] + 32'd1;
        if (line[i] == 32'(now.lines)) begin
          line[i] = 32'd0;
          position[i] = position[i] + 32'd1;
        end
      end
    end
  endtask

  task automatic count_beat;
    if (run_beats[i] == 48'd0) first_beat[i] = cycles;
    else waited[i] = waited[i] + waits_now[i];
    waits_now[i] = 48'd0;
    last_beat[i] = cycles;
    run_beats[i] = run_beats[i] + 48'd1;
    beats[i] = beats[i] + 48'd1;
  endtask

  always @(posedge clk)
    if (present && !finished) begin
      cycles <= cycles + 48'd1;
      rst <= cycles < 48'd3;
      noise = next_random(noise);
      shown_noise <= noise;
      full = run_beats[header[6]] != 48'd0;

      for (i = 0; i < Reads; i = i + 1) begin
        if (read_valid[i] && read_ready[i]) begin
          for (b = 0; b < Beat; b = b + 1)
            if (read_keep[i*Beat+b]) begin
              if (read_apart[i]) apart[i] = apart[i] + 48'd1;
              else bytes[i] = bytes[i] + 48'd1;
            end
          count_beat();
        end else if (full && read_ready[i]) waits_now[i] = waits_now[i] + 48'd1;
        if (!read_valid[i] || read_ready[i]) begin
          read_valid[i] <= 1'b0;
          noise = next_random(noise);
          if (position[i] != header[9+2*i] && !rst && 32'(noise[15:8]) >= header[5]) begin
            look();
            there = 1'b1;
            for (b = 0; b < Beat; b = b + 1)
              if (b < int'(width)) begin
                there = there && memory[MemoryLog2'(place+32'(b))][8];
                held[(i*Beat+b)*8+:8] <= memory[MemoryLog2'(place+32'(b))][7:0];
              end
            if (there) begin
              read_valid[i] <= 1'b1;
              advance();
            end
          end
        end
      end

      for (i = Reads; i < Streams; i = i + 1) begin
        if (write_valid[i-Reads] && write_ready[i-Reads]) begin
          look();
          for (b = 0; b < Beat; b = b + 1)
            if (write_keep[(i-Reads)*Beat+b]) begin
              bytes[i] = bytes[i] + 48'd1;
              if (b < int'(width) && position[i] != header[9+2*i]) begin
                if (memory[MemoryLog2'(place+32'(b))][8]) twice = twice + 32'd1;
                memory[MemoryLog2'(place+32'(b))] = {1'b1, write_payload[((i-Reads)*Beat+b)*8+:8]};
              end else beyond = beyond + 32'd1;
            end else if (b < int'(width)) beyond = beyond + 32'd1;
          count_beat();
          if (position[i] != header[9+2*i]) begin
            advance();
            if (column[i] == 32'd0 && offset[i] == 32'd0) $fwrite(file, "line %0d %0d\n", i, cycles);
          end
        end else if (full && write_valid[i-Reads]) waits_now[i] = waits_now[i] + 48'd1;
        noise = next_random(noise);
        write_ready[i-Reads] <= !rst && 32'(noise[15:8]) >= header[5];
      end

      script_step();
      if (cycles >= 48'(header[3])) finish_with("limit");
    end

  task automatic script_step;
    if (cycles >= 48'd8) begin
      if (!asked) begin
        case (script[pc[ScriptLog2-1:0]][67:64])
          OpWait:
          if (irq) begin
            $fwrite(file, "wait %0d\n", cycles);
            for (i = 0; i < Streams; i = i + 1) begin
              if (run_beats[i] != 48'd0)
                $fwrite(file, "run %0d %0d %0d %0d %0d\n", i, run_beats[i], first_beat[i], last_beat[i], waited[i]);
              run_beats[i] = 48'd0;
              waited[i] = 48'd0;
              waits_now[i] = 48'd0;
            end
            pc = pc + 32'd1;
          end
          OpEnd: finish_with("end");
          default: begin
            cfg_req <= 1'b1;
            cfg_wen <= script[pc[ScriptLog2-1:0]][67:64] == OpRead || script[pc[ScriptLog2-1:0]][67:64] == OpPoll;
            cfg_add <= script[pc[ScriptLog2-1:0]][63:32];
            cfg_wdata <= script[pc[ScriptLog2-1:0]][31:0];
            asked = 1'b1;
          end
        endcase
      end else begin
        if (cfg_req && cfg_gnt) cfg_req <= 1'b0;
        if (cfg_r_valid) begin
          if (cfg_r_opc) $fwrite(file, "refused %0d\n", cfg_add);
          asked = 1'b0;
          polls = script[pc[ScriptLog2-1:0]][67:64] == OpPoll;
          if (cfg_wen && !polls) $fwrite(file, "read %0d %0d\n", cfg_add, cfg_r_rdata);
          if (cfg_wen && !polls && (cfg_r_rdata & cfg_wdata) != 32'd0) finish_with("failed");
          if (!polls || (cfg_r_rdata & cfg_wdata) == 32'd0) pc = pc + 32'd1;
        end
      end
    end
  endtask

  task automatic finish_with(input string how);
    for (i = 0; i < Streams; i = i + 1)
      $fwrite(file, "stream %0d %0d %0d %0d %0d\n", i, bytes[i], apart[i], beats[i], header[9+2*i] - position[i]);
    $fwrite(file, "twice %0d\nbeyond %0d\ncycles %0d\n%0s\n", twice, beyond, cycles, how);
    $fclose(file);
    $writememh({stem, ".result.hex"}, memory, 0, int'(header[0]) - 1);
    finished <= 1'b1;
  endtask

endmodule
