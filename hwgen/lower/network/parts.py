"""The parts of a network's program: layers of the HWCs, and nodes of the vector unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, Queue
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import DramPort
from hwgen.arch.layout import LEAST_RING
from hwgen.arch.registers.cluster import RING_SETTINGS
from hwgen.ir.counts import Access, Counts, Direction, Key, Operand
from hwgen.ir.level import DRAM
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.ir.schedule import ARRAYS
from hwgen.lower.cluster.cycles import works_of
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.cluster.slice_waits import NO_UNIT
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import VectorProgram, moves_in
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.dma.cycles import shared_accesses
from hwgen.model.dram.streams import Streams
from hwgen.model.system.times import Work

__all__ = ["Early", "LayerPart", "Part", "PartCounts", "Regions", "VectorPart"]

Words = NDArray[np.uint32]
Regions = Sequence[tuple[int, int, OperandTag]]
"""First byte address, the one after the last, and what is there."""
AT_DRAM: Mapping[Queue, Mapping[OperandTag, tuple[Operand, Direction]]] = {
    Queue.LOAD: {
        OperandTag.I: ("I", "read"),
        OperandTag.W: ("W", "read"),
        OperandTag.B: ("B", "read"),
        OperandTag.O_PARTIAL: ("O", "read_partial"),
    },
    Queue.STORE: {OperandTag.O_PARTIAL: ("O", "write_partial"), OperandTag.O: ("O", "write")},
}
"""What transfers count as, by their tags."""


@dataclass(frozen=True)
class PartCounts:
    """Predicted accesses without the program's.

    Members
    -------
    hwcs : those of each HWC's ports.
    early : those at the DRAM that are counted with the next part, see `Early`.
    """

    counts: Counts
    hwcs: tuple[Counts, ...] = ()
    early: Counts = field(default_factory=Counts)


class Early(NamedTuple):
    """Where the part before works for a part, which is counted with this one.

    Members
    -------
    region : as what it is counted at the TCDM, a name of ``tcdm_regions``.
    tcdm : first byte address, and the one after the last.
    tensors : in the DRAM.
    """

    region: str
    tcdm: tuple[int, int]
    tensors: Regions


class Part(Protocol):
    """Commands between two waits of a program for all that it has begun.

    Members
    -------
    hardware : what they are for.
    commands : without END; at their beginning and end all token counters are zero, and all units rest.
    rings : values of `RING_SETTINGS` for them.
    together : whether HWCs are left that read together.
    ahead : loads of its first weights, which the part before makes; none if it makes all itself.
    early : what the part before does for it, these loads or others; None: nothing.
    tcdm_regions : first byte address and the one after the last, of ``I``, ``W``, ``O`` and ``B``.
    dram_regions : of the tensors in the DRAM.
    """

    @property
    def hardware(self) -> ClusterParameters: ...
    @property
    def commands(self) -> tuple[Command, ...]: ...
    @property
    def rings(self) -> tuple[int, ...]: ...
    @property
    def together(self) -> bool: ...
    @property
    def ahead(self) -> tuple[Command, ...]: ...
    @property
    def early(self) -> Early | None: ...
    @property
    def tcdm_regions(self) -> Mapping[str, tuple[int, int]]: ...
    @property
    def dram_regions(self) -> Regions: ...

    @property
    def works(self) -> Sequence[Work | int]:
        """What each START begins, in program order; numbers are cycles, in which the DMA does not wait."""
        ...

    def counts(self, port: DramPort, streams: Streams) -> PartCounts:
        """Accesses; ``streams``: what the parts before have left, continued."""
        ...

    def output(self, memory: Words, shared: Words) -> NDArray[np.signedinteger]:
        """The output [channels, rows, columns] after it, in the DRAM or else in the TCDM (``shared``)."""
        ...

    @property
    def stays(self) -> bool:
        """Whether the output is in the TCDM alone."""
        ...


@dataclass(frozen=True)
class LayerPart:
    """A layer of the HWCs; see `Part`.

    Parameters
    ----------
    program : its commands.
    beside : the next part's program, if some of it is early, among these commands.
    early_at : the places of these among all.
    """

    program: ClusterProgram
    beside: VectorProgram | None = None
    early_at: frozenset[int] = frozenset()

    @property
    def hardware(self) -> ClusterParameters:
        """See `Part`."""
        return self.program.hardware

    @property
    def commands(self) -> tuple[Command, ...]:
        """See `Part`."""
        return self.program.commands[:-1]

    @property
    def rings(self) -> tuple[int, ...]:
        """See `Part`."""
        settings = self.program.settings
        return tuple(settings[name] for name in RING_SETTINGS)

    @property
    def together(self) -> bool:
        """See `Part`."""
        return any(command.opcode is Opcode.MULTICAST for command in self.program.commands)

    @property
    def ahead(self) -> tuple[Command, ...]:
        """See `Part`."""
        return self.program.ahead

    @property
    def early(self) -> Early | None:
        """See `Part`: its first weights."""
        if not self.ahead:
            return None
        weights = [one for one in self.dram_regions if one[2] is OperandTag.W]
        return Early("W", self.tcdm_regions["W"], weights)

    @property
    def tcdm_regions(self) -> dict[str, tuple[int, int]]:
        """Rings of the operands, and the biases below them."""
        rings = {name: (ring.start, ring.end) for name, ring in self.program.rings.items()}
        return {**rings, "B": (0, self.program.placement.bias)}

    @property
    def places(self) -> list[tuple[int, int]]:
        """What it uses of the TCDM besides maps that stay: first byte addresses, and those after the last."""
        placement = self.program.placement
        rings = [placement[array] for array in ARRAYS if array not in placement.residence.arrays]
        return [(0, placement.bias), *((ring.start, ring.end) for ring in rings)]

    @property
    def dram_regions(self) -> Regions:
        """See `Part`."""
        layout = self.program.layout
        tensors = (
            (layout.inputs, OperandTag.I),
            (layout.weights, OperandTag.W),
            (layout.bias, OperandTag.B),
            (layout.partial, OperandTag.O_PARTIAL),
            (layout.output, OperandTag.O),
        )
        unmoved = self.program.placement.residence.unmoved
        return tuple((one.base, one.base + one.size, kind) for one, kind in tensors if kind.name not in unmoved)

    @property
    def works(self) -> Sequence[Work | int]:
        """See `Part`."""
        return works_of(self.program, self.beside.early_work if self.beside else NO_UNIT)

    def counts(self, port: DramPort, streams: Streams) -> PartCounts:
        """See `Part`."""
        cluster, layout = self.program.cluster, self.program.layout
        unmoved = self.program.placement.residence.unmoved
        found = predict_cluster(
            self.program.schedule,
            cluster.hwcs,
            port,
            multicast=cluster.multicast,
            layout=layout,
            streams=streams if self.beside is None else None,
            unmoved=unmoved,
        )
        if self.beside is None:
            return PartCounts(found.counts, found.hwcs)
        own, early = self._moved(port, streams)
        inside = {key: access for key, access in found.counts.accesses.items() if key[0] != DRAM.name}
        return PartCounts(Counts({**own.accesses, **inside}), found.hwcs, early)

    def _moved(self, port: DramPort, streams: Streams) -> tuple[Counts, Counts]:
        """Its own accesses at the DRAM, and those of the next part among them, in their order."""
        layout = self.program.layout
        found: tuple[dict[Key, Access], dict[Key, Access]] = ({}, {})
        for queue, stream in ((Queue.LOAD, streams.loads), (Queue.STORE, streams.stores)):
            moves = [(0, move) for move in moves_in(self.ahead, queue)]
            for at, command in enumerate(self.commands):
                moves += [(int(at in self.early_at), move) for move in moves_in((command,), queue)]
            for (owner, tag), access in shared_accesses(moves, port, stream).items():
                operand, direction = AT_DRAM[queue][tag]
                element = 1 if owner else layout.region(operand, direction).element
                found[owner][DRAM.name, operand, direction] = replace(access, elements=access.bytes // element)
        return Counts(found[0]), Counts(found[1])

    def output(self, memory: Words, shared: Words) -> NDArray[np.signedinteger]:
        """See `Part`."""
        if not self.stays:
            return self.program.output(memory)
        layer, ring = self.program.schedule.layer, self.program.placement.O
        shape = layer.output_channels, layer.output_height, layer.output_width
        return FeatureMap(ring.start, *shape, ring.pitch, ring.plane, resident=True).content(shared)

    @property
    def stays(self) -> bool:
        """See `Part`."""
        return "O" in self.program.placement.residence.unmoved


@dataclass(frozen=True)
class VectorPart:
    """A node of the vector unit; see `Part`.

    Parameters
    ----------
    program : its commands.
    inputs, target : its maps in the DRAM, or where they stay in the TCDM.
    tables : DRAM byte address of its tables.
    room : of the TCDM, first byte address and bytes, that it was compiled for.
    """

    program: VectorProgram
    inputs: tuple[FeatureMap, ...]
    target: FeatureMap
    tables: int
    room: tuple[int, int]

    @property
    def hardware(self) -> ClusterParameters:
        """See `Part`."""
        return self.program.cluster

    @property
    def commands(self) -> tuple[Command, ...]:
        """See `Part`."""
        return self.program.commands

    @property
    def rings(self) -> tuple[int, ...]:
        """It uses none; those that are set are the smallest."""
        return (LEAST_RING, LEAST_RING) * (len(RING_SETTINGS) // 2)

    @property
    def together(self) -> bool:
        """See `Part`."""
        return False

    @property
    def ahead(self) -> tuple[Command, ...]:
        """See `Part`."""
        return ()

    @property
    def early(self) -> Early | None:
        """See `Part`: what the layer before has beside its own."""
        begin, size = self.room
        return Early("I", (begin, begin + size), self.dram_regions) if self.program.early else None

    @property
    def apart(self) -> bool:
        """Whether its tables have a place of their own in the TCDM, and are counted there."""
        if self.program.early:
            return False
        begin, end = self.room[0], self.room[0] + len(self.program.constants)
        used = {job.table_from for job in self.program.jobs if job.table_from is not None}
        return all(begin <= at and at + TABLE_ENTRIES <= end for at in used)

    @property
    def tcdm_regions(self) -> dict[str, tuple[int, int]]:
        """Tables where they are apart, and the maps: parts of inputs and outputs take turns there, and maps that stay
        are at the end."""
        begin, _ = self.room
        if self.program.early:
            return {"I": (begin, self.hardware.tcdm_bytes)}
        middle = begin + (len(self.program.constants) if self.apart else 0)
        return {"I": (middle, self.hardware.tcdm_bytes), "B": (begin, middle)}

    @property
    def dram_regions(self) -> Regions:
        """See `Part`."""
        maps = [(one, OperandTag.I) for one in dict.fromkeys(self.inputs)] + [(self.target, OperandTag.O)]
        places = [(one.base, one.base + one.elements, kind) for one, kind in maps if not one.resident]
        return (*places, (self.tables, self.tables + len(self.program.constants), OperandTag.B))

    @property
    def works(self) -> Sequence[int]:
        """See `Part`."""
        return self.program.works

    def counts(self, port: DramPort, streams: Streams) -> PartCounts:
        """See `Part`."""
        return PartCounts(self.program.counts(port, streams))

    def output(self, memory: Words, shared: Words) -> NDArray[np.signedinteger]:
        """See `Part`."""
        return self.target.content(shared if self.stays else memory)

    @property
    def stays(self) -> bool:
        """See `Part`."""
        return self.target.resident
