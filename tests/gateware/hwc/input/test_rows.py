"""The rows of random tiles, counted one by one."""

from dataclasses import dataclass
from random import Random
from typing import Any

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.input.rows import TileRows
from tests.gateware.simulate import simulate

PARAMETERS = HwcParameters(
    loops=tuple("ymckl"), input_marker=0, weight_marker=0, output_marker=2, input_bytes=128, weight_bytes=32,
    output_bytes=128, position_bits=8,
)  # fmt: skip


@dataclass(frozen=True)
class Tile:
    """Rows of some output rows, from ``corner`` on."""

    corner: int
    outputs: int
    kernel: int
    keeps: bool

    def rows(self, stride: int) -> list[int]:
        """All of them, padding too."""
        return sorted({self.corner + y * stride + k for y in range(self.outputs) for k in range(self.kernel)})


def random_tile(rng: Random) -> Tile:
    return Tile(rng.randint(-6, 16), rng.randint(1, 5), rng.randint(1, 5), rng.random() < 0.6)


def test_new_rows_kept_rows_and_rows_before_them() -> None:
    rng = Random(1)
    seen = {"gaps": 0, "kept": 0, "none new": 0, "padding": 0}

    async def bench(ctx: Any) -> None:
        for _ in range(60):
            stride, height = rng.randint(1, 4), rng.randint(1, 14)
            ctx.set(dut.stride, stride)
            ctx.set(dut.height, height)
            behind = 0
            for number in range(4):
                tile = random_tile(rng)
                tile = tile if number else Tile(tile.corner, tile.outputs, tile.kernel, keeps=False)
                await check(ctx, tile, stride, height, behind)
                last = tile.corner + (tile.outputs - 1) * stride + tile.kernel
                behind = min(max(last, 0), height)

    async def check(ctx: Any, tile: Tile, stride: int, height: int, behind: int) -> None:
        ctx.set(dut.corner, tile.corner)
        ctx.set(dut.span, (tile.outputs - 1) * stride)
        ctx.set(dut.kernel, tile.kernel)
        ctx.set(dut.keeps, tile.keeps)
        await ctx.tick()
        ctx.set(dut.begin, 1)
        await ctx.tick()
        ctx.set(dut.begin, 0)
        cycles = 0
        while ctx.get(dut.counting):
            cycles += 1
            await ctx.tick()
        gaps = tile.kernel < stride
        assert cycles == (tile.outputs if gaps else 1)
        await ctx.tick()
        ctx.set(dut.ends, 1)
        await ctx.tick()
        ctx.set(dut.ends, 0)
        rows, begin = tile.rows(stride), behind if tile.keeps else 0
        new = [row for row in rows if begin <= row < height]
        kept = [row for row in rows if 0 <= row < begin]
        assert ctx.get(dut.gaps) == gaps
        assert (ctx.get(dut.new), ctx.get(dut.kept)) == (len(new), len(kept)), (tile, stride, height, behind)
        assert ctx.get(dut.skipped) == sum(row < begin for row in rows)
        if new:
            assert ctx.get(dut.first_new) == new[0]
            run = 1
            while new[0] + run in rows:
                run += 1
            assert not gaps or ctx.get(dut.run) == run
        seen["gaps"] += gaps and tile.outputs > 1
        seen["kept"] += bool(kept)
        seen["none new"] += not new
        seen["padding"] += rows[0] < 0

    dut = TileRows(PARAMETERS)
    simulate(dut, bench)
    assert min(seen.values()) > 20, seen
