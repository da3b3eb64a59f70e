// One load and one store in the DMA's harness, with stalls and a slow DRAM, without any Python around it.

`timescale 1ns / 1ps

module bench;
  harness #(
      .DramLog2(14),
      .TcdmLog2(12)
  ) h ();

  integer wrong;
  logic [31:0] words[16];
  always #5 h.clk = ~h.clk;

  function [7:0] byte_at(input integer address);
    byte_at = h.memory[address/4] >> (8 * (address % 4));
  endfunction

  initial begin
    #1;
    for (int i = 0; i < (1 << 14) + (1 << 12); i++) h.memory[i] = i * 32'h9E3779B1;
    $readmemh("descriptors.hex", words);
    for (int i = 0; i < 16; i++) h.memory[12288+i] = words[i];
    h.load_first  = 12288;
    h.load_end    = 12296;
    h.store_first = 12296;
    h.store_end   = 12304;
    h.load_count  = 1;
    h.store_count = 1;
    h.stamps      = 12400;
    h.store_last  = 1;
    h.cycle_limit = 20000;
    h.windows     = {48'd16384, 48'd0, 48'd49152, 48'd0};
    h.stall_rate  = 40'h3030303030;
    h.tcdm_rate   = 16'h3030;
    h.timing      = {16'd9, 16'd20};
    h.block_rate  = 16'd4500;
    repeat (4) @(posedge h.clk);
    #1 h.rst = 0;
    h.clear = 0;
    repeat (3) @(posedge h.clk);
    #1 h.go = 1;
    wait (h.finished === 1);
    repeat (20) @(posedge h.clk);
    wrong = 0;
    for (int i = 0; i < 900; i++) begin
      if (byte_at(4099 + i) !== byte_at(65536 + 514 + i)) wrong = wrong + 1;
      if (byte_at(4099 + i) !== byte_at(20001 + i)) wrong = wrong + 1;
    end
    $display("timed out %b error %h done %0d %0d violations %0d wrong %0d", h.timed_out, h.error, h.loads_done,
             h.stores_done, h.dram.violations, wrong);
    $display("read %0d %0d %0d %0d %0d", h.dram.bytes[2], h.dram.beats[2], h.dram.bursts[2], h.dram.blocks[2],
             h.dram.row_misses[2]);
    $display("written %0d %0d %0d %0d %0d", h.dram.bytes[11], h.dram.beats[11], h.dram.bursts[11], h.dram.blocks[11],
             h.dram.row_misses[11]);
    $finish;
  end
endmodule
