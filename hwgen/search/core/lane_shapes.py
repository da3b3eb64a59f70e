"""The shapes that the lanes of a number of multipliers may have, where hardware leaves them free: those worth trying.

Of up to 16 multipliers all shapes over m, y and x are tried, 15 of them, beside `WITH_CHANNELS` with lanes along c.
There are 84 shapes of 64 and 165 of 256. Of these, and of those with lanes along c, a shape is left out if

- the smallest memories that it can have exceed the budget, or together more than `LARGEST_SHARE` of it: each local
  memory has two units (`hwgen.arch.hwc.memory_units`), and a tile of so few leaves no choice;
- another shape keeps as large a share of its lanes at work on every layer, and its memories come in units no larger:
  what the one does, the other does as well, up to how finely tiles can be cut;
- so many others are left that keep more lanes at work in the mean over the layers.

The share of lanes at work is that of the innermost iterations if nothing but the extents cuts them: an upper bound of
the utilisation. A depthwise layer has one input channel, so that of c lanes along c one is at work.
"""

from collections.abc import Sequence
from functools import cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.hwc import LANES, memory_units
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.layer import Layer

__all__ = ["MOST", "lane_shapes"]

MOST, WITH_CHANNELS = 12, 3
"""Shapes that are tried of more than `FEW` multipliers; those with lanes along c that are tried of fewer."""
FEW = 16
LARGEST_SHARE = 0.5


def lane_shapes(layers: Sequence[Layer], multipliers: int | None = None, budget: int | None = None) -> list[Lanes]:
    """The shapes to try for some layers; by default of 16 multipliers.

    Of few multipliers those with most lanes along x come first, else those with most lanes at work.
    """
    extents = tuple(tuple(sorted(layer.extents.items())) for layer in layers)
    known = _shapes(extents, multipliers or LANES, budget or 1 << 24)
    return list(known)


@cache
def _shapes(layers: tuple[tuple[tuple[str, int], ...], ...], multipliers: int, budget: int) -> tuple[Lanes, ...]:
    every = Lanes.shapes(multipliers, LANE_DIMS)
    units = np.array([memory_units(lanes) for lanes in every])
    some = np.flatnonzero(2 * units.sum(axis=1) <= LARGEST_SHARE * budget)
    if not len(some):
        some = units.sum(axis=1).argmin(keepdims=True)
    shares = np.array([[_share(layer, every[at]) for layer in layers] for at in some])
    figures = np.hstack([-shares, units[some]])
    left = [n for n in range(len(some)) if not _beaten(figures, n)]
    left.sort(key=lambda n: (-shares[n].mean(), units[some[n]].sum()))
    chosen = [every[some[n]] for n in left]
    if multipliers > FEW:
        return tuple(chosen[:MOST])
    return (*Lanes.shapes(multipliers), *[lanes for lanes in chosen if lanes.c > 1][:WITH_CHANNELS])


def _share(extents: tuple[tuple[str, int], ...], lanes: Lanes) -> float:
    """The share of the lanes that the innermost iterations of an uncut layer use, in the mean: at most 1."""
    return prod(extent / (-(-extent // lanes.along(dim)) * lanes.along(dim)) for dim, extent in extents)


def _beaten(figures: NDArray[np.float64], n: int) -> bool:
    """Whether another row is nowhere larger; of equal rows the first stays."""
    no_worse = (figures <= figures[n]).all(axis=1)
    equal = (figures == figures[n]).all(axis=1)
    return bool((no_worse & ~equal).any() or equal[:n].any())
