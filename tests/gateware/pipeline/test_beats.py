"""Beats and pixels: there and back, with pauses on either side; a tile's source takes no more than the tile."""

import random
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import connect
from amaranth.sim import Simulator

from hwgen.gateware.pipeline.beats import Gather, Scatter, TileSource
from tests.gateware.simulate import simulate


@pytest.mark.parametrize(("channels", "beat"), [(1, 1), (5, 2), (6, 3), (4, 4), (7, 4), (3, 1)])
@pytest.mark.parametrize("pace", [1.0, 0.6])
def test_pixels_come_back_as_beats(channels: int, beat: int, pace: float) -> None:
    m = Module()
    m.submodules.gather = gather = Gather(channels=channels, beat=beat)
    m.submodules.scatter = scatter = Scatter(channels=channels, beat=beat)
    m.submodules.queue = queue = SyncFIFO(width=8 * channels, depth=2)
    connect(m, gather.o_pixel, queue.w_stream)
    connect(m, queue.r_stream, scatter.i_pixel)
    rng = random.Random(channels)
    pixels = [rng.randbytes(channels) for _ in range(9)]
    beats = [pixel[i : i + beat] for pixel in pixels for i in range(0, channels, beat)]
    back: list[bytes] = []
    cycles = 0

    async def bring(ctx: Any) -> None:
        for one in beats:
            while rng.random() >= pace:
                await ctx.tick()
            ctx.set(gather.i_beat.payload, int.from_bytes(one + rng.randbytes(beat - len(one)), "little"))
            ctx.set(gather.i_beat.valid, 1)
            assert ctx.get(gather.keep) == (1 << len(one)) - 1
            ready = False
            while not ready:
                *_, ready = await ctx.tick().sample(gather.i_beat.ready)
            ctx.set(gather.i_beat.valid, 0)

    async def take(ctx: Any) -> None:
        nonlocal cycles
        port = scatter.o_beat
        while len(back) < len(beats):
            ctx.set(port.ready, rng.random() < pace)
            _, _, valid, ready, payload, keep = await ctx.tick().sample(
                port.valid, port.ready, port.payload, scatter.keep
            )
            cycles += 1
            if valid and ready:
                back.append(payload.to_bytes(beat, "little")[: keep.bit_count()])
                assert keep & (keep + 1) == 0

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(take)
    simulator.add_testbench(bring, background=True)
    simulator.run()
    assert back == beats
    if pace == 1.0:
        assert cycles == len(beats) + -(-channels // beat) + 1  # a beat a cycle, after the first pixel


def test_a_source_takes_as_many_pixels_as_the_tile_has() -> None:
    source = TileSource(channels=3, beat=2, line=7, lines=5)
    taken = []

    async def main(ctx: Any) -> None:
        ctx.set(source.columns, 3)
        ctx.set(source.lines, 2)
        ctx.set(source.i_beat.valid, 1)
        ctx.set(source.o_pixel.ready, 1)
        for cycle in range(40):
            ctx.set(source.begin, cycle == 2)
            *_, ready = await ctx.tick().sample(source.i_beat.ready)
            taken.append(ready)

    simulate(source, main)
    assert sum(taken) == 3 * 2 * 2
    assert not any(taken[:3])


def test_a_tile_without_new_pixels_leaves_the_stream_to_the_next() -> None:
    source = TileSource(channels=1, beat=1, line=7, lines=5)
    taken = []

    async def main(ctx: Any) -> None:
        ctx.set(source.lines, 3)
        ctx.set(source.i_beat.valid, 1)
        ctx.set(source.o_pixel.ready, 1)
        for cycle in range(30):
            ctx.set(source.begin, cycle in (2, 20))
            ctx.set(source.columns, 0 if cycle < 10 else 2)
            *_, ready = await ctx.tick().sample(source.i_beat.ready)
            taken.append(ready)

    simulate(source, main)
    assert not any(taken[:21])
    assert sum(taken) == 2 * 3
