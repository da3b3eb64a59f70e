"""Faces from BlazeFace's numbers, decoded as MediaPipe does for its short-range model: anchors, weighted suppression.

Boxes are (left, top, right, bottom), in parts of the picture's width and height.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Face", "anchors", "faces", "overlap"]

SIZE = 128
"""Rows and columns of the input; offsets of boxes are in its pixels."""
STRIDES = (8, 16, 16, 16)
"""Strides of the layers of anchors; each has two for each place of its grid, one size for all."""
LEAST_SCORE, SAME_FACE = 0.5, 0.3
"""A face scores at least this; boxes that overlap by more are of one face."""
MOST_LOGIT = 100.0


@dataclass(frozen=True)
class Face:
    """A face: its score, 0 to 1, its box, and the two eyes, nose, mouth and two ears as (x, y)."""

    score: float
    box: tuple[float, float, float, float]
    points: tuple[tuple[float, float], ...]


def anchors() -> NDArray[np.float64]:
    """Centres [896, 2] as (x, y), in the order of the outputs: layers of one stride share a grid."""
    found = []
    for stride in dict.fromkeys(STRIDES):
        places = (np.arange(SIZE // stride) + 0.5) * stride / SIZE
        y, x = np.meshgrid(places, places, indexing="ij")
        grid = np.stack([x, y], axis=-1).reshape(-1, 2)
        found.append(np.repeat(grid, 2 * STRIDES.count(stride), axis=0))
    return np.concatenate(found)


def faces(regressors: NDArray, classificators: NDArray) -> list[Face]:
    """The faces, best first.

    Parameters
    ----------
    regressors : [1, 896, 16]: centre, width and height of the box and six points, in pixels, relative to the anchor.
    classificators : [1, 896, 1]: logits.
    """
    scores = 1 / (1 + np.exp(-np.clip(classificators.reshape(-1).astype(np.float64), -MOST_LOGIT, MOST_LOGIT)))
    numbers = regressors.reshape(-1, 16).astype(np.float64) / SIZE
    centres = anchors()
    half = numbers[:, 2:4] / 2
    middles = numbers[:, :2] + centres
    points = numbers[:, 4:].reshape(-1, 6, 2) + centres[:, None]
    rows = np.concatenate([middles - half, middles + half, points.reshape(-1, 12)], axis=1)
    left = [int(at) for at in np.argsort(-scores, kind="stable") if scores[at] >= LEAST_SCORE]
    found = []
    while left:
        best = left[0]
        same = [at for at in left if overlap(rows[at, :4], rows[best, :4]) > SAME_FACE]
        left = [at for at in left if at not in same]
        mean = np.average(rows[same], axis=0, weights=scores[same])
        x0, y0, x1, y1 = (float(one) for one in mean[:4])
        found.append(Face(float(scores[best]), (x0, y0, x1, y1), tuple(map(_point, mean[4:].reshape(6, 2)))))
    return found


def overlap(one: Sequence[float] | NDArray, other: Sequence[float] | NDArray) -> float:
    """The area that two boxes share by the area that they cover together."""
    shared = [min(one[at + 2], other[at + 2]) - max(one[at], other[at]) for at in (0, 1)]
    common = max(shared[0], 0.0) * max(shared[1], 0.0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return float(common / max(areas[0] + areas[1] - common, 1e-12))


def _point(values: NDArray) -> tuple[float, float]:
    return float(values[0]), float(values[1])
