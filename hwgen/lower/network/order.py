"""The order in which a network's nodes run: stretches of layers for the cluster, and between them what the host
does."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node, Product, View

__all__ = ["NodeOrder", "ordered", "turns"]


@dataclass(frozen=True, eq=False)
class NodeOrder:
    """Nodes in the order in which they run.

    Members
    -------
    steps : nodes of the cluster that run as one program; nodes of the host.
    roots : for each tensor the one whose bytes it is; views have other shapes of the same bytes.
    asked : roots that the host needs after the cluster has made them.
    """

    steps: tuple[tuple[bool, tuple[Node, ...]], ...]
    roots: Mapping[str, str]
    asked: Collection[str]

    @property
    def stretches(self) -> list[tuple[Node, ...]]:
        """Those of the cluster."""
        return [nodes for here, nodes in self.steps if here]


def turns(node: Node) -> bool:
    """Whether the host turns the rows of its input, and those of its output: a product of several rows."""
    return isinstance(node, Product) and node.weights.shape[0] != node.all_macs // node.weights.shape[1]


def ordered(graph: Graph, here: Collection[str]) -> NodeOrder:
    """An order with as few stretches as a greedy one has: the host does what it can, then the cluster does what it
    can.

    ``here`` : names of the nodes that the cluster runs.
    """
    roots = {name: name for name in graph.tensors}
    for node in graph.nodes:
        if isinstance(node, View):
            roots[node.output] = roots[node.inputs[0]]
    left = list(graph.nodes)
    known, made, given = {*graph.inputs, *graph.constants}, set[str](), set[str]()
    steps: list[tuple[bool, tuple[Node, ...]]] = []

    def for_host(node: Node) -> bool:
        return node.name not in here and known.issuperset(node.inputs)

    def for_cluster(node: Node) -> bool:
        there = given if turns(node) else given | made
        return node.name in here and all(roots[name] in there for name in node.inputs)

    while left:
        host = _possible(left, for_host, known)
        if host:
            steps.append((False, tuple(host)))
        given = {roots[name] for name in known}
        stretch = _possible(left, for_cluster, made, lambda node: () if turns(node) else node.outputs)
        if stretch:
            steps.append((True, tuple(stretch)))
        if not host and not stretch:
            raise InputError(f"{left[0].name}: expected inputs that some node makes")
        known.update(name for node in stretch for name in node.outputs)
    asked = {roots[name] for name in graph.outputs}
    for node in graph.nodes:
        if not isinstance(node, View) and (node.name not in here or turns(node)):
            asked |= {roots[name] for name in node.inputs}
    return NodeOrder(tuple(steps), roots, asked)


def _possible(
    left: list[Node],
    ready: Callable[[Node], bool],
    made: set[str],
    makes: Callable[[Node], Sequence[str]] = lambda node: node.outputs,
) -> list[Node]:
    """What can run, one after the other; it is taken from ``left``, and what it makes is added to ``made``."""
    found: list[Node] = []
    while True:
        one = next((node for node in left if ready(node)), None)
        if one is None:
            return found
        left.remove(one)
        found.append(one)
        made.update(makes(one))
