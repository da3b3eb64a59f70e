"""Exact counts and buffer needs of a schedule in closed form.

The numbers are those of `hwgen.model.core.walk`, element for element. They follow from three facts.

1. The iterations of a nest are the product, over the dimensions, of the ranges that the loops of one dimension
   cut it into. So every sum over iterations factors into three sums over the axes (m, c), (y, k) and (x, l), on which
   channels, rows and columns of the input depend, and one over the images, which have nothing in common but weights.
2. From one iteration of the marked loop to the next only one axis changes, so what is new is again a product.
3. Rows ``y * stride + k`` of one residue class modulo the stride are consecutive in ``q = row // stride``, however
   the kernel is cut and whether or not the stride exceeds it. Touches are intervals in q, clipped to the image, and
   so are their differences: both ends of the next iteration's interval are at or after those of the last one's.

Where Stoutchinin et al. 2019 approximate, this is exact: the footprints of their Eq. 1 ignore halos, clipping at the
image's edge and the smaller last tiles; the first case of Eq. 2 takes a loop over the kernel outside one over the map
to carry reuse of I, which it does not where the stride keeps the touches apart, and its second case is a marker
placed one loop further in; the product of Eq. 3 starts one loop too far in and counts every tile as a full one (their
"overestimation ... within 0.5 %" for strided layers).
"""

from collections import Counter
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import memory_units
from hwgen.arch.lanes import datapath
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights.lines import WeightLines
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.layer import IMAGE, LOOP_DIMS, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS, Dim, Layer
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.core.biases import bias_depth, biases_kept
from hwgen.model.core.prediction import PerOperand, Prediction, require_one_level
from hwgen.model.core.ranges import Ints, Ranges, ranges_of
from hwgen.model.core.words import weight_words, words_of

__all__ = [
    "allocation",
    "column_words",
    "depths",
    "new_groups",
    "operand_traffic",
    "predict",
    "window_of",
]

Accesses = dict[tuple[str, Operand, Direction], Access]


def predict(schedule: Schedule) -> Prediction:
    """Counts, buffer needs and allocation of a schedule; raises `InputError` for more than one memory level."""
    require_one_level(schedule)
    inputs, needed_inputs, stored_inputs = _inputs(schedule)
    weights, needed_weights = _weights(schedule)
    outputs, needed_outputs, allocated_outputs = _outputs(schedule)
    need = PerOperand(needed_inputs, needed_weights, needed_outputs)
    need_bytes = need.in_bytes(schedule.bits)
    unit_i, unit_w, _ = memory_units(datapath(schedule.lanes, schedule.bits.W), ports=schedule.ports)
    copies = schedule.lanes.y * schedule.lanes.c
    lines = WeightLines.of(schedule.lanes, schedule.bits.W // 8, schedule.ports.weight_bytes)
    allocated = PerOperand(
        I=_round_up(stored_inputs * schedule.bits.I // 8 * copies, unit_i),
        W=_weight_lines(schedule) * lines.stored if lines else _round_up(need_bytes.W, unit_w),
        O=allocated_outputs * schedule.bits.acc // 8,
    )
    iterations = 1
    for dim in LOOP_DIMS:
        iterations *= len(ranges_of(schedule, dim, len(schedule.loops)))
    counts = Counts({**inputs, **weights, **outputs})
    return Prediction(
        counts, need, need_bytes, allocated, iterations, biases_kept(schedule), record_bytes(schedule.requantisation)
    )


def operand_traffic(schedule: Schedule, array: ArrayName) -> tuple[dict[Direction, Access], int]:
    """What one operand moves by direction, and the elements that its buffer must hold; its marker alone matters."""
    match array:
        case "I":
            accesses, need, _ = _inputs(schedule)
        case "W":
            accesses, need = _weights(schedule)
        case "O":
            accesses, need, _ = _outputs(schedule)
    return {way: access for (_, operand, way), access in accesses.items() if operand == array}, need


def allocation(schedule: Schedule) -> PerOperand:
    """Bytes of the I, W and O memories that the hardware needs for this schedule.

    I: what the largest tile stores, rounded up to a word or to the lanes along x in bytes, whichever is more, once
    for each lane along y (which read rows of their own, so that the memory holds a copy for each). Lanes along c have
    a memory each, so channels are rounded up to them. Columns with gaps
    (the tile's kernel extent is below the stride and it has several output columns) are stored kernel extent by
    output column, counted from the first output column that is not wholly in the left padding. W: the need, rounded
    up to a word or to the lanes along m in bytes; with lanes along c a line of `WeightLines` for each innermost
    iteration within the largest tile. O: a full lane vector of sums for each innermost iteration within
    the largest tile.
    """
    return predict(schedule).allocation


def depths(schedule: Schedule, array: ArrayName) -> tuple[int, int]:
    """Numbers of loops around one execution and around one iteration of the loop where an array is buffered."""
    marked = schedule.marked_loop(array)
    return (len(schedule.loops),) * 2 if marked is None else (marked, marked + 1)


def _moving(schedule: Schedule, array: ArrayName) -> Dim | None:
    """The dimension of the loop where an array is buffered."""
    marked = schedule.marked_loop(array)
    return None if marked is None else schedule.loops[marked].dim


# --- W and O: the elements of different ranges are disjoint ---


def _weights(schedule: Schedule) -> tuple[Accesses, int]:
    """All weights once per range of maps and images: a loop over these reuses its tile, any other one replaces it."""
    execution, iteration = depths(schedule, "W")
    tiles = [ranges_of(schedule, dim, iteration).sizes for dim in WEIGHT_DIMS]
    times = prod(len(ranges_of(schedule, dim, execution)) for dim in (IMAGE, "y", "x"))
    elements, size = times * schedule.layer.weight_elements, schedule.bits.W // 8
    port = schedule.ports.weight_bytes
    lines = WeightLines.of(schedule.lanes, size, port)
    words = times * (line_words(schedule, lines) if lines else weight_words(tiles, size, port))
    need = 1
    for sizes in tiles:
        need *= int(sizes.max())
    return {("tcdm", "W", "read"): Access(elements, elements * size, words)}, need


def line_words(schedule: Schedule, lines: WeightLines) -> int:
    """Words of the lines of all weights, each fetched once."""
    pieces = {dim: ranges_of(schedule, dim, len(schedule.loops)) for dim in WEIGHT_DIMS}
    words = sum(
        lines.words(m, c) * many * often
        for m, many in Counter(pieces["m"].sizes.tolist()).items()
        for c, often in Counter(pieces["c"].sizes.tolist()).items()
    )
    return words * len(pieces["k"]) * len(pieces["l"])


def _weight_lines(schedule: Schedule) -> int:
    """Innermost iterations over weights within the largest tile of W."""
    _, iteration = depths(schedule, "W")
    number = 1
    for dim in WEIGHT_DIMS:
        number *= _most_vectors(schedule, dim, iteration)
    return number


def _outputs(schedule: Schedule) -> tuple[Accesses, int, int]:
    """Counts of O and B, the need in elements, and the allocation in elements.

    Outputs are dropped once per range of the reduction around the marked loop: after the last range as the final
    output, after all others as partial sums, which are read back for the next range.
    """
    layer, bits = schedule.layer, schedule.bits
    execution, iteration = depths(schedule, "O")
    rounds = 1
    for dim in REDUCTION_DIMS:
        rounds *= len(ranges_of(schedule, dim, execution))
    columns = ranges_of(schedule, "x", iteration)
    final, partial = bits.O // 8, bits.acc // 8
    total, returned = layer.output_elements, (rounds - 1) * layer.output_elements
    port = schedule.ports.output_bytes
    row_words = words_of(columns.start, columns.stop, final, port)
    # Sums and biases move a vector of lanes at a time.
    vectors = ranges_of(schedule, "x", len(schedule.loops))
    sum_words = words_of(vectors.start, vectors.stop, -(-partial // WORD_BYTES) * WORD_BYTES, port)
    swapped = Access(returned, returned * partial, returned // layer.output_width * sum_words)
    around = bias_depth(schedule)
    biases = layer.output_channels * prod(len(ranges_of(schedule, dim, around)) for dim in (IMAGE, "y", "x"))
    channels = ranges_of(schedule, "m", len(schedule.loops))
    record = record_bytes(schedule.requantisation)
    bias_words = words_of(channels.start, channels.stop, record, port)
    need = allocated = 1
    for dim in (IMAGE, *OUTPUT_DIMS):
        need *= int(ranges_of(schedule, dim, iteration).sizes.max())
        allocated *= _most_vectors(schedule, dim, iteration) * schedule.lanes.along(dim)
    accesses: Accesses = {
        ("tcdm", "O", "read_partial"): swapped,
        ("tcdm", "O", "write_partial"): swapped,
        ("tcdm", "O", "write"): Access(total, total * final, row_words * (total // layer.output_width)),
        ("tcdm", "B", "read"): Access(biases, record * biases, biases // layer.output_channels * bias_words),
    }
    return accesses, need, allocated


def _most_vectors(schedule: Schedule, dim: Dim, depth: int) -> int:
    """The largest number of innermost iterations that one range of a dimension takes."""
    ranges, innermost = ranges_of(schedule, dim, depth), ranges_of(schedule, dim, len(schedule.loops))
    return int(np.diff(np.searchsorted(innermost.start, np.append(ranges.start, ranges.stop[-1]))).max())


# --- I: channels by rows by columns ---


@dataclass(frozen=True)
class _Channels:
    """Channels fetched over all iterations, and the most that one iteration touches."""

    fetched: int
    largest: int


def _inputs(schedule: Schedule) -> tuple[Accesses, int, int]:
    """Counts of I, the need in elements, and the elements that the largest tile stores."""
    layer = schedule.layer
    rows = window_of(schedule, "y", "k")
    columns = window_of(schedule, "x", "l")
    channels = _channels(schedule)
    fetched_columns = columns.fetched()
    size = schedule.bits.I // 8
    lines = layer.batch * channels.fetched * int(rows.fetched().lengths.sum())
    elements = lines * int(fetched_columns.lengths.sum())
    words = lines * column_words(fetched_columns, size, schedule.ports.input_bytes)
    images = int(ranges_of(schedule, IMAGE, depths(schedule, "I")[1]).sizes.max())
    tile = images * channels.largest * int(rows.lengths.sum(axis=0).max())
    need = tile * int(columns.lengths.sum(axis=0).max())
    channels_stored = images * -(-channels.largest // schedule.lanes.c)
    stored = channels_stored * int(rows.lengths.sum(axis=0).max()) * _stored_columns(layer, columns)
    return {("tcdm", "I", "read"): Access(elements, elements * size, words)}, need, stored


def _channels(schedule: Schedule) -> _Channels:
    """Channels of the input: those of a range of c, in each group that a range of m belongs to."""
    _, iteration = depths(schedule, "I")
    inputs = ranges_of(schedule, "c", iteration)
    lowest, beyond, kept = new_groups(schedule)
    groups = beyond - lowest
    fetched = int((groups - kept).sum())
    return _Channels(fetched * schedule.layer.channels_per_group, int(groups.max() * inputs.sizes.max()))


def new_groups(schedule: Schedule) -> tuple[Ints, Ints, Ints]:
    """For each range of m at I's loop: its first group, the end of its groups, and how many are reused (0 or 1)."""
    _, iteration = depths(schedule, "I")
    outputs, size = ranges_of(schedule, "m", iteration), schedule.layer.outputs_per_group
    lowest, highest = outputs.start // size, (outputs.stop - 1) // size
    kept = np.zeros(len(outputs), np.int64)
    if _moving(schedule, "I") == "m":
        kept[1:] = ~outputs.first[1:] & (lowest[1:] == highest[:-1])
    return lowest, highest + 1, kept


@dataclass(frozen=True)
class Window:
    """Rows (or columns) that each range of the map touches with each range of the kernel.

    ``start`` and ``stop`` are intervals of q, clipped to the image, indexed [residue class, map range, kernel range];
    the coordinate is ``q * stride + residue - padding``. ``along`` is the index that the marked loop moves, if any.
    """

    start: Ints
    stop: Ints
    stride: int
    padding: int
    map_ranges: Ranges
    kernel_ranges: Ranges
    along: int | None

    @property
    def lengths(self) -> Ints:
        lengths: Ints = np.maximum(self.stop - self.start, 0)
        return lengths

    def fetched(self) -> "Window":
        """The same with only the new part of each iteration: what is after the interval of the previous iteration."""
        if self.along is None:
            return self
        first = (self.map_ranges, self.kernel_ranges)[self.along - 1].first
        start, stop = np.moveaxis(self.start, self.along, -1).copy(), np.moveaxis(self.stop, self.along, -1)
        continued = ~first[1:]
        start[..., 1:] = np.where(continued, np.maximum(start[..., 1:], stop[..., :-1]), start[..., 1:])
        return replace(self, start=np.moveaxis(start, -1, self.along))


def window_of(schedule: Schedule, over_map: Dim, over_kernel: Dim) -> Window:
    """Touches of every iteration of the loop where I is buffered, along one image axis."""
    layer, axis = schedule.layer, 0 if over_map == "y" else 1
    stride, padding, kernel = layer.stride[axis], layer.padding[axis], layer.kernel[axis]
    image = (layer.input_height, layer.input_width)[axis]
    _, iteration = depths(schedule, "I")
    outputs, taps = ranges_of(schedule, over_map, iteration), ranges_of(schedule, over_kernel, iteration)
    residue = np.arange(min(stride, kernel))[:, None, None]
    first_tap = -(-(taps.start[None, None, :] - residue) // stride)
    end_tap = -(-(taps.stop[None, None, :] - residue) // stride)
    lowest, beyond = -(-(padding - residue) // stride), -(-(image + padding - residue) // stride)
    start = np.maximum(outputs.start[None, :, None] + first_tap, lowest)
    stop = np.minimum(outputs.stop[None, :, None] + end_tap - 1, beyond)
    stop = np.where(first_tap < end_tap, stop, lowest)
    moving = _moving(schedule, "I")
    along = 1 if moving == over_map else 2 if moving == over_kernel else None
    return Window(start, stop, stride, padding, outputs, taps, along)


def column_words(window: Window, size: int, word: int) -> int:
    """Aligned words of ``word`` bytes that hold a byte of the window's columns, summed over its iterations.

    A run of columns is a matter of its two ends. Sets with gaps recur at every whole number of words, so only those
    that differ by more than a shift are looked at column by column.
    """
    classes = window.start.shape[0]
    start, stop = window.start.reshape(classes, -1).T, window.stop.reshape(classes, -1).T
    met = (stop > start).any(axis=1)
    start, stop = start[met], stop[met]
    offset = np.arange(classes) - window.padding
    some = stop > start
    low = np.where(some, start * window.stride + offset, np.iinfo(np.int64).max).min(axis=1)
    high = np.where(some, (stop - 1) * window.stride + offset, -1).max(axis=1) + 1
    runs = np.where(some, stop - start, 0).sum(axis=1) == high - low
    words = int(((high[runs] * size - 1) // word - low[runs] * size // word + 1).sum())
    if runs.all():
        return words
    start, stop, low = start[~runs], stop[~runs], low[~runs]
    some = stop > start
    period = np.lcm(window.stride, word)
    shift = low // period * (period // window.stride)
    shapes = np.hstack([np.where(some, start - shift[:, None], 0), np.where(some, stop - shift[:, None], 0)])
    distinct, occurrences = np.unique(shapes, axis=0, return_counts=True)
    for shape, number in zip(distinct, occurrences, strict=True):
        columns = np.concatenate(
            [
                np.arange(shape[residue], shape[classes + residue]) * window.stride + offset[residue]
                for residue in range(classes)
            ]
        )
        touched = columns[:, None] * size + np.arange(size)
        words += int(number) * len(np.unique(touched // word))
    return words


def _stored_columns(layer: Layer, window: Window) -> int:
    """Columns that the I memory holds for the widest tile; with gaps, kernel extent by output column."""
    taps, outputs = window.kernel_ranges.sizes[None, :], window.map_ranges.sizes[:, None]
    corner = window.map_ranges.start[:, None] * window.stride + window.kernel_ranges.start[None, :]
    clipped = np.maximum(layer.padding[1] - corner, 0) // window.stride
    gappy = (taps < window.stride) & (outputs > 1)
    stored = np.where(gappy, taps * np.maximum(outputs - clipped, 0), window.lengths.sum(axis=0))
    return int(stored.max())


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
