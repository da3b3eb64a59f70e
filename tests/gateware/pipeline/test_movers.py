"""Bursts of runs, and the ways of bytes between the beats of a stream and those of AXI."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline import MoverParameters
from hwgen.gateware.bus.axi_interconnect import BurstArbiter
from hwgen.gateware.pipeline.movers.reader import Unpacker
from hwgen.gateware.pipeline.movers.runs import BurstCutter, OrderedRuns
from hwgen.gateware.pipeline.movers.writer import Packer

PARAMETERS = MoverParameters(axi_bits=32, burst_bytes=16)
WIDTH = PARAMETERS.beat_bytes


def runs_of(rng: random.Random, count: int) -> list[tuple[int, int]]:
    """Address and bytes of some runs."""
    return [(rng.randrange(1 << 12), rng.randint(1, 40)) for _ in range(count)]


def bursts_of(address: int, size: int) -> list[tuple[int, int]]:
    """First and last byte of each burst of a run, byte by byte."""
    bursts: list[tuple[int, int]] = []
    for byte in range(address, address + size):
        if byte == address or byte % PARAMETERS.burst_bytes == 0:
            bursts.append((byte, byte))
        bursts[-1] = (bursts[-1][0], byte)
    return bursts


def simulate(top: Any, *benches: Any) -> None:
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.run()


async def give(ctx: Any, port: Any, **payload: int) -> None:
    for name, value in payload.items():
        ctx.set(getattr(port.payload, name), value)
    ctx.set(port.valid, 1)
    await ctx.tick().until(port.ready)
    ctx.set(port.valid, 0)


async def take(ctx: Any, port: Any, rng: random.Random) -> Any:
    while rng.random() < 0.3:
        await ctx.tick()
    ctx.set(port.ready, 1)
    (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
    ctx.set(port.ready, 0)
    return payload


def test_runs_are_cut_into_bursts() -> None:
    rng = random.Random(1)
    runs, cutter = runs_of(rng, 60), BurstCutter(PARAMETERS)
    expected = [(first, last, last == address + size - 1)
                for address, size in runs for first, last in bursts_of(address, size)]  # fmt: skip

    async def feed(ctx: Any) -> None:
        for address, size in runs:
            await give(ctx, cutter.i_run, address=address, bytes=size)

    async def check(ctx: Any) -> None:
        for first, last, ends in expected:
            burst = await take(ctx, cutter.o_burst, rng)
            assert (burst.address, burst.length) == (first, last // WIDTH - first // WIDTH)
            assert (burst.last_lane, burst.ends) == (last % WIDTH, ends)

    simulate(cutter, feed, check)


def test_runs_of_the_overlap_come_in_the_given_order() -> None:
    rng = random.Random(2)
    order = [rng.choice([2, 5]) for _ in range(40)]
    top = OrderedRuns((2, 5))
    bases, pitches, sizes = {2: 100, 5: 3000}, {2: 24, 5: 70}, {2: 6, 5: 9}

    async def feed(ctx: Any) -> None:
        for number in (2, 5):
            for name, values in (("address", bases), ("pitch", pitches), ("bytes", sizes)):
                ctx.set(getattr(top, f"{name}_{number}"), values[number])
        ctx.set(top.begin, 1)
        await ctx.tick()
        ctx.set(top.begin, 0)
        for number in order:
            ctx.set(top.i_order.payload, number)
            ctx.set(top.i_order.valid, 1)
            await ctx.tick().until(top.i_order.ready)
        ctx.set(top.i_order.valid, 0)

    async def check(ctx: Any) -> None:
        seen = {2: 0, 5: 0}
        for number in order:
            run = await take(ctx, top.o_run, rng)
            assert (run.address, run.bytes) == (bases[number] + pitches[number] * seen[number], sizes[number])
            seen[number] += 1

    async def pass_on(ctx: Any) -> None:
        assert [await take(ctx, top.o_order, rng) for _ in order] == order

    simulate(top, feed, check, pass_on)


def test_a_single_mover_of_a_direction_is_served_by_the_arbiter() -> None:
    rng, top = random.Random(3), BurstArbiter(1)

    async def feed(ctx: Any) -> None:
        for address in range(10):
            await give(ctx, top.i_bursts[0], addr=address)

    async def check(ctx: Any) -> None:
        for address in range(10):
            burst = await take(ctx, top.o_burst, rng)
            assert burst.addr == address
            assert ctx.get(top.master) == 0

    simulate(top, feed, check)


@pytest.mark.parametrize("beat", [1, 3, 9])
def test_words_are_cut_into_beats_of_as_many_bytes_as_are_kept(beat: int) -> None:
    rng = random.Random(beat)
    words = []
    for _ in range(80):
        first = rng.randrange(WIDTH)
        words.append((rng.randrange(1 << 32), first, rng.randrange(first, WIDTH)))
    text = b"".join(data.to_bytes(WIDTH, "little")[first : last + 1] for data, first, last in words)
    sizes: list[int] = []
    while sum(sizes) < len(text):
        sizes.append(min(rng.randint(1, beat), len(text) - sum(sizes)))
    top = Unpacker(PARAMETERS, beat=beat)

    async def feed(ctx: Any) -> None:
        for data, first, last in words:
            await give(ctx, top.i_word, data=data, first=first, last=last)

    async def check(ctx: Any) -> None:
        got = b""
        for size in sizes:
            ctx.set(top.keep, (1 << size) - 1)
            got += (await take(ctx, top.o_beat, rng)).to_bytes(beat, "little")[:size]
        assert got == text

    simulate(top, feed, check)


@pytest.mark.parametrize("beat", [1, 3, 9])
def test_beats_become_the_words_of_bursts(beat: int) -> None:
    rng = random.Random(beat)
    runs, top = runs_of(rng, 30), Packer(PARAMETERS, beat=beat)
    texts = [rng.randbytes(size) for _, size in runs]

    async def feed_runs(ctx: Any) -> None:
        for address, size in runs:
            await give(ctx, top.i_run, address=address, bytes=size)

    async def feed_beats(ctx: Any) -> None:
        for text in texts:
            place = 0
            while place < len(text):
                size = min(rng.randint(1, beat), len(text) - place)
                ctx.set(top.keep, (1 << size) - 1)
                ctx.set(top.i_beat.payload, int.from_bytes(text[place : place + size], "little"))
                ctx.set(top.i_beat.valid, 1)
                await ctx.tick().until(top.i_beat.ready)
                ctx.set(top.i_beat.valid, 0)
                place += size

    async def check(ctx: Any) -> None:
        for (address, size), text in zip(runs, texts, strict=True):
            for first, last in bursts_of(address, size):
                for word in range(first // WIDTH, last // WIDTH + 1):
                    ctx.set(top.o_word.ready, 1)
                    got, burst = await ctx.tick().sample(top.o_word.payload, top.burst).until(top.o_word.valid)
                    ctx.set(top.o_word.ready, 0)
                    data = got.data.to_bytes(WIDTH, "little")
                    for lane, byte in enumerate(range(word * WIDTH, (word + 1) * WIDTH)):
                        assert bool(got.strobe >> lane & 1) == (first <= byte <= last)
                        if first <= byte <= last:
                            assert data[lane] == text[byte - address]
                assert got.last
                assert (burst.address, burst.length) == (first, last // WIDTH - first // WIDTH)
                assert (burst.last_lane, burst.ends) == (last % WIDTH, last == address + size - 1)
        for _ in range(4):
            await ctx.tick()
            assert not ctx.get(top.o_word.valid)

    simulate(top, feed_runs, feed_beats, check)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"axi_bits": 16}, "axi_bits: expected 32, 64 or 128, got 16"),
        ({"burst_bytes": 8192}, "burst_bytes: expected 16 to 2048, got 8192"),
        ({"burst_bytes": 24}, "burst_bytes: expected a power of two, got 24"),
        ({"bursts_ahead": 1}, "bursts_ahead: expected 2 to 64, got 1"),
        ({"outstanding": 65}, "outstanding: expected 2 to 64, got 65"),
    ],
)
def test_parameters_are_checked(values: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MoverParameters(**values)
