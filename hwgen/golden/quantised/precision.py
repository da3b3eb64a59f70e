"""How far the integer reference may be from real arithmetic before it rounds, in steps of the output.

Multipliers have 16 bits and biases are whole numbers of sums: nothing else of the arithmetic is not exact. Tables are
computed in float32, as the host's operators are.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.network.kinds import (
    Addition,
    AveragePool,
    Concatenation,
    Convolution,
    Dequantise,
    HostOperator,
    Lookup,
    MaxPool,
    Node,
    Product,
    Quantise,
)

__all__ = ["FLOATS", "precision"]

Float64 = NDArray[np.float64]
NEAREST = 2.0**-16
"""The largest relative error of the nearest multiplier of 16 bits (`hwgen.ir.requantisation`)."""
LEAST = 2.0**-15
"""The part of a step by which a factor below 2**-32 may change sums of 32 bits."""
FLOATS: tuple[type[Node], ...] = (Concatenation, Dequantise, HostOperator, Lookup, MaxPool, Quantise)
"""Kinds that are computed in float32, or by tables that are."""


def precision(node: Node, operands: list[NDArray], made: NDArray) -> Float64 | float:
    """The precision of each element of the output.

    Parameters
    ----------
    operands : what the node reads, as int8.
    made : the output.
    """
    found = _KINDS.get(type(node))
    return 0.0 if found is None else found(node, operands, made)


def _of_factor(made: NDArray, zero: int) -> Float64:
    return NEAREST * (np.abs(made.astype(np.float64) - zero) + 1) + LEAST


def _weighted(node: Convolution | Product, operands: list[NDArray], made: NDArray) -> Float64:
    form = node.requantisation
    step = max(scale.multiplier / 2.0**scale.shift for scale in form.scales)
    moved = max(scale.further / 2.0**scale.shift for scale in form.scales)
    return _of_factor(made, form.zero_out) + node.bias_loss * step + moved


def _addition(node: Addition, operands: list[NDArray], made: NDArray) -> Float64:
    """All multipliers have one shift: each is off by half a unit of it."""
    sizes = sum(np.abs(operand.astype(np.float64) - zero) for operand, zero in zip(operands, node.zeros, strict=True))
    return np.asarray(sizes * 2.0 ** -(node.scales[0].shift + 1))


def _average(node: AveragePool, operands: list[NDArray], made: NDArray) -> Float64:
    return _of_factor(made, node.zero_out)


_KINDS: Mapping[type[Node], Callable[[Any, list[NDArray], NDArray], Float64]] = {
    Addition: _addition,
    AveragePool: _average,
    Convolution: _weighted,
    Product: _weighted,
}
"""Functions by kind; all others are exact, or in `FLOATS`."""
