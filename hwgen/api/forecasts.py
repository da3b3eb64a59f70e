"""What a quantised network is predicted to take on several hardware, without a simulation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from hwgen.api.machines import HardwareLike, called, each_hardware, hardware
from hwgen.api.models import default_cluster, tell_default
from hwgen.api.networks import Network
from hwgen.api.progress import steps
from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.api.sharing import sharing_of
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.cluster_plan import ClusterPlan
from hwgen.lower.network.forecast import NodeForecast, forecast_of_layers
from hwgen.lower.network.layers import nothing_runs, weighted
from hwgen.lower.network.placement import placement, plan_on
from hwgen.lower.system.networks import NetworkSystem
from hwgen.model.area.estimate import EstimatedArea, estimated_area
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import is_quantised

__all__ = ["ForecastRequest", "MachineForecast", "NetworkForecast", "forecast"]


@dataclass(frozen=True)
class MachineForecast:
    """One image of a network on one hardware, or an image on each of several clusters of it.

    Members
    -------
    name, multipliers : of the hardware, and of all its HWCs.
    clusters : how many share a DRAM, and run an image each at the same time.
    layers : the nodes that run on it, in order.
    host : names of the nodes that do not, and why; views, which are nothing, are left out.
    cycles : of all programs, until all clusters have ended, without what the host does.
    memory : whose bytes are counted: ``dram`` of a cluster, programs included; ``tcdm``, what an HWC works on.
    bytes : there, of one image.
    energy : pJ of all its accesses and multiply-accumulates; of an HWC without what fills its memory.
    area : what the hardware, one cluster, is estimated to take on an ECP5, and its clock there.
    given_mhz : a clock, for images a second.
    """

    name: str
    multipliers: int
    layers: tuple[NodeForecast, ...]
    host: Mapping[str, str]
    programs: int
    cycles: int
    memory: str
    bytes: int
    energy: float
    area: EstimatedArea
    given_mhz: float | None = None
    clusters: int = 1

    @property
    def mhz(self) -> float:
        """The clock that is given, else the estimated one."""
        return self.given_mhz or self.area.mhz or 0.0

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one image that run on it."""
        return sum(one.macs for one in self.layers)

    @property
    def utilisation(self) -> float:
        """The part of what the multipliers could have done in these cycles that they do."""
        return self.clusters * self.macs / (self.cycles * self.multipliers)

    def _utilisation(self, one: NodeForecast) -> float:
        return self.clusters * one.macs / (max(1.0, one.cycles) * self.multipliers)

    @property
    def images_a_second(self) -> float:
        """Images that it takes in a second at the clock `mhz`, the host's work aside."""
        return self.clusters * self.mhz * 1e6 / self.cycles

    @property
    def luts(self) -> int:
        """LUT4-equivalents of all clusters, estimated, without the interconnect between several."""
        return self.clusters * self.area.lut4

    def to_dict(self) -> dict[str, Any]:
        """An entry of the document."""
        return {
            "hardware": self.name,
            "clusters": self.clusters,
            "multipliers": self.multipliers,
            "macs": self.macs,
            "programs": self.programs,
            "cycles": self.cycles,
            "utilisation": self.utilisation,
            "memory": self.memory,
            "bytes": self.bytes,
            "energy": self.energy,
            "luts": self.luts,
            "estimated": self.area.to_dict(),
            "mhz": self.mhz,
            "mhz_is_estimated": self.given_mhz is None,
            "images_a_second": self.images_a_second,
            "host": dict(self.host),
            "layers": [one.to_dict() | {"utilisation": self._utilisation(one)} for one in self.layers],
        }


@dataclass(frozen=True, repr=False)
class NetworkForecast(Answer):
    """One image of a network on several hardware, in the order in which they were given."""

    network: str
    machines: tuple[MachineForecast, ...]

    def __getitem__(self, name: str) -> MachineForecast:
        found = next((one for one in self.machines if one.name == name), None)
        if found is None:
            raise InputError(f"{name}: expected one of {', '.join(one.name for one in self.machines)}")
        return found

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen predict MODEL --json`` prints."""
        return {"network": self.network, "networks": [one.to_dict() for one in self.machines]}

    def rows(self) -> list[dict[str, object]]:
        """One row for each hardware."""
        return [
            {"hardware": one.name, "multipliers": one.multipliers, "cycles": one.cycles,
             "utilisation": one.utilisation, "memory": one.memory, "bytes": one.bytes, "energy": one.energy,
             "images_a_second": one.images_a_second, "mhz": one.mhz, "lut4_estimated": one.luts,
             "on_the_host": len(one.host)}
            for one in self.machines
        ]  # fmt: skip

    def summary(self) -> str:
        """The hardware of the fewest cycles."""
        best = min(self.machines, key=lambda one: one.cycles)
        return f"Network {self.network}: {best.cycles:,} cycles on {best.name}"


@dataclass(frozen=True, kw_only=True)
class ForecastRequest:
    """A quantised model, hardware to forecast it on, and a clock in MHz for images a second.

    Without hardware it is that which a run takes without any.
    """

    model: Path
    machines: Iterable[HardwareLike]
    resident: bool = False
    mhz: float | None = None
    clusters: int | None = None

    @call
    def answer(self) -> NetworkForecast:
        """Plan the network on each hardware."""
        sharing = sharing_of(self.clusters, None)
        if self.mhz is not None and not 0 < self.mhz < inf:
            raise InputError(f"--mhz: expected a number above 0, got {self.mhz:g}")
        found: dict[str, Hardware] = {}
        for one in self.machines:
            machine = hardware(one)
            if machine.name in found:
                raise InputError(f"--hardware: expected each name once, got {machine.name} ({called(one)}) twice")
            if sharing is not None and machine.cluster is None:
                raise InputError(f"--clusters: expected clusters, got the HWC {machine.name}")
            found[machine.name] = machine
        if not found and not is_quantised(self.model):
            schedules = f"hwgen schedule {self.model.name} -o DIR makes them of its layers"
            raise InputError(f"{self.model}: expected a quantised model, or schedules ({schedules})")
        graph = read_quantised(self.model)
        if found:
            return NetworkForecast(graph.name, tuple(self._on(graph, one, self.resident) for one in found.values()))
        answer = NetworkForecast(graph.name, (self._on(graph, *default_cluster()),))
        tell_default()
        return answer

    def _on(self, graph: Graph, machine: Hardware, resident: bool) -> MachineForecast:
        with steps(len(weighted(graph)), f"scheduling for {machine.name}") as step:
            alone = machine.cluster is None
            clusters = self.clusters or 1
            plan = plan_on(graph, machine, step, resident=resident and not alone, clusters=clusters)
        if not plan.layers:
            raise InputError(f"{self.model}: {nothing_runs(graph, machine.name, plan.refused)}")
        place = placement(graph, plan, machine)
        nodes = place.host(graph)
        if isinstance(plan, ClusterPlan):
            system = NetworkSystem(plan, clusters)
            each = [system.forecast(number) for number in range(len(plan.stretches))]
            programs, multipliers = len(each), clusters * plan.lanes
        else:
            each, programs, multipliers = [forecast_of_layers(plan.layers, machine)], 0, machine.shape.product
        return MachineForecast(
            machine.name, multipliers, tuple(node for one in each for node in one.nodes),
            {node.name: place.reasons.get(node.name, "") for node in nodes}, programs,
            round(sum(one.cycles for one in each)), "tcdm" if alone else "dram",
            sum(one.bytes for one in each), sum(one.energy for one in each), estimated_area(machine), self.mhz,
            clusters,
        )  # fmt: skip


def forecast(
    model: str | PathLike[str] | Network,
    hardware: HardwareLike | Iterable[HardwareLike] = (),
    *,
    resident: bool = False,
    mhz: float | None = None,
    clusters: int | None = None,
) -> NetworkForecast:
    """Predict what a quantised network takes on hardware, without a simulation: what a run compares with its counts.

    Parameters
    ----------
    model : the model's file, or what `load` made of it.
    hardware : one HWC or cluster, or several of them to compare; with requantisation scaled. Without any the built-in
        cluster that `run` takes, maps that fit staying in its TCDM.
    resident : on clusters: maps that fit stay in the TCDM from node to node.
    mhz : a clock, for images a second; without it that which the hardware is estimated to have on an ECP5.
    clusters : number of clusters, 2 to 16, that share a DRAM, and run an image each at the same time.
    """
    given = model.given if isinstance(model, Network) else model
    return ForecastRequest(
        model=Path(given), machines=each_hardware(hardware), resident=resident, mhz=mhz, clusters=clusters
    ).answer()
