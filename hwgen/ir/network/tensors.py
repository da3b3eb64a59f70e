"""Tensors of a network: shapes and quantisation; constants, and integers with their scales."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.requantisation import HIGHEST, LOWEST

__all__ = ["HIGHEST", "LOWEST", "OFFSET", "Constants", "Int8", "Integers", "Quantisation", "Tensor", "joined"]

Int8 = NDArray[np.int8]
Float32 = NDArray[np.float32]

OFFSET = 128
"""What an unsigned tensor of the model is higher than here."""


@dataclass(frozen=True, slots=True)
class Quantisation:
    """Numbers as int8: a number is (value - zero) * scale.

    Members
    -------
    scale : above 0.
    zero : the value that stands for 0, -128 to 127.
    unsigned : the model itself has uint8, 128 higher, zero point and all.
    """

    scale: float
    zero: int
    unsigned: bool = False

    def values(self, numbers: NDArray[np.floating]) -> Int8:
        """The int8 values of numbers, in float32 as ONNX has it: rounded half to even, clipped.

        What is no number becomes the lowest value. ONNX does not say so; ONNX Runtime does it.
        """
        with np.errstate(all="ignore"):  # scales may be so small that numbers become infinite
            codes = np.rint(np.asarray(numbers, np.float32) / np.float32(self.scale)) + np.float32(self.zero)
            values: Int8 = np.clip(np.nan_to_num(codes, nan=LOWEST), LOWEST, HIGHEST).astype(np.int8)
        return values

    def numbers(self, values: Int8) -> Float32:
        """The numbers that values stand for, in float32."""
        with np.errstate(over="ignore"):
            numbers: Float32 = (values.astype(np.int32) - self.zero).astype(np.float32) * np.float32(self.scale)
        return numbers

    def outside(self, values: Int8) -> NDArray[np.int8] | NDArray[np.uint8]:
        """The values in the model's own type."""
        return (values.astype(np.int16) + OFFSET).astype(np.uint8) if self.unsigned else values

    def inside(self, values: NDArray[np.int8] | NDArray[np.uint8]) -> Int8:
        """The int8 values of what the model has."""
        return (values.astype(np.int16) - (OFFSET if self.unsigned else 0)).astype(np.int8)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor: of one image, its first size is 1.

    Members
    -------
    shape : as the model has it.
    quantisation : None for a tensor that only the host sees, which has the type ``dtype``.
    """

    name: str
    shape: tuple[int, ...]
    quantisation: Quantisation | None = None
    dtype: str = "float32"

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def bytes(self) -> int:
        """Its size; one byte an element where it is quantised."""
        return self.elements * (1 if self.quantisation else np.dtype(self.dtype).itemsize)


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
        """The tensor with its elements in another order; None where they no longer have one scale for each index of
        an axis.

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


@dataclass(eq=False)
class Constants(Mapping[str, NDArray]):
    """Constants by name, as the network computes with them.

    Members
    -------
    arrays : as they are in the model.
    integers : those that go through a DequantizeLinear, by the name of its output; in another order, too.
    changed : numbers that were made of such integers, and why they no longer are integers with scales.
    unread : constants whose elements nobody asked for.
    """

    arrays: dict[str, NDArray] = field(default_factory=dict)
    integers: dict[str, Integers] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    unread: set[str] = field(default_factory=set)

    def __contains__(self, name: object) -> bool:
        return name in self.arrays or name in self.integers or name in self.unread

    def __iter__(self) -> Iterator[str]:
        return iter({**self.arrays, **self.integers})

    def __len__(self) -> int:
        return len(self.arrays | self.integers)

    def __getitem__(self, name: str) -> NDArray:
        found = self.integers.get(name)
        return self.arrays[name] if found is None else found.numbers

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a constant."""
        return (self.integers[name].values if name in self.integers else self.arrays[name]).shape
