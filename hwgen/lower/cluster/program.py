"""The program of a cluster, made from its schedule: loads, small layers, stores, and the tokens between them.

The program is one list. For each tile it contains the work of the HWCs, the loads of the next tile and the stores of
the previous one, so that all three overlap as far as the rings allow (double buffering): the data of a tile may
replace what the tile before the previous one used.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, takewhile

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES, burst_window
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Queue, encode, end, join, start
from hwgen.arch.descriptor import DescriptorError, Ring
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layer_forms import run_inputs, run_weights
from hwgen.arch.layout import element_type
from hwgen.arch.registers.bank import Register
from hwgen.arch.registers.hwc import hwc_registers, layer_settings
from hwgen.arch.requantisation import bias_records
from hwgen.arch.weights import pack_weights
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import WIDE
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import ARRAYS, ArrayName, Schedule
from hwgen.lower.cluster.configuration import Configuration
from hwgen.lower.cluster.leaders import Leaders
from hwgen.lower.cluster.parts import Parts, Phase, interleaved, with_tokens
from hwgen.lower.cluster.tiles import Slice, TileCommands
from hwgen.lower.hwc import require_agreement, require_constants
from hwgen.lower.hwc.program import requantiser_values
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.placement import TcdmPlacement, place_in
from hwgen.model.cluster.residence import ALL_MOVED, Residence
from hwgen.model.cluster.tile_order import Spans
from hwgen.model.cluster.whole_maps import held_whole, require_whole
from hwgen.model.dram.counts import DramLayout, dram_layout

__all__ = ["ClusterProgram", "compile_cluster"]

Words = NDArray[np.uint32]
Beside = Callable[[list[list[Phase]], list[int]], list[list[Phase]]]


@dataclass(frozen=True)
class ClusterProgram:
    """The program of one layer on a cluster.

    Members
    -------
    schedule : the normalised schedule.
    parameters : those of every HWC.
    cluster : HWCs and shared memory.
    placement : the TCDM.
    layout : the DRAM; the program is after the tensors.
    commands : the program.
    requantisation : what it makes of sums.
    ahead : loads of the first weights, where another program has to make them before (`Residence.ahead`).
    """

    schedule: Schedule
    parameters: HwcParameters
    cluster: Cluster
    placement: TcdmPlacement
    layout: DramLayout
    commands: tuple[Command, ...]
    requantisation: Requantisation
    ahead: tuple[Command, ...] = ()

    @cached_property
    def words(self) -> Words:
        """The program as 32-bit words."""
        return np.array(encode(self.commands), np.uint32)

    @property
    def rings(self) -> dict[str, Ring]:
        """The rings of I, W and O."""
        return {array: Ring(self.placement[array].end, self.placement[array].size) for array in ARRAYS}

    @property
    def hardware(self) -> ClusterParameters:
        """The cluster to generate."""
        cluster = self.cluster
        return ClusterParameters(
            self.parameters,
            cluster.hwcs,
            cluster.tcdm,
            cluster.banks,
            cluster.axi_bits,
            cluster.multicast,
            vector=cluster.vector,
            vector_elements=cluster.vector_elements,
        )

    @property
    def settings(self) -> dict[str, int]:
        """The registers of the cluster by name: the program, and the address windows and rings of its transfers."""
        values = {
            "program_address": self.layout.program,
            "program_words": len(self.words),
            "dram_base": 0,
            "dram_end": self.dram_size,
            "tcdm_base": 0,
            "tcdm_end": self.placement.size,
        }
        for array, ring in self.rings.items():
            values |= {f"ring_{array.lower()}_end": ring.end, f"ring_{array.lower()}_size": ring.size}
        return values

    @property
    def dram_size(self) -> int:
        """Bytes of the DRAM from address 0 to the end of the program."""
        return self.layout.program + WORD_BYTES * len(self.words)

    def image(
        self, inputs: NDArray[np.signedinteger], weights: NDArray[np.signedinteger], bias: NDArray[np.int32]
    ) -> Words:
        """The DRAM before the run, as 32-bit words from address 0; operands are those of the network's layer, inputs
        [N, C, H, W] of a batch of several images."""
        inputs = run_inputs(self.schedule.layer, inputs, self.requantisation.zero_in)
        weights = run_weights(self.schedule.layer, weights)
        memory = np.zeros(-(-self.dram_size // WORD_BYTES) * WORD_BYTES, np.uint8)
        if self.layout.ordered:
            weights = pack_weights(self.schedule, weights)
        for region, array in (
            (self.layout.inputs, inputs),
            (self.layout.weights, weights),
            (
                self.layout.bias,
                bias_records(bias.astype(np.int32), self.requantisation.scales, self.schedule.requantisation),
            ),
        ):
            memory[region.base : region.base + region.size] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        memory[self.layout.program : self.dram_size] = self.words.astype("<u4").view(np.uint8)
        return memory.view("<u4")

    def output(self, words: Words) -> NDArray[np.signedinteger]:
        """The output [M, E, F] in the DRAM after the run, of a batch of several images [N, M, E, F]."""
        layer, region = self.schedule.layer, self.layout.output
        content = np.ascontiguousarray(words).view(np.int8)[region.base : region.base + region.size]
        return content.view(element_type(self.schedule.bits.O)).reshape(layer.output_shape)


def compile_cluster(
    schedule: Schedule,
    hardware: Hardware | None = None,
    *,
    serial: bool = False,
    layout: DramLayout | None = None,
    requantisation: Requantisation | None = None,
    residence: Residence = ALL_MOVED,
    beside: Beside | None = None,
) -> ClusterProgram:
    """The program of one layer; raises `InputError` with the reason where the cluster cannot run it.

    Parameters
    ----------
    hardware : the cluster; None: the smallest HWCs that run the schedule, in the default cluster.
    serial : for comparison: load, compute and store one after the other.
    layout : where tensors and program are in the DRAM; by default as `dram_layout` has them.
    requantisation : what becomes of sums, where the HWCs scale them; None: what the layer says.
    residence : maps that stay in the TCDM; the schedule is changed to hold them whole.
    beside : puts phases of another program among the groups of phases of this one; of each tile it gets the place of
        the group in which its HWCs start.
    """
    cluster = (hardware and hardware.cluster) or Cluster()
    schedule = normalised(held_whole(schedule, residence.arrays), cluster.hwcs)
    where = schedule.layer.name
    room = cluster.tcdm if residence.room is None else residence.room
    placement = place_in(schedule, cluster.tcdm, residence)
    require_whole(schedule, placement)
    end = max(placement.size, placement.W.end)
    if end > room:
        needs = f"I {placement.I.size}, W {placement.W.size}, O {placement.O.size}, biases {placement.I.start}"
        raise InputError(f"{where}: the TCDM needs {end} bytes ({needs}), it has {room}")
    requantisation = requantisation or schedule.layer.requantisation_at(schedule.bits.O)
    wide = (hardware.operand_bits if hardware else schedule.bits.I) == WIDE
    settings = requantiser_values(schedule, requantisation, wide=wide)
    tiles = TileCommands(schedule, hardware, cluster.hwcs, placement, settings)
    layout = layout or dram_layout(schedule)
    try:
        writer = _Writer(schedule, placement, layout, tiles, cluster, apart=beside is not None)
        commands = tuple(writer.commands(serial=serial, beside=beside))
    except DescriptorError as error:
        raise InputError(f"{where}: {error}") from None
    return ClusterProgram(
        schedule, tiles.parameters, cluster, placement, layout, commands, requantisation, writer.ahead
    )


@lru_cache(maxsize=64)
def _registers_of(parameters: HwcParameters) -> tuple[Register, ...]:
    """The registers that the program of a layer writes."""
    return layer_settings(hwc_registers(parameters))


class _Writer:
    """The commands of a program, phase by phase."""

    def __init__(
        self,
        schedule: Schedule,
        placement: TcdmPlacement,
        layout: DramLayout,
        tiles: TileCommands,
        cluster: Cluster,
        *,
        apart: bool,
    ) -> None:
        self._placement, self._tiles = placement, tiles
        self._parts = Parts(schedule, placement, layout, burst_window(cluster.axi_bits))
        self._leaders = Leaders(schedule, cluster.hwcs) if cluster.multicast else None
        self._registers = _registers_of(tiles.parameters)
        self._configuration = Configuration(self._registers)
        self._where = schedule.layer.name
        self._agreed: set[int] = set()  # shapes of slices
        self._waves = [self._waves_of(tile, apart=apart) for tile in range(len(tiles.slices))]

    @property
    def ahead(self) -> tuple[Command, ...]:
        """See `ClusterProgram`."""
        return tuple(self._parts.ahead)

    def commands(self, *, serial: bool, beside: Beside | None) -> Iterator[Command]:
        """All of them, END included."""
        groups = list(self._one_by_one() if serial else self._side_by_side())
        if beside is not None:
            firsts = {id(first) for first, *_ in self._waves}
            groups = beside(
                groups, [at for at, group in enumerate(groups) if any(id(one) in firsts for one in group)]
            )
        with_tokens([phase for group in groups for phase in group])
        for group in groups:
            queues: dict[Queue, list[Command]] = {}
            for phase in group:
                queues.setdefault(phase.queue, []).extend(phase.commands)
            yield from interleaved(queues.values())
        yield end()

    # --- order ---

    def _side_by_side(self) -> Iterator[list[Phase]]:
        """Groups of phases; the phases of a group are interleaved."""
        self._connect()
        parts, left = self._parts, dict(sorted(self._parts.stores.items()))
        yield from ([phase] for phase in self._loads(0))
        for tile, (first, *others) in enumerate(self._waves):
            yield [first]
            stored = [left.pop(done) for done in list(takewhile(tile.__gt__, left))]
            yield [*others[-1:], *parts.loads.get(tile + 1, {}).values(), *stored]
            resumes = parts.resumes.get(tile + 1)
            if resumes is not None:
                # The tile that is stored after this one may be loaded again.
                if left.get(tile) in resumes.after:
                    yield [left.pop(tile)]
                yield [resumes]
        yield from ([phase] for phase in left.values())

    def _one_by_one(self) -> Iterator[list[Phase]]:
        before: list[Phase] = []
        for tile, waves in enumerate(self._waves):
            stored = self._parts.stores.get(tile)
            for phases in (self._loads(tile), waves, [] if stored is None else [stored]):
                for phase in phases:
                    phase.after = list(before)
                    yield [phase]
                before = phases[-1:] or before

    def _loads(self, tile: int) -> list[Phase]:
        """Loads in the order of the load queue."""
        resumes = self._parts.resumes.get(tile)
        return [*self._parts.loads.get(tile, {}).values(), *([] if resumes is None else [resumes])]

    def _connect(self) -> None:
        """The phases that each phase waits for."""
        waves, parts = self._waves, self._parts
        for tile, (first, *_) in enumerate(waves):
            first.after += self._loads(tile)[-1:]
        inputs: tuple[ArrayName, ...] = ("I", "W")
        for array in inputs:
            for before, stay in pairwise(self._placement[array].stays):
                phase = parts.loads.get(stay.first, {}).get(array)
                if phase is not None and before.first > 0:
                    phase.after.append(waves[before.first - 1][-1])
        outputs = self._placement.O.stays
        seen: dict[tuple[Spans, ...], int] = {}
        for number, stay in enumerate(outputs):
            if stay.last not in parts.stores:  # it stays
                continue
            parts.stores[stay.last].after.append(waves[stay.last][-1])
            if number >= 2:
                waves[stay.first][0].after.append(parts.stores[outputs[number - 2].last])
            if stay.first in parts.resumes:
                needed = max(number - 2, seen[stay.touch])
                parts.resumes[stay.first].after.append(parts.stores[outputs[needed].last])
            seen[stay.touch] = number

    # --- work of the HWCs ---

    def _waves_of(self, tile: int, *, apart: bool) -> list[Phase]:
        """The first slices of a tile, one for each HWC at most; then the others and the wait for all of them.

        If there are no others, the first ones and the wait are one phase, but where they are to be ``apart``.
        """
        waves: list[list[Slice]] = [[]]
        for part in self._tiles.slices[tile]:
            if any(part.hwc == other.hwc for other in waves[-1]):
                waves.append([])
            waves[-1].append(part)
        used = sum(1 << hwc for hwc in {part.hwc for part in self._tiles.slices[tile]})
        first, *others = [list(self._wave(tile, wave)) for wave in waves]
        rest = [command for wave in others for command in wave]
        if not rest and not apart:
            return [Phase(Queue.COMPUTE, [*first, join(used)])]
        return [Phase(Queue.COMPUTE, first), Phase(Queue.COMPUTE, [*rest, join(used)])]

    def _wave(self, tile: int, wave: list[Slice]) -> Iterator[Command]:
        wanted = {part.hwc: self._checked(tile, part) for part in wave}
        yield from self._configuration.shared(wanted)
        if self._leaders is not None:
            yield from self._leaders.before(wave)
        for hwc, values in wanted.items():
            yield from self._configuration.own(hwc, values)
            yield start(1 << hwc)

    def _checked(self, tile: int, part: Slice) -> dict[str, int]:
        """The register values of a slice; of those of one shape only addresses differ that are checked together."""
        values, shape = self._tiles.registers(tile, part), id(self._tiles.small(part))
        known = shape in self._agreed
        require_agreement(self._tiles.parameters, values, self._where, addresses_alone=known)
        self._agreed.add(shape)
        require_constants(self._tiles.parameters, values, self._where)
        for register in self._registers:
            value = values[register.name]
            if not 0 <= value < 1 << register.width:
                raise InputError(
                    f"{self._where}: {register.meaning}: expected below {1 << register.width}, got {value}"
                )
        return values
