"""Cases that have every pair of values, and simpler ones."""

from itertools import islice
from random import Random

import pytest

from hwgen.arch.hardware_file import hardware_keys
from hwgen.studies.fuzz.hardware import HARDWARE, hardware_data, is_hardware
from hwgen.studies.fuzz.pairs import Case, Space


def alike(case: Case) -> bool:
    """One and three exclude each other."""
    return not (case["one"] == 2 and case["three"])


SMALL = Space({"one": (1, 2), "two": (None, True), "two.inner": (5, 6, 7), "three": (None, "a", "b")}, alike)


def test_all_pairs_that_do_not_exclude_each_other() -> None:
    pairs = {frozenset(pair) for pair in SMALL.possible}
    assert frozenset({("one", 1), ("three", "a")}) in pairs
    assert frozenset({("one", 2), ("three", "a")}) not in pairs
    assert frozenset({("two.inner", 6), ("three", "b")}) in pairs
    assert frozenset({("two.inner", 6), ("two", None)}) not in pairs
    assert len(pairs) == 2 * 2 + 2 * 3 + 2 * 3 - 2 + 3 + 2 * 3 + 3 * 3


@pytest.mark.parametrize("seed", range(5))
def test_they_are_covered_and_the_cases_are_the_same_for_a_seed(seed: int) -> None:
    cases = list(islice(SMALL.cases(Random(seed)), 14))
    assert cases == list(islice(SMALL.cases(Random(seed)), 14))
    assert all(alike(case) and (case["two"] is None) == (case["two.inner"] is None) for case in cases)
    assert {pair for case in cases for pair in SMALL.pairs(case)} == set(SMALL.possible)


def test_simpler_cases_change_one_feature_and_what_is_part_of_it() -> None:
    case = {"one": 2, "two": True, "two.inner": 6, "three": None}
    assert list(SMALL.simpler(case)) == [
        {**case, "one": 1},
        {**case, "two": None, "two.inner": None},
        {**case, "two.inner": 5},
    ]


def test_every_key_of_a_hardware_file_has_values() -> None:
    """Also one that is new: `hwgen.studies.fuzz.hardware` names a key whose form it does not know."""
    names = {key.name for key in hardware_keys()} - {"name"}
    assert set(HARDWARE) == names
    assert all(len(values) > 1 for values in HARDWARE.values())
    space = Space(HARDWARE, is_hardware)
    seen: dict[str, set[object]] = {name: set() for name in names}
    for case in islice(space.cases(Random(1)), 60):
        data = hardware_data(case)
        for name in names:
            place: object = data
            for part in name.split("."):
                place = place.get(part) if isinstance(place, dict) else None
            seen[name].add(str(place))
    assert [name for name, values in seen.items() if len(values) < 2] == []
