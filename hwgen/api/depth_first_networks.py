"""Quantised networks depth-first: which nodes they begin with run on pipelines, and which of the others on a cluster.

What is predicted of both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hwgen.api.depth_first import StackPrediction, dram_port, predictions_of
from hwgen.api.machines import HardwareLike, hardware
from hwgen.api.networks import is_model
from hwgen.api.progress import note, steps
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.arch.dram import DramPort
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Dequantise, Quantise, View
from hwgen.lower.network.cluster_plan import ClusterPlan, plan_cluster
from hwgen.lower.network.draft import draft_on
from hwgen.lower.network.forecast import Forecast, forecast_of
from hwgen.lower.network.placement import DEFAULT_CLUSTER, placement
from hwgen.lower.pipeline.quantised import Beginning, beginnings_of, rest_of, solution_of
from hwgen.lower.pipeline.solution import Solution
from hwgen.readers.integers.reader import read_quantised

__all__ = [
    "Cut",
    "DepthFirstForecast",
    "DepthFirstForecastRequest",
    "DepthFirstPlan",
    "OnCluster",
    "PlannedBeginning",
    "model_among",
]


def model_among(names: Sequence[str]) -> Path:
    """The one model among a command's arguments; raises `InputError` for anything else."""
    if len(names) != 1 or not is_model(names[0]):
        raise InputError(f"--depth-first: expected one quantised model, got {', '.join(names)}")
    return Path(names[0])


@dataclass(frozen=True)
class Cut:
    """A beginning that might run depth-first, and what the network is drafted to take with it.

    Members
    -------
    nodes : how many run depth-first.
    last : the name of the last of them.
    stacks, rest : cycles of the stacks, and about those of the rest on the cluster.
    bytes : of the stacks, at the DRAM.
    """

    nodes: int
    last: str
    stacks: int
    rest: int
    bytes: int

    @property
    def cycles(self) -> int:
        """About the cycles of both, one after the other."""
        return self.stacks + self.rest


@dataclass(frozen=True, eq=False)
class OnCluster:
    """What follows the beginning, on a cluster.

    Members
    -------
    graph : the nodes after the beginning, whose outputs are inputs.
    cuts : the beginnings that were compared, the shortest first.
    """

    graph: Graph
    machine: Hardware
    plan: ClusterPlan
    cuts: tuple[Cut, ...]

    @property
    def here(self) -> list[str]:
        """Names of the nodes that the cluster runs, in order."""
        return [node.name for node in self.graph.nodes if node.name in self.plan.here]

    @property
    def forecasts(self) -> list[Forecast]:
        """What each program is predicted to take."""
        return [forecast_of(self.plan, stretch) for stretch in self.plan.stretches]

    def document(self) -> dict[str, Any]:
        """The key ``rest`` of the document that ``hwgen predict MODEL --depth-first --json`` prints."""
        each = self.forecasts
        return {
            "hardware": self.machine.name,
            "nodes": self.here,
            "cycles": round(sum(one.cycles for one in each)),
            "bytes": sum(one.bytes for one in each),
            "energy": sum(one.energy for one in each),
            "cuts": [asdict(one) for one in self.cuts],
        }


@dataclass(frozen=True, eq=False)
class PlannedBeginning:
    """A network, what of it runs depth-first, in which stacks, on which DRAM, and what follows on a cluster."""

    graph: Graph
    beginning: Beginning
    solution: Solution
    port: DramPort
    rest: OnCluster | None = None

    @property
    def host(self) -> dict[str, str]:
        """Why nodes run neither depth-first nor on the cluster, by name; views and quantisers that just follow are
        left out."""
        found: dict[str, str] = {}
        first, why = self.beginning.ends or ("", "")
        begun, here = False, set(self.beginning.nodes)
        reasons: Mapping[str, str] = {}
        if self.rest is not None:
            reasons = placement(self.rest.graph, self.rest.plan, self.rest.machine).reasons
            here |= self.rest.plan.here
        for node in self.graph.nodes:
            begun |= node.name in self.beginning.nodes
            if node.name in here or isinstance(node, View | Quantise | Dequantise):
                continue
            after = why if node.name == first else f"it follows {first}, which ends the beginning"
            found[node.name] = reasons.get(node.name) or (after if begun else "it makes what the first stack reads")
        return found

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one image that run depth-first."""
        return sum(node.macs for node in self.graph.nodes if node.name in self.beginning.nodes)


@dataclass(frozen=True, kw_only=True)
class DepthFirstPlan:
    """What decides how a quantised network runs depth-first.

    Members
    -------
    model : its file.
    memory : bytes on chip, at most; None: as much as the least traffic needs.
    macs : multipliers of each pipeline, at most; None: `MACS`.
    dram : the hardware whose DRAM the pipelines are on; None: that of ``hardware``, else of the built-in cluster for
        networks.
    hardware : a cluster, with scaled sums, for what follows; None: the host runs that.
    resident : on the cluster maps that fit stay in the TCDM.
    until : the last node that runs depth-first; None: the last that may; with ``hardware`` that with which both take
        the fewest cycles.
    """

    model: Path
    memory: int | None = None
    macs: int | None = None
    dram: HardwareLike | None = None
    hardware: HardwareLike | None = None
    resident: bool = False
    until: str | None = None

    def planned(self) -> PlannedBeginning:
        """Read the network and plan its beginning, and what follows on a cluster."""
        machine = None if self.hardware is None else hardware(self.hardware)
        if machine is None and self.resident:
            raise InputError("--resident: expected with --hardware, a cluster for what follows the stacks")
        if machine is not None and machine.cluster is None:
            raise InputError(f"--hardware: expected a cluster with --depth-first, got the HWC {machine.name}")
        note(f"reading {self.model}")
        graph = read_quantised(self.model)
        if graph.together:
            note(f"the first axis is no batch of images: {graph.together}")
        port = dram_port(self.dram or machine or DEFAULT_CLUSTER)
        assert port is not None
        if machine is not None:
            return self._chained(graph, machine, port)
        beginning = self._beginnings(graph)[0]
        return PlannedBeginning(graph, beginning, solution_of(beginning, self.memory), port)

    def _beginnings(self, graph: Graph) -> list[Beginning]:
        """Those that may run depth-first, the longest first."""
        found = beginnings_of(graph)
        if self.until is None:
            return found
        those = [one for one in found if one.nodes[-1] == self.until]
        if not those:
            ends = ", ".join(one.nodes[-1] for one in found[::-1])
            raise InputError(f"--until: expected one of {ends}, got {self.until}")
        return those

    def _chained(self, graph: Graph, machine: Hardware, port: DramPort) -> PlannedBeginning:
        """The beginning with which stacks and cluster take the fewest cycles together; not longer ones whose stacks
        alone take more."""
        known: list[tuple[Cut, Beginning, Solution]] = []
        note("comparing how much of the network runs depth-first")
        beginnings = self._beginnings(graph)[::-1]
        with steps(len(beginnings), "drafting") as step:
            for beginning in beginnings:
                solution = solution_of(beginning, self.memory)
                stacks = predictions_of(solution, macs=self.macs, port=port, rows=beginning.rows)
                cycles = sum(entry["cycles"] for entry in stacks)
                if known and cycles >= min(cut.cycles for cut, *_ in known):
                    break
                draft = draft_on(rest_of(graph, beginning), machine, resident=self.resident)
                moved = sum(entry["total_bytes"] for entry in stacks)
                cut = Cut(len(beginning.nodes), beginning.nodes[-1], cycles, round(draft.cycles), moved)
                known.append((cut, beginning, solution))
                step()
        _, beginning, solution = min(known, key=lambda one: one[0].cycles)
        rest = rest_of(graph, beginning)
        plan = plan_cluster(rest, machine, resident=self.resident)
        after = OnCluster(rest, machine, plan, tuple(cut for cut, *_ in known))
        return PlannedBeginning(graph, beginning, solution, port, after)


@dataclass(frozen=True, eq=False, repr=False)
class DepthFirstForecast(Answer):
    """What the beginning of a network is predicted to hold, move and take as pipelines, and what follows."""

    model: Path
    planned: PlannedBeginning
    stacks: StackPrediction

    @property
    def cycles(self) -> int:
        """Cycles of all stacks and programs, one after the other, for one image."""
        rest = self.planned.rest
        return self.stacks.cycles + (0 if rest is None else round(sum(one.cycles for one in rest.forecasts)))

    @property
    def bytes(self) -> int:
        """Bytes to and from the DRAM."""
        rest = self.planned.rest
        return self.stacks.bytes + (0 if rest is None else sum(one.bytes for one in rest.forecasts))

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen predict MODEL --depth-first --json`` prints."""
        rest = self.planned.rest
        return {
            **self.stacks.document(),
            "network": self.planned.graph.name,
            "macs": self.planned.macs,
            "nodes": list(self.planned.beginning.nodes),
            "host": self.planned.host,
            **({} if rest is None else {"rest": rest.document()}),
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a stack."""
        return self.stacks.rows()

    def summary(self) -> str:
        """The sums."""
        rest = self.planned.rest
        if rest is None:
            return self.stacks.summary()
        return f"{self.stacks.summary()}; with the rest on {rest.machine.name}: {self.cycles:,} cycles"


@dataclass(frozen=True, kw_only=True)
class DepthFirstForecastRequest(DepthFirstPlan):
    """A quantised model whose beginning is to be forecast depth-first; see `DepthFirstPlan`."""

    @call
    def answer(self) -> DepthFirstForecast:
        """Plan the beginning of the network and predict its stacks."""
        planned = self.planned()
        entries = predictions_of(planned.solution, macs=self.macs, port=planned.port, rows=planned.beginning.rows)
        return DepthFirstForecast(self.model, planned, StackPrediction(self.model, planned.graph.name, entries))
