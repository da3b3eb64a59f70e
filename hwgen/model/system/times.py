"""What the model of a cluster's program finds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from hwgen.arch.cluster import START_AFTER_START

__all__ = ["IN_TIME", "Beside", "ClusterTimes", "Late", "QueueName", "Work", "elapsed"]

QueueName = Literal["load", "compute", "store"]


class Late(NamedTuple):
    """Cycles that a line of a DMA waits for HWCs at the banks, on average: words that it loads, bytes that it writes
    one by one, words that it stores."""

    words: float = 0.0
    bytes: float = 0.0
    stored: float = 0.0


IN_TIME = Late()


class Work(NamedTuple):
    """What a START begins: the cycles that it takes, and what the DMA waits meanwhile."""

    cycles: float
    late: Late = IN_TIME


class Moves(NamedTuple):
    """What a channel of the DMA moves in some time.

    Members
    -------
    cycles : in which it moves line after line.
    lines : of the memory.
    last : the number of the last of them, of all lines of the channel, from 1 on.
    """

    cycles: int = 0
    lines: int = 0
    last: int = 0


class Beside(NamedTuple):
    """What the DMA moves while HWCs compute."""

    load: Moves
    store: Moves


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
    beside : what the DMA moves from each START to the next one that lasts longer, as long as HWCs compute.
    """

    total: float
    busy: dict[QueueName, float]
    waits: dict[tuple[QueueName, QueueName], float]
    settled: tuple[float, ...] = ()
    busy_before: tuple[dict[QueueName, float], ...] = ()
    beside: tuple[Beside, ...] = ()


def elapsed(cycles: Iterable[float]) -> float:
    """Cycles from the first start to the last end of clusters that are started one after the other; ``cycles`` : of
    each, from its own start on."""
    return max(START_AFTER_START * number + one for number, one in enumerate(cycles))
