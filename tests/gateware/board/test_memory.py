# amaranth: UnusedElaboratable=no
"""The memory of a board at its AXI port: bursts, strobes, back-pressure, places outside, and the host beside them."""

from collections import deque
from random import Random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.arch.latency import DRAM_QUEUE
from hwgen.arch.parameter_error import ParameterError
from hwgen.gateware.board.memory import AxiMemory
from hwgen.gateware.bus.axi import Response

SIZE = 1024
LIMIT, STEP = 40_000, 500
"""Cycles that no run takes; after which it is asked whether a run has ended."""
READ_IDS, WRITE_ID = (0, 2), 1


class Manager:
    """Random bursts at the AXI port, and accesses of the host, checked against a copy of the memory.

    Writes and reads do not touch the same bytes at a time: what is read is what was there before. ``busy`` : how
    probable it is in 100 that a channel moves in a cycle.
    """

    def __init__(self, bits: int, seed: int, *, busy: int, host: bool) -> None:
        self.random, self.busy, self.host_too = Random(seed), busy, host
        self.dut = AxiMemory(data_bits=bits, size=SIZE)
        self.beat = bits // 8
        self.copy = bytearray(SIZE)
        self.done = 0

    def goes(self) -> bool:
        return self.random.randrange(100) < self.busy

    def address(self) -> tuple[int, int]:
        """An odd first byte and a number of beats, some of them beyond the end."""
        first = self.random.randrange(SIZE + 2 * self.beat)
        return first, self.random.choice([1, 1, 2, 3, 7, 16])

    async def write_bursts(self, ctx: Any, count: int) -> None:
        """One after the other: address and data side by side, then the answer."""
        axi = self.dut.axi
        for _ in range(count):
            first, beats = self.address()
            base = first // self.beat * self.beat
            data = [self.random.randbytes(self.beat) for _ in range(beats)]
            strobes = [self.random.getrandbits(self.beat) for _ in range(beats)]
            outside = base + beats * self.beat > SIZE
            ctx.set(axi.awid, WRITE_ID)
            ctx.set(axi.awaddr, first)
            ctx.set(axi.awlen, beats - 1)
            at, addressed = 0, False
            while at < beats or not addressed:
                ctx.set(axi.awvalid, not addressed)
                offered = at < beats and (ctx.get(axi.wvalid) or self.goes())
                ctx.set(axi.wvalid, offered)
                if offered:
                    ctx.set(axi.wdata, int.from_bytes(data[at], "little"))
                    ctx.set(axi.wstrb, strobes[at])
                    ctx.set(axi.wlast, at == beats - 1)
                _, _, aw, w = await ctx.tick().sample(axi.awready, axi.wready)
                assert not (offered and w) or addressed, "no beat is taken before its address"
                addressed |= bool(aw)
                if offered and w:
                    ctx.set(axi.wvalid, 0)
                    for lane in range(self.beat):
                        place = base + at * self.beat + lane
                        if strobes[at] >> lane & 1 and place < SIZE:
                            self.copy[place] = data[at][lane]
                    at += 1
            ctx.set(axi.awvalid, 0)
            ctx.set(axi.wvalid, 0)
            held = None
            while True:
                ready = self.goes()
                ctx.set(axi.bready, ready)
                _, _, valid, identity, response = await ctx.tick().sample(axi.bvalid, axi.bid, axi.bresp)
                assert held is None or (valid and (identity, response) == held)
                held = (identity, response) if valid else None
                if valid and ready:
                    break
            ctx.set(axi.bready, 0)
            assert held == (WRITE_ID, (Response.DECERR if outside else Response.OKAY).value)
            self.done += 1

    async def read_bursts(self, ctx: Any, count: int) -> None:
        """Addresses ahead of the beats, which come in order."""
        axi = self.dut.axi
        asked = [(*self.address(), self.random.choice(READ_IDS)) for _ in range(count)]
        waits: deque[tuple[int, int, int]] = deque()
        sent = at = taken = 0
        held: tuple[int, ...] | None = None
        ahead = 0
        while taken < count:
            offers = sent < count and (ctx.get(axi.arvalid) or self.goes())
            ctx.set(axi.arvalid, offers)
            if offers:
                first, beats, identity = asked[sent]
                ctx.set(axi.araddr, first)
                ctx.set(axi.arlen, beats - 1)
                ctx.set(axi.arid, identity)
            ready = self.goes()
            ctx.set(axi.rready, ready)
            _, _, accepted, valid, *answer = await ctx.tick().sample(
                axi.arready, axi.rvalid, axi.rdata, axi.rid, axi.rresp, axi.rlast
            )
            if offers and accepted:
                waits.append(asked[sent])
                sent += 1
                ctx.set(axi.arvalid, 0)
                ahead = max(ahead, len(waits))
            assert held is None or (valid and tuple(answer) == held), "a beat stays until it is taken"
            held = tuple(answer) if valid and not ready else None
            if valid and ready:
                first, beats, identity = waits[0]
                base = first // self.beat * self.beat + at * self.beat
                data, got, response, last = answer
                assert (got, last) == (identity, at == beats - 1)
                if base < SIZE:
                    assert response == Response.OKAY.value
                    assert data.to_bytes(self.beat, "little") == self.copy[base : base + self.beat]
                else:
                    assert response == Response.DECERR.value
                at += 1
                if at == beats:
                    waits.popleft()
                    at, taken = 0, taken + 1
        ctx.set(axi.rready, 0)
        assert ahead <= DRAM_QUEUE + 1
        self.done += 1

    async def host_accesses(self, ctx: Any, count: int, *, writes: bool) -> None:
        host = self.dut.host
        for _ in range(count):
            while not self.goes():
                await ctx.tick()
            address = self.random.randrange(0, SIZE + 16, 4)
            stores = writes and self.random.randrange(2)
            data, enabled = self.random.randbytes(4), self.random.getrandbits(4)
            ctx.set(host.req, 1)
            ctx.set(host.add, address)
            ctx.set(host.wen, not stores)
            ctx.set(host.be, enabled if stores else 0xF)
            ctx.set(host.wdata, int.from_bytes(data, "little"))
            await ctx.tick().until(host.gnt)
            ctx.set(host.req, 0)
            _, _, valid, wrong, found = await ctx.tick().sample(host.r_valid, host.r_opc, host.r_rdata)
            assert (valid, wrong) == (1, address >= SIZE), "an answer comes in the next cycle"
            if stores and address < SIZE:
                for lane in range(4):
                    if enabled >> lane & 1:
                        self.copy[address + lane] = data[lane]
            elif not stores and address < SIZE:
                assert found.to_bytes(4, "little") == self.copy[address : address + 4]

    def run(self, bursts: int) -> None:
        wanted = 3 if self.host_too else 3 * bursts + 3

        async def bench(ctx: Any) -> None:
            await self.host_accesses(ctx, 30, writes=True)
            for _ in range(3):
                await self.write_bursts(ctx, bursts)
                await self.read_bursts(ctx, bursts)

        async def beside(ctx: Any) -> None:
            while self.done < wanted:
                await self.host_accesses(ctx, 1, writes=False)

        async def bench_beside(ctx: Any) -> None:
            for _ in range(3):
                await self.read_bursts(ctx, bursts)

        simulator = Simulator(self.dut)
        simulator.add_clock(1e-6)
        if self.host_too:
            simulator.add_testbench(bench_beside)
            simulator.add_testbench(beside)
        else:
            simulator.add_testbench(bench)
        for end in range(STEP, LIMIT, STEP):
            simulator.run_until(end * 1e-6)
            if self.done == wanted:
                simulator.run()  # until the host's last access has ended
                return
        raise AssertionError("it hangs")


@pytest.mark.parametrize("bits", [32, 64, 128])
@pytest.mark.parametrize("busy", [100, 40])
def test_bursts(bits: int, busy: int) -> None:
    Manager(bits, bits + busy, busy=busy, host=False).run(25)


@pytest.mark.parametrize("busy", [100, 40])
def test_the_host_reads_beside_bursts(busy: int) -> None:
    Manager(64, busy, busy=busy, host=True).run(25)


def test_a_beat_in_every_cycle_and_two_cycles_before_the_first() -> None:
    """As a DRAM without times of its own: predictions of cycles hold on the board, too."""
    dut = AxiMemory(data_bits=64, size=SIZE)
    axi = dut.axi
    seen: list[tuple[int, ...]] = []

    async def bench(ctx: Any) -> None:
        await ctx.tick().until(axi.arready)
        ctx.set(axi.rready, 1)
        ctx.set(axi.bready, 1)
        for address in (0, 64, 128):  # three bursts of eight beats in each direction
            for channel in ("ar", "aw"):
                ctx.set(getattr(axi, f"{channel}addr"), address)
                ctx.set(getattr(axi, f"{channel}len"), 7)
                ctx.set(getattr(axi, f"{channel}valid"), 1)
            ctx.set(axi.wvalid, 1)
            await ctx.tick()
            ctx.set(axi.arvalid, 0)
            ctx.set(axi.awvalid, 0)
        await ctx.tick().repeat(40)

    async def watch(ctx: Any) -> None:
        sampled = axi.arvalid & axi.arready, axi.rvalid, axi.wvalid & axi.wready, axi.bvalid
        async for _, _, *found in ctx.tick().sample(*sampled):
            seen.append(tuple(found))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_testbench(watch, background=True)
    simulator.run()
    addresses, reads, writes, answers = (
        [at for at, one in enumerate(column) if one] for column in zip(*seen, strict=True)
    )
    first = addresses[0]
    assert reads == list(range(first + 2, first + 26))
    assert writes == list(range(first + 1, first + 25))
    assert answers == [writes[last] + 2 for last in (7, 15, 23)]


def test_a_size_of_whole_beats_is_asked_for() -> None:
    with pytest.raises(ParameterError, match="size: expected a multiple of 8 bytes, got 12"):
        AxiMemory(data_bits=64, size=12)
