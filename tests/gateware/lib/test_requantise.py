"""Requantisation against the integer reference, extremes included."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from hwgen.gateware.lib.requantise import Requantise
from hwgen.golden.requantisation import requantise
from hwgen.ir.requantisation import ROUNDINGS, Requantisation


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_equals_the_reference(rounding: str) -> None:
    rng = random.Random(3)
    extremes = (-(1 << 31), (1 << 31) - 1, -1, 0, 1, 127, 128, -128, -129)
    cases = [
        (s, b, shift, relu, ceiling)
        for s in extremes
        for b in extremes
        for shift in (0, 1, 7, 31)
        for relu, ceiling in ((0, 127), (1, 127), (1, 6), (0, 0))
    ]
    cases += [
        (rng.randint(-(1 << 31), (1 << 31) - 1) >> rng.randint(0, 30), rng.randint(-(1 << 20), 1 << 20),
         rng.randint(0, 31), rng.randint(0, 1), rng.choice((127, rng.randint(0, 126))))
        for _ in range(1000)
    ]  # fmt: skip
    unit = Requantise(rounding=rounding)

    async def bench(ctx: Any) -> None:
        ctx.set(unit.enable, 1)
        for total, bias, shift, relu, ceiling in cases:
            ports = (unit.sum, unit.bias, unit.shift, unit.relu, unit.ceiling)
            for port, value in zip(ports, (total, bias, shift, relu, ceiling), strict=True):
                ctx.set(port, value)
            await ctx.delay(1e-9)
            shifted = Requantisation.shifted(shift, relu=bool(relu), ceiling=ceiling)
            requantisation = replace(shifted, rounding=rounding)
            sums = np.array([[[total]]], np.int32)
            expected = requantise(sums, np.array([bias], np.int32), requantisation)
            assert ctx.get(unit.value) == int(expected[0, 0, 0]), (total, bias, shift, relu, ceiling)

    simulator = Simulator(unit)
    simulator.add_testbench(bench)
    simulator.run()
