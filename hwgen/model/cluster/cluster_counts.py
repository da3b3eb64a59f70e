"""Exact counts and buffer needs of a nest of two memory levels on a cluster, in closed form.

Both levels are crossings of the nest (`hwgen.model.nest.traffic`): the DMA moves what crosses into the TCDM, all HWCs
together fetch what crosses into their local buffers. The share of one HWC (`hwgen.model.cluster.shares`) is given by
the ranges of m and y that its slices cover.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.dram import DramPort
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import PackedWeights
from hwgen.ir.counts import Access, Counts, Key, Operand
from hwgen.ir.lanes import NARROW_PORTS
from hwgen.ir.layer import IMAGE, OUTPUT_DIMS, WEIGHT_DIMS, Dim
from hwgen.ir.level import DRAM, TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.model.cluster.levels import normalised, run_depth
from hwgen.model.cluster.parts import loads, weight_loads
from hwgen.model.cluster.shares import Spread, replicated_words, shares
from hwgen.model.cluster.tile_order import Iterations, TileWalk
from hwgen.model.dram.counts import DramLayout, dram_counts
from hwgen.model.dram.streams import Streams
from hwgen.model.nest.biases import bias_depth
from hwgen.model.nest.lane_accesses import LaneLevel
from hwgen.model.nest.one_level import PerOperand, Prediction, local_crossings, prediction_of
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Crossing, Held, bias_flow, crossing

__all__ = ["ClusterPrediction", "dram_bytes", "predict_cluster", "tcdm_bytes", "tcdm_need"]

Ints = NDArray[np.int64]
AXES: tuple[tuple[Dim, Dim, int], ...] = (("y", "k", 0), ("x", "l", 1))


@dataclass(frozen=True)
class ClusterPrediction:
    """The exact cost of one schedule on a cluster.

    Members
    -------
    counts : accesses at ``dram``, at ``tcdm`` (of all HWCs) and at ``tcdm_dma``. Without the program.
    hwcs : the accesses of each HWC's ports at ``tcdm``; what several read together is at the port of one of them.
    tcdm_need, tcdm_need_bytes : what each operand needs in the TCDM. An element of O has ``acc`` bits if partial sums
        are spilled from the local buffer.
    local : the prediction for the local buffers, as for one level.
    replicated : words that several HWCs get, counted once for each HWC but one.
    """

    counts: Counts
    hwcs: tuple[Counts, ...]
    tcdm_need: PerOperand
    tcdm_need_bytes: PerOperand
    local: Prediction
    replicated: PerOperand

    def with_program(self, program: Access) -> "ClusterPrediction":
        """The same with the traffic of the program."""
        return replace(self, counts=Counts({**self.counts.accesses, ("dram", "P", "read"): program}))

    def as_json(self, *, elements: bool = False) -> dict[str, Any]:
        """The keys of one level, where ``buffer`` is the local one, and those of the TCDM and of the HWCs."""
        return {
            **self.local.as_json(elements=elements),
            "counts": self.counts.as_json(elements=elements),
            "total_bytes": self.counts.total_bytes(DRAM.name),
            "total_with_bias": self.counts.total_with_bias(DRAM.name),
            "tcdm_buffer": {
                operand: {"elements": self.tcdm_need[operand], "bytes": self.tcdm_need_bytes[operand]}
                for operand in ARRAYS
            },
            "replicated_words": {operand: self.replicated[operand] for operand in ARRAYS},
            "hwcs": [counts.as_json(elements=elements)["tcdm"] for counts in self.hwcs],
        }


def predict_cluster(
    schedule: Schedule,
    hwcs: int = 1,
    port: DramPort | None = None,
    *,
    multicast: bool = False,
    layout: DramLayout | None = None,
    streams: Streams | None = None,
    unmoved: Collection[Operand] = (),
) -> ClusterPrediction:
    """Counts and needs of a schedule on ``hwcs`` HWCs; raises `InputError` if the nest has not two levels.

    ``multicast``: slices that run side by side read the same words together. ``layout``: where the tensors are in the
    DRAM, if not as `dram_layout` has them. ``streams``, ``unmoved``: see `dram_counts`.
    """
    schedule = normalised(schedule, hwcs)
    nest = Nest(schedule)
    crossings, spread = local_crossings(nest), Spread(nest, hwcs, multicast=multicast)
    # An HWC keeps biases within its share of a tile at most.
    biases = bias_flow(nest, bias_depth(schedule, run_depth(schedule)))
    lanes = LaneLevel(schedule, run_depth(schedule)).flows() if schedule.lane_registers else {}
    hwc_counts = shares(spread, crossings, biases, lanes)
    local = prediction_of(nest, crossings, sum(hwc_counts, Counts()))
    spilled = local.counts[TCDM.name, "O", "write_partial"].elements > 0
    need, bits = tcdm_need(schedule), schedule.bits
    return ClusterPrediction(
        counts=dram_counts(schedule, port or DramPort(), layout=layout, streams=streams, unmoved=unmoved)
        + local.counts
        + _dma(nest, unmoved, ordered=layout is not None and layout.ordered),
        hwcs=hwc_counts,
        tcdm_need=need,
        tcdm_need_bytes=PerOperand(
            bits.bytes_of("I", need.I), bits.bytes_of("W", need.W), bits.bytes_of("acc" if spilled else "O", need.O)
        ),
        local=local,
        replicated=replicated_words(spread),
    )


def dma_crossings(nest: Nest) -> dict[ArrayName, Crossing]:
    """What crosses into the TCDM, in words of 32 bits."""
    return {array: crossing(nest, array, Held.at(nest.schedule, array, TCDM), NARROW_PORTS) for array in ARRAYS}


def dram_bytes(schedule: Schedule, hwcs: int = 1, unmoved: Collection[Operand] = ()) -> int:
    """Bytes of I, W and O that the DMA moves, without those of ``unmoved`` operands."""
    crossings = dma_crossings(Nest(normalised(schedule, hwcs)))
    return _bytes({array: one for array, one in crossings.items() if array not in unmoved})


def tcdm_bytes(schedule: Schedule) -> int:
    """Bytes of I, W and O that all HWCs move, each for itself."""
    return _bytes(local_crossings(Nest(schedule)))


def _bytes(crossings: Mapping[ArrayName, Crossing]) -> int:
    return sum(access.bytes for one in crossings.values() for access in one.accesses.values())


def _dma(nest: Nest, unmoved: Collection[Operand], *, ordered: bool) -> Counts:
    """Accesses of the DMA's TCDM ports: aligned words of rows without gaps, packed weights, the biases.

    ``ordered`` : weights come packed, with their gaps.
    """
    schedule = nest.schedule
    counts: dict[Key, Access] = {
        ("tcdm_dma", array, way): access
        for array, one in dma_crossings(nest).items()
        for way, access in one.accesses.items()
    }
    inputs, weights = counts["tcdm_dma", "I", "read"], counts["tcdm_dma", "W", "read"]
    if schedule.layer.stride[1] > 1:
        counts["tcdm_dma", "I", "read"] = Access(inputs.elements, inputs.bytes, _input_words(schedule))
    words = _weight_words(schedule, ordered=ordered)
    weights_moved = WORD_BYTES * words if ordered else weights.bytes
    elements = weights_moved * 8 // schedule.bits.W
    counts["tcdm_dma", "W", "read"] = Access(elements, weights_moved, words)
    record, biases = record_bytes(schedule.requantisation), schedule.layer.output_channels
    counts["tcdm_dma", "B", "read"] = Access(biases, record * biases, record // WORD_BYTES * biases)
    return Counts({key: access for key, access in counts.items() if key[1] not in unmoved})


def _input_words(schedule: Schedule) -> int:
    """Words with which the DMA writes the input: a new access starts after each gap between columns."""
    size, words = schedule.bits.I // 8, 0
    for part in loads(schedule):
        if part.operand == "I":
            channels, rows, columns = part.axes
            lines = prod(sum(stop - start for start, stop in axis) for axis in (channels, rows))
            words += lines * sum(
                (stop * size - 1) // WORD_BYTES - start * size // WORD_BYTES + 1 for start, stop in columns
            )
    return words


def _weight_words(schedule: Schedule, *, ordered: bool) -> int:
    """Words with which the DMA writes weights: the words of all folds of a tile, which depend on its sizes; or of the
    whole packed tile, if it is one in the DRAM, too."""
    marked = schedule.marked_loop("W", TCDM)
    assert marked is not None
    packed = PackedWeights(schedule, marked + 1)

    def packed_words(size: tuple[int, ...]) -> int:
        return packed.size(size) // WORD_BYTES

    sizes = Counter(tuple(stop - start for ((start, stop),) in part.axes) for part in weight_loads(schedule))
    words = packed_words if ordered else packed.dma_words
    return sum(times * words(size) for size, times in sizes.items())


# --- the need in the TCDM ---


def tcdm_need(schedule: Schedule) -> PerOperand:
    """The most elements that two consecutive iterations of each operand's loop touch together; normalised nests."""
    walk = TileWalk(schedule)
    return PerOperand(*(_need(schedule, walk.of(array), array) for array in ARRAYS))


def _need(schedule: Schedule, iterations: Iterations, array: ArrayName) -> int:
    match array:
        case "I":
            size, shared = _inputs(schedule, iterations)
        case "W":
            size, shared = _volumes(iterations, WEIGHT_DIMS)
        case "O":
            size, shared = _volumes(iterations, (*OUTPUT_DIMS, IMAGE))
    if schedule.in_halves(array):
        return 2 * int(size.max())
    return int(max(size.max(), (size[1:] + size[:-1] - shared).max(initial=0)))


def _volumes(iterations: Iterations, dims: tuple[Dim, ...]) -> tuple[Ints, Ints]:
    """Elements of each tile, and how many it shares with the next one: all or none."""
    size, same = np.ones(len(iterations), np.int64), np.ones(len(iterations) - 1, np.bool_)
    for dim in dims:
        start, stop = iterations.along(dim)
        size = size * (stop - start)
        same = same & (start[1:] == start[:-1])
    return size, np.where(same, size[1:], 0)


def _inputs(schedule: Schedule, iterations: Iterations) -> tuple[Ints, Ints]:
    """The same for the input: channels times rows times columns."""
    layer, (low_m, high_m), (low_c, high_c) = schedule.layer, iterations.along("m"), iterations.along("c")
    first, beyond = low_m // layer.outputs_per_group, (high_m - 1) // layer.outputs_per_group + 1
    size, shared = (beyond - first) * (high_c - low_c), _overlap(first, beyond) * _overlap(low_c, high_c)
    images = iterations.along(IMAGE)
    size, shared = size * (images[1] - images[0]), shared * _overlap(*images)
    for over_map, over_kernel, axis in AXES:
        stride, padding = layer.stride[axis], layer.padding[axis]
        image = (layer.input_height, layer.input_width)[axis]
        extent, shared_extent = np.zeros_like(size), np.zeros_like(shared)
        (outputs, end), (taps, taps_end) = iterations.along(over_map), iterations.along(over_kernel)
        if over_map == "x":
            taps_end = taps_end + layer.columns_beside
        for residue in range(min(stride, layer.kernel[axis])):
            # Rows q * stride + residue - padding for q in an interval, see `hwgen.model.nest.ranges`.
            first_tap = -(-(taps - residue) // stride)
            end_tap = -(-(taps_end - residue) // stride)
            start = np.maximum(outputs + first_tap, -(-(padding - residue) // stride))
            stop = np.minimum(end + end_tap - 1, -(-(image + padding - residue) // stride))
            stop = np.where(first_tap < end_tap, np.maximum(stop, start), start)
            extent += stop - start
            shared_extent += _overlap(start, stop)
        size, shared = size * extent, shared * shared_extent
    return size, shared


def _overlap(start: Ints, stop: Ints) -> Ints:
    """Length of the overlap of each range with the previous one."""
    overlap: Ints = np.maximum(np.minimum(stop[1:], stop[:-1]) - np.maximum(start[1:], start[:-1]), 0)
    return overlap
