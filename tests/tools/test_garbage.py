"""How often garbage is collected: in processes of a pool, and in calls of the API."""

import gc

from hwgen.api.session import call
from hwgen.tools.garbage import RARELY, collecting_rarely
from hwgen.tools.side_by_side import side_by_side


def test_rarely_for_a_while() -> None:
    before = gc.get_threshold()
    with collecting_rarely():
        assert gc.get_threshold() == RARELY != before
    assert gc.get_threshold() == before


def test_rarely_in_a_call_of_the_api() -> None:
    before = gc.get_threshold()
    assert call(gc.get_threshold)() == RARELY
    assert gc.get_threshold() == before


def test_rarely_in_processes_of_a_pool() -> None:
    assert [found for _, found in side_by_side(gc.get_threshold, [(), ()], 2)] == [RARELY, RARELY]
