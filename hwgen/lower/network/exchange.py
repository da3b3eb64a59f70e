"""What software does beside the programs of a network: maps to store before each, maps to read after, nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hwgen.arch.layout import Region
from hwgen.ir.layer import AS_IT_IS, Form, Layer
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Dequantise, Node, Quantise, View
from hwgen.lower.network.cluster_plan import ClusterLayer, ClusterPlan
from hwgen.lower.network.order import turns
from hwgen.lower.network.parts import LayerPart
from hwgen.lower.network.placement import placement

__all__ = ["HostNode", "Tensor", "host_nodes", "inputs_of", "outputs_of"]


@dataclass(frozen=True)
class Tensor:
    """An input or an output of a network: bytes of int8, each of which stands for scale * (byte - zero_point).

    ``layer`` : the layer for which an input is laid out, as `hwgen.ir.layer.Form` says; None: it is stored as it is.
    """

    name: str
    region: Region
    scale: float
    zero_point: int
    shape: tuple[int, ...]
    layer: Layer | None = None


@dataclass(frozen=True)
class HostNode:
    """A node of software.

    Members
    -------
    before : number of the program that it runs before; the number of programs: after all.
    reason : why it does not run on the cluster; empty for quantisers.
    """

    before: int
    name: str
    kind: str
    reason: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def inputs_of(graph: Graph, plan: ClusterPlan, number: int) -> list[Tensor]:
    """What is stored before a program: inputs of the model by its names and in its order, then what software made."""
    stretch = plan.stretches[number]
    laid_out = {layer.sources[0]: layer for layer in stretch.layers if _form(layer).taps_as_channels}
    found: dict[str, list[Tensor]] = {}
    for name in graph.inputs:
        readers = [node.output for node in graph.nodes if isinstance(node, Quantise) and node.inputs[0] == name]
        for inside in (name, *readers):
            if inside in stretch.given:
                found.setdefault(inside, []).append(_tensor(graph, plan, name, inside))
            for source, layer in laid_out.items():
                if plan.order.roots[layer.node.inputs[0]] == inside and source in stretch.given:
                    found.setdefault(source, []).append(_laid_out(graph, plan, name, source, layer))
    turned = {layer.sources[0]: layer.node.inputs[0] for layer in stretch.layers if turns(layer.node)}
    for source in stretch.given:
        if source in turned:
            found[source] = [_turned(graph, plan, turned[source], turned[source], source)]
        elif source in laid_out and source not in found:
            layer = laid_out[source]
            found[source] = [_laid_out(graph, plan, layer.node.inputs[0], source, layer)]
        elif source not in found:
            found[source] = [_tensor(graph, plan, source, source)]
    return [one for some in found.values() for one in some]


def outputs_of(graph: Graph, plan: ClusterPlan, number: int) -> list[Tensor]:
    """What is read after a program: outputs of the model by its names and in its order, then what software reads."""
    made = {layer.node.output: layer.node for layer in plan.stretches[number].layers}
    numbers = {node.output: node for node in graph.nodes if isinstance(node, Dequantise)}
    readers = [*_host(graph, plan), *(layer.node for layer in plan.layers if turns(layer.node))]
    read = {plan.order.roots[name] for node in readers for name in node.inputs}
    found: dict[str, list[Tensor]] = {}
    for name in graph.outputs:
        form = numbers.get(name)
        inside = name if form is None else form.inputs[0]
        root = plan.order.roots[inside]
        if root in made:
            one = _turned(graph, plan, name, root, root) if turns(made[root]) else _tensor(graph, plan, name, inside)
            found.setdefault(root, []).append(
                one if form is None else replace(one, scale=form.scale, zero_point=form.zero)
            )
    for root, node in made.items():
        if turns(node) and root not in found:
            found[root] = [_turned(graph, plan, root, root, root)]
        elif root in read and not turns(node):
            found.setdefault(root, []).append(_tensor(graph, plan, root, root))
    return [one for some in found.values() for one in some]


def host_nodes(graph: Graph, plan: ClusterPlan) -> list[HostNode]:
    """The nodes of software in the order in which they run, without the quantisers at inputs and outputs, and views.

    Maps are named as `inputs_of` and `outputs_of` name them.
    """
    before = {node.name: 0 for node in graph.nodes}
    reasons = placement(graph, plan, plan.hardware).reasons
    number = 0
    for here, nodes in plan.order.steps:
        number += here
        before |= {node.name: number for node in nodes}
    return [
        HostNode(before[node.name], node.name, node.label, reasons.get(node.name, ""),
                 tuple(dict.fromkeys(plan.order.roots[name] for name in node.inputs)), node.outputs)
        for node in _host(graph, plan)
    ]  # fmt: skip


def _host(graph: Graph, plan: ClusterPlan) -> Sequence[Node]:
    def outside(node: Node) -> bool:
        at_input = isinstance(node, Quantise) and node.inputs[0] in graph.inputs
        at_output = isinstance(node, Dequantise) and node.output in graph.outputs
        return at_input or at_output or isinstance(node, View)

    return [node for here, nodes in plan.order.steps if not here for node in nodes if not outside(node)]


def _tensor(graph: Graph, plan: ClusterPlan, name: str, inside: str) -> Tensor:
    """``inside`` : the tensor of int8 that ``name`` is."""
    return _at(graph, plan.rooms.bases[plan.order.roots[inside]], name, inside)


def _form(layer: ClusterLayer) -> Form:
    return layer.part.program.schedule.layer.form if isinstance(layer.part, LayerPart) else AS_IT_IS


def _laid_out(graph: Graph, plan: ClusterPlan, name: str, room: str, layer: ClusterLayer) -> Tensor:
    """An input in the room where it is laid out for its layer."""
    assert isinstance(layer.part, LayerPart)
    run, base = layer.part.program.schedule.layer, plan.rooms.bases[room]
    one = _at(graph, base, name, layer.node.inputs[0])
    shape = (1, run.input_channels, run.input_height, run.input_width)
    return replace(one, region=Region(base, run.input_elements), shape=shape, layer=run)


def _turned(graph: Graph, plan: ClusterPlan, name: str, inside: str, room: str) -> Tensor:
    """An operand of a product of several rows in its room: each column of it is stored as a row."""
    one = _at(graph, plan.rooms.bases[room], f"{name} turned", inside)
    columns = one.shape[-1]
    return replace(one, shape=(columns, one.region.size // columns))


def _at(graph: Graph, base: int, name: str, inside: str) -> Tensor:
    tensor = graph.tensors[inside]
    form = tensor.quantisation
    assert form is not None, "only Quantise and Dequantise have tensors of numbers"
    return Tensor(name, Region(base, tensor.elements), form.scale, form.zero, tensor.shape)
