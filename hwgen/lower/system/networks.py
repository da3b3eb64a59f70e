"""A quantised network on several clusters that share a DRAM: each runs all of it, on an image of its own.

Weights, biases and tables are there once. Feature maps, partial sums and the programs are there once for each
cluster, at a distance that moves no transfer against bursts, rows and banks: each cluster moves exactly what one
alone moves. What they cost each other is time at the DRAM, and the model of several programs on one DRAM has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import PAGE_BYTES, WORD_BYTES, burst_window
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, encode
from hwgen.arch.descriptor import FIELDS
from hwgen.arch.dma import CHUNK_BYTES
from hwgen.arch.dram import BLOCK_BYTES, Dram
from hwgen.arch.layout import aligned
from hwgen.ir.document import InputError
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.forecast import Forecast, forecast_of
from hwgen.lower.network.program import NetworkProgram, PartTimes, part_times_of
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import ClusterTimes, elapsed

__all__ = ["NetworkSystem", "PlacedProgram"]

Words = NDArray[np.uint32]
_ADDRESS = next(one.word for one in FIELDS if one.name == "dram_address")
MOST_BYTES = 1 << 32
"""Bytes that the addresses of a DRAM reach."""


@dataclass(frozen=True, eq=False)
class PlacedProgram:
    """A program of the plan for one cluster of the system.

    Members
    -------
    program : as the plan has it.
    shared : bytes from address 0 on that all clusters read at the same place.
    distance : by how many bytes all else lies further up than in the plan.
    """

    program: NetworkProgram
    shared: int
    distance: int

    @property
    def hardware(self) -> ClusterParameters:
        """The cluster to generate."""
        return self.program.hardware

    @property
    def dram_end(self) -> int:
        """The byte address after everything that the cluster has in the DRAM."""
        return self.program.dram_end + self.distance

    @property
    def address(self) -> int:
        """Byte address of the program."""
        return self.program.address + self.distance

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the program, with its own addresses in the DRAM."""
        commands = self.program.commands
        return tuple(map(self._moved, commands)) if self.distance else commands

    @cached_property
    def words(self) -> Words:
        """The program as 32-bit words."""
        return np.array(encode(self.commands), np.uint32) if self.distance else self.program.words

    @property
    def settings(self) -> dict[str, int]:
        """The registers of the cluster by name."""
        return {**self.program.settings, "program_address": self.address, "dram_end": self.dram_end}

    def place(self, address: int) -> int:
        """Where what the plan has at an address of the DRAM is."""
        return address if address < self.shared else address + self.distance

    def _moved(self, command: Command) -> Command:
        if command.opcode is not Opcode.MOVE:
            return command
        payload = list(command.payload)
        payload[_ADDRESS] = self.place(payload[_ADDRESS])
        return replace(command, payload=tuple(payload))


@dataclass(frozen=True, eq=False)
class NetworkSystem:
    """A plan on several clusters; one cluster is a system of one, whose addresses are the plan's.

    Raises `InputError` where the addresses of the DRAM do not reach far enough.
    """

    plan: ClusterPlan
    clusters: int

    def __post_init__(self) -> None:
        if self.plan.first_room < self.shared:
            raise ValueError(f"plan: expected feature maps from {self.shared:#x} on, as for several clusters")
        if self.size > MOST_BYTES:
            raise InputError(
                f"--clusters: expected at most {self._most} for this network, whose maps and programs take "
                f"{self.distance:,} bytes of the DRAM in each cluster, got {self.clusters}"
            )

    @property
    def _most(self) -> int:
        return (MOST_BYTES - self.shared) // self.distance

    @property
    def shared(self) -> int:
        """Bytes from address 0 on that all clusters read: weights, biases, tables and constant maps."""
        if self.clusters == 1:
            return self.plan.parameters.size
        return aligned(self.plan.parameters.size, self.timing.row_bytes)

    @property
    def distance(self) -> int:
        """Bytes from what one cluster has for itself in the DRAM to what the next one has."""
        timing = self.timing
        unit = max(
            PAGE_BYTES, CHUNK_BYTES, BLOCK_BYTES, burst_window(self.plan.stretches[0].program.hardware.axi_bits),
            timing.row_bytes * timing.banks,
        )  # fmt: skip
        return aligned(self.plan.size - self.shared, unit)

    @property
    def size(self) -> int:
        """Bytes of the DRAM that are used."""
        return self.plan.size + (self.clusters - 1) * self.distance

    @property
    def timing(self) -> Dram:
        """The DRAM of the hardware."""
        cluster = self.plan.hardware.cluster
        return (cluster and cluster.dram) or Dram()

    def program(self, stretch: int, cluster: int) -> PlacedProgram:
        """The program of a stretch for a cluster."""
        return PlacedProgram(self.plan.stretches[stretch].program, self.shared, cluster * self.distance)

    def own(self, cluster: int) -> slice:
        """The bytes of the DRAM that only one cluster uses."""
        first = self.shared + cluster * self.distance
        return slice(first, first + self.plan.size - self.shared)

    def seen(self, memory: Words, cluster: int) -> Words:
        """The DRAM as the plan has it, of one cluster: a copy but where there is only one."""
        if self.clusters == 1:
            return memory
        octets = np.zeros(aligned(self.plan.size, WORD_BYTES), np.uint8)
        octets[: self.shared] = memory.view(np.uint8)[: self.shared]
        octets[self.shared : self.plan.size] = memory.view(np.uint8)[self.own(cluster)]
        return octets.view("<u4")

    def image(self, generators: Sequence[np.random.Generator]) -> Words:
        """The DRAM before the first program; at random what has not been written, a generator a cluster."""
        octets = np.zeros(aligned(self.size, WORD_BYTES), np.uint8)
        octets[: self.plan.parameters.size] = self.plan.parameters
        words = octets.view("<u4")
        for cluster, rng in enumerate(generators):
            one = self.own(cluster)
            octets[one] = rng.integers(0, 256, one.stop - one.start, np.uint8)
            for stretch in range(len(self.plan.stretches)):
                program = self.program(stretch, cluster)
                first = program.address // WORD_BYTES
                words[first : first + len(program.words)] = program.words
        return words

    def times(self, stretch: int, clusters: int | None = None) -> list[ClusterTimes]:
        """The cycles of the programs of a stretch, started together: of each cluster, or the first ``clusters``."""
        programs = [self.program(stretch, cluster) for cluster in range(clusters or self.clusters)]
        works = [work for part in programs[0].program.parts for work in part.works]
        played = [PlayedProgram(one.commands, works, one.address, len(one.words)) for one in programs]
        return play_together(played, programs[0].program.hardware, self.timing, clusters=self.clusters)

    def part_times(self, stretch: int, clusters: int | None = None) -> list[tuple[list[PartTimes], ClusterTimes]]:
        """The same, with the cycles of each part."""
        return [(part_times_of(one), one) for one in self.times(stretch, clusters)]

    def forecast(self, stretch: int) -> Forecast:
        """The forecast of the programs of a stretch, for an image on each cluster: bytes and energy of one image, the
        cycles of all, and those of the nodes on the cluster that ends last."""
        times = self.part_times(stretch)
        parts, _ = max(times, key=lambda one: one[1].total)
        total = elapsed([one.total for _, one in times])
        return forecast_of(self.plan, self.plan.stretches[stretch], (parts, total))
