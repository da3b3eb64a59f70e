"""Scaling of sums against the integer reference, extremes included."""

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Module, Signal

from hwgen.gateware.lib.rounding import beyond
from hwgen.gateware.lib.scaling import LOW_BITS, PRODUCT_BITS, Scaling, below_half
from hwgen.golden.requantisation import requantise
from hwgen.ir.requantisation import ROUNDINGS, Requantisation, Scale
from tests.gateware.simulate import simulate

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
        shift = min(max(total.bit_length() + rng.randint(5, 11), 1), 47)
        scale = Scale(rng.randint(1, (1 << 16) - 1), shift, twice=shift > 16 and rng.random() < 0.6)
        low, high = sorted(rng.randint(-128, 127) for _ in range(2)) if rng.random() < 0.3 else (-128, 127)
        form = Requantisation((scale,), zero_out=rng.randint(-128, 127), low=low, high=high)
        found.append((total, rng.randint(-(1 << 31), (1 << 31) - 1) >> rng.randint(8, 31), form))
    return found + halves(rng)


def halves(rng: random.Random) -> list[Case]:
    """Products next to a half of a step, above it and below, that round twice and once."""
    found = []
    for shift in (17, 18, 19, 24, 31):
        for _ in range(40):
            multiplier, half = rng.randint(1 << 15, (1 << 16) - 1), rng.randint(-100, 100) + 0.5
            total = round(half * (1 << shift) / multiplier) + rng.randint(-1, 1)
            for twice in (False, True):
                found.append((total, 0, Requantisation((Scale(multiplier, shift, twice),), low=-128, high=127)))
    for total, twice in itertools.product((-3, -1, 1, 3, 5, -5), (False, True)):  # halves themselves
        found.append((total, 0, Requantisation((Scale(1 << 15, 16 + twice, twice),), low=-128, high=127)))
        found.append((total, 0, Requantisation((Scale(1 << 15, 18, twice),), low=-128, high=127)))
    return found


def expected(case: Case) -> int:
    total, bias, form = case
    return int(requantise(np.array([[[total]]], np.int32), np.array([bias], np.int32), form).item())


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_equals_the_reference_four_cycles_later(rounding: str) -> None:
    m, unit = Module(), Scaling(rounding=rounding)
    m.submodules.unit = unit
    mask = Signal(PRODUCT_BITS + 1)
    twice = Signal()
    m.d.comb += [
        mask.eq(beyond(unit.shift, LOW_BITS, PRODUCT_BITS)),
        unit.beyond.eq(mask),
        unit.below.eq(below_half(unit.shift, twice)),
    ]
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
            if 1 <= at < len(given) + 1:
                ctx.set(unit.twice, given[at - 1][2].scales[0].twice)
            if 2 <= at < len(given) + 2:
                total, bias, form = given[at - 2]
                scale = form.scales[0]
                assert ctx.get(unit.product) == (total + bias) * scale.multiplier + scale.further
                ctx.set(unit.shift, scale.shift)
                ctx.set(twice, scale.twice)
            if 3 <= at < len(given) + 3:
                form = given[at - 3][2]
                for port, value in ((unit.zero_out, form.zero_out), (unit.low, form.low), (unit.high, form.high)):
                    ctx.set(port, value & 0xFF)
            if at >= 4:
                assert ctx.get(unit.value) == expected(given[at - 4]), given[at - 4]
            await ctx.tick()
            at += advances

    simulate(m, bench)


def test_rounding_twice_differs_where_halves_are() -> None:
    pairs = [(case, (case[0], case[1], replace(case[2], scales=(replace(case[2].scales[0], twice=False),))))
             for case in halves(random.Random(7)) if case[2].scales[0].twice]  # fmt: skip
    assert sum(expected(one) != expected(other) for one, other in pairs) > 20


def test_a_good_part_of_the_cases_is_not_clipped() -> None:
    inside = [case for case in cases()[:1640] if case[2].low < expected(case) < case[2].high]
    assert len(inside) > 400
