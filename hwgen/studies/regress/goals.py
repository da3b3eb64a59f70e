"""What the HWCs of a regression must reach, and what their search is asked for."""

from typing import Literal, NamedTuple

from hwgen.arch.hwc import LANES
from hwgen.ir.lanes import Lanes
from hwgen.search.hwc.balanced import TRAFFIC_SLACK

__all__ = ["BUSY", "GOALS", "KINDS", "NEAREST", "TRAFFIC_FIRST", "Goal", "Kind", "demanded", "goal_of", "verdict"]

Kind = Literal["shared", "per-layer", "published", "hwce", "given"]
KINDS: dict[Kind, str] = {
    "shared": "one HWC for all layers",
    "per-layer": "an HWC for each layer",
    "published": "an HWC for each layer in loops near the paper's Fig. 8 (W is marked further out), lanes along x",
    "hwce": "the HWCE's nest, lanes along x",
}


class Goal(NamedTuple):
    """Least mean utilisation of all rows (0: any), and most traffic relative to the rows' optima."""

    utilisation: float
    ratio: float


GOALS: dict[int, dict[Kind, Goal]] = {
    16: {"per-layer": Goal(0.95, 1.15), "shared": Goal(0.92, 1.2)},
    64: {"per-layer": Goal(0.9, 1.15), "shared": Goal(0.85, 1.2)},
    256: {"per-layer": Goal(0.0, 1.15), "shared": Goal(0.0, 1.2)},
}
"""Goals of HWCs of high utilisation, by their multipliers at least."""

NEAREST: dict[tuple[int, int, Kind], Goal] = {
    (64, 1 << 14, "shared"): Goal(0.85, 1.31),
    (256, 1 << 14, "shared"): Goal(0.0, 1.32),
}
"""Goals by multipliers and bytes: what holds where no HWC of one loop order with fixed markers meets the goal.

``python -m benchmarks one_order`` computes the least traffic of all orders on all shapes of the lanes."""

TRAFFIC_FIRST: dict[tuple[int, int, Kind], tuple[Lanes, float]] = {
    (256, 1 << 16, "shared"): (Lanes(m=2, c=16, x=8), TRAFFIC_SLACK)
}
"""Goals by multipliers and bytes where the few loop orders that keep lanes busy miss the goal's traffic. All orders
are searched there on the given lanes, for the fewest cycles within a slack of the least traffic; the utilisation is
only printed."""

BUSY: dict[int, dict[Kind, float]] = {
    16: {"per-layer": 0.975, "shared": 0.945},
    64: {"per-layer": 0.94, "shared": 0.88},
    256: {"per-layer": 0.7, "shared": 0.6},
}
"""The least mean utilisation that a plan has by the estimate of the search, with a margin over the goal, since the
cycle model may find less. The plan has the least traffic that meets it."""


def goal_of(kind: Kind, budget: int, multipliers: int) -> tuple[Goal, bool] | None:
    """The goal, and whether it is one of `NEAREST`; None for kinds without a goal."""
    nearest = NEAREST.get((multipliers, budget, kind))
    if nearest is not None:
        return nearest, True
    goal = GOALS[_class_of(multipliers)].get(kind)
    return None if goal is None else (goal, False)


def demanded(kind: Kind, budget: int, multipliers: int) -> Goal | None:
    """What the search is asked for; None for kinds without a goal."""
    goal = goal_of(kind, budget, multipliers)
    return None if goal is None else Goal(BUSY[_class_of(multipliers)][kind], goal[0].ratio)


def verdict(goal: tuple[Goal, bool], utilisation: float, ratio: float) -> str:
    """``met``; ``nearest`` where what holds in place of an unreachable goal does; else ``MISSED``."""
    (least, most), is_nearest = goal
    if utilisation < least or ratio > most:
        return "MISSED"
    return "nearest" if is_nearest else "met"


def _class_of(multipliers: int) -> int:
    return max([LANES, *(number for number in GOALS if number <= multipliers)])
