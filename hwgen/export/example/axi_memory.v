// A memory behind an AXI4 port, for examples: INCR bursts of full beats, one read and one write at a time, no errors.
// Generated, do not edit.

module axi_memory #(
    parameter DataBits = 64,
    parameter IdBits = 2,
    parameter DepthLog2 = 16  // of its words of 32 bits
) (
    input  wire                  clk,
    input  wire                  rst,
    input  wire [    IdBits-1:0] axi__awid,
    input  wire [          31:0] axi__awaddr,
    input  wire                  axi__awvalid,
    output wire                  axi__awready,
    input  wire [  DataBits-1:0] axi__wdata,
    input  wire [DataBits/8-1:0] axi__wstrb,
    input  wire                  axi__wlast,
    input  wire                  axi__wvalid,
    output wire                  axi__wready,
    output reg  [    IdBits-1:0] axi__bid,
    output wire [           1:0] axi__bresp,
    output reg                   axi__bvalid,
    input  wire                  axi__bready,
    input  wire [    IdBits-1:0] axi__arid,
    input  wire [          31:0] axi__araddr,
    input  wire [           7:0] axi__arlen,
    input  wire                  axi__arvalid,
    output wire                  axi__arready,
    output reg  [    IdBits-1:0] axi__rid,
    output reg  [  DataBits-1:0] axi__rdata,
    output wire [           1:0] axi__rresp,
    output wire                  axi__rlast,
    output reg                   axi__rvalid,
    input  wire                  axi__rready
);
  localparam Words = DataBits / 32;

  reg [31:0] words[0:(1<<DepthLog2)-1];
  reg [DepthLog2-1:0] write_word, read_word;  // the first word of the beat
  reg writing;
  reg [7:0] read_left;  // beats after this one
  integer i;

  assign axi__bresp = 2'b00;
  assign axi__rresp = 2'b00;
  assign axi__awready = !writing && !axi__bvalid;
  assign axi__wready = writing;
  assign axi__arready = !axi__rvalid;
  assign axi__rlast = read_left == 8'd0;

  // The word at which the beat of an address begins.
  function [DepthLog2-1:0] beat_of(input [31:0] address);
    beat_of = address[DepthLog2+1:2] & ~(Words[DepthLog2-1:0] - 1'b1);
  endfunction

  always @(*) for (i = 0; i < Words; i = i + 1) axi__rdata[32*i+:32] = words[read_word+i[DepthLog2-1:0]];

  always @(posedge clk) begin
    if (axi__awvalid && axi__awready) begin
      writing <= 1'b1;
      axi__bid <= axi__awid;
      write_word <= beat_of(axi__awaddr);
    end
    if (axi__wvalid && axi__wready) begin
      for (i = 0; i < DataBits / 8; i = i + 1)
        if (axi__wstrb[i]) words[write_word+i[DepthLog2+1:2]][8*(i%4)+:8] <= axi__wdata[8*i+:8];
      write_word <= write_word + Words[DepthLog2-1:0];
      if (axi__wlast) begin
        writing <= 1'b0;
        axi__bvalid <= 1'b1;
      end
    end
    if (axi__bvalid && axi__bready) axi__bvalid <= 1'b0;
    if (axi__arvalid && axi__arready) begin
      axi__rvalid <= 1'b1;
      axi__rid <= axi__arid;
      read_word <= beat_of(axi__araddr);
      read_left <= axi__arlen;
    end else if (axi__rvalid && axi__rready) begin
      read_word <= read_word + Words[DepthLog2-1:0];
      read_left <= read_left - 8'd1;
      if (axi__rlast) axi__rvalid <= 1'b0;
    end
    if (rst) begin
      writing <= 1'b0;
      axi__bvalid <= 1'b0;
      axi__rvalid <= 1'b0;
    end
  end
endmodule
