// The world around one HWC: memory, ports, access counters, watchdog. Runs on Verilator and on Icarus 11.
//
// The test bench sets the controls, pulses `clear`, writes the HWC's registers one by one, writes the start register,
// and waits for `finished`; everything in between happens here, at the simulator's own speed. There are no ports: what
// the test bench drives are the variables of the first block (through VPI). Each is registered before it is used, so
// that outside writes cost nothing while the clock runs. The clock comes from cocotb or from the native run loop.

`default_nettype none
`timescale 1ns / 1ps

module harness #(
    parameter int DepthLog2 = 23,  // the memory's size in 32-bit words, as a power of two
    parameter int WidthI = 32,  // bits of a word of each port
    parameter int WidthW = 32,
    parameter int WidthO = 32
);

  // Driven by the test bench.
  logic         clk = 1'b0;
  logic         rst = 1'b1;             // resets the HWC
  logic         clear = 1'b1;           // clears all but the memory, and takes over the controls below
  logic         cfg_go = 1'b0;          // every change starts one transfer on the configuration port
  logic         cfg_write = 1'b0;
  logic [ 31:0] cfg_address = 32'd0;
  logic [ 31:0] cfg_data = 32'd0;
  logic [ 31:0] start_address = 32'd0;  // writing this value to this register starts the cycle counter
  logic [ 31:0] start_value = 32'd0;
  logic [ 47:0] cycle_limit = 48'd0;    // `finished` rises after so many cycles even without an interrupt
  logic [ 31:0] random_start = 32'd1;   // of the random stalls and of unused read bytes; not 0
  logic [ 23:0] stall_rate = 24'd0;     // ports I, W, O from bit 0 up: see `tcdm_port`
  logic [ 23:0] delay_rate = 24'd0;
  logic [  2:0] more_latency = 3'd0;
  logic [  1:0] write_answers = 2'd0;
  logic [  2:0] error_enable = 3'd0;
  logic [ 31:0] error_address = 32'd0;
  logic [159:0] region_base = 160'd0;   // input, weights, bias, partial, output from bit 0 up
  logic [159:0] region_end = 160'd0;

  logic         trace_on = 1'b0;        // the trace's controls: see there
  logic [  1:0] trace_port = 2'd0;
  logic [ 47:0] trace_first = 48'd0;
  logic [ 47:0] trace_end = 48'd0;

  // Read by the test bench, besides `memory` and the counters in the ports.
  wire          cfg_served;             // follows `cfg_go` when the transfer's response has arrived
  wire  [ 31:0] cfg_answer;
  wire          cfg_error;
  wire          finished;               // interrupt, or too many cycles
  wire          timed_out;
  wire  [ 47:0] cycles;                 // from the start write's grant to the interrupt
  wire  [ 31:0] cfg_violations;         // responses without a request on the configuration port

  // The controls as they were at the last `clear`.
  logic         rst_now;
  logic         clear_now;
  logic [ 31:0] start_at;
  logic [ 31:0] start_data;
  logic [ 47:0] limit;
  logic [ 31:0] start;
  logic [ 23:0] stalls;
  logic [ 23:0] delays;
  logic [  2:0] latency;
  logic [  1:0] answers;
  logic [  2:0] errors;
  logic [ 31:0] error_at;
  logic [159:0] region_from;
  logic [159:0] region_to;
  logic         tracing;
  logic [  1:0] traced_port;

  always_ff @(posedge clk) begin
    rst_now   <= rst;
    clear_now <= clear;
    if (clear) begin
      start_at    <= start_address;
      start_data  <= start_value;
      limit       <= cycle_limit;
      start       <= random_start;
      stalls      <= stall_rate;
      delays      <= delay_rate;
      latency     <= more_latency;
      answers     <= write_answers;
      errors      <= error_enable;
      error_at    <= error_address;
      region_from <= region_base;
      region_to   <= region_end;
      tracing     <= trace_on;
      traced_port <= trace_port;
    end
  end

  logic [31:0] memory[1<<DepthLog2];

  wire         cfg_req;
  wire         cfg_wen;
  wire  [31:0] cfg_add;
  wire  [31:0] cfg_wdata;
  wire         cfg_gnt, cfg_r_valid, cfg_r_opc, irq;
  wire  [31:0] cfg_r_rdata;

  wire i_req, i_gnt, i_wen, i_r_valid, i_r_opc;
  wire w_req, w_gnt, w_wen, w_r_valid, w_r_opc;
  wire o_req, o_gnt, o_wen, o_r_valid, o_r_opc;
  wire [31:0] i_add, w_add, o_add;
  wire [WidthI/8-1:0] i_be;
  wire [WidthW/8-1:0] w_be;
  wire [WidthO/8-1:0] o_be;
  wire [WidthI-1:0] i_wdata, i_r_rdata, i_word;
  wire [WidthW-1:0] w_wdata, w_r_rdata, w_word;
  wire [WidthO-1:0] o_wdata, o_r_rdata, o_word;

`ifdef LANE_REGISTERS  // the lanes have registers
  wire [3:0] lane_accesses;
  lane_watch lanes (
      .clk(clk),
      .clear(clear_now),
      .made(lane_accesses)
  );
`endif

  hwc dut (
      .clk(clk),
      .rst(rst_now),
`ifdef LANE_REGISTERS
      .lane_accesses(lane_accesses),
`endif
      .irq(irq),
      .cfg__req(cfg_req),
      .cfg__gnt(cfg_gnt),
      .cfg__add(cfg_add),
      .cfg__wen(cfg_wen),
      .cfg__be(4'b1111),
      .cfg__wdata(cfg_wdata),
      .cfg__r_valid(cfg_r_valid),
      .cfg__r_opc(cfg_r_opc),
      .cfg__r_rdata(cfg_r_rdata),
      .tcdm_i__req(i_req),
      .tcdm_i__gnt(i_gnt),
      .tcdm_i__add(i_add),
      .tcdm_i__wen(i_wen),
      .tcdm_i__be(i_be),
      .tcdm_i__wdata(i_wdata),
      .tcdm_i__r_valid(i_r_valid),
      .tcdm_i__r_opc(i_r_opc),
      .tcdm_i__r_rdata(i_r_rdata),
      .tcdm_w__req(w_req),
      .tcdm_w__gnt(w_gnt),
      .tcdm_w__add(w_add),
      .tcdm_w__wen(w_wen),
      .tcdm_w__be(w_be),
      .tcdm_w__wdata(w_wdata),
      .tcdm_w__r_valid(w_r_valid),
      .tcdm_w__r_opc(w_r_opc),
      .tcdm_w__r_rdata(w_r_rdata),
      .tcdm_o__req(o_req),
      .tcdm_o__gnt(o_gnt),
      .tcdm_o__add(o_add),
      .tcdm_o__wen(o_wen),
      .tcdm_o__be(o_be),
      .tcdm_o__wdata(o_wdata),
      .tcdm_o__r_valid(o_r_valid),
      .tcdm_o__r_opc(o_r_opc),
      .tcdm_o__r_rdata(o_r_rdata)
  );

  for (genvar n = 0; n < WidthI / 32; n++)
    assign i_word[32*n+:32] = memory[i_add[DepthLog2+1:2]|DepthLog2'(n)];
  wire        i_missing = i_add[31:DepthLog2+2] != 0;
  tcdm_port #(
      .Width(WidthI)
  ) port_i (
      .clk(clk),
      .clear(clear_now),
      .req(i_req),
      .gnt(i_gnt),
      .add(i_add),
      .wen(i_wen),
      .be(i_be),
      .wdata(i_wdata),
      .r_valid(i_r_valid),
      .r_opc(i_r_opc),
      .r_rdata(i_r_rdata),
      .word(i_word),
      .missing(i_missing),
      .random_start(start),
      .stall_rate(stalls[7:0]),
      .delay_rate(delays[7:0]),
      .more_latency(latency),
      .write_answers(answers),
      .error_enable(errors[0]),
      .error_address(error_at),
      .region_base(region_from),
      .region_end(region_to)
  );

  for (genvar n = 0; n < WidthW / 32; n++)
    assign w_word[32*n+:32] = memory[w_add[DepthLog2+1:2]|DepthLog2'(n)];
  wire        w_missing = w_add[31:DepthLog2+2] != 0;
  tcdm_port #(
      .Width(WidthW)
  ) port_w (
      .clk(clk),
      .clear(clear_now),
      .req(w_req),
      .gnt(w_gnt),
      .add(w_add),
      .wen(w_wen),
      .be(w_be),
      .wdata(w_wdata),
      .r_valid(w_r_valid),
      .r_opc(w_r_opc),
      .r_rdata(w_r_rdata),
      .word(w_word),
      .missing(w_missing),
      .random_start(~start ^ 32'h5bd1e995),
      .stall_rate(stalls[15:8]),
      .delay_rate(delays[15:8]),
      .more_latency(latency),
      .write_answers(answers),
      .error_enable(errors[1]),
      .error_address(error_at),
      .region_base(region_from),
      .region_end(region_to)
  );

  for (genvar n = 0; n < WidthO / 32; n++)
    assign o_word[32*n+:32] = memory[o_add[DepthLog2+1:2]|DepthLog2'(n)];
  wire        o_missing = o_add[31:DepthLog2+2] != 0;
  tcdm_port #(
      .Width(WidthO)
  ) port_o (
      .clk(clk),
      .clear(clear_now),
      .req(o_req),
      .gnt(o_gnt),
      .add(o_add),
      .wen(o_wen),
      .be(o_be),
      .wdata(o_wdata),
      .r_valid(o_r_valid),
      .r_opc(o_r_opc),
      .r_rdata(o_r_rdata),
      .word(o_word),
      .missing(o_missing),
      .random_start({start[15:0], start[31:16]}),
      .stall_rate(stalls[23:16]),
      .delay_rate(delays[23:16]),
      .more_latency(latency),
      .write_answers(answers),
      .error_enable(errors[2]),
      .error_address(error_at),
      .region_base(region_from),
      .region_end(region_to)
  );

  // Only O is ever written. A write on another port is counted, and is a failure; it need not happen.
  for (genvar n = 0; n < WidthO / 32; n++)
    always_ff @(posedge clk)
      if (o_req && o_gnt && !o_wen && !o_missing)
        memory[o_add[DepthLog2+1:2]|DepthLog2'(n)] <= merged(o_word[32*n+:32], o_wdata[32*n+:32], o_be[4*n+:4]);

  function automatic logic [31:0] merged(input logic [31:0] held, input logic [31:0] data, input logic [3:0] enable);
    logic [31:0] used;
    for (int i = 0; i < 4; i++) used[8*i+:8] = {8{enable[i]}};
    return (held & ~used) | (data & used);
  endfunction

  configuration configuration (
      .*,
      .clear(clear_now),
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

  // When asked for, a trace of one port: a line per access with address, write and be, from access `trace_first` on.
  integer      trace = 0;
  logic [47:0] trace_number;
  logic        traced;
  logic [96:0] access;
  always @(posedge clk) begin
    if (clear_now) begin
      if (trace != 0) $fclose(trace);
      trace = 0;
      trace_number = 48'd0;
    end else if (tracing) begin
      case (traced_port)
        2'd0: {traced, access} = {i_req && i_gnt, i_add, !i_wen, 64'(i_be)};
        2'd1: {traced, access} = {w_req && w_gnt, w_add, !w_wen, 64'(w_be)};
        default: {traced, access} = {o_req && o_gnt, o_add, !o_wen, 64'(o_be)};
      endcase
      if (traced) begin
        if (trace == 0) trace = $fopen("trace.hex", "w");
        if (trace_number >= trace_first && trace_number < trace_end)
          $fwrite(trace, "%h %h %h\n", access[96:65], access[64], access[63:0]);
        trace_number = trace_number + 48'd1;
      end
    end
  end

`ifndef VERILATOR
  memory_files #(.Words(1 << DepthLog2)) files ();
`endif

endmodule

`default_nettype wire
