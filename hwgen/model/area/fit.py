"""Nonnegative least squares: coefficients of terms from measured designs."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["nonnegative"]

Floats = NDArray[np.float64]


def nonnegative(terms: Floats, measured: Floats, weights: Floats, *, ridge: float = 0.0) -> Floats:
    """The coefficients, none below 0, of the least weighted sum of squares (Lawson and Hanson 1974, chapter 23).

    Parameters
    ----------
    terms : [designs, terms].
    measured : [designs].
    weights : [designs]; 1 / size makes errors relative.
    ridge : this part of each term's sum of squares is added to it, so that of terms that grow alike each has a share.
    """
    scale = np.linalg.norm(terms * weights[:, None], axis=0)
    used = scale > 0
    a = terms[:, used] * weights[:, None] / scale[used]
    b = measured * weights
    if ridge:
        a = np.vstack([a, np.sqrt(ridge) * np.eye(a.shape[1])])
        b = np.concatenate([b, np.zeros(a.shape[1])])
    found = np.zeros(terms.shape[1])
    found[used] = _solved(a, b) / scale[used]
    return found


def _solved(a: Floats, b: Floats) -> Floats:
    """The active-set method: terms enter by their gradient, and leave where they would fall below 0."""
    x = np.zeros(a.shape[1])
    free = np.zeros(a.shape[1], bool)
    for _ in range(10 * a.shape[1]):
        gradient = a.T @ (b - a @ x)
        gradient[free] = -np.inf
        if free.all() or gradient.max() <= 1e-9:
            break
        free[gradient.argmax()] = True
        while free.any():
            trial = np.zeros_like(x)
            trial[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
            below = free & (trial <= 0)
            if not below.any():
                x = trial
                break
            step = (x[below] / np.maximum(x[below] - trial[below], 1e-300)).min()
            x = x + step * (trial - x)
            free &= x > 1e-12
            x[~free] = 0
    return x
