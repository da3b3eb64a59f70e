"""What is known of a model before it runs: constants, and integers with their scales."""

from collections.abc import Callable, Mapping, Sequence
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
    def exact(self) -> NDArray[np.float64]:
        """What they stand for, in float64."""
        exact: NDArray[np.float64] = self.shifted * self._along(self.scales.astype(np.float64))
        return exact

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

    def moved(self, move: Callable[[NDArray], NDArray]) -> "Integers | None":
        """With the elements in another order; None where they no longer have one scale for each index of an axis.

        ``move`` does the same to every array of this shape.
        """
        values, number = move(self.values), max(self.scales.size, self.zeros.size)
        if number == 1:
            return Integers(values, self.scales, self.zeros)
        places = move(np.broadcast_to(self._along(np.arange(number)), self.values.shape))
        for axis in range(places.ndim):
            others = tuple(other for other in range(places.ndim) if other != axis)
            first = places.min(axis=others)
            if np.array_equal(first, places.max(axis=others)):
                scales, zeros = (np.broadcast_to(one, (number,))[first] for one in (self.scales, self.zeros))
                return Integers(values, scales, zeros, axis)
        return None


def joined(parts: Sequence[Integers], axis: int) -> Integers | None:
    """Constant integers beside each other along an axis; None where their scales are along another one."""
    axis %= parts[0].values.ndim
    if len({one.values.dtype for one in parts}) > 1:
        return None
    values = np.concatenate([one.values for one in parts], axis)
    if any(max(one.scales.size, one.zeros.size) > 1 and one.axis != axis for one in parts):
        return None
    scales = np.concatenate([np.broadcast_to(one.scales, one.values.shape[axis]) for one in parts])
    zeros = np.concatenate([np.broadcast_to(one.zeros, one.values.shape[axis]) for one in parts])
    if len(set(scales)) == len(set(zeros)) == 1:
        scales, zeros = scales[:1], zeros[:1]
    return Integers(values, scales, zeros, axis)


@dataclass
class Constants:
    """Constants of a model by name.

    Members
    -------
    arrays : as they are in the model.
    integers : those that go through a DequantizeLinear, by the name of its output; in another order, too.
    changed : numbers that were made of such integers, and why they no longer are integers with scales.
    """

    arrays: dict[str, NDArray] = field(default_factory=dict)
    integers: dict[str, Integers] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)

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
