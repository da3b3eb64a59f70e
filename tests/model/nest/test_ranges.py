"""Ranges of a dimension against cutting it by hand, and that what is kept cannot be changed."""

from random import Random

import pytest

from hwgen.model.nest.ranges import Nest
from tests.random.layers import HWCS, hwc, schedules_for


def cut(extent: int, steps: list[int]) -> list[tuple[int, int, bool]]:
    """Start and end of each range, and whether it is the first of an execution of the last loop."""
    ranges = [(0, extent, True)]
    for step in steps:
        ranges = [
            (start, min(start + step, stop), start == begin)
            for begin, stop, _ in ranges
            for start in range(begin, stop, step)
        ]
    return ranges


@pytest.mark.parametrize("name", list(HWCS)[:4])
def test_ranges_are_those_of_cutting_by_hand(name: str) -> None:
    for schedule in schedules_for(hwc(name), Random(f"ranges {name}"), 6, most_macs=15000):
        for depth in range(len(schedule.loops) + 1):
            loops = schedule.loops[:depth]
            for dim, extent in schedule.layer.loop_extents.items():
                found = Nest(schedule).ranges(dim, depth)
                expected = cut(extent, [loop.step for loop in loops if loop.dim == dim])
                if not loops or loops[-1].dim != dim:
                    expected = [(start, stop, True) for start, stop, _ in expected]
                assert list(zip(found.start, found.stop, found.first, strict=True)) == expected


def test_what_is_kept_cannot_be_changed() -> None:
    (schedule,) = schedules_for(hwc("fig8"), Random(1), 1, most_macs=15000)
    found = Nest(schedule).ranges("m", 1)
    with pytest.raises(ValueError, match="read-only"):
        found.start[0] = 1
