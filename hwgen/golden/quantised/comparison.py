"""The integer reference beside ONNX Runtime: each node fed what ONNX Runtime itself has there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised.execution import Arrays, checked_inputs, execute, images, joined, node_outputs, outside
from hwgen.golden.quantised.runtime import model_outputs
from hwgen.golden.quantised.ties import ties
from hwgen.quantised.graph import Graph
from hwgen.quantised.kinds import Node

__all__ = ["ENOUGH", "Agreement", "Beside", "Difference", "compare_nodes", "run_beside", "total"]

ENOUGH = 0.999
"""The part of elements that must be equal."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How much of a node's output is what ONNX Runtime makes of the same input.

    Members
    -------
    elements, different : counts; ``different`` without exact ties.
    ties : elements that differ where the real result is exactly half way between two integers.
    largest : the largest difference, in steps of the output.
    """

    name: str
    kind: str
    elements: int
    different: int
    ties: int
    largest: int

    @property
    def equal(self) -> float:
        """The part of elements that are equal, ties aside."""
        return 1 - self.different / max(self.elements, 1)

    @property
    def holds(self) -> bool:
        """Whether enough is equal, and nothing differs by more than a step."""
        return self.largest <= 1 and self.equal >= ENOUGH


def compare_nodes(graph: Graph, runtime: Arrays) -> list[Agreement]:
    """Each node of the hardware.

    ``runtime``: the tensors of one image as ONNX Runtime has them, in the model's types. One that it does not have is
    computed from those before it.
    """
    tensors: dict[str, NDArray] = dict(graph.constants)
    for name, array in runtime.items():
        tensor = graph.tensors.get(name)
        if tensor is not None:
            tensors[name] = array if tensor.quantisation is None else tensor.quantisation.inside(array)
    known, found = set(tensors), []
    for node in graph.nodes:
        if not node.hardware:
            if not set(node.outputs) <= known and set(node.inputs) <= set(tensors):
                tensors.update(zip(node.outputs, node_outputs(graph, node, tensors), strict=True))
            continue
        (made,) = node_outputs(graph, node, tensors)
        if node.output in known:
            found.append(_agreement(graph, node, made, tensors))
        else:
            tensors[node.output] = made
    return found


def _agreement(graph: Graph, node: Node, made: NDArray, tensors: Arrays) -> Agreement:
    steps = np.abs(made.astype(np.int16) - tensors[node.output].astype(np.int16))
    differs = steps > 0
    tied = int(np.count_nonzero(differs & ties(graph, node, tensors))) if differs.any() else 0
    return Agreement(
        node.name, node.label, made.size, int(np.count_nonzero(differs)) - tied, tied, int(steps.max(initial=0))
    )


def total(agreements: Sequence[Agreement], name: str = "all") -> Agreement:
    """All of them together."""
    return Agreement(
        name,
        "",
        sum(one.elements for one in agreements),
        sum(one.different for one in agreements),
        sum(one.ties for one in agreements),
        max((one.largest for one in agreements), default=0),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an output of the whole network is from ONNX Runtime's, in the model's own numbers.

    Members
    -------
    equal : the part of elements that are equal.
    largest : the largest difference.
    """

    equal: float
    largest: float


@dataclass(frozen=True, eq=False)
class Beside:
    """The integer reference and ONNX Runtime on the same inputs, all images.

    Members
    -------
    outputs : of the integer reference, in the model's types.
    tensors : all of its tensors of the first image; quantised ones are int8.
    agreements : node by node, each fed what ONNX Runtime has there.
    differences : of the outputs, end to end.
    """

    outputs: Mapping[str, NDArray]
    tensors: Mapping[str, NDArray]
    agreements: Sequence[Agreement]
    differences: Mapping[str, Difference]


def run_beside(
    path: Path, graph: Graph, given: Arrays, where: str, progress: Callable[[], None] = lambda: None
) -> Beside:
    """Run both; ``progress`` is called after each node and image. Raises `InputError` for inputs that do not fit."""
    count = checked_inputs(graph, given, where)
    runtime = model_outputs(path, given, [one.name for one in graph.tensors.values() if one.quantisation])
    made: list[dict[str, NDArray]] = []
    agreements: list[list[Agreement]] = []
    first: Mapping[str, NDArray] = {}
    for at, image in enumerate(images(graph, given, count)):
        found = execute(graph, image, progress)
        made.append({name: outside(graph, name, found) for name in graph.outputs})
        first = first or found
        agreements.append(compare_nodes(graph, _image(graph, runtime, at, count) | image))
    outputs = {name: joined([one[name] for one in made]) for name in graph.outputs}
    return Beside(
        outputs,
        first,
        [_over_images(several) for several in zip(*agreements, strict=True)],
        {name: _difference(outputs[name], runtime[name]) for name in graph.outputs},
    )


def _image(graph: Graph, runtime: Arrays, at: int, count: int) -> dict[str, NDArray]:
    """The tensors of one image; those that do not have it as their first index are left out."""
    found = {}
    for name, array in runtime.items():
        tensor = graph.tensors.get(name)
        if tensor is None:
            continue
        one = array if count == 1 else array[at : at + 1]
        if one.shape == tensor.shape and (count == 1 or len(array) == count):
            found[name] = one
    return found


def _over_images(several: Sequence[Agreement]) -> Agreement:
    return replace(total(several, several[0].name), kind=several[0].kind)


def _difference(made: NDArray, wanted: NDArray) -> Difference:
    steps = np.abs(made.astype(np.float64) - wanted.astype(np.float64))
    return Difference(float(np.mean(steps == 0)), float(steps.max(initial=0)))
