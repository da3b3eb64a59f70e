"""What crosses into a memory for one operand, in closed form: the same for every level of any nest.

A memory holds an operand while the loop below its marker runs (`Held`). The numbers are those of the literal walk,
element for element. They follow from three facts.

1. The iterations of a nest are the product, over the dimensions, of the ranges that the loops of one dimension
   cut it into. So every sum over iterations factors into three sums over the axes (m, c), (y, k) and (x, l), on which
   channels, rows and columns of the input depend, and one over the images, which have nothing in common but weights.
2. From one iteration of the marked loop to the next only one axis changes, so what is new is again a product.
3. What an iteration touches of rows and columns are intervals (`hwgen.model.nest.ranges`).

Several HWCs share out the ranges of m and of y, so that the figures of each are kept apart (`Flow`).

Where Stoutchinin et al. 2019 approximate, this is exact: the footprints of their Eq. 1 ignore halos, clipping at the
image's edge and the smaller last tiles; the first case of Eq. 2 takes a loop over the kernel outside one over the map
to carry reuse of I, which it does not where the stride keeps the touches apart, and its second case is a marker
placed one loop further in; the product of Eq. 3 starts one loop too far in and counts every tile as a full one (their
"overestimation ... within 0.5 %" for strided layers). Yang et al. 2016 multiply refetch rates from the outermost
level inward (their Eq. 1), which takes every tile for a full one, and every halo for a part of it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Self

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.counts import Access, Direction
from hwgen.ir.lanes import Ports
from hwgen.ir.layer import IMAGE, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS, Dim
from hwgen.ir.level import LOCAL, TCDM, Level
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.nest.ranges import Ints, Nest, Ranges, Window, column_words, window_of

__all__ = ["Crossing", "Flow", "Held", "bias_flow", "crossing", "input_windows", "new_groups", "words_by_range"]


@dataclass(frozen=True, slots=True)
class Held:
    """Where in a nest a memory holds an operand.

    Members
    -------
    execution, iteration : numbers of loops around one execution, and around one iteration, of the marked loop.
    moving : its dimension: what consecutive iterations both touch is reused; None: nothing is.
    """

    execution: int
    iteration: int
    moving: Dim | None

    @classmethod
    def above(cls, schedule: Schedule, marked: int | None, *, halves: bool = False) -> Self:
        """What is held by a marker above the loop of that index; None: by the datapath, which keeps nothing.

        ``halves``: in two halves, so that an iteration reuses nothing of the one before.
        """
        if marked is None:
            return cls(len(schedule.loops), len(schedule.loops), None)
        if halves:
            return cls(marked + 1, marked + 1, None)
        return cls(marked, marked + 1, schedule.loops[marked].dim)

    @classmethod
    def at(cls, schedule: Schedule, array: ArrayName, level: Level = LOCAL) -> Self:
        """What is held by the schedule's marker for that level."""
        halves = level == TCDM and schedule.in_halves(array)
        return cls.above(schedule, schedule.marked_loop(array, level), halves=halves)


@dataclass(frozen=True)
class Flow:
    """What crosses in one direction: a sum over pairs of a range of m and a range of y.

    Members
    -------
    of_m, of_y : a figure of each range; the elements of a pair are their product, ``each`` times.
    words_of_m : the figure of a range of m for words, which are the product with that of y, ``words`` times.
    size : bytes of an element.
    """

    m: Ranges
    y: Ranges
    of_m: Ints
    of_y: Ints
    each: int
    words_of_m: Ints
    words: int
    size: int

    @cached_property
    def access(self) -> Access:
        """All pairs together."""
        times = int(self.of_y.sum())
        elements = int(self.of_m.sum()) * times * self.each
        return Access(elements, elements * self.size, int(self.words_of_m.sum()) * times * self.words)


@dataclass(frozen=True, slots=True)
class Crossing:
    """What crosses into one memory and out of it for one operand; ``need``: the most elements of an iteration."""

    held: Held
    flows: Mapping[Direction, Flow]
    need: int

    @property
    def accesses(self) -> dict[Direction, Access]:
        """Accesses by direction."""
        return {way: flow.access for way, flow in self.flows.items()}


def crossing(nest: Nest, array: ArrayName, held: Held, ports: Ports | None = None) -> Crossing:
    """What crosses for an operand that is held there; words are those of the schedule's ports, or of others."""
    ports = ports or nest.schedule.ports
    match array:
        case "I":
            return _inputs(nest, held, ports.input_bytes)
        case "W":
            return _weights(nest, held, ports.weight_bytes)
        case "O":
            return _outputs(nest, held, ports.output_bytes)


# --- I: channels by rows by columns ---


def _inputs(nest: Nest, held: Held, port: int) -> Crossing:
    layer, (rows, columns) = nest.layer, input_windows(nest, held)
    lowest, beyond, kept = new_groups(nest, held)
    fetched = columns.fetched
    of_m, size = (beyond - lowest - kept) * layer.channels_per_group, nest.bits.I // 8
    of_y = layer.batch * rows.fetched.lengths.sum(axis=(0, 2))
    each, words = int(fetched.lengths.sum()), column_words(fetched, size, port)
    outputs = nest.ranges("m", held.iteration)
    need = input_channels(nest, held, lowest, beyond) * rows.largest * columns.largest
    return Crossing(held, {"read": Flow(outputs, rows.map_ranges, of_m, of_y, each, of_m, words, size)}, need)


def input_windows(nest: Nest, held: Held) -> tuple[Window, Window]:
    """Rows and columns of the input that the iterations touch."""
    rows, taps, columns, cross = (nest.ranges(dim, held.iteration) for dim in ("y", "k", "x", "l"))
    layer, moving = nest.layer, held.moving
    return window_of(layer, "y", rows, taps, moving), window_of(layer, "x", columns, cross, moving)


def input_channels(nest: Nest, held: Held, lowest: Ints, beyond: Ints, lanes: int = 1) -> int:
    """The most channels that an iteration touches, over all images; of those in one of so many lanes along c."""
    images, inputs = (nest.ranges(dim, held.iteration).largest for dim in (IMAGE, "c"))
    return images * -(-int((beyond - lowest).max()) * inputs // lanes)


def new_groups(nest: Nest, held: Held) -> tuple[Ints, Ints, Ints]:
    """The first group of each range of m, the end of its groups, and how many are reused (0 or 1)."""
    outputs, size = nest.ranges("m", held.iteration), nest.layer.outputs_per_group
    lowest, highest = outputs.start // size, (outputs.stop - 1) // size
    kept = np.zeros(len(outputs), np.int64)
    if held.moving == "m":
        kept[1:] = ~outputs.first[1:] & (lowest[1:] == highest[:-1])
    return lowest, highest + 1, kept


# --- W, O and biases: the elements of different ranges are disjoint ---


def _weights(nest: Nest, held: Held, port: int) -> Crossing:
    """All weights once per range of maps and images: a loop over these reuses its tile, any other one replaces it."""
    outputs, rows = nest.ranges("m", held.iteration), nest.ranges("y", held.execution)
    times = prod(len(nest.ranges(dim, held.execution)) for dim in (IMAGE, "x"))
    of_m = outputs.sizes * (nest.layer.weight_elements // nest.layer.output_channels)
    words, need = words_by_range(nest, held, port), 1
    for dim in WEIGHT_DIMS:
        need *= nest.ranges(dim, held.iteration).largest
    of_y = np.full(len(rows), times, np.int64)
    return Crossing(held, {"read": Flow(outputs, rows, of_m, of_y, 1, words, 1, nest.bits.W // 8)}, need)


def words_by_range(nest: Nest, held: Held, port: int) -> Ints:
    """Words of all weights of each range of m, every tile, or every line of a tile, starting on a word."""
    outputs = nest.ranges("m", held.iteration)
    lines = WeightLines.of(nest.schedule.lanes, nest.bits.W, port)
    if lines:
        channels, *kernel = (nest.ranges(dim, nest.depth) for dim in REDUCTION_DIMS)
        pieces, times = nest.ranges("m", nest.depth), prod(len(ranges) for ranges in kernel)
        many = Counter(channels.sizes.tolist()).items()
        of_piece = pieces.mapped(lambda m: sum(lines.words(m, c) * often for c, often in many))
        return times * outputs.sums_of(pieces, of_piece)
    rest = [Counter(nest.ranges(dim, held.iteration).sizes.tolist()).items() for dim in REDUCTION_DIMS]
    volumes = [(a * b * c, often * of_b * of_c) for (a, often), (b, of_b), (c, of_c) in product(*rest)]
    word, bits = 8 * port, nest.bits.W
    return outputs.mapped(lambda m: sum(often * -(-m * volume * bits // word) for volume, often in volumes))


def _outputs(nest: Nest, held: Held, port: int) -> Crossing:
    """Outputs are dropped once per range of the reduction around the marked loop: after the last range as the final
    output, after all others as partial sums, which are read back for the next range."""
    layer, bits = nest.layer, nest.bits
    rounds = prod(len(nest.ranges(dim, held.execution)) for dim in REDUCTION_DIMS)
    channels, rows, columns = (nest.ranges(dim, held.iteration) for dim in OUTPUT_DIMS)
    final, partial = bits.O // 8, bits.acc // 8
    row_words = columns.words(final, port)
    # Sums move a vector of lanes at a time.
    vectors = nest.ranges("x", nest.depth)
    sum_words = vectors.words(-(-partial // WORD_BYTES) * WORD_BYTES, port)
    of_m, of_y, width = channels.sizes, rows.sizes * layer.batch, layer.output_width
    back = Flow(channels, rows, of_m, of_y, (rounds - 1) * width, of_m, (rounds - 1) * sum_words, partial)
    need = 1
    for dim in (IMAGE, *OUTPUT_DIMS):
        need *= nest.ranges(dim, held.iteration).largest
    leaving = Flow(channels, rows, of_m, of_y, width, of_m, row_words, final)
    return Crossing(held, {"read_partial": back, "write_partial": back, "write": leaving}, need)


def bias_flow(nest: Nest, around: int) -> Flow:
    """The biases that HWCs fetch if they keep each one within an iteration of ``around`` loops."""
    channels, rows, columns, images = (nest.ranges(dim, around) for dim in (*OUTPUT_DIMS, IMAGE))
    # They move a vector of lanes at a time.
    vectors, record = nest.ranges("m", nest.depth), record_bytes(nest.schedule.requantisation)
    words = channels.sums_of(vectors, vectors.words_of_each(record, nest.schedule.ports.output_bytes))
    of_y = np.full(len(rows), len(columns) * len(images), np.int64)
    return Flow(channels, rows, channels.sizes, of_y, 1, words, 1, record)
