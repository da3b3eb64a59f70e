"""Where the columns of random tiles lie in a line of the input memory."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.input.columns import TileColumns
from tests.gateware.simulate import simulate

ROWS_SLIDE = HwcParameters(
    loops=tuple("ymckxl"), input_marker=0, weight_marker=0, output_marker=2, input_bytes=256, weight_bytes=32,
    output_bytes=128, position_bits=8,
)  # fmt: skip
COLUMNS_SLIDE = replace(ROWS_SLIDE, input_marker=4)


@pytest.mark.parametrize("parameters", [ROWS_SLIDE, COLUMNS_SLIDE])
def test_columns_that_are_used_and_where_they_lie(parameters: HwcParameters) -> None:
    rng, slides = Random(1), parameters.columns_slide
    seen = {"gaps": 0, "clipped": 0, "none": 0, **({"kept": 0} if slides else {})}

    async def bench(ctx: Any) -> None:
        behind = quotient = 0
        for _ in range(60):
            stride, width, moves = rng.randint(1, 4), rng.randint(1, 30), slides and rng.random() < 0.7
            ctx.set(dut.settings.stride_x, stride)
            ctx.set(dut.settings.input_width, width)
            ctx.set(dut.settings.input_slides, moves)
            for number in range(4):
                stays = moves and number > 0 and rng.random() < 0.7
                behind, quotient = await check(ctx, stride, width, moves=moves, before=(stays, behind, quotient))

    async def check(
        ctx: Any, stride: int, width: int, *, moves: bool, before: tuple[bool, int, int]
    ) -> tuple[int, int]:
        corner, outputs, kernel = rng.randint(-7, 12), rng.randint(1, 4), rng.randint(1, 5)
        stays, behind, earlier = before
        ctx.set(dut.corner, corner)
        ctx.set(dut.span, (outputs - 1) * stride)
        ctx.set(dut.kernel, kernel)
        await ctx.tick()
        if slides:
            ctx.set(dut.slides, stays)
        ctx.set(dut.prepare, 1)
        await ctx.tick()
        ctx.set(dut.prepare, 0)
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        for _ in range(40):
            if ctx.get(dut.placed):
                break
            await ctx.tick()
        await ctx.tick()
        gaps, clip = kernel < stride and outputs > 1, max(0, -corner)
        first, last = max(corner, 0), min(corner + (outputs - 1) * stride + kernel, width) - 1
        kept = max(0, behind - first) if stays else 0
        first += kept
        assert ctx.get(dut.gaps) == gaps
        assert (ctx.get(dut.first_used), ctx.get(dut.last_used)) == (first, last)
        assert ctx.get(dut.any) == (first <= last)
        # A line begins inside the image, or at an output's first column.
        aligned = moves or gaps
        at = (-(clip // stride), 0) if aligned else divmod(-clip, stride)
        assert (ctx.get(dut.quotient), ctx.get(dut.phase)) == at
        word = kept + (clip % stride if aligned else 0) - first % 4
        assert (ctx.get(dut.word_quotient), ctx.get(dut.word_phase)) == divmod(word, stride)
        if slides:
            assert ctx.get(dut.slid) == stays
            assert ctx.get(dut.moved) == earlier - at[0]
            seen["kept"] += kept > 0
        seen["gaps"] += gaps
        seen["clipped"] += clip > 0
        seen["none"] += first > last
        return last + 1, at[0]

    dut = TileColumns(parameters)
    simulate(dut, bench)
    assert min(seen.values()) > 15, seen
