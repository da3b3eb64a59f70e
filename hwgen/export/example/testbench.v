// A first look at a block in a simulator: its identity through AXI4-Lite, an address that it has not, no interrupt.
// Generated, do not edit.

module block_testbench;
  localparam [31:0] Identity = 32'h@identity@, Nowhere = 32'hffc;

  reg clk = 1'b0, rst = 1'b1, arvalid = 1'b0, rready = 1'b0;
  reg [31:0] address = 32'd0;
  wire arready, rvalid, irq;
  wire [1:0] rresp;
  wire [31:0] rdata;
  integer failures = 0;

  block_system system (
      .clk(clk), .rst(rst), .irq(irq),
      .axi_lite__awvalid(1'b0), .axi_lite__awaddr(32'd0), .axi_lite__awprot(3'd0), .axi_lite__awready(),
      .axi_lite__wvalid(1'b0), .axi_lite__wdata(32'd0), .axi_lite__wstrb(4'd0), .axi_lite__wready(),
      .axi_lite__bvalid(), .axi_lite__bresp(), .axi_lite__bready(1'b0),
      .axi_lite__arvalid(arvalid), .axi_lite__araddr(address), .axi_lite__arprot(3'd0), .axi_lite__arready(arready),
      .axi_lite__rvalid(rvalid), .axi_lite__rdata(rdata), .axi_lite__rresp(rresp), .axi_lite__rready(rready)
  );

  always #5 clk = !clk;

  task expect_read(input [31:0] at, input [31:0] data, input [1:0] response);
    begin
      @(negedge clk);
      address = at;
      arvalid = 1'b1;
      #1;  // ready follows valid in the same cycle
      while (!arready) @(negedge clk) #1;
      @(negedge clk);
      arvalid = 1'b0;
      while (!rvalid) @(negedge clk);
      if (rdata !== data || rresp !== response) begin
        $display("FAIL: %h reads %h with response %b, expected %h with %b", at, rdata, rresp, data, response);
        failures = failures + 1;
      end
      rready = 1'b1;
      @(negedge clk);
      rready = 1'b0;
    end
  endtask

  initial begin
    repeat (3) @(negedge clk);
    rst = 1'b0;
    expect_read(32'd0, Identity, 2'b00);
    expect_read(Nowhere, 32'd0, 2'b10);
    if (irq !== 1'b0) begin
      $display("FAIL: an interrupt without a run");
      failures = failures + 1;
    end
    if (failures == 0) $display("PASS: block answers");
    $finish;
  end
endmodule
