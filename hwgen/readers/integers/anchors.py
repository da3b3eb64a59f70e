"""Which operators anchor a region of integer nodes, and how each of them is built."""

from hwgen.readers.integers.maps import AdditionAnchor, AverageAnchor, ConcatenationAnchor, MaximumAnchor
from hwgen.readers.integers.regions import Anchor
from hwgen.readers.integers.sums import ConvolutionAnchor, ProductAnchor, TransposedAnchor

__all__ = ["ANCHORS"]

ANCHORS: dict[str, Anchor] = {
    "Conv": ConvolutionAnchor(),
    "ConvTranspose": TransposedAnchor(),
    **dict.fromkeys(("Gemm", "MatMul"), ProductAnchor()),
    **dict.fromkeys(("Add", "Sum"), AdditionAnchor()),
    "Concat": ConcatenationAnchor(),
    **dict.fromkeys(("MaxPool", "GlobalMaxPool", "ReduceMax"), MaximumAnchor()),
    **dict.fromkeys(("AveragePool", "GlobalAveragePool", "ReduceMean"), AverageAnchor()),
}
"""By operator."""
