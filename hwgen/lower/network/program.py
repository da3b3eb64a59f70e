"""Several layers as one program of a cluster: one start, one interrupt.

Before each layer the reader waits until all of the layer before is done, the last write acknowledged by the DRAM, and
sets the rings of the next one (`hwgen.arch.commands.settle`). So a layer may read what the one before has stored, and
its TCDM is its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.commands import Command, Opcode, encode, end, multicast, settle
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.registers.cluster import RING_SETTINGS, ring_registers
from hwgen.ir.counts import Access
from hwgen.lower.cluster.cycles import fetch_of, program_steps, queue_words
from hwgen.lower.cluster.program import ClusterProgram
from hwgen.model.cluster.access import TwoLevelPrediction, predict_two_levels
from hwgen.model.cluster.cycles import ClusterTimes, Step, simulate
from hwgen.model.dram.counts import Streams, program_access

__all__ = ["NetworkProgram"]

Words = NDArray[np.uint32]


@dataclass(frozen=True)
class NetworkProgram:
    """The layers between two nodes of the host, in order; all of one cluster.

    Parameters
    ----------
    layers : each compiled alone, with its places in the one DRAM.
    address : byte address of the program in the DRAM.
    dram_end : the byte address after everything in the DRAM.
    """

    layers: tuple[ClusterProgram, ...]
    address: int
    dram_end: int

    def __post_init__(self) -> None:
        if any(layer.hardware != self.layers[0].hardware for layer in self.layers):
            raise ValueError("layers: expected all for one cluster")

    @property
    def hardware(self) -> ClusterParameters:
        """The cluster to generate."""
        return self.layers[0].hardware

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The program."""
        return tuple(self._commands())

    def _commands(self) -> Iterator[Command]:
        together = False
        for layer in self.layers:
            yield settle(ring_registers(self.hardware).start, [layer.settings[name] for name in RING_SETTINGS])
            if together:  # each layer begins with HWCs that read for themselves
                alone = range(self.hardware.hwcs)
                yield multicast((1 << len(alone)) - 1, alone, alone)
            yield from layer.commands[:-1]
            together = any(command.opcode is Opcode.MULTICAST for command in layer.commands)
        yield end()

    @cached_property
    def words(self) -> Words:
        """The program as 32-bit words."""
        return np.array(encode(self.commands), np.uint32)

    @property
    def settings(self) -> dict[str, int]:
        """The registers of the cluster by name."""
        return {
            **self.layers[0].settings,
            "program_address": self.address,
            "program_words": len(self.words),
            "dram_end": self.dram_end,
            "tcdm_end": self.layers[0].cluster.tcdm,
        }

    # --- predictions ---

    def times(self, timing: Dram) -> ClusterTimes:
        """The cycles of the program with a DRAM of this timing; layer i begins at ``settled[i]``."""
        fetch = fetch_of(self.address, len(self.words), self.hardware.axi_bits, timing)
        return simulate(list(self._steps(timing)), queue_words(self.layers[0]), fetch)

    def _steps(self, timing: Dram) -> Iterator[Step]:
        together = False
        for layer in self.layers:
            yield Step(None, payload=1 + len(RING_SETTINGS))
            if together:
                yield Step("compute", payload=2, mask=(1 << self.hardware.hwcs) - 1)
            yield from program_steps(layer, timing)
            together = any(command.opcode is Opcode.MULTICAST for command in layer.commands)

    def layer_cycles(self, timing: Dram) -> tuple[list[float], float]:
        """The cycles from where each layer begins to where the next one does, and those of the whole program."""
        times = self.times(timing)
        ends = [*times.settled[1:], times.total]
        return [after - before for before, after in zip(times.settled, ends, strict=True)], times.total

    def predictions(self, port: DramPort) -> list[TwoLevelPrediction]:
        """The counts of each layer, without the program's."""
        streams, cluster = Streams(port), self.layers[0].cluster
        return [
            predict_two_levels(
                layer.schedule,
                cluster.hwcs,
                port,
                multicast=cluster.multicast,
                layout=layer.layout,
                streams=streams,
            )
            for layer in self.layers
        ]

    def fetched(self, port: DramPort) -> Access:
        """What is read from the DRAM of the program itself."""
        layout = replace(self.layers[0].layout, program=self.address)
        return program_access(layout, port, WORD_BYTES * len(self.words))
