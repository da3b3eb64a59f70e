"""What a model's own operators say in real arithmetic, with a bound of what float32 makes of it.

The nodes between quantised tensors are evaluated in float64. Each value has a bound of its distance from what float32
arithmetic gives, however it is ordered, and, for a TFLite model, from what fixed point gives. Nothing of the integer
graph is used: it is what this judges.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.golden.quantised import windowed
from hwgen.golden.quantised.fixed_point import distance
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation
from hwgen.readers.integers.movement import flat_index, pad_value
from hwgen.readers.onnx.protos import ELEMENTWISE, MOVEMENTS, evaluate

__all__ = ["Bounded", "RealValues", "sum_roundings"]

Float64 = NDArray[np.float64]
UNIT = 2.0**-24
"""Half the distance from 1 to the next float32."""
FEW = 4
"""Roundings of a product of a value and scales, in any order."""
FUNCTION = 16
"""Roundings that an approximated function is granted, of the greater of its value and its argument."""
OTHERS = 64
"""Roundings that an operator without a rule is granted, of the greatest value that it makes."""
SURE = 6
"""The error of a sum of n terms, as a multiple of the root of n roundings of the sum of their sizes, is within this,
but for one in fifty million (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4); at most n of them in
any case."""

EXACT = frozenset(("Abs", "Clip", "Identity", "Max", "Min", "Neg", "Relu", "Sign", "Floor", "Ceil", "Round"))
"""Element-wise operators that do not round to float32."""
ARITHMETIC = frozenset(("Add", "Div", "LeakyRelu", "Mul", "PRelu", "Sub", "Sum", "ThresholdedRelu"))
"""Element-wise operators of a few roundings."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Values, and how far float32 arithmetic may be from each."""

    value: Float64
    error: Float64

    def mapped(self, function: Callable[[Float64], Float64]) -> "Bounded":
        """Both moved alike."""
        return Bounded(function(self.value), function(self.error))


def sum_roundings(terms: int) -> float:
    """Roundings of a sum, of the sum of its terms' sizes, by `SURE`; with those of the terms themselves."""
    return min(float(terms), SURE * sqrt(terms)) + FEW


class RealValues:
    """The tensors of a model for one image, from those that are known.

    Parameters
    ----------
    model : of one image, as `hwgen.readers.integers` reads it.
    known : integers of quantised tensors, as int8, and inputs in numbers, by name.
    """

    def __init__(self, model: Model, known: Mapping[str, NDArray]) -> None:
        self.model, self._known = model, known
        self._found: dict[str, Bounded | None] = {}

    def of(self, name: str) -> Bounded | None:
        """A tensor of numbers; None where an operator on the way has no real meaning here."""
        if name not in self._found:
            self._found[name] = self._evaluated(name)
        return self._found[name]

    def before_rounding(self, name: str) -> Bounded | None:
        """A quantised tensor in steps from -128 on, before it is rounded and clipped; of any other its numbers."""
        node, quantisation = self.model.producers.get(name), self.model.quantisation(name)
        if node is None or node.operator != "QuantizeLinear" or quantisation is None:
            return self.of(name)
        found = self.of(node.inputs[0])
        if found is None:
            return None
        steps = found.value / quantisation.scale
        error = found.error / quantisation.scale + FEW * UNIT * np.abs(steps)
        if self.model.fixed_point:
            error = error + distance(self.model, name, self.operators(name), steps)
        return Bounded(steps + quantisation.zero, error)

    def operators(self, name: str) -> list[Operation]:
        """The nodes between a tensor and the quantised ones before it, its own quantiser aside."""
        found: dict[int, Operation] = {}
        left = [name]
        while left:
            node = self.model.producers.get(left.pop())
            if node is None or id(node) in found or node.operator == "DequantizeLinear":
                continue
            found[id(node)] = node
            left += list(node.inputs)
        return [node for node in found.values() if node.operator != "QuantizeLinear"]

    def _evaluated(self, name: str) -> Bounded | None:
        constants = self.model.constants
        if name in constants:
            if name in constants.integers:
                value = constants.integers[name].exact
                return Bounded(value, FEW * UNIT * np.abs(value))
            return _exact(constants.arrays[name])
        node = self.model.producers.get(name)
        if node is None:
            return _exact(self._known[name]) if name in self._known else None
        if node.operator == "DequantizeLinear":
            return self._dequantised(node)
        rule = RULES.get(node.operator, _other)
        operands = [self.of(one) if one else None for one in node.inputs]
        if any(operand is None for one, operand in zip(node.inputs, operands, strict=True) if one):
            return None
        with np.errstate(all="ignore"):
            found = rule(_Step(node, name, self.model, operands))
        if found is None:
            return None
        return Bounded(found.value, np.where(np.isfinite(found.value), np.nan_to_num(found.error, nan=np.inf), 0))

    def _dequantised(self, node: Operation) -> Bounded | None:
        codes, read = self._known.get(node.inputs[0]), self.model.as_read(node)
        if codes is None or read is None:
            return None
        value = (codes.astype(np.float64) - read.zero) * read.scale
        return Bounded(value, FEW * UNIT * np.abs(value))


def _exact(array: NDArray) -> Bounded | None:
    return Bounded(array.astype(np.float64), np.zeros(array.shape)) if array.dtype.kind in "fiu" else None


@dataclass(frozen=True, eq=False)
class _Step:
    """A node, which of its outputs is wanted, and its inputs; None: it does not have this one."""

    node: Operation
    output: str
    model: Model
    operands: Sequence[Bounded | None]

    @property
    def settings(self) -> Mapping[str, Any]:
        return self.node.attributes

    def given(self, at: int) -> Bounded | None:
        """An input, or None."""
        return self.operands[at] if at < len(self.operands) else None

    @property
    def sum_scale(self) -> float:
        """What one of the integer sums stands for; 0 where they are not sums of integers."""
        constants, (data, weights, *_) = self.model.constants, self.node.inputs
        quantiser = next((node for node in self.model.nodes if data in node.outputs), None)
        if weights not in constants.integers or quantiser is None or quantiser.operator != "DequantizeLinear":
            return 0.0
        scale = float(constants[quantiser.inputs[1]].reshape(-1)[0])
        return scale * float(constants.integers[weights].scales.max())

    @property
    def first(self) -> Bounded:
        found = self.operands[0]
        assert found is not None
        return found

    def run(self, moved: Mapping[int, Float64] | None = None) -> Float64:
        """The operator itself, on values some of which are others."""
        constants, moved = self.model.constants, moved or {}
        named: dict[str, NDArray] = {}
        for at, (name, operand) in enumerate(zip(self.node.inputs, self.operands, strict=True)):
            if operand is None:
                continue
            whole = name in constants.arrays and constants.arrays[name].dtype.kind != "f"
            named[name] = constants.arrays[name] if whole else moved.get(at, operand.value)
        (found,) = evaluate([self.node], named, [self.output], self.model.opset)
        return np.asarray(found, np.float64)


Rule = Callable[[_Step], Bounded | None]


def _moved(step: _Step) -> Bounded | None:
    """Elements are taken from other places; a Pad puts its value around them."""
    index, shape = flat_index(step.node, step.output, step.model), step.model.shape(step.output)
    if index is None:
        return step.first.mapped(lambda array: array.reshape(shape))
    fill = pad_value(step.node, step.model.constants) if step.node.operator == "Pad" else 0.0
    return Bounded(
        np.where(index < 0, fill, step.first.value.reshape(-1)[index]),
        np.where(index < 0, 0.0, step.first.error.reshape(-1)[index]),
    )


def _joined(step: _Step) -> Bounded | None:
    axis = step.settings["axis"]
    parts = [one for one in step.operands if one is not None]
    return Bounded(
        np.concatenate([one.value for one in parts], axis), np.concatenate([one.error for one in parts], axis)
    )


def _elementwise(step: _Step) -> Bounded | None:
    """The error of each input moves the value, then the operator rounds."""
    value = step.run()
    error = np.zeros(value.shape)
    size = np.abs(value)
    for at, operand in enumerate(step.operands):
        if operand is None or (at and step.node.operator == "Clip"):
            continue
        if operand.error.any():
            moves = [np.abs(step.run({at: operand.value + sign * operand.error}) - value) for sign in (1, -1)]
            error = error + np.maximum(*moves)
        size = np.maximum(size, np.abs(operand.value))
    if step.node.operator in ARITHMETIC:
        error = error + FEW * UNIT * np.abs(value)
    elif step.node.operator not in EXACT:
        error = error + FUNCTION * UNIT * size
    return Bounded(value, error)


def _sums(step: _Step, terms: int, product: Callable[[Float64, Float64], Float64]) -> Bounded:
    """Sums of products of the first two inputs, which are bilinear."""
    data, weights = step.first, step.given(1)
    assert weights is not None
    part = sum_roundings(terms) * UNIT
    sizes = product(np.abs(data.value) + data.error / part, np.abs(weights.value) + weights.error / part)
    return Bounded(product(data.value, weights.value), part * sizes)


def _with_bias(step: _Step, made: Bounded, shape: Sequence[int], factor: float = 1.0) -> Bounded:
    """ONNX Runtime's optimiser makes whole numbers of sums of biases that the model has in numbers."""
    bias = step.given(2)
    if bias is None:
        return made
    added = Bounded(bias.value.reshape(shape) * factor, bias.error.reshape(shape) * abs(factor))
    error = made.error + added.error + FEW * UNIT * np.abs(added.value)
    if step.node.inputs[2] in step.model.constants.arrays:
        error = error + step.sum_scale * max(abs(factor), 1.0) / 2
    return Bounded(made.value + added.value, error)


def _convolution(step: _Step) -> Bounded | None:
    weights = step.given(1)
    assert weights is not None
    transposed = step.node.operator == "ConvTranspose"
    function = windowed.transposed_convolution if transposed else windowed.convolution
    made, settings = step.model.shape(step.output), step.settings
    terms = int(np.prod(weights.value.shape[2:])) * step.first.value.shape[1] // int(settings.get("group", 1))
    found = _sums(step, terms, lambda data, kernel: function(data, kernel, settings, made))
    return _with_bias(step, found, (1, -1, *[1] * (len(made) - 2)))


def _product(step: _Step) -> Bounded | None:
    settings = step.settings
    turned = [bool(settings.get(name, 0)) for name in ("transA", "transB")]

    def product(data: Float64, weights: Float64) -> Float64:
        found: Float64 = (data.T if turned[0] else data) @ (weights.T if turned[1] else weights)
        return found

    found = _sums(step, step.first.value.shape[0 if turned[0] else -1], product)
    if step.node.operator == "MatMul":
        return found
    alpha, bias = float(settings.get("alpha", 1.0)), step.given(2)
    scaled = Bounded(found.value * alpha, found.error * abs(alpha) + UNIT * np.abs(found.value * alpha))
    return _with_bias(step, scaled, bias.value.shape if bias else (), float(settings.get("beta", 1.0)))


def _normalised(step: _Step) -> Bounded | None:
    shape = (1, -1, *[1] * (step.first.value.ndim - 2))
    gamma, beta, mean, variance = (one.value.reshape(shape) for one in step.operands[1:5] if one is not None)
    factor = gamma / np.sqrt(variance + float(step.settings.get("epsilon", 1e-5)))
    value, error = step.first.value, step.first.error
    sizes = np.abs(value * factor) + np.abs(mean * factor) + np.abs(beta)
    return Bounded((value - mean) * factor + beta, error * np.abs(factor) + 2 * FEW * UNIT * sizes)


def _averaged(step: _Step) -> Bounded | None:
    """A mean over windows, whole maps or axes; of sizes for the error."""
    operator, settings, made = step.node.operator, step.settings, step.model.shape(step.output)

    def mean(array: Float64) -> Float64:
        if operator == "AveragePool":
            return windowed.average(array, settings, made)
        if operator == "GlobalAveragePool":
            return np.asarray(array.mean(axis=tuple(range(2, array.ndim)), keepdims=True))
        return step.run({0: array})

    terms = max(step.first.value.size // max(int(np.prod(made)), 1), int(np.prod(settings.get("kernel_shape", [1]))))
    part = sum_roundings(terms) * UNIT
    return Bounded(mean(step.first.value), part * mean(np.abs(step.first.value) + step.first.error / part))


def _greatest(step: _Step) -> Bounded | None:
    if step.output != step.node.outputs[0]:
        return None
    operator, settings, made = step.node.operator, step.settings, step.model.shape(step.output)

    def most(array: Float64) -> Float64:
        if operator == "MaxPool":
            return windowed.greatest(array, settings, made)
        if operator == "GlobalMaxPool":
            return np.asarray(array.max(axis=tuple(range(2, array.ndim)), keepdims=True))
        return step.run({0: array})

    return step.first.mapped(most)


def _softmax(step: _Step) -> Bounded | None:
    axis = int(step.settings.get("axis", -1))
    value = step.run()
    moved = 2 * step.first.error.max(axis=axis, keepdims=True)
    size = np.abs(step.first.value - step.first.value.max(axis=axis, keepdims=True)) + FUNCTION
    return Bounded(value, value * (moved + (size + sum_roundings(value.shape[axis])) * UNIT))


def _local_response(step: _Step) -> Bounded | None:
    """LRN, whose reference implementation leaves out the last channel of a window."""
    settings, data = step.settings, step.first.value
    size, power = int(settings["size"]), float(settings.get("beta", 0.75))
    part = float(settings.get("alpha", 1e-4)) / size

    def summed(array: Float64) -> Float64:
        padded = np.pad(array, [(0, 0), ((size - 1) // 2, size // 2), *[(0, 0)] * (data.ndim - 2)])
        found: Float64 = np.sum([padded[:, at : at + data.shape[1]] for at in range(size)], axis=0)
        return found

    below = float(settings.get("bias", 1.0)) + part * summed(data**2)
    value = data / below**power
    of_others = 2 * power * part * np.abs(value) / below * summed(np.abs(data) * step.first.error)
    return Bounded(value, step.first.error / below**power + of_others + FUNCTION * UNIT * np.abs(value))


def _same(step: _Step) -> Bounded | None:
    return step.first if step.output == step.node.outputs[0] else None


def _other(step: _Step) -> Bounded | None:
    """An operator without a rule: how far errors of the inputs move its values is tried, not proven."""
    try:
        value = step.run()
        tried = [
            np.abs(step.run({at: operand.value + sign * operand.error}) - value).max(initial=0)
            for at, operand in enumerate(step.operands)
            if operand is not None and operand.error.any()
            for sign in (1, -1, np.where(np.indices(operand.value.shape).sum(axis=0) % 2, 1, -1))
        ]
    except Exception:  # the reference implementation raises what it likes
        return None
    error = 2 * sum(tried) + OTHERS * UNIT * float(np.abs(value).max(initial=0))
    return Bounded(value, np.full(value.shape, error))


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(ELEMENTWISE, _elementwise),
    **dict.fromkeys(MOVEMENTS, _moved),
    **dict.fromkeys(("Cast", "Dropout", "Identity"), _same),
    "Concat": _joined,
    **dict.fromkeys(("Conv", "ConvTranspose"), _convolution),
    **dict.fromkeys(("Gemm", "MatMul"), _product),
    "BatchNormalization": _normalised,
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "ReduceMean"), _averaged),
    **dict.fromkeys(("GlobalMaxPool", "MaxPool", "ReduceMax"), _greatest),
    "LRN": _local_response,
    "Softmax": _softmax,
}
"""Rules by operator; `_other` for the rest."""
