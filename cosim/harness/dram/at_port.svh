// The AXI4 port of a top, the DRAM at it, and how the test bench controls this: included by every top with `memory`.
//
// The top has `clk`, `clear`, `clear_now`, `rst_now`, `start` (the random number to begin with), `DataBits`, `IdBits`,
// `MasterIdBits`, `DramQueue`, `DramLog2` and `read_used` (see `dram`); of the regions that accesses are counted by
// `DramRegions`, `dram_from` and so on. Its memory begins with the DRAM.

  // Driven by the test bench.
  logic [39:0] axi_rate = 40'd0;         // see `dram`
  logic [127:0] dram_timing = '0;
  logic [ 1:0] axi_error_enable = 2'd0;  // reads, writes
  logic [ 1:0] axi_error_code = 2'd2;
  logic [31:0] axi_error_address = 32'd0;

  logic [39:0] axi_stalls;
  logic [127:0] dram_times;
  logic [31:0] code_at;
  logic [1:0] axi_errors, code;
  always_ff @(posedge clk) begin
    if (clear) begin
      axi_stalls <= axi_rate;
      dram_times <= dram_timing;
      axi_errors <= axi_error_enable;
      code       <= axi_error_code;
      code_at    <= axi_error_address;
    end
  end

  wire [IdBits-1:0] awid, bid, arid, rid;
  wire [1:0] awburst, bresp, arburst, rresp;
  wire [31:0] awaddr, araddr;
  wire [7:0] awlen, awuser, arlen, aruser;
  wire [2:0] awsize, arsize;
  wire awvalid, awready, wlast, wvalid, wready, bvalid, bready;
  wire arvalid, arready, rlast, rvalid, rready;
  wire [DataBits-1:0] wdata, rdata;
  wire [DataBits/8-1:0] wstrb;

  wire [31:0] read_beat, write_beat;
  wire [DataBits-1:0] read_data;
  wire [DataBits/8-1:0] write_enable;
  for (genvar n = 0; n < DataBits / 32; n++)
    assign read_data[32*n+:32] = memory[(read_beat*(DataBits/32)+n)&((1<<DramLog2)-1)];
  always_ff @(posedge clk) begin
    if (write_enable != '0) begin
      for (int i = 0; i < DataBits / 32; i++) begin
        for (int b = 0; b < 4; b++) begin
          if (write_enable[4*i+b])
            memory[(write_beat*(DataBits/32)+i)&((1<<DramLog2)-1)][8*b+:8] <= wdata[32*i+8*b+:8];
        end
      end
    end
  end

  dram #(
      .DataBits(DataBits),
      .IdBits(IdBits),
      .MasterIdBits(MasterIdBits),
      .Queue(DramQueue),
      .DepthLog2(DramLog2),
      .Regions(DramRegions)
  ) dram (
      .*,
      .rst(rst_now),
      .clear(clear_now),
      .region_base(dram_from[32*DramRegions-1:0]),
      .region_end(dram_to[32*DramRegions-1:0]),
      .region_kind(dram_kind[4*DramRegions-1:0]),
      .random_start(start),
      .stall_rate(axi_stalls),
      .timing(dram_times),
      .error_enable(axi_errors),
      .error_code(code),
      .error_address(code_at)
  );
