"""Latencies and depths of the hardware: cycles between events of the RTL, and what queues hold.

The models compute with these numbers, and the RTL takes its queue depths from here. Each latency that no constant of
the RTL makes is the number of registers, or of states of a machine, that its sentence names. Tests of the models
against simulated hardware fail if the two differ.

All numbers are cycles unless their sentence says otherwise. A memory is taken to grant every request at once and to
answer in the next cycle.
"""

__all__ = [
    "ACCESSES_BESIDE",
    "ACCESSES_IN_FLIGHT",
    "BIAS_KEPT",
    "CAPTURE",
    "CHECK_DESCRIPTOR",
    "COMMANDS_UNDER_WAY",
    "CONFIGURATION",
    "CONV_REGISTERS",
    "DRAM_QUEUE",
    "END",
    "FEWER_WORDS_AHEAD",
    "FIRST_VECTOR",
    "FREED",
    "INPUT_NOTICED",
    "INPUT_OFFERED",
    "INPUT_PLACE",
    "INPUT_PLACE_COLUMNS",
    "INPUT_PLACE_ROWS",
    "INPUT_PLACE_SAME",
    "INPUT_PLACE_SKIPPED",
    "INPUT_TOKEN",
    "LINE_READ",
    "LINE_WRITTEN",
    "LOAD_ADDRESS_REGISTERS",
    "LOOKUP_REGISTERS",
    "MOST_IN_FLIGHT",
    "MOST_WORDS_AHEAD",
    "NEXT_BIASES",
    "NEXT_VECTOR",
    "OUTPUT_ROOM",
    "PIPELINE_SCALING",
    "POOL_REGISTERS",
    "PORT_ISSUE",
    "PROGRAM_STARTED",
    "QUEUED",
    "REQUESTED_AGAIN",
    "REQUEST_TO_ANSWER",
    "ROW_ADDRESS",
    "SCALING",
    "SETTING_ACCESS",
    "SPREAD",
    "STARTUP",
    "STEPS_AHEAD",
    "STORE_ADDRESS_REGISTERS",
    "TILES_AHEAD",
    "TILES_LOADED_AHEAD",
    "TREE",
    "VECTOR_END",
    "VECTOR_START",
    "VECTOR_STRIPS",
    "VECTOR_TREE",
    "WALKER_TO_ALIGNER",
    "WEIGHT_ADVANCE",
    "WEIGHT_TOKEN",
    "WORDS_AHEAD",
    "WRITE_ANSWER_LIMIT",
]

# --- the HWC: control and ports ---

STARTUP = 4
"""Cycles from the start write at the registers to the first one in which there might be an operation: the register of
`lib.register_bank` in which a write is decoded, that of `hwc.registers` that starts, that of `hwc.hwc`, and the nest
of `hwc.sequencer`."""
CONFIGURATION = 1
"""Cycles from a request on the configuration port of a single HWC to its registers: `bus.tcdm.TcdmRegister`."""
END = 4
"""Cycles from where the last outputs are requantised to the interrupt: the port's access, its answer, and the
registers ``done`` of `hwc.hwc` and of the interrupt."""
REQUEST_TO_ANSWER = 2
"""Cycles from a request at a port's stream to its answer: the register of `bus.tcdm.TcdmMaster`, and the memory."""

ACCESSES_IN_FLIGHT = 4
"""Cycles from a grant to its answer up to which a port makes an access in every cycle, if not said otherwise."""
MOST_IN_FLIGHT = 13
"""The most that may be asked for."""
ACCESSES_BESIDE = 2
"""Accesses that a port has accepted and not completed besides, for that: one in the register of
`bus.tcdm.TcdmMaster`, and one whose answer it has not counted yet."""
WRITE_ANSWER_LIMIT = 128
"""Cycles after the grant of the first write in which a memory that answers writes has answered it: less than a period
of the watchdog."""

# --- the HWC: tiles of the input and of the weights ---

TILES_AHEAD = 2
"""Most tiles that are pushed to a queue of `lib.tile_queue` before the sequencer has taken the first of them."""
WORDS_AHEAD = ACCESSES_IN_FLIGHT + ACCESSES_BESIDE
"""Most words that a stream requests before the first is written, unless another latency is asked for: just enough
for a word in every cycle."""
MOST_WORDS_AHEAD = MOST_IN_FLIGHT + ACCESSES_BESIDE
"""The same for the longest latency."""
FEWER_WORDS_AHEAD = REQUEST_TO_ANSWER + 1
"""The same for the input where other registers take the room: a word in every cycle of a memory that answers in the
next one."""
FREED = 2
"""Cycles from the last operation on a tile, or the push of the next one, to room in the ring: the register of the
release and that of the room in `lib.tile_queue`. A tile of the input is pushed a cycle after it was taken."""
WEIGHT_TOKEN = 1
"""Cycles from a tile's last word of W, written, to the first operation that may use it: the count of complete tiles
in `lib.tile_queue`."""
WEIGHT_ADVANCE = 1
"""Cycles from where a tile of W is pushed until the next one begins to be placed: the state Advance of
`hwc.weight_stream`."""
INPUT_TOKEN = 3
"""Cycles from a tile's last word of I, taken to be written, to the first operation that may use it: two registers of
`hwc.input.stream`, and the count of complete tiles in `lib.tile_queue`."""
INPUT_NOTICED = 1
"""Cycles from room in I's ring until a word may be requested because of it: the comparison of `hwc.input.fetcher` is
in a register."""
INPUT_OFFERED = 1
"""Cycles from where a tile of I is placed until it can be pushed: the registers of `hwc.input.placer` in which one
tile waits while the next one is placed."""
INPUT_PLACE_ROWS = 5
"""Cycles from where a tile of I begins to be placed until its rows have been counted: the states Begin, Corner, Span,
Count-Rows and Add-Rows of `hwc.input.placer`. Its columns must be placed by then, if some of them are kept."""
INPUT_PLACE = INPUT_PLACE_ROWS + 3
"""Cycles until it is placed: Place-Rows, Place-Line and Place-End besides."""
INPUT_PLACE_SAME = 1
"""Cycles until it is placed, if it is the previous tile again: the state Begin."""
INPUT_PLACE_SKIPPED = 2
"""Cycles more if there are rows before the first new one: Place-Corner and Place-Kept."""
INPUT_PLACE_COLUMNS = 6
"""Cycles until its columns are placed, without steps to the first one: Begin, Corner and Span, then Clip,
Place-Column and Place-Word of `hwc.input.columns`. With a stride of 1 there is no Place-Word."""

# --- the HWC: vectors of the output ---

TILES_LOADED_AHEAD = 2
"""Tiles of O between the one that is drained and the one that is loaded, at most, in `hwc.output.stream`."""
PORT_ISSUE = 1
"""Cycles from where the output's port knows what it requests until it requests: the last stage of
`hwc.output.vector_words`."""
BIAS_KEPT = 1
"""Cycles from where the last bias has come until it can be added: the register of the biases in
`hwc.output.vector_port`."""
SCALING = 3
"""What an access of the output's port takes longer where sums are scaled: the registers of the products, of their sum
and of the clipped output in `lib.scaling`."""
CAPTURE = 3
"""Cycles from asking the output memory for a vector, or to keep one, to having it or having it kept: the operation's
register in `hwc.sequencer`, and those of multiply and accumulate in `hwc.datapath`."""
TREE = 1
"""The same on top for each level of adders with lanes along c: the registers of their sums in `hwc.datapath`."""
SPREAD = 1
"""The same on top where more than 16 multipliers have lanes along c: the registers in which operands stand on their
way to them, in `hwc.datapath`."""
OUTPUT_ROOM = 1
"""Cycles from where a vector has left the output memory until its place counts as free, unless it was the tile's last
one: the comparison in `hwc.sequencer` is in a register."""
ROW_ADDRESS = 4
"""Cycles for the address of a row of the output: factors, product, sum and flag of `hwc.output.address`, in
registers."""
FIRST_VECTOR = 4
"""Cycles from the start until the first vector to drain is known: steps of `hwc.output.drain`."""
REQUESTED_AGAIN = 2
"""Cycles from where a vector comes while the port is held up, or is to be kept before it is complete, to asking for
it once more: the registers of the request and of the access in `hwc.output.stream`."""
NEXT_BIASES = 1
"""Cycles from where a vector has come until the biases that the next one needs can be requested: `hwc.output.drain`
has moved to that vector."""
NEXT_VECTOR = 2
"""Cycles from where a vector has come until the one two after it may be asked for: `hwc.output.drain` has moved, and
its walk a cycle later."""

# --- the DMA ---

CHECK_DESCRIPTOR = 2
"""Cycles from the last word of a descriptor to the cycle before it is handed on: the states Sum and Judge of
`dma.descriptor_reader`."""
QUEUED = 1
"""Cycles from where a descriptor is handed on to where a walker of `dma.descriptor_front` takes it."""
WALKER_TO_ALIGNER = 3
"""Cycles from where the second walker takes a descriptor to the first step of the byte aligner: the registers of the
run, of the segment and of the aligner."""
LOAD_ADDRESS_REGISTERS = 2
"""Registers that a burst of the load channel passes to the AXI port: of `dma.descriptor_front` and of `dma.dma`,
where it meets the program's."""
STORE_ADDRESS_REGISTERS = 1
"""Registers that a burst of the store channel passes to the AXI port: of `dma.descriptor_front`."""
LINE_WRITTEN = 4
"""Cycles from a step of the aligner to the end of its descriptor, if the line is its last one: the register of the
line, the request, the answer and the pulse of `dma.write`."""
LINE_READ = 4
"""Cycles from asking for a line to having it: the register of the request in `dma.gather`, the port's, the memory's
answer and the queue of words."""
DRAM_QUEUE = 15
"""Bursts that the DRAM of `cosim/harness/dram/dram.sv` accepts before the first of them has come."""

# --- the cluster ---

COMMANDS_UNDER_WAY = 32
"""Commands of a DMA channel in progress at a time, at most: the depth of a queue in `cluster.command_queues`."""
PROGRAM_STARTED = 3
"""Cycles from the grant of the write that starts a cluster to where `dma.program_fetch` has a program to fetch: the
registers of `lib.register_bank`, of the start in `cluster.cluster` and of the words that are to be fetched."""

# --- the vector unit ---

STEPS_AHEAD = 8
"""Steps that are walked and not computed, at most, and words that they wait for: the depth of the queues in
`vector.unit`."""
VECTOR_START = 3
"""Cycles from the start write at the registers to the one before the first step: the register of `lib.register_bank`
in which a write is decoded, that of the start in `vector.unit`, and the state Begin of `vector.walk`."""
VECTOR_END = 12
"""Cycles from the last step to where the unit rests: the queue of steps, the seven registers of `vector.arithmetic`,
the port's access, its answer, and the register of the end."""
VECTOR_TREE = 1
"""The same on top where several elements are taken in a cycle: the register in `vector.wide_arithmetic` between their
tree and the window's value."""
VECTOR_STRIPS = 1
"""The same on top for windows in strips: the register of a strip in `vector.strips`."""

# --- the pipeline ---

CONV_REGISTERS = 3
"""Registers from the last step of a convolution's window to its output pixel: operands, product and sum of
`pipeline.stages.conv`."""
POOL_REGISTERS = 2
"""Registers from the last step of a pool's window to its output pixel: operands and result of
`pipeline.stages.pool`."""
LOOKUP_REGISTERS = 2
"""Registers from the last step of a pixel that goes through a table to its output pixel: operand and entry of
`pipeline.stages.lookup`."""
PIPELINE_SCALING = 4
"""The same on top in every stage that scales its sums, one without windows too: products, their sum, its shift and
the output, of `lib.scaling` and of `pipeline.stages.join`."""

SETTING_ACCESS = 4
"""Cycles from one access of a pipeline's registers to the next where software starts tile after tile: a processor
that waits for each answer. So far apart are the harness' accesses, too."""
