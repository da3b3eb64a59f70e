"""Scaling of sums against the integer reference, extremes included."""

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from hwgen.gateware.lib.rounding import beyond
from hwgen.gateware.lib.scaling import LOW_BITS, PRODUCT_BITS, Scaling
from hwgen.golden.requantisation import requantise
from hwgen.ir.requantisation import Requantisation, Scale
from hwgen.ir.rounding import ROUNDINGS

Case = tuple[int, int, Requantisation]


def cases() -> list[Case]:
    """Sums and biases with requantisations: extremes of all, then numbers whose outputs are mostly not clipped."""
    rng = random.Random(5)
    sums = (-(1 << 31), (1 << 31) - 1, -1, 0, 1, 255, -256)
    scales = (Scale(1, 0), Scale((1 << 16) - 1, 47), Scale((1 << 16) - 1, 1), Scale(1 << 15, 16), Scale(0, 5))
    clips = ((0, -128, 127), (127, -128, 127), (-128, -128, 127), (-128, -128, -128), (5, 5, 100))
    found = [
        (total, bias, Requantisation((scale,), zero_out=zero, low=low, high=high))
        for total, bias, scale, (zero, low, high) in itertools.product(sums, sums[:4], scales, clips)
    ]
    for _ in range(1500):
        total = rng.randint(-(1 << 31), (1 << 31) - 1) >> rng.randint(0, 30)
        scale = Scale(rng.randint(1, (1 << 16) - 1), min(max(total.bit_length() + rng.randint(5, 11), 1), 47))
        low, high = sorted(rng.randint(-128, 127) for _ in range(2)) if rng.random() < 0.3 else (-128, 127)
        form = Requantisation((scale,), zero_out=rng.randint(-128, 127), low=low, high=high)
        found.append((total, rng.randint(-(1 << 31), (1 << 31) - 1) >> rng.randint(8, 31), form))
    return found


def expected(case: Case) -> int:
    total, bias, form = case
    return int(requantise(np.array([[[total]]], np.int32), np.array([bias], np.int32), form).item())


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_equals_the_reference_four_cycles_later(rounding: str) -> None:
    m, unit = Module(), Scaling(rounding=rounding)
    m.submodules.unit = unit
    mask = Signal(PRODUCT_BITS + 1)
    m.d.comb += [mask.eq(beyond(unit.shift, LOW_BITS, PRODUCT_BITS)), unit.beyond.eq(mask)]
    given = [(total, bias, replace(form, rounding=rounding)) for total, bias, form in cases()]
    rng = random.Random(6)

    async def bench(ctx: Any) -> None:
        at = 0
        while at < len(given) + 4:
            advances = rng.random() < 0.8
            ctx.set(unit.advance, advances)
            if at < len(given):
                total, bias, form = given[at]
                ctx.set(unit.total, total + bias)
                ctx.set(unit.multiplier, form.scales[0].multiplier)
            if 2 <= at < len(given) + 2:
                total, bias, form = given[at - 2]
                assert ctx.get(unit.product) == (total + bias) * form.scales[0].multiplier
                ctx.set(unit.shift, form.scales[0].shift)
            if 3 <= at < len(given) + 3:
                form = given[at - 3][2]
                for port, value in ((unit.zero_out, form.zero_out), (unit.low, form.low), (unit.high, form.high)):
                    ctx.set(port, value & 0xFF)
            if at >= 4:
                assert ctx.get(unit.value) == expected(given[at - 4]), given[at - 4]
            await ctx.tick()
            at += advances

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def test_a_good_part_of_the_cases_is_not_clipped() -> None:
    inside = [case for case in cases()[-1500:] if case[2].low < expected(case) < case[2].high]
    assert len(inside) > 400
