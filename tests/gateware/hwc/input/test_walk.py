"""The tiles of the input of random layers, with the settings that a program has."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from hwgen.gateware.hwc.input.walk import InputWalk
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc import Program, compile_layer
from tests.gateware.simulate import simulate
from tests.random.layers import hwc, schedules_for

Ranges = dict[str, tuple[int, int]]


def tiles(schedule: Schedule, depth: int) -> Iterator[Ranges]:
    """What the iterations of the outer ``depth`` loops cover."""

    def descend(j: int, ranges: Ranges) -> Iterator[Ranges]:
        if j == depth:
            yield ranges
            return
        loop = schedule.loops[j]
        begin, end = ranges[loop.dim]
        for at in range(begin, end, loop.step):
            yield from descend(j + 1, {**ranges, loop.dim: (at, min(at + loop.step, end))})

    return descend(0, {dim: (0, extent) for dim, extent in schedule.layer.extents.items()})


def expected(program: Program) -> list[dict[str, int]]:
    """All that the walk says of each tile."""
    schedule, depth = program.schedule, min(program.parameters.input_marker + 1, len(program.parameters.loops))
    (down, across), (top, left, *_) = schedule.layer.stride, schedule.layer.padding
    return [
        {
            "row": tile["y"][0] * down + tile["k"][0] - top,
            "row_span": (tile["y"][1] - tile["y"][0] - 1) * down,
            "kernel_rows": tile["k"][1] - tile["k"][0],
            "column": tile["x"][0] * across + tile["l"][0] - left,
            "column_span": (tile["x"][1] - tile["x"][0] - 1) * across,
            "kernel_columns": tile["l"][1] - tile["l"][0],
            "channel": tile["c"][0],
            "channels": tile["c"][1] - tile["c"][0],
            "output": tile["m"][0],
        }
        for tile in tiles(schedule, depth)
    ]


@pytest.mark.parametrize("name", ["two_tiles", "partial_sums", "columns", "columns_of_kernel", "kept_in_registers"])
def test_every_tile_of_random_layers(name: str) -> None:
    for schedule in schedules_for(hwc(name), Random(f"walk {name}"), 5, most_macs=2000):
        program = compile_layer(schedule, hwc(name))
        dut, wanted = InputWalk(program.parameters), expected(program)

        async def bench(
            ctx: Any, dut: InputWalk = dut, wanted: list[dict[str, int]] = wanted, program: Program = program
        ) -> None:
            for register, _, value in program.registers:
                ctx.set(getattr(dut.settings, register), value)
            await ctx.tick()
            ctx.set(dut.start, 1)
            await ctx.tick()
            ctx.set(dut.start, 0)
            ctx.set(dut.advance, 1)
            for number, tile in enumerate(wanted):
                assert {key: ctx.get(getattr(dut, key)) for key in tile} == tile
                assert ctx.get(dut.finished) == (number == len(wanted) - 1)
                await ctx.tick()

        simulate(dut, bench)
