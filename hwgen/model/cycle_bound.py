"""What no schedule of a layer goes below in cycles on given hardware, whatever its loops, markers and tiles."""

from dataclasses import dataclass
from math import prod

from hwgen.arch.bus import WORD_BYTES, beat_bytes
from hwgen.arch.descriptor import PACKED_WORDS
from hwgen.arch.dram import BLOCK_BYTES, TICKS, Dram
from hwgen.arch.lanes import capture, vectors_apart
from hwgen.arch.latency import NEXT_VECTOR
from hwgen.arch.requantisation import record_bytes
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import IMAGE, OUTPUT_DIMS, Dim, Form, Layer
from hwgen.ir.schedule import Bits
from hwgen.model.nest.bounds import compulsory

__all__ = ["CycleBound", "cycle_bound", "least_busy", "least_iterations", "windowed"]

MOVED = 4
"""Descriptors of a program, at the least: of I, W, O and the biases."""


@dataclass(frozen=True)
class CycleBound:
    """The bounds of what works at the same time; the largest of them bounds a schedule.

    Members
    -------
    lanes : cycles of the busiest HWC in which lanes work or outputs are taken from them, see `least_busy`.
    ports : words of the HWCs' ports, each operand once.
    dram : beats, of what is read or of what is written, or the time of the blocks; 0 without a cluster.
    descriptors : beats of the least program; 0 without a cluster.
    """

    lanes: int
    ports: int
    dram: int = 0
    descriptors: int = 0

    @property
    def cycles(self) -> int:
        """What no schedule goes below."""
        return max(self.lanes, self.ports, self.dram, self.descriptors)


def least_iterations(layer: Layer, lanes: Lanes) -> int:
    """Innermost iterations of a layer on such lanes, at the least; of tiles that cut lane vectors there are more.

    No iteration covers more outputs than the lanes, and none crosses a border between groups. Of outputs that are a
    multiple of the lanes apart on each axis, each needs iterations of its own.
    """
    along = _lane_vectors(layer, lanes)
    if layer.form.column_window:
        along["x"] = layer.columns_passed(layer.output_width)
    return layer.groups * prod(along.values())


def least_busy(layer: Layer, lanes: Lanes) -> int:
    """Cycles of one HWC, at the least: one for each iteration, and some for each vector of outputs.

    A vector is asked for as many cycles after the one before it as `hwgen.arch.lanes.vectors_apart` has, and when the
    one two before it has come through all stages of the datapath, so that short reductions wait for it.
    """
    along = _lane_vectors(layer, lanes)
    vectors = layer.groups * prod(along[dim] for dim in (IMAGE, *OUTPUT_DIMS))
    of_two = capture(lanes) + 1 + NEXT_VECTOR
    return max(least_iterations(layer, lanes), vectors_apart(lanes) * vectors, of_two * vectors // 2)


def _lane_vectors(layer: Layer, lanes: Lanes) -> dict[Dim, int]:
    """Lane vectors along each loop of one group."""
    sizes = layer.loop_extents | {"m": layer.outputs_per_group}
    return {dim: -(-size // lanes.along(dim)) for dim, size in sizes.items()}


def _of_all_forms(layer: Layer, lanes: Lanes, *, window: bool) -> int:
    """`least_busy` of the form of a layer that has the least; of more groups at once than lanes there is no less."""
    numbers = (one for one in range(1, min(layer.groups, lanes.product) + 1) if layer.groups % one == 0)
    forms = [layer.in_form(Form(groups_at_once=one)) for one in numbers]
    return min(least_busy(one, lanes) for one in [*forms, *(windowed(layer, lanes) if window else ())])


def windowed(layer: Layer, lanes: Lanes) -> list[Layer]:
    """The layer in forms in which the columns of its kernel pass through a window, one for each number of groups."""
    found = []
    for groups in range(2, min(layer.groups, lanes.m, lanes.c) + 1):
        try:
            found.append(layer.in_form(Form(groups_at_once=groups, column_window=True)))
        except ValueError:  # not a layer for it
            continue
    return found


def cycle_bound(layer: Layer, hardware: Hardware, bits: Bits | None = None) -> CycleBound:
    """The bound of one layer, in whatever form it is run; that taps are channels is taken from its own form."""
    run, layer = layer, layer.of_network
    bits, cluster = bits or Bits(), hardware.cluster
    hwcs, ports = 1 if cluster is None else cluster.hwcs, hardware.ports
    inputs, weights, outputs = (
        compulsory(layer, bits).operand_bytes("I"),
        bits.bytes_of("W", layer.weight_elements),
        bits.bytes_of("O", layer.output_elements),
    )
    # Of several HWCs that read together, one reads for all.
    words = max(-(-inputs // ports.input_bytes), -(-weights // ports.weight_bytes), -(-outputs // ports.output_bytes))
    lanes = -(
        -min(least_busy(run, hardware.shape), _of_all_forms(layer, hardware.shape, window=hardware.column_window))
        // hwcs
    )
    if cluster is None:
        return CycleBound(lanes, words)
    beat, timing = beat_bytes(cluster.axi_bits), cluster.dram or Dram()
    read = inputs + weights + record_bytes(hardware.requantisation) * layer.output_channels
    beats = max(-(-read // beat), -(-outputs // beat))
    blocks = -(-(read + outputs) // BLOCK_BYTES) * timing.block_cycles
    if timing.access_cycles:  # a part of a block takes its part, rounded down to a unit of time
        least = (read + outputs) / BLOCK_BYTES
        blocks = least * (timing.block_cycles + timing.access_cycles - 1 / TICKS)
    return CycleBound(
        lanes, -(-words // hwcs), max(beats, int(blocks)), -(-MOVED * PACKED_WORDS * WORD_BYTES // beat)
    )
