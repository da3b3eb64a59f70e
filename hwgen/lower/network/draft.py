"""A draft of a network's plan: about its cycles on a cluster, from estimates of a few schedules of each layer.

No program of a layer is made. Maps stay in the TCDM where they fit, as in a plan; a node of the vector unit beside a
layer takes what is left of it when the layer ends. A draft takes a fifth to a tenth of the time of a plan, and
hardware is compared by it.
"""

from dataclasses import dataclass

from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.lower.network.cluster_plan import Scheduled, scheduled
from hwgen.lower.network.followed import left_after
from hwgen.lower.network.kept_schedules import KeptSchedules
from hwgen.lower.network.resident import KeptMaps, feature_map
from hwgen.lower.vector.program import compile_vector

__all__ = ["Draft", "draft_on"]


@dataclass(frozen=True)
class Draft:
    """What a network is estimated to take on a cluster.

    Members
    -------
    cycles : of one image, without what the host does.
    here : names of the nodes that the cluster runs.
    refused : of the others, by name, why it does not run them, where it could by their kind.
    """

    cycles: float
    here: frozenset[str]
    refused: dict[str, str]


def draft_on(graph: Graph, hardware: Hardware, *, resident: bool = True) -> Draft:
    """The draft of a network; raises `InputError` as `plan_cluster` does.

    ``resident`` : maps stay in the TCDM where they fit.
    """
    found = scheduled(graph, hardware, resident=resident, few=True)
    names = [*found.schedules, *found.tables]
    here = frozenset(one for name in names for one in found.stands_for.get(name, (name,)))
    stretches = zip(found.order.stretches, found.kept, strict=True)
    return Draft(sum(_cycles(found, hardware, *one) for one in stretches), here, dict(found.refused))


def _cycles(found: Scheduled, hardware: Hardware, nodes: tuple[Node, ...], maps: KeptMaps) -> float:
    """About the cycles of one stretch."""
    there = found.there or KeptSchedules(found.graph, found.schedules, hardware, few=True)
    timed = there.timed(found.order, nodes, maps)
    total = 0.0
    for at, node in enumerate(nodes):
        if node.name in timed:
            total += timed[node.name][1]
            continue
        work = _work(found, hardware, node, maps, at)
        before = nodes[at - 1] if at else None
        if before is not None and before.name in timed and _may_be_beside(found, before, node, maps, at):
            schedule, cycles = timed[before.name]
            total += left_after(schedule, cycles, work)
        else:
            total += work
    return total


def _may_be_beside(found: Scheduled, before: Node, node: Node, maps: KeptMaps, at: int) -> bool:
    """Whether a node may be beside the layer before: it reads nothing that this reads, and none of its maps stays."""
    stays = any(maps.there(found.order.roots[name], at) is not None for name in (*node.inputs, node.output))
    return not stays and not set(before.inputs) & set(node.inputs)


def _work(found: Scheduled, hardware: Hardware, node: Node, maps: KeptMaps, at: int) -> int:
    """Cycles of the vector unit with a node, and of the DMA, as a program of its own."""
    assert found.machine is not None
    places = [maps.there(found.order.roots[name], at) for name in (*node.inputs, node.output)]
    *inputs, output = (
        feature_map(found.graph, name, 0) if kept is None else kept.map
        for name, kept in zip((*node.inputs, node.output), places, strict=True)
    )
    program = compile_vector(node, inputs, output, found.machine, room=(0, maps.room(at)))
    return round(program.times((hardware.cluster or Cluster()).dram).total)
