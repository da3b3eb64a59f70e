"""The queues of a cluster and the moves of its DMA: what they have asked of the DRAM, and what they share of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hwgen.arch.latency import CHECK_DESCRIPTOR, COMMAND_TAKEN, DRAM_QUEUE, LOAD_ADDRESS_REGISTERS, QUEUED
from hwgen.model.cluster.steps import QueueName, Step

__all__ = ["Chunk", "Server", "Turns", "moving", "rates_of"]

REQUESTED = CHECK_DESCRIPTOR + QUEUED + LOAD_ADDRESS_REGISTERS
"""From the last word of a load's descriptor to its first burst at the DRAM."""


@dataclass
class Server:
    """The state of a queue.

    ``number``: of its cluster. ``came``: when it last began after a rest. ``left``: remaining cycles of the current
    command if it runs alone. ``takes``: its total cycles. ``delay``: cycles by which it delays the next command.
    ``held``: cycles for which the DRAM first does what others asked for. ``moved``: cycles of moves done so far, each
    as if alone. ``read``: when the payload of each of ``commands`` begins to be read. ``first``, ``words``: when the
    channel gets the first word of the latest command; its words. A command of the compute queue waits for HWCs only
    after it was popped.
    """

    name: QueueName
    room: int
    number: int = 0
    came: float = 0
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

    def requested(self, now: float, several: int) -> float:
        """Cycles of the moves that the DRAM has been asked for and has not brought; ``several`` channels share it.

        The channel asks in order, as soon as it has read a descriptor, up to a number of bursts and beats.
        """
        step, room, total = self.present, 1 / several, 0.0
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


class Turns:
    """Whose burst the DRAM is at work for, of the loads and of the stores of several clusters.

    Bursts stay whole and masters take turns (`hwgen.gateware.bus.axi_interconnect`): of several moves that want more
    than there is, the one whose turn it is has the DRAM until its burst ends. Who comes while others keep the DRAM
    busy waits for all that these have asked for before. So of equal moves the first ones end earlier than the last.
    """

    def __init__(self) -> None:
        self._holder: dict[QueueName, Server] = {}
        self._left: dict[QueueName, float] = {}
        self._waits: dict[int, tuple[float, float]] = {}  # by server: when it came, and DRAM cycles until its turn

    def come(self, at_work: Sequence[tuple[Server, Step]]) -> None:
        """Put moves that have begun since behind those at work; all of them load, or all store."""
        for one, _ in at_work:
            if self._waits.get(id(one), (-1.0, 0.0))[0] != one.came:
                before = [pair for pair in at_work if (pair[0].came, pair[0].number) < (one.came, one.number)]
                self._waits[id(one)] = one.came, _asked_for(before, one.came)

    def order(self, name: QueueName, at_work: Sequence[tuple[Server, Step]]) -> list[int]:
        """Places of these moves of a kind in the order of their turns, the present one first."""
        may = [place for place, (one, _) in enumerate(at_work) if self._waits[id(one)][1] <= 1e-9]
        if not may:
            return list(range(len(at_work)))
        places = {id(at_work[place][0]): place for place in may}
        holder = self._holder.get(name)
        if holder is None or id(holder) not in places or self._left[name] <= 1e-9:
            number = -1 if holder is None else holder.number
            first = next((place for place in may if at_work[place][0].number > number), may[0])
            self._holder[name], step = at_work[first]
            self._left[name] = step.burst
        first = may.index(places[id(self._holder[name])])
        return [*may[first:], *may[:first], *(place for place in range(len(at_work)) if place not in may)]

    def events(self, servers: Sequence[Server], rates: dict[int, float]) -> list[float]:
        """Time until each turn ends or begins, at these rates."""
        ends = [(self._left[name], _speed(one, rates)) for name, one in self._holder.items()]
        begins = [(self._waits[id(one)][1], self._together(one, servers, rates)) for one in self._queued(servers)]
        return [left / speed for left, speed in (*ends, *begins) if left > 1e-9 and speed > 1e-9]

    def advance(self, cycles: float, servers: Sequence[Server], rates: dict[int, float]) -> None:
        """Let time pass."""
        for name, one in self._holder.items():
            self._left[name] -= cycles * _speed(one, rates)
        for one in self._queued(servers):
            came, left = self._waits[id(one)]
            self._waits[id(one)] = came, left - cycles * self._together(one, servers, rates)

    def _queued(self, servers: Sequence[Server]) -> list[Server]:
        return [one for one in servers if self._waits.get(id(one), (0.0, 0.0))[1] > 1e-9]

    def _together(self, queued: Server, servers: Sequence[Server], rates: dict[int, float]) -> float:
        """DRAM cycles in a cycle of all others of its kind."""
        return sum(_speed(one, rates) for one in servers if one.name == queued.name and one is not queued)


def _asked_for(at_work: Sequence[tuple[Server, Step]], now: float) -> float:
    """DRAM cycles of what moves have asked for ahead of their data, if together they keep the DRAM busy.

    A move asks for a burst a cycle from when it came, up to what may be asked for ahead.
    """
    if sum(step.demand / step.cycles for _, step in at_work) < 1 or not all(step.burst for _, step in at_work):
        return 0.0
    number, total = 0.0, 0.0
    for one, step in at_work:
        every = step.demand / step.burst
        bursts = min(every / max(step.requests, 1.0), now - one.came, every * one.left / one.takes)
        number, total = number + bursts, total + bursts * step.burst
    return total * min(1.0, DRAM_QUEUE / number) if number else 0.0


def _speed(one: Server, rates: dict[int, float]) -> float:
    """DRAM cycles of a move in a cycle."""
    return one.present.demand / one.takes * rates.get(id(one), 1.0) if one.present and one.at_work else 0.0


def rates_of(servers: Sequence[Server], turns: Turns | None = None) -> dict[int, float]:
    """The rate at which the move of each server advances, by its identity; 1 if it runs alone.

    ``turns`` : of the bursts; None: as if bursts were short, so that moves which want too much have equal parts.
    """
    rates = {id(one): 1.0 for one in servers}
    at_work = moving(servers)
    classes = [[(one, step) for one, step in at_work if one.name == name] for name in ("load", "store")]
    if turns is not None:
        for some in classes:
            turns.come(some)
    if len(at_work) < 2:
        return rates
    wants = [[min(1.0, step.demand / one.takes) for one, step in some] for some in classes]
    together = [sum(some) for some in wants]
    for some, of_dram, other in zip(classes, wants, reversed(together), strict=True):
        channel, room = [step.beats / one.takes for one, step in some], max(0.5, 1 - other)
        order: Sequence[int] = ()
        if turns is not None and sum(of_dram) > room + 1e-9 and len(some) > 1 and all(step.burst for _, step in some):
            order = turns.order(some[0][0].name, some)
        for needs, part in ((of_dram, room), (channel, 1.0)):
            found = _in_turn(needs, part, order) if order else _filled(needs, part)
            for (one, _), need, given in zip(some, needs, found, strict=True):
                if given < need:
                    rates[id(one)] = min(rates[id(one)], given / need)
    return rates


def moving(servers: Sequence[Server]) -> list[tuple[Server, Step]]:
    """Those that move data, and what they move."""
    return [(one, one.present) for one in servers if one.present is not None and one.at_work and one.held <= 1e-9]


def _filled(needs: Sequence[float], room: float) -> list[float]:
    """What each gets of the room: its need, or as much as the others that need more."""
    given, left = [0.0] * len(needs), room
    order = sorted(range(len(needs)), key=needs.__getitem__)
    for place, number in enumerate(order):
        given[number] = min(needs[number], left / (len(needs) - place))
        left -= given[number]
    return given


def _in_turn(needs: Sequence[float], room: float, order: Sequence[int]) -> list[float]:
    """What each gets of the room: its need, as far as those before it in the order leave it."""
    given, left = [0.0] * len(needs), room
    for number in order:
        given[number] = min(needs[number], left)
        left -= given[number]
    return given
