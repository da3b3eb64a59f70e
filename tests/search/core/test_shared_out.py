"""Searches that are shared out among processes."""

import os

import pytest

from hwgen.search.core import shared_out
from hwgen.tools.side_by_side import side_by_side


def process() -> int:
    return os.getpid()


def processes_that_search() -> tuple[int, set[int]]:
    """This process, and those that three tasks were done in."""
    shared_out.ALONE_SECONDS = 0.0
    return os.getpid(), {found for _, found in shared_out.shared_out(process, [()] * 3, [1] * 3)}


def test_one_of_several_processes_starts_no_others() -> None:
    for _, (own, searched) in side_by_side(processes_that_search, [()], 1):
        assert searched == {own}


def test_others_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_out, "ALONE_SECONDS", 0.0)
    searched = {found for _, found in shared_out.shared_out(process, [()] * 3, [1] * 3, jobs=2)}
    assert os.getpid() not in searched
