"""Where a real result is exactly half way between two integers: additions and averages, whose sums are short.

There ONNX Runtime rounds to the even integer, in float32, and integer arithmetic up.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised.maps import average_counts
from hwgen.quantised.graph import Graph
from hwgen.quantised.kinds import Addition, AveragePool, Node

__all__ = ["ties"]

NEAR = 1e-9
"""Of a step: what float64 leaves of an exact tie."""

Tensors = Any
Real = Callable[[Graph, Any, Any], NDArray[np.float64]]


def ties(graph: Graph, node: Node, tensors: Tensors) -> NDArray[np.bool_]:
    """For each element of the output whether its real result is a tie."""
    real = _REAL.get(type(node))
    if real is None:
        return np.zeros(node.shape, np.bool_)
    values = real(graph, node, tensors)
    return np.abs(values - np.floor(values) - 0.5) < NEAR


def _scale(graph: Graph, name: str) -> float:
    quantisation = graph.tensors[name].quantisation
    assert quantisation is not None
    return quantisation.scale


def _addition(graph: Graph, node: Addition, tensors: Tensors) -> NDArray[np.float64]:
    sums = sum(
        (tensors[name].astype(np.float64) - zero) * _scale(graph, name)
        for name, zero in zip(node.inputs, node.zeros, strict=True)
    )
    return np.asarray(sums / _scale(graph, node.output))


def _average(graph: Graph, node: AveragePool, tensors: Tensors) -> NDArray[np.float64]:
    sums, counts = average_counts(node, tensors[node.inputs[0]])
    factor = _scale(graph, node.inputs[0]) / _scale(graph, node.output)
    return (sums * factor / counts).reshape(node.shape)


_REAL: dict[type[Node], Real] = {Addition: _addition, AveragePool: _average}
