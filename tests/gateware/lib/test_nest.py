"""The loop nest against nested Python loops, and the values that follow it against sums over the loop positions."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from types import MappingProxyType
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Value

from hwgen.arch.registers.hwc import loop_counts
from hwgen.gateware.lib.nest import LevelRegister, LoopNest, SteppedValue
from tests.gateware.simulate import simulate

Position = tuple[tuple[int, int], ...]
BITS = dict.fromkeys("mcyx", 6)
NESTS = 300
NOTHING: Mapping[int, int] = MappingProxyType({})
BASE = 5


@dataclass(frozen=True)
class Nest:
    """Loops with their extents and steps."""

    loops: tuple[str, ...]
    extents: dict[str, int]
    steps: tuple[int, ...]

    def iterations(self) -> list[Position]:
        """Ranges of every loop, in program order."""

        def descend(j: int, ranges: dict[str, tuple[int, int]], before: Position) -> Iterator[Position]:
            if j == len(self.loops):
                yield before
                return
            begin, end = ranges[self.loops[j]]
            for at in range(begin, end, self.steps[j]):
                piece = (at, min(at + self.steps[j], end))
                yield from descend(j + 1, {**ranges, self.loops[j]: piece}, (*before, piece))

        return list(descend(0, {dim: (0, extent) for dim, extent in self.extents.items()}, ()))

    def around(self, place: Position, j: int) -> tuple[int, int]:
        """What the next outer loop over the dimension of loop j covers."""
        outer = [i for i in range(j) if self.loops[i] == self.loops[j]]
        return place[outer[-1]] if outer else (0, self.extents[self.loops[j]])

    def firsts(self, place: Position) -> list[bool]:
        return [place[j][0] == self.around(place, j)[0] for j in range(len(self.loops))]

    def lasts(self, place: Position) -> list[bool]:
        return [place[j][1] == self.around(place, j)[1] for j in range(len(self.loops))]

    def turns(self, place: Position, j: int) -> int:
        """How often loop j has turned since it began."""
        return (place[j][0] - self.around(place, j)[0]) // self.steps[j]


def random_nest(rng: random.Random, most_loops: int = 6) -> Nest:
    """Up to all loops over one dimension, many of one iteration, most with an edge."""
    dims = "mcyx"[: rng.randint(1, 4)]
    loops = tuple(rng.choice(dims) for _ in range(rng.randint(1, most_loops)))
    extents = {dim: rng.choice((1, rng.randint(1, 7), rng.randint(1, 20 // len(loops) + 3))) for dim in "mcyx"}
    left, steps = dict(extents), []
    for dim in loops:
        left[dim] = rng.choice((left[dim], rng.randint(1, left[dim]), rng.randint(1, left[dim])))
        steps.append(left[dim])
    return Nest(loops, extents, tuple(steps))


def bits(value: int, count: int) -> list[bool]:
    return [bool(value >> j & 1) for j in range(count)]


def walk(
    given: Nest,
    register: LevelRegister | SteppedValue | None = None,
    weights: Mapping[int, int] = NOTHING,
    wait: random.Random | None = None,
) -> list[int]:
    """Step through the nest in simulation and compare all that it says. Returns the register's values."""
    count = len(given.loops)
    nest = LoopNest(loops=given.loops, bits=[BITS[dim] for dim in given.loops], sized=dict.fromkeys(range(count), 6))
    m = Module()
    m.submodules.nest = nest
    if isinstance(register, SteppedValue):
        m.submodules.register = register
        register.follow(m, nest, nest.start | nest.advance, nest.ended[0])
    elif register is not None:
        m.submodules.register = register
        m.d.comb += [register.turning.eq(nest.turning), register.advance.eq(nest.advance)]
    seen = []

    async def bench(ctx: Any) -> None:
        for j, counts in enumerate(loop_counts(given.loops, given.steps, given.extents)):
            ctx.set(getattr(nest, f"step_{j}"), given.steps[j])
            for i, (repeats, rest) in enumerate(zip(counts.repeats, counts.rests, strict=True)):
                ctx.set(getattr(nest, f"repeats_{j}")[i], repeats)
                ctx.set(getattr(nest, f"rest_{j}")[i], rest)
        if isinstance(register, SteppedValue):
            ctx.set(register.base, BASE)
            for j, weight in weights.items():
                ctx.set(getattr(register, f"step_{j}"), weight)
        assert ctx.get(nest.ended) == (2 << count) - 1
        await ctx.tick()
        ctx.set(nest.start, 1)
        await ctx.tick()
        ctx.set(nest.start, 0)
        if isinstance(register, LevelRegister):
            ctx.set(register.base, BASE)
            ctx.set(register.fresh, 1)
        places = given.iterations()
        for number, place in enumerate(places):
            while wait is not None and wait.random() < 0.3:
                await ctx.tick()
            lasts = given.lasts(place)
            assert bits(ctx.get(nest.first), count) == given.firsts(place)
            assert bits(ctx.get(nest.last), count) == lasts
            assert bits(ctx.get(nest.ended), count + 1) == [all(lasts[j:]) for j in range(count + 1)]
            assert bits(ctx.get(nest.turning), count) == [all(lasts[j + 1 :]) and not lasts[j] for j in range(count)]
            assert ctx.get(nest.finished) == (number == len(places) - 1)
            assert [ctx.get(getattr(nest, f"size_{j}")) for j in range(count)] == [high - low for low, high in place]
            seen.append(ctx.get(register.value) if register is not None else 0)
            ctx.set(nest.advance, 1)
            await ctx.tick()
            ctx.set(nest.advance, 0)
            if isinstance(register, LevelRegister):
                ctx.set(register.fresh, 0)

    simulate(m, bench)
    return seen


def test_walks_every_iteration_in_program_order() -> None:
    rng = random.Random(1)
    splits: dict[int, int] = {}
    for _ in range(NESTS):
        given = random_nest(rng)
        if len(given.iterations()) <= 200:
            walk(given, wait=rng if rng.random() < 0.2 else None)
            most = max(given.loops.count(dim) for dim in given.loops)
            splits[most] = splits.get(most, 0) + 1
    assert all(splits[most] >= 20 for most in (1, 2, 3, 4)), splits


def test_counts_of_the_edge_by_hand() -> None:
    # 17 = 8 + 8 + 1; 8 = 3 + 3 + 2, and 1 alone; 3 = 2 + 1, 2 = 2, 1 = 1.
    counts = loop_counts("xxmx", (8, 3, 1, 2), {"x": 17, "m": 4})
    assert [one.repeats for one in counts] == [(2,), (2, 0), (3,), (1, 0, 0)]
    assert [one.rests for one in counts] == [(1,), (2, 1), (1,), (1, 2, 1)]


def adding(weight: int) -> Callable[[Value], Value]:
    return lambda value: value + weight


@pytest.mark.parametrize("kind", [LevelRegister, SteppedValue])
def test_values_add_up_over_the_loops_and_start_again(kind: type) -> None:
    rng = random.Random(2)
    for _ in range(40):
        given = random_nest(rng)
        count = len(given.loops)
        weights = {j: rng.randint(1, 9) for j in range(count) if rng.random() < 0.7}
        register: LevelRegister | SteppedValue
        if kind is LevelRegister:
            steps = {j: adding(weight) for j, weight in weights.items()}
            register = LevelRegister(loops=count, inner=range(count), step=steps, shape=12)
        else:
            register = SteppedValue(loops=count, inner=range(count), steps=sorted(weights), shape=12, step_bits=4)
        for place, value in zip(given.iterations(), walk(given, register, weights), strict=True):
            assert value == BASE + sum(weight * given.turns(place, j) for j, weight in weights.items())


def test_the_order_in_which_sizes_are_asked_for_makes_no_difference() -> None:
    bits, sizes = (8, 8, 8), [(0, 3), (1, 4), (2, 5)]
    texts = {
        rtlil.convert(LoopNest(loops=("m", "y", "x"), bits=bits, sized=dict(order)), emit_src=False)
        for order in permutations(sizes)
    }
    assert len(texts) == 1
