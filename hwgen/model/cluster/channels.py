"""The queues of a cluster and the moves of its DMA: what they have asked of the DRAM, and what they share of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hwgen.arch.latency import CHECK_DESCRIPTOR, COMMAND_TAKEN, LOAD_ADDRESS_REGISTERS, QUEUED
from hwgen.model.cluster.steps import QueueName, Step

__all__ = ["Chunk", "Server", "moving", "rates_of"]

REQUESTED = CHECK_DESCRIPTOR + QUEUED + LOAD_ADDRESS_REGISTERS
"""From the last word of a load's descriptor to its first burst at the DRAM."""


@dataclass
class Server:
    """The state of a queue.

    ``left``: remaining cycles of the current command if it runs alone. ``takes``: its total cycles. ``delay``: cycles
    by which it delays the next command. ``held``: cycles for which the DRAM first does what others asked for.
    ``moved``: cycles of moves done so far, each as if alone. ``read``: when the payload of each of ``commands``
    begins to be read. ``first``, ``words``: when the channel gets the first word of the latest command; its words. A
    command of the compute queue waits for HWCs only after it was popped.
    """

    name: QueueName
    room: int
    commands: list[Step] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    present: Step | None = None
    left: float = 0
    takes: float = 0
    delay: float = 0
    held: float = 0
    moved: float = 0
    first: float = 0
    words: int = 0
    taking: bool = False
    at_work: bool = False
    rested: bool = True

    def begins(self, read: float) -> float:
        """When the channel gets the first word of the next command, which is read from this time on."""
        return max(self.first + self.words, read) + COMMAND_TAKEN

    def requested(self, now: float) -> float:
        """Cycles of the moves that the DRAM has been asked for and has not brought.

        The channel asks in order, as soon as it has read a descriptor, up to a number of bursts and beats.
        """
        step, room, total = self.present, 1.0, 0.0
        if step is None or not self.at_work or self.first + self.words + REQUESTED > now:
            return 0.0
        left, first, words = self.left, self.first, self.words
        for following, read in zip([*self.commands, None], [*self.read, 0.0], strict=True):
            asked = step.requests * left / (max(step.cycles, left) or 1)
            if asked > room:
                return total + left * room / asked
            total, room = total + left, room - asked
            if following is None or following.takes:
                return total
            first = max(first + words, read) + COMMAND_TAKEN
            step, left, words = following, following.cycles, following.payload
            if first + words + REQUESTED > now:
                return total
        return total


@dataclass
class Chunk:
    """A chunk of the program that has been requested.

    ``left``: cycles until it comes, at least. ``takes``: what the DRAM takes for it. ``at``: it comes when the loads
    have moved so far, so many cycles ``after`` that; None: they have.
    """

    left: float
    takes: float
    at: float | None = None
    after: float = 0


def rates_of(servers: Sequence[Server]) -> dict[int, float]:
    """The rate at which the move of each server advances, by its identity; 1 if it runs alone."""
    rates = {id(one): 1.0 for one in servers}
    at_work = moving(servers)
    if len(at_work) < 2:
        return rates
    wants = [min(1.0, step.demand / one.takes) for one, step in at_work]
    for (one, step), want, other in zip(at_work, wants, reversed(wants), strict=True):
        for need, room in ((want, max(0.5, 1 - other)), (step.beats / one.takes, 1.0)):
            if room < need:
                rates[id(one)] = min(rates[id(one)], room / need)
    return rates


def moving(servers: Sequence[Server]) -> list[tuple[Server, Step]]:
    """Those that move data, and what they move."""
    return [(one, one.present) for one in servers if one.present is not None and one.at_work and one.held <= 1e-9]
