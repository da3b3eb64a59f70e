// The world around a cluster: DRAM, access counters and stalls at every port of the shared memory, configuration port.
//
// The cluster's core and its memory are instances of their own, and the ports between them run through here. As in
// `hwc.sv` there are no ports: the test bench drives the variables of the first block, which are registered before
// they are used, and waits for `finished`.

`default_nettype none
`timescale 1ns / 1ps

module harness #(
    parameter int DataBits = 64,  // of the AXI port
    parameter int MasterIdBits = 0,  // of the IDs of the DMA; this and the next are given by who builds this
    parameter int DramQueue = 0,     // see `dram`
    parameter int Hwcs = 4,
    parameter int WidthI = 32,    // bits of a word of each HWC's ports
    parameter int WidthW = 32,
    parameter int WidthO = 32,
    parameter int Vector = 0,     // vector units: none or one
    parameter int WidthVector = 32,  // bits of a word of its ports
    parameter int DramLog2 = 23   // the DRAM's size in 32-bit words, as a power of two
);

  localparam int IdBits = MasterIdBits;
  localparam int DramRegions = 16;
  localparam int Moves = DataBits / 32;           // the DMA's ports that load, and those that store
  localparam int Others = 3 * Hwcs + 2 * Moves;   // the first port of the vector unit: it reads, the next one writes
  localparam int Ports = Others + 2 * Vector;
  localparam int WidthHwc = WidthI + WidthW + WidthO;
  localparam int BitsOthers = Hwcs * WidthHwc + 32 * 2 * Moves;  // of a word of each port before those
  localparam int Bits = BitsOthers + WidthVector * 2 * Vector;

  // Driven by the test bench.
  logic                clk = 1'b0;
  logic                rst = 1'b1;              // resets the cluster
  logic                clear = 1'b1;            // clears all but the memory, and takes over the controls below
  logic                recount = 1'b0;          // takes over the regions of TCDM and DRAM, and clears nothing
  logic                cfg_go = 1'b0;           // every change starts one transfer on the configuration port
  logic                cfg_write = 1'b0;
  logic [        31:0] cfg_address = 32'd0;
  logic [        31:0] cfg_data = 32'd0;
  logic [        31:0] start_address = 32'd0;   // writing this value to this register starts the cycle counter
  logic [        31:0] start_value = 32'd0;
  logic [        47:0] cycle_limit = 48'd0;     // `finished` rises after so many cycles even without an interrupt
  logic [        31:0] random_start = 32'd1;    // of the random stalls and of what nobody asked for; not 0
  logic [ 8*Ports-1:0] tcdm_rate = '0;          // see `cluster_port`
  logic [   Ports-1:0] tcdm_error_enable = '0;
  logic [        31:0] tcdm_error_address = 32'd0;
  logic [       159:0] tcdm_region_base = '0;   // the next layer's W, then I, W, O, B from bit 0 up: see `cluster_port`
  logic [       159:0] tcdm_region_end = '0;
  logic [32*DramRegions-1:0] dram_region_base = '0; // see `dram`
  logic [32*DramRegions-1:0] dram_region_end = '0;
  logic [ 4*DramRegions-1:0] dram_region_kind = '0;
  logic [        31:0] program_first = 32'd0;   // byte address of the program, and the one after it
  logic [        31:0] program_end = 32'd0;

  // Read by the test bench, besides `memory` and the counters.
  wire         cfg_served;                      // follows `cfg_go` when the transfer's response has arrived
  wire  [31:0] cfg_answer;
  wire         cfg_error;
  wire  [31:0] cfg_violations;                  // responses without a request on the configuration port
  wire         irq;
  wire         ended;                           // interrupt, or too many cycles
  wire         finished;                        // that, or the program is between two layers
  wire         timed_out;
  wire  [47:0] cycles;                          // from the start write's grant to the interrupt

  logic rst_now, clear_now;
  logic [31:0] start_at, start_data, start, tcdm_error_at;
  logic [47:0] limit;
  logic [8*Ports-1:0] tcdm_stalls;
  logic [Ports-1:0] tcdm_errors;
  logic [159:0] tcdm_from, tcdm_to;
  logic [32*DramRegions-1:0] dram_from, dram_to;
  logic [4*DramRegions-1:0] dram_kind;
  logic [31:0] program_from, program_to;
  always_ff @(posedge clk) begin
    rst_now   <= rst;
    clear_now <= clear;
    if (clear) begin
      start_at      <= start_address;
      start_data    <= start_value;
      limit         <= cycle_limit;
      start         <= random_start;
      tcdm_stalls   <= tcdm_rate;
      tcdm_errors   <= tcdm_error_enable;
      tcdm_error_at <= tcdm_error_address;
      program_from  <= program_first;
      program_to    <= program_end;
    end
    if (clear || recount) begin
      tcdm_from     <= tcdm_region_base;
      tcdm_to       <= tcdm_region_end;
      dram_from     <= dram_region_base;
      dram_to       <= dram_region_end;
      dram_kind     <= dram_region_kind;
    end
  end

  logic [31:0] memory[1<<DramLog2];
  wire [12:0] read_used;
`include "dram/at_port.svh"

  wire cfg_req, cfg_wen;
  wire [31:0] cfg_add, cfg_wdata;
  wire cfg_gnt, cfg_r_valid, cfg_r_opc;
  wire [31:0] cfg_r_rdata;

  wire [Ports-1:0] m_req, m_gnt, m_r_valid, m_r_opc, s_req, s_gnt, s_r_valid, s_r_opc, wen;
  wire [Bits/8-1:0] m_be, s_be;
  wire [Bits-1:0] m_wdata, m_r_rdata, s_r_rdata;
  wire [32*Ports-1:0] add, conflicts;
  wire starts, settles;
  assign finished = ended || settles;

`ifdef LANE_REGISTERS  // the lanes of the HWCs have registers
  wire [4*Hwcs-1:0] lane_accesses;
  genvar h;
  generate
    for (h = 0; h < Hwcs; h = h + 1) begin : hwcs
      lane_watch lanes (
          .clk(clk),
          .clear(clear_now),
          .made(lane_accesses[4*h+:4])
      );
    end
  endgenerate
`endif

  cluster_core core (
      .clk(clk),
      .rst(rst_now),
`ifdef LANE_REGISTERS
      .lane_accesses(lane_accesses),
`endif
      .irq(irq),
      .starts(starts),
      .settles(settles),
      .conflicts(conflicts),
      .moves(),
      .cfg__req(cfg_req),
      .cfg__gnt(cfg_gnt),
      .cfg__add(cfg_add),
      .cfg__wen(cfg_wen),
      .cfg__be(4'b1111),
      .cfg__wdata(cfg_wdata),
      .cfg__r_valid(cfg_r_valid),
      .cfg__r_opc(cfg_r_opc),
      .cfg__r_rdata(cfg_r_rdata),
      .tcdm__req(m_req),
      .tcdm__gnt(m_gnt),
      .tcdm__add(add),
      .tcdm__wen(wen),
      .tcdm__be(m_be),
      .tcdm__wdata(m_wdata),
      .tcdm__r_valid(m_r_valid),
      .tcdm__r_opc(m_r_opc),
      .tcdm__r_rdata(m_r_rdata),
`include "dram/axi_ports.svh"
  );

  cluster_tcdm tcdm (
      .clk(clk),
      .rst(rst_now),
      .clear(starts),
      .conflicts(conflicts),
      .ports__req(s_req),
      .ports__gnt(s_gnt),
      .ports__add(add),
      .ports__wen(wen),
      .ports__be(s_be),
      .ports__wdata(m_wdata),
      .ports__r_valid(s_r_valid),
      .ports__r_opc(s_r_opc),
      .ports__r_rdata(s_r_rdata)
  );

  genvar g;
  generate
    for (g = 0; g < Ports; g = g + 1) begin : ports
      // Words of the ports are packed from bit 0 up: the HWCs' I, W and O, then those of the DMA and of the vector unit.
      localparam int OfHwc = g % 3 == 0 ? WidthI : g % 3 == 1 ? WidthW : WidthO;
      localparam int Before = g % 3 == 0 ? 0 : g % 3 == 1 ? WidthI : WidthI + WidthW;
      localparam int Width = g < 3 * Hwcs ? OfHwc : g < Others ? 32 : WidthVector;
      localparam int At = g < 3 * Hwcs ? g / 3 * WidthHwc + Before
          : g < Others ? Hwcs * WidthHwc + 32 * (g - 3 * Hwcs) : BitsOthers + WidthVector * (g - Others);
      cluster_port #(
          .Width(Width)
      ) port (
          .clk(clk),
          .clear(clear_now),
          .m_req(m_req[g]),
          .m_gnt(m_gnt[g]),
          .add(add[32*g+:32]),
          .wen(wen[g]),
          .be(m_be[At/8+:Width/8]),
          .wdata(m_wdata[At+:Width]),
          .m_r_valid(m_r_valid[g]),
          .m_r_opc(m_r_opc[g]),
          .m_r_rdata(m_r_rdata[At+:Width]),
          .s_req(s_req[g]),
          .s_gnt(s_gnt[g]),
          .s_be(s_be[At/8+:Width/8]),
          .s_r_valid(s_r_valid[g]),
          .s_r_opc(s_r_opc[g]),
          .s_r_rdata(s_r_rdata[At+:Width]),
          .region_base(tcdm_from),
          .region_end(tcdm_to),
          .only_reads(g >= Others ? g == Others : g >= 3 * Hwcs ? g >= 3 * Hwcs + Moves : g % 3 != 2),
          .only_writes(g >= Others ? g != Others : g >= 3 * Hwcs && g < 3 * Hwcs + Moves),
          .random_start(start ^ (32'h9e3779b1 * (g + 1))),
          .stall_rate(tcdm_stalls[8*g+:8]),
          .error_enable(tcdm_errors[g]),
          .error_address(tcdm_error_at)
      );
    end
  endgenerate

  descriptor_runs #(
      .DataBits(DataBits),
      .IdBits(IdBits),
      .DepthLog2(DramLog2)
  ) wanted (
      .clk(clk),
      .clear(clear_now),
      .in_program(1'b1),
      .first_word(program_from >> 2),
      .end_word(program_to >> 2),
      .program_first(program_from),
      .program_end(program_to),
      .taken(arvalid && arready),
      .id(arid),
      .address(araddr),
      .length(arlen),
      .used(read_used),
      .unwanted_bursts(),
      .unwanted_beats(),
      .unwanted_at()
  );

  configuration configuration (
      .*,
      .clear(clear_now),
      .finished(ended),
      .go(cfg_go),
      .write(cfg_write),
      .address(cfg_address),
      .data(cfg_data),
      .served(cfg_served),
      .answer(cfg_answer),
      .error(cfg_error),
      .violations(cfg_violations),
      .req(cfg_req),
      .wen(cfg_wen),
      .add(cfg_add),
      .wdata(cfg_wdata),
      .gnt(cfg_gnt),
      .r_valid(cfg_r_valid),
      .r_opc(cfg_r_opc),
      .r_rdata(cfg_r_rdata)
  );

`ifndef VERILATOR
  memory_files #(.Words(1 << DramLog2)) files ();
`endif

endmodule

`default_nettype wire
