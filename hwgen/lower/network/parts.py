"""The parts of a network's program: layers of the HWCs, and nodes of the vector unit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dram import DramPort
from hwgen.arch.layout import LEAST_RING
from hwgen.arch.registers.cluster import RING_SETTINGS
from hwgen.ir.counts import Counts
from hwgen.ir.requantisation import TABLE_ENTRIES
from hwgen.ir.schedule import ARRAYS
from hwgen.lower.cluster.cycles import works_of
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.lower.vector.maps import FeatureMap
from hwgen.lower.vector.program import VectorProgram
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.dram.streams import Streams

__all__ = ["LayerPart", "Part", "PartCounts", "VectorPart"]

Words = NDArray[np.uint32]
Regions = Sequence[tuple[int, int, OperandTag]]
"""First byte address, the one after the last, and what is there."""


@dataclass(frozen=True)
class PartCounts:
    """Predicted accesses without the program's; ``hwcs``: those of each HWC's ports."""

    counts: Counts
    hwcs: tuple[Counts, ...] = ()


class Part(Protocol):
    """Commands between two waits of a program for all that it has begun.

    Members
    -------
    hardware : what they are for.
    commands : without END; at their beginning and end all token counters are zero, and all units rest.
    rings : values of `RING_SETTINGS` for them.
    together : whether HWCs are left that read together.
    ahead : loads of its first weights, which the part before makes; none if it makes all itself.
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
    def tcdm_regions(self) -> Mapping[str, tuple[int, int]]: ...
    @property
    def dram_regions(self) -> Regions: ...

    @property
    def works(self) -> Sequence[int]:
        """Cycles of what each START begins, in program order."""
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
    """A layer of the HWCs; see `Part`."""

    program: ClusterProgram

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
    def works(self) -> Sequence[int]:
        """See `Part`."""
        return tuple(works_of(self.program))

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
            streams=streams,
            unmoved=unmoved,
        )
        return PartCounts(found.counts, found.hwcs)

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
    def apart(self) -> bool:
        """Whether its tables have a place of their own in the TCDM."""
        begin, end = self.room[0], self.room[0] + len(self.program.constants)
        used = {job.table_from for job in self.program.jobs if job.table_from is not None}
        return all(begin <= at and at + TABLE_ENTRIES <= end for at in used)

    @property
    def tcdm_regions(self) -> dict[str, tuple[int, int]]:
        """Tables where they are apart, and the maps: parts of inputs and outputs take turns there, and maps that stay
        are at the end."""
        begin, _ = self.room
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
