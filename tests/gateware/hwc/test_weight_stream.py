"""The weights' stream at its ports: sizes of tiles, and those that the memory cannot hold."""

from typing import Any

import pytest

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.gateware.hwc.weight_stream import WeightStream
from tests.gateware.simulate import simulate


def parameters(operand_bits: int = 8) -> HwcParameters:
    """W is buffered at the outermost loop, over rows: one iteration has a tile of all weights."""
    return HwcParameters(
        loops=tuple("ymckl"),
        input_marker=0,
        weight_marker=0,
        output_marker=2,
        input_bytes=128,
        weight_bytes=32,
        output_bytes=128,
        operand_bits=operand_bits,
    )


def first_tile(extents: dict[str, int], operand_bits: int = 8, cycles: int = 60) -> tuple[int, bool]:
    """Words that are asked for, and whether the tile is said to be too large."""
    dut = WeightStream(parameters(operand_bits))
    asked, overflow = 0, False

    async def bench(ctx: Any) -> None:
        nonlocal asked, overflow
        for name in (register.name for register in hwc_registers(dut.parameters).held):
            if name.startswith(("extent_", "step_")):
                ctx.set(getattr(dut.settings, name), extents.get(name[-1], 1))
        if operand_bits == 16:
            ctx.set(dut.settings.wide, 1)
        ctx.set(dut.o_request.ready, 1)
        await ctx.tick().repeat(3)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.start, 0)
        answers = False
        for _ in range(cycles):
            ctx.set(dut.i_response.valid, answers)
            answers = bool(ctx.get(dut.o_request.valid))
            asked += answers
            overflow |= bool(ctx.get(dut.overflow))
            await ctx.tick()

    simulate(dut, bench)
    return asked, overflow


@pytest.mark.parametrize(
    ("extents", "operand_bits", "words"),
    [
        ({"m": 1}, 8, 1),
        ({"c": 5}, 8, 2),
        ({"m": 2, "c": 2, "k": 2, "l": 4}, 8, 8),
        ({"m": 31}, 8, 8),
        ({"c": 3, "l": 5}, 16, 8),
        ({"m": 16}, 16, 8),
    ],
)
def test_a_tile_that_fits_is_fetched(extents: dict[str, int], operand_bits: int, words: int) -> None:
    assert first_tile(extents, operand_bits) == (words, False)


@pytest.mark.parametrize("operand_bits", [8, 16])
@pytest.mark.parametrize(
    "extents",
    [
        {"m": 33},
        {"c": 64},
        {"m": 256, "c": 256},  # 65,536: none of its lower 16 bits is set
        {"m": 8192, "k": 8},
        {"c": 8192, "k": 8, "l": 3},
        {"m": 16384, "c": 4096, "k": 8, "l": 8},  # 2 ** 32
        {"m": 65535, "c": 65535, "k": 15, "l": 15},
        {"m": 32768, "c": 32768, "k": 8, "l": 8},
        {"m": 65535},
    ],
)
def test_a_tile_that_does_not_fit_is_an_overflow(extents: dict[str, int], operand_bits: int) -> None:
    assert first_tile(extents, operand_bits)[1]
