"""An integer graph, run node by node: what hardware must make, and what the host makes between.

A kind of node is one entry of `REFERENCES`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised import maps, sums
from hwgen.golden.quantised.runtime import host_outputs
from hwgen.ir.document import InputError
from hwgen.ir.network import kinds
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node
from hwgen.ir.network.tensors import Quantisation

__all__ = ["REFERENCES", "checked_inputs", "execute", "images", "joined", "node_outputs", "outside"]

Arrays = Mapping[str, NDArray]
Reference = Callable[[Any, Sequence[NDArray]], NDArray]


def _of_one(function: Callable[[Any, NDArray], NDArray]) -> Reference:
    return lambda node, operands: function(node, operands[0])


REFERENCES: dict[type[Node], Reference] = {
    kinds.Convolution: _of_one(sums.convolution),
    kinds.Product: _of_one(sums.product),
    kinds.Addition: maps.addition,
    kinds.AveragePool: _of_one(maps.average_pool),
    kinds.FixedMean: _of_one(maps.fixed_mean),
    kinds.MaxPool: _of_one(maps.max_pool),
    kinds.Concatenation: maps.concatenation,
    kinds.Lookup: _of_one(maps.lookup),
    kinds.Movement: _of_one(maps.movement),
    kinds.View: lambda node, operands: operands[0].reshape(node.shape),
    kinds.Dequantise: lambda node, operands: Quantisation(node.scale, node.zero).numbers(operands[0]),
}
"""References by kind; what the host runs as ONNX has it, and quantisers, which need the tensor, are not in it."""


def execute(graph: Graph, inputs: Arrays, progress: Callable[[], None] = lambda: None) -> dict[str, NDArray]:
    """Every tensor of one image by name; quantised ones are int8. ``progress`` is called after each node."""
    found: dict[str, NDArray] = dict(graph.constants)
    for name, array in inputs.items():
        found[name] = _inside(graph, name, array)
    for node in graph.nodes:
        found.update(zip(node.outputs, node_outputs(graph, node, found), strict=True))
        progress()
    return found


def node_outputs(graph: Graph, node: Node, tensors: Arrays) -> Sequence[NDArray]:
    """What one node makes of the tensors that it reads."""
    if isinstance(node, kinds.HostOperator):
        return host_outputs(node, {name: outside(graph, name, tensors) for name in node.inputs})
    operands = [tensors[name] for name in node.inputs]
    if isinstance(node, kinds.Quantise):
        quantisation = graph.tensors[node.output].quantisation
        assert quantisation is not None
        return [quantisation.values(operands[0])]
    made = REFERENCES[type(node)](node, operands)
    assert made.shape == node.shape, f"{node.name}: {made.shape} in place of {node.shape}"
    return [made]


def outside(graph: Graph, name: str, tensors: Arrays) -> NDArray:
    """A tensor in the model's own type."""
    quantisation = graph.tensors[name].quantisation
    return tensors[name] if quantisation is None else quantisation.outside(tensors[name])


def _inside(graph: Graph, name: str, array: NDArray) -> NDArray:
    quantisation = graph.tensors[name].quantisation
    return array if quantisation is None else quantisation.inside(array)


def checked_inputs(graph: Graph, given: Arrays, where: str) -> int:
    """How many images the inputs are, a multiple of those that the model takes at a time; raises `InputError` for
    other shapes or types than the model's."""
    if set(given) != set(graph.inputs):
        raise InputError(f"{where}: expected the inputs {', '.join(graph.inputs)}, got {', '.join(given)}")
    found = set()
    for name, array in given.items():
        tensor, apart = graph.tensors[name], name in graph.apart
        wanted = tensor.shape[1:] if apart else tensor.shape
        fits = (array.shape[1:] if apart else array.shape) == wanted and array.ndim == len(tensor.shape)
        if array.dtype != tensor.dtype or not fits:
            shape = "x".join(map(str, (graph.batch or "N", *wanted) if apart else wanted))
            why = f" (one image: {graph.together})" if graph.together else ""
            raise InputError(
                f"{where}: input {name}: expected {tensor.dtype} of {shape or 'no dimensions'}, got {array.dtype} of "
                f"{'x'.join(map(str, array.shape)) or 'no dimensions'}{why}"
            )
        if apart:
            found.add(array.shape[0])
    batch, numbers = graph.batch or 1, ", ".join(map(str, sorted(found)))
    if len(found) > 1:
        raise InputError(f"{where}: expected as many images in each input, got {numbers}")
    if any(number == 0 or number % batch for number in found):
        number_wanted = "at least one image" if batch == 1 else f"a multiple of {batch} images"
        raise InputError(f"{where}: expected {number_wanted}, got {numbers}")
    return found.pop() if found else 1


def images(graph: Graph, given: Arrays, count: int) -> Iterator[dict[str, NDArray]]:
    """The inputs, one image after the other."""
    for image in range(count):
        yield {name: array[image : image + 1] if name in graph.apart else array for name, array in given.items()}


def joined(parts: Sequence[NDArray]) -> NDArray:
    """Outputs of several images as one array."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
