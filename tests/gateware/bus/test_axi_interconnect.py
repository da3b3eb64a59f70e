"""Several AXI4 masters on one slave: every burst whole, every answer to who asked, nobody passed over."""

from collections import defaultdict, deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from hwgen.gateware.bus.axi import ID_BITS, INCR
from hwgen.gateware.bus.axi_interconnect import AxiInterconnect
from tests.gateware.bus.subordinate import Order, Subordinate
from tests.gateware.simulate import simulate

READ_IDS, WRITE_ID = (0, 2), 1
SLVERR, DECERR = 2, 3
ADDRESS = ("addr", "len", "size", "burst", "user")


@dataclass
class Burst:
    """One burst of a master; of a write, with its data."""

    id: int
    addr: int
    beats: list[int] = field(default_factory=list)
    response: int = 0

    def signals(self, channel: str) -> dict[str, int]:
        values = {"id": self.id, "addr": self.addr, "len": len(self.beats) - 1, "size": 2, "burst": INCR, "user": 5}
        return {channel + name: value for name, value in values.items()}


def bursts(random: Random, master: int, number: int, *, write: bool) -> deque[Burst]:
    """Random bursts, each beat with a value of its own; a read's is what the slave makes of its address."""
    found: deque[Burst] = deque()
    for _ in range(number):
        addr, length = 4 * random.randrange(1 << 20), random.choice((1, 1, 2, 3, 8))
        one = WRITE_ID if write else random.choice(READ_IDS)
        beats = [random.getrandbits(32) if write else read_value(addr + 4 * i) for i in range(length)]
        found.append(Burst(one, addr, beats, response_at(addr, write=write)))
    return found


def read_value(addr: int) -> int:
    return addr * 2654435761 & 0xFFFFFFFF


def response_at(addr: int, *, write: bool) -> int:
    """Some addresses are answered with errors."""
    return (DECERR if write else SLVERR) if addr % 28 == 0 else 0


class Master:
    """Sends its bursts in order, stalls at random, and compares every answer."""

    def __init__(self, port: Any, random: Random, number: int, bursts_each: int, eagerness: float) -> None:
        self.port, self.random, self.eagerness = port, random, eagerness
        self.left = {"ar": bursts(random, number, bursts_each, write=False),
                     "aw": bursts(random, number, bursts_each, write=True)}  # fmt: skip
        self.data: deque[tuple[int, bool]] = deque()
        self.reads: dict[int, deque[tuple[int, int, bool]]] = defaultdict(deque)
        self.writes: deque[int] = deque()
        self.valid = dict.fromkeys(("ar", "aw", "w"), False)
        self.waits = {"ar": 0, "aw": 0}

    def drive(self, ctx: Any) -> None:
        for channel in ("ar", "aw"):
            self.valid[channel] |= bool(self.left[channel]) and self.random.random() < self.eagerness
            ctx.set(getattr(self.port, f"{channel}valid"), self.valid[channel])
            if self.valid[channel]:
                for name, value in self.left[channel][0].signals(channel).items():
                    ctx.set(getattr(self.port, name), value)
        self.valid["w"] |= bool(self.data) and self.random.random() < self.eagerness
        ctx.set(self.port.wvalid, self.valid["w"])
        if self.valid["w"]:
            value, last = self.data[0]
            ctx.set(self.port.wdata, value)
            ctx.set(self.port.wstrb, value & 0xF)
            ctx.set(self.port.wlast, last)
        for channel in ("r", "b"):
            ctx.set(getattr(self.port, f"{channel}ready"), self.random.random() < self.eagerness)

    def sample(self, ctx: Any) -> dict[str, bool]:
        """What was handed over in this cycle, by address channel."""
        taken = {}
        for channel in ("ar", "aw"):
            taken[channel] = self.valid[channel] and bool(ctx.get(getattr(self.port, f"{channel}ready")))
            if taken[channel]:
                self.valid[channel] = False
                burst = self.left[channel].popleft()
                self._expect(channel, burst)
        if self.valid["w"] and ctx.get(self.port.wready):
            self.valid["w"] = False
            self.data.popleft()
        if ctx.get(self.port.rvalid) and ctx.get(self.port.rready):
            found = tuple(ctx.get(getattr(self.port, name)) for name in ("rdata", "rresp", "rlast"))
            assert found == self.reads[ctx.get(self.port.rid)].popleft()
        if ctx.get(self.port.bvalid) and ctx.get(self.port.bready):
            assert (ctx.get(self.port.bid), ctx.get(self.port.bresp)) == (WRITE_ID, self.writes.popleft())
        return taken

    def _expect(self, channel: str, burst: Burst) -> None:
        ends = [i == len(burst.beats) - 1 for i in range(len(burst.beats))]
        if channel == "ar":
            self.reads[burst.id] += [
                (value, burst.response, end) for value, end in zip(burst.beats, ends, strict=True)
            ]
        else:
            self.data += zip(burst.beats, ends, strict=True)
            self.writes.append(burst.response)

    @property
    def done(self) -> bool:
        return not (any(self.left.values()) or self.data or any(self.reads.values()) or self.writes)


class SlowReader(Master):
    """A master that does not take its read data before the others have done."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.takes = False

    def drive(self, ctx: Any) -> None:
        super().drive(ctx)
        if not self.takes:
            ctx.set(self.port.rready, 0)


class DataFirst(Master):
    """A master whose data do not wait for their addresses."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for burst in self.left["aw"]:
            self.data += [(value, i == len(burst.beats) - 1) for i, value in enumerate(burst.beats)]

    def _expect(self, channel: str, burst: Burst) -> None:
        if channel == "ar":
            super()._expect(channel, burst)
        else:
            self.writes.append(burst.response)


class Slave:
    """Answers reads of different IDs in any order, beat by beat, and writes in any order but that of one ID."""

    def __init__(self, port: Any, random: Random, expected: dict[int, list[Burst]], eagerness: float) -> None:
        self.port, self.random, self.eagerness, self.expected = port, random, eagerness, expected
        self.reads: dict[int, deque[tuple[int, int, int]]] = defaultdict(deque)
        self.order: deque[tuple[int, int, int]] = deque()
        self.written: list[int] = []
        self.answers: dict[int, deque[int]] = defaultdict(deque)
        self.offered: dict[str, int | None] = {"r": None, "b": None}

    def drive(self, ctx: Any) -> None:
        for channel in ("ar", "aw", "w"):
            ctx.set(getattr(self.port, f"{channel}ready"), self.random.random() < self.eagerness)
        for channel, waiting in (("r", self.reads), ("b", self.answers)):
            ids = sorted(one for one, queue in waiting.items() if queue)
            if self.offered[channel] is None and ids and self.random.random() < self.eagerness:
                self.offered[channel] = self.random.choice(ids)
            ctx.set(getattr(self.port, f"{channel}valid"), self.offered[channel] is not None)
        if self.offered["r"] is not None:
            value, response, last = self.reads[self.offered["r"]][0]
            for name, one in (("rid", self.offered["r"]), ("rdata", value), ("rresp", response), ("rlast", last)):
                ctx.set(getattr(self.port, name), one)
        if self.offered["b"] is not None:
            ctx.set(self.port.bid, self.offered["b"])
            ctx.set(self.port.bresp, self.answers[self.offered["b"]][0])

    def sample(self, ctx: Any) -> None:
        if ctx.get(self.port.arvalid) and ctx.get(self.port.arready):
            number, addr, length = (ctx.get(getattr(self.port, f"ar{name}")) for name in ("id", "addr", "len"))
            answer = response_at(addr, write=False)
            self.reads[number] += [(read_value(addr + 4 * i), answer, i == length) for i in range(length + 1)]
        if ctx.get(self.port.wvalid) and ctx.get(self.port.wready):
            assert self.order, "this slave accepts no beat before its address"
            number, addr, length = self.order[0]
            self.written.append(ctx.get(self.port.wdata))
            assert ctx.get(self.port.wstrb) == self.written[-1] & 0xF
            assert ctx.get(self.port.wlast) == (len(self.written) == length + 1)
            if ctx.get(self.port.wlast):
                burst = self.expected[number >> ID_BITS].pop(0)
                assert (addr, self.written) == (burst.addr, burst.beats), "bursts are mixed"
                self.order.popleft()
                self.answers[number].append(response_at(addr, write=True))
                self.written = []
        if ctx.get(self.port.awvalid) and ctx.get(self.port.awready):
            self.order.append(tuple(ctx.get(getattr(self.port, f"aw{name}")) for name in ("id", "addr", "len")))
        for channel, waiting in (("r", self.reads), ("b", self.answers)):
            number = self.offered[channel]
            if number is not None and ctx.get(getattr(self.port, f"{channel}ready")):
                waiting[number].popleft()
                self.offered[channel] = None


def run(masters: int, *, seed: int, bursts_each: int, eagerness: float, of_slave: float) -> dict[str, int]:
    """Random traffic until everything is answered; the most bursts of others that a waiting one let pass."""
    random = Random(seed)
    dut = AxiInterconnect(masters=masters, data_bits=32)
    ends = [Master(port, random, i, bursts_each, eagerness) for i, port in enumerate(dut.masters)]
    slave = Slave(dut.slave, random, {i: list(one.left["aw"]) for i, one in enumerate(ends)}, of_slave)
    worst = {"ar": 0, "aw": 0}

    async def bench(ctx: Any) -> None:
        for _ in range(200 * masters * bursts_each):
            for one in (slave, *ends):
                one.drive(ctx)
            waiting = [dict(one.valid) for one in ends]
            slave.sample(ctx)
            taken = [one.sample(ctx) for one in ends]
            for channel in worst:
                passed = sum(one[channel] for one in taken)
                assert passed <= 1
                for one, waited, took in zip(ends, waiting, taken, strict=True):
                    one.waits[channel] = one.waits[channel] + passed if waited[channel] and not took[channel] else 0
                    worst[channel] = max(worst[channel], one.waits[channel])
            await ctx.tick()
            if all(one.done for one in ends):
                return
        raise AssertionError("no end")

    simulate(dut, bench)
    assert not any(slave.expected.values())
    return worst


@pytest.mark.parametrize(
    ("masters", "eagerness", "of_slave"), [(2, 1.0, 1.0), (3, 0.7, 0.4), (4, 1.0, 0.5), (5, 0.3, 1.0)]
)
def test_bursts_stay_whole_and_nobody_is_passed_over(masters: int, eagerness: float, of_slave: float) -> None:
    worst = run(masters, seed=masters, bursts_each=12, eagerness=eagerness, of_slave=of_slave)
    print(f"{masters} masters: at most {worst} bursts of others before a burst that waits")
    assert all(passed <= masters - 1 for passed in worst.values())
    if eagerness == 1:
        assert worst["ar"] == masters - 1, "all masters wait at a time"


def test_a_master_that_takes_no_data_keeps_nobody_waiting() -> None:
    random, dut = Random(9), AxiInterconnect(masters=2, data_bits=32)
    slow, other = (kind(dut.masters[i], random, i, 10, 1.0) for i, kind in enumerate((SlowReader, Master)))
    slave = Slave(dut.slave, random, {i: list(one.left["aw"]) for i, one in enumerate((slow, other))}, 1.0)

    async def bench(ctx: Any) -> None:
        for cycle in range(400):
            for one in (slave, slow, other):
                one.drive(ctx)
            slave.sample(ctx)
            slow.sample(ctx)
            other.sample(ctx)
            if other.done and not slow.takes:
                assert any(slow.reads.values()), "it has asked for data, too"
                assert cycle < 150
                slow.takes = True
            await ctx.tick()
        assert slow.done

    simulate(dut, bench)


MEMORY_BYTES = 1 << 16


def in_memory(master: Master, number: int) -> Master:
    """The bursts of a master in pages of its own of a small memory, without errors; reads are of zeros."""
    for channel, first in (("ar", 0), ("aw", 0x8000)):
        for burst in master.left[channel]:
            burst.addr, burst.response = first + 0x1000 * number + burst.addr % 0xFC0, 0
            if channel == "ar":
                burst.beats = [0] * len(burst.beats)
    return master


@pytest.mark.parametrize("kind", [Master, DataFirst])
@pytest.mark.parametrize("order", Order)
def test_data_do_not_wait_until_their_address_is_accepted(order: Order, kind: type[Master]) -> None:
    dut = AxiInterconnect(masters=3, data_bits=32)
    for eagerness in (1.0, 0.5):
        random, memory, expected = Random(order.name), bytearray(MEMORY_BYTES), bytearray(MEMORY_BYTES)
        ends = [in_memory(kind(port, random, i, 10, eagerness), i) for i, port in enumerate(dut.masters)]
        for one in ends:
            for burst in one.left["aw"]:
                for beat, value in enumerate(burst.beats):
                    for lane in range(4):
                        if value >> lane & 1:
                            expected[burst.addr + 4 * beat + lane] = value >> 8 * lane & 0xFF
        slave = Subordinate(dut.slave, memory, random, order=order, eagerness=eagerness)

        async def bench(ctx: Any, ends: list[Master] = ends, slave: Subordinate = slave) -> None:
            for _ in range(4000):
                for one in (*ends, slave):
                    one.drive(ctx)
                slave.sample(ctx)
                for one in ends:
                    one.sample(ctx)
                await ctx.tick()
                if all(one.done for one in ends):
                    return
            raise AssertionError("no end")

        simulate(dut, bench)
        assert memory == expected
