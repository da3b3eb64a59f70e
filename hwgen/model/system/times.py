"""What the model of a cluster's program finds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from hwgen.arch.cluster import START_AFTER_START

__all__ = ["ClusterTimes", "QueueName", "elapsed"]

QueueName = Literal["load", "compute", "store"]


@dataclass(frozen=True)
class ClusterTimes:
    """The cycles of a program.

    Members
    -------
    total : from the start to the end.
    busy : for each queue, cycles in which its channel transfers data or some HWC computes.
    waits : for (queue, other): cycles in which the next command of the queue waits for a token of the other.
    settled : when the reader had waited for all that came before, for each command that is the reader's own.
    busy_before : ``busy`` at these times.
    """

    total: float
    busy: dict[QueueName, float]
    waits: dict[tuple[QueueName, QueueName], float]
    settled: tuple[float, ...] = ()
    busy_before: tuple[dict[QueueName, float], ...] = ()


def elapsed(cycles: Iterable[float]) -> float:
    """Cycles from the first start to the last end of clusters that are started one after the other; ``cycles`` : of
    each, from its own start on."""
    return max(START_AFTER_START * number + one for number, one in enumerate(cycles))
