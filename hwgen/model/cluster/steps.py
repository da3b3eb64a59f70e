"""What the cycle model of a cluster plays, and what it finds."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["ClusterTimes", "Fetch", "QueueName", "Step"]

QueueName = Literal["load", "compute", "store"]


@dataclass(frozen=True)
class Step:
    """One command.

    Members
    -------
    queue : the queue that executes it; None: the reader itself, which waits until all that came before is done.
    payload : words after its header.
    takes, posts : queues that it takes a token from; queues that it posts a token to.
    cycles : of a move that follows another without a gap; 0 for other commands.
    lead : additional cycles of a move that starts with the channel idle.
    soonest : cycles from its first word to its end, at least; 0 where the moves before it always take longer.
    demand : cycles for which the move occupies the DRAM.
    beats : cycles for which the move keeps its data channel if others wait: its beats, or those of a store's bursts.
    share : fraction of ``cycles`` in which a competing access to the DRAM would stall it.
    stands : fraction of ``cycles`` in which its beats stand on the read data channel.
    requests : what it asks of the DRAM, in parts of what may be requested ahead of the data.
    mask : bit mask of the HWCs that it waits for.
    starts : cycles of the layer that it starts on the HWCs in ``mask``; 0 if it starts none.
    """

    queue: QueueName | None
    payload: int = 0
    takes: frozenset[QueueName] = frozenset()
    posts: frozenset[QueueName] = frozenset()
    cycles: float = 0
    lead: float = 0
    soonest: float = 0
    demand: float = 0
    beats: float = 0
    share: float = 0
    stands: float = 0
    requests: float = 0
    mask: int = 0
    starts: float = 0


@dataclass(frozen=True)
class Fetch:
    """Timing of the program fetch.

    Members
    -------
    first : cycles from the start to the first word, without the DRAM time.
    ask : cycles from the request of another chunk to its first word, without the DRAM time.
    latency : least cycles from an address to its first beat.
    chunks : DRAM cycles of each chunk.
    beats : beats of each chunk on the read data channel.
    words, room : words of a chunk; words that the buffer holds.
    """

    first: float
    ask: float
    latency: float
    chunks: tuple[float, ...]
    beats: int
    words: int
    room: int


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
