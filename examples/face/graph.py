"""A TFLite graph as plain values. Maps are [images, rows, columns, channels]."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import NDArray

__all__ = ["FlatGraph", "FlatOperator", "FlatWindow"]


@dataclass(frozen=True)
class FlatWindow:
    """A window over rows and columns.

    Members
    -------
    same : outputs are inputs by stride, rounded up, with padding as needed; else there is no padding.
    kernel : of a pool; that of a convolution is in its weights.
    """

    stride: tuple[int, int]
    same: bool
    kernel: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)


@dataclass(frozen=True, eq=False)
class FlatOperator:
    """One operator.

    Members
    -------
    kind : as TensorFlow calls it, `CONV_2D` for instance.
    inputs, outputs : names of tensors.
    activation : that follows, as TensorFlow calls it.
    axis : of a concatenation.
    """

    kind: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    activation: str = "NONE"
    window: FlatWindow | None = None
    axis: int = 0


@dataclass(frozen=True, eq=False)
class FlatGraph:
    """Operators in the order in which they run.

    Members
    -------
    inputs, outputs : names of tensors.
    shapes : of all tensors, by name.
    constants : tensors with contents, by name.
    """

    operators: Sequence[FlatOperator]
    inputs: Sequence[str]
    outputs: Sequence[str]
    shapes: Mapping[str, tuple[int, ...]]
    constants: Mapping[str, NDArray]
