// The world around a system of several clusters: one DRAM, its configuration port, and counters beside each cluster.
//
// The system is the generated one, whole. What its clusters do at their AXI ports and at their memories is watched
// inside it and counted apart; the DRAM counts what they do together. As in `cluster.sv` there are no ports: the test
// bench drives the variables of the first block, which are registered before they are used, and waits for `finished`.

`default_nettype none
`timescale 1ns / 1ps

module harness #(
    parameter int Clusters = 2,
    parameter int DataBits = 64,  // of the AXI port
    parameter int MasterIdBits = 0,  // of the IDs of a cluster; this and the next are given by who builds this
    parameter int DramQueue = 0,     // see `dram`
    parameter int Hwcs = 4,       // of each cluster
    parameter int WidthI = 32,    // bits of a word of each HWC's ports
    parameter int WidthW = 32,
    parameter int WidthO = 32,
    parameter int Vector = 0,     // vector units of each cluster: none or one
    parameter int WidthVector = 32,  // bits of a word of its ports
    parameter int DramLog2 = 23   // the DRAM's size in 32-bit words, as a power of two
);

  localparam int IdBits = MasterIdBits + $clog2(Clusters);
  localparam int Moves = DataBits / 32;           // a DMA's ports that load, and those that store
  localparam int Others = 3 * Hwcs + 2 * Moves;   // the first port of the vector unit: it reads, the next one writes
  localparam int Ports = Others + 2 * Vector;     // of a cluster's memory
  localparam int WidthHwc = WidthI + WidthW + WidthO;
  localparam int BitsOthers = Hwcs * WidthHwc + 32 * 2 * Moves;  // of a word of each port before those
  localparam int Regions = 16;                    // of the DRAM, for each cluster
  localparam int DramRegions = 1;                 // what is counted is told apart at the clusters
  localparam int Rings = 5;                       // of each TCDM

  // Driven by the test bench.
  logic                clk = 1'b0;
  logic                rst = 1'b1;              // resets the system
  logic                clear = 1'b1;            // clears all but the memory, and takes over the controls below
  logic                recount = 1'b0;          // takes over the regions of TCDM and DRAM, and clears nothing
  logic                cfg_go = 1'b0;           // every change starts one transfer on the configuration port
  logic                cfg_write = 1'b0;
  logic [        31:0] cfg_address = 32'd0;
  logic [        31:0] cfg_data = 32'd0;
  logic [        31:0] start_address = 32'd0;   // writing this value to this register of a cluster starts its cycles
  logic [        31:0] start_value = 32'd0;
  logic [        31:0] window_bytes = 32'd0;    // addresses of the configuration port that each cluster has
  logic [        47:0] cycle_limit = 48'd0;     // `finished` rises after so many cycles even without an interrupt
  logic [        31:0] random_start = 32'd1;    // of the random stalls and of what nobody asked for; not 0
  logic [8*Ports*Clusters-1:0] tcdm_rate = '0;  // see `slow_tcdm`, for each cluster
  logic [32*Regions*Clusters-1:0] dram_region_base = '0;  // see `axi_watch`, for each cluster
  logic [32*Regions*Clusters-1:0] dram_region_end = '0;
  logic [ 4*Regions*Clusters-1:0] dram_region_kind = '0;
  logic [32*Clusters-1:0] program_first = '0;   // byte address of each cluster's program, and the one after it
  logic [32*Clusters-1:0] program_end = '0;
  logic [32*Rings*Clusters-1:0]   tcdm_region_base = '0;  // see `tcdm_watch`, for each cluster
  logic [32*Rings*Clusters-1:0]   tcdm_region_end = '0;

  // Read by the test bench, besides `memory` and the counters.
  logic                cfg_served;              // follows `cfg_go` when the transfer has ended
  logic         [31:0] cfg_answer;
  logic                cfg_error;
  wire  [Clusters-1:0] irq;
  logic [Clusters-1:0] started;
  wire                 ended;                   // every started cluster's interrupt, or too many cycles
  wire  [Clusters-1:0] settles;                 // the cluster's program is between two layers
  wire                 finished;                // one of these
  logic                timed_out;
  logic         [47:0] cycles;                  // from the first start to the last interrupt
  logic         [47:0] cycles_of[Clusters];     // of each cluster from its start to its interrupt

  logic rst_now, clear_now;
  logic [31:0] start_at, start_data, window, start;
  logic [47:0] limit;
  logic [8*Ports*Clusters-1:0] tcdm_stalls;
  logic [32*Regions*Clusters-1:0] dram_from, dram_to;
  logic [4*Regions*Clusters-1:0] dram_kind;
  logic [32*Clusters-1:0] program_from, program_to;
  logic [32*Rings*Clusters-1:0] tcdm_from, tcdm_to;
  always_ff @(posedge clk) begin
    rst_now   <= rst;
    clear_now <= clear;
    if (clear) begin
      start_at   <= start_address;
      start_data <= start_value;
      window     <= window_bytes;
      limit      <= cycle_limit;
      start      <= random_start;
      tcdm_stalls <= tcdm_rate;
      program_from <= program_first;
      program_to <= program_end;
    end
    if (clear || recount) begin
      dram_from  <= dram_region_base;
      dram_to    <= dram_region_end;
      dram_kind  <= dram_region_kind;
      tcdm_from  <= tcdm_region_base;
      tcdm_to    <= tcdm_region_end;
    end
  end

  logic [31:0] memory[1<<DramLog2];
  logic [12:0] read_used;
`include "dram/at_port.svh"

  // The configuration port: one transfer for each change of `cfg_go`.
  logic psel, penable, pwrite;
  logic [31:0] paddr, pwdata;
  wire pready, pslverr;
  wire [31:0] prdata;
  wire ends = psel && penable && pready;
  always_ff @(posedge clk) begin
    if (clear_now) begin
      psel       <= 1'b0;
      penable    <= 1'b0;
      cfg_served <= cfg_go;
    end else if (ends) begin
      psel       <= 1'b0;
      penable    <= 1'b0;
      cfg_served <= !cfg_served;
      cfg_answer <= prdata;
      cfg_error  <= pslverr;
    end else if (psel) penable <= 1'b1;
    else if (cfg_go != cfg_served) begin
      psel   <= 1'b1;
      pwrite <= cfg_write;
      paddr  <= cfg_address;
      pwdata <= cfg_data;
    end
  end

  // Cycles.
  wire [31:0] number = paddr / window;
  wire begins = ends && pwrite && paddr % window == start_at && pwdata == start_data && number < 32'(Clusters);
  logic [Clusters-1:0] interrupted;
  wire all_interrupted = started != '0 && (interrupted & started) == started;
  assign ended = all_interrupted || timed_out;
  assign finished = ended || settles != '0;
  always_ff @(posedge clk) begin
    if (clear_now) begin
      started   <= '0;
      interrupted <= '0;
      timed_out <= 1'b0;
      cycles    <= 48'd0;
      for (int i = 0; i < Clusters; i++) cycles_of[i] <= 48'd0;
    end else begin
      if (begins) started[number] <= 1'b1;
      interrupted <= interrupted | (irq & started);
      if (started != '0 && !all_interrupted) cycles <= cycles + 48'd1;
      for (int i = 0; i < Clusters; i++) if (started[i] && !interrupted[i]) cycles_of[i] <= cycles_of[i] + 48'd1;
      if (cycles >= limit) timed_out <= 1'b1;
    end
  end

  system dut (
      .clk(clk),
      .rst(rst_now),
      .irq(irq),
      .apb__psel(psel),
      .apb__penable(penable),
      .apb__paddr(paddr),
      .apb__pwrite(pwrite),
      .apb__pwdata(pwdata),
      .apb__pstrb(4'b1111),
      .apb__pready(pready),
      .apb__prdata(prdata),
      .apb__pslverr(pslverr),
`include "dram/axi_ports.svh"
  );

  wire [13*Clusters-1:0] used_of;
  always_comb begin
    read_used = 13'd0;
    for (int i = 0; i < Clusters; i++) read_used |= used_of[13*i+:13];
  end

  genvar c, g;
  generate
    for (c = 0; c < Clusters; c = c + 1) begin : clusters
      assign settles[c] = dut.clusters[c].cluster.settles;
      // What the cluster's program wants: of the bursts at its port, and of those that the DRAM has of it.
      wire [31:0] first = program_from[32*c+:32];
      wire [31:0] stop = program_to[32*c+:32];
      wire [12:0] used_here;
      descriptor_runs #(
          .DataBits(DataBits),
          .IdBits(MasterIdBits),
          .DepthLog2(DramLog2)
      ) wanted (
          .clk(clk),
          .clear(clear_now),
          .in_program(1'b1),
          .first_word(first >> 2),
          .end_word(stop >> 2),
          .program_first(first),
          .program_end(stop),
          .taken(dut.of_axi__arvalid[c] && dut.of_axi__arready[c]),
          .id(dut.of_axi__arid[MasterIdBits*c+:MasterIdBits]),
          .address(dut.of_axi__araddr[32*c+:32]),
          .length(dut.of_axi__arlen[8*c+:8]),
          .used(used_here),
          .unwanted_bursts(),
          .unwanted_beats(),
          .unwanted_at()
      );
      descriptor_runs #(
          .DataBits(DataBits),
          .IdBits(MasterIdBits),
          .DepthLog2(DramLog2)
      ) at_dram (
          .clk(clk),
          .clear(clear_now),
          .in_program(1'b1),
          .first_word(first >> 2),
          .end_word(stop >> 2),
          .program_first(first),
          .program_end(stop),
          .taken(arvalid && arready && 32'(arid) >> MasterIdBits == c),
          .id(arid[MasterIdBits-1:0]),
          .address(araddr),
          .length(arlen),
          .used(used_of[13*c+:13]),
          .unwanted_bursts(),
          .unwanted_beats(),
          .unwanted_at()
      );
      axi_watch #(
          .DataBits(DataBits),
          .IdBits(MasterIdBits),
          .Regions(Regions)
      ) axi (
          .clk(clk),
          .clear(clear_now),
          .awid(dut.of_axi__awid[MasterIdBits*c+:MasterIdBits]),
          .awaddr(dut.of_axi__awaddr[32*c+:32]),
          .awlen(dut.of_axi__awlen[8*c+:8]),
          .awvalid(dut.of_axi__awvalid[c]),
          .awready(dut.of_axi__awready[c]),
          .wstrb(dut.of_axi__wstrb[DataBits/8*c+:DataBits/8]),
          .wlast(dut.of_axi__wlast[c]),
          .wvalid(dut.of_axi__wvalid[c]),
          .wready(dut.of_axi__wready[c]),
          .arid(dut.of_axi__arid[MasterIdBits*c+:MasterIdBits]),
          .araddr(dut.of_axi__araddr[32*c+:32]),
          .arlen(dut.of_axi__arlen[8*c+:8]),
          .arvalid(dut.of_axi__arvalid[c]),
          .arready(dut.of_axi__arready[c]),
          .read_used(used_here),
          .region_base(dram_from[32*Regions*c+:32*Regions]),
          .region_end(dram_to[32*Regions*c+:32*Regions]),
          .region_kind(dram_kind[4*Regions*c+:4*Regions]),
          .timing(dram_times)
      );
`ifdef LANE_REGISTERS  // the lanes of the HWCs have registers
      for (g = 0; g < Hwcs; g = g + 1) begin : hwcs
        lane_watch lanes (
            .clk(clk),
            .clear(clear_now),
            .made(dut.clusters[c].cluster.lane_accesses[4*g+:4])
        );
      end
`endif
`ifdef SLOW_TCDM  // the memories of the clusters are `slow_tcdm`
      always_ff @(posedge clk) begin
        dut.clusters[c].cluster.tcdm.forget     <= clear_now;
        dut.clusters[c].cluster.tcdm.seed       <= start ^ (32'h85ebca6b * (c + 1));
        dut.clusters[c].cluster.tcdm.stall_rate <= tcdm_stalls[8*Ports*c+:8*Ports];
      end
`endif
      for (g = 0; g < Ports; g = g + 1) begin : ports
        // Words of the ports are packed from bit 0 up: the HWCs' I, W and O, then those of the DMA and of the vector unit.
        localparam int OfHwc = g % 3 == 0 ? WidthI : g % 3 == 1 ? WidthW : WidthO;
        localparam int Before = g % 3 == 0 ? 0 : g % 3 == 1 ? WidthI : WidthI + WidthW;
        localparam int Width = g < 3 * Hwcs ? OfHwc : g < Others ? 32 : WidthVector;
        localparam int At = g < 3 * Hwcs ? g / 3 * WidthHwc + Before
            : g < Others ? Hwcs * WidthHwc + 32 * (g - 3 * Hwcs) : BitsOthers + WidthVector * (g - Others);
`ifdef SLOW_TCDM
        wire pass = dut.clusters[c].cluster.tcdm.pass[g];
`else
        wire pass = 1'b1;
`endif
        tcdm_watch #(
            .Width(Width),
            .Regions(Rings)
        ) port (
            .clk(clk),
            .clear(clear_now),
            .req(dut.clusters[c].cluster.tcdm__req[g]),
            .gnt(dut.clusters[c].cluster.tcdm__gnt[g]),
            .add(dut.clusters[c].cluster.tcdm__add[32*g+:32]),
            .wen(dut.clusters[c].cluster.tcdm__wen[g]),
            .be(dut.clusters[c].cluster.tcdm__be[At/8+:Width/8]),
            .wdata(dut.clusters[c].cluster.tcdm__wdata[At+:Width]),
            .pass(pass),
            .only_reads(g >= Others ? g == Others : g >= 3 * Hwcs ? g >= 3 * Hwcs + Moves : g % 3 != 2),
            .only_writes(g >= Others ? g != Others : g >= 3 * Hwcs && g < 3 * Hwcs + Moves),
            .region_base(tcdm_from[32*Rings*c+:32*Rings]),
            .region_end(tcdm_to[32*Rings*c+:32*Rings])
        );
      end
    end
  endgenerate

`ifndef VERILATOR
  memory_files #(.Words(1 << DramLog2)) files ();
`endif

endmodule

`default_nettype wire
