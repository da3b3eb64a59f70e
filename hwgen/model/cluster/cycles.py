"""Cycles of a cluster's program, fast enough for a search: three in-order queues, tokens, HWCs and DMA in parallel.

Those of several clusters on one DRAM are in `hwgen.model.system.cycles`.

The duration of each command alone is given; this model finds when each command starts. Loads and stores share the
DRAM: if their total demand exceeds its bandwidth, each gets its demand, but at most half if the other demands that
too. The program is fetched from the DRAM as well, chunk by chunk. A chunk comes after all that the loads have asked
for before, those that wait in the queue included, and the loads behind it wait for it. The rest is as in the hardware
(`hwgen.gateware.cluster.command_queues`): the program is read command by command and stalls while a queue is full;
the next command of a queue waits for its tokens.
"""

from collections import defaultdict
from collections.abc import Sequence

from hwgen.arch.latency import (
    COMMAND_READ,
    COMMAND_TAKEN,
    LINE_WRITTEN,
    LOAD_ADDRESS_REGISTERS,
    PROGRAM_END,
    SETTLED,
)
from hwgen.model.cluster.channels import Chunk, Server, moving, rates_of
from hwgen.model.cluster.steps import ClusterTimes, Fetch, QueueName, Step

__all__ = ["ClusterTimes", "Fetch", "QueueName", "Step", "simulate"]

QUEUES: tuple[QueueName, ...] = ("load", "compute", "store")


def simulate(steps: Sequence[Step], room: dict[QueueName, int], fetch: Fetch | None = None) -> ClusterTimes:
    """Play a program of commands.

    Parameters
    ----------
    room : words that each queue holds.
    fetch : timing of the program fetch; None if the program is available at once.

    Raises ValueError if the program deadlocks.
    """
    one = _Simulation(steps, room, fetch)
    while True:
        while one.settle():
            pass
        rates = rates_of(one.moving)
        events = one.events(rates)
        if not events:
            return one.times()
        one.advance(min(events), rates)


class _Simulation:
    """The state between two events."""

    def __init__(self, steps: Sequence[Step], room: dict[QueueName, int], fetch: Fetch | None) -> None:
        self._steps, self._next = steps, 0
        self._fetch, self._asked = fetch, 0
        self._words = float("inf") if fetch is None else 0
        self.coming: list[Chunk] = []
        self._servers = {name: Server(name, room[name]) for name in QUEUES}
        self._tokens: dict[tuple[QueueName, QueueName], int] = defaultdict(int)
        self._now, self._reading, self._stage = 0.0, 0.0, "words"
        self._hwcs: dict[int, float] = defaultdict(float)
        self._busy: dict[QueueName, float] = dict.fromkeys(QUEUES, 0.0)
        self._waits: dict[tuple[QueueName, QueueName], float] = defaultdict(float)
        self._settled: list[float] = []
        self._busy_before: list[dict[QueueName, float]] = []

    @property
    def moving(self) -> list[Server]:
        """The servers that share the DRAM."""
        return [self._servers["load"], self._servers["store"]]

    @property
    def ended(self) -> bool:
        """Whether all commands have ended."""
        is_read = self._next == len(self._steps)
        return is_read and not any(one.present or one.commands for one in self._servers.values())

    def times(self) -> ClusterTimes:
        """The cycles, after all commands have ended."""
        if not self.ended:
            raise ValueError("program: some command waits for a token that never comes")
        return ClusterTimes(
            self._now + PROGRAM_END,
            self._busy,
            dict(self._waits),
            tuple(self._settled),
            tuple(self._busy_before),
        )

    # --- events at one time ---

    def settle(self) -> bool:
        """Start and end every command that can. Returns whether anything changed."""
        changed = self._take() or self._ask()
        if self._next < len(self._steps) and self._reading <= 1e-9:
            changed = self._read(self._steps[self._next]) or changed
        for server in self._servers.values():
            changed |= self._begin(server) or self._end(server)
        return changed or self._reach()

    def _take(self) -> bool:
        """Accept arrived chunks of the program. Returns whether there is one."""
        if self._fetch is None or not self.coming or self.coming[0].at is not None or self.coming[0].left > 1e-9:
            return False
        self.coming.pop(0)
        self._words += self._fetch.words
        return True

    def _reach(self) -> bool:
        """Let chunks come whose turn it is among the loads, which wait for them. Returns whether there is one."""
        load = self._servers["load"]
        rests = load.present is None or load.left <= 1e-9
        if load.held > 1e-9:
            return False
        for chunk in self.coming:
            if chunk.at is not None and (rests or load.moved >= chunk.at - 1e-9):
                chunk.at, chunk.left = None, max(chunk.left, self._hold(load, chunk))
                return True
        return False

    def _hold(self, load: Server, chunk: Chunk) -> float:
        """Let loads wait for a chunk; the cycles until it comes, where the DRAM has not worked ahead for it.

        A load that the DRAM keeps waiting waits for the chunk's DRAM time, too; one whose beats wait at the channel
        for its beats. One that is only being asked for notices neither.
        """
        step = load.present
        if step is None or load.left <= 1e-9:
            return 0.0
        early = max(0.0, load.left - step.cycles)
        beats = self._fetch.beats if self._fetch else 0
        if early:
            load.held += max(0.0, max(chunk.takes, beats) - early)
            return 0.0
        load.held += max(chunk.takes * step.share, beats * step.stands)
        return chunk.after + chunk.takes * step.share

    def _ask(self) -> bool:
        """Request chunks of the program. Returns whether there is one."""
        fetch, changed, mine = self._fetch, False, self._servers["load"]
        if fetch is None:
            return False
        while self._asked < len(fetch.chunks) and self._words + fetch.words * (1 + len(self.coming)) <= fetch.room:
            cycles = fetch.chunks[self._asked]
            before = mine.requested(self._now)
            ahead = self.coming[-1].left if self.coming else 0.0
            coming = (fetch.ask if self._asked else fetch.first) + max(fetch.latency, ahead + cycles)
            after = max(0, fetch.ask - LOAD_ADDRESS_REGISTERS - LINE_WRITTEN)
            place = max([mine.moved + before, *(one.at for one in self.coming if one.at is not None)])
            self.coming.append(Chunk(coming, cycles, place, after))
            rates = rates_of(self.moving)
            for server, step in moving(self.moving):
                if server is not mine:
                    server.left += cycles * (rates[id(server)] * max(step.share, step.stands))
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
            server.read.append(self._now)
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
            self._busy_before.append(dict(self._busy))
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

    def _begin(self, server: Server) -> bool:
        if server.present is not None or not server.commands:
            return False
        step = server.commands[0]
        if any(not self._tokens[source, server.name] for source in step.takes):
            server.rested = True
            return False
        for source in step.takes:
            self._tokens[source, server.name] -= 1
        server.commands.pop(0)
        read = server.read.pop(0)
        if server.name != "compute":  # the channel buffers the words of several commands
            server.room += step.payload + 2
        server.present, server.at_work = step, step.cycles > 0
        server.taking = server.name == "compute"
        server.left = COMMAND_TAKEN if server.taking else step.cycles
        server.first = server.begins(self._now if step.takes or server.rested else read)
        server.words = step.payload
        if step.cycles and server.rested:
            server.left += COMMAND_TAKEN + step.lead
            server.held = 0.0
        elif step.cycles:
            server.left = max(server.left, server.first + step.soonest - self._now) + server.delay
        server.delay = 0
        server.takes = server.left
        server.rested = False
        return True

    def _end(self, server: Server) -> bool:
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
        speeds = [(one, rates.get(id(one), 1.0)) for one in at_work]
        times = [one.held if one.held > 1e-9 else one.left / rate for one, rate in speeds if one.held > 1e-9 or rate]
        load = self._servers["load"]
        if load in at_work and load.held <= 1e-9:
            turns = [chunk.at - load.moved for chunk in self.coming if chunk.at is not None]
            rate = rates.get(id(load), 1.0)
            times += [turn / rate for turn in turns[:1] if turn > 1e-9 and rate]
        times += [left for left in self._hwcs.values() if left > 1e-9]
        if self._reading > 1e-9:
            times.append(self._reading)
        return [*times, *(chunk.left for chunk in self.coming[:1] if chunk.left > 1e-9)]

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
                done = min(server.left, cycles * rates.get(id(server), 1.0))
                server.left -= done
                server.moved += done if server.at_work else 0.0
            elif server.commands:
                for source in server.commands[0].takes:
                    if not self._tokens[source, server.name]:
                        self._waits[server.name, source] += cycles
        for hwc, left in self._hwcs.items():
            self._hwcs[hwc] = max(0.0, left - cycles)
        self._reading = max(0.0, self._reading - cycles)
        for chunk in self.coming:
            chunk.left = max(0.0, chunk.left - cycles)
        self._now += cycles


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]
