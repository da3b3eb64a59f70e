// Not an HWC but its ports: plays a list of accesses, well behaved or not, so that the test benches can be tested.
//
// Registers: 0x4 control (1: start, 2: acknowledge), 0x8 status (2: done), 0xc length of the list, 0x10 whether to stay
// silent at the end. Entry n of the list is at 0x1000 + 16 * n: what to do, address, data; the answer can be read
// behind them. What to do: bits 1:0 the port (I, W, O), 2 write, 6:3 be, 7 withdraw the request if it is not granted
// at once, 8 change its address if so, 9 do not wait for the answer; answers are then lost.

module hwc (
    input clk, input rst, output irq,
    input cfg__req, output cfg__gnt, input [31:0] cfg__add, input cfg__wen, input [3:0] cfg__be,
    input [31:0] cfg__wdata, output reg cfg__r_valid, output reg cfg__r_opc, output reg [31:0] cfg__r_rdata,
    output tcdm_i__req, input tcdm_i__gnt, output [31:0] tcdm_i__add, output tcdm_i__wen, output [3:0] tcdm_i__be,
    output [31:0] tcdm_i__wdata, input tcdm_i__r_valid, input tcdm_i__r_opc, input [31:0] tcdm_i__r_rdata,
    output tcdm_w__req, input tcdm_w__gnt, output [31:0] tcdm_w__add, output tcdm_w__wen, output [3:0] tcdm_w__be,
    output [31:0] tcdm_w__wdata, input tcdm_w__r_valid, input tcdm_w__r_opc, input [31:0] tcdm_w__r_rdata,
    output tcdm_o__req, input tcdm_o__gnt, output [31:0] tcdm_o__add, output tcdm_o__wen, output [3:0] tcdm_o__be,
    output [31:0] tcdm_o__wdata, input tcdm_o__r_valid, input tcdm_o__r_opc, input [31:0] tcdm_o__r_rdata
);
  reg [31:0] list [0:255];
  reg [31:0] length, silent, at;
  reg [1:0] state;  // 0 idle, 1 requesting, 2 waiting for the answer, 3 done
  reg [8:0] odd;    // added to the address
  integer i;

  wire [9:0] what = list[{at[5:0], 2'd0}][9:0];
  wire asks = state == 1;
  wire [31:0] address = list[{at[5:0], 2'd1}] + odd;
  wire [31:0] data = list[{at[5:0], 2'd2}];
  wire granted = what[1:0] == 0 ? tcdm_i__gnt : what[1:0] == 1 ? tcdm_w__gnt : tcdm_o__gnt;
  wire answered = what[1:0] == 0 ? tcdm_i__r_valid : what[1:0] == 1 ? tcdm_w__r_valid : tcdm_o__r_valid;
  wire failed = what[1:0] == 0 ? tcdm_i__r_opc : what[1:0] == 1 ? tcdm_w__r_opc : tcdm_o__r_opc;
  wire [31:0] answer = what[1:0] == 0 ? tcdm_i__r_rdata : what[1:0] == 1 ? tcdm_w__r_rdata : tcdm_o__r_rdata;

  assign tcdm_i__req = asks && what[1:0] == 0;
  assign tcdm_w__req = asks && what[1:0] == 1;
  assign tcdm_o__req = asks && what[1:0] == 2;
  assign tcdm_i__add = address;
  assign tcdm_w__add = address;
  assign tcdm_o__add = address;
  assign tcdm_i__wen = !what[2];
  assign tcdm_w__wen = !what[2];
  assign tcdm_o__wen = !what[2];
  assign tcdm_i__be = what[6:3];
  assign tcdm_w__be = what[6:3];
  assign tcdm_o__be = what[6:3];
  assign tcdm_i__wdata = data;
  assign tcdm_w__wdata = data;
  assign tcdm_o__wdata = data;
  assign irq = state == 3 && silent == 0;
  assign cfg__gnt = 1;

  initial begin
    state = 0; at = 0; odd = 0; length = 0; silent = 0; cfg__r_valid = 0; cfg__r_opc = 0; cfg__r_rdata = 0;
    for (i = 0; i < 256; i = i + 1) list[i] = 0;
  end

  always @(posedge clk) begin
    cfg__r_valid <= cfg__req;
    cfg__r_opc <= cfg__req && cfg__add[31:13] != 0;
    cfg__r_rdata <= cfg__add[12] ? list[cfg__add[9:2]] : cfg__add == 8 ? {30'd0, state == 3, state == 1 || state == 2} : 0;
    case (state)
      1: if (granted) begin
          odd <= 0;
          if (what[9]) begin
            at <= at + 1;
            state <= at + 1 == length ? 3 : 1;
          end else state <= 2;
        end else if (what[7]) begin  // give up
          at <= at + 1;
          state <= at + 1 == length ? 3 : 1;
        end else if (what[8]) odd <= 4;
      2: if (answered) begin
          list[{at[5:0], 2'd3}] <= failed ? 32'hdead : answer;
          at <= at + 1;
          state <= at + 1 == length ? 3 : 1;
        end
      default: ;
    endcase
    if (cfg__req && !cfg__wen) begin
      if (cfg__add == 4 && cfg__wdata[1]) state <= 0;
      if (cfg__add == 4 && cfg__wdata[0]) begin state <= 1; at <= 0; end
      if (cfg__add == 12) length <= cfg__wdata;
      if (cfg__add == 16) silent <= cfg__wdata;
      if (cfg__add[12]) list[cfg__add[9:2]] <= cfg__wdata;
    end
    if (rst) begin state <= 0; at <= 0; odd <= 0; end
  end
endmodule
