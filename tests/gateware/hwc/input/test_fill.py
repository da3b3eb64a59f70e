"""Words of 16-bit inputs on lanes along c: lower and upper bytes go to the same places of two memories."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from hwgen.gateware.hwc.input.fill import InputFill
from hwgen.ir.lanes import Lanes, Ports
from tests.gateware.hwc.test_datapath import PARAMETERS
from tests.gateware.simulate import simulate

PHASES = (40, 80, 120)
LINE = 200
WAIT = 3
"""Cycles from a word to its first write."""


@pytest.mark.parametrize("width", [32, 128])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_the_bytes_of_columns_are_told_apart(stride: int, width: int) -> None:
    parameters = replace(PARAMETERS, lanes=Lanes(m=4, c=4), ports=Ports(I=width))
    fill, rng, columns = InputFill(parameters), Random(stride), width // 16

    async def bench(ctx: Any) -> None:
        ctx.set(fill.stride_x, stride)
        ctx.set(fill.wide, 1)
        for number, base in enumerate(PHASES, start=1):
            ctx.set(getattr(fill, f"input_phase_{number}"), base)
        for _ in range(10):
            first, last = sorted(rng.randrange(columns) for _ in range(2))
            used = range(first, last + 1)
            phase, data = rng.randrange(stride), [rng.randrange(1 << 16) for _ in range(columns)]
            several = len({column % stride for column in used}) > 1
            place = fill.i_word.payload.place
            ctx.set(place.address, LINE)
            ctx.set(place.phase, phase)
            ctx.set(place.enable, sum(3 << 2 * column for column in used))
            ctx.set(place.single, not several)
            ctx.set(place.channel_lane, 1)
            ctx.set(fill.i_word.payload.data, sum(value << 16 * number for number, value in enumerate(data)))
            ctx.set(fill.expected, 1)
            ctx.set(fill.i_word.valid, 1)
            written: dict[int, int] = {}
            left = WAIT
            while left:
                taken = ctx.get(fill.i_word.ready & fill.i_word.valid)
                await ctx.tick()
                if taken:
                    ctx.set(fill.i_word.valid, 0)
                    ctx.set(fill.expected, 0)
                left -= not ctx.get(fill.i_word.valid)
                enable, address = ctx.get(fill.enable), ctx.get(fill.address)
                assert not enable or ctx.get(fill.channel_lane) == 1
                for i in range(width // 8):
                    if enable >> i & 1:
                        written[address + i] = ctx.get(fill.data[i]) | ctx.get(fill.upper[i]) << 8
            places = [divmod(phase + column, stride) for column in used]
            bases = (0, *PHASES)
            expected = {LINE + bases[of] + at: data[column] for (at, of), column in zip(places, used, strict=True)}
            assert written == expected

    simulate(fill, bench)
