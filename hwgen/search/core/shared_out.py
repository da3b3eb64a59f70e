"""Searches of many layers: in this process while that takes no longer than to start others, then side by side."""

import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import parent_process
from typing import Any, TypeVar

from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import side_by_side

__all__ = ["shared_out"]

T = TypeVar("T")

ALONE_SECONDS = 1.0
"""Processor time after which this process starts others; they take about as long to start."""


def shared_out(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], sizes: Sequence[int], jobs: int | None = None
) -> Iterator[tuple[int, T]]:
    """What a function of a module makes of each of some arguments, with the number of the task, as it is finished.

    Parameters
    ----------
    sizes : about how long each takes, in any unit: this process begins with the smallest, others with the largest.
    jobs : processes that work side by side; None: one for each processor, or only this one where it is itself one of
        several. If it is 1 tasks are done in their order.
    """
    jobs = jobs or (processors() if parent_process() is None else 1)
    waiting = list(range(len(tasks)))
    if jobs > 1:
        waiting.sort(key=lambda number: (-sizes[number], number))
    end = time.process_time() + ALONE_SECONDS
    while waiting and (min(jobs, len(waiting)) == 1 or time.process_time() < end):
        number = waiting.pop(-1 if jobs > 1 else 0)
        yield number, function(*tasks[number])
    if waiting:
        for place, found in side_by_side(function, [tasks[number] for number in waiting], min(jobs, len(waiting))):
            yield waiting[place], found
