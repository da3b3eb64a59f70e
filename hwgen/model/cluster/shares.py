"""The accesses of each of several HWCs, and the words that several of them read.

Slices are spread along m and y only. Sums over iterations factor into sums over the axes (m, c), (y, k) and (x, l),
see `hwgen.model.nest.traffic`. So the share of an HWC is the sum over the pairs of ranges of m and y in its slices.

Slices of one wave run side by side, one on each HWC. With multicast, those of a wave that have the same extents and
read the same words of I (their y is the same, and so are the groups of their m) read them together, at the port of
the first of them; W likewise where their m is the same.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.counts import Access, Counts, Direction, Key
from hwgen.ir.layer import IMAGE, Dim
from hwgen.ir.level import LOCAL, TCDM
from hwgen.ir.schedule import ArrayName
from hwgen.model.cluster.levels import over_loops, spread_side_by_side, tile_depth
from hwgen.model.nest.one_level import PerOperand
from hwgen.model.nest.ranges import Ints, Nest, Ranges, Window, column_words
from hwgen.model.nest.traffic import Crossing, Flow, Held, input_windows, new_groups, words_by_range

__all__ = ["Spread", "replicated_words", "shares"]

Slices = NDArray[np.int64]
"""Slices of m, or of y: in three rows, for each its number among the slices of its tile, how many these are, and the
first one whose I (of slices of m) or W (of slices of y) is the same at the same place of the loops."""


class Spread:
    """The HWC that a range of m and a range of y belong to; the nest is normalised."""

    def __init__(self, nest: Nest, hwcs: int, *, multicast: bool = False) -> None:
        schedule = nest.schedule
        self.nest, self.schedule, self.hwcs = nest, schedule, hwcs
        self._multicast = multicast and spread_side_by_side(schedule)
        self._places: dict[Dim, tuple[Ints, Slices]] = {}
        over = over_loops(schedule)
        for index in over:
            dim = schedule.loops[index].dim
            ranges = nest.ranges(dim, index + 1)
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
        """The sum of products over the pairs of ranges of each HWC; of an array that may be read together: over
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
    """The index of the first slice of its tile that has the size and groups of channels of each slice.

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


def shares(
    spread: Spread,
    crossings: Mapping[ArrayName, Crossing],
    biases: Flow,
    lanes: Mapping[tuple[ArrayName, Direction], Flow],
) -> tuple[Counts, ...]:
    """The accesses at the ports of each HWC at `tcdm`, and those of its lanes at its local memories."""
    flows: dict[Key, Flow] = {
        (TCDM.name, array, way): flow for array, one in crossings.items() for way, flow in one.flows.items()
    }
    flows[TCDM.name, "B", "read"] = biases
    flows |= {(LOCAL.name, *moved): flow for moved, flow in lanes.items()}
    found: list[dict[Key, Access]] = [{} for _ in range(spread.hwcs)]
    for key, flow in flows.items():
        level, operand, _ = key
        array: ArrayName | None = operand if level == TCDM.name and (operand == "I" or operand == "W") else None
        pairs = spread.shared(flow.m, flow.of_m, flow.y, flow.of_y, array)
        of_words = pairs
        if flow.words_of_m is not flow.of_m:
            of_words = spread.shared(flow.m, flow.words_of_m, flow.y, flow.of_y, array)
        for counts, elements, words in zip(found, pairs * flow.each, of_words * flow.words, strict=True):
            counts[key] = Access(int(elements), int(elements) * flow.size, int(words))
    return tuple(Counts(counts) for counts in found)


# --- words that several HWCs read ---


def replicated_words(spread: Spread) -> PerOperand:
    """All reads of each word of a tile but those of the HWC that reads it most often."""
    if spread.hwcs == 1 or not over_loops(spread.schedule):
        return PerOperand(0, 0, 0)
    depth = tile_depth(spread.schedule)
    return PerOperand(_replicated_inputs(spread, depth), _replicated_weights(spread, depth), 0)


def _replicated_inputs(spread: Spread, depth: int) -> int:
    """Reads of a word are those of its channel's group by slices of m, times those of its row by slices of y."""
    schedule, held = spread.schedule, Held.at(spread.schedule, "I")
    image_rows, columns = (window.fetched for window in input_windows(spread.nest, held))
    words = 0
    by_group, by_row = _group_reads(spread, held, depth), _row_reads(spread, image_rows, depth)
    for of_m, tiles_m in by_group.items():
        for of_y, tiles_y in by_row.items():
            groups, rows = of_m.reads(), of_y.reads()
            reads = np.zeros((spread.hwcs, groups.shape[1], rows.shape[1]), np.int64)
            np.add.at(
                reads, spread.hwc(of_m.slices(), of_y.slices()), groups[:, None, :, None] * rows[None, :, None, :]
            )
            words += tiles_m * tiles_y * int((reads.sum(axis=0) - reads.max(axis=0)).sum())
    each = column_words(columns, schedule.bits.I // 8, schedule.ports.input_bytes)
    return words * schedule.layer.batch * schedule.layer.channels_per_group * each


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


def _group_reads(spread: Spread, held: Held, depth: int) -> Counter[_Reads]:
    tiles, ranges = (spread.nest.ranges("m", around) for around in (depth, held.iteration))
    lowest, beyond, kept = new_groups(spread.nest, held)
    found: Counter[_Reads] = Counter()
    for start, stop in _within(tiles, ranges):
        slices, at = spread.distinct("m", ranges, start, stop)
        first = int(lowest[start])
        reads = np.zeros((slices.shape[1], int(beyond[stop - 1]) - first), np.int64)
        for index in range(start, stop):
            reads[at[index - start], lowest[index] + kept[index] - first : beyond[index] - first] += 1
        found[_Reads.of(slices, reads)] += 1
    return found


def _row_reads(spread: Spread, window: Window, depth: int) -> Counter[_Reads]:
    tiles_k = _within(spread.nest.ranges("k", depth), window.kernel_ranges)
    found: Counter[_Reads] = Counter()
    for start, stop in _within(spread.nest.ranges("y", depth), window.map_ranges):
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
    """The ranges of each tile."""
    return list(pairwise(np.append(np.searchsorted(ranges.start, tiles.start), len(ranges)).tolist()))


def _replicated_weights(spread: Spread, depth: int) -> int:
    """Slices of y read the words of a slice of m once for each execution."""
    schedule, held = spread.schedule, Held.at(spread.schedule, "W")
    outputs, rows = spread.nest.ranges("m", held.iteration), spread.nest.ranges("y", held.execution)
    by_range = words_by_range(spread.nest, held, schedule.ports.weight_bytes)
    slices_m, words = _summed(spread.slices("m", outputs), by_range)
    tiles: Counter[_Reads] = Counter()
    for start, stop in _within(spread.nest.ranges("y", depth), rows):
        slices, at = spread.distinct("y", rows, start, stop)
        tiles[_Reads.of(slices, np.bincount(at))] += 1
    total = 0
    for tile, times in tiles.items():
        reads = np.zeros((spread.hwcs, len(words)), np.int64)
        hwc = spread.hwc(slices_m, tile.slices())
        np.add.at(reads, (hwc, np.arange(len(words))[:, None]), tile.reads()[:, 0][None])
        total += times * int((words * (reads.sum(axis=0) - reads.max(axis=0))).sum())
    return total * prod(len(spread.nest.ranges(dim, held.execution)) for dim in (IMAGE, "x"))
