"""Runs the command line in this process, for the tests of its commands."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Answer", "Run", "refused"]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"not JSON: {name}")


class Answer(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document and nothing else: NaN and Infinity are no JSON."""
        return json.loads(self.out, parse_constant=_refuse_constant)


Run = Callable[..., Answer]
"""The fixture ``run``: the command's arguments give its answer."""


def refused(answer: Answer, *parts: str) -> None:
    """One line on standard error, exit status 2; on standard output nothing, or with ``--json`` the same line."""
    assert answer.status == 2
    if answer.out:
        assert answer.json == {"error": {"message": answer.err[len("hwgen: ") : -1], "status": 2}}
    assert answer.err.startswith("hwgen: ")
    assert answer.err.count("\n") == 1
    assert "Traceback" not in answer.err
    for part in parts:
        assert part in answer.err
