"""Which nodes of a quantised network hardware runs, and why it does not run the others.

`placement` is the only place that says so: `hwgen network` prints it, `hwgen run` runs by it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, Dequantise, HostOperator, Node, Product, Quantise, View
from hwgen.lower.network.cluster_plan import ClusterPlan, plan_cluster, require_vector_node
from hwgen.lower.network.hwc_plan import NetworkPlan, plan_network
from hwgen.lower.network.layers import layer_of, weighted
from hwgen.lower.vector.tasks import is_for_vector

__all__ = ["ANY_CLUSTER", "DEFAULT_CLUSTER", "Placement", "placement", "plan_on", "possible_placement"]

DEFAULT_CLUSTER = "cluster_64_vector"
"""The built-in hardware that a network runs on where none is named."""
ANY_CLUSTER = f"the built-in {DEFAULT_CLUSTER}, memories aside"
"""The hardware that is meant where none is named: a cluster with a vector unit."""


@dataclass(frozen=True)
class Placement:
    """Where the nodes of a network run.

    Members
    -------
    hardware : what it is said of.
    here : names of the nodes that the hardware runs.
    reasons : of the others, by name, why it does not; views and quantisers have none.
    """

    hardware: str
    here: frozenset[str]
    reasons: Mapping[str, str]

    def host(self, graph: Graph) -> list[Node]:
        """The nodes that the host runs, in their order: those that the hardware does not, without views, which are
        nothing to run."""
        return [node for node in graph.nodes if self.runs_on(node) == "host"]

    def runs_on(self, node: Node) -> Literal["hardware", "host"] | None:
        """Where a node runs; None: a view that is nothing to run."""
        if node.name in self.here:
            return "hardware"
        return None if isinstance(node, View) else "host"


def plan_on(
    graph: Graph,
    hardware: Hardware,
    progress: Callable[[], None] = lambda: None,
    *,
    resident: bool = False,
    clusters: int = 1,
) -> NetworkPlan | ClusterPlan:
    """The plan of a network on one HWC or a cluster, see `plan_cluster`; ``progress`` is called after each node with
    weights."""
    if hardware.cluster is None:
        return plan_network(graph, hardware, progress)
    return plan_cluster(graph, hardware, progress, resident=resident, clusters=clusters)


def placement(graph: Graph, plan: NetworkPlan | ClusterPlan, hardware: Hardware) -> Placement:
    """The placement as a plan has it."""
    here = plan.here if isinstance(plan, ClusterPlan) else frozenset(layer.node.name for layer in plan.layers)
    return Placement(hardware.name, here, _reasons(graph, here, plan.refused, hardware))


def possible_placement(graph: Graph) -> Placement:
    """What a cluster with a vector unit can run by kind and shape, if its memories are large enough."""
    here, refused = set[str](), dict[str, str]()
    for node in graph.nodes:
        try:
            if isinstance(node, Convolution | Product):
                layer_of(graph, node, safe_name(node.name, set()))
            elif is_for_vector(node):
                require_vector_node(graph, node)
            else:
                continue
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{safe_name(node.name, set())}: ")
        else:
            here.add(node.name)
    if not any(node.name in here for node in weighted(graph)):
        refused |= dict.fromkeys(here, "a cluster runs no network without a layer with weights")
        here = set()
    return Placement(ANY_CLUSTER, frozenset(here), _reasons(graph, here, refused, None))


def _reasons(
    graph: Graph, here: Collection[str], refused: Mapping[str, str], hardware: Hardware | None
) -> dict[str, str]:
    """``hardware`` : None: a cluster with a vector unit."""
    found = {}
    for node in graph.nodes:
        if node.name in here or isinstance(node, View | Quantise | Dequantise):
            continue
        found[node.name] = refused.get(node.name) or (
            node.reason if isinstance(node, HostOperator) else _no_unit(node, hardware)
        )
    return found


def _no_unit(node: Node, hardware: Hardware | None) -> str:
    if hardware is not None and hardware.cluster is None:
        return "an HWC runs layers with weights alone"
    vector = hardware is None or (hardware.cluster is not None and hardware.cluster.vector)
    return f"the cluster has no {'unit for it' if vector or not is_for_vector(node) else 'vector unit'}"
