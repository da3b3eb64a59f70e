"""Schedules of a network's layers on a cluster where maps stay in the TCDM, and where a layer's first weights are
loaded beside the layer before it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

from hwgen.arch.bus import beat_bytes
from hwgen.arch.dram import Dram
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Node, Product
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import program_on
from hwgen.lower.cluster.cycles import MOVE_CYCLES, cluster_cycles, estimated_cycles
from hwgen.lower.network.followed import left_after, rounded_work, work_beside
from hwgen.lower.network.layers import may_be_laid_out
from hwgen.lower.network.order import NodeOrder
from hwgen.lower.network.resident import KeptMaps
from hwgen.model.cluster.cluster_counts import dram_bytes
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.placement import place
from hwgen.model.cluster.residence import Residence
from hwgen.model.cluster.whole_maps import held_whole
from hwgen.model.dram.counts import weights_may_be_ordered
from hwgen.search.cluster.kept_maps import search_few_with_kept_maps, search_with_kept_maps

__all__ = ["KeptSchedules"]

STEP = 256
"""Cycles in which the time to load weights early is told apart."""


class KeptSchedules:
    """The schedules of fewest cycles with maps in the TCDM.

    Parameters
    ----------
    schedules : those for maps in the DRAM, by node.
    few : of a few schedules that of the least estimate, in far less time; no program is made.
    """

    def __init__(
        self, graph: Graph, schedules: Mapping[str, Schedule], hardware: Hardware, *, few: bool = False
    ) -> None:
        self._graph, self._schedules, self._hardware, self._few = graph, schedules, hardware, few
        cluster = hardware.cluster or Cluster()
        self._hwcs, self._timing = cluster.hwcs, cluster.dram or Dram()
        self._beat, self._elements = beat_bytes(cluster.axi_bits), cluster.vector_elements
        self._known: dict[str, Schedule | None] = {}
        self._layers: dict[str, Layer] = {}
        self._took: dict[tuple[Schedule, Residence], tuple[float, float]] = {}

    def of(self, node: Node, residence: Residence, idle: float = 0.0, beside: int = 0) -> Schedule | None:
        """The schedule of a node; None if none runs. Layers of one shape share it.

        ``idle`` : cycles in which the DMA loads nothing while the node before runs, for the first weights.
        ``beside`` : cycles of a node of the vector unit that it is to leave time for.
        """
        assert isinstance(node, Convolution | Product)
        found = self._schedules[node.name]
        laid_out = residence.inputs is None and may_be_laid_out(self._graph, node)
        layer = self._first_of_shape(found.layer.of_network)
        idle = min(idle, layer.weight_elements) // STEP * STEP
        stays = [residence.arrays, residence.stored, residence.room, residence.ahead]
        beside = rounded_work(beside)
        key = json.dumps([layer.shape_data, laid_out, *stays, idle, beside])
        if key not in self._known:

            def whole(schedule: Schedule, cycles: float) -> float:
                left = left_after(held_whole(schedule, residence.arrays), cycles, beside)
                return cycles + self._early(schedule, residence, idle) + left

            def timed(schedule: Schedule) -> float:
                return whole(schedule, self._takes(schedule, residence)[0])

            def estimate(schedule: Schedule, *, most: float = inf) -> float:
                return whole(schedule, estimated_cycles(schedule, self._hardware, residence, most=most))

            search = search_few_with_kept_maps if self._few else partial(search_with_kept_maps, timed=timed)
            self._known[key] = search(
                layer, self._hardware, residence, estimate=estimate, found=found.of_layer(layer), laid_out=laid_out
            )
        one = self._known[key]
        return None if one is None else one.of_layer(found.layer.of_network)

    def _first_of_shape(self, layer: Layer) -> Layer:
        """The first layer of the same shape, in whose name schedules of all of them are searched."""
        return self._layers.setdefault(json.dumps(layer.shape_data), layer)

    def chosen(self, order: NodeOrder, nodes: Sequence[Node], maps: KeptMaps) -> dict[str, Schedule]:
        """The schedules of the nodes of a stretch, by name."""
        return {name: schedule for name, (schedule, _) in self.timed(order, nodes, maps).items()}

    def timed(self, order: NodeOrder, nodes: Sequence[Node], maps: KeptMaps) -> dict[str, tuple[Schedule, float]]:
        """The schedules of the nodes of a stretch, and about their cycles, by name."""
        found: dict[str, tuple[Schedule, float]] = {}
        idle = 0.0
        for at, node in enumerate(nodes):
            if node.name not in self._schedules:
                outputs = self._graph.tensors[node.output].elements
                idle = (
                    outputs / self._elements
                    if all(maps.there(order.roots[name], at) for name in node.inputs)
                    else 0.0
                )
                continue
            residence = maps.residence(at, order.roots[node.inputs[0]], node.output)
            residence = replace(residence, ahead=at > 0)
            beside = self._work_beside(order, nodes, maps, at)
            schedule = self.of(node, residence, idle, beside) or self._schedules[node.name]
            total, loads = self._takes(schedule, residence)
            found[node.name] = schedule, total + self._early(schedule, residence, idle)
            idle = max(0.0, total - loads)
        return found

    def _work_beside(self, order: NodeOrder, nodes: Sequence[Node], maps: KeptMaps, at: int) -> int:
        """The cycles of the next node, where it may run beside this one: none of its maps stays in the TCDM."""
        if at + 1 == len(nodes) or nodes[at + 1].name in self._schedules:
            return 0
        following = nodes[at + 1]
        names = [*(order.roots[name] for name in following.inputs), following.output]
        return (
            0
            if any(maps.there(name, at + 1) for name in names)
            else work_beside(self._graph, nodes[at], self._hardware)
        )

    def _takes(self, schedule: Schedule, residence: Residence) -> tuple[float, float]:
        """Cycles of a schedule, and those in which the DMA loads."""
        key = schedule.of_layer(self._first_of_shape(schedule.layer.of_network)), residence
        if key not in self._took:
            self._took[key] = self._found(schedule, residence)
        return self._took[key]

    def _found(self, schedule: Schedule, residence: Residence) -> tuple[float, float]:
        """What `_takes` keeps."""
        if self._few:
            stored = "O" not in residence.unmoved and schedule.layer.output_elements
            moved = dram_bytes(held_whole(schedule, residence.arrays), unmoved=residence.unmoved) - stored
            return estimated_cycles(schedule, self._hardware, residence), moved / self._beat
        program = program_on(schedule, self._hardware, ordered=True, residence=residence)
        times = cluster_cycles(program, self._timing, briefly=True)
        return times.total, times.busy["load"]

    def _early(self, schedule: Schedule, residence: Residence, idle: float) -> float:
        """About the cycles by which the first weights are late, if they are loaded while the node before runs."""
        if not residence.ahead or not weights_may_be_ordered(normalised(schedule, self._hwcs)):
            return 0.0
        ring = place(normalised(held_whole(schedule, residence.arrays), self._hwcs), residence).W
        first = ring.stays[0]
        return max(0.0, MOVE_CYCLES + (first.high - first.low) / self._beat - idle)
