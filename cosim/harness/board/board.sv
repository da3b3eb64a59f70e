// The world around a board's design: the host's end of the serial line, and counters beside the port of its memory.
//
// The design is the generated one, whole, without pads and PLL. The host's bytes are in arrays here, which the test
// bench writes and reads; the line carries them bit by bit. As in `cluster.sv` there are no ports: the test bench
// drives the variables of the first block, which are registered before they are used, and waits for `finished`.

`default_nettype none
`timescale 1ns / 1ps

module harness #(
    parameter int DataBits = 64,     // of the AXI port
    parameter int MasterIdBits = 0,  // of its IDs
    parameter int DramLog2 = 18,     // words of what `memory` is a copy of, as a power of two
    parameter int BytesLog2 = 16     // bytes that are sent, or received, between two changes of `go`, as a power of two
);

  localparam int Regions = 1;
  localparam logic [127:0] Rows = {24'd0, 8'h6b, 96'd0};  // of 2048 bytes in 8 banks: see `open_rows`

  // Driven by the test bench.
  logic        clk = 1'b0;
  logic        rst = 1'b1;            // resets the design
  logic        clear = 1'b1;          // clears the counters, and takes over where the program is
  logic        go = 1'b0;             // every change begins to send and to receive
  logic        low = 1'b0;            // holds the line low: a break
  logic [15:0] bit_cycles = 16'd8;
  logic [31:0] to_send = 32'd0;       // bytes of `outgoing`
  logic [31:0] to_receive = 32'd0;    // bytes that are awaited; `finished` rises with the last one
  logic [31:0] program_first = 32'd0; // byte address of the program, and the one after it
  logic [31:0] program_end = 32'd0;

  // Read by the test bench, besides the arrays and the counters.
  logic        started;               // follows `go`
  logic [31:0] sent, received;
  wire         finished;
  wire         irq, busy;

  logic [ 7:0] outgoing[1<<BytesLog2];
  logic [ 7:0] incoming[1<<BytesLog2];
  logic [31:0] memory[1<<DramLog2];   // what the program is decoded from, see `descriptor_runs`

  logic rst_now, clear_now, low_now;
  logic [15:0] divisor;
  logic [31:0] program_from, program_to, sending, awaited;
  always_ff @(posedge clk) begin
    rst_now   <= rst;
    clear_now <= clear;
    low_now   <= low;
    divisor   <= bit_cycles;
    started   <= go;
    if (clear) begin
      program_from <= program_first;
      program_to   <= program_end;
    end
    if (go != started) begin
      sending <= to_send;
      awaited <= to_receive;
    end
  end

  // The line to the design: start bit, eight data bits, stop bit.
  logic [9:0] out_bits;
  logic [3:0] out_left;
  logic [15:0] out_time;
  wire rx = !low_now && (out_left == 4'd0 || out_bits[0]);
  wire tx;
  assign finished = go == started && sent == sending && out_left == 4'd0 && received >= awaited;
  always_ff @(posedge clk) begin
    if (rst_now || go != started) begin
      sent     <= 32'd0;
      out_left <= 4'd0;
    end else if (out_left != 4'd0) begin
      out_time <= out_time - 16'd1;
      if (out_time == 16'd0) begin
        out_time <= divisor - 16'd1;
        out_bits <= {1'b1, out_bits[9:1]};
        out_left <= out_left - 4'd1;
      end
    end else if (sent != sending) begin
      out_bits <= {1'b1, outgoing[sent[BytesLog2-1:0]], 1'b0};
      out_left <= 4'd10;
      out_time <= divisor - 16'd1;
      sent     <= sent + 32'd1;
    end
  end

  // The line from the design: bits are taken in their middle.
  logic [8:0] in_bits;
  logic [3:0] in_left;
  logic [15:0] in_time;
  logic [31:0] wrong_stops;
  always_ff @(posedge clk) begin
    if (rst_now) begin
      in_left     <= 4'd0;
      received    <= 32'd0;
      wrong_stops <= 32'd0;
    end else begin
      if (go != started) received <= 32'd0;
      if (in_left != 4'd0) begin
        in_time <= in_time - 16'd1;
        if (in_time == 16'd0) begin
          in_time <= divisor - 16'd1;
          in_left <= in_left - 4'd1;
          in_bits <= {tx, in_bits[8:1]};
          if (in_left == 4'd1) begin
            incoming[received[BytesLog2-1:0]] <= in_bits[8:1];
            received <= received + 32'd1;
            if (!tx) wrong_stops <= wrong_stops + 32'd1;
          end
        end
      end else if (!tx) begin
        in_left <= 4'd9;
        in_time <= divisor + (divisor >> 1) - 16'd1;
      end
    end
  end

  board dut (
      .clk(clk),
      .rst(rst_now),
      .divisor(divisor),
      .rx(rx),
      .tx(tx),
      .busy(busy),
      .irq(irq)
  );

  wire [12:0] read_used;
  descriptor_runs #(
      .DataBits(DataBits),
      .IdBits(MasterIdBits),
      .DepthLog2(DramLog2)
  ) wanted (
      .clk(clk),
      .clear(clear_now),
      .in_program(1'b1),
      .first_word(program_from >> 2),
      .end_word(program_to >> 2),
      .program_first(program_from),
      .program_end(program_to),
      .taken(dut.axi__arvalid && dut.axi__arready),
      .id(dut.axi__arid),
      .address(dut.axi__araddr),
      .length(dut.axi__arlen),
      .used(read_used),
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
      .awid(dut.axi__awid),
      .awaddr(dut.axi__awaddr),
      .awlen(dut.axi__awlen),
      .awvalid(dut.axi__awvalid),
      .awready(dut.axi__awready),
      .wstrb(dut.axi__wstrb),
      .wlast(dut.axi__wlast),
      .wvalid(dut.axi__wvalid),
      .wready(dut.axi__wready),
      .arid(dut.axi__arid),
      .araddr(dut.axi__araddr),
      .arlen(dut.axi__arlen),
      .arvalid(dut.axi__arvalid),
      .arready(dut.axi__arready),
      .read_used(read_used),
      .region_base(program_from),
      .region_end(program_to),
      .region_kind(4'd1),
      .timing(Rows)
  );

endmodule

`default_nettype wire
