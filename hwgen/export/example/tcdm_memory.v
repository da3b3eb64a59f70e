// A memory with the three ports of an HWC, for examples: it grants every request at once and answers in the next cycle.
// Generated, do not edit.

module tcdm_memory #(
    parameter WidthI = 32,
    parameter WidthW = 32,
    parameter WidthO = 32,
    parameter DepthLog2 = 16  // of its words of 32 bits
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                tcdm_i__req,
    input  wire [        31:0] tcdm_i__add,
    output wire                tcdm_i__gnt,
    output reg                 tcdm_i__r_valid,
    output wire                tcdm_i__r_opc,
    output reg  [  WidthI-1:0] tcdm_i__r_rdata,
    input  wire                tcdm_w__req,
    input  wire [        31:0] tcdm_w__add,
    output wire                tcdm_w__gnt,
    output reg                 tcdm_w__r_valid,
    output wire                tcdm_w__r_opc,
    output reg  [  WidthW-1:0] tcdm_w__r_rdata,
    input  wire                tcdm_o__req,
    input  wire [        31:0] tcdm_o__add,
    input  wire                tcdm_o__wen,
    input  wire [WidthO/8-1:0] tcdm_o__be,
    input  wire [  WidthO-1:0] tcdm_o__wdata,
    output wire                tcdm_o__gnt,
    output reg                 tcdm_o__r_valid,
    output wire                tcdm_o__r_opc,
    output reg  [  WidthO-1:0] tcdm_o__r_rdata
);
  reg [31:0] words[0:(1<<DepthLog2)-1];
  integer i;

  assign tcdm_i__gnt = 1'b1;
  assign tcdm_w__gnt = 1'b1;
  assign tcdm_o__gnt = 1'b1;
  assign tcdm_i__r_opc = 1'b0;
  assign tcdm_w__r_opc = 1'b0;
  assign tcdm_o__r_opc = 1'b0;

  always @(posedge clk) begin
    tcdm_i__r_valid <= tcdm_i__req && !rst;
    tcdm_w__r_valid <= tcdm_w__req && !rst;
    tcdm_o__r_valid <= tcdm_o__req && !rst;
    for (i = 0; i < WidthI / 32; i = i + 1)
      tcdm_i__r_rdata[32*i+:32] <= words[tcdm_i__add[DepthLog2+1:2]+i[DepthLog2-1:0]];
    for (i = 0; i < WidthW / 32; i = i + 1)
      tcdm_w__r_rdata[32*i+:32] <= words[tcdm_w__add[DepthLog2+1:2]+i[DepthLog2-1:0]];
    for (i = 0; i < WidthO / 32; i = i + 1)
      tcdm_o__r_rdata[32*i+:32] <= words[tcdm_o__add[DepthLog2+1:2]+i[DepthLog2-1:0]];
    if (tcdm_o__req && !tcdm_o__wen)
      for (i = 0; i < WidthO / 8; i = i + 1)
        if (tcdm_o__be[i])
          words[tcdm_o__add[DepthLog2+1:2]+i[DepthLog2+1:2]][8*(i%4)+:8] <= tcdm_o__wdata[8*i+:8];
  end
endmodule
