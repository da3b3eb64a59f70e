"""Rooms of tensors: none that are alive together overlap."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwgen.lower.network.rooms import Lifetime, plan_rooms


@st.composite
def lifetimes(draw: st.DrawFn) -> dict[str, Lifetime]:
    found = {}
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 10))
        found[str(number)] = Lifetime(draw(st.integers(1, 300)), first, first + draw(st.integers(0, 4)))
    return found


@given(lifetimes(), st.sampled_from([1, 16, 128]), st.sampled_from([0, 384, 1000]))
def test_what_is_alive_together_does_not_overlap(tensors: dict[str, Lifetime], unit: int, begin: int) -> None:
    rooms = plan_rooms(tensors, unit, begin)
    assert set(rooms.bases) == set(tensors)
    for name, base in rooms.bases.items():
        assert base % unit == 0
        assert begin <= base
        assert base + tensors[name].size <= begin + rooms.peak
    for one, other in combinations(tensors, 2):
        if tensors[one].first <= tensors[other].last and tensors[other].first <= tensors[one].last:
            apart = rooms.bases[one] + tensors[one].size <= rooms.bases[other]
            assert apart or rooms.bases[other] + tensors[other].size <= rooms.bases[one]
    sums = [sum(one.size for one in tensors.values() if one.first <= at <= one.last) for at in range(16)]
    assert rooms.bound == max(sums)
    assert rooms.peak >= rooms.bound


@pytest.mark.parametrize(
    ("sizes", "peak"),
    [
        ([(100, 0, 1), (50, 1, 2), (100, 2, 3)], 150),  # the third takes the room of the first
        ([(40, 0, 3), (60, 0, 1), (30, 1, 2), (60, 2, 3)], 130),
        ([(10, 0, 0), (10, 1, 1), (10, 2, 2)], 10),
    ],
)
def test_rooms_are_used_again(sizes: list[tuple[int, int, int]], peak: int) -> None:
    rooms = plan_rooms({str(i): Lifetime(*one) for i, one in enumerate(sizes)}, 1)
    assert rooms.peak == rooms.bound == peak
