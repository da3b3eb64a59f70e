"""Cycles of a cluster's program: three queues in order, tokens between them, HWCs and DMA at work at the same time.

What one command takes by itself is given; what is found here is when each of them begins. Loads and stores share the
DRAM: where they want more of it together than there is, each gets what it wants, but no more than half if the other
wants that too. All else is as the hardware has it (`hwgen.gateware.command_queues`): the program is read command by
command and stops where a queue is full; a queue's next command waits for its tokens.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["ClusterTimes", "QueueName", "Step", "simulate"]

QueueName = Literal["load", "compute", "store"]
QUEUES: tuple[QueueName, ...] = ("load", "compute", "store")
_READ = 3
"""Cycles in which the reader takes a command, besides those for its payload."""
_TAKE = 2
"""Cycles in which a queue takes a command: its address, its header."""
_END = 4
"""Cycles from the end of the last command to that of the program."""


@dataclass(frozen=True)
class Step:
    """One command.

    Members
    -------
    queue : that does it.
    payload : words behind its header.
    takes, posts : queues that it takes a token from, and posts one to.
    cycles : of a move, where the one before it is still under way; 0: it is none.
    lead : additional cycles of a move that nothing is before.
    demand : cycles of the DRAM that the move takes.
    mask : HWCs that it waits for, as bits.
    starts : cycles for which it makes the HWCs in ``mask`` work; 0: it starts none.
    """

    queue: QueueName
    payload: int = 0
    takes: frozenset[QueueName] = frozenset()
    posts: frozenset[QueueName] = frozenset()
    cycles: float = 0
    lead: float = 0
    demand: float = 0
    mask: int = 0
    starts: float = 0


@dataclass(frozen=True)
class ClusterTimes:
    """What a program takes.

    Members
    -------
    total : from the start to the end.
    busy : cycles in which a queue is at work: a channel moves something, some HWC works.
    waits : (who, for whom): cycles in which a queue's next command waits for a token of another one.
    """

    total: float
    busy: dict[QueueName, float]
    waits: dict[tuple[QueueName, QueueName], float]


@dataclass
class _Server:
    """A queue and what it is doing.

    ``left`` is what remains of the command that is under way, in cycles by itself; while it is being taken, a command
    of the compute queue has not begun to wait for HWCs.
    """

    name: QueueName
    room: int
    commands: list[Step] = field(default_factory=list)
    present: Step | None = None
    left: float = 0
    taking: bool = False
    at_work: bool = False
    rested: bool = True


def simulate(steps: Sequence[Step], room: dict[QueueName, int], *, start: float = 0, word: float = 1) -> ClusterTimes:
    """Go through a program of commands.

    Parameters
    ----------
    room : words that each queue holds.
    start : cycles before the first word of the program.
    word : cycles from word to word of it.

    Raises ValueError if the program stops for ever.
    """
    return _Simulation(steps, room, start, word).run()


class _Simulation:
    """The state between two events."""

    def __init__(self, steps: Sequence[Step], room: dict[QueueName, int], start: float, word: float) -> None:
        self._steps, self._next, self._word = steps, 0, word
        self._servers = {name: _Server(name, room[name]) for name in QUEUES}
        self._tokens: dict[tuple[QueueName, QueueName], int] = defaultdict(int)
        self._now, self._reading = 0.0, start
        self._hwcs: dict[int, float] = defaultdict(float)
        self._busy: dict[QueueName, float] = dict.fromkeys(QUEUES, 0.0)
        self._waits: dict[tuple[QueueName, QueueName], float] = defaultdict(float)
        self._read_step(start)

    def run(self) -> ClusterTimes:
        """From event to event until nothing is left."""
        while True:
            while self._settle():
                pass
            events = self._events()
            if not events:
                break
            self._advance(min(events))
        if self._next < len(self._steps) or any(one.present or one.commands for one in self._servers.values()):
            raise ValueError("program: some command waits for a token that never comes")
        return ClusterTimes(self._now + _END, self._busy, dict(self._waits))

    # --- what happens at once ---

    def _settle(self) -> bool:
        """Let whatever can begin or end do so; whether anything did."""
        changed = False
        if self._next < len(self._steps) and self._reading <= 0:
            step = self._steps[self._next]
            server = self._servers[step.queue]
            if server.room >= step.payload + 2:
                server.room -= step.payload + 2
                server.commands.append(step)
                self._next += 1
                self._read_step(0)
                changed = True
        for server in self._servers.values():
            changed |= self._begin(server) or self._end(server)
        return changed

    def _read_step(self, before: float) -> None:
        if self._next < len(self._steps):
            payload = self._steps[self._next].payload
            self._reading = before + max(_READ + payload, self._word * (1 + payload))

    def _begin(self, server: _Server) -> bool:
        if server.present is not None or not server.commands:
            return False
        step = server.commands[0]
        if any(not self._tokens[source, server.name] for source in step.takes):
            server.rested = True
            return False
        for source in step.takes:
            self._tokens[source, server.name] -= 1
        server.commands.pop(0)
        if server.name != "compute":  # the channel takes the words, and several commands
            server.room += step.payload + 2
        server.present, server.at_work = step, step.cycles > 0
        server.taking = server.name == "compute"
        server.left = _TAKE if server.taking else step.cycles
        if step.cycles and server.rested:
            server.left += step.lead
        server.rested = False
        return True

    def _end(self, server: _Server) -> bool:
        step = server.present
        if step is None or server.left > 1e-9:
            return False
        if server.taking:
            if self._waits_for_hwcs(step):
                return False
            server.taking, server.left = False, max(step.payload, 1)
            return True
        if server.name == "compute":
            server.room += step.payload + 2
        for hwc in _bits(step.mask) if step.starts else ():
            self._hwcs[hwc] = step.starts
        for sink in step.posts:
            self._tokens[server.name, sink] += 1
        server.present, server.at_work = None, False
        server.rested = not server.commands
        return True

    def _waits_for_hwcs(self, step: Step) -> bool:
        return any(self._hwcs[hwc] > 1e-9 for hwc in _bits(step.mask))

    # --- time ---

    def _rates(self) -> dict[QueueName, float]:
        """How fast each queue's command goes on: 1 is by itself."""
        load, store = self._servers["load"], self._servers["store"]
        rates: dict[QueueName, float] = dict.fromkeys(QUEUES, 1.0)
        if load.present is None or store.present is None or not (load.at_work and store.at_work):
            return rates
        wants = {one.name: one.present.demand / one.present.cycles for one in (load, store) if one.present}
        if sum(wants.values()) > 1:
            for name, other in ((load.name, store.name), (store.name, load.name)):
                rates[name] = min(1.0, max(0.5, 1 - wants[other]) / wants[name])
        return rates

    def _events(self) -> list[float]:
        """How long until the next thing happens, at the present rates."""
        rates = self._rates()
        times = [one.left / rates[one.name] for one in self._servers.values() if one.present and one.left > 1e-9]
        times += [left for left in self._hwcs.values() if left > 1e-9]
        if self._next < len(self._steps) and self._reading > 0:
            times.append(self._reading)
        return times

    def _advance(self, cycles: float) -> None:
        rates = self._rates()
        if any(left > 1e-9 for left in self._hwcs.values()):
            self._busy["compute"] += cycles
        for server in self._servers.values():
            if server.at_work:
                self._busy[server.name] += cycles
            if server.present is not None:
                server.left = max(0.0, server.left - cycles * rates[server.name])
            elif server.commands:
                for source in server.commands[0].takes:
                    if not self._tokens[source, server.name]:
                        self._waits[server.name, source] += cycles
        for hwc, left in self._hwcs.items():
            self._hwcs[hwc] = max(0.0, left - cycles)
        self._reading = max(0.0, self._reading - cycles)
        self._now += cycles


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
