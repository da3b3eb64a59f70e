"""Cycles of a cluster's program: three in-order queues, tokens between them, HWCs and DMA in parallel.

The duration of each command alone is given; this model finds when each command starts. Loads and stores share the
DRAM: if their total demand exceeds its bandwidth, each gets its demand, but at most half if the other demands that
too. The program is fetched from the DRAM as well, chunk by chunk, each after the loads that were requested before it,
and takes its bandwidth from both. The rest is as in the hardware (`hwgen.gateware.cluster.command_queues`): the
program is read command by command and stalls while a queue is full; the next command of a queue waits for its tokens.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hwgen.arch.latency import COMMAND_READ, COMMAND_TAKEN, PROGRAM_END, SETTLED

__all__ = ["ClusterTimes", "Fetch", "QueueName", "Step", "simulate", "simulate_together"]

QueueName = Literal["load", "compute", "store"]
QUEUES: tuple[QueueName, ...] = ("load", "compute", "store")


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
    demand : cycles for which the move occupies the DRAM.
    beats : cycles for which the move keeps its data channel if others wait: its beats, or those of a store's bursts.
    share : fraction of its time in which a competing access to the DRAM would stall it.
    ahead : cycles of DRAM time requested ahead of the data.
    mask : bit mask of the HWCs that it waits for.
    starts : cycles of the layer that it starts on the HWCs in ``mask``; 0 if it starts none.
    """

    queue: QueueName | None
    payload: int = 0
    takes: frozenset[QueueName] = frozenset()
    posts: frozenset[QueueName] = frozenset()
    cycles: float = 0
    lead: float = 0
    demand: float = 0
    beats: float = 0
    share: float = 0
    ahead: float = 0
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
    """

    total: float
    busy: dict[QueueName, float]
    waits: dict[tuple[QueueName, QueueName], float]
    settled: tuple[float, ...] = ()


@dataclass
class _Server:
    """The state of a queue.

    ``left``: remaining cycles of the current command if it runs alone. ``takes``: its total cycles. ``delay``:
    cycles by which it delays the next command. ``held``: cycles for which the DRAM first does what others asked for.
    A command of the compute queue waits for HWCs only after it was popped.
    """

    name: QueueName
    room: int
    commands: list[Step] = field(default_factory=list)
    present: Step | None = None
    left: float = 0
    takes: float = 0
    delay: float = 0
    held: float = 0
    taking: bool = False
    at_work: bool = False
    rested: bool = True


@dataclass
class _Chunk:
    """A chunk of the program that has been requested: cycles until it comes; what the DRAM takes for it."""

    left: float
    takes: float


def simulate(steps: Sequence[Step], room: dict[QueueName, int], fetch: Fetch | None = None) -> ClusterTimes:
    """Play a program of commands.

    Parameters
    ----------
    room : words that each queue holds.
    fetch : timing of the program fetch; None if the program is available at once.

    Raises ValueError if the program deadlocks.
    """
    return simulate_together([(steps, fetch)], room)[0]


def simulate_together(
    programs: Sequence[tuple[Sequence[Step], Fetch | None]], room: dict[QueueName, int]
) -> list[ClusterTimes]:
    """Play the programs of several clusters that share a DRAM, all started at once; see `simulate`.

    Loads of all clusters have half of the DRAM's time at least, and so have stores. Among themselves each gets what
    it demands, but no more than the others if that is too much. So do they share the data channels, a beat a cycle.
    """
    every = [_Simulation(steps, room, fetch) for steps, fetch in programs]
    servers = [server for one in every for server in one.moving]
    while True:
        for one in every:
            backlog = sum(chunk.takes for other in every if other is not one for chunk in other.coming)
            while one.settle(servers, backlog):
                pass
        rates = _rates(servers)
        events = [one.events(rates) for one in every]
        if not any(events):
            return [one.times() for one in every]
        soonest = min(event for own in events for event in own)
        for one, own in zip(every, events, strict=True):
            if own:
                one.advance(soonest, rates)


def _rates(servers: Sequence[_Server]) -> dict[int, float]:
    """The rate at which the move of each server advances, by its identity; 1 if it runs alone."""
    rates = {id(one): 1.0 for one in servers}
    at_work = _at_work(servers)
    if len(at_work) < 2:
        return rates
    classes = [[(one, step) for one, step in at_work if one.name == name] for name in ("load", "store")]
    wants = [[min(1.0, step.demand / one.takes) for one, step in some] for some in classes]
    together = [sum(some) for some in wants]
    for some, of_dram, other in zip(classes, wants, reversed(together), strict=True):
        channel = [step.beats / one.takes for one, step in some]
        for needs, room in ((of_dram, max(0.5, 1 - other)), (channel, 1.0)):
            for (one, _), need, given in zip(some, needs, _filled(needs, room), strict=True):
                if given < need:
                    rates[id(one)] = min(rates[id(one)], given / need)
    return rates


def _at_work(servers: Sequence[_Server]) -> list[tuple[_Server, Step]]:
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


class _Simulation:
    """The state of one cluster between two events."""

    def __init__(self, steps: Sequence[Step], room: dict[QueueName, int], fetch: Fetch | None) -> None:
        self._steps, self._next = steps, 0
        self._fetch, self._asked = fetch, 0
        self._words = float("inf") if fetch is None else 0
        self.coming: list[_Chunk] = []
        self._servers = {name: _Server(name, room[name]) for name in QUEUES}
        self._tokens: dict[tuple[QueueName, QueueName], int] = defaultdict(int)
        self._now, self._reading, self._stage = 0.0, 0.0, "words"
        self._hwcs: dict[int, float] = defaultdict(float)
        self._busy: dict[QueueName, float] = dict.fromkeys(QUEUES, 0.0)
        self._waits: dict[tuple[QueueName, QueueName], float] = defaultdict(float)
        self._settled: list[float] = []

    @property
    def moving(self) -> list[_Server]:
        """The servers that share the DRAM."""
        return [self._servers["load"], self._servers["store"]]

    def times(self) -> ClusterTimes:
        """The cycles, after all commands have ended."""
        if self._next < len(self._steps) or any(one.present or one.commands for one in self._servers.values()):
            raise ValueError("program: some command waits for a token that never comes")
        return ClusterTimes(self._now + PROGRAM_END, self._busy, dict(self._waits), tuple(self._settled))

    # --- events at one time ---

    def settle(self, sharing: Sequence[_Server], backlog: float) -> bool:
        """Start and end every command that can. Returns whether anything changed.

        ``sharing`` : the servers of all clusters that share the DRAM. ``backlog`` : cycles that chunks of other
        clusters' programs take, requested before.
        """
        changed = self._ask(sharing, backlog)
        if self._next < len(self._steps) and self._reading <= 1e-9:
            changed = self._read(self._steps[self._next]) or changed
        for server in self._servers.values():
            changed |= self._begin(server, backlog) or self._end(server)
        return changed

    def _ask(self, sharing: Sequence[_Server], backlog: float) -> bool:
        """Accept arrived chunks of the program, and request others. Returns whether anything changed."""
        fetch, changed = self._fetch, False
        if fetch is None:
            return False
        while self.coming and self.coming[0].left <= 1e-9:
            self.coming.pop(0)
            self._words += fetch.words
            changed = True
        while self._asked < len(fetch.chunks) and self._words + fetch.words * (1 + len(self.coming)) <= fetch.room:
            cycles, at_work = fetch.chunks[self._asked], _at_work(sharing)
            loads = sum(one.name == "load" for one, _ in at_work)
            before = sum(min(step.ahead / loads, one.left) for one, step in at_work if one.name == "load")
            ahead = max(self.coming[-1].left if self.coming else 0.0, before + backlog)
            coming = (fetch.ask if self._asked else fetch.first) + max(fetch.latency, ahead + cycles)
            self.coming.append(_Chunk(coming, max(cycles, fetch.beats)))
            rates = _rates(sharing)
            for server, step in at_work:
                several = sum(one.name == server.name for one, _ in at_work)
                taken = max(cycles, fetch.beats) if server.name == "load" else cycles
                # Several moves of a kind that hold each other up leave nothing of what they share.
                rate = rates[id(server)]
                taken *= rate * (1.0 if several > 1 and rate < 1 else step.share)
                # Requests made before are not delayed; the following ones are.
                if server.left > step.ahead / several:
                    server.left += taken
                else:
                    server.delay += taken
            self._asked += 1
            changed = True
        return changed

    def _read(self, step: Step) -> bool:
        """Advance the reader: words, header, room in the queue, payload. Returns whether anything changed."""
        if step.queue is None:
            return self._settle(step)
        server = self._servers[step.queue]
        if self._stage == "words" and self._words >= 1 + step.payload:
            self._words -= 1 + step.payload
            self._reading, self._stage = COMMAND_READ, "header"
        elif self._stage == "header" and server.room >= step.payload + 2:
            server.room -= step.payload + 2
            server.commands.append(step)
            self._reading, self._stage = step.payload, "payload"
        elif self._stage == "payload":
            self._next += 1
            self._stage = "words"
        else:
            return False
        return True

    def _settle(self, step: Step) -> bool:
        """Advance the reader by a command of its own. Returns whether anything changed."""
        if self._stage == "words" and self._words >= 1 + step.payload:
            self._words -= 1 + step.payload
            self._reading, self._stage = COMMAND_TAKEN, "header"
        elif self._stage == "header" and self._rests:
            self._reading, self._stage = SETTLED, "rests"
        elif self._stage == "rests":
            self._settled.append(self._now)
            self._reading, self._stage = step.payload, "payload"
        elif self._stage == "payload":
            self._next += 1
            self._stage = "words"
        else:
            return False
        return True

    @property
    def _rests(self) -> bool:
        """Whether all that was read is done."""
        waiting = any(one.present or one.commands for one in self._servers.values())
        return not waiting and all(left <= 1e-9 for left in self._hwcs.values())

    def _is_read(self, step: Step) -> bool:
        """Whether all words of a pushed command have arrived."""
        return self._stage != "payload" or self._steps[self._next] is not step

    def _begin(self, server: _Server, backlog: float) -> bool:
        if server.present is not None or not server.commands:
            return False
        step = server.commands[0]
        if any(not self._tokens[source, server.name] for source in step.takes):
            server.rested = True
            return False
        for source in step.takes:
            self._tokens[source, server.name] -= 1
        server.commands.pop(0)
        if server.name != "compute":  # the channel buffers the words of several commands
            server.room += step.payload + 2
        server.present, server.at_work = step, step.cycles > 0
        server.taking = server.name == "compute"
        server.left = COMMAND_TAKEN if server.taking else step.cycles
        if step.cycles and server.rested:
            server.left += COMMAND_TAKEN + step.lead
            server.held = backlog if server.name == "load" else 0.0
        elif step.cycles:
            server.left += server.delay
        server.delay = 0
        server.takes = server.left
        server.rested = False
        return True

    def _end(self, server: _Server) -> bool:
        step = server.present
        if step is None or server.left > 1e-9 or not (server.taking or self._is_read(step)):
            return False
        if server.taking:
            if any(self._hwcs[hwc] > 1e-9 for hwc in _bits(step.mask)):
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

    # --- time ---

    def events(self, rates: dict[int, float]) -> list[float]:
        """Time until each of the next events, at these rates."""
        servers = self._servers.values()
        at_work = [one for one in servers if one.present and one.left > 1e-9]
        times = [one.held if one.held > 1e-9 else one.left / rates.get(id(one), 1.0) for one in at_work]
        times += [left for left in self._hwcs.values() if left > 1e-9]
        if self._reading > 1e-9:
            times.append(self._reading)
        return [*times, *(chunk.left for chunk in self.coming[:1])]

    def advance(self, cycles: float, rates: dict[int, float]) -> None:
        """Let time pass."""
        if any(left > 1e-9 for left in self._hwcs.values()):
            self._busy["compute"] += cycles
        for server in self._servers.values():
            if server.at_work:
                self._busy[server.name] += cycles
            if server.held > 1e-9:
                server.held -= cycles
            elif server.present is not None:
                server.left = max(0.0, server.left - cycles * rates.get(id(server), 1.0))
            elif server.commands:
                for source in server.commands[0].takes:
                    if not self._tokens[source, server.name]:
                        self._waits[server.name, source] += cycles
        for hwc, left in self._hwcs.items():
            self._hwcs[hwc] = max(0.0, left - cycles)
        self._reading = max(0.0, self._reading - cycles)
        for chunk in self.coming:
            chunk.left -= cycles
        self._now += cycles


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
