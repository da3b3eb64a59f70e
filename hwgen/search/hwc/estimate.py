"""An estimate of the cycles that a schedule takes on an HWC, quick enough to search with.

It adds up tiles; tiles of equal shape are taken together. What it models:

- An innermost iteration takes one cycle.
- A tile of I or W takes one cycle per word to fetch, one more, and `INPUT_PLACING` or `WEIGHT_PLACING` cycles to
  place. This overlaps with the use of the tile before, as far as the memory has room beyond one tile; the part
  without room is fetched while nothing computes.
- A word of a strided row takes as many cycles to write as the number of its columns that are stored separately.
- A vector of O is drained in as many cycles as its tile has words for each vector, at least one for each row of
  lanes, and takes one cycle from the datapath unless that stalls. The next tile may touch a vector for the first time
  after the vectors whose place in the memory it takes are drained.

What it neglects: the first tile and the last drain of a layer; prefetch by more than one tile, which would balance
large and small tiles; stalls for I, W and O at the same time (they are added up); spills of partial sums; biases; the
wait for a granted access.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.latency import (
    CAPTURE,
    INPUT_NOTICED,
    INPUT_PLACE,
    INPUT_TOKEN,
    NEXT_BIASES,
    OUTPUT_ROOM,
    REQUEST_TO_ANSWER,
    WEIGHT_ADVANCE,
)
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.compiled import njit
from hwgen.search.core.axes import INNER, KERNEL, PAIR_STATES, TILE, mark_tile, place_of
from hwgen.search.core.orders import INPUT_STATES, OUTPUT_STATES, WEIGHT_STATES, Orders
from hwgen.search.core.space import Target

__all__ = ["Shapes", "Waiting", "estimate", "shapes_of", "waiting_of", "weight_words"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
INPUT_PLACING, WEIGHT_PLACING = INPUT_PLACE, WEIGHT_ADVANCE + 2
"""Cycles to place a tile; one of W begins a cycle after the push of the one before, and has one step of sizes."""
LATENCY = INPUT_NOTICED + REQUEST_TO_ANSWER + INPUT_TOKEN
"""Cycles from room for a word to the first use of its tile."""
DRAIN_LATENCY = CAPTURE + 1 + OUTPUT_ROOM
"""Cycles from the last operation on a tile of O until the place of its first vector counts as free."""
LEAST_DRAIN = CAPTURE + NEXT_BIASES
"""Cycles from one vector that is drained to the next one, at least."""
KINDS = 12
"""Most kinds of tiles along one axis."""


class Shapes(NamedTuple):
    """Kinds of tiles along each axis, [step, kind, figure], for one layer and order.

    Figures of the image axes: number of tiles, new rows (or words of a row), iterations inside, elements. Figures of
    the other axes: number of tiles, size, iterations, aligned words.
    """

    rows: Floats
    columns: Floats
    i_m: Floats
    i_c: Floats
    w_m: Floats
    w_c: Floats
    w_y: Floats
    w_x: Floats
    o_m: Floats
    o_y: Floats
    o_x: Floats


class Waiting(NamedTuple):
    """Constants of one layer on one shape of lanes in one order that decide how long tiles wait.

    Members
    -------
    inner : [m y x, m y x c-tile c k l], whether the loop (below O's marker) is inside the vector loop.
    k_size, l_size, c_size : extents of k, l and c.
    c_lanes : lanes along c.
    weight_tile : kernel elements of a tile of W.
    line_pitch, line_bytes : of weights in lines (`hwgen.arch.weights`), from one channel lane to the next and
        of a whole line in the memory; 0 where they are packed densely.
    weight_word : bytes that an access of the weights' port moves.
    fill_cycles : cycles to write a word.
    drain : rows of lanes of a vector: each of them takes a cycle for each word along the row, at least one.
    copies : copies of the input.
    vector_bytes : bytes of a vector of partial sums.
    """

    inner: Ints
    k_size: float
    l_size: float
    c_size: float
    c_lanes: float
    weight_tile: float
    line_pitch: float
    line_bytes: float
    weight_word: float
    fill_cycles: float
    drain: float
    copies: float
    vector_bytes: float


def waiting_of(layer: Layer, target: Target, orders: Orders) -> Waiting:
    """The constants for an order (the only one of ``orders``) that holds O's tile during the whole reduction."""
    row = orders.loops[0].tolist()
    place = orders.places(0)[2]
    vector_loops = [row.index(4), row.index(6), row.index(7)]
    inside = [4, 6, 7, 1, 5, 8, 9]
    inner = np.array(
        [[at >= place and row.index(loop) > at for loop in inside] for at in vector_loops], dtype=np.int64
    )
    states = np.unravel_index(orders.numbers[1], WEIGHT_STATES)
    rows, columns = layer.weight_kernel
    weight_tile = (1 if states[2][0] else rows) * (1 if states[3][0] else columns)
    return Waiting(
        inner,
        float(rows),
        float(columns),
        float(layer.channels_per_group),
        float(target.lanes.c),
        float(weight_tile),
        0.0 if target.lines is None else float(target.lines.pitch),
        0.0 if target.lines is None else float(target.lines.stored),
        float(target.ports.weight_bytes),
        1.0 if layer.form.column_window else float(min(layer.stride[1], 4)),
        float(target.lanes.m * target.lanes.y),
        float(target.lanes.y),
        float(target.units[2]),
    )


def shapes_of(layer: Layer, bits: Bits, target: Target, orders: Orders) -> Shapes:
    """Kinds of tiles for every step of the tile loops, in the only one of ``orders``."""
    numbers = orders.numbers
    i = [int(state[0]) for state in np.unravel_index(numbers[0], INPUT_STATES)]
    w = [int(state[0]) for state in np.unravel_index(numbers[1], WEIGHT_STATES)]
    o = [int(state[0]) for state in np.unravel_index(numbers[2], OUTPUT_STATES)]
    e, lanes = layer.extents, target.lanes
    width, word = bits.I // 8, target.ports.input_bytes
    along = {
        "rows": (e["y"], e["k"], layer.stride[0], layer.padding[0], layer.input_height, width, lanes.y, i[2], False),
        "columns": (
            e["x"], e["l"] + layer.columns_beside, layer.stride[1], layer.padding[1], layer.input_width, width,
            lanes.x, i[3], True,
        ),
    }  # fmt: skip
    windows = []
    for extent, kernel, stride, padding, size, bytes_, across, state, words in along.values():
        table = np.zeros((extent + 1, KINDS, 4))
        mask, slide = PAIR_STATES[state]
        passes = words and layer.form.column_window
        _fill_tiles(mask, slide, extent, kernel, stride, padding, size, bytes_, word, across, words, passes, table)
        windows.append(table)
    cut = (0, 1, 0, 2, 1)[i[0]]  # a marked loop over m keeps the input, whatever the channel
    return Shapes(
        windows[0],
        windows[1],
        _cut(e["m"], lanes.m, cut),
        _cut(e["c"], lanes.c, i[1]),
        _cut(e["m"], lanes.m, w[0]),
        _cut(e["c"], lanes.c, w[1]),
        _cut(e["y"], lanes.y, w[4]),
        _columns_passed(_cut(e["x"], lanes.x, w[5]), layer),
        _cut(e["m"], lanes.m, o[0]),
        _cut(e["y"], lanes.y, o[1]),
        _cut(e["x"], lanes.x, o[2], bits.O // 8, target.ports.output_bytes),
    )


def _columns_passed(table: Floats, layer: Layer) -> Floats:
    """Kinds of parts along x; the iterations are those of columns, where these pass through a window."""
    if layer.form.column_window:
        steps = np.arange(len(table))[:, None].clip(1)
        runs = np.ceil(table[:, :, 1] / steps)
        table[:, :, 2] = layer.stride[1] * table[:, :, 2] + (layer.kernel[1] - layer.stride[1]) * runs
    return table


def _cut(extent: int, lanes: int, state: int, width: int = 1, word: int = WORD_BYTES) -> Floats:
    table = np.zeros((extent + 1, 4, 4))
    _fill_cut(extent, lanes, state, width, word, table)
    table[:, :, 3] /= np.maximum(table[:, :, 0], 1)
    return table


@njit(cache=True)
def _fill_cut(extent, lanes, state, width, word, table):  # type: ignore[no-untyped-def]
    """Kinds of the parts of one dimension: number, size, innermost iterations, words of all of them."""
    for step in range(1, extent + 1):
        tile = extent if state == 0 else step
        for start in range(0, extent, tile):
            size = min(tile, extent - start)
            part_size = lanes if state == 2 else size
            for part in range(0, size, part_size):
                length = min(part_size, size - part)
                inside = 0
                for at in range(0, length, step if state == 0 else length):
                    inside += -(-min(step if state == 0 else length, length - at) // lanes)
                for kind in range(4):
                    if table[step, kind, 0] == 0 or table[step, kind, 1] == length:
                        table[step, kind, 0] += 1
                        table[step, kind, 1], table[step, kind, 2] = length, inside
                        begin, end = (start + part) * width, (start + part + length) * width
                        table[step, kind, 3] += (end - 1) // word - begin // word + 1
                        break


@njit(cache=True)
def _fill_tiles(mask, slide, extent, kernel, stride, padding, size, width, word, lanes, words, passes, table):  # type: ignore[no-untyped-def]
    """Kinds of tiles along rows or columns: number, new rows (or words), iterations inside, new elements (means).

    ``passes`` : columns pass through a window, each in an iteration.
    """
    seen = np.full(size, -1, np.int64)
    word_seen = np.full(size * width // word + 2, -1, np.int64)
    stamp = 1
    tap_step = 1 if mask & KERNEL else kernel
    taps = -(-kernel // tap_step)
    for step in range(1, extent + 1):
        tile = step if mask & TILE else extent
        part_size = min(lanes, tile) if mask & INNER else tile
        tiles, parts = -(-extent // tile), -(-tile // part_size)
        fast = tiles if slide == TILE else taps if slide == KERNEL else parts
        slow = tiles * taps * parts // fast
        kinds = np.zeros((KINDS, 5))
        for around in range(slow):
            started = False
            for along in range(fast):
                t, p, k = place_of(slide, around, along, taps, parts)
                start = t * tile + p * part_size
                stop = min(start + part_size, (t + 1) * tile, extent)
                if start >= stop:
                    continue
                held = started and slide != 0
                started = True
                stamp += 1 if held else 2
                _, new, in_words = mark_tile(
                    start, stop, k * tap_step, (k + 1) * tap_step, stride, padding, size, width, word, stamp, held,
                    seen, word_seen,
                )  # fmt: skip
                inner = 0
                inner_step = step if not mask & TILE else stop - start
                for at in range(start, stop, inner_step):
                    run = min(inner_step, stop - at)
                    inner += (run - 1) * stride + kernel if passes else -(-run // lanes)
                iterations = inner if passes else inner * tap_step
                for kind in range(KINDS):
                    found = kinds[kind]
                    if found[0] == 0 or (found[2] == iterations and found[4] == held) or kind == KINDS - 1:
                        found[0] += 1
                        found[1] += in_words if words else new
                        found[2] = max(iterations, found[2])
                        found[3] += new
                        found[4] = held
                        break
        for kind in range(KINDS):
            if kinds[kind, 0] > 0:
                table[step, kind, 0], table[step, kind, 2] = kinds[kind, 0], kinds[kind, 2]
                table[step, kind, 1] = kinds[kind, 1] / kinds[kind, 0]
                table[step, kind, 3] = kinds[kind, 3] / kinds[kind, 0]


@njit(cache=True)
def estimate(b, q, m, c, y, x, needs, memories):  # type: ignore[no-untyped-def]
    """Cycles for steps m, c, y, x.

    ``needs``: bytes of I, W, O that are needed, elements of a row of a tile of I (of all its channels), and its rows;
    ``memories``: bytes that there are. The input's memory holds whole rows.
    """
    slack = np.floor(memories[0] / q.copies / needs[3]) * needs[3] - needs[3] * needs[4]
    cycles = _input(b, q, m, c, y, x, slack)
    cycles += _weight(b, q, m, c, y, x, needs[1], memories[1])
    return cycles + _output(b, q, m, c, y, x, (memories[2] - needs[2]) / q.vector_bytes)


@njit(cache=True)
def _input(b, q, m, c, y, x, slack):  # type: ignore[no-untyped-def]
    """Innermost iterations, and stall cycles for tiles of I."""
    total = 0.0
    for i in range(4):
        if b.i_m[m, i, 0] == 0:
            break
        for j in range(4):
            if b.i_c[c, j, 0] == 0:
                break
            number, inside = b.i_m[m, i, 0] * b.i_c[c, j, 0], b.i_m[m, i, 2] * b.i_c[c, j, 2]
            for r in range(KINDS):
                rows = b.rows[y, r]
                if rows[0] == 0:
                    break
                for s in range(KINDS):
                    columns = b.columns[x, s]
                    if columns[0] == 0:
                        break
                    number_of_tiles, used = number * rows[0] * columns[0], inside * rows[2] * columns[2]
                    lines = b.i_c[c, j, 1] * rows[1]
                    fetch = lines * columns[1]
                    total += number_of_tiles * (
                        used + _wait(used, fetch * q.fill_cycles, lines * columns[3], slack, INPUT_PLACING)
                    )
    return total


@njit(cache=True)
def _wait(used, fetch, new, slack, placing):  # type: ignore[no-untyped-def]
    """Stall cycles before a tile that takes ``fetch`` cycles, if the tile before is used for ``used`` cycles."""
    if new <= 0:
        return 0.0
    wait = max(max(fetch + 1.0, placing) - used, 0.0)
    if new > slack:
        wait = max(wait, fetch * (new - slack) / new + LATENCY)
    return wait


@njit(cache=True)
def _weight(b, q, m, c, y, x, need, memory):  # type: ignore[no-untyped-def]
    """Stall cycles for tiles of W."""
    slack = memory - need
    taps = q.k_size * q.l_size / q.weight_tile
    total = 0.0
    for i in range(4):
        if b.w_m[m, i, 0] == 0:
            break
        for j in range(4):
            if b.w_c[c, j, 0] == 0:
                break
            number = b.w_m[m, i, 0] * b.w_c[c, j, 0] * taps
            inside = b.w_m[m, i, 2] * b.w_c[c, j, 2] * q.weight_tile
            words, new = weight_words(q, b.w_m[m, i], b.w_c[c, j])
            for r in range(4):
                if b.w_y[y, r, 0] == 0:
                    break
                for s in range(4):
                    if b.w_x[x, s, 0] == 0:
                        break
                    number_of_tiles = number * b.w_y[y, r, 0] * b.w_x[x, s, 0]
                    used = inside * b.w_y[y, r, 2] * b.w_x[x, s, 2]
                    total += number_of_tiles * _wait(used, words, new, slack, WEIGHT_PLACING)
    return total


@njit(cache=True)
def weight_words(q, m, c):  # type: ignore[no-untyped-def]
    """Words of a tile of W, and bytes that it takes in the memory; ``m``, ``c``: its part of each, see `Shapes`."""
    word = q.weight_word
    if q.line_bytes == 0:
        words = np.ceil(m[1] * c[1] * q.weight_tile / word)
        return words, word * words
    new = m[2] * c[2] * q.weight_tile * q.line_bytes
    if q.line_pitch < word:
        vectors, rest = c[1] // q.c_lanes, c[1] % q.c_lanes
        of_channels = vectors * np.ceil(q.c_lanes * q.line_pitch / word) + np.ceil(rest * q.line_pitch / word)
        return m[2] * of_channels * q.weight_tile, new
    vectors, rest = m[1] // q.line_pitch, m[1] % q.line_pitch
    return (vectors * q.line_pitch / word + np.ceil(rest / word)) * c[1] * q.weight_tile, new


@njit(cache=True)
def _output(b, q, m, c, y, x, slack):  # type: ignore[no-untyped-def]
    """Cycles that the drain of O takes from the datapath, and stall cycles of first touches that wait for it."""
    reduction = np.ceil(q.c_size / q.c_lanes) * q.k_size * q.l_size
    tiles = np.ceil(q.c_size / c)
    total = 0.0
    sizes = np.empty(7)
    sizes[3], sizes[4], sizes[5], sizes[6] = tiles, np.ceil(min(c, q.c_size) / q.c_lanes), q.k_size, q.l_size
    steps = np.empty(3)
    for i in range(4):
        if b.o_m[m, i, 0] == 0:
            break
        for j in range(4):
            if b.o_y[y, j, 0] == 0:
                break
            for k in range(4):
                if b.o_x[x, k, 0] == 0:
                    break
                number_of_tiles = b.o_m[m, i, 0] * b.o_y[y, j, 0] * b.o_x[x, k, 0]
                sizes[0], sizes[1], sizes[2] = b.o_m[m, i, 2], b.o_y[y, j, 2], b.o_x[x, k, 2]
                for d in range(3):
                    steps[d] = 1.0
                    for other in range(7):
                        if q.inner[d, other]:
                            steps[d] *= sizes[other]
                number = sizes[0] * sizes[1] * sizes[2]
                drain = max(q.drain * max(b.o_x[x, k, 3] / sizes[2], 1.0), LEAST_DRAIN)
                wait = max(number * drain + DRAIN_LATENCY - number * reduction, 0.0)
                at = 0
                for v_m in range(int(sizes[0])):
                    for v_y in range(int(sizes[1])):
                        for v_x in range(int(sizes[2])):
                            if at >= slack:
                                touched = v_m * steps[0] + v_y * steps[1] + v_x * steps[2]
                                wait = max(wait, (at - slack + 1) * drain + DRAIN_LATENCY - touched)
                            at += 1
                taken = number if wait == 0 else min(slack, number)  # no cycle is taken from a datapath that stalls
                total += number_of_tiles * max(number, taken + wait)
    return total
