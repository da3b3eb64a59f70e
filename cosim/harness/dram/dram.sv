// The DRAM behind an AXI4 port: timing, protocol checks, errors on demand; its counters are in `dram_counters.sv`.
//
// Written independently of the DMA: nothing here is derived from it, and nothing in it is trusted. The memory itself is
// in the harness around this module.
//
// Timing: the DRAM moves blocks of 128 bytes, one at a time, each in `block_cycles`; a block in another row than the
// last one of its bank and stream takes `miss_cycles` more. With `access_cycles` a block takes these first, and then of
// `block_cycles` the part of its beats that the burst moves (after Sousa 2022, Eq. 6: the CAS latency for each burst of
// 128 bytes, the transfer for each byte; rows are ours). Reads and writes that wait take turns, each in its order. A
// burst's first beat comes `latency` cycles after its address at the earliest, a write's response as long after its last
// beat; these overlap. With all of them 0 there is a beat in every cycle and direction.
//
// Streams: bursts by their ID, which is even for reads and odd for writes (of a cluster 0 and 2, and 1). Open rows are
// kept for each.
//
// What a burst is counted as depends on its address alone: it is of the first region that this is in, or `Other`. With
// `ById` it is the number of its stream; that it belongs there is then to be checked by whoever knows `read_used`.
// Which of its bytes were asked for is known outside, see `read_used`; of a write the strobes tell. The user bits of the
// addresses decide nothing.

`default_nettype none
`timescale 1ns / 1ps

module dram #(
    parameter int DataBits = 64,
    parameter int IdBits = 0,        // of a read even, of a write odd
    parameter int MasterIdBits = 0,  // see `axi_rules`
    parameter int Queue = 0,         // bursts of a direction that it accepts before the first has come, at most 15
    parameter int DepthLog2 = 20,  // the memory's size in 32-bit words, as a power of two
    parameter int Regions = 16,
    parameter bit ById = 1'b0
) (
    input wire clk,
    input wire rst,                // of the master, from the next edge on
    input wire clear,              // forget everything; loads `random_start`

    input  wire [    IdBits-1:0] awid,
    input  wire [          31:0] awaddr,
    input  wire [           7:0] awlen,
    input  wire [           2:0] awsize,
    input  wire [           1:0] awburst,
    input  wire [           7:0] awuser,  // no more than that they stay as they are
    input  wire                  awvalid,
    output wire                  awready,
    input  wire [  DataBits-1:0] wdata,
    input  wire [DataBits/8-1:0] wstrb,
    input  wire                  wlast,
    input  wire                  wvalid,
    output wire                  wready,
    output logic [   IdBits-1:0] bid,
    output logic [          1:0] bresp,
    output logic                 bvalid,
    input  wire                  bready,
    input  wire [    IdBits-1:0] arid,
    input  wire [          31:0] araddr,
    input  wire [           7:0] arlen,
    input  wire [           2:0] arsize,
    input  wire [           1:0] arburst,
    input  wire [           7:0] aruser,
    input  wire                  arvalid,
    output wire                  arready,
    output logic [   IdBits-1:0] rid,
    output logic [ DataBits-1:0] rdata,
    output logic [          1:0] rresp,
    output logic                 rlast,
    output logic                 rvalid,
    input  wire                  rready,

    // The memory: beats by their number, and what it holds there; what is to be written at the next edge.
    output wire [          31:0] read_beat,
    input  wire [  DataBits-1:0] read_data,
    output wire [          31:0] write_beat,
    output wire [DataBits/8-1:0] write_enable,

    // A region's first byte address, the one after its last, and its kind, 0 to 14. Constant while anything is under way.
    input wire [32*Regions-1:0] region_base,
    input wire [32*Regions-1:0] region_end,
    input wire [ 4*Regions-1:0] region_kind,

    input wire [12:0] read_used,      // bytes, from the first on, that the burst accepted one cycle ago was wanted for

    // Controls, constant while anything is under way.
    input wire [31:0] random_start,   // not 0
    input wire [39:0] stall_rate,     // so many cycles in 256 without handshake: AR, R, AW, W, B from bit 0 up
    input wire [127:0] timing,        // latency, miss_cycles: cycles; access_cycles (bit 16 on), block_cycles: 1/256; geometry: see `open_rows`
    input wire [ 1:0] error_enable,   // reads, writes
    input wire [ 1:0] error_code,     // 2: SLVERR, 3: DECERR
    input wire [31:0] error_address   // any byte of the beat
);

  localparam int Bytes = DataBits / 8;
  localparam int Low = $clog2(Bytes);
  localparam int Places = 16;  // of a queue
  initial if (IdBits == 0 || Queue == 0 || Queue >= Places) $fatal(1, "dram: no IdBits, or no Queue of 1 to 15");
  localparam logic [3:0] Other = 4'd15;  // outside all regions
  wire [15:0] latency = timing[15:0];
  wire [15:0] access_cycles = timing[31:16];
  wire [15:0] miss_cycles = timing[47:32];
  wire [15:0] block_cycles = timing[79:64];
  wire [31:0] geometry = timing[127:96];

  wire  [31:0] violations;   // of the protocol
  wire  [ 7:0] violated;     // which: see `axi_rules`
  logic [47:0] busy_cycles;  // in which the DRAM moved a block

  // Random numbers: xorshift (Marsaglia 2003), and a generator of Numerical Recipes for what nobody asked for.
  logic [31:0] random;
  logic [31:0] noise;
  wire         calm = stall_rate == 40'd0;
  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction
  wire go_ar = calm || random[7:0] >= stall_rate[7:0];
  wire go_r = calm || random[15:8] >= stall_rate[15:8];
  wire go_aw = calm || random[23:16] >= stall_rate[23:16];
  wire go_w = calm || random[31:24] >= stall_rate[31:24];
  wire go_b = calm || noise[31:24] >= stall_rate[39:32];

  logic [31:0] now;  // cycles, wrapping
  // Bursts in order: reads, writes. Three places in each queue: the next to come, the one whose blocks are being moved,
  // and the one whose beats are.
  logic [31:0] r_address[Places], w_address[Places];
  logic [ 7:0] r_length[Places], w_length[Places];
  logic [ 3:0] r_kind[Places], w_kind[Places];
  logic [31:0] r_end[Places];  // the byte address after what is wanted
  logic [IdBits-1:0] r_id[Places], w_id[Places];
  logic [31:0] r_time[Places];
  logic [ 4:0] r_in, r_move, r_out;
  logic [ 4:0] w_in, w_move, w_out;
  wire         r_full = r_in == {~r_out[4], r_out[3:0]};
  wire         w_full = w_in == {~w_out[4], w_out[3:0]};
  logic        ar_open, aw_open;  // `ready`: may be 1 while there is no request, and stays until there is one
  assign arready = ar_open;
  assign awready = aw_open;

  // Blocks that have been moved and whose beats have not come to an end.
  logic [15:0] r_credit, w_credit;
  wire         immediate = block_cycles == 16'd0 && miss_cycles == 16'd0 && access_cycles == 16'd0;

  // The beat at hand in each direction.
  logic [ 7:0] r_number, w_number;
  logic [ 1:0] w_failed;  // the response, as far as it is known
  logic        w_gate;
  wire [ 3:0] r_head = r_out[3:0];
  wire [ 3:0] w_head = w_out[3:0];
  wire [31:0] r_at = (r_address[r_head] >> Low) + 32'(r_number);  // in beats
  wire [31:0] w_at = (w_address[w_head] >> Low) + 32'(w_number);
  wire        r_final = r_number == r_length[r_head];
  wire        w_final = w_number == w_length[w_head];
  localparam int BlockLow = 7 - Low;
  wire r_leaves_block = r_final || (&r_at[BlockLow-1:0]);
  wire w_leaves_block = w_final || (&w_at[BlockLow-1:0]);
  wire r_enters_block = r_number == 8'd0 || r_at[BlockLow-1:0] == '0;
  wire w_enters_block = w_number == 8'd0 || w_at[BlockLow-1:0] == '0;
  wire r_missing = r_at[31:DepthLog2+2-Low] != '0;
  wire w_missing = w_at[31:DepthLog2+2-Low] != '0;
  wire r_wrong = error_enable[0] && r_at == error_address >> Low;
  wire w_wrong = error_enable[1] && w_at == error_address >> Low;
  wire [1:0] w_answer = w_failed != 2'd0 ? w_failed : w_missing ? 2'd3 : w_wrong ? error_code : 2'd0;

  wire r_ready = r_out != r_in && (immediate || r_credit != 16'd0) &&
      (r_number != 8'd0 || now - r_time[r_head] >= 32'(latency)) && go_r;
  wire r_goes = r_ready && (!rvalid || rready);
  wire w_ready = w_out != w_in && (immediate || w_credit != 16'd0) && w_gate;
  wire w_goes = w_ready && wvalid;
  assign wready       = w_ready;
  assign read_beat    = r_at;
  assign write_beat   = w_at;
  assign write_enable = w_goes && !w_missing && !w_wrong ? wstrb : '0;

  // Responses to writes, each at its time.
  logic [ 1:0] b_code[Places];
  logic [IdBits-1:0] b_id[Places];
  logic [31:0] b_time[Places];
  logic [ 4:0] b_in, b_out;
  wire b_goes = b_in != b_out && now - b_time[b_out[3:0]] >= 32'(latency) && go_b && (!bvalid || bready);
  wire offered = arvalid || awvalid || wvalid;
  // Something is asked for that is not answered.
  wire under_way = offered || r_out != r_in || rvalid || w_out != w_in || b_out != b_in || bvalid;

  // What is known about a burst from its address: where its last beat begins, and what it is counted as.
  function automatic logic [31:0] last_beat(input logic [31:0] address, input logic [7:0] length);
    return {address[31:Low], {Low{1'b0}}} + (32'(length) << Low);
  endfunction
  function automatic logic [3:0] kind_of(input logic [31:0] address);
    kind_of = Other;
    for (int i = Regions - 1; i >= 0; i--)
      if (address >= region_base[32*i+:32] && address < region_end[32*i+:32]) kind_of = region_kind[4*i+:4];
  endfunction

  // The blocks at hand for the DRAM.
  logic [24:0] r_block, w_block;  // blocks of the burst that have been moved
  wire  [ 3:0] rm = r_move[3:0];
  wire  [ 3:0] wm = w_move[3:0];
  wire  [31:0] rm_last = last_beat(r_address[rm], r_length[rm]);
  wire  [31:0] wm_last = last_beat(w_address[wm], w_length[wm]);
  wire  [24:0] rm_block = r_address[rm][31:7] + r_block;
  wire  [24:0] wm_block = w_address[wm][31:7] + w_block;
  logic        moving, moving_write, wrote_last;
  logic [24:0] left;  // of the block that is being moved, in 1/256 cycles
  wire         move_ends = moving && left <= 25'd256;
  wire         r_waits = r_move != r_in;
  wire         w_waits = w_move != w_in;
  wire         picks = (!moving || move_ends) && (r_waits || w_waits) && !immediate;
  wire         picks_write = w_waits && (!r_waits || !wrote_last);
  wire         misses;
  open_rows #(
      .IdBits(IdBits)
  ) moved (
      .clk(clk),
      .clear(clear),
      .geometry(geometry),
      .accessed(picks),
      .stream(picks_write ? w_id[wm] : r_id[rm]),
      .address({picks_write ? wm_block : rm_block, 7'd0}),
      .misses(misses)
  );
  // The beats of the block that the burst moves.
  wire  [31:0] pick_from = picks_write ? w_address[wm] : r_address[rm];
  wire  [31:0] pick_last = picks_write ? wm_last : rm_last;
  wire  [24:0] pick_block = picks_write ? wm_block : rm_block;
  wire  [BlockLow-1:0] from_beat = pick_block == pick_from[31:7] ? pick_from[6:Low] : '0;
  wire  [BlockLow-1:0] to_beat = pick_block == pick_last[31:7] ? pick_last[6:Low] : '1;
  wire  [24:0] part = 25'((32'(block_cycles) * (32'(to_beat) - 32'(from_beat) + 32'd1)) >> BlockLow);
  wire  [24:0] cost = (access_cycles == 16'd0 ? 25'(block_cycles) : part + 25'(access_cycles)) +
      (misses ? {1'b0, miss_cycles, 8'd0} : 25'd0);
  wire  [24:0] over = move_ends ? 25'd256 - left : 25'd0;  // of this cycle, if the next block follows at once

  // The read burst that was accepted one cycle ago: only now it is known what of it is wanted.
  logic        r_fresh;
  logic [ 3:0] fresh;
  wire  [31:0] fresh_end = r_address[fresh] + 32'(read_used);

  // The lanes of a read that are wanted; the others hold noise.
  wire  [31:0] r_wanted = (r_fresh && fresh == r_head ? fresh_end : r_end[r_head]) - {r_at[31-Low:0], {Low{1'b0}}};
  wire  [ 4:0] r_lanes = r_wanted[31] ? 5'd0 : r_wanted >= 32'(Bytes) ? 5'(Bytes) : r_wanted[4:0];
  wire [DataBits-1:0] masked;
  genvar g;
  generate
    for (g = 0; g < Bytes; g = g + 1) begin : lane
      wire unasked = (r_number == 8'd0 && g < 32'(r_address[r_head][Low-1:0])) ||
          5'(g) >= r_lanes || r_missing || r_wrong;
      assign masked[8*g+:8] = unasked ? noise[8*(g%4)+:8] ^ 8'(g) : read_data[8*g+:8];
    end
  endgenerate

  function automatic logic [7:0] count_ones(input logic [Bytes-1:0] bits);
    logic [7:0] sum;
    sum = 8'd0;
    for (int i = 0; i < Bytes; i++) sum = sum + 8'(bits[i]);
    return sum;
  endfunction

  // The bytes of the beat that is to be written from the burst's address on; the address after those that are.
  wire [Bytes-1:0] w_from = w_number == 8'd0 ? ~'0 << w_address[w_head][Low-1:0] : ~'0;
  wire [31:0] w_behind = {w_at[31-Low:0], {Low{1'b0}}} + 32'(count_ones(wstrb | ~w_from));
  axi_rules #(
      .DataBits(DataBits),
      .IdBits(IdBits),
      .MasterIdBits(MasterIdBits)
  ) rules (
      .*,
      .w_known(w_out != w_in)
  );

  wire [3:0] ar_kind = ById ? 4'(arid >> 1) : kind_of(araddr);
  wire [3:0] aw_kind = ById ? 4'(awid >> 1) : kind_of(awaddr);
  dram_counters #(
      .IdBits(IdBits)
  ) counted (
      .*,
      .ar(arvalid && arready),
      .aw(awvalid && awready),
      .wanted(r_fresh),
      .wanted_kind(r_kind[fresh]),
      .wanted_stream(r_id[fresh]),
      .wanted_address(r_address[fresh]),
      .wanted_bytes(read_used),
      .r_beat(r_goes),
      .r_kind(r_kind[r_head]),
      .r_stream(r_id[r_head]),
      .r_byte({r_at[31-Low:0], {Low{1'b0}}}),
      .w_beat(w_goes),
      .w_kind(w_kind[w_head]),
      .w_stream(w_id[w_head]),
      .w_byte({w_at[31-Low:0], {Low{1'b0}}}),
      .w_first(w_number == 8'd0),
      .w_address(w_address[w_head]),
      .w_bytes(count_ones(wstrb))
  );

  always_ff @(posedge clk) begin
    if (clear) begin
      random       <= random_start;
      noise        <= ~random_start;
      now          <= 32'd0;
      r_in         <= 5'd0;
      r_move       <= 5'd0;
      r_out        <= 5'd0;
      w_in         <= 5'd0;
      w_move       <= 5'd0;
      w_out        <= 5'd0;
      b_in         <= 5'd0;
      b_out        <= 5'd0;
      ar_open      <= 1'b0;
      aw_open      <= 1'b0;
      w_gate       <= 1'b0;
      rvalid       <= 1'b0;
      rid          <= '0;
      bid          <= '0;
      bresp        <= 2'd0;
      bvalid       <= 1'b0;
      r_number     <= 8'd0;
      w_number     <= 8'd0;
      w_failed     <= 2'd0;
      r_credit     <= 16'd0;
      w_credit     <= 16'd0;
      r_block      <= 25'd0;
      w_block      <= 25'd0;
      moving       <= 1'b0;
      wrote_last   <= 1'b0;
      r_fresh      <= 1'b0;
      busy_cycles  <= 48'd0;
    end else begin
      now   <= now + 32'd1;
      noise <= noise * 32'd1664525 + 32'd1013904223;
      if (!calm) random <= xorshift(random);

      // Addresses. `ready` is decided a cycle ahead and kept until it is used.
      ar_open <= (ar_open && !arvalid) || (go_ar && r_in + 5'(arvalid && ar_open) - r_out < 5'(Queue));
      aw_open <= (aw_open && !awvalid) || (go_aw && w_in + 5'(awvalid && aw_open) - w_out < 5'(Queue));
      w_gate  <= (w_gate && !w_goes) || go_w;
      r_fresh <= arvalid && arready;
      fresh   <= r_in[3:0];
      if (arvalid && arready) begin
        r_address[r_in[3:0]] <= araddr;
        r_length[r_in[3:0]]  <= arlen;
        r_kind[r_in[3:0]]    <= ar_kind;
        r_id[r_in[3:0]]      <= arid;
        r_time[r_in[3:0]]    <= now;
        r_in                 <= r_in + 5'd1;
      end
      if (r_fresh) r_end[fresh] <= fresh_end;
      if (awvalid && awready) begin
        w_address[w_in[3:0]] <= awaddr;
        w_length[w_in[3:0]]  <= awlen;
        w_kind[w_in[3:0]]    <= aw_kind;
        w_id[w_in[3:0]]      <= awid;
        w_in                 <= w_in + 5'd1;
      end

      // Blocks.
      if (moving) busy_cycles <= busy_cycles + 48'd1;
      if (picks) begin
        moving       <= 1'b1;
        moving_write <= picks_write;
        wrote_last   <= picks_write;
        left         <= cost > over ? cost - over : 25'd1;
        if (picks_write) begin
          w_block <= wm_block == wm_last[31:7] ? 25'd0 : w_block + 25'd1;
          if (wm_block == wm_last[31:7]) w_move <= w_move + 5'd1;
        end else begin
          r_block <= rm_block == rm_last[31:7] ? 25'd0 : r_block + 25'd1;
          if (rm_block == rm_last[31:7]) r_move <= r_move + 5'd1;
        end
      end else if (move_ends) moving <= 1'b0;
      else if (moving) left <= left - 25'd256;
      r_credit <= r_credit + 16'(move_ends && !moving_write) - 16'(r_goes && r_leaves_block && !immediate);
      w_credit <= w_credit + 16'(move_ends && moving_write) - 16'(w_goes && w_leaves_block && !immediate);

      // Beats that are read.
      if (rready) rvalid <= 1'b0;
      if (r_goes) begin
        rvalid   <= 1'b1;
        rid      <= r_id[r_head];
        rdata    <= masked;
        rresp    <= r_missing ? 2'd3 : r_wrong ? error_code : 2'd0;
        rlast    <= r_final;
        r_number <= r_final ? 8'd0 : r_number + 8'd1;
        if (r_final) r_out <= r_out + 5'd1;
      end

      // Beats that are written.
      if (bready) bvalid <= 1'b0;
      if (w_goes) begin
        w_number <= w_final ? 8'd0 : w_number + 8'd1;
        w_failed <= w_final ? 2'd0 : w_answer;
        if (w_final) begin
          w_out              <= w_out + 5'd1;
          b_in               <= b_in + 5'd1;
          b_time[b_in[3:0]]  <= now;
          b_code[b_in[3:0]]  <= w_answer;
          b_id[b_in[3:0]]    <= w_id[w_head];
        end
      end
      if (b_goes) begin
        bvalid <= 1'b1;
        bid    <= b_id[b_out[3:0]];
        bresp  <= b_code[b_out[3:0]];
        b_out  <= b_out + 5'd1;
      end
    end
  end

endmodule

`default_nettype wire
