"""What hardware is chosen for: a quantised network, or layers, each with its bound, its plans and its runs."""

import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from os import PathLike, fspath
from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from hwgen.api.choosing.selection import Planned
from hwgen.api.choosing.space import Bound, Candidate
from hwgen.api.cluster_search import search_clusters
from hwgen.api.cosimulation import run_work
from hwgen.api.nests import Given
from hwgen.api.networks import NetworkLike, covered, is_model, load
from hwgen.api.predictions import predicted
from hwgen.api.results import Difference
from hwgen.api.running import RunRequest
from hwgen.api.work import Work, best_schedules
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes, Ports
from hwgen.ir.layer import Layer
from hwgen.ir.network.graph import Graph
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.lower.network.bound import NetworkBound
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.draft import draft_on
from hwgen.lower.network.forecast import NodeForecast, forecast_of, forecast_of_layers
from hwgen.lower.network.guess import RooflineGuess
from hwgen.lower.network.layers import weighted
from hwgen.lower.network.placement import placement, plan_on, possible_placement
from hwgen.model.cycle_bound import cycle_bound
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import is_quantised
from hwgen.search.cluster.least_cycles import search_few
from hwgen.search.hwc.balanced import ANY_TRAFFIC
from hwgen.search.layer_forms import forms_of
from hwgen.search.objectives.of_cluster import CYCLES
from hwgen.tools.cache import digest_of
from hwgen.tools.machine import processors

__all__ = ["SEED", "ChosenFor", "Layers", "LayersBound", "QuantisedModel", "chosen_for"]

SEED = 1
"""The seed of the random inputs of runs."""


class ChosenFor(ABC):
    """What hardware is chosen for. It is sent to the processes that plan it."""

    @property
    @abstractmethod
    def given(self) -> str:
        """Its file, or its name."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called."""

    @property
    @abstractmethod
    def key(self) -> str:
        """What plans of it are kept by: another one has another key."""

    @property
    @abstractmethod
    def scaled(self) -> bool:
        """Whether its outputs are requantised by a scale, else by a shift."""

    @property
    @abstractmethod
    def depthwise(self) -> bool:
        """Whether it has depthwise layers, or others in groups."""

    @abstractmethod
    def command(self, file: str, hardware: Hardware) -> str:
        """The command that takes hardware that was chosen for it, which is in this file."""

    @abstractmethod
    def bound(self) -> Bound:
        """What it takes at the least. Raises `InputError` where a cluster runs nothing of it."""

    @abstractmethod
    def planned_on(self, one: Candidate) -> Planned | str:
        """The plan on a candidate; or why that does not run it."""

    @abstractmethod
    def drafted_on(self, one: Candidate) -> float | str:
        """About the cycles of the plan on a cluster, in far less time; or why that does not run it."""

    @abstractmethod
    def run_on(self, hardware: Hardware) -> int:
        """Cycles of a run in the RTL, on random inputs; raises `Difference` where it is not as predicted."""


@dataclass(frozen=True)
class QuantisedModel(ChosenFor):
    """A quantised network, from a file: programs with maps in the TCDM where they fit."""

    file: Path

    @property
    def given(self) -> str:
        """Its file."""
        return str(self.file)

    @property
    def name(self) -> str:
        """The name of the network."""
        return _graph(self.file).name

    @cached_property
    def key(self) -> str:
        """The digest of its file."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()

    @property
    def scaled(self) -> bool:
        """True: networks have scales."""
        return True

    @property
    def depthwise(self) -> bool:
        """Whether a convolution of its graph has groups."""
        return any(getattr(node, "groups", 1) > 1 for node in _graph(self.file).nodes)

    def command(self, file: str, hardware: Hardware) -> str:
        """A run."""
        resident = "" if hardware.cluster is None else " --resident"
        return f"hwgen run {quote(self.given)} --hardware {file}{resident} --input FILE -o out"

    def bound(self) -> NetworkBound:
        """The bound of its graph."""
        found = NetworkBound(_graph(self.file))
        if not found.macs:
            raise InputError(f"{self.file}: expected a network of which a cluster runs a node with weights")
        return found

    def planned_on(self, one: Candidate) -> Planned | str:
        """The plan as `hwgen.run` has it, on a cluster with ``resident``; or why that does not run all it could."""
        graph, hardware = _graph(self.file), one.hardware
        try:
            plan = plan_on(graph, hardware, resident=hardware.cluster is not None)
        except InputError as error:
            return str(error)
        place = placement(graph, plan, hardware)
        host = place.host(graph)
        missing = self._missing(one, place.here, plan.refused)
        if missing is not None:
            return missing
        if isinstance(plan, ClusterPlan):
            each = [forecast_of(plan, stretch) for stretch in plan.stretches]
        else:
            each = [forecast_of_layers(plan.layers, hardware)]
        return Planned(
            one, round(sum(part.cycles for part in each)), sum(part.bytes for part in each),
            sum(part.energy for part in each), len(host),
            tuple(node for part in each for node in part.nodes),
        )  # fmt: skip

    def drafted_on(self, one: Candidate) -> float | str:
        """About the cycles of `planned_on`, on a cluster."""
        try:
            draft = draft_on(_graph(self.file), one.hardware)
        except InputError as error:
            return str(error)
        return self._missing(one, draft.here, draft.refused) or draft.cycles

    def _missing(self, one: Candidate, here: Collection[str], refused: Mapping[str, str]) -> str | None:
        """The first node that it does not run and could by its kind, and why; None: it runs all."""
        graph = _graph(self.file)
        possible = possible_placement(graph).here
        if one.hardware.cluster is None:
            possible &= {node.name for node in weighted(graph)}
        missing = sorted(possible - set(here))
        return f"{missing[0]}: {refused.get(missing[0], 'the host runs it')}" if missing else None

    def run_on(self, hardware: Hardware) -> int:
        """The run of ``hwgen run``, on a cluster with ``--resident``."""
        resident = hardware.cluster is not None
        run = RunRequest(model=self.file, hardware=hardware, seed=SEED, resident=resident).answer()
        if not run.passed:
            option = " --resident" if resident else ""
            raise Difference(f"{hardware.name}: hwgen run {self.file} --seed {SEED}{option} fails there")
        return run.cycles


@dataclass(frozen=True)
class Layers(ChosenFor):
    """Layers without a graph: one after the other, each from the DRAM and back; on an HWC alone from the TCDM."""

    given_as: str
    called: str
    layers: tuple[Layer, ...]

    @property
    def given(self) -> str:
        """The name or the file of the set."""
        return self.given_as

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.called

    @cached_property
    def key(self) -> str:
        """The digest of its layers."""
        return digest_of([layer.model_dump(mode="json") for layer in self.layers])

    @property
    def scaled(self) -> bool:
        """False: layers without a network have no scales."""
        return False

    @property
    def depthwise(self) -> bool:
        """Whether one of them has groups."""
        return any(layer.groups > 1 for layer in self.layers)

    def command(self, file: str, hardware: Hardware) -> str:
        """A cosimulation, which schedules first."""
        return f"hwgen cosim {quote(self.given)} --hardware {file}"

    def bound(self) -> "LayersBound":
        """The sum of the bounds of its layers."""
        return LayersBound(self.layers)

    def planned_on(self, one: Candidate) -> Planned | str:
        """The schedules of ``hwgen schedule SET --hardware``, and what ``hwgen predict`` says of them."""
        nodes = []
        try:
            for given in map(predicted, self._schedules(one.hardware)):
                layer = given.schedule.layer
                cycles, energy = given.cycles, given.energy
                assert cycles is not None
                assert energy is not None
                memory = "tcdm" if one.hardware.cluster is None else "dram"
                moved, bound = given.counts.total_with_bias(memory), _bound_of(layer, one.hardware)
                nodes.append(NodeForecast(layer.name, "layer", layer.macs, cycles, moved, energy.total, bound))
        except InputError as error:
            return str(error)
        return Planned(
            one, round(sum(node.cycles for node in nodes)), sum(node.bytes for node in nodes),
            sum(node.energy for node in nodes), 0, tuple(nodes),
        )  # fmt: skip

    def drafted_on(self, one: Candidate) -> float | str:
        """About the cycles of `planned_on`, on a cluster: by the least of a few estimates, or by a plan."""
        shapes = Counter(layer.of_network.model_copy(update={"name": "layer"}) for layer in self.layers)
        estimate = partial(estimated_cycles, hardware=one.hardware, ordered=False)
        runs = judge_of(one.hardware, timed=False)
        try:
            return sum(
                number * estimate(search_few(layer, one.hardware, runs=runs, estimate=estimate))
                for layer, number in shapes.items()
            )
        except InputError:
            made = self.planned_on(one)
            return made if isinstance(made, str) else float(made.cycles)

    def run_on(self, hardware: Hardware) -> int:
        """The run of ``hwgen cosim SET``."""
        work = Work(tuple(given.schedule for given in self._schedules(hardware)), hardware)
        results = run_work(work, jobs=processors(), seed=SEED)
        for result in results:
            if not result.passed:
                raise Difference(
                    f"{hardware.name}: hwgen cosim {self.given} --hardware ... fails there: {result.layer}"
                )
        return sum(result.cycles for result in results)

    def _schedules(self, hardware: Hardware) -> list[Given]:
        if hardware.cluster is None:
            results = best_schedules(self.layers, [hardware.budget], hardware, slack=ANY_TRAFFIC)
            return [Given(result.schedule, hardware) for result in results]
        found = search_clusters(self.layers, hardware, per_layer=False, objective=CYCLES)
        return [Given(result.schedule, found.hardware) for result in found.results]


class LayersBound:
    """The bound of layers that run one after the other, each from the DRAM and back.

    Members
    -------
    has_vector_nodes : False: layers alone have nothing for a vector unit.
    """

    has_vector_nodes = False

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self._layers, self._guess = layers, RooflineGuess(layers, stay=False)
        self._known: dict[tuple[Lanes, Ports, int, int], NDArray[np.float64]] = {}

    def cycles(self, hardware: Hardware) -> int:
        """The bound on given lanes; of clusters of one DRAM, which is all that is not looked at."""
        return round(float(self._each(hardware).sum()))

    def guess(self, hardware: Hardware) -> float:
        """About the cycles of their schedules, before there are any."""
        return self._guess.cycles(hardware, self._each(hardware))

    def _each(self, hardware: Hardware) -> NDArray[np.float64]:
        """The bounds of the layers."""
        cluster = hardware.cluster
        around = (0, 0) if cluster is None else (cluster.hwcs, cluster.axi_bits)
        key = hardware.shape, hardware.ports, *around
        if key not in self._known:
            self._known[key] = np.array([_bound_of(layer, hardware) for layer in self._layers], float)
        return self._known[key]


def _bound_of(layer: Layer, hardware: Hardware) -> int:
    """Cycles of one layer, in its form of the fewest."""
    return min(cycle_bound(form, hardware).cycles for form in forms_of(layer, hardware.shape))


def chosen_for(network: NetworkLike, *, partial: bool = False) -> ChosenFor:
    """What was given: a quantised model by its file, or the layers of anything else that `load` takes.

    ``partial`` : leave out layers that no schedule can be made for.
    """
    given = network if isinstance(network, str | PathLike) else load(network).given
    if is_model(given) and is_quantised(Path(given)):
        if partial:
            raise InputError("--partial: expected with layers, not with a quantised model")
        return QuantisedModel(Path(given))
    layers = covered(network, partial=partial).layers
    if not layers:
        raise InputError(f"{given}: expected layers with multiply-accumulates")
    return Layers(fspath(given), load(network).name, layers)


@lru_cache(maxsize=1)
def _graph(model: Path) -> Graph:
    return read_quantised(model)
