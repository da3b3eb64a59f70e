// The harness of one depth-first pipeline with movers: the DRAM behind its AXI4 port, with counters, and configuration.
// Runs on Verilator and on Icarus 11.
//
// All inputs of a run are read from files when the simulation starts, and all results are written to files when it ends:
// see harness.sv, whose script and memory these are. The header has other words, and there are no segments.

`default_nettype none
`timescale 1ns / 1ps

module pipeline_dram_harness #(
    parameter int Index = 0,
    parameter int DataBits = 64,
    parameter int IdBits = 0,       // this and the next are given by who builds it
    parameter int DramQueue = 0,    // see `dram`
    parameter int MemoryLog2 = 16,  // bytes
    parameter int ScriptLog2 = 12,
    parameter int RunLog2 = 12
) (
    input  wire  clk,
    output logic rst,

    input  wire [    IdBits-1:0] awid,
    input  wire [          31:0] awaddr,
    input  wire [           7:0] awlen,
    input  wire [           2:0] awsize,
    input  wire [           1:0] awburst,
    input  wire [           7:0] awuser,
    input  wire                  awvalid,
    output wire                  awready,
    input  wire [  DataBits-1:0] wdata,
    input  wire [DataBits/8-1:0] wstrb,
    input  wire                  wlast,
    input  wire                  wvalid,
    output wire                  wready,
    output wire [    IdBits-1:0] bid,
    output wire [           1:0] bresp,
    output wire                  bvalid,
    input  wire                  bready,
    input  wire [    IdBits-1:0] arid,
    input  wire [          31:0] araddr,
    input  wire [           7:0] arlen,
    input  wire [           2:0] arsize,
    input  wire [           1:0] arburst,
    input  wire [           7:0] aruser,
    input  wire                  arvalid,
    output wire                  arready,
    output wire [    IdBits-1:0] rid,
    output wire [  DataBits-1:0] rdata,
    output wire [           1:0] rresp,
    output wire                  rlast,
    output wire                  rvalid,
    input  wire                  rready,

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

  localparam int Bytes = DataBits / 8;
  localparam logic [3:0] OpRead = 4'd1, OpWait = 4'd2, OpEnd = 4'd3;
  localparam logic [3:0] OpReset = 4'd4, OpPoll = 4'd5;  // a reset comes after some cycles

  logic [ 8:0] memory[1<<MemoryLog2];  // a byte; bit 8: it was written
  logic [67:0] script[1<<ScriptLog2];
  // Bytes of memory, lines of script; cycle limit; seed of the random numbers, not 0; cycles of 256 in which a channel of
  // the port stalls; the DRAM's timing, in four words; which bursts get an error: reads, writes; the address of the error;
  // runs (see listed_runs.sv); then for each AXI ID the number of its first run and of the one after its last.
  logic [31:0] header[12+(2<<IdBits)];

  logic        present;
  logic        clear;
  logic [47:0] cycles;
  logic [31:0] pc;
  logic        polls;
  logic        asked;  // a configuration access is outstanding
  logic [31:0] passed;  // cycles of the reset at hand
  logic        resets;
  logic [31:0] twice;  // bytes that were written twice
  logic [31:0] beyond;  // bytes that were written outside of the memory

  string       folder;
  string       stem;
  integer      file;
  integer      i;
  logic [31:0] place;

  wire  [        31:0] read_beat;
  wire  [DataBits-1:0] read_data;
  wire  [        31:0] write_beat;
  wire  [   Bytes-1:0] write_enable;

  genvar g;
  generate
    for (g = 0; g < Bytes; g = g + 1) begin : lane
      assign read_data[8*g+:8] = memory[MemoryLog2'(read_beat*Bytes+g)][7:0];
    end
  endgenerate

  wire [12:0] read_used;
  wire [31:0] unwanted_bursts, unwanted_beats, unwanted_at;
  wire [32*(2<<IdBits)-1:0] ranges;
  generate
    for (g = 0; g < 2 << IdBits; g = g + 1) begin : range
      assign ranges[32*g+:32] = header[12+g];
    end
  endgenerate
  listed_runs #(
      .DataBits(DataBits),
      .IdBits  (IdBits),
      .RunLog2 (RunLog2)
  ) wanted (
      .*,
      .ar        (arvalid && arready),
      .ar_id     (arid),
      .ar_address(araddr),
      .ar_length (arlen),
      .aw        (awvalid && awready),
      .aw_id     (awid),
      .aw_address(awaddr),
      .aw_length (awlen),
      .used      (read_used)
  );

  dram #(
      .DataBits (DataBits),
      .IdBits   (IdBits),
      .Queue    (DramQueue),
      .ById     (1'b1),
      .DepthLog2(MemoryLog2 - 2)
  ) dram (
      .*,
      .region_base  ('0),
      .region_end   ('0),
      .region_kind  ('0),
      .random_start (header[3]),
      .stall_rate   ({5{header[4][7:0]}}),
      .timing       ({header[8], header[7], header[6], header[5]}),
      .error_enable (header[9][1:0]),
      .error_code   (2'd2),
      .error_address(header[10])
  );

  initial begin
    finished = 1'b0;
    present = 1'b0;
    for (i = 0; i < 12 + (2 << IdBits); i = i + 1) header[i] = 32'd0;
    if ($value$plusargs("folder=%s", folder)) begin
      stem = $sformatf("%0s/%0d", folder, Index);
      file = $fopen({stem, ".header.hex"}, "r");
      if (file != 0) begin
        $fclose(file);
        present = 1'b1;
        $readmemh({stem, ".header.hex"}, header);
        $readmemh({stem, ".memory.hex"}, memory, 0, int'(header[0]) - 1);
        $readmemh({stem, ".script.hex"}, script, 0, int'(header[1]) - 1);
        $readmemh({stem, ".runs.hex"}, wanted.runs, 0, int'(header[11]) - 1);
      end
    end
    if (!present) finished = 1'b1;
    cycles = 48'd0;
    twice = 32'd0;
    beyond = 32'd0;
    pc = 32'd0;
    polls = 1'b0;
    asked = 1'b0;
    passed = 32'd0;
    resets = 1'b0;
    cfg_req = 1'b0;
    cfg_add = 32'd0;
    cfg_wen = 1'b1;
    cfg_wdata = 32'd0;
    rst = 1'b1;
    clear = 1'b1;
    file = 0;
    if (present) file = $fopen({stem, ".answers.txt"}, "w");
  end

  always @(posedge clk)
    if (present && !finished) begin
      cycles <= cycles + 48'd1;
      rst <= cycles < 48'd3 || resets;
      clear <= cycles < 48'd3 || resets;
      for (i = 0; i < Bytes; i = i + 1)
        if (write_enable[i]) begin
          place = write_beat * Bytes + i;
          if (place >= header[0]) beyond = beyond + 32'd1;
          else begin
            if (memory[place[MemoryLog2-1:0]][8]) twice = twice + 32'd1;
            memory[place[MemoryLog2-1:0]] <= {1'b1, wdata[8*i+:8]};
          end
        end
      script_step();
      if (cycles >= 48'(header[2])) finish_with("limit");
    end

  task automatic script_step;
    if (cycles >= 48'd8) begin
      if (!asked) begin
        case (script[pc[ScriptLog2-1:0]][67:64])
          OpWait:
          if (irq) begin
            $fwrite(file, "wait %0d\n", cycles);
            pc = pc + 32'd1;
          end
          OpEnd: finish_with("end");
          OpReset: begin
            passed = passed + 32'd1;
            resets = passed > script[pc[ScriptLog2-1:0]][31:0];
            if (passed == script[pc[ScriptLog2-1:0]][31:0] + 32'd4) begin
              passed = 32'd0;
              resets = 1'b0;
              pc = pc + 32'd1;
            end
          end
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
    for (i = 0; i < 32; i = i + 1)
      if (dram.counted.bursts[i] != 48'd0)
        $fwrite(file, "dram %0d %0d %0d %0d %0d %0d %0d\n", i, dram.counted.bytes[i], dram.counted.beats[i],
                dram.counted.bursts[i], dram.counted.blocks[i], dram.counted.jumps[i], dram.counted.row_misses[i]);
    $fwrite(file, "unwanted %0d %0d %0d\n", unwanted_bursts, unwanted_beats, unwanted_at);
    $fwrite(file, "twice %0d\nbeyond %0d\nviolations %0d\nbusy %0d\ncycles %0d\n%0s\n", twice, beyond,
            dram.violations, dram.busy_cycles, cycles, how);
    $fclose(file);
    $writememh({stem, ".result.hex"}, memory, 0, int'(header[0]) - 1);
    finished <= 1'b1;
  endtask

endmodule

`default_nettype wire
