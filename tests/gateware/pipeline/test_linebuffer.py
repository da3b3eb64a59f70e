"""The ring of a map against a list of pixels: windows, copies and taps at their own pace."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.gateware.pipeline.linebuffer import LineBuffer, OverlapFirst
from tests.gateware.simulate import simulate

LINE, LINES = 5, 4


def pixels_of_a_tile(rng: random.Random) -> list[int]:
    return [rng.getrandbits(16) for _ in range(LINE * LINES)]


async def feed(ctx: Any, port: Any, pixels: list[int], rng: random.Random) -> None:
    for pixel in pixels:
        while rng.random() < 0.3:
            await ctx.tick()
        ctx.set(port.payload, pixel)
        ctx.set(port.valid, 1)
        ready = False
        while not ready:
            *_, ready = await ctx.tick().sample(port.ready)
        ctx.set(port.valid, 0)


async def drain(ctx: Any, port: Any, into: list[int], rng: random.Random, pace: float) -> None:
    while True:
        ctx.set(port.ready, rng.random() < pace)
        _, _, valid, ready, payload = await ctx.tick().sample(port.valid, port.ready, port.payload)
        if valid and ready:
            into.append(payload)


@pytest.mark.parametrize("ring", [1, 2, 7, 12])
def test_every_pixel_of_the_ring_can_be_read_and_taps_lose_nothing(ring: int) -> None:
    rng = random.Random(ring)
    buffer = LineBuffer(channels=2, pixels=ring, line=8, lines=6, windows=2, copies=1, taps=(2, 3))
    pixels = pixels_of_a_tile(rng)
    copied: list[int] = []
    tapped: tuple[list[int], list[int]] = ([], [])
    finished = []

    async def reader(ctx: Any, number: int) -> None:
        port = getattr(buffer, f"window_{number}")
        for n, pixel in enumerate(pixels):
            while not ctx.get(port.active):
                await ctx.tick()
            place = tuple(ctx.get(p) for p in (port.line, port.column, port.last_line, port.last_column))
            assert place == (n // LINE, n % LINE, n // LINE == LINES - 1, n % LINE == LINE - 1)
            for _ in range(rng.randrange(4)):
                back = rng.randint(1, ring)
                ctx.set(port.read_offset, back)
                ctx.set(port.read_enable, 1)
                await ctx.tick()
                ctx.set(port.read_enable, 0)
                assert ctx.get(port.pixel) == pixel
                if back <= n:
                    assert ctx.get(port.read_data) == pixels[n - back], (n, back)
            ctx.set(port.release, 1)
            await ctx.tick()
            ctx.set(port.release, 0)

    async def main(ctx: Any) -> None:
        for name, value in (("line", LINE), ("lines", LINES), ("begin", 1)):
            ctx.set(getattr(buffer, name), value)
        ctx.set(buffer.copy_0.first, 3)
        ctx.set(buffer.copy_0.columns, 2)
        ctx.set(buffer.tap_0.columns, LINE)
        ctx.set(buffer.tap_1.first, 1)
        ctx.set(buffer.tap_1.columns, 2)
        assert not ctx.get(buffer.i_pixel.ready)  # not before the tile begins
        await ctx.tick()
        ctx.set(buffer.begin, 0)
        await feed(ctx, buffer.i_pixel, pixels, rng)
        while not ctx.get(buffer.finished):
            await ctx.tick()
        assert not ctx.get(buffer.i_pixel.ready)  # nor after it
        for _ in range(30):
            await ctx.tick()
        finished.append(True)

    simulator = Simulator(buffer)
    simulator.add_clock(1e-6)
    simulator.add_testbench(main)

    async def first(ctx: Any) -> None:
        await reader(ctx, 0)

    async def second(ctx: Any) -> None:
        await reader(ctx, 1)

    async def copies(ctx: Any) -> None:
        await drain(ctx, buffer.o_copy_0, copied, rng, 0.5)

    async def quick(ctx: Any) -> None:
        await drain(ctx, buffer.o_tap_0, tapped[0], rng, 0.9)

    async def slow(ctx: Any) -> None:
        await drain(ctx, buffer.o_tap_1, tapped[1], rng, 0.2)

    for bench in (first, second, copies, quick, slow):
        simulator.add_testbench(bench, background=True)
    simulator.run()
    assert finished
    columns = [pixels[n * LINE : (n + 1) * LINE] for n in range(LINES)]
    assert copied == [pixel for line in columns for pixel in line[3:]]
    assert tapped[0] == pixels
    assert tapped[1] == [pixel for line in columns for pixel in line[1:3]]


def test_a_tap_that_is_not_served_holds_the_ring() -> None:
    buffer = LineBuffer(channels=2, pixels=3, line=8, lines=6, taps=(1,))
    taken = []

    async def main(ctx: Any) -> None:
        for port, value in (
            (buffer.line, LINE),
            (buffer.lines, LINES),
            (buffer.begin, 1),
            (buffer.tap_0.columns, LINE),
        ):
            ctx.set(port, value)
        await ctx.tick()
        ctx.set(buffer.begin, 0)
        ctx.set(buffer.i_pixel.valid, 1)
        for _ in range(30):
            *_, ready = await ctx.tick().sample(buffer.i_pixel.ready)
            taken.append(ready)

    simulate(buffer, main)
    # three in the ring, one in flight, one in the tap's queue
    assert sum(taken) == 5


def test_overlap_comes_first_in_every_line() -> None:
    block = OverlapFirst(channels=1, line=8)
    rng = random.Random(5)
    seen: list[int] = []

    async def old(ctx: Any) -> None:
        await feed(ctx, block.i_overlap, [1, 2] * 3, rng)

    async def new(ctx: Any) -> None:
        await feed(ctx, block.i_new, [11, 12, 13] * 3, rng)

    async def main(ctx: Any) -> None:
        ctx.set(block.line, 5)
        ctx.set(block.overlap, 2)
        while len(seen) < 15:
            await ctx.tick()

    async def take(ctx: Any) -> None:
        await drain(ctx, block.o_pixel, seen, rng, 0.6)

    simulator = Simulator(block)
    simulator.add_clock(1e-6)
    simulator.add_testbench(main)
    for bench in (old, new, take):
        simulator.add_testbench(bench, background=True)
    simulator.run()
    assert seen == [1, 2, 11, 12, 13] * 3
