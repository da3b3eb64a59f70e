"""Whether a model treats the elements of its inputs' first axis apart: only then is that axis a batch of images.

The proof follows the data. A tensor that depends on an image has all images along its first axis, one after another,
with as many rows each; every operator must keep that. An operator that is not known keeps nothing.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.ir.network.tensors import Constants
from hwgen.readers.onnx.protos import ELEMENTWISE

__all__ = ["NotApart", "require_same", "rows_apart"]

Rows = dict[str, int]
"""How many rows of its first axis are of one image, for each tensor that depends on the image."""
SHAPES = {"Reshape": 1, "Expand": 1, "Resize": 3}
"""The input that is only the shape of the output."""


class NotApart(Exception):
    """Why the elements of the first axis are not treated apart."""


@dataclass(frozen=True)
class _Step:
    """One node, and what is known of its inputs.

    Members
    -------
    count : images.
    """

    node: Operation
    model: Model
    rows: Rows
    count: int

    @property
    def made(self) -> tuple[int, ...]:
        """Shape of the first output."""
        return self.model.shape(self.node.outputs[0])

    @property
    def settings(self) -> Mapping[str, Any]:
        """Attributes."""
        return self.node.attributes

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor or constant."""
        return self.model.shape(name)

    def constant(self, at: int, attribute: str = "") -> list[int] | None:
        """Integers of an input or, in older versions, of an attribute; None if neither is given."""
        names = self.node.inputs
        if len(names) > at and names[at]:
            self.require(names[at] in self.model.constants, f"its {attribute or 'shape'} is computed")
            return [int(one) for one in self.model.constants[names[at]].reshape(-1)]
        found = self.settings.get(attribute)
        return None if found is None else [int(one) for one in np.atleast_1d(found)]

    def axis(self, axis: int, rank: int | None = None) -> int:
        """An axis counted from the first."""
        return axis % max(len(self.shape(self.node.inputs[0])) if rank is None else rank, 1)

    def require(self, holds: bool, reason: str) -> None:
        """Raise `NotApart` unless it holds."""
        if not holds:
            raise NotApart(f"{self.node.operator} {self.node.name or self.node.outputs[0]}: {reason}")

    def data_alone(self) -> None:
        """Only the first input may depend on the image."""
        others = [name for name in self.node.inputs[1:] if name in self.rows]
        self.require(
            self.node.inputs[0] in self.rows and not others, "more than its first input depends on the image"
        )


Rule = Callable[[_Step], None]
MIXED = "it computes along the first axis"


def _aligned(step: _Step) -> None:
    """Broadcasting: images meet only themselves."""
    rank = len(step.made)
    for name in filter(None, step.node.inputs):
        shape = step.shape(name)
        if name in step.rows:
            step.require(len(shape) == rank and shape[0] == step.made[0], "another axis meets the first one")
        else:
            step.require(len(shape) < rank or shape[0] == 1, "a constant differs along the first axis")


def _quantiser(step: _Step) -> None:
    scales = prod(step.shape(step.node.inputs[1]))
    step.require(scales == 1 or step.axis(step.settings.get("axis", 1)) != 0, "scales along the first axis")
    step.data_alone()


def _channels(step: _Step) -> None:
    """Maps: the second axis has the channels."""
    step.data_alone()
    step.require(len([name for name in step.node.outputs if name]) == 1, "its places count all images")
    step.require(step.made[0] == step.shape(step.node.inputs[0])[0], MIXED)


def _gemm(step: _Step) -> None:
    first, second, *bias = step.node.inputs
    step.require(first in step.rows and second not in step.rows, "its second factor depends on the image")
    step.require(not step.settings.get("transA", 0), MIXED)
    for name in filter(None, bias):
        shape = step.shape(name)
        same = name in step.rows and len(shape) == 2 and shape[0] == step.made[0]
        step.require(same or (name not in step.rows and (len(shape) < 2 or shape[0] == 1)), MIXED)


def _matmul(step: _Step) -> None:
    for at, name in enumerate(step.node.inputs):
        shape, rank = step.shape(name), len(step.made)
        least = 2 if at == 0 else 3  # of the right factor rows are what sums run over
        if name in step.rows:
            fits = len(shape) == rank >= least and shape[0] == step.made[0]
            step.require(fits, "sums or columns run along the first axis")
        else:
            free = len(shape) < rank or (rank > 2 and shape[0] == 1) or (at == 1 and rank == len(shape) == 2)
            step.require(free, "a constant differs along the first axis")


def _one_axis(default: int) -> Rule:
    """Work along an axis, or from it to the last; other inputs are broadcast, or no maps."""

    def rule(step: _Step) -> None:
        step.data_alone()
        others = [step.shape(name) for name in step.node.inputs[1:] if name]
        same = any(len(shape) == len(step.made) > 1 and shape[0] != 1 for shape in others)
        step.require(not same, "a constant differs along the first axis")
        step.require(step.axis(step.settings.get("axis", default)) != 0, MIXED)

    return rule


def _input_axis(step: _Step) -> None:
    """The axis is the second input."""
    step.data_alone()
    axes = step.constant(1, "axis") or [0]
    step.require(all(step.axis(axis) for axis in axes), MIXED)


def _reduction(step: _Step) -> None:
    step.data_alone()
    axes = step.constant(1, "axes")
    if not axes and step.settings.get("noop_with_empty_axes", 0):
        return
    step.require(bool(axes) and all(step.axis(axis) for axis in axes or ()), MIXED)


def _statistics(step: _Step) -> None:
    """Mean and variance over axes, by default of all images together."""
    step.data_alone()
    step.require(all(step.axis(axis) for axis in step.settings.get("axes", [0])), MIXED)


def _transposed(step: _Step) -> None:
    order = step.settings.get("perm", range(len(step.made))[::-1])
    step.require(next(iter(order)) == 0, "it moves the first axis")


def _reshaped(step: _Step) -> None:
    """Elements stay in their order, so that images stay apart where they end at the ends of rows."""
    step.data_alone()
    step.require(bool(step.made) and step.made[0] % step.count == 0, "images do not end where rows do")


def _joined(step: _Step) -> None:
    step.require(step.axis(int(step.settings["axis"]), len(step.made)) != 0, "it joins along the first axis")
    step.require(all(name in step.rows for name in step.node.inputs), "it joins images with a constant")


def _gathered(step: _Step) -> None:
    step.data_alone()
    step.require(step.axis(step.settings.get("axis", 0)) != 0, "it takes elements along the first axis")


def _sliced(step: _Step) -> None:
    step.data_alone()
    axes = step.constant(3, "axes")
    named = step.constant(1, "starts") or []
    cut = {step.axis(axis) for axis in axes or range(len(named))}
    step.require(0 not in cut, "it takes a part of the first axis")


def _padded(step: _Step) -> None:
    step.data_alone()
    pads = step.constant(1, "pads") or []
    axes = step.constant(3) or list(range(len(pads) // 2))
    around = [pads[at] or pads[at + len(axes)] for at, axis in enumerate(axes) if step.axis(axis) == 0]
    step.require(not any(around), "it pads the first axis")


def _tiled(step: _Step) -> None:
    step.data_alone()
    step.require((step.constant(1, "repeats") or [0])[0] == 1, "it repeats the first axis")


def _sized(step: _Step) -> None:
    """The first axis keeps its size, and its place."""
    step.data_alone()
    given = step.shape(step.node.inputs[0])
    step.require(len(given) == len(step.made) and given[0] == step.made[0], "it changes the first axis")


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, _aligned),
    **dict.fromkeys(
        (
            "Acos", "Acosh", "And", "Asin", "Asinh", "Atanh", "Cast", "CastLike", "Cosh", "Equal", "Greater",
            "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Mean", "Mod", "Not", "Or", "Sinh", "Tan",
            "Where", "Xor",
        ),
        _aligned,
    ),
    "Dropout": _aligned,
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _quantiser),
    **dict.fromkeys(
        (
            "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool",
            "GlobalLpPool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LpPool",
            "MaxPool", "SpaceToDepth",
        ),
        _channels,
    ),
    "Gemm": _gemm,
    "MatMul": _matmul,
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax", "LayerNormalization", "RMSNormalization",
                     "LpNormalization", "TopK"), _one_axis(-1)),
    **dict.fromkeys(("ArgMax", "ArgMin", "Split"), _one_axis(0)),
    "CumSum": _input_axis,
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
         "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        _reduction,
    ),
    "MeanVarianceNormalization": _statistics,
    "Transpose": _transposed,
    **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze"), _reshaped),
    "Concat": _joined,
    "Gather": _gathered,
    "Slice": _sliced,
    "Pad": _padded,
    "Tile": _tiled,
    **dict.fromkeys(("Expand", "Resize", "Upsample"), _sized),
}  # fmt: skip
"""Rules by operator: what must hold so that its outputs have the images along their first axis as its inputs have."""


def rows_apart(model: Model, batched: Collection[str], count: int) -> Rows:
    """How many rows are of one image, for each tensor that depends on ``batched``; raises `NotApart`.

    ``count`` : images, the first size of these inputs.
    """
    rows = dict.fromkeys(batched, 1)
    for node in model.nodes:
        if not any(name in rows for name in node.inputs):
            continue
        step = _Step(node, model, rows, count)
        rule = RULES.get(node.operator)
        step.require(rule is not None, "it is not known to treat the elements of the first axis apart")
        assert rule is not None
        rule(step)
        for name in filter(None, node.outputs):
            shape = model.shape(name)
            step.require(bool(shape) and shape[0] % count == 0, MIXED)
            rows[name] = shape[0] // count
    alone = [name for name in model.outputs if name not in rows]
    if alone:
        raise NotApart(f"output {alone[0]} does not depend on them")
    return rows


def require_same(whole: Model, one: Model, rows: Rows) -> None:
    """Raise `NotApart` unless the model of one image does to it what the whole model does to each of its images."""
    for name, tensor in whole.tensors.items():
        wanted = (rows[name], *tensor.shape[1:]) if name in rows else tensor.shape
        if name not in whole.constants and (name not in one.tensors or one.shape(name) != wanted):
            raise NotApart(f"{name} would have another shape for one image")
    names = [[(node.operator, node.outputs) for node in model.nodes] for model in (whole, one)]
    if names[0] != names[1]:
        raise NotApart("a constant depends on how many there are")
    for node, other in zip(whole.nodes, one.nodes, strict=True):
        for at, (name, twin) in enumerate(zip(node.inputs, other.inputs, strict=True)):
            if name in whole.constants and at != SHAPES.get(node.operator):
                _require_equal(whole.constants, one.constants, name, twin)


def _require_equal(whole: Constants, one: Constants, name: str, twin: str) -> None:
    if twin not in one or not np.array_equal(whole[name], one[twin], equal_nan=True):
        raise NotApart(f"{name} depends on how many there are")
