"""The nodes of a quantised network as layers."""

from collections.abc import Mapping, Sequence

import numpy as np

from hwgen.ir.document import validated
from hwgen.ir.layer import Layer
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Convolution, HostOperator, Movement, Product, Quantise, View, undilated
from hwgen.lower.vector.tasks import moves_planes

__all__ = ["layer_of", "may_be_laid_out", "nothing_runs", "refusals", "weighted"]


def weighted(graph: Graph) -> list[Convolution | Product]:
    """The nodes with weights: convolutions and products."""
    return [one for one in graph.nodes if isinstance(one, Convolution | Product)]


def may_be_laid_out(graph: Graph, node: Convolution | Product) -> bool:
    """Whether the host stores the node's input in memory for this node alone: it is an input of the network, or what
    only software makes of one."""
    makers = {one.output: one for one in graph.nodes}
    (name,) = node.inputs
    while isinstance(makers.get(name), View):
        (name,) = makers[name].inputs
    maker = makers.get(name)
    return isinstance(node, Convolution) and (
        name in graph.inputs
        or isinstance(maker, HostOperator | Quantise)
        or (isinstance(maker, Movement) and not moves_planes(maker))
    )


def refusals(graph: Graph, refused: Mapping[str, str]) -> dict[str, str]:
    """Why the hardware does not run a node, by node: what a plan refuses, and what has work and no integer form."""
    hosts = {one.name: one.reason for one in graph.nodes if isinstance(one, HostOperator) and one.macs}
    return hosts | dict(refused)


def nothing_runs(graph: Graph, hardware: str, refused: Mapping[str, str]) -> str:
    """What is said where the hardware of this name runs no layer of a network."""
    why = "; ".join(f"{name}: {reason}" for name, reason in refusals(graph, refused).items())
    return f"expected layers with weights that {hardware} runs, got {why or 'none'}"


def layer_of(graph: Graph, node: Convolution | Product, name: str) -> Layer:
    """The node as a layer; a product of rows is a 1 x 1 convolution with a pixel for each row."""
    outputs, channels = node.weights.shape[:2]
    if isinstance(node, Product):
        rows = int(np.prod(node.shape[:-1]))
        data = {"op": "fc" if rows == 1 else "conv", "input_channels": channels, "input_height": 1,
                "input_width": rows, "output_height": 1, "output_width": rows, "kernel": (1, 1)}  # fmt: skip
    else:
        window = undilated(node).window
        _, height, width = _of_map(graph.tensors[node.inputs[0]].shape)
        _, down, across = _of_map(node.shape)
        depthwise = node.groups > 1 and channels == 1
        top, left, bottom, right = window.padding  # below 0 at an end: what is there is in no window
        data = {"op": "depthwise_conv" if depthwise else "conv", "input_channels": channels * node.groups,
                "input_height": height, "input_width": width, "output_height": down, "output_width": across,
                "kernel": window.kernel, "stride": window.stride, "groups": node.groups,
                "padding": (top, left, max(bottom, 0), max(right, 0))}  # fmt: skip
    return validated(Layer, {"name": name, "output_channels": outputs, **data}, name)


def _of_map(shape: Sequence[int]) -> tuple[int, int, int]:
    """Channels, rows and columns."""
    _, channels, *rows, columns = shape
    return channels, rows[0] if rows else 1, columns
