"""The state of the timing model between two tiles, and what it knows of the block and of the nest."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.latency import END, FIRST_VECTOR, MOST_WORDS_AHEAD, PORT_ISSUE, TILES_LOADED_AHEAD

__all__ = [
    "COUNT",
    "COUNTERS",
    "GROUP",
    "HEAD",
    "LONG_AGO",
    "L_AHEAD",
    "L_AT",
    "L_LOADED",
    "L_LOOPS",
    "L_MOVED",
    "L_RESUMES",
    "L_TAKEN",
    "L_TILES",
    "L_TIMES",
    "L_VALID",
    "L_VECTOR",
    "L_VECTORS",
    "NEVER",
    "PARTS",
    "SAVED",
    "SIZE",
    "STATE",
    "TIMES",
    "Block",
    "Counters",
    "Ints",
    "Nest",
    "State",
    "finish",
    "initial_state",
    "rebase",
]

Ints = NDArray[np.int64]
State = NDArray[np.int64]
"""A record of `STATE`, then the outstanding accesses of the output's stream: their cycles, and their indices."""

NEVER = 1 << 60
LONG_AGO = 1 << 15
"""Cycles after which an event matters no more: no fetch of a tile takes so long."""
PARTS = 128
"""Parts of a cycle, as which waits are counted."""


class Block(NamedTuple):
    """The block, and what it knows of the layer.

    Members
    -------
    marker_i, marker_w, marker_o : the marked loops, counted from the first loop of the played tile; without a marker,
        one more than the last loop.
    stride_y, stride_x, top, left, height, width : of the layer; padding, and the input's extents.
    phases : columns of a line that a cycle writes are so far apart.
    beside : columns that a tile of I has besides those of its own columns of the kernel.
    first_columns, next_columns : operations for the first output of a run along x, and for each other one.
    group : output channels of a group; grouped: there are several.
    slides, same : rows of a tile of I are kept for the next one; all of it is.
    columns_slide : columns of a tile of I are kept for the next one; 2: also those of few kernel columns.
    element, input_word : bytes of an operand's element, and those that an access of I's port moves.
    line, slab, ring : bytes of a row of one channel, of all channels of a tile, of I's memory: for each lane along c.
    weight_units, weight_word : words of W's memory, or lines; bytes that an access of W's port moves.
    weights_stay : a tile of W is kept from one iteration of its loop to the next.
    line_pitch : bytes of a channel lane in a line of weights; 0: they are packed densely.
    vectors, tile_vectors : of O's memory, and of the largest tile.
    lane_c, requantisers : lanes along c; outputs of 8 bits that the output's port makes in a cycle.
    record_words : words that a bias is, with its channel's multiplier and shift where they come along.
    scaling : stages of the output's port besides those that every HWC has.
    capture : cycles from asking the output memory for a vector to having it.
    apart : cycles from asking for a vector that is drained to asking for the next one, at the least.
    words_ahead : of I that are requested before the first is written, at most.
    waits_i, waits_w, waits_o : of an access at the banks of a shared memory on average, in `PARTS` of a cycle.
    waits_b : the same of a bias, of which some are kept and wait for nothing.
    output_word : bytes that an access of O's port moves.
    input_begins, output_begins, sums_begin : byte of a word in which rows of I, of outputs and of sums begin.
    spills : partial sums are written back and loaded again.
    resumes, goes_on : all sums begin with partial sums that are loaded; all end as partial sums.
    """

    marker_i: int
    marker_w: int
    marker_o: int
    stride_y: int
    stride_x: int
    phases: int
    beside: int
    first_columns: int
    next_columns: int
    top: int
    left: int
    height: int
    width: int
    group: int
    grouped: bool
    slides: bool
    same: bool
    columns_slide: int
    element: int
    input_word: int
    line: int
    slab: int
    ring: int
    weight_units: int
    weight_word: int
    line_pitch: int
    weights_stay: bool
    vectors: int
    tile_vectors: int
    lane_c: int
    requantisers: int
    record_words: int
    scaling: int
    capture: int
    apart: int
    words_ahead: int
    waits_i: int
    waits_w: int
    waits_o: int
    waits_b: int
    output_word: int
    input_begins: int
    output_begins: int
    sums_begin: int
    spills: bool
    resumes: bool
    goes_on: bool


class Nest(NamedTuple):
    """The loops of a played tile; dimensions are numbered m, c, y, x, k, l.

    Members
    -------
    loops : [loop, 3]: dimension, step, the next outer loop over the same dimension or -1.
    sources : [3, dimension]: the loop that gives a dimension's range in a tile of I, W, O; -1: the played tile.
    index_steps : how far each loop moves in the vectors of a tile of O.
    size_steps : cycles until the size of W's tile is known when a loop has turned; the last one: when the played
        tile begins.
    extents : of the layer.
    repeats : loops whose iterations are alike but for the first and the last.
    """

    loops: Ints
    sources: Ints
    index_steps: Ints
    size_steps: Ints
    extents: Ints
    repeats: NDArray[np.bool_]


# --- the state ---


def _record(times: tuple[str, ...], amounts: tuple[str, ...]) -> np.dtype[np.void]:
    return np.dtype([(name, np.int64, SEVERAL.get(name, ())) for name in (*times, *amounts)])


COUNTERS = ("now", "stall_i", "stall_w", "stall_o", "operations")
SEVERAL = {"words": (MOST_WORDS_AHEAD,)}
"""Fields that are arrays."""
INPUT_TIMES = (
    "placed",  # the last tile
    "pushed",
    "requested",  # its last word
    "words",  # that were written last, the latest first
    "begun",  # first operation on the last tile and on the one before
    "begun_1",
    "released",  # last operation on the last tile
    "drop_at",  # when what the last tile did not keep becomes free
)
INPUT_AMOUNTS = (
    "free",  # bytes of the ring
    "live",  # slabs of the last tile
    "drop",  # bytes that it did not keep
    "next_new",  # first row after it, or, where columns slide, the first column
    "group",
    "first",  # there is no last tile
    "waited",  # parts of a cycle that are not yet counted
)
WEIGHT_TIMES = ("pushed", "requested", "written", "begun", "begun_1", "released", "drop_at")
WEIGHT_AMOUNTS = (
    "free",  # words or lines of the ring
    "live",  # of the last tile that was fetched
    "drop",
    "first",
    "passed",  # the lines of the last tile, which stays, were passed over
    "waited",
)
OUTPUT_TIMES = (
    "free",  # the port has nothing to do any more
    "near",  # ... soon, so that a vector may be requested
    "in_time",  # a vector that is requested before is lost, as the port is not free when it comes
    "granted",  # the last access
    "granted_1",  # the one before
    "held",  # until then accesses hold up steps of the next vector
    "idle",  # the last vector requested has come
    "drained",  # the last tile has been written back
)
OUTPUT_AMOUNTS = (
    "head",  # accesses to come: the first one, and how many with those before it
    "count",
    "ended",  # in play: the cycle after the last operation on a tile that has ended
    "waited",
    "holds",  # cycles for which accesses hold up steps after those of their own vector
)
STATE = np.dtype(
    [
        *((name, np.int64) for name in COUNTERS),
        ("input", _record(INPUT_TIMES, INPUT_AMOUNTS)),
        ("weight", _record(WEIGHT_TIMES, WEIGHT_AMOUNTS)),
        ("output", _record(OUTPUT_TIMES, OUTPUT_AMOUNTS)),
    ]
)
"""Counters, and a record for each stream: times in cycles first, then amounts."""
SIZE = STATE.itemsize // 8
"""Words of 64 bits of the record."""


def _places(stream: str, names: tuple[str, ...]) -> list[int]:
    """Where fields of a stream are stored in a state, as 64-bit words."""
    first, record = STATE.fields[stream][1], STATE[stream]  # type: ignore[index]
    fields = [record.fields[name] for name in names]  # type: ignore[index]
    return [(first + field[1]) // 8 + i for field in fields for i in range(field[0].itemsize // 8)]


TIMES = np.array(
    _places("input", INPUT_TIMES) + _places("weight", WEIGHT_TIMES) + _places("output", OUTPUT_TIMES), np.int64
)

(GROUP,) = _places("input", ("group",))
FREE, GRANTED, HEAD, COUNT = _places("output", ("free", "granted", "head", "count"))

# --- the walk of the loads: the next vector to load, and the tiles from its tile to the one to be drained next ---

L_VALID, L_RESUMES, L_AHEAD, L_VECTOR, L_VECTORS, L_AT, L_MOVED, L_LOADED, L_TAKEN = range(9)
L_TIMES = 9  # when the last tiles were loaded, the latest first
L_TILES = L_TIMES + TILES_LOADED_AHEAD + 2  # m, y and x at which the last tiles begin, the present one first
L_LOOPS = L_TILES + 3 * (TILES_LOADED_AHEAD + 2)  # for each loop around a tile: begin, end, low, high

SAVED = 5
"""Times of the port that are kept beside that walk, as they were when the last tile had been drained."""

# --- between two tiles ---


class Counters(NamedTuple):
    """What a tile adds: cycles, cycles without an operation by what they wait for, and operations."""

    now: int
    stall_i: int
    stall_w: int
    stall_o: int
    operations: int


def initial_state(block: Block) -> State:
    """The state before the first tile."""
    accesses = block.tile_vectors * (2 * (TILES_LOADED_AHEAD + 2) if block.spills else 1)
    if block.waits_o:  # each vector may be lost once, and the next one with it
        accesses *= 3
    state = np.zeros(SIZE + 2 * accesses, np.int64)
    state[TIMES] = -LONG_AGO
    record = state[:SIZE].view(STATE)[0]
    record["now"] = 1
    record["input"]["placed"] = record["input"]["pushed"] = record["weight"]["pushed"] = 0
    record["input"]["first"] = record["weight"]["first"] = 1
    record["input"]["free"], record["weight"]["free"] = block.ring, block.weight_units
    for name in ("free", "near", "idle", "in_time"):
        record["output"][name] = FIRST_VECTOR
    record["output"]["ended"] = NEVER
    return state


def rebase(state: State) -> Ints:
    """Count times from the present on and forget what is over, so that like states are equal; gives `Counters`."""
    counters, now = state[: len(COUNTERS)].copy(), int(state[0])
    state[: len(COUNTERS)] = 0
    state[TIMES] = np.maximum(state[TIMES] - now, -LONG_AGO)
    head, count = int(state[HEAD]), int(state[COUNT])
    accesses = state[SIZE:].reshape(2, -1)
    waiting = accesses[:, head:count].copy()
    accesses[:] = 0
    accesses[:, : count - head] = waiting
    accesses[0, : count - head] -= now
    state[HEAD], state[COUNT] = 0, count - head
    return counters


def finish(block: Block, state: State) -> int:
    """Cycles from the last operation to the interrupt."""
    return max(int(state[FREE]) + block.scaling, int(state[GRANTED]) - PORT_ISSUE - 1) + END
