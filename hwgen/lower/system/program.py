"""A layer on several clusters: one image of the DRAM, and for each cluster the program of its share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import PAGE_BYTES, SUM_BYTES, WORD_BYTES
from hwgen.arch.dram import Dram
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layout import aligned, element_type
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.cycles import played
from hwgen.lower.cluster.program import ClusterProgram, compile_cluster
from hwgen.lower.system.shares import PARTITIONS, Partition, Share, shares_of
from hwgen.model.cluster.levels import normalised
from hwgen.model.dram.counts import DramLayout, DramRegion, returns_sums, tensor_layout
from hwgen.model.system.cycles import play_together
from hwgen.model.system.times import ClusterTimes, elapsed

__all__ = ["SystemProgram", "compile_system", "fastest_partition", "system_times"]


Words = NDArray[np.uint32]


@dataclass(frozen=True)
class SystemProgram:
    """The programs of one layer.

    Members
    -------
    schedule : of the whole layer, as it was given.
    layout : the whole tensors in the DRAM; the programs are after them.
    clusters : how many there are.
    shares : what each cluster computes. Clusters without a share have no program.
    programs : the program of each share. Their layouts are windows of the whole tensors.
    """

    schedule: Schedule
    layout: DramLayout
    clusters: int
    shares: tuple[Share, ...]
    programs: tuple[ClusterProgram, ...]

    @property
    def parameters(self) -> HwcParameters:
        """Those of every HWC of every cluster."""
        return self.programs[0].parameters

    @cached_property
    def dram_size(self) -> int:
        """Bytes of the DRAM from address 0 to the end of the last program."""
        return max(program.dram_size for program in self.programs)

    def image(
        self, inputs: NDArray[np.signedinteger], weights: NDArray[np.signedinteger], bias: NDArray[np.int32]
    ) -> Words:
        """The DRAM before the run, as 32-bit words from address 0."""
        whole = replace(self.programs[0], layout=self.layout, schedule=self.schedule)
        memory = np.zeros(-(-self.dram_size // WORD_BYTES), np.uint32)
        tensors = whole.image(inputs, weights, bias)[: self.layout.program // WORD_BYTES]
        memory[: len(tensors)] = tensors
        for program in self.programs:
            first = program.layout.program // WORD_BYTES
            memory[first : first + len(program.words)] = program.words
        return memory

    def output(self, words: Words) -> NDArray[np.signedinteger]:
        """The output [M, E, F] of the whole layer in the DRAM after the run."""
        layer, region = self.schedule.layer, self.layout.output
        content = np.ascontiguousarray(words).view(np.int8)[region.base : region.base + region.size]
        return content.view(element_type(self.schedule.bits.O)).reshape(
            layer.output_channels, layer.output_height, layer.output_width
        )


def compile_system(
    schedule: Schedule, hardware: Hardware | None, clusters: int, partition: Partition, *, serial: bool = False
) -> SystemProgram:
    """The programs of one layer on several clusters of this hardware.

    Each share has the nest of the whole layer with steps limited to its own extents; with ``serial`` each cluster
    loads, computes and stores one after the other. Raises `InputError` where the layer cannot be shared out so, or a
    cluster cannot run its share.
    """
    cluster = (hardware and hardware.cluster) or Cluster()
    schedule = normalised(schedule, cluster.hwcs)
    layer, bits = schedule.layer, schedule.bits
    if layer.batch > 1:
        raise InputError(f"{layer.name}: batch: expected 1 on several clusters, got {layer.batch}")
    if schedule.requantisation == "scaled":
        raise InputError(f"{layer.name}: requantisation: expected shift on several clusters, got scaled")
    if cluster.vector:
        raise InputError(f"{layer.name}: vector: expected false on several clusters, got true")
    shares = shares_of(layer, clusters, partition)
    parts = [share_schedule(schedule, share.layer) for share in shares]
    returned = any(returns_sums(part) for part in parts)
    whole = tensor_layout(layer, bits, returned=returned)

    scales = layer.requantisation_at(bits.O)

    def compiled(machine: Hardware | None) -> list[ClusterProgram]:
        programs: list[ClusterProgram] = []
        place = whole.program
        for share, part in zip(shares, parts, strict=True):
            layout = _window(whole, layer, share, part, place)
            programs.append(compile_cluster(part, machine, layout=layout, serial=serial, requantisation=scales))
            place = aligned(programs[-1].dram_size, PAGE_BYTES)
        return programs

    programs = compiled(hardware)
    found = [program.parameters for program in programs]
    if any(one != found[0] for one in found):
        programs = compiled(_joined(hardware, parts[0], found))
    if any(program.parameters != programs[0].parameters for program in programs):
        raise InputError(f"{layer.name}: partition: the shares need different HWCs; expected a hardware file")
    return SystemProgram(schedule, whole, clusters, shares, tuple(programs))


def share_schedule(schedule: Schedule, layer: Layer) -> Schedule:
    """The nest for a part of its layer: steps are limited to what is left of it."""
    left = dict(layer.extents)
    nest: list[Loop | Marker] = []
    for item in schedule.nest:
        if isinstance(item, Loop):
            left[item.dim] = min(item.step, left[item.dim])
            nest.append(replace(item, step=left[item.dim]))
        else:
            nest.append(item)
    return schedule.model_copy(update={"layer": layer, "nest": tuple(nest)})


def _joined(hardware: Hardware | None, part: Schedule, found: Sequence[HwcParameters]) -> Hardware:
    """The hardware with memories that are large enough for every share."""
    names = dict(zip(ARRAYS, ("input_bytes", "weight_bytes", "output_bytes"), strict=True))
    buffers = {array: max(getattr(one, name) for one in found) for array, name in names.items()}
    budget = max(sum(buffers.values()), hardware.budget if hardware else 0)
    update = {"buffers": buffers, "budget": budget}
    if hardware is None:
        bias_words = max(one.bias_words for one in found)
        base = Hardware(name="shares", lanes=found[0].lanes, ports=part.ports, cluster=Cluster())
        return base.model_copy(update={**update, "bias_words": bias_words, "operand_bits": part.bits.I})
    if sum(buffers.values()) > hardware.budget:
        raise InputError(
            f"{part.layer.name}: partition: the shares together need buffers of {sum(buffers.values())} bytes, "
            f"{hardware.titled} has {hardware.budget}"
        )
    return hardware.model_copy(update=update)


def _window(whole: DramLayout, layer: Layer, share: Share, part: Schedule, program: int) -> DramLayout:
    """Where a share's tensors are: windows of the whole ones; filters and biases are consecutive."""
    own = tensor_layout(share.layer, part.bits, returned=whole.partial.size > 0)
    row, output_row = layer.input_width, layer.output_width
    filter_elements = layer.weight_elements // layer.output_channels
    input_at = (share.inputs * layer.input_height + share.input_rows) * row
    output_at = (share.outputs * layer.output_height + share.rows) * output_row

    def moved(region: DramRegion, size: int, first: int) -> DramRegion:
        return replace(region, base=region.base + first * region.element, size=size)

    return DramLayout(
        inputs=moved(whole.inputs, own.inputs.size, input_at),
        weights=moved(whole.weights, own.weights.size, share.outputs * filter_elements),
        bias=moved(whole.bias, SUM_BYTES * share.layer.output_channels, share.outputs),
        output=moved(whole.output, own.output.size, output_at),
        partial=moved(whole.partial, own.partial.size, output_at),
        program=program,
        input_rows=whole.input_rows,
        output_rows=whole.output_rows,
    )


# --- cycles ---


@dataclass(frozen=True)
class SystemTimes:
    """Cycles from the first start to the last end, and what each cluster did from its own start on."""

    total: float
    clusters: tuple[ClusterTimes, ...]


def system_times(program: SystemProgram, timing: Dram | None = None) -> SystemTimes:
    """The times with a DRAM of this timing; None: the hardware's own."""
    timing = timing or program.programs[0].cluster.dram or Dram()
    played_ones = [played(one) for one in program.programs]
    times = play_together(played_ones, program.programs[0].hardware, timing, clusters=program.clusters)
    return SystemTimes(elapsed(one.total for one in times), tuple(times))


def fastest_partition(schedule: Schedule, hardware: Hardware | None, clusters: int) -> Partition:
    """The one of the fewest predicted cycles with the hardware's DRAM; the first of several.

    Raises `InputError` with the reason of the first one where none is possible.
    """
    reasons: list[InputError] = []
    times: dict[Partition, float] = {}
    for partition in PARTITIONS:
        try:
            times[partition] = system_times(compile_system(schedule, hardware, clusters, partition)).total
        except InputError as error:
            reasons.append(error)
    if not times:
        raise reasons[0]
    return min(times, key=times.__getitem__)
