"""Integer reference of requantisation: from sums to outputs, bit for bit."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hwgen.ir.requantisation import ROUNDINGS, Requantisation, moved

__all__ = ["requantise"]


def requantise(
    sums: NDArray[np.signedinteger], bias: NDArray[np.int32], requantisation: Requantisation, *, bits: int = 8
) -> NDArray[np.signedinteger]:
    """Outputs of ``bits`` bits (8 or 16) of one layer: sums[M,E,F] plus bias[M], as `Requantisation` says.

    Nothing wraps: the sum with the bias is exact, and so is its product with the multiplier. The shift is arithmetic
    and rounds.
    """
    low, high = requantisation.bounds(bits)
    scales = requantisation.scales
    multiplier = _by_channel([scale.multiplier for scale in scales], sums.ndim)
    shift = _by_channel([scale.shift for scale in scales], sums.ndim)
    value = (sums.astype(np.int64) + _by_channel(bias, sums.ndim)) * multiplier
    if any(scale.twice for scale in scales):
        value = moved(value, _by_channel([scale.further for scale in scales], sums.ndim))
    shifted = ROUNDINGS[requantisation.rounding].shifted(value, shift)
    value = np.clip(shifted + requantisation.zero_out, low, high)
    if requantisation.table is not None:
        value = np.array(requantisation.table, np.int64)[value + 128]
    outputs: NDArray[np.signedinteger] = value.astype(f"int{bits}")
    return outputs


def _by_channel(values: ArrayLike, dimensions: int) -> NDArray[np.int64]:
    return np.array(values, np.int64).reshape(-1, *[1] * (dimensions - 1))
