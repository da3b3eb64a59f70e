"""Dilated kernels as dense ones with zeros between their taps, for hardware whose taps are neighbours."""

from dataclasses import replace

import numpy as np

from hwgen.quantised.kinds import Convolution, Product
from hwgen.quantised.tensors import Int8

__all__ = ["dense_weights", "undilated", "zero_share"]


def undilated(node: Convolution) -> Convolution:
    """The same convolution with a dense kernel: tap t of a direction is at t times its dilation, zeros between.

    Its sums are the same to the bit, its kernel has (taps - 1) * dilation + 1 rows or columns, and each zero is one
    more multiplication for each pixel. A node that is not dilated is returned as it is.
    """
    window = node.window
    if window.dilation == (1, 1):
        return node
    rows, columns = ((taps - 1) * apart + 1 for taps, apart in zip(window.kernel, window.dilation, strict=True))
    outputs, channels = node.weights.shape[:2]
    dense = np.zeros((outputs, channels, rows, columns), np.int8)
    dense[:, :, :: window.dilation[0], :: window.dilation[1]] = node.weights
    return replace(node, weights=dense, window=replace(window, kernel=(rows, columns), dilation=(1, 1)))


def zero_share(node: Convolution | Product) -> float:
    """The part of the multiplications that the model's operator does not have.

    They are by the zeros between the taps of a dilated kernel, or by weights that were added (`own_macs`).
    """
    return 1 - node.macs * node.weights.size / (node.all_macs * dense_weights(node).size)


def dense_weights(node: Convolution | Product) -> Int8:
    """The weights as hardware whose taps are neighbours has them."""
    return node.weights if isinstance(node, Product) else undilated(node).weights
