"""Rooms for tensors in one memory: those that are not alive together may share bytes."""

from collections.abc import Mapping
from dataclasses import dataclass

from hwgen.arch.layout import aligned

__all__ = ["Lifetime", "Rooms", "plan_rooms"]


@dataclass(frozen=True)
class Lifetime:
    """A tensor: its bytes, and the first and the last step in which it is needed."""

    size: int
    first: int
    last: int

    def meets(self, other: "Lifetime") -> bool:
        """Whether both are needed in some step."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Rooms:
    """Where tensors are.

    Members
    -------
    bases : byte addresses by name; those of tensors that are alive in one step do not overlap.
    peak : bytes from the beginning to the end of the last tensor.
    bound : the greatest sum of bytes of what is alive in one step; no plan has a lower peak.
    """

    bases: Mapping[str, int]
    peak: int
    bound: int


def plan_rooms(tensors: Mapping[str, Lifetime], unit: int, begin: int = 0) -> Rooms:
    """Give every tensor a room at a multiple of ``unit``, from ``begin`` on.

    Each tensor takes the smallest gap that holds it between those that are alive with it and have a room, the lowest
    of several. Three orders are tried, and that of the lowest peak taken: by size, by size times lifetime, by time.
    """
    orders = (
        lambda name: (-tensors[name].size, tensors[name].first),
        lambda name: (-tensors[name].size * (1 + tensors[name].last - tensors[name].first), tensors[name].first),
        lambda name: (tensors[name].first, -tensors[name].size),
    )
    plans = [_in_order(tensors, sorted(tensors, key=order), unit, begin) for order in orders]
    steps = sorted({one.first for one in tensors.values()})
    alive = (sum(one.size for one in tensors.values() if one.first <= step <= one.last) for step in steps)
    bound = max(alive, default=0)
    best = min(plans, key=lambda bases: _end(tensors, bases, begin))
    return Rooms(best, _end(tensors, best, begin) - begin, bound)


def _end(tensors: Mapping[str, Lifetime], bases: Mapping[str, int], begin: int) -> int:
    return max((base + tensors[name].size for name, base in bases.items()), default=begin)


def _in_order(tensors: Mapping[str, Lifetime], names: list[str], unit: int, begin: int) -> dict[str, int]:
    """Rooms, one tensor after the other."""
    bases: dict[str, int] = {}
    for name in names:
        one = tensors[name]
        taken = sorted(
            (bases[other], bases[other] + tensors[other].size) for other in bases if one.meets(tensors[other])
        )
        gaps, at = [], aligned(begin, unit)
        for low, high in taken:
            if low - at >= one.size:
                gaps.append((low - at, at))
            at = max(at, aligned(high, unit))
        bases[name] = min(gaps)[1] if gaps else at
    return bases
