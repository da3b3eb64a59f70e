"""The request of a sweep over depth-first points."""

import platform
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from typing import Any

from hwgen import __version__
from hwgen.arch.dram import DramPort
from hwgen.ir.layer_set import Network
from hwgen.ir.names import plain_name
from hwgen.studies.sweep.request import PACKAGES, SYNTHESIS_PACKAGES, SYNTHESIS_SECONDS, timing_text
from hwgen.studies.sweep.rows import Cells
from hwgen.studies.sweep.steps import code_digest
from hwgen.synthesis.ecp5 import Device
from hwgen.tools.cache import digest_of

__all__ = ["DepthFirstQuestion", "PipelinePoint"]


@dataclass(frozen=True)
class PipelinePoint:
    """One point: the memory that a solution is for, and the multipliers of the pipelines that run it."""

    memory: int
    multipliers: int


@dataclass(frozen=True)
class DepthFirstQuestion:
    """The request: a network, memories, multipliers, and what is done for each point.

    Parameters
    ----------
    network : as it runs, at its resolution, with or without phases.
    network_set, own_set : its name, and whether that is a file's, as for other sweeps.
    memories : on-chip bytes, each once.
    multipliers : of each pipeline, at most; each number once.
    phases : transposed convolutions were replaced.
    port : the DRAM that the pipelines are on; None: the harness serves every stream.
    stalls : streams stall at random.
    simulate, synthesise, seed, device, synthesis_seconds : as for other sweeps.
    """

    network: Network
    network_set: str
    memories: tuple[int, ...]
    multipliers: tuple[int, ...]
    phases: bool = False
    port: DramPort | None = None
    stalls: bool = False
    simulate: bool = True
    synthesise: bool = False
    seed: int = 0
    device: Device = field(default_factory=Device)
    synthesis_seconds: float = SYNTHESIS_SECONDS
    own_set: bool = False

    def points(self) -> Iterator[PipelinePoint]:
        """All of them."""
        for multipliers in self.multipliers:
            for memory in self.memories:
                yield PipelinePoint(memory, multipliers)

    @cached_property
    def of_network(self) -> Cells:
        """The cells that say which network it is."""
        entry = self.network.connected_input()
        return {
            "set": self.network_set,
            "phases": self.phases,
            "input_width": entry.width,
            "input_height": entry.height,
            "question": self.name,
        }

    def asked(self, point: PipelinePoint) -> Cells:
        """The cells of each row of a point that say what was asked for."""
        return {
            **self.of_network,
            "memory_bytes": point.memory,
            "dram": None if self.port is None else timing_text(self.port.dram),
            "axi_bits": None if self.port is None else self.port.axi_bits,
            "multipliers": point.multipliers,
            "stalls": self.stalls,
            "seed": self.seed,
            "simulator": "verilator" if self.simulate else "",
        }

    @cached_property
    def name(self) -> str:
        """Its name in ``provenance.json``: a digest of its provenance."""
        return digest_of(self.provenance())[:12]

    @property
    def place(self) -> str:
        """The part of the names of its files that stands for the network."""
        return plain_name(self.network_set, digest_of(self.network.as_data()) if self.own_set else "")

    def provenance(self) -> dict[str, Any]:
        """What the results depend on besides the rows' own cells."""
        packages = PACKAGES + (SYNTHESIS_PACKAGES if self.synthesise else ())
        network = self.network.as_data()
        return {
            "set": self.network_set,
            "points": "depth-first",
            "hwgen": __version__,
            "sources": code_digest(),
            "tools": {name: version(name) for name in packages},
            "python": platform.python_version(),
            "network": network,
            "network_digest": digest_of(network),
            "memories": list(self.memories),
            "multipliers": list(self.multipliers),
            "axi_bits": None if self.port is None else self.port.axi_bits,
            "dram": None if self.port is None else self.port.dram.model_dump(mode="json"),
            "stalls": self.stalls,
            "simulated": self.simulate,
            "synthesised": asdict(self.device) if self.synthesise else None,
            "seed": self.seed,
        }
