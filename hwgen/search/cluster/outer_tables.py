"""What one step of m, c, y or x alone says of the loops around a tile: what it fetches along its axis, what it holds.

`hwgen.search.cluster.outer_nest` puts the four of them together. In large layers, steps that another one beats in
every factor are left out (`worth_while`); what they would add are ties. Of extents beyond `MOST_ROWS`, only the steps
that cut an axis most evenly into a number of tiles are tabulated, and these rounded up to whole vectors (`steps_of`);
what is left then is thinned out to `MOST_COMBINATIONS`.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.layout import aligned
from hwgen.ir.lanes import ONE_LANE, Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.search.cluster.outer_parts import tell
from hwgen.search.core.axes import channels, window

__all__ = ["constants", "in_classes", "outer_tables", "steps_of", "thinned", "with_shares", "worth_while"]

Ints = NDArray[np.int64]
Steps = Callable[[int], Sequence[int]]
"""The steps of an extent that have a row."""

STEP, TILES, CUT, SLID, LARGEST, EDGE, PAIR = range(7)
"""Columns of a table. A table has a row for each step; the last row is that of an extent that is not cut. Columns:
the step; the number of tiles; inputs fetched along the axis (m: groups, c: nothing) if the loop is above the marked
one, and if it is the marked one; the size of the largest tile, of the smallest, and of two consecutive ones."""
FETCHED, LINES, JOINT, PAIR_LINES, END_LINES, SPAN, JOINT_SPAN, ROW, PAIR_ROW = range(7, 16)
"""More columns of m, y and x: inputs fetched if the axis is not cut; inputs (m: groups) of the largest tile, of two
consecutive tiles where they slide, of two where they do not, of the last tile and the first one (both: 0 if there is
none that is no padding). Of x: bytes of the largest tile, and of two, in whole words; bytes of a row of outputs of
the largest tile, of two tiles."""
NEW_CUT, NEW_SLID = 16, 17
"""Figures of y and x: tiles that fetch any input, if the loop is above the marked one, and if it is the marked
one."""
SHARE, SHARES = 18, 4
"""Figures of each spread over the HWCs: innermost iterations of the busiest HWC of each tile, summed over the tiles;
the figures of m, y and x multiply. 0 where a tile is not spread that way."""
COLUMNS = SHARE + SHARES
MOST_ROWS = 512
"""Extents up to this have a row for each step."""
VECTOR = 16
MOST_COMBINATIONS = 1 << 20
"""The most combinations of steps that are left of a large layer."""
FEWEST = 24
"""Steps of an axis that are not thinned out."""


class OuterTables(NamedTuple):
    """Tables of m, c, y and x: [step number, column]."""

    m: Ints
    c: Ints
    y: Ints
    x: Ints

    def only(self, steps: Sequence[Ints]) -> "OuterTables":
        """The tables with only these rows; the row of the whole extent is kept as the last."""
        return OuterTables(*(table[np.append(rows, len(table) - 1)] for table, rows in zip(self, steps, strict=True)))


def steps_of(extent: int) -> list[int]:
    """The steps that have a row: all of them up to `MOST_ROWS`.

    Beyond: for each number of tiles the smallest step, and the next multiple of `VECTOR`; some four times the square
    root of the extent.
    """
    if extent <= MOST_ROWS:
        return list(range(1, extent + 1))
    even = {-(-extent // tiles) for tiles in range(1, extent + 1)}
    return sorted(even | {min(extent, -(-step // VECTOR) * VECTOR) for step in even})


def outer_tables(layer: Layer, steps: Steps = steps_of) -> OuterTables:
    """The steps of all four axes, see `steps_of`."""
    filters, inputs = _outputs(layer, steps), _inputs(layer.channels_per_group, steps)
    tell(0.25)
    rows = _lines(layer, 0, steps)
    tell(0.5)
    return OuterTables(filters, inputs, rows, _lines(layer, 1, steps))


def in_classes(layer: Layer) -> OuterTables:
    """One row for all steps that cut an axis into equally many tiles: the least of each column that one of them has.

    What loops cost and need with these rows, no step of any size undercuts.
    """
    tables = outer_tables(layer, lambda extent: range(1, extent + 1))
    classed = []
    for table in tables:
        _, first = np.unique(-table[:-1, TILES], return_index=True)
        classed.append(np.vstack([np.minimum.reduceat(table[:-1], first, axis=0), table[-1:]]))
    return OuterTables(*classed)


def with_shares(tables: OuterTables, shares: Sequence[tuple[int, int]], lanes: Lanes, layer: Layer) -> OuterTables:
    """The tables with how busy the HWCs are, for each number of shares of a tile along m and along y."""
    m, c, y, x = (table.copy() for table in tables)
    for number, (filters, rows) in enumerate(shares):
        for table, parts, lane in ((m, filters, lanes.m), (y, rows, lanes.y), (x, 1, lanes.x)):
            for row in table:
                step, extent = int(row[STEP]), int(table[-1, STEP])
                if parts > 1 and min(parts, step) == 1:
                    continue
                size = -(-step // parts)
                rest = min(size, extent - step * (int(row[TILES]) - 1))
                whole, rest = -(-size // lane), -(-rest // lane)
                if table is x:
                    whole, rest = layer.columns_passed(whole), layer.columns_passed(rest)
                row[SHARE + number] = whole * (row[TILES] - 1) + rest
    return OuterTables(m, c, y, x)


def _sizes(extent: int, steps_of_extent: Steps) -> Ints:
    steps = [*steps_of_extent(extent), extent]
    table = np.zeros((len(steps), COLUMNS), np.int64)
    for row, step in enumerate(steps):
        tiles = -(-extent // step)
        rest = extent - step * (tiles - 1)
        table[row, [STEP, TILES, CUT, SLID, LARGEST, EDGE, PAIR]] = (
            step, tiles, tiles, 1, step, rest, min(2 * step, extent),
        )  # fmt: skip
    return table


def _inputs(extent: int, steps_of_extent: Steps) -> Ints:
    table = _sizes(extent, steps_of_extent)
    table[:, CUT] = table[:, SLID] = 1
    return table


def _outputs(layer: Layer, steps_of_extent: Steps) -> Ints:
    table = _sizes(layer.output_channels, steps_of_extent)
    groups = channels(layer.output_channels, layer.groups)
    steps = table[:, STEP]
    table[:, CUT], table[:, SLID] = groups.fetched[1, steps], groups.fetched[2, steps]
    table[:, FETCHED], table[:, LINES] = layer.groups, groups.need[1, steps]
    table[-1, CUT] = table[-1, SLID] = table[-1, LINES] = layer.groups
    return table


def _lines(layer: Layer, axis: int, steps_of_extent: Steps) -> Ints:
    extent = (layer.output_height, layer.output_width)[axis]
    size = (layer.input_height, layer.input_width)[axis]
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    table = _sizes(extent, steps_of_extent)
    of = window(extent, kernel, stride, padding, size, 1)
    begins, ends = (np.clip(np.arange(extent) * stride - padding + tap, 0, size) for tap in (0, kernel))
    # Of a stride beyond the kernel, some outputs at the edges may touch nothing: the next ones that do, and the last.
    touching = np.flatnonzero(ends > begins)
    begins, ends = np.append(begins[touching], size), np.append(0, ends[touching])
    for row in table:
        step = row[STEP]
        first = np.arange(0, extent, step)
        last = np.minimum(first + step, extent) - 1
        begin = begins[np.searchsorted(touching, first)]
        end = np.maximum(begin, ends[np.searchsorted(touching, last, "right")])
        inside = end > begin
        row[CUT], row[SLID], row[FETCHED] = of.fetched[1, step], of.fetched[2, step], of.fetched[0, step]
        row[LINES] = (end - begin).max()
        row[NEW_CUT] = inside.sum()
        row[NEW_SLID] = (inside & (end > np.append(0, np.maximum.accumulate(end)[:-1]))).sum()
        both = inside[1:] & inside[:-1]
        row[JOINT] = max(row[LINES], (end[1:] - begin[:-1])[both].max(initial=0))
        row[PAIR_LINES] = ((end - begin)[1:] + (end - begin)[:-1])[both].max(initial=0)
        row[END_LINES] = (end - begin)[[0, -1]].sum() if inside[0] and inside[-1] else 0
        if axis == 1:
            low, high = begin // WORD_BYTES * WORD_BYTES, -(-end // WORD_BYTES) * WORD_BYTES
            row[SPAN] = (high - low)[inside].max(initial=0)
            row[JOINT_SPAN] = max(row[SPAN], (high[1:] - low[:-1])[both].max(initial=0))
            bytes_of = -(-(last + 1) // WORD_BYTES) * WORD_BYTES - first // WORD_BYTES * WORD_BYTES
            row[ROW] = bytes_of.max()
            row[PAIR_ROW] = (bytes_of[1:] + bytes_of[:-1]).max(initial=bytes_of.max())
    return table


def worth_while(tables: OuterTables, shares: Sequence[tuple[int, int]] = (), lanes: Lanes = ONE_LANE) -> OuterTables:
    """The table without the steps that another one is no worse than in every column, but for how busy the HWCs are.

    With ``shares`` also the remaining ones, rounded up to a multiple of the HWCs and their lanes.
    """
    chosen = []
    filters, rows_of_tile = (sorted({share[axis] for share in shares}) for axis in (0, 1))
    units_m, units_y = [lanes.m * parts for parts in filters], [lanes.y * parts for parts in rows_of_tile]
    units_c, units_x = ([lanes.c], [lanes.x]) if shares else ([], [])
    for table, units in zip(tables, (units_m, units_c, units_y, units_x), strict=True):
        rows = np.delete(table[:-1, :SHARE], [STEP, EDGE, PAIR_LINES, END_LINES, NEW_CUT, NEW_SLID], axis=1)
        worse = np.zeros(len(rows), np.bool_)
        for number, row in enumerate(rows):
            beaten = (rows >= row).all(axis=1) & (rows > row).any(axis=1)
            same = (rows == row).all(axis=1)
            same[: number + 1] = False
            worse |= beaten | same
        left = table[:-1, STEP][~worse]
        wanted = np.unique(np.concatenate([left, *(-(-left // unit) * unit for unit in units)]))
        chosen.append(np.flatnonzero(np.isin(table[:-1, STEP], wanted)))
    return tables.only(chosen)


def thinned(tables: OuterTables) -> OuterTables:
    """Tables with at most `MOST_COMBINATIONS` steps of the four axes together: of the longest table every other step
    is left out.

    The smallest and the largest step stay.
    """
    chosen = [np.arange(len(table) - 1) for table in tables]
    while prod(map(len, chosen)) > MOST_COMBINATIONS and max(map(len, chosen)) > FEWEST:
        longest = max(range(len(chosen)), key=lambda axis: len(chosen[axis]))
        chosen[longest] = np.unique(np.append(chosen[longest][::2], chosen[longest][-1]))
    return tables.only(chosen)


I_BYTES, W_BYTES, O_BYTES, RETURN_BYTES, BIAS_BYTES, AREA = range(6)
"""Bytes: of a pixel of I, of W, of O, of O's partial sums back and forth once, of the biases (rounded up); weights of
a filter and channel."""
FILTERS, CHANNELS, OUT_LINES, IN_LINES, IN_COLUMNS = range(6, 11)
"""Output channels, input channels of a group, rows of O, rows and columns of I."""


def constants(layer: Layer, bits: Bits) -> Ints:
    """Figures of a layer that no step changes."""
    return np.array(
        [
            bits.bytes_of("I", layer.channels_per_group),
            bits.bytes_of("W", layer.weight_elements),
            bits.bytes_of("O", layer.output_elements),
            2 * bits.bytes_of("acc", layer.output_elements),
            aligned(SUM_BYTES * layer.output_channels),
            prod(layer.weight_kernel),
            layer.output_channels,
            layer.channels_per_group,
            layer.output_height,
            layer.input_height,
            layer.input_width,
        ],
        np.int64,
    )
