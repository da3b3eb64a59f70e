"""Quantised models that are written by hand, node by node."""

from pathlib import Path

import numpy as np

from hwgen.studies.fuzz.models import FLOAT, INT8, UINT8, Draft

__all__ = ["FLOAT", "INT8", "UINT8", "Draft", "small"]


def small(path: Path) -> Path:
    """A convolution of 2 to 3 channels, 1 x 2 x 5 x 6, from uint8 to uint8, as numbers outside."""
    draft = Draft([1, 2, 5, 6])
    weights = draft.weights(np.arange(54).reshape(3, 2, 3, 3) - 20, [0.01, 0.02, 0.005])
    made = draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    return draft.write(path, draft.both(made, 0.103, 7), [1, 3, 5, 6])
