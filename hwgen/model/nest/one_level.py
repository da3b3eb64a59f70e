"""Nests of one memory level, on one HWC: exact counts, buffer needs, and the memories that the hardware allocates."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from hwgen.arch.bus import SUM_BYTES
from hwgen.arch.hwc import memory_units
from hwgen.arch.lanes import datapath
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.counts import Access, Counts, Key
from hwgen.ir.document import InputError
from hwgen.ir.layer import IMAGE, LOOP_DIMS, OUTPUT_DIMS, WEIGHT_DIMS, Dim, Layer
from hwgen.ir.level import LEVELS, LOCAL, TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Marker, Schedule
from hwgen.model.nest.biases import bias_depth, biases_kept
from hwgen.model.nest.lane_accesses import LaneLevel, vector_columns
from hwgen.model.nest.ranges import Nest, Window
from hwgen.model.nest.traffic import Crossing, Held, bias_flow, crossing, input_channels, input_windows, new_groups

__all__ = [
    "PerOperand",
    "Prediction",
    "allocation",
    "local_crossings",
    "predict",
    "prediction_of",
    "require_one_image",
    "require_one_level",
]


@dataclass(frozen=True, slots=True)
class PerOperand:
    """One number for each of I, W and O."""

    I: int  # noqa: E741 - the operand's name
    W: int
    O: int  # noqa: E741

    def __getitem__(self, operand: Literal["I", "W", "O"]) -> int:
        return int(getattr(self, operand))

    @property
    def total(self) -> int:
        """The sum over the three operands."""
        return self.I + self.W + self.O

    def in_bytes(self, bits: Bits) -> "PerOperand":
        """Elements held in a local buffer, in bytes: O is held as partial sums, ``acc`` bits an element."""
        return PerOperand(bits.bytes_of("I", self.I), bits.bytes_of("W", self.W), bits.bytes_of("acc", self.O))


@dataclass(frozen=True)
class Prediction:
    """The exact cost of one schedule with one memory level.

    Members
    -------
    counts : accesses by (level, operand, direction): level ``tcdm``, and ``local`` where lanes have registers.
    need : elements that each local buffer must hold (the largest touch of one iteration of the marked loop).
    need_bytes : the same in bytes; O in partial sums of ``acc`` bits.
    allocation : bytes that the hardware's memories take, rounded up to lane vectors and words.
    iterations : innermost iterations (lane vectors) of the whole nest.
    kept_biases : biases that the HWC holds at a time, in a store beside the three buffers; 0 if it keeps none.
    record : bytes of a bias, with its channel's multiplier and shift if they come along.
    """

    counts: Counts
    need: PerOperand
    need_bytes: PerOperand
    allocation: PerOperand
    iterations: int
    kept_biases: int = 0
    record: int = SUM_BYTES

    @property
    def allocated_bytes(self) -> int:
        """Bytes of the three memories together, as allocated."""
        return self.allocation.total

    @property
    def total_bytes(self) -> int:
        """Traffic of I, W and O in bytes."""
        return self.counts.total_bytes()

    @property
    def total_with_bias(self) -> int:
        """The same with the biases."""
        return self.counts.total_with_bias()

    def as_json(self, *, elements: bool = False) -> dict[str, Any]:
        """Counts, needs and totals as keys of the command line's JSON form."""
        return {
            "counts": self.counts.as_json(elements=elements),
            "buffer": {
                operand: {"elements": self.need[operand], "bytes": self.need_bytes[operand]}
                for operand in ("I", "W", "O")
            },
            "allocated_bytes": self.allocated_bytes,
            "bias_store": {"elements": self.kept_biases, "bytes": self.record * self.kept_biases},
            "total_bytes": self.total_bytes,
            "total_with_bias": self.total_with_bias,
        }


def require_one_level(schedule: Schedule) -> None:
    """Refuse what a model with one memory level cannot count: ``tcdm`` markers and loops spread over HWCs."""
    for item in schedule.nest:
        if isinstance(item, Marker) and item.level != LOCAL:
            hint = "" if item.level.name in LEVELS else "; levels of a hierarchy need --hierarchy"
            raise InputError(f"schedule: buffer: {item.level}: expected markers of one memory level only{hint}")
        if not isinstance(item, Marker) and item.over is not None:
            raise InputError(f"schedule: {item.dim}: over: {item.over}: expected a nest for one HWC")


def require_one_image(schedule: Schedule) -> None:
    """Refuse a batch of several images, and loops over images: an HWC runs one image at a time."""
    where, batch = schedule.layer.name, schedule.layer.batch
    if batch > 1:
        raise InputError(f"{where}: batch: expected 1: an HWC alone runs one image at a time, got {batch}")
    if any(loop.dim == IMAGE for loop in schedule.loops):
        raise InputError(f"{where}: nest: {IMAGE}: expected no loop over images: an HWC alone runs one at a time")


def predict(schedule: Schedule) -> Prediction:
    """Counts, buffer needs and allocation of a schedule; raises `InputError` for more than one memory level."""
    require_one_level(schedule)
    nest = Nest(schedule)
    crossings = local_crossings(nest)
    counts: dict[Key, Access] = {
        (TCDM.name, array, way): access for array in ARRAYS for way, access in crossings[array].accesses.items()
    }
    counts[TCDM.name, "B", "read"] = bias_flow(nest, bias_depth(schedule)).access
    if schedule.lane_registers:
        counts |= {(LOCAL.name, *moved): flow.access for moved, flow in LaneLevel(schedule).flows().items()}
    return prediction_of(nest, crossings, Counts(counts))


def local_crossings(nest: Nest) -> dict[ArrayName, Crossing]:
    """What crosses into the local buffers; without a marker, into the datapath."""
    return {array: crossing(nest, array, Held.at(nest.schedule, array)) for array in ARRAYS}


def prediction_of(nest: Nest, crossings: Mapping[ArrayName, Crossing], counts: Counts) -> Prediction:
    """The prediction for local buffers with these crossings and counts."""
    schedule, need = nest.schedule, PerOperand(*(crossings[array].need for array in ARRAYS))
    iterations = prod(len(nest.ranges(dim, nest.depth)) for dim in LOOP_DIMS if dim != "x") * vector_columns(nest)
    return Prediction(
        counts,
        need,
        need.in_bytes(schedule.bits),
        _allocation(nest, {array: crossings[array].held for array in ARRAYS}),
        iterations,
        biases_kept(schedule),
        record_bytes(schedule.requantisation),
    )


# --- memories ---


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
    require_one_level(schedule)
    return _allocation(Nest(schedule), {array: Held.at(schedule, array) for array in ARRAYS})


def _allocation(nest: Nest, held: Mapping[ArrayName, Held]) -> PerOperand:
    bits, lanes, ports = nest.bits, nest.schedule.lanes, nest.schedule.ports
    unit_i, unit_w, _ = memory_units(datapath(lanes, bits.W), ports=ports)
    lines = WeightLines.of(lanes, bits.W, ports.weight_bytes)
    vectors = prod(_most_vectors(nest, held["O"], dim) * lanes.along(dim) for dim in (IMAGE, *OUTPUT_DIMS))
    if lines:
        weights = prod(_most_vectors(nest, held["W"], dim) for dim in WEIGHT_DIMS) * lines.stored
    else:
        most = prod(nest.ranges(dim, held["W"].iteration).largest for dim in WEIGHT_DIMS)
        weights = _round_up(bits.bytes_of("W", most), unit_w)
    return PerOperand(
        I=_round_up(_stored_inputs(nest, held["I"]) * bits.I // 8 * lanes.y * lanes.c, unit_i),
        W=weights,
        O=bits.bytes_of("acc", vectors),
    )


def _most_vectors(nest: Nest, held: Held, dim: Dim) -> int:
    """The largest number of innermost iterations that one range of a dimension takes within a tile."""
    return nest.ranges(dim, held.iteration).most_pieces(nest.ranges(dim, nest.depth))


def _stored_inputs(nest: Nest, held: Held) -> int:
    """Elements that the I memory of one lane along c stores for the largest tile."""
    rows, columns = input_windows(nest, held)
    lowest, beyond, _ = new_groups(nest, held)
    channels = input_channels(nest, held, lowest, beyond, nest.schedule.lanes.c)
    return channels * rows.largest * _stored_columns(nest.layer, columns)


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
