"""Every schedule of a small layer, each one executed element by element: the judge of the search.

Shares nothing with `hwgen.search` and knows none of its shortcuts: no forms, no factors of axes, no dominance. A
nest is run iteration by iteration over marked elements of the three arrays; only the fact that an operand's
accesses do not depend on the other operands' markers is used, so that a nest is run once per marker place.
Compiled, because a small layer has some hundred thousand schedules.
"""

from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hwgen.ir.lanes import NARROW_PORTS, Lanes, Ports
from hwgen.ir.layer import DIMS, Dim, Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule

__all__ = [
    "Best",
    "Shape",
    "above_idle_loops",
    "best_schedules",
    "every_nest",
    "operand_costs",
    "units_of",
    "with_markers",
]

Nest = tuple[tuple[int, int], ...]
Shape = tuple[int, int, int]
"""Lanes along m, y, x."""
BYTES, WORDS, NEED, STORED, RUNS = range(5)


class Best(NamedTuple):
    """Criteria of the best schedule for one buffer size: goal, second, third, bytes of need (all -1: none fits)."""

    goal: int
    second: int
    third: int
    need: int


def lanes_along(lanes: Shape, dim: int) -> int:
    """Lanes along the dimension of this number."""
    return {"m": lanes[0], "y": lanes[1], "x": lanes[2]}.get(DIMS[dim], 1)


def every_nest(layer: Layer, lanes: Shape = (1, 1, 1)) -> list[Nest]:
    """Tile loops in any order outermost, inner loops in any order; no loops over a dimension of extent 1, but one.

    Loops of one iteration stay: a marker above one holds a whole tile at once. For the same reason the tile loop of
    one dimension of extent 1, where there is one, stands around all others; elsewhere such a loop has no effect.
    """
    extents = [layer.extents[dim] for dim in DIMS]
    tiled = [dim for dim in range(4) if extents[dim] > 1]
    cut = [dim for dim in range(6) if extents[dim] > 1]
    around = [(dim, 1) for dim in range(4) if extents[dim] == 1][:1]
    nests: dict[Nest, None] = {}
    for steps in product(*(range(1, extents[dim] + 1) for dim in tiled)):
        size = dict(zip(tiled, steps, strict=True))
        inner = [(dim, min(lanes_along(lanes, dim), size.get(dim, extents[dim]))) for dim in cut]
        for first in permutations(size.items()):
            for last in permutations(inner):
                nests[(*around, *first, *last)] = None
    return list(nests)


def with_markers(
    layer: Layer,
    nest: Nest,
    places: tuple[int, int, int],
    bits: Bits,
    lanes: Shape = (1, 1, 1),
    ports: Ports = NARROW_PORTS,
) -> Schedule:
    """A nest with the markers of I, W, O above the loops at the given places (its length: no marker)."""
    items: list[Loop | Marker] = []
    for index, (dim, step) in enumerate(nest):
        arrays = tuple(array for array, place in zip(ARRAYS, places, strict=True) if place == index)
        if arrays:
            items.append(Marker(arrays))
        items.append(Loop(DIMS[dim], step))
    m, y, x = lanes
    return Schedule(layer=layer, bits=bits, nest=tuple(items), lanes=Lanes(m=m, y=y, x=x), ports=ports)


def best_schedules(
    layer: Layer,
    sizes: list[int],
    *,
    bits: Bits,
    lanes: Shape = (1, 1, 1),
    hardware: bool = False,
    goal: str = "traffic",
    ports: Ports = NARROW_PORTS,
) -> list[Best]:
    """The best criteria for each buffer size, over every nest of `every_nest` and every place of every marker."""
    best = np.full((len(sizes), 4), -1, np.int64)
    for nest in every_nest(layer, lanes):
        costs = operand_costs(layer, nest, bits, lanes, ports)
        iterations = _iterations(*_arrays(layer, nest))
        biases = np.zeros(len(costs), np.int64)
        if goal == "with-bias":
            biases[:] = [bias_bytes(layer, nest[: place + 1]) for place in range(len(costs))]
        if hardware:
            tiles = len(nest) - sum(extent > 1 for extent in layer.extents.values())
            costs = np.concatenate([costs, above_idle_loops(layer, nest, bits, lanes, tiles, ports)])
            biases = np.concatenate([biases, biases[:-1]])
        _combine(
            costs,
            np.array(sizes, np.int64),
            hardware,
            units_of(lanes, ports),
            iterations,
            biases,
            ("traffic", "words", "cycles", "with-bias").index(goal),
            best,
        )
    return [Best(*(int(value) for value in row)) for row in best]


def bias_bytes(layer: Layer, around: Nest) -> int:
    """Bytes of biases if O is drained in every iteration of these loops: each channel's for each part of its map."""
    return 4 * layer.output_channels * len(pieces_of(layer, around, "y")) * len(pieces_of(layer, around, "x"))


def pieces_of(layer: Layer, nest: Nest, dim: Dim) -> list[tuple[int, int]]:
    """The ranges into which the loops of a nest cut one dimension."""
    pieces = [(0, layer.extents[dim])]
    for step in (step for other, step in nest if DIMS[other] == dim):
        pieces = [(at, min(at + step, stop)) for start, stop in pieces for at in range(start, stop, step)]
    return pieces


def units_of(lanes: Shape, ports: Ports = NARROW_PORTS) -> tuple[int, int, int]:
    """Bytes in which the memories of I, W, O grow: a copy of I's for each lane along y."""
    m, y, x = lanes
    return max(ports.input_bytes, x) * y, max(ports.weight_bytes, m), 4 * m * y * x


def above_idle_loops(
    layer: Layer, nest: Nest, bits: Bits, lanes: Shape, tiles: int, ports: Ports = NARROW_PORTS
) -> NDArray[np.int64]:
    """Costs of markers above a loop over a dimension of extent 1, right below each loop of the nest.

    Such a loop carries nothing over, so it never saves; but hardware may accept a marker there that it refuses above
    the loop around it: I's above x or l, O's if the idle loop is one of the reduction. The first ``tiles`` of the
    nest are tile loops.
    """
    costs = operand_costs(layer, nest, bits, lanes, ports, idle=True)[:-1]
    outer, inner = layer.extents["c"] == 1, 1 in (layer.extents[dim] for dim in ("c", "k", "l"))
    costs[:, 2, RUNS] = [outer if place < tiles - 1 else inner for place in range(len(nest))]
    return costs


def operand_costs(
    layer: Layer, nest: Nest, bits: Bits, lanes: Shape = (1, 1, 1), ports: Ports = NARROW_PORTS, *, idle: bool = False
) -> NDArray[np.int64]:
    """[place, operand, (bytes, words, bytes of need, bytes stored by hardware, whether hardware runs it)].

    ``idle``: for markers above a loop of one iteration right below each loop.
    """
    widths = np.array([bits.I // 8, bits.W // 8, bits.O // 8, bits.acc // 8], np.int64)
    dims, steps, extents = _arrays(layer, nest)
    shape = np.array(
        [*layer.stride, layer.padding[0], layer.padding[1], layer.input_height, layer.input_width, layer.groups],
        np.int64,
    )
    costs = np.zeros((len(nest) + 1, 3, 5), np.int64)
    port_bytes, units = (ports.input_bytes, ports.weight_bytes, ports.output_bytes), units_of(lanes, ports)
    vector_of = np.array([at for at, piece in enumerate(pieces_of(layer, nest, "x")) for _ in range(*piece)])
    for place in range(len(nest) + 1):
        _run(dims, steps, extents, shape, widths, place, idle, lanes, port_bytes, units, vector_of, costs[place])
    return costs


def _arrays(layer: Layer, nest: Nest) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    dims, steps = np.array(nest, np.int64).T.copy()
    return dims, steps, np.array([layer.extents[dim] for dim in DIMS], np.int64)


@njit(cache=True)
def _next_tile(dims, steps, extents, depth, at, low, high):  # type: ignore[no-untyped-def]
    """Advance the odometer to the next iteration that covers any; returns the outermost loop that moved, or -1."""
    moved = depth
    while True:
        position = depth - 1
        while position >= 0:
            above = extents[dims[position]]
            for loop in range(position):
                if dims[loop] == dims[position]:
                    above = steps[loop]
            at[position] += 1
            if at[position] * steps[position] < above:
                break
            at[position] = 0
            position -= 1
        if position < 0:
            return -1
        moved = min(moved, position)
        if _ranges(dims, steps, extents, depth, at, low, high):
            return moved


@njit(cache=True)
def _ranges(dims, steps, extents, depth, at, low, high):  # type: ignore[no-untyped-def]
    for dim in range(6):
        low[dim], high[dim] = 0, extents[dim]
    for loop in range(depth):
        dim = dims[loop]
        low[dim] += at[loop] * steps[loop]
        high[dim] = min(high[dim], low[dim] + steps[loop])
        if low[dim] >= high[dim]:
            return False
    return True


@njit(cache=True)
def _iterations(dims, steps, extents):  # type: ignore[no-untyped-def]
    at, low, high = np.zeros(len(dims), np.int64), np.zeros(6, np.int64), np.zeros(6, np.int64)
    count = 1
    while _next_tile(dims, steps, extents, len(dims), at, low, high) >= 0:
        count += 1
    return count


@njit(cache=True)
def _run(dims, steps, extents, shape, widths, place, idle, lanes, ports, units, vector_of, costs):  # type: ignore[no-untyped-def]
    """Execute the nest with the markers of all three operands above loop ``place``."""
    stride_y, stride_x, top, left, height, width, groups = shape
    marked = dims[place] if place < len(dims) and not idle else -1
    depth = min(place + 1, len(dims))
    at, low, high = np.zeros(len(dims), np.int64), np.zeros(6, np.int64), np.zeros(6, np.int64)
    _ranges(dims, steps, extents, depth, at, low, high)
    in_input = np.full((groups * extents[1], height, width), -1, np.int64)
    input_word = np.full((groups * extents[1], height, width * widths[0] // ports[0] + 2), -1, np.int64)
    in_weights = np.full((extents[0], extents[1], extents[4], extents[5]), -1, np.int64)
    in_output = np.full((extents[0], extents[2], extents[3]), -1, np.int64)
    output_word = np.full((extents[0], extents[2], extents[3] * widths[2] // ports[2] + 2), -1, np.int64)
    sum_bytes = (widths[3] + 3) // 4 * 4
    sums = extents[3] * sum_bytes // ports[2] + 2
    read_word = np.full((extents[0], extents[2], extents[3], sums), -1, np.int64)
    written_word = read_word.copy()
    done = np.zeros((extents[0], extents[2], extents[3]), np.int64)
    most_channels, most_rows, most_columns, most_needed, most_weights, most_sums, most_vectors = 0, 0, 0, 0, 0, 0, 0
    runs_input = 1
    tile, held = 0, False
    while True:
        tile += 1
        # --- I ---
        fresh, touched, kept_rows, kept_columns, words = 0, 0, False, False, 0
        channels, rows, columns = np.zeros(len(in_input)), np.zeros(height), np.zeros(width)
        group_first, group_last = groups, -1
        for m in range(low[0], high[0]):
            group = m // (extents[0] // groups)
            group_first, group_last = min(group_first, group), max(group_last, group)
            for c in range(low[1], high[1]):
                channel = group * extents[1] + c
                channels[channel] = 1
                for y, k in _pairs(low[2], high[2], low[4], high[4]):
                    row = y * stride_y + k - top
                    if row < 0 or row >= height:
                        continue
                    rows[row] = 1
                    for x, l in _pairs(low[3], high[3], low[5], high[5]):  # noqa: E741
                        column = x * stride_x + l - left
                        if column < 0 or column >= width:
                            continue
                        columns[column] = 1
                        if in_input[channel, row, column] == tile:
                            continue
                        touched += 1
                        if held and in_input[channel, row, column] == tile - 1:
                            kept_rows, kept_columns = True, True
                        else:
                            fresh += 1
                            for byte in range(column * widths[0], (column + 1) * widths[0]):
                                if input_word[channel, row, byte // ports[0]] != tile:
                                    input_word[channel, row, byte // ports[0]] = tile
                                    words += 1
                        in_input[channel, row, column] = tile
        costs[0, 0] += fresh * widths[0]
        costs[0, 1] += words
        most_needed = max(most_needed, touched)
        stored = int(columns.sum())
        if high[5] - low[5] < stride_x and high[3] - low[3] > 1:
            clipped = max(0, left - low[3] * stride_x - low[5]) // stride_x
            stored = (high[5] - low[5]) * max(high[3] - low[3] - clipped, 0)
        most_channels, most_rows = max(most_channels, int(channels.sum())), max(most_rows, int(rows.sum()))
        most_columns = max(most_columns, stored)
        if group_last > group_first:
            runs_input = 0
        if marked == 4 and kept_rows and high[2] - low[2] > 1 and high[4] - low[4] < stride_y:
            runs_input = 0
        if (marked == 3 or marked == 5) and kept_columns:
            runs_input = 0
        # --- W ---
        fresh, touched = 0, 0
        for m in range(low[0], high[0]):
            for c in range(low[1], high[1]):
                for k, l in _pairs(low[4], high[4], low[5], high[5]):  # noqa: E741
                    touched += 1
                    if not held or in_weights[m, c, k, l] != tile - 1:
                        fresh += 1
                    in_weights[m, c, k, l] = tile
        costs[1, 0] += fresh * widths[1]
        costs[1, 1] += -(-fresh * widths[1] // ports[1])
        most_weights = max(most_weights, touched)
        # --- O ---
        touched = 0
        for m in range(low[0], high[0]):
            for y, x in _pairs(low[2], high[2], low[3], high[3]):
                touched += 1
                if (not held or in_output[m, y, x] != tile - 1) and done[m, y, x] > 0:
                    costs[2, 0] += widths[3]
                    costs[2, 1] += _sum_words(read_word[m, y, vector_of[x]], x, sum_bytes, ports[2], tile)
                in_output[m, y, x] = tile
                done[m, y, x] += (high[1] - low[1]) * (high[4] - low[4]) * (high[5] - low[5])
        most_sums = max(most_sums, touched)
        vectors = 1
        for dim in (0, 2, 3):
            vectors *= _vectors(dims, steps, depth, dim, low[dim], high[dim])
        most_vectors = max(most_vectors, vectors)
        before_low, before_high = low.copy(), high.copy()
        moved = _next_tile(dims, steps, extents, depth, at, low, high)
        held = place < len(dims) and moved == place and not idle
        for m in range(before_low[0], before_high[0]):
            for y, x in _pairs(before_low[2], before_high[2], before_low[3], before_high[3]):
                if held and low[0] <= m < high[0] and low[2] <= y < high[2] and low[3] <= x < high[3]:
                    continue
                if done[m, y, x] < extents[1] * extents[4] * extents[5]:
                    costs[2, 0] += widths[3]
                    costs[2, 1] += _sum_words(written_word[m, y, vector_of[x]], x, sum_bytes, ports[2], tile)
                    continue
                costs[2, 0] += widths[2]
                for byte in range(x * widths[2], (x + 1) * widths[2]):
                    if output_word[m, y, byte // ports[2]] != tile:
                        output_word[m, y, byte // ports[2]] = tile
                        costs[2, 1] += 1
        if moved < 0:
            break
    costs[0, 2], costs[1, 2], costs[2, 2] = most_needed * widths[0], most_weights * widths[1], most_sums * widths[3]
    stored = most_channels * most_rows * most_columns
    costs[0, 3] = -(-(stored * widths[0] * lanes[1]) // units[0]) * units[0]
    costs[1, 3] = -(-(most_weights * widths[1]) // units[1]) * units[1]
    costs[2, 3] = most_vectors * lanes[0] * lanes[1] * lanes[2] * widths[3]
    costs[0, 4], costs[1, 4] = runs_input, 1
    costs[2, 4] = 1 if marked == -1 or marked == 1 or marked >= 4 else 0


@njit(cache=True)
def _pairs(a, a_end, b, b_end):  # type: ignore[no-untyped-def]
    return [(i, j) for i in range(a, a_end) for j in range(b, b_end)]


@njit(cache=True)
def _sum_words(seen, x, sum_bytes, word, tile):  # type: ignore[no-untyped-def]
    """Words of the sum of column ``x`` that its vector has not moved in this tile."""
    words = 0
    for byte in range(x * sum_bytes, (x + 1) * sum_bytes):
        if seen[byte // word] != tile:
            seen[byte // word] = tile
            words += 1
    return words


@njit(cache=True)
def _vectors(dims, steps, depth, dim, low, high):  # type: ignore[no-untyped-def]
    """Innermost iterations along one dimension within one tile."""
    pieces = [(low, high)]
    for loop in range(depth, len(dims)):
        if dims[loop] == dim:
            pieces = [
                (start, min(start + steps[loop], stop))
                for first, stop in pieces
                for start in range(first, stop, steps[loop])
            ]
    return len(pieces)


@njit(cache=True)
def _combine(costs, sizes, hardware, units, iterations, biases, goal, best):  # type: ignore[no-untyped-def]
    """Every combination of the three markers' places against the best of each size."""
    places = len(costs)
    for i in range(places):
        for w in range(places):
            for o in range(places):
                a, b, c = costs[i, 0], costs[w, 1], costs[o, 2]
                if hardware and a[4] * b[4] * c[4] == 0:
                    continue
                need = a[2] + b[2] + c[2]
                if hardware:
                    need = max(a[3], 2 * units[0]) + max(b[3], 2 * units[1]) + max(c[3], 2 * units[2])
                total, words, third = a[0] + b[0] + c[0], a[1] + b[1] + c[1], 0
                first, second = total, words
                if goal == 1:
                    first, second = words, total
                elif goal == 2:
                    first, second, third = max(max(a[1], b[1]), max(c[1], iterations)), total, words
                elif goal == 3:
                    first = total + biases[o]
                for n in range(len(sizes)):
                    if need > sizes[n]:
                        continue
                    found = best[n]
                    worse = False
                    if found[0] >= 0:
                        for mine, known in (
                            (first, found[0]),
                            (second, found[1]),
                            (third, found[2]),
                            (need, found[3]),
                        ):
                            if mine != known:
                                worse = mine > known
                                break
                    if not worse:
                        found[0], found[1], found[2], found[3] = first, second, third, need
