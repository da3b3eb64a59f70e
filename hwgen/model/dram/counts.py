"""Exact DRAM counts of a nest of two levels: beats, bursts, blocks, jumps and row misses; the least time of them.

The tensors are dense, in regions aligned to 4 KiB: I and O planar ``[channel][row][column]``, those of a batch image
by image, W ``[m][c][k][l]``. Or
W is packed in the order of the nest, with the gaps of packed weights, so that every tile of it is contiguous. Every
part of `hwgen.model.cluster.parts` is a set of bytes there; what is contiguous in it is one run, and runs come in
ascending order. A run is cut into AXI bursts at multiples of 256 beats, or 4 KiB if that is less.

The load, the store and the program stream each keep one row open in each bank. Only the order of blocks within a
stream matters, so none of these counts depends on timing.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import sub

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import PAGE_BYTES, SUM_BYTES, WORD_BYTES
from hwgen.arch.dram import BLOCK_BYTES, TICKS, DramPort, closed_rows, row_misses, ticks
from hwgen.arch.layout import consecutive
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import OrderedWeights, packed_size
from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.layer import Layer
from hwgen.ir.level import DRAM, TCDM
from hwgen.ir.schedule import Bits, Schedule
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.parts import Part, loads, stores
from hwgen.model.cluster.tile_order import Spans
from hwgen.model.dram.streams import Stream, Streams

__all__ = [
    "DramLayout",
    "DramRegion",
    "dram_counts",
    "dram_layout",
    "dram_ticks",
    "fetch_access",
    "program_access",
    "returns_sums",
    "runs_of",
    "tensor_layout",
    "weights_may_be_ordered",
]


Ints = NDArray[np.int64]
Key = tuple[Operand, Direction]
MOST_GAPS = 1 / 8
"""Gaps of packed weights, in parts of the dense ones, up to which they are worth their bytes."""
CHUNK = 1 << 20
"""Runs that are counted in one batch."""

_KEYS: tuple[Key, ...] = (
    ("I", "read"),
    ("W", "read"),
    ("B", "read"),
    ("O", "read_partial"),
    ("O", "write_partial"),
    ("O", "write"),
)


@dataclass(frozen=True)
class DramRegion:
    """A part of the DRAM: byte address, bytes, and bytes of an element."""

    base: int
    size: int
    element: int


@dataclass(frozen=True)
class DramLayout:
    """Consecutive regions, each aligned to 4 KiB. The program is last, so that nothing depends on its length.

    ``input_rows`` and ``output_rows`` are the rows from channel to channel: those of the layer, or of a larger one
    that it is a part of. Then the regions of input, output and partial sums are windows, from their first element on.
    ``ordered`` : W is packed in the order of the nest (`hwgen.arch.weights.pack_weights`), not dense.
    """

    inputs: DramRegion
    weights: DramRegion
    bias: DramRegion
    output: DramRegion
    partial: DramRegion
    program: int
    input_rows: int
    output_rows: int
    ordered: bool = False

    def region(self, operand: Operand, direction: Direction) -> DramRegion:
        """The region in which an operand is read or written."""
        if operand == "O":
            return self.output if direction == "write" else self.partial
        return {"I": self.inputs, "W": self.weights, "B": self.bias}[operand]


def dram_layout(schedule: Schedule, hwcs: int = 1, *, ordered: bool = False) -> DramLayout:
    """The regions of a schedule's tensors in the DRAM.

    ``ordered`` : with W in the order of the nest (`DramLayout`), where its gaps are no more than `MOST_GAPS`.
    """
    schedule = normalised(schedule, hwcs)
    layer, bits, returned = schedule.layer, schedule.bits, returns_sums(schedule)
    record = record_bytes(schedule.requantisation)
    if not ordered or not weights_may_be_ordered(schedule):
        return tensor_layout(layer, bits, returned=returned, record=record)
    found = tensor_layout(layer, bits, returned=returned, record=record, weight_bytes=packed_size(schedule))
    return replace(found, ordered=True)


def weights_may_be_ordered(schedule: Schedule) -> bool:
    """Whether the gaps of W in the order of a normalised nest are no more than `MOST_GAPS`."""
    dense = schedule.bits.bytes_of("W", schedule.layer.weight_elements)
    return bool(packed_size(schedule) <= dense * (1 + MOST_GAPS))


def returns_sums(schedule: Schedule) -> bool:
    """Whether partial sums go to the DRAM; the nest is normalised."""
    return any(part.direction == "write_partial" for part in stores(schedule))


def tensor_layout(
    layer: Layer, bits: Bits, *, returned: bool, record: int = SUM_BYTES, weight_bytes: int | None = None
) -> DramLayout:
    """The regions of a layer's tensors, one after the other; ``returned``: with one for partial sums. ``record``:
    bytes of a bias, with its channel's scale if that comes along. ``weight_bytes``: of W, if it is not dense."""
    elements = {
        "inputs": bits.I // 8,
        "weights": bits.W // 8,
        "bias": record,
        "output": bits.O // 8,
        "partial": bits.acc // 8,
    }
    sizes = {
        "inputs": layer.input_elements * elements["inputs"],
        "weights": bits.bytes_of("W", layer.weight_elements) if weight_bytes is None else weight_bytes,
        "bias": layer.output_channels * record,
        "output": layer.output_elements * elements["output"],
        "partial": layer.output_elements * elements["partial"] if returned else 0,
    }
    bases, end = consecutive(sizes, PAGE_BYTES)

    def region(name: str) -> DramRegion:
        return DramRegion(bases[name], sizes[name], elements[name])

    inputs, weights, bias, output, partial = map(region, sizes)
    return DramLayout(inputs, weights, bias, output, partial, end, layer.input_height, layer.output_height)


def dram_counts(
    schedule: Schedule,
    port: DramPort,
    hwcs: int = 1,
    layout: DramLayout | None = None,
    streams: Streams | None = None,
    unmoved: Collection[Operand] = (),
) -> Counts:
    """All counts at `dram` without the program, whose length is not known here: see `program_access`.

    ``layout`` : where the tensors are; by default that of `dram_layout`. ``streams`` : what the layers before it in
    one program have left; continued. ``unmoved`` : operands that stay in the TCDM.
    """
    schedule = normalised(schedule, hwcs)
    layout, streams = layout or dram_layout(schedule), streams or Streams(port)
    counts: dict[Key, Access] = {}
    for parts, stream in ((loads(schedule), streams.loads), (stores(schedule), streams.stores)):
        moved = (part for part in parts if part.operand not in unmoved)
        counts |= _count(schedule, layout, moved, stream)
    return Counts({("dram", *key): access for key, access in counts.items()})


def program_access(layout: DramLayout, port: DramPort, size: int) -> Access:
    """The accesses of fetching a program of ``size`` bytes, block by block, each block a burst."""
    return fetch_access(layout.program, port, size)


def fetch_access(address: int, port: DramPort, size: int) -> Access:
    """The same for a program at an address."""
    last = address + size - 1
    blocks, beats = (last // unit - address // unit + 1 for unit in (BLOCK_BYTES, port.beat_bytes))
    missed, _ = row_misses(np.array([address]), np.array([last + 1]), port.dram, closed_rows(port.dram))
    rows = int(missed[0])
    return Access(size // WORD_BYTES, size, beats=beats, axi_bursts=blocks, blocks=blocks, jumps=1, row_misses=rows)


# --- runs ---


def runs_of(schedule: Schedule, layout: DramLayout, part: Part) -> tuple[Ints, Ints]:
    """Start and end (exclusive) of every run of a part, ascending."""
    layer = schedule.layer
    extents: dict[Operand, tuple[int, ...]] = {
        "I": (layer.batch * layer.input_channels, layout.input_rows, layer.input_width),
        "W": (layer.output_channels, layer.channels_per_group, *layer.weight_kernel),
        "O": (layer.batch * layer.output_channels, layout.output_rows, layer.output_width),
        "B": (layer.output_channels,),
    }
    region = layout.region(part.operand, part.direction)
    if part.operand == "W" and layout.ordered:
        low, end = zip(*(span for (span,) in part.axes), strict=True)
        offset, size = _ordered(schedule).place(low, tuple(map(sub, end, low)))
        return np.array([region.base + offset]), np.array([region.base + offset + size])
    start, stop = _runs(part.axes, extents[part.operand])
    return region.base + start * region.element, region.base + stop * region.element


@lru_cache(maxsize=16)
def _ordered(schedule: Schedule) -> OrderedWeights:
    marked = schedule.marked_loop("W", TCDM)
    assert marked is not None
    return OrderedWeights(schedule, marked + 1)


@lru_cache(maxsize=512)
def _runs(axes: tuple[Spans, ...], extents: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Runs of elements in a dense tensor, built from the innermost axis outwards."""
    start, stop, block = np.zeros(1, np.int64), np.ones(1, np.int64), 1
    for spans, extent in zip(reversed(axes), reversed(extents), strict=True):
        if len(start) == 1 and stop[0] - start[0] == block:
            bounds = np.array(spans) * block
            start, stop = bounds[:, 0], bounds[:, 1]
        else:
            index = np.concatenate([np.arange(*span) for span in spans])[:, None] * block
            start, stop = (index + start).ravel(), (index + stop).ravel()
        apart = start[1:] != stop[:-1]
        start, stop = start[np.append(True, apart)], stop[np.append(apart, True)]
        block *= extent
    return start, stop


# --- counting ---


def _count(schedule: Schedule, layout: DramLayout, parts: Iterable[Part], stream: Stream) -> dict[Key, Access]:
    """The counts of one stream."""
    totals = {key: Access() for key in _KEYS}
    size = np.array([layout.region(*key).element for key in _KEYS])
    for start, stop, kind in _chunks(schedule, layout, parts):
        runs = stream.counted(start, stop)
        columns = [
            runs.bytes // size[kind],
            runs.bytes,
            np.zeros_like(start),
            runs.beats,
            runs.axi_bursts,
            runs.blocks,
            runs.jumps,
            runs.row_misses,
        ]
        sums = [np.bincount(kind, weights=column, minlength=len(_KEYS)) for column in columns]
        for number, key in enumerate(_KEYS):
            totals[key] += Access(*(int(total[number]) for total in sums))
    return {key: access for key, access in totals.items() if access.bytes}


def _chunks(schedule: Schedule, layout: DramLayout, parts: Iterable[Part]) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Starts, ends and kinds of the runs of a stream, in batches of about a million."""
    waiting: list[tuple[Ints, Ints, Ints]] = []
    number = 0
    for part in parts:
        start, stop = runs_of(schedule, layout, part)
        waiting.append((start, stop, np.full(len(start), _KEYS.index((part.operand, part.direction)))))
        number += len(start)
        if number >= CHUNK:
            yield _concatenated(waiting)
            waiting, number = [], 0
    if waiting:
        yield _concatenated(waiting)


def _concatenated(chunks: list[tuple[Ints, Ints, Ints]]) -> tuple[Ints, Ints, Ints]:
    start, stop, kind = (np.concatenate(arrays) for arrays in zip(*chunks, strict=True))
    return start, stop, kind


# --- time ---


def dram_ticks(counts: Counts, port: DramPort) -> int:
    """Time of everything counted at `dram`, in fractions of a cycle (`TICKS`).

    The DRAM transfers one block after another, each in ``block_cycles``, with ``miss_cycles`` more on a row miss, or
    as ``access_cycles`` say (to a unit of time for each block); loads and stores share it. Loads and stores each have
    at most one beat a cycle. Bursts are requested ahead, so ``latency`` does not count.
    """
    beats = {"read": 0, "write": 0}
    timing = port.dram
    busy, block, miss, first = 0, *map(ticks, (timing.block_cycles, timing.miss_cycles, timing.access_cycles))
    for (_, _, direction), access in counts.at(DRAM.name).accesses.items():
        beats["read" if direction.startswith("read") else "write"] += access.beats
        whole = access.beats * block * port.beat_bytes // BLOCK_BYTES if first else access.blocks * block
        busy += access.blocks * first + whole + access.row_misses * miss
    return max(busy, TICKS * max(beats.values()))
