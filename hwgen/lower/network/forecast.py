"""What a network is predicted to take, on a cluster or on one HWC: cycles, bytes and energy, node by node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.lower.network.bound import bound_of_layer, computed_elements
from hwgen.lower.network.cluster_plan import ClusterLayer, ClusterPlan, Stretch
from hwgen.lower.network.hwc_plan import PlannedLayer
from hwgen.lower.network.parts import LayerPart
from hwgen.lower.network.program import PartTimes
from hwgen.model.energy import bus_energy, device_energy, prices_of
from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest import one_level

__all__ = ["Forecast", "NodeForecast", "forecast_of", "forecast_of_layers", "pairs_beside"]


@dataclass(frozen=True)
class NodeForecast:
    """A node: cycles from where it begins to where the next one does, bytes moved, energy in pJ.

    Bytes are those at the DRAM of a cluster, or between an HWC and its memory. ``bound`` : cycles that its HWCs or
    its vector unit are busy with it at the least, whatever its schedule; 0 of what the DMA may do alone, and of what
    is begun beside the node before. ``beside`` : the layer in whose cycles the node is, as far as it runs beside it;
    "" where it runs alone.
    """

    name: str
    kind: str
    macs: int
    cycles: float
    bytes: int
    energy: float
    bound: int
    beside: str = ""

    def to_dict(self) -> dict[str, object]:
        """Its members, cycles in whole ones."""
        return {
            "layer": self.name,
            "kind": self.kind,
            "macs": self.macs,
            "cycles": round(self.cycles),
            "bound_cycles": self.bound,
            "bytes": self.bytes,
            "energy": self.energy,
            "beside": self.beside or None,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "NodeForecast":
        """The node of `to_dict`."""
        return cls(
            data["layer"], data["kind"], data["macs"], data["cycles"], data["bytes"], data["energy"],
            data["bound_cycles"], data.get("beside") or "",
        )  # fmt: skip


@dataclass(frozen=True)
class Forecast:
    """The forecast of one program, or of all layers of an HWC, for one image.

    Members
    -------
    cycles : from start to interrupt.
    bytes : that the memory serves, programs included.
    energy : pJ of all accesses and multiply-accumulates, without the programs.
    """

    nodes: tuple[NodeForecast, ...]
    cycles: float
    bytes: int
    energy: float


def forecast_of(
    plan: ClusterPlan, stretch: Stretch, times: tuple[Sequence[PartTimes], float] | None = None
) -> Forecast:
    """The forecast of one program of a cluster.

    ``times`` : cycles of its parts and of all, where others work at the same DRAM at the same time.
    """
    cluster = plan.hardware.cluster
    timing = (cluster and cluster.dram) or Dram()
    program = stretch.program
    port = DramPort(program.hardware.axi_bits, timing)
    prices = prices_of(program.hardware.hwc, cluster)
    if times is None:
        alone, whole = program.part_times(timing)
        times = alone, whole.total
    parts, total = times
    nodes, besides = [], pairs_beside(stretch)
    for layer, took, prediction in zip(stretch.layers, parts, program.predictions(port), strict=True):
        counts, part, node = prediction.counts, layer.part, layer.node
        spent = (
            device_energy(part.program.schedule, counts, prices)
            if isinstance(part, LayerPart)
            else bus_energy(counts, prices)
        )
        moved = counts.total_with_bias("dram")
        bound = _bound(layer, plan.hardware)
        nodes.append(NodeForecast(node.name, node.label, node.macs, took.cycles, moved, spent.total, bound,
                                  besides.get(node.name, "")))  # fmt: skip
    fetched = program.fetched(port).bytes
    return Forecast(tuple(nodes), total, fetched + sum(one.bytes for one in nodes), sum(one.energy for one in nodes))


def pairs_beside(stretch: Stretch) -> dict[str, str]:
    """The nodes that run beside the layer before them, each with that layer: its cycles are theirs, too."""
    return {
        after.node.name: layer.node.name
        for layer, after in pairwise(stretch.layers)
        if isinstance(layer.part, LayerPart) and layer.part.beside is not None
    }


def _bound(layer: ClusterLayer, hardware: Hardware) -> int:
    cluster, part = hardware.cluster or Cluster(), layer.part
    if isinstance(part, LayerPart):
        shape = part.program.schedule.layer.of_network
        return bound_of_layer(
            shape, hardware.shape, hardware.ports.output_bytes, cluster.hwcs, window=hardware.column_window
        )
    if part.early is not None:
        return 0
    return computed_elements(layer.node, part.target.elements) // cluster.vector_elements


def forecast_of_layers(layers: Sequence[PlannedLayer], hardware: Hardware) -> Forecast:
    """The forecast of the layers of one HWC, one after the other."""
    nodes = []
    for layer in layers:
        node, program = layer.node, layer.program
        found = one_level.predict(program.schedule)
        spent = device_energy(program.schedule, found.counts, prices_of(program.parameters, hardware.cluster))
        cycles = predicted_cycles(program.schedule, program.parameters).total
        bound = bound_of_layer(
            program.schedule.layer.of_network, program.schedule.lanes, hardware.ports.output_bytes, 1,
            window=hardware.column_window,
        )  # fmt: skip
        moved = found.total_with_bias
        nodes.append(NodeForecast(node.name, node.label, node.macs, cycles, moved, spent.total, bound))
    return Forecast(
        tuple(nodes),
        sum(one.cycles for one in nodes),
        sum(one.bytes for one in nodes),
        sum(one.energy for one in nodes),
    )
