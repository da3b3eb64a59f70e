"""What is known of a model before it runs: constants, and integers with their scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Constants", "Integers", "evaluate"]


NORMALISES = 15
"""Before this version the reference implementation of BatchNormalization takes mean and variance from its input. What
else changed from version 13 to this one are types that may be used."""


@dataclass(frozen=True, eq=False)
class Integers:
    """Constant integers that stand for numbers: (values - zeros) * scales.

    Members
    -------
    scales, zeros : one element, or one for each index of ``axis``.
    """

    values: NDArray[np.signedinteger | np.unsignedinteger]
    scales: NDArray[np.float32]
    zeros: NDArray[np.int64]
    axis: int = 0

    @property
    def shifted(self) -> NDArray[np.int64]:
        """values - zeros."""
        shifted: NDArray[np.int64] = self.values.astype(np.int64) - self._along(self.zeros)
        return shifted

    @property
    def numbers(self) -> NDArray[np.float32]:
        """What they stand for, in float32."""
        numbers: NDArray[np.float32] = self.shifted.astype(np.float32) * self._along(self.scales)
        return numbers

    def _along(self, parameters: NDArray) -> NDArray:
        if parameters.size == 1:
            return parameters.reshape(())
        shape = [1] * self.values.ndim
        shape[self.axis] = parameters.size
        return parameters.reshape(shape)

    def transposed(self, order: Sequence[int]) -> "Integers":
        """With the axes in another order."""
        axis = list(order).index(self.axis) if self.scales.size > 1 else 0
        return Integers(self.values.transpose(order), self.scales, self.zeros, axis)


@dataclass
class Constants:
    """Constants of a model by name.

    Members
    -------
    arrays : as they are in the model.
    integers : those that go through a DequantizeLinear, by the name of its output.
    """

    arrays: dict[str, NDArray] = field(default_factory=dict)
    integers: dict[str, Integers] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return name in self.arrays or name in self.integers

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a constant."""
        array = self.integers[name].values if name in self.integers else self.arrays[name]
        return array.shape

    def value(self, name: str) -> NDArray:
        """A constant as the model computes with it; KeyError if it is none."""
        if name in self.integers:
            return self.integers[name].numbers
        return self.arrays[name]


def evaluate(
    nodes: Sequence[Any], given: Mapping[str, NDArray], outputs: Sequence[str], opset: int
) -> Sequence[NDArray]:
    """Outputs of some nodes by ONNX's own reference implementation."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    graph = onnx.helper.make_graph(
        list(nodes),
        "part",
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in given],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in outputs],
    )
    version = max(opset, NORMALISES)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)])
    with np.errstate(all="ignore"):  # a table has entries that no activation takes
        found: Sequence[NDArray] = ReferenceEvaluator(model).run(list(outputs), dict(given))
    return found
