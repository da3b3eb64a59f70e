// Icarus: the test bench's way into the memory of the harness, through files. Under Verilator it has a view of the array.

`ifndef VERILATOR
`default_nettype none
`timescale 1ns / 1ps

module memory_files #(
    parameter int Words = 1 << 20  // of `harness.memory`
);

  logic        load = 1'b0;
  logic        store = 1'b0;
  logic [31:0] file_first = 32'd0;
  logic [31:0] file_last = 32'd0;
  initial for (int i = 0; i < Words; i++) harness.memory[i] = 32'd0;
  always @(posedge load) $readmemh("load.hex", harness.memory, file_first, file_last);
  always @(posedge store) $writememh("store.hex", harness.memory, file_first, file_last);

endmodule

`default_nettype wire
`endif
