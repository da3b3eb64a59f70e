"""The overlap port: lines of several maps in the given order, inwards and outwards, and no more than the tile has."""

import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from hwgen.gateware.pipeline.overlap_port import OverlapIn, OverlapOut

CHANNELS = {1: 3, 4: 5}
COLUMNS = {1: 2, 4: 1}
LINES = 3
ORDER = [1, 4, 4, 1, 1, 4]
BEAT = 2


def pixels(rng: random.Random) -> list[tuple[int, bytes]]:
    """The pixels of a tile in the order of the port: map and bytes."""
    return [(number, rng.randbytes(CHANNELS[number])) for number in ORDER for _ in range(COLUMNS[number])]


def in_beats(every: list[tuple[int, bytes]]) -> list[bytes]:
    return [pixel[i : i + BEAT] for _, pixel in every for i in range(0, len(pixel), BEAT)]


def settle(ctx: Any, port: OverlapIn | OverlapOut) -> None:
    for number in CHANNELS:
        ctx.set(getattr(port, f"columns_{number}"), COLUMNS[number])
        ctx.set(getattr(port, f"lines_{number}"), LINES)


async def begin(ctx: Any, port: OverlapIn | OverlapOut) -> None:
    """All maps begin the tile."""
    for value in (1, 0):
        for number in CHANNELS:
            ctx.set(getattr(port, f"begin_{number}"), value)
        if value:
            await ctx.tick()


async def order(ctx: Any, port: OverlapIn | OverlapOut, taken: list[int]) -> None:
    """Offers the order of this tile and of the next."""
    for number in ORDER * 2:
        ctx.set(port.i_order.payload, number)
        ctx.set(port.i_order.valid, 1)
        ready = False
        while not ready:
            *_, ready = await ctx.tick().sample(port.i_order.ready)
        taken.append(number)


@pytest.mark.parametrize("pace", [1.0, 0.5])
def test_pixels_come_to_their_maps(pace: float) -> None:
    rng = random.Random(3)
    port = OverlapIn(channels=CHANNELS, widths=dict.fromkeys(CHANNELS, (2, 2)), beat=BEAT)
    every = pixels(rng)
    seen: dict[int, list[bytes]] = {number: [] for number in CHANNELS}
    taken: list[int] = []

    async def main(ctx: Any) -> None:
        settle(ctx, port)
        await begin(ctx, port)
        for one in in_beats(every) + [b"??"] * 3:
            ctx.set(port.i_beat.payload, int.from_bytes(one + rng.randbytes(BEAT - len(one)), "little"))
            ctx.set(port.i_beat.valid, 1)
            for _ in range(60):
                *_, ready, keep = await ctx.tick().sample(port.i_beat.ready, port.keep)
                if ready:
                    assert keep == (1 << len(one)) - 1
                    break
            else:
                assert one == b"??"  # the tile has no more

    async def take(ctx: Any) -> None:
        while True:
            for number in CHANNELS:
                ctx.set(getattr(port, f"o_pixel_{number}").ready, rng.random() < pace)
            outputs = [getattr(port, f"o_pixel_{number}") for number in CHANNELS]
            got = await ctx.tick().sample(
                *(getattr(o, what) for o in outputs for what in ("valid", "ready", "payload"))
            )
            for place, (number, size) in enumerate(CHANNELS.items()):
                valid, ready, payload = got[2 + 3 * place : 5 + 3 * place]
                if valid and ready:
                    seen[number].append(payload.to_bytes(size, "little"))

    async def give_order(ctx: Any) -> None:
        await order(ctx, port, taken)

    simulator = Simulator(port)
    simulator.add_clock(1e-6)
    simulator.add_testbench(main)
    simulator.add_testbench(take, background=True)
    simulator.add_testbench(give_order, background=True)
    simulator.run()
    assert taken == ORDER
    assert seen == {number: [pixel for of, pixel in every if of == number] for number in CHANNELS}


@pytest.mark.parametrize("pace", [1.0, 0.5])
def test_pixels_go_out_in_order(pace: float) -> None:
    rng = random.Random(4)
    port = OverlapOut(channels=CHANNELS, widths=dict.fromkeys(CHANNELS, (2, 2)), beat=BEAT)
    every = pixels(rng)
    seen: list[bytes] = []
    taken: list[int] = []

    async def main(ctx: Any) -> None:
        settle(ctx, port)
        await begin(ctx, port)
        for _ in range(150):
            ctx.set(port.o_beat.ready, rng.random() < pace)
            *_, valid, ready, payload, keep = await ctx.tick().sample(
                port.o_beat.valid, port.o_beat.ready, port.o_beat.payload, port.keep
            )
            if valid and ready:
                seen.append(payload.to_bytes(BEAT, "little")[: keep.bit_count()])

    async def bring(ctx: Any, number: int) -> None:
        stream = getattr(port, f"i_pixel_{number}")
        for pixel in [pixel for of, pixel in every if of == number]:
            ctx.set(stream.payload, int.from_bytes(pixel, "little"))
            ctx.set(stream.valid, 1)
            ready = False
            while not ready:
                *_, ready = await ctx.tick().sample(stream.ready)
            ctx.set(stream.valid, 0)
            while rng.random() >= pace:
                await ctx.tick()

    async def first(ctx: Any) -> None:
        await bring(ctx, 1)

    async def second(ctx: Any) -> None:
        await bring(ctx, 4)

    async def give_order(ctx: Any) -> None:
        await order(ctx, port, taken)

    simulator = Simulator(port)
    simulator.add_clock(1e-6)
    simulator.add_testbench(main)
    for bench in (first, second, give_order):
        simulator.add_testbench(bench, background=True)
    simulator.run()
    assert taken == ORDER
    assert seen == in_beats(every)
