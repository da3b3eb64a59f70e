"""Several layers and nodes as one program of a cluster: one start, one interrupt.

Before each of these parts the reader waits until all of the one before is done, the last write acknowledged by the
DRAM, and sets the rings of the next one (`hwgen.arch.commands.settle`). So a part may read what the one before has
stored, and the TCDM is its own; but for the first weights of the next part, which it loads where it has room.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Queue, encode, end, multicast, settle
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.registers.cluster import ring_registers
from hwgen.ir.counts import Access, Counts
from hwgen.lower.network.parts import Part, PartCounts
from hwgen.model.dram.counts import fetch_access
from hwgen.model.dram.streams import Streams
from hwgen.model.system.cycles import PlayedProgram, play_together
from hwgen.model.system.times import ClusterTimes, QueueName

__all__ = ["NetworkProgram", "PartTimes", "part_times_of"]

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class PartTimes:
    """Cycles of a part; ``busy`` : those in which the DMA loads, or stores, or HWCs or the vector unit compute."""

    cycles: float
    busy: Mapping[QueueName, float]


@dataclass(frozen=True)
class NetworkProgram:
    """The parts between two nodes of the host, in order; all of one cluster.

    Parameters
    ----------
    parts : each compiled alone, with its places in the one DRAM.
    address : byte address of the program in the DRAM.
    dram_end : the byte address after everything in the DRAM.
    """

    parts: tuple[Part, ...]
    address: int
    dram_end: int

    def __post_init__(self) -> None:
        if any(part.hardware != self.hardware for part in self.parts):
            raise ValueError("parts: expected all for one cluster")

    @property
    def hardware(self) -> ClusterParameters:
        """The cluster to generate."""
        return self.parts[0].hardware

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The program."""
        return tuple(self._commands())

    def _commands(self) -> Iterator[Command]:
        together = False
        for at, part in enumerate(self.parts):
            yield settle(ring_registers(self.hardware).start, part.rings)
            if together:  # each part begins with HWCs that read for themselves
                alone = range(self.hardware.hwcs)
                yield multicast((1 << len(alone)) - 1, alone, alone)
            following = self.parts[at + 1] if at + 1 < len(self.parts) else None
            yield from part.commands if following is None else _with_loads(part.commands, following.ahead)
            together = part.together
        yield end()

    @cached_property
    def words(self) -> Words:
        """The program as 32-bit words."""
        return np.array(encode(self.commands), np.uint32)

    @property
    def settings(self) -> dict[str, int]:
        """The registers of the cluster by name; the program sets the rings."""
        return {
            "program_address": self.address,
            "program_words": len(self.words),
            "dram_base": 0,
            "dram_end": self.dram_end,
            "tcdm_base": 0,
            "tcdm_end": self.hardware.tcdm_bytes,
        }

    # --- predictions ---

    def times(self, timing: Dram) -> ClusterTimes:
        """The cycles of the program with a DRAM of this timing; part i begins at ``settled[i]``."""
        works = [work for part in self.parts for work in part.works]
        program = PlayedProgram(self.commands, works, self.address, len(self.words))
        return play_together([program], self.hardware, timing)[0]

    def part_times(self, timing: Dram) -> tuple[list[PartTimes], ClusterTimes]:
        """The cycles of each part, from where it begins to where the next one does, and of the whole program."""
        times = self.times(timing)
        return part_times_of(times), times

    def predictions(self, port: DramPort) -> list[PartCounts]:
        """The counts of each part, without the program's."""
        streams, early = Streams(port), Counts()
        found = []
        for part in self.parts:
            one = part.counts(port, streams)
            found.append(replace(one, counts=one.counts + early))
            early = one.early
        return found

    def fetched(self, port: DramPort) -> Access:
        """What is read from the DRAM of the program itself."""
        return fetch_access(self.address, port, WORD_BYTES * len(self.words))


def part_times_of(times: ClusterTimes) -> list[PartTimes]:
    """The cycles of each part of a program, from where it begins to where the next one does."""
    ends, busy = [*times.settled[1:], times.total], [*times.busy_before[1:], times.busy]
    return [
        PartTimes(end - begin, {queue: after[queue] - before[queue] for queue in after})
        for begin, end, before, after in zip(times.settled, ends, times.busy_before, busy, strict=True)
    ]


def _with_loads(commands: Sequence[Command], loads: Sequence[Command]) -> Iterator[Command]:
    """The commands of a part with loads for the next one after its own."""
    last = max((at for at, command in enumerate(commands) if command.queue is Queue.LOAD), default=-1)
    yield from commands[: last + 1]
    yield from loads
    yield from commands[last + 1 :]
