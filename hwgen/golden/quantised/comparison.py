"""The integer reference beside ONNX Runtime, or LiteRT: whole, and node by node, each fed what that itself has there.

Where they differ, the model's own operators in real arithmetic (`hwgen.golden.quantised.real`) judge both sides: each
may only be as far from the real value as its arithmetic can be. Node by node from the model's inputs to its outputs
this is a proof, end to end, that nothing but such roundings differs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised.execution import Arrays, checked_inputs, execute, images, joined, node_outputs, outside
from hwgen.golden.quantised.litert import tflite_outputs
from hwgen.golden.quantised.precision import FLOATS, precision
from hwgen.golden.quantised.real import Bounded, RealValues
from hwgen.golden.quantised.runtime import model_outputs
from hwgen.ir.network.graph import Graph, Model
from hwgen.ir.network.kinds import Node
from hwgen.ir.network.tensors import HIGHEST, LOWEST
from hwgen.readers.onnx.reader import load_quantised
from hwgen.readers.tflite.conversion import is_tflite

__all__ = ["LITE_RT", "ONNX_RUNTIME", "Agreement", "Beside", "Difference", "compare_nodes", "run_beside", "total"]

ONNX_RUNTIME, LITE_RT = "ONNX Runtime", "LiteRT"
"""What the integer reference is compared with: the latter for TFLite files."""
FLOAT64 = 2.0**-40
"""The part of a step and of a value that float64 arithmetic is granted."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How much of a tensor is what ONNX Runtime makes of the same inputs.

    Members
    -------
    elements : how many there are.
    different : those that differ otherwise than by rounding.
    ties : those that differ where the real value is as near to the middle of two integers as the arithmetic of one
        side may move it.
    apart : those that differ where it is known that ONNX Runtime does not do as ONNX says, or ONNX says nothing.
    why : what is known.
    largest : the largest difference, in steps of the output or in numbers, ``apart`` aside.
    """

    name: str
    kind: str
    elements: int
    different: int = 0
    ties: int = 0
    largest: float = 0
    apart: int = 0
    why: str = ""

    @property
    def equal(self) -> float:
        """The part of elements that are equal, ties and what is apart aside."""
        return 1 - self.different / max(self.elements, 1)

    @property
    def holds(self) -> bool:
        """Whether nothing but rounding differs."""
        return self.different == 0


def compare_nodes(graph: Graph, image: Arrays, runtime: Arrays, model: Callable[[], Model]) -> list[Agreement]:
    """Each tensor that ONNX Runtime has, made from those before it.

    Parameters
    ----------
    image : inputs of one image, in the model's types.
    runtime : tensors of the same image as ONNX Runtime has them, in the model's types.
    model : the model of one image; it is read when something differs.
    """
    tensors: dict[str, NDArray] = dict(graph.constants)
    tensors.update((name, _inside(graph, name, array)) for name, array in image.items())
    judge = _Judge(graph, tensors, model)
    found = []
    for node in graph.nodes:
        made = node_outputs(graph, node, tensors)
        for name, array in zip(node.outputs, made, strict=True):
            if name in runtime:
                wanted = _inside(graph, name, runtime[name])
                found.append(judge.judged(node, name, array, wanted))
                tensors[name] = wanted if wanted.shape == array.shape else array
            else:
                judge.keep(node, name, array)
                tensors[name] = array
    return found


def _inside(graph: Graph, name: str, array: NDArray) -> NDArray:
    quantisation = graph.tensors[name].quantisation
    return array if quantisation is None else quantisation.inside(array)


class _Judge:
    """Says of differing elements whether rounding explains them.

    ``tensors`` : of one image, those before the node that is judged.
    """

    def __init__(self, graph: Graph, tensors: Mapping[str, NDArray], model: Callable[[], Model]) -> None:
        self._graph, self._tensors, self._model = graph, tensors, model
        self._inner: dict[str, float] = {}
        """Precision of tensors that ONNX Runtime does not have, which the node that reads them continues."""
        self._floats = set[str]()
        """Those of them that are computed in float32 on the way."""
        self._real: RealValues | None = None

    def keep(self, node: Node, name: str, made: NDArray) -> None:
        """Take note of a tensor that cannot be compared."""
        self._inner[name] = float(np.max(self._precision(node, made), initial=0))
        if self._in_floats(node):
            self._floats.add(name)

    def judged(self, node: Node, name: str, made: NDArray, wanted: NDArray) -> Agreement:
        """A tensor beside what ONNX Runtime has in its place."""
        whole = Agreement(name, node.label, wanted.size)
        if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
            return replace(whole, different=wanted.size, why=f"{wanted.dtype} of {wanted.shape} in ONNX Runtime")
        differs = _differs(made, wanted)
        if not differs.any():
            return whole
        steps = np.abs(made.astype(np.float64) - wanted.astype(np.float64))
        real = self._real_values().before_rounding(name)
        if real is None or real.value.shape != made.shape:
            largest = float(steps[differs].max())
            return replace(whole, different=int(np.count_nonzero(differs)), largest=largest)
        bound = self._precision(node, made) + (real.error if self._in_floats(node) else 0)
        ours = self._within(name, made, real, bound)
        theirs = self._within(name, wanted, real, real.error)
        unsaid, (why, most) = np.isnan(real.value), self._known(name)
        apart = differs & (unsaid | (ours & ~theirs & bool(why) & (steps <= most)))
        ties = differs & ~apart & ours & theirs
        left = differs & ~apart
        return replace(
            whole,
            different=int(np.count_nonzero(left & ~ties)),
            ties=int(np.count_nonzero(ties)),
            largest=float(np.nan_to_num(steps[left], nan=np.inf).max(initial=0)),
            apart=int(np.count_nonzero(apart)),
            why="" if not apart.any() else why or "ONNX does not say what becomes of what is no number",
        )

    def _real_values(self) -> RealValues:
        if self._real is None:
            self._real = RealValues(self._model(), self._tensors)
        return self._real

    def _precision(self, node: Node, made: NDArray) -> NDArray[np.float64] | float:
        operands = [self._tensors[name] for name in node.inputs]
        return precision(node, operands, made) + sum(self._inner.get(name, 0.0) for name in node.inputs)

    def _in_floats(self, node: Node) -> bool:
        return isinstance(node, FLOATS) or not self._floats.isdisjoint(node.inputs)

    def _within(self, name: str, made: NDArray, real: Bounded, bound: Any) -> NDArray[np.bool_]:
        """Whether values are what the real ones can become, moved by no more than a bound."""
        with np.errstate(invalid="ignore"):
            room = bound + FLOAT64 * (1 + np.abs(real.value))
            if self._graph.tensors[name].quantisation is None:
                return np.asarray(np.abs(made - real.value) <= room)
            low = np.clip(np.ceil(real.value - room - 0.5), LOWEST, HIGHEST)
            high = np.clip(np.floor(real.value + room + 0.5), LOWEST, HIGHEST)
        return np.asarray((low <= made) & (made <= high))

    def _known(self, name: str) -> tuple[str, float]:
        """What is known of operators before it that ONNX Runtime does not run as ONNX says; by how many steps."""
        for node in self._real_values().operators(name):
            settings, constants = node.attributes, self._model().constants
            if node.operator in ("Resize", "Upsample") and settings.get("mode", "nearest") == "nearest":
                return "ONNX Runtime takes other nearest elements than ONNX's reference implementation", np.inf
            if (
                node.operator == "AveragePool"
                and settings.get("ceil_mode", 0)
                and settings.get("count_include_pad", 0)
            ):
                return "ONNX Runtime counts elements beyond the padding, which ONNX does not", np.inf
            if node.operator == "Softmax":
                return "ONNX Runtime's Softmax of integers does not round to the nearest", 1
            if node.operator in ("Conv", "ConvTranspose", "Gemm") and node.inputs[1] in constants.arrays:
                return "ONNX Runtime quantises weights that the model has in numbers", np.inf
        return "", 0


def total(agreements: Sequence[Agreement], name: str = "all") -> Agreement:
    """All of them together."""
    return Agreement(
        name,
        "",
        sum(one.elements for one in agreements),
        sum(one.different for one in agreements),
        sum(one.ties for one in agreements),
        max((one.largest for one in agreements), default=0),
        sum(one.apart for one in agreements),
        next((one.why for one in agreements if one.why), ""),
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How far an output of the whole network is from ONNX Runtime's, in the model's own numbers.

    Members
    -------
    equal : the part of elements that are equal; 0 for another shape or type.
    largest : the largest difference.
    """

    equal: float
    largest: float


@dataclass(frozen=True, eq=False)
class Beside:
    """The integer reference and ONNX Runtime, or LiteRT, on the same inputs, all images.

    Members
    -------
    outputs : of the integer reference, in the model's types.
    tensors : all of its tensors of the first image; quantised ones are int8.
    agreements : of each tensor of an integer node that ONNX Runtime has, made of what it has before it.
    others : the same of the host's nodes.
    differences : of the outputs, end to end, from those of the model as it is in the file.
    runtime : what it is compared with.
    fused : elements of the outputs that ONNX Runtime itself makes otherwise where nobody asks for the tensors before
        them: its optimiser then leaves out quantisers.
    """

    outputs: Mapping[str, NDArray]
    tensors: Mapping[str, NDArray]
    agreements: Sequence[Agreement]
    others: Sequence[Agreement]
    differences: Mapping[str, Difference]
    fused: int = 0
    runtime: str = ONNX_RUNTIME

    @property
    def unlike(self) -> list[Agreement]:
        """Those in which anything differs, of all nodes."""
        return [one for one in (*self.agreements, *self.others) if one.different or one.ties or one.apart]

    @property
    def whole(self) -> Agreement:
        """The integer nodes together, with what differs in others."""
        others = [replace(one, elements=0) for one in self.unlike if one in self.others]
        return total([*self.agreements, *others])

    @property
    def holds(self) -> bool:
        """Whether roundings explain all that differs: of each node, and without any of them of the outputs, too."""
        whole = self.whole
        moved = whole.ties + whole.apart + self.fused > 0
        alike = all(one.equal == 1 for one in self.differences.values())
        return whole.holds and (alike or (moved and all(one.largest < np.inf for one in self.differences.values())))


def run_beside(
    path: Path, graph: Graph, given: Arrays, where: str, progress: Callable[[], None] = lambda: None
) -> Beside:
    """Run both; ``progress`` is called after each node and image. Raises `InputError` for inputs that do not fit.

    ONNX Runtime runs the whole model on all images as it is in the file, as many at a time as that takes, and once
    more for the tensors in it. LiteRT runs a TFLite model image by image, and keeps all tensors.
    """
    count = checked_inputs(graph, given, where)
    inside = [one.name for one in graph.tensors.values() if one.quantisation]
    if is_tflite(path):
        runtime = whole = tflite_outputs(path, given, {*inside, *graph.outputs}, count)
    else:
        whole = _in_batches(graph, given, count, lambda some: model_outputs(path, some, ()))
        runtime = _in_batches(graph, given, count, lambda some: model_outputs(path, some, inside))
    model = cache(lambda: load_quantised(path))
    made: list[dict[str, NDArray]] = []
    agreements: list[list[Agreement]] = []
    first: Mapping[str, NDArray] = {}
    for at, image in enumerate(images(graph, given, count)):
        found = execute(graph, image, progress)
        made.append({name: outside(graph, name, found) for name in graph.outputs})
        first = first or found
        agreements.append(compare_nodes(graph, image, _image(graph, runtime, at, count), model))
    outputs = {name: joined([one[name] for one in made]) for name in graph.outputs}
    joint = [_over_images(several) for several in zip(*agreements, strict=True)]
    integers = {node.output for node in graph.nodes if node.integer}
    return Beside(
        outputs,
        first,
        [one for one in joint if one.name in integers],
        [one for one in joint if one.name not in integers],
        {name: _difference(outputs[name], whole[name]) for name in graph.outputs},
        sum(int(np.count_nonzero(_differs(runtime[name], whole[name]))) for name in graph.outputs),
        LITE_RT if is_tflite(path) else ONNX_RUNTIME,
    )


def _in_batches(
    graph: Graph, given: Arrays, count: int, run: Callable[[Arrays], dict[str, NDArray]]
) -> dict[str, NDArray]:
    """What a model that takes some images at a time makes of all."""
    size = graph.batch or count
    parts = [
        run({name: array[at : at + size] if name in graph.apart else array for name, array in given.items()})
        for at in range(0, count, size)
    ]

    def together(name: str) -> NDArray:
        arrays = [part[name] for part in parts]
        tensor = graph.tensors.get(name)
        rows = size * tensor.shape[0] if tensor is not None and tensor.shape else 0
        return joined(arrays) if arrays[0].shape[:1] == (rows,) else arrays[0]

    return {name: together(name) for name in parts[0]}


def _image(graph: Graph, runtime: Arrays, at: int, count: int) -> dict[str, NDArray]:
    """The tensors of one image; one that has another shape than all images together would have is as it is."""
    found = {}
    for name, array in runtime.items():
        tensor = graph.tensors.get(name)
        if tensor is None:
            continue
        rows = tensor.shape[0] if tensor.shape else 1
        apart = count > 1 and array.shape == (count * rows, *tensor.shape[1:])
        found[name] = array[at * rows : (at + 1) * rows] if apart else array
    return found


def _over_images(several: Sequence[Agreement]) -> Agreement:
    return replace(total(several, several[0].name), kind=several[0].kind)


def _difference(made: NDArray, wanted: NDArray) -> Difference:
    if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
        return Difference(0.0, float("inf"))
    with np.errstate(invalid="ignore"):  # infinities
        steps = np.abs(made.astype(np.float64) - wanted.astype(np.float64))
    steps = np.where(_differs(made, wanted), steps, 0.0)
    largest = float(np.nan_to_num(steps, nan=np.finfo(np.float64).max).max(initial=0))
    return Difference(float(np.mean(steps == 0)) if steps.size else 1.0, largest)


def _differs(made: NDArray, wanted: NDArray) -> NDArray[np.bool_]:
    """Where two arrays of a shape differ; what is no number in both does not."""
    return np.asarray((made != wanted) & ~((made != made) & (wanted != wanted)))
