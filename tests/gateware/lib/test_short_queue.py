"""The queue of two entries: cycle by cycle as Amaranth's own."""

import random
from typing import Any

from amaranth.hdl import Module
from amaranth.lib.fifo import SyncFIFO

from hwgen.gateware.lib.short_queue import ShortQueue
from tests.gateware.simulate import simulate


def test_it_is_a_fifo_of_two_entries() -> None:
    m, rng = Module(), random.Random(1)
    m.submodules.short, m.submodules.judge = short, judge = ShortQueue(width=8), SyncFIFO(width=8, depth=2)
    seen = set()

    async def bench(ctx: Any) -> None:
        for _ in range(400):
            values = {"w_data": rng.randrange(256), "w_en": rng.randrange(2), "r_en": rng.randrange(2)}
            for queue in (short, judge):
                for name, value in values.items():
                    ctx.set(getattr(queue, name), value)
            state = ctx.get(short.w_rdy), ctx.get(short.r_rdy)
            seen.add((*state, values["w_en"], values["r_en"]))
            assert state == (ctx.get(judge.w_rdy), ctx.get(judge.r_rdy))
            if state[1]:
                assert ctx.get(short.r_data) == ctx.get(judge.r_data)
            await ctx.tick()

    simulate(m, bench)
    assert len(seen) == 12, "empty, half and full, with each of the four requests"
