"""The events of an HWC in time: boxes of I and W that arrive, operations, vectors of O that come and go.

There is an operation in every cycle, unless it waits for a box, for a place in the output memory, or while that
memory serves the output's stream. The three streams meet only in the operations: a box of I or W is asked for when
the one before has been, as far as its ring has room and the operations are not too many boxes behind; a box of O
leaves when its last operation is done. So all events can be computed in program order, each by a maximum of sums of
earlier ones: when a box is due at the operations, everything that its arrival depends on has happened. Between two
boxes any number of operations takes one step of this computation.

Left out, a cycle or two where they occur: that rows of padding far above a small ring's contents take longer to
place, and that biases may be fetched between the loads of partial sums before their box ends.

The memory grants every request at once and answers in the next cycle. Times are cycles, counted from the one in which
the blocks are started.

All that is compiled stands in one module: numba's cache does not see that another module has changed.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = [
    "OPERATIONS",
    "STALL_I",
    "STALL_O",
    "STALL_W",
    "STARTUP",
    "Block",
    "Nest",
    "State",
    "finish",
    "initial_state",
    "play",
    "rebase",
]

Ints = NDArray[np.int64]
State = NDArray[np.int64]

# --- latencies and depths of the architecture ---

STARTUP = 3
"""Cycles from the start write to the first in which there might be an operation."""
END = 4
"""From where the last outputs are requantised to the interrupt."""
ANSWER = 2
"""From asking for a word to its answer."""
TOKEN = 1
"""From a box's last word of W, written, to the first operation that may use it."""
TOKEN_INPUT = 3
"""The same for I, from where its last word is taken to be written."""
FREED = 2
"""From the last operation on a box, or the announcement of the next one, to room in the ring; after the announcement
of a box of I a cycle more."""
NOTICED = 1
"""From room in I's ring until a word may be asked for because of it."""
OFFERED = 1
"""From where a box of I is placed until it can be announced: meanwhile it waits in registers, one at a time."""
PLACE_INPUT = 8
"""From where a box of I begins to be placed until it is placed."""
PLACE_SAME = 1
"""The same for a box that is the one before."""
PLACE_SKIPPED = 2
"""So many cycles more if there are rows above the first new one."""
PLACE_ROWS = 5
"""From where a box of I begins to be placed until its rows have been counted; its columns must be placed by then, if
some of them stay."""
PLACE_COLUMNS = 6
"""From where a box of I begins to be placed until its columns are, without steps to the first one; with a stride of 1
a cycle less."""
ADVANCE = 1
"""From where a box of W has been announced until the next one begins to be placed."""
LEAVES = 1
"""From where the output's port knows what it asks for until it asks."""
KEEP = 1
"""From where the last bias has come until it can be added."""
CAPTURE = 3
"""From asking the output memory for a vector, or to keep one, to having it or having it kept."""
ROOM = 1
"""From where a vector has left the output memory until its place counts as free, unless it was the box's last one."""
PLACE_ROW = 4
"""For the address of the next vector to load, where it begins a row."""
FIRST_VECTOR = 4
"""From the start until the first vector to drain is known."""
NEXT_BIASES = 1
"""From where a vector has come until the biases that the next one needs can be asked for."""
BOXES_LOADED_AHEAD = 2
"""Boxes of O between the one that is drained and the one that is loaded, at most."""
BYTES = 4
"""Of a word."""

NEVER = 1 << 60
LONG_AGO = 1 << 15
"""Cycles after which an event matters no more: no box takes so long to fetch."""


class Block(NamedTuple):
    """The block, and what it knows of the layer.

    Members
    -------
    marker_i, marker_w, marker_o : the marked loops, counted from the tile's first one; may lie behind the last one.
    stride_y, stride_x, top, left, height, width : of the layer; padding, and the input's extents.
    group : output channels of a group; grouped: there are several.
    slides, same : from one box of I to the next rows stay; all of it stays.
    columns_slide : from one box of I to the next columns stay; 2: also those of few kernel columns.
    element : bytes of an operand's element.
    line, slab, ring : bytes of a row of one channel, of all channels of a box; of I's memory.
    weight_words, weights_stay : words of W's memory; a box of W stays from one iteration of its loop to the next.
    vectors, box_vectors : of O's memory, and of the largest box.
    lane_x, lanes : lanes along x; of all.
    spills : partial sums leave and are loaded again.
    resumes, goes_on : all sums begin with partial sums that are loaded; all end as partial sums.
    """

    marker_i: int
    marker_w: int
    marker_o: int
    stride_y: int
    stride_x: int
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
    line: int
    slab: int
    ring: int
    weight_words: int
    weights_stay: bool
    vectors: int
    box_vectors: int
    lane_x: int
    lanes: int
    spills: bool
    resumes: bool
    goes_on: bool


class Nest(NamedTuple):
    """The loops of a tile; dimensions are numbered m, c, y, x, k, l.

    Members
    -------
    loops : [loop, 3]: dimension, step, the next outer loop over the same dimension or -1.
    sources : [3, dimension]: the loop that gives a dimension's range in a box of I, W, O; -1: the tile itself.
    index_steps : how far each loop moves in the vectors of a box of O.
    size_steps : cycles until the size of W's box is known when a loop has turned; the last one: when the tile begins.
    extents : of the layer.
    """

    loops: Ints
    sources: Ints
    index_steps: Ints
    size_steps: Ints
    extents: Ints


# --- the state: counters, then times, then amounts, then the accesses of the output's stream that are to come ---

NOW, STALL_I, STALL_W, STALL_O, OPERATIONS = range(5)
COUNTERS = 5
(
    I_PLACED,  # the last box
    I_ANNOUNCED,
    I_ASKED,  # its last word
    I_WRITTEN,  # the last word and the two before
    I_WRITTEN_1,
    I_WRITTEN_2,
    I_BEGUN,  # first operation on the last box and on the one before
    I_BEGUN_1,
    I_RELEASED,  # last operation on the last box
    I_DROP_AT,  # when what the last box did not keep becomes free
    W_ANNOUNCED,
    W_ASKED,
    W_WRITTEN,
    W_BEGUN,
    W_BEGUN_1,
    W_RELEASED,
    W_DROP_AT,
    O_FREE,  # the port has nothing to do any more
    O_NEAR,  # ... soon: a vector may be asked for
    O_IDLE,  # the last vector asked for has come
    O_DRAINED,  # the last box has left
) = range(COUNTERS, COUNTERS + 21)
TIMES = COUNTERS + 21
(
    I_FREE,  # bytes of the ring
    I_LIVE,  # slabs of the last box
    I_DROP,  # bytes that it did not keep
    I_NEXT_NEW,  # first row behind it, or, where columns slide, the first column
    I_GROUP,
    I_FIRST,  # there is no last box
    W_FREE,
    W_LIVE,
    W_DROP,
    W_FIRST,
    O_HEAD,  # accesses to come: the first one, and how many with those before it
    O_COUNT,
    O_ENDED,  # in play: the cycle after the last operation on a box that has ended
) = range(TIMES, TIMES + 13)
QUEUE = TIMES + 13

# --- the walk of the loads: the next vector to load, and the boxes from its box to the one to be drained next ---

L_VALID, L_RESUMES, L_AHEAD, L_VECTOR, L_VECTORS, L_AT, L_MOVED, L_LOADED, L_TAKEN = range(9)
L_TIMES = 9  # when the last boxes were loaded, the latest first
L_BOXES = L_TIMES + BOXES_LOADED_AHEAD + 2  # m, y and x at which the last boxes begin, the present one first
L_LOOPS = L_BOXES + 3 * (BOXES_LOADED_AHEAD + 2)  # for each loop around a box: begin, end, low, high


# --- weights ---


@njit(cache=True, error_model="numpy")
def _weight_box(s, block, size_steps, fetches, words):  # type: ignore[no-untyped-def]
    """The first cycle for an operation on the next box of W."""
    offered = s[W_ANNOUNCED] + 1 + size_steps + (0 if s[W_FIRST] else ADVANCE)
    announced = max(offered, s[W_ASKED] if fetches else s[W_ASKED] + 1, s[W_BEGUN_1] + 1)
    drop = s[W_LIVE] if fetches and not s[W_FIRST] else 0
    drop_at = max(s[W_RELEASED], announced) + FREED
    asked, free, earlier = announced, s[W_FREE], s[W_DROP]
    if fetches:
        left = words
        for step in range(3):
            number = min(left, free)
            asked += number
            left -= number
            free -= number
            if left and step == 0 and earlier:
                free += earlier
                earlier = 0
                asked = max(asked, s[W_DROP_AT] - 1)
            elif left and drop:
                free += drop
                drop = 0
                asked = max(asked, drop_at - 1)
        s[W_LIVE] = words
        s[W_WRITTEN] = asked + ANSWER
    else:
        s[W_WRITTEN] = max(announced, s[W_WRITTEN]) + 1
    s[W_FREE] = free + earlier
    s[W_DROP], s[W_DROP_AT] = drop, drop_at
    s[W_ANNOUNCED], s[W_ASKED], s[W_FIRST] = announced, asked, 0
    return s[W_WRITTEN] + TOKEN


# --- input ---


@njit(cache=True, error_model="numpy")
def _rows_between(block, low, high, first, end):  # type: ignore[no-untyped-def]
    """Rows of a box from ``first`` to before ``end``; rows count from the padding's edge."""
    stride, y0, y1, k0, k1 = block.stride_y, low[2], high[2], low[4], high[4]
    if k1 - k0 >= stride or y1 - y0 == 1:
        return max(min((y1 - 1) * stride + k1, end) - max(y0 * stride + k0, first), 0)
    number = 0
    for y in range(y0, y1):
        number += max(min(y * stride + k1, end) - max(y * stride + k0, first), 0)
    return number


@njit(cache=True, error_model="numpy")
def _input_box(s, block, low, high, same_execution, group_seeks):  # type: ignore[no-untyped-def]
    """The first cycle for an operation on the next box of I; each step to another group takes a cycle."""
    stride, taps = block.stride_x, high[5] - low[5]
    begin = s[I_PLACED] + 1 + group_seeks
    stays = same_execution and group_seeks == 0
    rows = drop = 0
    corner = low[3] * stride + low[5] - block.left
    first = max(corner, 0)
    last = min((high[3] - 1) * stride + high[5] - 1 - block.left, block.width - 1)
    slid = block.columns_slide > 0 and stays and s[I_LIVE] > 0 and (taps > stride or block.columns_slide == 2)
    if slid:
        first = max(first, s[I_NEXT_NEW])
    gaps = taps < stride and high[3] - low[3] > 1 and not slid
    if block.same and stays:
        offered = begin + PLACE_SAME
    else:
        top, bottom = block.top, block.top + block.height
        next_new = max(s[I_NEXT_NEW], top) if block.slides and stays else top
        skipped = _rows_between(block, low, high, 0, next_new)
        kept = _rows_between(block, low, high, top, next_new)
        rows = _rows_between(block, low, high, next_new, bottom)
        if last < first:
            kept = rows = 0
        # Rows with gaps are counted one output row after the other.
        counted = begin + PLACE_ROWS + (high[2] - low[2] - 1 if high[4] - low[4] < block.stride_y else 0)
        placed = begin + PLACE_COLUMNS - (stride == 1)
        if stride > 1:
            clip = max(-corner, 0)
            aligned = gaps or block.columns_slide > 0
            phase = ((first - corner) % stride if aligned else 0) - first % (BYTES // block.element)
            placed += clip // stride + (-(phase // stride) if phase < 0 else 0)
        if slid:
            counted = max(counted, placed)
        else:
            drop = 0 if s[I_FIRST] else (s[I_LIVE] - kept) * block.slab
            s[I_LIVE] = kept + rows
        offered = max(counted + PLACE_INPUT - PLACE_ROWS + (PLACE_SKIPPED if skipped > 0 else 0), placed)
        s[I_NEXT_NEW] = last + 1 if block.columns_slide else min((high[2] - 1) * block.stride_y + high[4], bottom)
    # A box with nothing new has to be told apart among the words on their way, of which there may be three.
    placed = s[I_PLACED] = max(offered, s[I_ANNOUNCED] + 1)
    announced = max(placed + OFFERED, s[I_ASKED] if rows else max(s[I_ASKED], s[I_WRITTEN_2]) + 1, s[I_BEGUN_1] + 1)
    drop_at = max(s[I_RELEASED], announced + 1) + FREED + NOTICED
    s[I_ANNOUNCED], s[I_FIRST] = announced, 0
    # New columns take the places of others, which nobody may need any more.
    announced = max(announced, drop_at - NOTICED - 1) if slid and rows else announced
    if not rows:
        s[I_FREE] += s[I_DROP]
        s[I_ASKED] = announced
        s[I_WRITTEN_2], s[I_WRITTEN_1] = s[I_WRITTEN_1], s[I_WRITTEN]
        s[I_WRITTEN] = max(announced, s[I_WRITTEN]) + 1
    elif stride == 1:
        begins = first * block.element
        words = ((last + 1) * block.element - 1) // BYTES - begins // BYTES + 1
        drop = _fetch(s, block, announced, rows, high[1] - low[1], words, begins % BYTES, drop, drop_at, slid)
    else:
        cycles = _write_cycles(first, last, BYTES // block.element, corner, stride, taps if gaps else stride)
        drop = _fetch_phases(s, block, announced, rows, high[1] - low[1], cycles, drop, drop_at, slid)
    s[I_DROP], s[I_DROP_AT] = drop, drop_at
    return s[I_WRITTEN] + TOKEN_INPUT


@njit(cache=True, error_model="numpy")
def _fetch(s, block, announced, rows, channels, words, offset, drop, drop_at, slid):  # type: ignore[no-untyped-def]
    """Row by row, a word a cycle where there is room; gives what of ``drop`` has not been made use of.

    There is room for a word when there is for the bytes of its slab up to it, for the last one when there is for the
    whole slab; always where the box has ``slid``. ``offset`` is where in its first word a line begins.
    """
    line, slab = block.line, block.slab
    asked, free, earlier = announced, s[I_FREE], s[I_DROP]
    left = rows
    if slid:
        asked += rows * channels * words
        left = 0
    while left:
        whole = min(left, free // slab)
        asked += whole * channels * words
        free -= whole * slab
        left -= whole
        if left:
            done = 0
            while free < slab:
                lines = min(free // line, channels)
                fit = lines * words
                if lines < channels:
                    fit += max(0, min(words - 1, (free - lines * line + offset) // BYTES))
                fit = min(fit, channels * words - 1)
                asked += max(fit - done, 0)
                done = max(fit, done)
                if earlier:
                    free += earlier
                    earlier = 0
                    asked = max(asked, s[I_DROP_AT] - 1)
                elif drop:
                    free += drop
                    drop = 0
                    asked = max(asked, drop_at - 1)
                else:
                    free = slab  # the box is too large: the hardware would refuse it
            asked += channels * words - done
            free -= slab
            left -= 1
    s[I_FREE], s[I_ASKED] = free + earlier, asked
    s[I_WRITTEN_2], s[I_WRITTEN_1], s[I_WRITTEN] = asked + ANSWER - 2, asked + ANSWER - 1, asked + ANSWER
    return drop


@njit(cache=True, error_model="numpy")
def _write_cycles(first, last, in_word, corner, stride, used):  # type: ignore[no-untyped-def]
    """Cycles for writing each word of a line to the ring: one for each phase of its used columns."""
    begin = first // in_word
    cycles = np.zeros(last // in_word - begin + 1, np.int64)
    for word in range(len(cycles)):
        phases = 0
        at = in_word * (begin + word)
        for column in range(max(first, at), min(last, at + in_word - 1) + 1):
            if (column - corner) % stride < used:
                phases |= 1 << column % stride
        while phases:
            cycles[word] += phases & 1
            phases >>= 1
    return cycles


@njit(cache=True, error_model="numpy")
def _fetch_phases(s, block, announced, rows, channels, cycles, drop, drop_at, slid):  # type: ignore[no-untyped-def]
    """The same with strides. A word waits until the last but two is written, and until there is room for its line."""
    asked, free, earlier = announced, s[I_FREE], s[I_DROP]
    written, before, oldest = s[I_WRITTEN], s[I_WRITTEN_1], s[I_WRITTEN_2]
    for row in range(rows):
        for channel in range(channels):
            for word in range(len(cycles)):
                last = channel == channels - 1 and word == len(cycles) - 1
                need = 0 if slid else block.slab if last else block.line * (channel + 1)
                if free < need and earlier:
                    free += earlier
                    earlier = 0
                    asked = max(asked, s[I_DROP_AT] - 1)
                if free < need and drop:
                    free += drop
                    drop = 0
                    asked = max(asked, drop_at - 1)
                asked = max(asked, oldest) + 1
                if cycles[word]:
                    oldest, before = before, written
                    written = max(asked + ANSWER, written + 1) + cycles[word] - 1
                elif last and row == rows - 1:
                    oldest, before, written = before, written, max(asked, written) + 1
        free -= 0 if slid else block.slab
    s[I_FREE], s[I_ASKED] = free + earlier, asked
    s[I_WRITTEN], s[I_WRITTEN_1], s[I_WRITTEN_2] = written, before, oldest
    return drop


# --- output ---


@njit(cache=True, error_model="numpy")
def _cut(block, nest, low, high, pieces):  # type: ignore[no-untyped-def]
    """What the loops inside a box of O cut its channels, rows and columns into.

    Three rows of ``pieces`` for each: beginnings, sizes, how far they lie in the vectors of the box. The last row has
    the three numbers of pieces.
    """
    for axis in range(3):
        dim, row, number = axis + (axis > 0), 3 * axis, 1
        pieces[row, 0], pieces[row + 1, 0], pieces[row + 2, 0] = low[dim], high[dim] - low[dim], 0
        for j in range(block.marker_o, len(nest.loops)):
            if nest.loops[j, 0] == dim:
                step = nest.loops[j, 1]
                at = 0
                for i in range(number):
                    at += -(-pieces[row + 1, i] // step)
                total = at
                for i in range(number - 1, -1, -1):
                    begin, size, index = pieces[row, i], pieces[row + 1, i], pieces[row + 2, i]
                    for piece in range(-(-size // step) - 1, -1, -1):
                        at -= 1
                        pieces[row, at] = begin + piece * step
                        pieces[row + 1, at] = min(step, size - piece * step)
                        pieces[row + 2, at] = index + piece * nest.index_steps[j]
                number = total
        pieces[9, axis] = number


@njit(cache=True, error_model="numpy")
def _vector(pieces, vector):  # type: ignore[no-untyped-def]
    """A vector of a box: the numbers of its pieces of channels, rows, columns; and how far it lies in the box."""
    rows, columns = pieces[9, 1], pieces[9, 2]
    m, y, x = vector // (rows * columns), vector // columns % rows, vector % columns
    return m, y, x, pieces[2, m] + pieces[5, y] + pieces[8, x]


@njit(cache=True, error_model="numpy")
def _store_cycles(block, lines, begin, columns, ends_row, final):  # type: ignore[no-untyped-def]
    """Cycles for storing a vector of so many rows of lanes: one for a sum or a wide output, or up to four outputs.

    Outputs that do not fill a word wait for those of the next vector, unless the row ends. Rows of less than a word
    that fill none go to where they wait a word's width at a time.
    """
    if not final or block.element > 1:
        return lines * columns
    offset = begin % BYTES
    steps = -(-columns // BYTES)
    if ends_row:
        return lines * max(steps, -(-(offset + columns) // BYTES))
    if block.lane_x < BYTES and offset + columns < BYTES:
        return block.lanes // BYTES
    return lines * steps


@njit(cache=True, error_model="numpy")
def _next_box(block, nest, walk, pieces):  # type: ignore[no-untyped-def]
    """The walk of the loads goes on to the next box, or to the first one."""
    turned = -1
    if walk[L_VALID]:
        turned = block.marker_o - 1
        while turned >= 0 and walk[L_LOOPS + 4 * turned + 3] == walk[L_LOOPS + 4 * turned + 1]:
            turned -= 1
        if turned < 0:
            walk[L_VALID] = 0
            return
        at = L_LOOPS + 4 * turned
        walk[at + 2] = walk[at + 3]
        walk[at + 3] = min(walk[at + 2] + nest.loops[turned, 1], walk[at + 1])
    walk[L_VALID] = 1
    low, high = np.zeros(6, np.int64), nest.extents.copy()
    for j in range(block.marker_o):
        at, dim = L_LOOPS + 4 * j, nest.loops[j, 0]
        if j > turned:
            walk[at], walk[at + 1], walk[at + 2] = low[dim], high[dim], low[dim]
            walk[at + 3] = min(low[dim] + nest.loops[j, 1], high[dim])
        low[dim], high[dim] = walk[at + 2], walk[at + 3]
    walk[L_RESUMES] = block.resumes or low[1] > 0 or low[4] > 0 or low[5] > 0
    for i in range(L_LOOPS - 1, L_BOXES + 2, -1):
        walk[i] = walk[i - 3]
    walk[L_BOXES], walk[L_BOXES + 1], walk[L_BOXES + 2] = low[0], low[2], low[3]
    walk[L_VECTOR] = 0
    _cut(block, nest, low, high, pieces)
    walk[L_VECTORS] = pieces[9, 0] * pieces[9, 1] * pieces[9, 2]


@njit(cache=True, error_model="numpy")
def _go_back(s, block, nest, walk, pieces, saved):  # type: ignore[no-untyped-def]
    """The walk of the loads, and the port, as they were when the last box had left."""
    taken, size = walk[L_TAKEN], len(walk)
    walk[:] = saved[:size]
    walk[L_TAKEN] = taken
    s[O_FREE], s[O_NEAR], s[O_IDLE] = saved[size], saved[size + 1], saved[size + 2]
    low, high = np.zeros(6, np.int64), nest.extents.copy()
    for j in range(block.marker_o):
        at, dim = L_LOOPS + 4 * j, nest.loops[j, 0]
        low[dim], high[dim] = walk[at + 2], walk[at + 3]
    _cut(block, nest, low, high, pieces)


@njit(cache=True, error_model="numpy")
def _same_box(walk, other):  # type: ignore[no-untyped-def]
    """Whether the box at hand has the place of one before it."""
    at = L_BOXES + 3 * other
    return walk[L_BOXES] == walk[at] and walk[L_BOXES + 1] == walk[at + 1] and walk[L_BOXES + 2] == walk[at + 2]


@njit(cache=True, error_model="numpy")
def _load_wanted(block, nest, walk, pieces, unloaded):  # type: ignore[no-untyped-def]
    """From when on the next vector may be loaded: there is room, and its sums have been written. Boxes that begin
    their reduction are passed over, a vector a cycle."""
    while walk[L_VALID] and not walk[L_RESUMES] and walk[L_AHEAD] <= BOXES_LOADED_AHEAD:
        walk[L_AT] = max(walk[L_AT], walk[L_MOVED]) + walk[L_VECTORS]
        walk[L_AHEAD] += 1
        _next_box(block, nest, walk, pieces)
    ahead = walk[L_AHEAD]
    if not walk[L_VALID] or ahead > BOXES_LOADED_AHEAD:
        return NEVER
    if _vector(pieces, walk[L_VECTOR])[3] + ahead * block.box_vectors >= block.vectors + unloaded:
        return NEVER
    for other in range(1, ahead + 1):
        if _same_box(walk, other):
            return NEVER
    return max(walk[L_AT], walk[L_MOVED])


@njit(cache=True, error_model="numpy")
def _load(s, block, nest, walk, pieces, start):  # type: ignore[no-untyped-def]
    """Load a vector; gives when the access is that keeps it: it is asked for with the last word."""
    m, y, x, _ = _vector(pieces, walk[L_VECTOR])
    keeps = start + pieces[1, m] * pieces[4, y] * pieces[7, x] + LEAVES
    s[O_FREE], s[O_NEAR] = keeps + CAPTURE, keeps + 1
    walk[L_VECTOR] += 1
    walk[L_AT] = start + 1 + (PLACE_ROW if x + 1 == pieces[9, 2] else 0)
    if walk[L_VECTOR] == walk[L_VECTORS]:
        for i in range(L_BOXES - 1, L_TIMES, -1):
            walk[i] = walk[i - 1]
        walk[L_TIMES] = s[O_FREE] + 1
        walk[L_LOADED] += 1
        walk[L_AHEAD] += 1
        _next_box(block, nest, walk, pieces)
    return keeps


@njit(cache=True, error_model="numpy")
def _serve(s, block, nest, low, high, final, pieces, walk, to_load, saved, times, indices):  # type: ignore[no-untyped-def]
    """The output's stream, until it has nothing to do: a box that has ended leaves, partial sums come in.

    Where both could be, loads go first. What is loaded while no box has ended is gone through once more when one has:
    from then on its vectors may leave in between.
    """
    head, count = s[O_HEAD], s[O_COUNT]
    for i in range(head, count):
        times[i - head], indices[i - head] = times[i], indices[i]
    count -= head
    vector = vectors = 0
    if s[O_ENDED] < NEVER:
        _cut(block, nest, low, high, pieces)
        vectors = pieces[9, 0] * pieces[9, 1] * pieces[9, 2]
        if block.spills:
            _go_back(s, block, nest, walk, to_load, saved)
            count = 0
    unloaded, has_biases, has_saved = 0, False, False
    while True:
        if block.spills and vector == vectors and not has_saved:
            size = len(walk)
            saved[:size] = walk
            saved[size], saved[size + 1], saved[size + 2] = s[O_FREE], s[O_NEAR], s[O_IDLE]
            has_saved = True
        wanted = at = NEVER
        if block.spills:
            wanted = _load_wanted(block, nest, walk, to_load, unloaded)
        if vector < vectors:
            has_biases = has_biases or not final
            at = max(s[O_ENDED], s[O_NEAR], s[O_IDLE]) if has_biases else max(s[O_FREE], s[O_IDLE] + NEXT_BIASES)
        if wanted == NEVER and at == NEVER:
            break
        # That a vector is asked for is settled a cycle before.
        if wanted <= at - has_biases:
            start = max(s[O_FREE], wanted, s[O_IDLE])
            times[count], indices[count] = _load(s, block, nest, walk, to_load, start), -1
            count += 1
            continue
        m, y, x, index = _vector(pieces, vector)
        if not has_biases:
            channels = pieces[1, m]
            s[O_FREE], s[O_NEAR] = at + channels + LEAVES + ANSWER + KEEP, at + channels + LEAVES
            has_biases = True
            continue
        # Captured, and stored from the next cycle on; the next one may be asked for so that it comes then.
        times[count], indices[count] = at, index
        count += 1
        columns, ends_row = pieces[7, x], x + 1 == pieces[9, 2]
        stored = _store_cycles(block, pieces[1, m] * pieces[4, y], pieces[6, x], columns, ends_row, final)
        s[O_IDLE] = at + CAPTURE + 1
        s[O_FREE], s[O_NEAR] = at + CAPTURE + stored, max(s[O_IDLE], at + stored)
        if wanted == NEVER:  # what is loaded next had waited for this one
            walk[L_MOVED] = s[O_IDLE]
        unloaded = index + 1
        vector += 1
        has_biases = not (ends_row and y + 1 == pieces[9, 1])
        if vector == vectors:
            unloaded = 0
            walk[L_AHEAD] -= 1
            s[O_DRAINED] = s[O_IDLE]
    s[O_HEAD], s[O_COUNT], s[O_ENDED] = 0, count, NEVER


# --- operations ---


@njit(cache=True, error_model="numpy")
def _issue(s, times, at, number):  # type: ignore[no-untyped-def]
    """So many operations from a cycle on, none in a cycle of an access: the cycles of the first and of the last."""
    head, count = s[O_HEAD], s[O_COUNT]
    while head < count and times[head] < at:
        head += 1
    while head < count and times[head] == at:
        at += 1
        head += 1
    last = at + number - 1
    while head < count and times[head] <= last:
        last += 1
        head += 1
    s[O_HEAD] = head
    return at, last


@njit(cache=True, error_model="numpy")
def _operations(nest, segment, begin, end, sizes, often):  # type: ignore[no-untyped-def]
    """Innermost iterations of the loops from ``segment`` on: for each dimension, how often which extents occur."""
    total = 1
    for dim in range(6):
        count = 0
        for j in range(segment, len(nest.loops)):
            if nest.loops[j, 0] == dim:
                if count == 0:
                    sizes[0], often[0], count = end[j] - begin[j], 1, 1
                step = nest.loops[j, 1]
                for i in range(count):
                    whole, rest = sizes[i] // step, sizes[i] % step
                    if rest:
                        sizes[count], often[count] = rest, often[i]
                        count += 1
                    sizes[i], often[i] = step, often[i] * whole
        if count:
            number = 0
            for i in range(count):
                number += often[i]
            total *= number
    return total


@njit(cache=True, error_model="numpy")
def _place_free(s, block, nest, lo, begin, times, indices):  # type: ignore[no-untyped-def]
    """From when on the place of the operation's vector is free, if this is its first touch."""
    index = 0
    for j in range(block.marker_o, len(nest.loops)):
        dim = nest.loops[j, 0]
        if dim == 1 or dim >= 4:
            if lo[j] != begin[j]:
                return 0
        else:
            index += (lo[j] - begin[j]) // nest.loops[j, 1] * nest.index_steps[j]
    index -= block.vectors - block.box_vectors
    if index >= 0:
        for i in range(s[O_COUNT]):
            if indices[i] >= index:
                return min(times[i] + CAPTURE + 1 + ROOM, s[O_DRAINED])
    return 0


@njit(cache=True, error_model="numpy")
def _box(nest, operand, lo, hi, tile_low, tile_high, low, high):  # type: ignore[no-untyped-def]
    """The ranges of the present box of an operand."""
    for dim in range(6):
        j = nest.sources[operand, dim]
        low[dim] = tile_low[dim] if j < 0 else lo[j]
        high[dim] = tile_high[dim] if j < 0 else hi[j]


@njit(cache=True, error_model="numpy")
def play(block, nest, tile_low, tile_high, s):  # type: ignore[no-untyped-def]
    """One tile, operation by operation or, where nothing can come between them, many at a time.

    ``s`` is the state before it, and then the state after it.
    """
    loops, n = nest.loops, len(nest.loops)
    lo, hi, begin, end = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    low, high, o_low, o_high = (
        np.empty(6, np.int64),
        np.empty(6, np.int64),
        np.empty(6, np.int64),
        np.empty(6, np.int64),
    )
    sizes, often = np.empty(1 << n, np.int64), np.empty(1 << n, np.int64)
    capacity = (len(s) - QUEUE) // 2
    times, indices = s[QUEUE : QUEUE + capacity], s[QUEUE + capacity :]
    pieces, to_load = np.empty((10, capacity + 3), np.int64), np.empty((10, capacity + 3), np.int64)
    walk, saved = np.zeros(L_LOOPS + 4 * n, np.int64), np.zeros(L_LOOPS + 4 * n + 3, np.int64)
    segment = min(n, max(block.marker_i + 1, block.marker_w + 1, block.marker_o))
    resumes = final = one_by_one = False
    if block.spills:
        walk[L_AT] = 1 + PLACE_ROW
        _next_box(block, nest, walk, to_load)
        _serve(s, block, nest, low, high, s[NOW] < 0, pieces, walk, to_load, saved, times, indices)
    turned = -1
    while True:
        for j in range(turned + 1, n):
            parent, dim = loops[j, 2], loops[j, 0]
            begin[j] = tile_low[dim] if parent < 0 else lo[parent]
            end[j] = tile_high[dim] if parent < 0 else hi[parent]
            lo[j], hi[j] = begin[j], min(begin[j] + loops[j, 1], end[j])
        new_i, new_w, new_o = turned <= block.marker_i, turned <= block.marker_w, turned < block.marker_o
        now = s[NOW]
        if new_i:
            _box(nest, 0, lo, hi, tile_low, tile_high, low, high)
            seeks = 0
            if block.grouped:
                seeks = abs(low[0] // block.group - s[I_GROUP])
                s[I_GROUP] = low[0] // block.group
            arrived = _input_box(s, block, low, high, turned >= 0 and turned == block.marker_i, seeks)
            s[STALL_I] += max(arrived - now, 0)
            now = max(arrived, now)
        if new_w:
            _box(nest, 1, lo, hi, tile_low, tile_high, low, high)
            size = (high[0] - low[0]) * (high[1] - low[1]) * (high[4] - low[4]) * (high[5] - low[5])
            fetches = not block.weights_stay or turned < 0 or turned != block.marker_w
            words = -(-size * block.element // BYTES)
            arrived = _weight_box(s, block, nest.size_steps[turned], fetches, words)
            s[STALL_W] += max(arrived - now, 0)
            now = max(arrived, now)
        at = now
        if new_o:
            _box(nest, 2, lo, hi, tile_low, tile_high, o_low, o_high)
            resumes = block.resumes or o_low[1] > 0 or o_low[4] > 0 or o_low[5] > 0
            final = o_high[1] == nest.extents[1] and o_high[4] == nest.extents[4] and o_high[5] == nest.extents[5]
            final = final and not block.goes_on
            if resumes:
                walk[L_TAKEN] += 1
                at = max(at, walk[L_TIMES + walk[L_LOADED] - walk[L_TAKEN]])
        if turned < segment:
            one_by_one = not resumes and now < s[O_DRAINED]
            for j in range(block.marker_o, segment):
                if (loops[j, 0] == 1 or loops[j, 0] >= 4) and lo[j] != begin[j]:
                    one_by_one = False
        number = 1
        if one_by_one:
            at = max(at, _place_free(s, block, nest, lo, begin, times, indices))
        else:
            number = _operations(nest, segment, begin, end, sizes, often)
        following = (n if one_by_one else segment) - 1
        while following >= 0 and hi[following] == end[following]:
            following -= 1
        ends_o = following < block.marker_o
        if not ends_o:
            first, last = _issue(s, times, at, number)
        elif number == 1:
            first, last = _issue(s, times, max(at, s[O_DRAINED]), number)
        else:
            first, last = _issue(s, times, at, number - 1)
            last = _issue(s, times, max(last + 1, s[O_DRAINED]), number // number)[1]
        s[STALL_O] += last + 1 - number - now
        s[OPERATIONS] += number
        s[NOW] = last + 1
        if new_i:
            s[I_BEGUN_1], s[I_BEGUN] = s[I_BEGUN], first
        if new_w:
            s[W_BEGUN_1], s[W_BEGUN] = s[W_BEGUN], first
        if following <= block.marker_i:
            s[I_RELEASED] = last
        if following <= block.marker_w:
            s[W_RELEASED] = last
        if ends_o:
            s[O_ENDED] = last + 1
            _serve(s, block, nest, o_low, o_high, final, pieces, walk, to_load, saved, times, indices)
        if following < 0:
            return
        turned = following
        lo[turned] = hi[turned]
        hi[turned] = min(lo[turned] + loops[turned, 1], end[turned])


def initial_state(block: Block) -> State:
    """The state before the first tile."""
    accesses = block.box_vectors * (2 * (BOXES_LOADED_AHEAD + 2) if block.spills else 1)
    state = np.zeros(QUEUE + 2 * accesses, np.int64)
    state[COUNTERS:TIMES] = -LONG_AGO
    state[NOW] = 1
    state[[I_PLACED, I_ANNOUNCED, W_ANNOUNCED]] = 0
    state[[O_FREE, O_NEAR, O_IDLE]] = FIRST_VECTOR
    state[[I_FIRST, W_FIRST]] = 1
    state[O_ENDED] = NEVER
    state[I_FREE], state[W_FREE] = block.ring, block.weight_words
    return state


def rebase(state: State) -> Ints:
    """Count times from the present on and forget what is over, so that like states are equal; gives the counters."""
    counters, now = state[:COUNTERS].copy(), int(state[NOW])
    state[:COUNTERS] = 0
    state[COUNTERS:TIMES] = np.maximum(state[COUNTERS:TIMES] - now, -LONG_AGO)
    head, count = int(state[O_HEAD]), int(state[O_COUNT])
    accesses = state[QUEUE:].reshape(2, -1)
    waiting = accesses[:, head:count].copy()
    accesses[:] = 0
    accesses[:, : count - head] = waiting
    accesses[0, : count - head] -= now
    state[O_HEAD], state[O_COUNT] = 0, count - head
    return counters


def finish(state: State) -> int:
    """Cycles from the last operation to the interrupt."""
    return int(state[O_FREE]) + END
