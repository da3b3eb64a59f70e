"""The queue of tiles: units that are reserved, and freed when a tile is released and the next one is pushed."""

from random import Random
from typing import Any

from hwgen.gateware.lib.tile_queue import TileQueue
from tests.gateware.simulate import simulate

CAPACITY = 40


def test_free_units_and_those_that_are_spare() -> None:
    """Against a count in plain integers; ``spare`` is what a reserve of the cycle before leaves."""
    dut, rng = TileQueue(token=4, capacity=CAPACITY, tells_spare=True), Random("spare")

    async def bench(ctx: Any) -> None:
        free, before, freed_later, seen = CAPACITY, 0, [], set()
        held = pushed = completed = 0
        for _ in range(600):
            reserve = rng.choice((before, rng.randint(0, 7)))
            reserves = reserve <= free and rng.random() < 0.3
            held += reserve * reserves
            ctx.set(dut.reserve, reserve)
            ctx.set(dut.reserves, reserves)
            # A tile drops what was reserved before the one before it, so that no unit is freed twice.
            drop = rng.randint(0, held) if pushed else 0
            pushes = rng.random() < 0.3
            ctx.set(dut.i_tile.valid, pushes)
            ctx.set(dut.i_tile.payload.drop, drop)
            ctx.set(dut.completes, completed < pushed and rng.random() < 0.5)
            completed += ctx.get(dut.completes)
            ctx.set(dut.o_token.ready, 1)
            taken = ctx.get(dut.o_token.valid)
            ctx.set(dut.release, taken)
            if pushes and ctx.get(dut.i_tile.ready):
                if pushed:
                    held -= drop
                    freed_later.append(drop)
                pushed += 1
            await ctx.tick()
            now = ctx.get(dut.free)
            freed = now - free + reserve * reserves
            while freed > 0:
                freed -= freed_later.pop(0)
            assert freed == 0
            assert ctx.get(dut.spare) == now - reserve
            seen.add(ctx.get(dut.spare) < 0)
            free, before = now, reserve
        assert pushed > 50
        assert seen == {False, True}

    simulate(dut, bench)
