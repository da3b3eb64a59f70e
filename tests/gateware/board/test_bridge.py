"""The bridge: requests word by word against ports with stalls and errors, in every room, and after a break."""

import struct
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.arch.serial import DESIGN_IDENTITY, Ask, Room, Told
from hwgen.gateware.board.bridge import Bridge

DIGEST, MEMORY = 0x12345678, 4096
LIMIT = 20_000


class Bench:
    """A bridge, a host that sends bytes with pauses, and two ports that grant and answer when they like.

    Members
    -------
    memory, registers : words by address; another address is refused.
    answer : the bytes that the host has got.
    """

    def __init__(self, seed: int = 0) -> None:
        self.dut = Bridge(digest=DIGEST, memory_bytes=MEMORY)
        self.random = Random(seed)
        self.memory = dict.fromkeys(range(0, 64, 4), 0)
        self.registers = dict.fromkeys(range(0, 16, 4), 0)
        self.answer = bytearray()

    def run(self, script: Sequence[bytes | Callable[[Any], Any]], expected: int) -> bytes:
        """Send bytes, or do what a function does, one after the other; the first ``expected`` bytes of the answer."""
        dut = self.dut

        async def host(ctx: Any) -> None:
            for step in script:
                if callable(step):
                    await step(ctx)
                    continue
                for byte in step:
                    ctx.set(dut.i_byte.payload, byte)
                    ctx.set(dut.i_byte.valid, 1)
                    await ctx.tick()
                    ctx.set(dut.i_byte.valid, 0)
                    await ctx.tick().repeat(40 if self.slow else self.random.randrange(20, 30))
            for _ in range(LIMIT):
                if len(self.answer) >= expected:
                    break
                await ctx.tick()
            await ctx.tick().repeat(50)

        simulator = Simulator(dut)
        simulator.add_clock(1e-6)
        simulator.add_testbench(host)
        simulator.add_testbench(self._take, background=True)
        for port, words in ((dut.memory, self.memory), (dut.cfg, self.registers)):
            simulator.add_testbench(partial(self._serve, port=port, words=words), background=True)
        simulator.run()
        return bytes(self.answer)

    slow = False

    async def _take(self, ctx: Any) -> None:
        held = None
        while True:
            ready = self.random.randrange(3) == 0
            ctx.set(self.dut.o_byte.ready, ready)
            _, _, valid, byte = await ctx.tick().sample(self.dut.o_byte.valid, self.dut.o_byte.payload)
            assert held is None or (valid and byte == held), "a byte that is offered stays until it is taken"
            held = byte if valid and not ready else None
            if valid and ready:
                self.answer.append(byte)

    async def _serve(self, ctx: Any, port: Any, words: dict[int, int]) -> None:
        held = None
        while True:
            grant = self.random.randrange(3) == 0
            ctx.set(port.gnt, grant)
            ctx.set(port.r_valid, 0)
            _, _, asked, *request = await ctx.tick().sample(port.req, port.add, port.wen, port.be, port.wdata)
            assert held is None or (asked and request == held), "a request stays until it is granted"
            held = request if asked and not grant else None
            if not (asked and grant):
                continue
            address, reads, enabled, data = request
            assert enabled == 0xF
            ctx.set(port.gnt, 0)
            for _ in range(self.random.randrange(4)):
                _, _, again = await ctx.tick().sample(port.req)
                assert not again, "one access at a time"
            if not reads and address in words:
                words[address] = data
            ctx.set(port.r_valid, 1)
            ctx.set(port.r_opc, address not in words)
            ctx.set(port.r_rdata, words.get(address, 0) if reads else 0)
            await ctx.tick()


def write(address: int, words: Sequence[int]) -> bytes:
    return struct.pack(f"<BIH{len(words)}I", Ask.WRITE, address, len(words), *words)


def read(address: int, count: int) -> bytes:
    return struct.pack("<BIH", Ask.READ, address, count)


def ended(words: Sequence[int], how: Told = Told.DONE) -> bytes:
    """The end of an answer: how, and the sum of the bytes."""
    return bytes([how, sum(struct.pack(f"<{len(words)}I", *words)) & 0xFF])


def answered(words: Sequence[int], how: Told = Told.DONE) -> bytes:
    return struct.pack(f"<{len(words)}I", *words) + ended(words, how)


@pytest.mark.parametrize("seed", range(4))
def test_words_are_written_and_read(seed: int) -> None:
    bench = Bench(seed)
    words = [0x03020100, 0xFFFFFFFF, 0x80000001]
    expected = ended(words) + answered(words[1:]) + ended([7]) + answered([7])
    script = [write(8, words), wait, read(12, 2), wait, write(Room.REGISTERS.base + 4, [7]), wait,
              read(Room.REGISTERS.base + 4, 1)]  # fmt: skip
    assert bench.run(script, len(expected)) == expected
    assert [bench.memory[address] for address in (8, 12, 16)] == words
    assert bench.registers[4] == 7
    assert set(bench.memory) == set(range(0, 64, 4))


async def wait(ctx: Any) -> None:
    """Long enough for an answer."""
    await ctx.tick().repeat(300)


def test_what_the_design_is_can_be_read_and_not_written() -> None:
    words = [DESIGN_IDENTITY, DIGEST, MEMORY]
    expected = answered(words) + answered([0], Told.REFUSED) + ended([1], Told.REFUSED)
    script = [read(Room.DESIGN.base, 3), wait, read(Room.DESIGN.base + 12, 1), wait, write(Room.DESIGN.base, [1])]
    assert Bench().run(script, len(expected)) == expected


def test_what_a_port_refuses_is_said_once_at_the_end() -> None:
    bench = Bench(1)
    del bench.memory[20]
    expected = ended([5, 6], Told.REFUSED) + answered([5]) + answered([0, 0], Told.REFUSED)
    expected += ended([7, 8, 9], Told.REFUSED) + answered([9])
    script = [write(60, [5, 6]), wait, read(60, 1), wait, read(Room.REGISTERS.base + 16, 2), wait,
              write(16, [7, 8, 9]), wait, read(24, 1)]  # fmt: skip
    assert bench.run(script, len(expected)) == expected


def test_no_words_and_no_request() -> None:
    expected = ended([]) + ended([]) + bytes([Told.UNKNOWN]) + answered([0])
    script = [bytes([Ask.NOTHING] * 3), read(0, 0), wait, write(0, []), wait, b"x", wait, read(0, 1)]
    assert Bench().run(script, len(expected)) == expected


@pytest.mark.parametrize("sent", range(1, 15))
def test_a_break_makes_it_forget_a_request(sent: int) -> None:
    """Wherever it comes: what is sent after it is a request of its own."""
    bench = Bench(sent)

    async def pause(ctx: Any) -> None:
        ctx.set(bench.dut.broken, 1)
        await ctx.tick()
        ctx.set(bench.dut.broken, 0)
        await wait(ctx)

    begun = write(0, [1, 2, 3])[:sent]
    assert bench.run([begun, pause, read(20, 2)], 10) == answered([0, 0])


def test_a_break_ends_an_answer() -> None:
    bench = Bench(2)

    async def pause(ctx: Any) -> None:
        await ctx.tick().repeat(30)
        ctx.set(bench.dut.broken, 1)
        await ctx.tick()
        ctx.set(bench.dut.broken, 0)
        await wait(ctx)
        bench.answer.clear()

    assert bench.run([read(0, 16), pause, read(20, 1)], 6) == answered([0])
