"""A step of a study: what is done at once, by one process, and kept under one key."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Record", "Step", "Tell"]

Tell = Callable[[str], None]
Record = dict[str, Any]
"""The outcome of a step: ``status`` done, refused or failed; a ``value`` in plain data, or a ``reason``."""


@dataclass(frozen=True)
class Step:
    """One step.

    Members
    -------
    kind : what.
    key : names everything that the result depends on.
    title : for the reader.
    arguments : of the function that does it; they can be pickled.
    urgency : among steps that wait the one with the largest comes first.
    keep : whether its record goes into the ledger; not of what is quickly found again in the cache.
    """

    kind: str
    key: str
    title: str
    arguments: tuple[Any, ...]
    urgency: float = 0.0
    keep: bool = True
