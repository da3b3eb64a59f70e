"""The accesses of each of several HWCs, and the words that several of them read.

Slices are spread along m and y only. Sums over iterations factor into sums over the axes (m, c), (y, k) and (x, l),
see `hwgen.model.core.access`. So the share of an HWC is the sum over the pairs of ranges of m and y in its slices.

Slices of one wave run side by side, one on each HWC. With multicast, those of a wave that have the same extents and
read the same words of I (their y is the same, and so are the groups of their m) read them together, at the port of
the first of them; W likewise where their m is the same.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights.lines import WeightLines
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.layer import OUTPUT_DIMS, REDUCTION_DIMS, Dim
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.cluster.levels import local_level, over_loops, run_depth, spread_side_by_side, tile_depth
from hwgen.model.core.access import (
    Window,
    column_words,
    depths,
    new_groups,
    window_of,
)
from hwgen.model.core.biases import bias_depth
from hwgen.model.core.prediction import PerOperand
from hwgen.model.core.ranges import Ints, Ranges, ranges_of
from hwgen.model.core.words import weight_words, words_of

__all__ = ["replicated_words", "shares"]


def shares(schedule: Schedule, hwcs: int, *, multicast: bool = False) -> tuple[Counts, ...]:
    """The accesses at the ports of each HWC at `tcdm`; the nest is normalised."""
    spread = _Spread(schedule, hwcs, multicast=multicast)
    found = [*_inputs(spread), *_weights(spread), *_outputs(spread), *_biases(spread)]
    return tuple(
        Counts(
            {
                ("tcdm", operand, way): Access(*(int(column[hwc]) for column in columns))
                for operand, way, columns in found
            }
        )
        for hwc in range(hwcs)
    )


Slices = NDArray[np.int64]
"""Slices of m, or of y: in three rows, for each its number among the slices of its tile, how many these are, and the
first one whose I (of slices of m) or W (of slices of y) is the same at the same place of the loops."""


class _Spread:
    """The HWC that a range of m and a range of y belong to."""

    def __init__(self, schedule: Schedule, hwcs: int, *, multicast: bool = False) -> None:
        self.nest, self.hwcs = local_level(schedule), hwcs
        self.around_biases = bias_depth(schedule, run_depth(schedule))
        self._multicast = multicast and spread_side_by_side(schedule)
        self._places: dict[Dim, tuple[Ints, Slices]] = {}
        over = over_loops(schedule)
        for index in over:
            dim = schedule.loops[index].dim
            ranges = ranges_of(schedule, dim, index + 1)
            begins = np.flatnonzero(ranges.first)
            numbers = np.diff(np.append(begins, len(ranges)))
            parent = np.repeat(begins, numbers)
            place = np.arange(len(ranges)) - parent
            alike = _first_alike(ranges, parent, schedule.layer.outputs_per_group if dim == "m" else None)
            self._places[dim] = ranges.start, np.stack([place, np.repeat(numbers, numbers), alike - parent])
        self._outer: Dim = schedule.loops[over[0]].dim if over else "m"

    def slices(self, dim: Dim, ranges: Ranges) -> Slices:
        """The slice of each range of a dimension."""
        if dim not in self._places:
            return np.repeat(np.array([[0], [1], [0]]), len(ranges), axis=1)
        start, slices = self._places[dim]
        return slices[:, np.searchsorted(start, ranges.start, "right") - 1]

    def distinct(self, dim: Dim, ranges: Ranges, start: int, stop: int) -> tuple[Slices, Ints]:
        """The distinct slices of some ranges, and the index of the slice of each range."""
        return _distinct(self.slices(dim, ranges)[:, start:stop])

    def _place(self, m: Slices, y: Slices) -> Ints:
        """The number of every pair of a slice of m and a slice of y, in program order."""
        (place_m, number_m, _), (place_y, number_y, _) = m[:, :, None], y[:, None]
        place: Ints = place_m * number_y + place_y if self._outer == "m" else place_y * number_m + place_m
        return place

    def hwc(self, m: Slices, y: Slices) -> Ints:
        """The HWC of every pair of a slice of m and a slice of y."""
        return self._place(m, y) % self.hwcs

    def _leads(self, m: Slices, y: Slices, array: ArrayName) -> Ints:
        """Whether the HWC of a pair reads at its own port: 1 or 0."""
        wave = self._place(m, y) // self.hwcs * self.hwcs
        along, across = (m[:, :, None], y[:, None]) if array == "I" else (y[:, None], m[:, :, None])
        outer = self._outer == ("m" if array == "I" else "y")
        # The first slice along the spread loop, at this place of the other one, that is in the wave.
        first = -(-(wave - across[0]) // across[1]) if outer else wave - across[0] * along[1]
        leads: Ints = (along[0] == np.maximum(first, along[2])).astype(np.int64)
        return leads

    def shared(self, m: Ranges, of_m: Ints, y: Ranges, of_y: Ints, array: ArrayName | None = None) -> Ints:
        """For each HWC, the sum of products over its pairs of ranges; of an array that may be read together: over
        those pairs that are read at its port."""
        slices_m, sum_m = _summed(self.slices("m", m), of_m)
        slices_y, sum_y = _summed(self.slices("y", y), of_y)
        products = sum_m[:, None] * sum_y[None]
        if array is not None and self._multicast:
            products *= self._leads(slices_m, slices_y, array)
        sums = np.zeros(self.hwcs, np.int64)
        np.add.at(sums, self.hwc(slices_m, slices_y), products)
        return sums


def _first_alike(ranges: Ranges, parent: Ints, group: int | None) -> Ints:
    """For each slice the index of the first one of its tile that has its size and the same groups of channels.

    ``parent``: index of the first slice of its tile. ``group``: output channels of a group; None along y.
    """
    kinds = [parent, ranges.sizes]
    if group is not None:
        kinds += [ranges.start // group, (ranges.stop - 1) // group]
    _, first, at = np.unique(np.stack(kinds), axis=1, return_index=True, return_inverse=True)
    found: Ints = first[at.ravel()]
    return found


def _distinct(slices: Slices) -> tuple[Slices, Ints]:
    distinct, at = np.unique(slices, axis=1, return_inverse=True)
    return distinct, at.ravel()


def _summed(slices: Slices, values: Ints) -> tuple[Slices, Ints]:
    """Each distinct slice with the sum of the values of its ranges."""
    distinct, at = _distinct(slices)
    sums = np.zeros(distinct.shape[1], np.int64)
    np.add.at(sums, at, values)
    return distinct, sums


Shares = list[tuple[Operand, Direction, tuple[Ints, Ints, Ints]]]
"""Operand, direction; elements, bytes and words of each HWC."""


def _inputs(spread: _Spread) -> Shares:
    nest = spread.nest
    rows, columns = window_of(nest, "y", "k"), window_of(nest, "x", "l").fetched()
    lowest, beyond, kept = new_groups(nest)
    outputs = ranges_of(nest, "m", depths(nest, "I")[1])
    channels = (beyond - lowest - kept) * nest.layer.channels_per_group
    lines = spread.shared(outputs, channels, rows.map_ranges, rows.fetched().lengths.sum(axis=(0, 2)), "I")
    elements, size = lines * int(columns.lengths.sum()), nest.bits.I // 8
    return [("I", "read", (elements, elements * size, lines * column_words(columns, size, nest.ports.input_bytes)))]


def _weights(spread: _Spread) -> Shares:
    nest = spread.nest
    execution, iteration = depths(nest, "W")
    outputs, rows = ranges_of(nest, "m", iteration), ranges_of(nest, "y", execution)
    times = len(ranges_of(nest, "x", execution)) * np.ones(len(rows), np.int64)
    size, layer = nest.bits.W // 8, nest.layer
    elements = spread.shared(
        outputs, outputs.sizes * (layer.weight_elements // layer.output_channels), rows, times, "W"
    )
    words = spread.shared(outputs, _words_by_range(nest, outputs), rows, times, "W")
    return [("W", "read", (elements, elements * size, words))]


def _words_by_range(nest: Schedule, outputs: Ranges) -> Ints:
    """Words of all weight tiles of a range of m."""
    size, port = nest.bits.W // 8, nest.ports.weight_bytes
    lines = WeightLines.of(nest.lanes, size, port)
    if lines:
        channels, *kernel = (ranges_of(nest, dim, len(nest.loops)) for dim in REDUCTION_DIMS)
        times = prod(len(ranges) for ranges in kernel)
        pieces, sizes = ranges_of(nest, "m", len(nest.loops)), Counter(channels.sizes.tolist())
        of_piece = [sum(lines.words(m, c) * often for c, often in sizes.items()) for m in pieces.sizes.tolist()]
        return times * _sums_within(outputs, pieces, np.array(of_piece, np.int64))
    iteration = depths(nest, "W")[1]
    rest = [ranges_of(nest, dim, iteration).sizes for dim in REDUCTION_DIMS]
    numbers, at = np.unique(outputs.sizes, return_inverse=True)
    words = [weight_words([np.array([number]), *rest], size, port) for number in numbers]
    return np.array(words, np.int64)[at.ravel()]


def _outputs(spread: _Spread) -> Shares:
    nest, bits = spread.nest, spread.nest.bits
    execution, iteration = depths(nest, "O")
    rounds = 1
    for dim in REDUCTION_DIMS:
        rounds *= len(ranges_of(nest, dim, execution))
    channels, rows, columns = (ranges_of(nest, dim, iteration) for dim in OUTPUT_DIMS)
    final, partial = bits.O // 8, bits.acc // 8
    row_words = words_of(columns.start, columns.stop, final, nest.ports.output_bytes)
    # Sums move a vector of lanes at a time.
    vectors = ranges_of(nest, "x", len(nest.loops))
    sum_words = words_of(vectors.start, vectors.stop, -(-partial // WORD_BYTES) * WORD_BYTES, nest.ports.output_bytes)
    lines = spread.shared(channels, channels.sizes, rows, rows.sizes)
    elements = lines * nest.layer.output_width
    swapped = elements * (rounds - 1)
    moved = swapped, swapped * partial, lines * (rounds - 1) * sum_words
    return [
        ("O", "read_partial", moved),
        ("O", "write_partial", moved),
        ("O", "write", (elements, elements * final, lines * row_words)),
    ]


def _biases(spread: _Spread) -> Shares:
    channels, rows, columns = (ranges_of(spread.nest, dim, spread.around_biases) for dim in OUTPUT_DIMS)
    # They move a vector of lanes at a time.
    vectors, word = ranges_of(spread.nest, "m", len(spread.nest.loops)), spread.nest.ports.output_bytes
    record = record_bytes(spread.nest.requantisation)
    of_vector = (vectors.stop * record - 1) // word - vectors.start * record // word + 1
    once = np.ones(len(rows), np.int64)
    biases = spread.shared(channels, channels.sizes, rows, once) * len(columns)
    words = spread.shared(channels, _sums_within(channels, vectors, of_vector), rows, once) * len(columns)
    return [("B", "read", (biases, record * biases, words))]


def _sums_within(ranges: Ranges, pieces: Ranges, values: Ints) -> Ints:
    """For each range the sum of the values of the pieces that it is cut into."""
    found = np.zeros(len(ranges), np.int64)
    np.add.at(found, np.searchsorted(ranges.start, pieces.start, "right") - 1, values)
    return found


# --- words that several HWCs read ---


def replicated_words(schedule: Schedule, hwcs: int) -> PerOperand:
    """For each word of a tile, all reads but those of the HWC that reads it most often; the nest is normalised."""
    if hwcs == 1 or not over_loops(schedule):
        return PerOperand(0, 0, 0)
    spread, depth = _Spread(schedule, hwcs), tile_depth(schedule)
    return PerOperand(_replicated_inputs(schedule, spread, depth), _replicated_weights(schedule, spread, depth), 0)


def _replicated_inputs(schedule: Schedule, spread: _Spread, depth: int) -> int:
    """Reads of a word are those of its channel's group by slices of m, times those of its row by slices of y."""
    nest = spread.nest
    columns = window_of(nest, "x", "l").fetched()
    words = 0
    by_group, by_row = _group_reads(schedule, spread, depth), _row_reads(schedule, spread, depth)
    for of_m, tiles_m in by_group.items():
        for of_y, tiles_y in by_row.items():
            groups, rows = of_m.reads(), of_y.reads()
            reads = np.zeros((spread.hwcs, groups.shape[1], rows.shape[1]), np.int64)
            np.add.at(
                reads,
                spread.hwc(of_m.slices(), of_y.slices()),
                groups[:, None, :, None] * rows[None, :, None, :],
            )
            words += tiles_m * tiles_y * int((reads.sum(axis=0) - reads.max(axis=0)).sum())
    return words * nest.layer.channels_per_group * column_words(columns, nest.bits.I // 8, nest.ports.input_bytes)


@dataclass(frozen=True)
class _Reads:
    """How often each slice of a tile reads each group or row."""

    slice_bytes: bytes
    read_bytes: bytes

    @classmethod
    def of(cls, slices: Slices, reads: Ints) -> "_Reads":
        return cls(slices.tobytes(), reads.tobytes())

    def slices(self) -> Slices:
        return np.frombuffer(self.slice_bytes, np.int64).reshape(3, -1)

    def reads(self) -> Ints:
        return np.frombuffer(self.read_bytes, np.int64).reshape(self.slices().shape[1], -1)


def _group_reads(schedule: Schedule, spread: _Spread, depth: int) -> Counter[_Reads]:
    tiles, ranges = ranges_of(schedule, "m", depth), ranges_of(spread.nest, "m", depths(spread.nest, "I")[1])
    lowest, beyond, kept = new_groups(spread.nest)
    found: Counter[_Reads] = Counter()
    for start, stop in _within(tiles, ranges):
        slices, at = spread.distinct("m", ranges, start, stop)
        first = int(lowest[start])
        reads = np.zeros((slices.shape[1], int(beyond[stop - 1]) - first), np.int64)
        for index in range(start, stop):
            reads[at[index - start], lowest[index] + kept[index] - first : beyond[index] - first] += 1
        found[_Reads.of(slices, reads)] += 1
    return found


def _row_reads(schedule: Schedule, spread: _Spread, depth: int) -> Counter[_Reads]:
    window: Window = window_of(spread.nest, "y", "k").fetched()
    tiles_k = _within(ranges_of(schedule, "k", depth), window.kernel_ranges)
    found: Counter[_Reads] = Counter()
    for start, stop in _within(ranges_of(schedule, "y", depth), window.map_ranges):
        slices, at = spread.distinct("y", window.map_ranges, start, stop)
        for first_tap, end_tap in tiles_k:
            low, high = window.start[:, start:stop, first_tap:end_tap], window.stop[:, start:stop, first_tap:end_tap]
            if not (high > low).any():
                continue
            first, residues = int(low[high > low].min()), low.shape[0]
            reads = np.zeros((slices.shape[1], residues, int(high.max()) - first), np.int64)
            for residue, index, tap in zip(*np.nonzero(high > low), strict=True):
                interval = slice(low[residue, index, tap] - first, high[residue, index, tap] - first)
                reads[at[index], residue, interval] += 1
            found[_Reads.of(slices, reads)] += 1
    return found


def _within(tiles: Ranges, ranges: Ranges) -> list[tuple[int, int]]:
    """For each tile, its ranges."""
    return list(pairwise(np.append(np.searchsorted(ranges.start, tiles.start), len(ranges)).tolist()))


def _replicated_weights(schedule: Schedule, spread: _Spread, depth: int) -> int:
    """Slices of y read the words of a slice of m once for each execution."""
    nest = spread.nest
    execution, iteration = depths(nest, "W")
    outputs, rows = ranges_of(nest, "m", iteration), ranges_of(nest, "y", execution)
    slices_m, words = _summed(spread.slices("m", outputs), _words_by_range(nest, outputs))
    tiles: Counter[_Reads] = Counter()
    for start, stop in _within(ranges_of(schedule, "y", depth), rows):
        slices, at = spread.distinct("y", rows, start, stop)
        tiles[_Reads.of(slices, np.bincount(at))] += 1
    total = 0
    for tile, times in tiles.items():
        reads = np.zeros((spread.hwcs, len(words)), np.int64)
        hwc = spread.hwc(slices_m, tile.slices())
        np.add.at(reads, (hwc, np.arange(len(words))[:, None]), tile.reads()[:, 0][None])
        total += times * int((words * (reads.sum(axis=0) - reads.max(axis=0))).sum())
    return total * len(ranges_of(nest, "x", execution))
