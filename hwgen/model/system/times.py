"""What the model of a cluster's program finds."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["ClusterTimes", "QueueName"]

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
