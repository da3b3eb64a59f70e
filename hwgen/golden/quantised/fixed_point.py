"""How far TFLite's integer kernels may be from real arithmetic before they round, in steps of the output.

A kernel rounds a sum to the upper half of a product of 64 bits, and then once more
(`hwgen.ir.network.fixed_point`): before the second rounding it is off by half a unit of the first one, and by the
part that its factor of 31 bits lacks.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.fixed_point import Factor
from hwgen.ir.network.graph import Model
from hwgen.ir.network.kinds import Operation

__all__ = ["distance"]

Float64 = NDArray[np.float64]
FACTOR = 2.0**-29
"""The relative error of a factor of 31 bits, that of a mean among them, which is divided by a number of elements."""
SUM_OF_EXPONENTIALS = 2.0**-19
"""The rounding of each addend of the sum that a softmax divides by, which is 1 at least, and of what follows."""
ADDEND = 2.0**-20
"""A unit of the operands of a sum, as a part of a step of twice the greater scale."""
FEW = 8
"""Roundings of a softmax beside those of its addends."""


def distance(model: Model, quantised: str, operators: Sequence[Operation], steps: Float64) -> Float64:
    """The distance of each element of a quantised tensor.

    Parameters
    ----------
    operators : between it and the quantised tensors before it.
    steps : the real values, as steps of the output from the zero point on.
    """
    target = model.quantisation(quantised)
    assert target is not None
    for node in operators:
        rule = _RULES.get(node.operator)
        if rule is not None:
            return rule(model, node, target.scale, np.abs(steps))
    return np.zeros(steps.shape)


def _twice(factor: float, sizes: Float64) -> Float64:
    """The distance of one product with a factor."""
    shift = Factor.of(factor).shift
    return (0.5 * 2.0**shift if shift < 0 else 0.0) + FACTOR * sizes


def _scales(model: Model, node: Operation) -> list[float]:
    """Scales of the operands of an operator that are quantised."""
    found = []
    for name in node.inputs[:2]:
        before = model.producers.get(name)
        read = model.as_read(before) if before is not None and before.operator == "DequantizeLinear" else None
        if read is not None:
            found.append(read.scale)
        elif name in model.constants.integers:
            found.append(float(model.constants.integers[name].scales.max()))
    return found


def _weighted(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    return _twice(float(np.prod(_scales(model, node))) / scale, sizes)


def _product(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    """It rounds once."""
    return FACTOR * sizes


def _sum(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    """Two operands, each rounded twice, and their sum."""
    most = 2 * max(_scales(model, node), default=scale)
    return 2 * ADDEND * most / scale + _twice(ADDEND * most / scale, sizes + most / scale * 256)


def _average(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    return np.zeros(sizes.shape)


def _mean(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    count = int(np.prod(model.shape(node.inputs[0]))) // int(np.prod(model.shape(node.outputs[0])))
    return _twice(max(_scales(model, node), default=scale) / scale / count, sizes)


def _softmax(model: Model, node: Operation, scale: float, sizes: Float64) -> Float64:
    axis = int(node.attributes.get("axis", -1))
    return (model.shape(node.outputs[0])[axis] + FEW) * SUM_OF_EXPONENTIALS * sizes


_RULES: Mapping[str, Callable[[Model, Operation, float, Float64], Float64]] = {
    "Add": _sum,
    "AveragePool": _average,
    "Conv": _weighted,
    "Gemm": _product,
    "MaxPool": _average,
    "ReduceMean": _mean,
    "Softmax": _softmax,
}
"""Functions by operator; all others move elements, or go through tables, which are TFLite's to the bit."""
