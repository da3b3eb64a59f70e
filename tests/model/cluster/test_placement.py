"""Sizes of the rings without their contents, against the rings themselves."""

import re

import pytest

from hwgen.ir.document import InputError
from hwgen.model.cluster.placement import bytes_needed, place
from tests.random.cluster_nests import two_level_cases


def test_bytes_needed_are_those_of_the_placement() -> None:
    compared = 0
    for schedule, _ in two_level_cases(20260, 400):
        try:
            size = place(schedule).size
        except InputError as error:
            with pytest.raises(InputError, match=re.escape(str(error))):
                bytes_needed(schedule, 1 << 30)
            continue
        compared += 1
        case = schedule.as_data()
        assert bytes_needed(schedule, size) == size, case
        assert size - 1 < bytes_needed(schedule, size - 1) <= size, case
    assert compared > 300
