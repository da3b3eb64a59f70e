"""The serial line: bytes in and out at several divisors, clocks that differ a little, glitches, breaks."""

from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.sim import Simulator

from hwgen.arch.serial import LEAST_DIVISOR
from hwgen.gateware.board.uart import UartReceiver, UartTransmitter
from tests.gateware.simulate import simulate

BYTES = [0x00, 0xFF, 0x55, 0xAA, 0x01, 0x80, 0x77, 0x4B]


def levels(byte: int) -> list[int]:
    """Start bit, data from the lowest bit on, stop bit."""
    return [0, *(byte >> bit & 1 for bit in range(8)), 1]


def received(line: list[int], divisor: int) -> tuple[list[int], int]:
    """The bytes that a receiver finds on a line, given cycle by cycle; how many times it says that it is broken."""
    dut = UartReceiver()
    found: list[int] = []
    breaks = 0

    async def bench(ctx: Any) -> None:
        nonlocal breaks
        ctx.set(dut.divisor, divisor)
        for level in [1, 1, *line, *[1] * (12 * divisor)]:
            ctx.set(dut.line, level)
            _, _, valid, byte, broken = await ctx.tick().sample(dut.o_byte.valid, dut.o_byte.payload, dut.broken)
            if valid:
                found.append(byte)
            breaks += broken

    simulate(dut, bench)
    return found, breaks


@pytest.mark.parametrize("divisor", [LEAST_DIVISOR, 5, 8, 25])
@pytest.mark.parametrize("pause", [0, 1, 7])
def test_bytes_come(divisor: int, pause: int) -> None:
    line = [level for byte in BYTES for level in [*levels(byte)] for _ in range(divisor)]
    spaced = [
        level for byte in BYTES for level in [*(one for one in levels(byte) for _ in range(divisor)), *[1] * pause]
    ]
    assert received(line, divisor) == received(spaced, divisor) == (BYTES, 0)


@pytest.mark.parametrize("off", [-1, 1])
def test_a_clock_that_is_off_by_a_twenty_fifth_is_followed(off: int) -> None:
    line = [level for byte in BYTES for level in levels(byte) for _ in range(25 + off)]
    assert received(line, 25) == (BYTES, 0)


def test_a_glitch_is_no_byte_and_a_break_is_said_once() -> None:
    divisor = 8
    byte = [level for level in levels(0x5A) for _ in range(divisor)]
    assert received([0, 0, *[1] * 20, *byte], divisor) == ([0x5A], 0)
    assert received([*[0] * 30 * divisor, *[1] * divisor, *byte], divisor) == ([0x5A], 1)


@pytest.mark.parametrize("divisor", [1, LEAST_DIVISOR, 9])
def test_bytes_go(divisor: int) -> None:
    dut = UartTransmitter()
    line: list[int] = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.divisor, divisor)
        for byte in BYTES:
            ctx.set(dut.i_byte.payload, byte)
            ctx.set(dut.i_byte.valid, 1)
            await ctx.tick().until(dut.i_byte.ready)
            ctx.set(dut.i_byte.valid, 0)
        await ctx.tick().repeat(12 * divisor)

    async def watch(ctx: Any) -> None:
        async for _, _, level in ctx.tick().sample(dut.line):
            line.append(level)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_testbench(watch, background=True)
    simulator.run()
    found = []
    at = line.index(0)
    while at < len(line):
        if line[at]:
            at += 1
            continue
        bits = [line[at + divisor * bit : at + divisor * (bit + 1)] for bit in range(10)]
        assert all(len(set(bit)) == 1 for bit in bits), "a bit is as long as the divisor says"
        assert (bits[0][0], bits[9][0]) == (0, 1)
        found.append(sum(bit[0] << number for number, bit in enumerate(bits[1:9])))
        at += 10 * divisor
    assert found == BYTES


def test_what_is_sent_is_received() -> None:
    m = Module()
    m.submodules.sends, m.submodules.takes = sends, takes = UartTransmitter(), UartReceiver()
    m.d.comb += [sends.divisor.eq(6), takes.divisor.eq(6), takes.line.eq(sends.line)]
    found: list[int] = []

    async def bench(ctx: Any) -> None:
        for byte in range(0, 256, 7):
            ctx.set(sends.i_byte.payload, byte)
            ctx.set(sends.i_byte.valid, 1)
            await ctx.tick().until(sends.i_byte.ready)
        ctx.set(sends.i_byte.valid, 0)
        await ctx.tick().repeat(100)

    async def watch(ctx: Any) -> None:
        async for _, _, valid, byte in ctx.tick().sample(takes.o_byte.valid, takes.o_byte.payload):
            if valid:
                found.append(byte)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.add_testbench(watch, background=True)
    simulator.run()
    assert found == list(range(0, 256, 7))
