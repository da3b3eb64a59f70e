"""What a sweep says while it runs: lines on finished steps, and after some silence what is under way."""

import time
from collections.abc import Callable, Mapping

from hwgen.studies.engine.attempt import Notes

__all__ = ["LOOK_SECONDS", "Progress"]

LOOK_SECONDS, SILENT_SECONDS = 0.5, 1.5
"""Seconds between two looks at what is under way, and of silence after which it is told."""
SHOWN_STEPS = 4
Say = Callable[[str, int, int], None]


class Progress:
    """Lines of progress.

    Parameters
    ----------
    notes : where workers note how far a step is.
    tell : called with a line that stays, how many rows are settled, and how many there are.
    shown : called with what is under way, for a line that changes, and the same numbers.
    """

    def __init__(self, notes: Notes, tell: Say, shown: Say) -> None:
        self._notes, self._tell, self._shown = notes, tell, shown
        self._known: set[tuple[str, str]] = set()
        self._said = self._looked = 0.0

    def say(self, line: str, done: int, known: int) -> None:
        """A line that stays."""
        self._said = time.monotonic()
        self._tell(line, done, known)

    def look(self, titles: Mapping[str, str], share: Callable[[], tuple[int, int]], besides: str = "") -> None:
        """Look at which of the steps, given by key, are under way, unless that was done just now.

        ``besides`` : what is to be told with it.
        """
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        lines = []
        new: dict[tuple[str, str], str] = {}
        for key, title in titles.items():
            note = self._notes.under_way(key)
            if note is None:
                continue
            seconds, stage = note
            what = f"{title}{stage and ': '}{stage}"
            lines.append(f"{what}, {seconds:.0f} s")
            if (key, stage) not in self._known:
                new[key, stage] = f"{what} ..."
        more = [f"{len(lines) - SHOWN_STEPS} more"] if len(lines) > SHOWN_STEPS else []
        waiting = f"{len(titles)} step{'' if len(titles) == 1 else 's'} to be begun"
        under_way = "; ".join([*lines[:SHOWN_STEPS], *more]) or waiting
        self._shown("; ".join(filter(None, (besides, under_way))), *share())
        if new and time.monotonic() - self._said >= SILENT_SECONDS:
            self._known |= set(new)
            self.say("; ".join(new.values()), *share())
