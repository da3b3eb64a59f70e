// Top of the DMA's simulations: the DMA between a DRAM and a TCDM without conflicts, fed with descriptors.
//
// One array holds all memory: the DRAM from address 0 on, and the TCDM at the end of it, where no AXI address reaches.
// Descriptors' words, a fetched program and the times at which descriptors were done lie in the same array. As in
// `hwc.sv` there are no ports: the test bench drives the variables of the first block, which are registered before
// they are used, and the native run loop drives the clock.

`default_nettype none
`timescale 1ns / 1ps

module harness #(
    parameter int DataBits = 64,
    parameter int MasterIdBits = 0,  // of the IDs of the DMA; this and the next are given by who builds this
    parameter int DramQueue = 0,     // see `dram`
    parameter int DramLog2 = 18,   // sizes in 32-bit words, as powers of two
    parameter int TcdmLog2 = 16
);

  localparam int IdBits = MasterIdBits;
  localparam int DramRegions = 16;
  localparam int Bytes = DataBits / 8;
  localparam int Ports = DataBits / 32;
  localparam int Words = (1 << DramLog2) + (1 << TcdmLog2);

  // Driven by the test bench.
  logic         clk = 1'b0;
  logic         rst = 1'b1;
  logic         clear = 1'b1;             // clears all but the memory, and takes over the controls below
  logic         go = 1'b0;                // feeds what is below
  logic [ 31:0] load_first = 32'd0;       // word numbers in the memory of the descriptors to load and to store
  logic [ 31:0] load_end = 32'd0;
  logic [ 31:0] store_first = 32'd0;
  logic [ 31:0] store_end = 32'd0;
  logic [ 31:0] load_count = 32'd0;       // descriptors: `finished` rises when so many are done
  logic [ 31:0] store_count = 32'd0;
  logic [ 31:0] stamps = 32'd0;           // word number: cycle of each descriptor's first word and of its end; loads, stores
  logic         serial = 1'b0;            // a descriptor waits for the one before it
  logic         store_last = 1'b0;        // stores wait for all loads
  logic [ 31:0] program_first = 32'd0;    // byte address and words of a program, and the word number to put it at
  logic [ 31:0] program_count = 32'd0;
  logic [ 31:0] program_copy = 32'd0;
  logic [  7:0] program_rate = 8'd0;      // so many cycles in 256 without taking a word
  logic [ 31:0] cycle_limit = 32'd0;
  logic [ 31:0] random_start = 32'd1;
  logic [ 15:0] tcdm_rate = 16'd0;        // ports: see `tcdm_port`: stalls, delays
  logic [  4:0] tcdm_kind = 5'd0;         // ... write_answers, more_latency
  logic [  1:0] tcdm_error_enable = 2'd0; // load, store ports of the TCDM, at the address of `axi_error_address`
  logic [191:0] windows = 192'd0;         // dram_base, dram_end, tcdm_base, tcdm_end from bit 0 up, 48 bits each
  logic [191:0] rings = 192'd0;           // ends and sizes of I, W, O, 32 bits each
  logic [32*DramRegions-1:0] dram_region_base = '0; // see `dram`
  logic [32*DramRegions-1:0] dram_region_end = '0;
  logic [ 4*DramRegions-1:0] dram_region_kind = '0;

  // Read by the test bench.
  wire          finished;
  logic         timed_out;
  logic [ 31:0] cycles;
  logic [ 31:0] loads_done;
  logic [ 31:0] stores_done;
  logic [ 31:0] program_words;            // that have come
  wire  [  2:0] idle;
  wire  [ 23:0] error;                    // load, store, program
  wire  [ 95:0] error_at;
  logic [ 31:0] strays;                   // writes to the TCDM that left it, reads on ports that only write, and so on

  logic rst_now, clear_now, going, is_serial, stores_wait;
  logic [ 31:0] l_end, s_end, l_count, s_count, stamp_base, p_first, p_count, p_copy, limit, start;
  logic [  7:0] p_rate;
  logic [ 15:0] tcdm_stalls;
  logic [  4:0] tcdm_is;
  logic [  1:0] tcdm_errors;
  logic [191:0] window_now, ring_now;
  logic [32*DramRegions-1:0] dram_from, dram_to;
  logic [4*DramRegions-1:0] dram_kind;

  logic [31:0] memory[Words];
  wire [12:0] read_used;
`include "dram/at_port.svh"

  wire [Ports-1:0] l_req, l_gnt, l_wen, l_r_valid, l_r_opc, s_req, s_gnt, s_wen, s_r_valid, s_r_opc;
  wire [4*Ports-1:0] l_be, s_be;
  wire [32*Ports-1:0] l_add, l_wdata, l_r_rdata, s_add, s_wdata, s_r_rdata;

  logic [31:0] l_at, s_at;
  wire l_ready, s_ready, l_done, s_done;
  logic l_open, s_open;  // a descriptor that was fed is not done yet
  logic [3:0] l_index, s_index;
  wire [31:0] l_word = memory[l_at];
  wire [31:0] s_word = memory[s_at];
  logic l_scattered, s_scattered;
  logic [31:0] l_number, s_number;  // of the descriptor that is fed
  wire l_valid = going && l_at != l_end && !(is_serial && l_index == 4'd0 && l_open);
  wire s_valid = going && s_at != s_end && !(is_serial && s_index == 4'd0 && s_open) &&
      !(stores_wait && loads_done != l_count);
  wire [31:0] p_word;
  wire p_valid;
  logic p_ready, p_started, p_start;
  logic [31:0] random;

  dma_flat dut (
      .*,
      .rst(rst_now),
      .load_word(l_word),
      .load_valid(l_valid),
      .load_ready(l_ready),
      .store_word(s_word),
      .store_valid(s_valid),
      .store_ready(s_ready),
      .load_done(l_done),
      .store_done(s_done),
      .program_start(p_start),
      .program_address(p_first),
      .program_words(p_count),
      .program_word(p_word),
      .program_valid(p_valid),
      .program_ready(p_ready),
      .windows(window_now),
      .rings(ring_now),
      .load_req(l_req),
      .load_gnt(l_gnt),
      .load_add(l_add),
      .load_wen(l_wen),
      .load_be(l_be),
      .load_wdata(l_wdata),
      .load_r_valid(l_r_valid),
      .load_r_opc(l_r_opc),
      .load_r_rdata(l_r_rdata),
      .store_req(s_req),
      .store_gnt(s_gnt),
      .store_add(s_add),
      .store_wen(s_wen),
      .store_be(s_be),
      .store_wdata(s_wdata),
      .store_r_valid(s_r_valid),
      .store_r_opc(s_r_opc),
      .store_r_rdata(s_r_rdata)
  );

  genvar g;
  descriptor_runs #(
      .DataBits(DataBits),
      .IdBits(IdBits),
      .DepthLog2(DramLog2)
  ) wanted (
      .clk(clk),
      .clear(clear_now),
      .in_program(1'b0),
      .first_word(l_at),
      .end_word(l_end),
      .program_first(p_first),
      .program_end(p_first + 4 * p_count),
      .taken(arvalid && arready),
      .id(arid),
      .address(araddr),
      .length(arlen),
      .used(read_used),
      .unwanted_bursts(),
      .unwanted_beats(),
      .unwanted_at()
  );

  // The TCDM: a port's memory side each, and writes byte by byte, as two ports may meet in one word.
  generate
    for (g = 0; g < Ports; g = g + 1) begin : port
      tcdm_port load (
          .clk(clk),
          .clear(clear_now),
          .req(l_req[g]),
          .gnt(l_gnt[g]),
          .add(l_add[32*g+:32]),
          .wen(l_wen[g]),
          .be(l_be[4*g+:4]),
          .wdata(l_wdata[32*g+:32]),
          .r_valid(l_r_valid[g]),
          .r_opc(l_r_opc[g]),
          .r_rdata(l_r_rdata[32*g+:32]),
          .word(32'd0),
          .missing(l_add[32*g+:32] >= (4 << TcdmLog2)),
          .random_start(start ^ (32'h5bd1e995 << g)),
          .stall_rate(tcdm_stalls[7:0]),
          .delay_rate(tcdm_stalls[15:8]),
          .more_latency(tcdm_is[2:0]),
          .write_answers(tcdm_is[4:3]),
          .error_enable(tcdm_errors[0]),
          .error_address(code_at),
          .region_base(160'd0),
          .region_end(160'd0)
      );
      tcdm_port store (
          .clk(clk),
          .clear(clear_now),
          .req(s_req[g]),
          .gnt(s_gnt[g]),
          .add(s_add[32*g+:32]),
          .wen(s_wen[g]),
          .be(s_be[4*g+:4]),
          .wdata(s_wdata[32*g+:32]),
          .r_valid(s_r_valid[g]),
          .r_opc(s_r_opc[g]),
          .r_rdata(s_r_rdata[32*g+:32]),
          .word(memory[(1<<DramLog2)+s_add[32*g+2+:TcdmLog2]]),
          .missing(s_add[32*g+:32] >= (4 << TcdmLog2)),
          .random_start(~start ^ (32'h2545f491 << g)),
          .stall_rate(tcdm_stalls[7:0]),
          .delay_rate(tcdm_stalls[15:8]),
          .more_latency(tcdm_is[2:0]),
          .write_answers(tcdm_is[4:3]),
          .error_enable(tcdm_errors[1]),
          .error_address(code_at),
          .region_base(160'd0),
          .region_end(160'd0)
      );
    end
  endgenerate

  logic [31:0] spot;
  always_ff @(posedge clk) begin
    for (int i = 0; i < Ports; i++) begin
      spot = (1 << DramLog2) + 32'(l_add[32*i+2+:TcdmLog2]);
      for (int b = 0; b < 4; b++) begin
        if (l_req[i] && l_gnt[i] && !l_wen[i] && l_be[4*i+b]) memory[spot][8*b+:8] <= l_wdata[32*i+8*b+:8];
      end
    end
    if (!clear_now && l_valid && l_ready && l_index == 4'd0) memory[stamp_base+2*l_number] <= cycles;
    if (!clear_now && l_done) memory[stamp_base+2*loads_done+1] <= cycles;
    if (!clear_now && s_valid && s_ready && s_index == 4'd0) memory[stamp_base+2*(l_count+s_number)] <= cycles;
    if (!clear_now && s_done) memory[stamp_base+2*(l_count+stores_done)+1] <= cycles;
    if (!clear_now && p_valid && p_ready) memory[p_copy+program_words] <= p_word;
  end

  assign finished = timed_out || (going && cycles > 32'd8 && idle == 3'd7 &&
      ((loads_done == l_count && stores_done == s_count && program_words == p_count) || error != 24'd0));

  always_ff @(posedge clk) begin
    rst_now   <= rst;
    clear_now <= clear;
    p_start   <= 1'b0;
    if (clear) begin
      going       <= 1'b0;
      is_serial   <= serial;
      stores_wait <= store_last;
      l_end       <= load_end;
      s_end       <= store_end;
      l_count     <= load_count;
      s_count     <= store_count;
      stamp_base  <= stamps;
      p_first     <= program_first;
      p_count     <= program_count;
      p_copy      <= program_copy;
      p_rate      <= program_rate;
      limit       <= cycle_limit;
      start       <= random_start;
      random      <= random_start;
      tcdm_stalls <= tcdm_rate;
      tcdm_is     <= tcdm_kind;
      tcdm_errors <= tcdm_error_enable;
      window_now  <= windows;
      ring_now    <= rings;
      dram_from   <= dram_region_base;
      dram_to     <= dram_region_end;
      dram_kind   <= dram_region_kind;
      l_at        <= load_first;
      s_at        <= store_first;
      l_index     <= 4'd0;
      s_index     <= 4'd0;
      l_number    <= 32'd0;
      s_number    <= 32'd0;
      l_open      <= 1'b0;
      s_open      <= 1'b0;
      cycles      <= 32'd0;
      timed_out   <= 1'b0;
      loads_done  <= 32'd0;
      stores_done <= 32'd0;
      program_words <= 32'd0;
      p_started   <= 1'b0;
      p_ready     <= 1'b0;
      strays      <= 32'd0;
    end else begin
      going  <= go;
      random <= random * 32'd1664525 + 32'd1013904223;
      if (going && !finished) cycles <= cycles + 32'd1;
      if (cycles >= limit) timed_out <= 1'b1;
      if (going && !p_started && p_count != 32'd0) p_start <= 1'b1;
      if (going) p_started <= 1'b1;
      p_ready <= (p_ready && !p_valid) || random[31:24] >= p_rate;
      if (p_valid && p_ready) program_words <= program_words + 32'd1;
      if (l_valid && l_ready) begin
        l_at <= l_at + 32'd1;
        if (l_index == 4'd0) l_scattered <= l_word[26];
        if (l_index == 4'd0) l_open <= 1'b1;
        l_index <= l_index + 4'd1;
        if (l_index == (l_scattered ? 4'd9 : 4'd7) && l_index != 4'd0) begin
          l_index  <= 4'd0;
          l_number <= l_number + 32'd1;
        end
      end
      if (l_done) l_open <= 1'b0;
      if (l_done) loads_done <= loads_done + 32'd1;
      if (s_valid && s_ready) begin
        s_at <= s_at + 32'd1;
        if (s_index == 4'd0) s_scattered <= s_word[26];
        if (s_index == 4'd0) s_open <= 1'b1;
        s_index <= s_index + 4'd1;
        if (s_index == (s_scattered ? 4'd9 : 4'd7) && s_index != 4'd0) begin
          s_index  <= 4'd0;
          s_number <= s_number + 32'd1;
        end
      end
      if (s_done) s_open <= 1'b0;
      if (s_done) stores_done <= stores_done + 32'd1;
      for (int i = 0; i < Ports; i++)
        if ((l_req[i] && l_wen[i]) || (s_req[i] && !s_wen[i]) ||
            (l_req[i] && l_add[32*i+:32] >= (4 << TcdmLog2))) strays <= strays + 32'd1;
    end
  end

`ifndef VERILATOR
  memory_files #(.Words(Words)) files ();
`endif

endmodule

`default_nettype wire
