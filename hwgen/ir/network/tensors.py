"""The tensors of an integer graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HIGHEST", "LOWEST", "OFFSET", "Float32", "Int8", "Quantisation", "Tensor"]

Int8 = NDArray[np.int8]
Float32 = NDArray[np.float32]

LOWEST, HIGHEST = -128, 127
"""Least and greatest value of a quantised tensor."""
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
