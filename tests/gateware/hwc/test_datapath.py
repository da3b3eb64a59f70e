"""The datapath with lanes along c: sums of products of 8 and of 16 bits against plain integers."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from hwgen.gateware.hwc.datapath import Datapath
from hwgen.ir.lanes import Lanes
from tests.arch.test_hwc import SOUND
from tests.gateware.simulate import simulate

PARAMETERS = replace(SOUND, input_bytes=4096, weight_bytes=4096, output_bytes=4096, operand_bits=16)
OPERATIONS = 12


class Operands:
    """Random operands of one operation, whole: inputs [c][y][x], weights [m][c], channels that count."""

    def __init__(self, rng: Random, lanes: Lanes, bits: int) -> None:
        ends = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)

        def value() -> int:
            return rng.choice((*ends, rng.randint(*ends)))

        self._lanes, self._bytes = lanes, bits // 8
        self.inputs = [[[value() for _ in range(lanes.x)] for _ in range(lanes.y)] for _ in range(lanes.c)]
        self.weights = [[value() for _ in range(lanes.c)] for _ in range(lanes.m)]
        self.channels = rng.randint(1, lanes.c)
        self.shift = rng.randrange(4) if bits == 16 else 0

    def sums(self) -> list[int]:
        """For each lane along m, y and x the sum, modulo 2 ** 32."""
        lanes = self._lanes
        exact = [
            sum((self.weights[m][c] * self.inputs[c][y][x]) >> self.shift for c in range(self.channels))
            for m in range(lanes.m)
            for y in range(lanes.y)
            for x in range(lanes.x)
        ]
        return [(one + (1 << 31)) % (1 << 32) - (1 << 31) for one in exact]

    def set(self, ctx: Any, datapath: Datapath) -> None:
        """As the memories give them: inputs in a byte plane for each lane along c, weights in a line."""
        lanes, size = self._lanes, self._bytes
        for y in range(lanes.y):
            for c in range(size * lanes.c):
                for x in range(lanes.x):
                    byte = self.inputs[c // size][y][x] >> 8 * (c % size) & 0xFF
                    ctx.set(datapath.input_data[(y * size * lanes.c + c) * lanes.x + x], byte)
        for m in range(lanes.m):
            for c in range(lanes.c):
                for byte in range(size):
                    place = (c * lanes.m + m) * size + byte
                    ctx.set(datapath.weight_data[place], self.weights[m][c] >> 8 * byte & 0xFF)


@pytest.mark.parametrize(
    "lanes", [Lanes(m=4, c=4), Lanes(c=2, x=2), Lanes(m=2, c=4, y=2, x=4), Lanes(m=4, c=8)], ids=str
)
@pytest.mark.parametrize("bits", [8, 16])
def test_products_of_channels_are_added(lanes: Lanes, bits: int) -> None:
    parameters = replace(PARAMETERS, lanes=lanes)
    datapath, rng = Datapath(parameters), Random(f"{lanes} {bits}")

    async def bench(ctx: Any) -> None:
        settings, operation = datapath.settings, datapath.i_operation
        for name, value in {"input_height": 16, "input_width": 16, "stride_y": 1, "stride_x": 1}.items():
            ctx.set(getattr(settings, name), value)
        ctx.set(settings.wide, bits == 16)
        for _ in range(OPERATIONS):
            operands = Operands(rng, lanes.halved() if bits == 16 else lanes, bits)
            operands.set(ctx, datapath)
            ctx.set(settings.product_shift, operands.shift)
            for name, value in {"compute": 1, "fresh": 1, "rows": lanes.y, "columns": lanes.x}.items():
                ctx.set(getattr(operation, name), value)
            ctx.set(operation.channels, operands.channels)
            await ctx.tick()
            ctx.set(operation.compute, 0)
            ctx.set(operation.unload, 1)
            await ctx.tick()
            ctx.set(operation.unload, 0)
            while not ctx.get(datapath.unloaded):
                await ctx.tick()
            assert [ctx.get(one) for one in datapath.unload_data] == operands.sums()
            await ctx.tick()

    simulate(datapath, bench)
