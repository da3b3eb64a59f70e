"""Bursts of runs, and the ways of bytes between the beats of a stream and those of AXI."""

import random
from typing import Any

import pytest

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline import MoverParameters
from hwgen.gateware.bus.axi_interconnect import BurstArbiter
from hwgen.gateware.pipeline.movers.reader import Unpacker
from hwgen.gateware.pipeline.movers.runs import BurstCutter, OrderedRuns
from hwgen.gateware.pipeline.movers.writer import Packer
from tests.gateware.simulate import simulate

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
            ctx.set(getattr(top, f"lines_{number}"), order.count(number))
            ctx.set(getattr(top, f"begin_{number}"), 1)
        await ctx.tick()
        for number in (2, 5):
            ctx.set(getattr(top, f"begin_{number}"), 0)
            ctx.set(getattr(top, f"bytes_{number}"), 999)  # of the next tile
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


def test_a_map_whose_tile_has_no_more_runs_waits_for_the_next_one() -> None:
    top = OrderedRuns((2, 5))

    async def begin(ctx: Any, number: int, lines: int, size: int) -> None:
        for name, value in (("lines", lines), ("bytes", size), ("address", 0), ("begin", 1)):
            ctx.set(getattr(top, f"{name}_{number}"), value)
        await ctx.tick()
        ctx.set(getattr(top, f"begin_{number}"), 0)

    async def bench(ctx: Any) -> None:
        ctx.set(top.o_run.ready, 1)
        ctx.set(top.o_order.ready, 1)
        await begin(ctx, 2, 1, 8)
        await begin(ctx, 5, 1, 0)
        assert (ctx.get(top.done_2), ctx.get(top.done_5)) == (0, 1)
        ctx.set(top.i_order.valid, 1)
        ctx.set(top.i_order.payload, 2)
        assert ctx.get(top.o_run.valid)
        await ctx.tick()
        for number in (2, 5):
            ctx.set(top.i_order.payload, number)
            assert not ctx.get(top.o_run.valid)
            await begin(ctx, number, 1, 7)
            assert ctx.get(top.o_run.valid)
            assert ctx.get(top.o_run.payload.bytes) == 7

    simulate(top, bench)


def test_a_run_waits_for_the_line_of_the_tile_before() -> None:
    """Two tiles of three lines, then one in which nothing is written, which counts after the last line before."""
    top = OrderedRuns((4,), waits=[4])

    async def pulse(ctx: Any, *names: str) -> None:
        for name in names:
            ctx.set(getattr(top, f"{name}_4"), 1)
        await ctx.tick()
        for name in names:
            ctx.set(getattr(top, f"{name}_4"), 0)

    async def reads(ctx: Any) -> bool:
        """Whether the next line can be read now, which is done."""
        await ctx.tick()
        ready = bool(ctx.get(top.o_run.valid))
        ctx.set(top.o_run.ready, ready)
        await ctx.tick()
        ctx.set(top.o_run.ready, 0)
        return ready

    async def bench(ctx: Any) -> None:
        ctx.set(top.lines_4, 3)
        ctx.set(top.o_order.ready, 1)
        ctx.set(top.i_order.valid, 1)
        ctx.set(top.i_order.payload, 4)
        await pulse(ctx, "begin")  # of a tile that reads nothing
        for _ in range(3):
            await pulse(ctx, "asked")
        ctx.set(top.bytes_4, 8)
        await pulse(ctx, "begin")
        assert not await reads(ctx)
        await pulse(ctx, "written")
        assert await reads(ctx)
        assert not await reads(ctx)
        await pulse(ctx, "left_out")
        assert not await reads(ctx)
        for _ in range(2):
            await pulse(ctx, "written")
        assert [await reads(ctx) for _ in range(3)] == [True, True, False]
        await pulse(ctx, "begin")
        assert [await reads(ctx) for _ in range(4)] == [True, True, True, False]

    simulate(top, bench)


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
