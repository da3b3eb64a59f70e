"""Quantised networks depth-first: which nodes they begin with run on pipelines, and what is predicted of these."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.api.depth_first import StackPrediction, dram_port, predictions_of
from hwgen.api.machines import HardwareLike
from hwgen.api.networks import is_model
from hwgen.api.progress import note
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.arch.dram import DramPort
from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Dequantise, Quantise, View
from hwgen.lower.network.placement import DEFAULT_CLUSTER
from hwgen.lower.pipeline.quantised import Beginning, beginning_of, solution_of
from hwgen.lower.pipeline.solution import Solution
from hwgen.readers.integers.reader import read_quantised

__all__ = ["DepthFirstForecast", "DepthFirstForecastRequest", "PlannedBeginning", "model_among"]


def model_among(names: Sequence[str]) -> Path:
    """The one model among a command's arguments; raises `InputError` for anything else."""
    if len(names) != 1 or not is_model(names[0]):
        raise InputError(f"--depth-first: expected one quantised model, got {', '.join(names)}")
    return Path(names[0])


@dataclass(frozen=True, eq=False)
class PlannedBeginning:
    """A network, what of it runs depth-first, in which stacks, and on which DRAM."""

    graph: Graph
    beginning: Beginning
    solution: Solution
    port: DramPort

    @classmethod
    def of(cls, model: Path, memory: int | None, dram: HardwareLike | None) -> "PlannedBeginning":
        note(f"reading {model}")
        graph = read_quantised(model)
        if graph.together:
            note(f"the first axis is no batch of images: {graph.together}")
        beginning = beginning_of(graph)
        solution = solution_of(beginning, memory)
        port = dram_port(dram or DEFAULT_CLUSTER)
        assert port is not None
        return cls(graph, beginning, solution, port)

    @property
    def host(self) -> dict[str, str]:
        """Why nodes do not run depth-first, by name; views and quantisers that just follow are left out."""
        found: dict[str, str] = {}
        first, why = self.beginning.ends or ("", "")
        begun = False
        for node in self.graph.nodes:
            begun |= node.name in self.beginning.nodes
            if node.name in self.beginning.nodes or isinstance(node, View | Quantise | Dequantise):
                continue
            after = why if node.name == first else f"it follows {first}, which ends the beginning"
            found[node.name] = after if begun else "it makes what the first stack reads"
        return found

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one image that run depth-first."""
        return sum(node.macs for node in self.graph.nodes if node.name in self.beginning.nodes)


@dataclass(frozen=True, eq=False, repr=False)
class DepthFirstForecast(Answer):
    """What the beginning of a network is predicted to hold, move and take as pipelines, and what the host does."""

    model: Path
    planned: PlannedBeginning
    stacks: StackPrediction

    @property
    def cycles(self) -> int:
        """Cycles of all stacks, one after the other, for one image."""
        return self.stacks.cycles

    @property
    def bytes(self) -> int:
        """Bytes to and from the DRAM."""
        return self.stacks.bytes

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen predict MODEL --depth-first --json`` prints."""
        return {
            **self.stacks.document(),
            "network": self.planned.graph.name,
            "macs": self.planned.macs,
            "nodes": list(self.planned.beginning.nodes),
            "host": self.planned.host,
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a stack."""
        return self.stacks.rows()

    def summary(self) -> str:
        """The sums."""
        return self.stacks.summary()


@dataclass(frozen=True, kw_only=True)
class DepthFirstForecastRequest:
    """A quantised model whose beginning is to be forecast depth-first.

    Members
    -------
    memory : bytes on chip, at most; None: as much as the least traffic needs.
    macs : multipliers of each pipeline, at most.
    dram : the hardware whose DRAM the pipelines are on; None: that of the built-in cluster for networks.
    """

    model: Path
    memory: int | None = None
    macs: int | None = None
    dram: HardwareLike | None = None

    @call
    def answer(self) -> DepthFirstForecast:
        """Plan the beginning of the network and predict its stacks."""
        planned = PlannedBeginning.of(self.model, self.memory, self.dram)
        entries = predictions_of(planned.solution, macs=self.macs, port=planned.port, rows=planned.beginning.rows)
        return DepthFirstForecast(self.model, planned, StackPrediction(self.model, planned.graph.name, entries))
