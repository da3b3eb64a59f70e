// What is wanted of each burst of a pipeline's movers: runs of bytes, which software lists in order for each AXI ID.
//
// Every run begins a burst, and bursts follow each other from its first byte to its last. What a burst reads, or where it
// writes, besides is counted, and the first such place is kept. The bytes that a burst writes are marked by its strobes.

`default_nettype none
`timescale 1ns / 1ps

module listed_runs #(
    parameter int DataBits = 64,
    parameter int IdBits = 0,
    parameter int RunLog2 = 12
) (
    input wire clk,
    input wire clear,

    // From the header: for each ID the number of its first run, and of the one after its last.
    input wire [32*(2<<IdBits)-1:0] ranges,

    input wire              ar,       // an address is accepted
    input wire [IdBits-1:0] ar_id,
    input wire [      31:0] ar_address,
    input wire [       7:0] ar_length,
    input wire              aw,
    input wire [IdBits-1:0] aw_id,
    input wire [      31:0] aw_address,
    input wire [       7:0] aw_length,

    output logic [12:0] used,         // bytes that the read burst accepted one cycle ago was wanted for; else 0
    output logic [31:0] unwanted_bursts,
    output logic [31:0] unwanted_beats,
    output logic [31:0] unwanted_at
);

  localparam int Low = $clog2(DataBits / 8);

  logic [63:0] runs[1<<RunLog2];   // byte address of the first, and that after the last

  // For each ID the next run and the bytes of it that bursts were for.
  logic [31:0] next_run[1<<IdBits];
  logic [31:0] done[1<<IdBits];
  logic [31:0] first, stop, whole, wanted, beats, strays, excess, stray_at;

  // One burst: how many of its bytes are wanted; 0 if it begins elsewhere.
  task automatic follow(input logic [IdBits-1:0] id, input logic [31:0] address, input logic [7:0] length);
    whole = ((32'(length) + 32'd1) << Low) - 32'(address[Low-1:0]);
    wanted = 32'd0;
    if (next_run[id] < ranges[64*id+32+:32]) begin
      {first, stop} = runs[RunLog2'(next_run[id])];
      if (address == first + done[id]) begin
        wanted = stop - address < whole ? stop - address : whole;
        done[id] = done[id] + wanted;
        if (first + done[id] == stop) begin
          next_run[id] = next_run[id] + 32'd1;
          done[id] = 32'd0;
        end
      end
    end
    beats = (32'(address[Low-1:0]) + wanted + 32'((1 << Low) - 1)) >> Low;
    if (strays == 32'd0 && excess == 32'd0)
      stray_at = wanted == 32'd0 ? address : {address[31:Low], {Low{1'b0}}} + (beats << Low);
    if (wanted == 32'd0) strays = strays + 32'd1;
    else if (beats <= 32'(length)) excess = excess + 32'(length) + 32'd1 - beats;
  endtask

  assign unwanted_bursts = strays;
  assign unwanted_beats = excess;
  assign unwanted_at = strays != 32'd0 || excess != 32'd0 ? stray_at : 32'd0;
  always @(posedge clk) begin
    used <= 13'd0;
    if (clear) begin
      for (int i = 0; i < (1 << IdBits); i++) begin
        next_run[i] = ranges[64*i+:32];
        done[i] = 32'd0;
      end
      strays = 32'd0;
      excess = 32'd0;
    end else begin
      if (ar) begin
        follow(ar_id, ar_address, ar_length);
        used <= wanted == 32'd0 ? 13'(whole) : 13'(wanted);
      end
      if (aw) follow(aw_id, aw_address, aw_length);
    end
  end

endmodule

`default_nettype wire
