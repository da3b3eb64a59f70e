"""The odometer against nested Python loops, and the values that follow it against sums over the loop positions."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Module, Value
from amaranth.sim import Simulator

from hwgen.gateware.lib.nest import LevelRegister, LoopNest

Position = tuple[tuple[int, int], ...]


def iterations(loops: list[str], extents: dict[str, int], steps: list[int]) -> Iterator[Position]:
    """Ranges of every loop, in program order."""

    def descend(j: int, ranges: dict[str, tuple[int, int]], before: Position) -> Iterator[Position]:
        if j == len(loops):
            yield before
            return
        begin, end = ranges[loops[j]]
        for at in range(begin, end, steps[j]):
            piece = (at, min(at + steps[j], end))
            yield from descend(j + 1, {**ranges, loops[j]: piece}, (*before, piece))

    return descend(0, {dim: (0, extent) for dim, extent in extents.items()}, ())


def walk_in_simulation(
    nest: LoopNest, register: LevelRegister | None, extents: dict[str, int], steps: list[int]
) -> list:
    """Every position the hardware walks through, with the value that follows it."""
    m = Module()
    m.submodules.nest = nest
    if register is not None:
        m.submodules.register = register
        m.d.comb += [register.turning.eq(nest.turning), register.advance.eq(nest.advance)]
    seen = []

    async def bench(ctx: Any) -> None:
        for j, dim in enumerate(nest.loops):
            ctx.set(nest.extent[j], extents[dim])
            ctx.set(nest.step[j], steps[j])
        await ctx.tick()
        ctx.set(nest.start, 1)
        await ctx.tick()
        ctx.set(nest.start, 0)
        ctx.set(nest.advance, 1)
        if register is not None:
            ctx.set(register.fresh, 1)
        for _ in range(100_000):
            place = tuple((ctx.get(nest.lo[j]), ctx.get(nest.hi[j])) for j in range(len(nest.loops)))
            assert tuple(ctx.get(size) for size in nest.size) == tuple(high - low for low, high in place)
            seen.append((place, ctx.get(register.value) if register is not None else 0))
            if ctx.get(nest.finished):
                return
            await ctx.tick()
            if register is not None:
                ctx.set(register.fresh, 0)

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def random_nest(rng: random.Random) -> tuple[list[str], dict[str, int], list[int]]:
    loops = [rng.choice("mcyx") for _ in range(rng.randint(1, 6))]
    extents = {dim: rng.randint(1, 7) for dim in "mcyx"}
    left, steps = dict(extents), []
    for dim in loops:
        left[dim] = rng.randint(1, left[dim])
        steps.append(left[dim])
    return loops, extents, steps


def test_walks_every_iteration_in_program_order() -> None:
    rng = random.Random(1)
    for _ in range(25):
        loops, extents, steps = random_nest(rng)
        seen = walk_in_simulation(LoopNest(loops=loops, bits=8), None, extents, steps)
        assert [place for place, _ in seen] == list(iterations(loops, extents, steps))


def adding(weight: int) -> Callable[[Value], Value]:
    return lambda value: value + weight


def test_level_register_adds_up_over_the_loops_and_starts_again() -> None:
    rng = random.Random(2)
    for _ in range(15):
        loops, extents, steps = random_nest(rng)
        weights = {j: rng.randint(1, 9) for j in range(len(loops)) if rng.random() < 0.7}

        register = LevelRegister(
            loops=len(loops),
            inner=range(len(loops)),
            step={j: adding(weight) for j, weight in weights.items()},
            shape=12,
        )
        seen = walk_in_simulation(LoopNest(loops=loops, bits=8), register, extents, steps)
        for place, value in seen:
            assert value == sum(weight * turns(loops, steps, place, j) for j, weight in weights.items())


def turns(loops: list[str], steps: list[int], place: Position, j: int) -> int:
    """How often loop j has turned since it began."""
    outer = [i for i in range(j) if loops[i] == loops[j]]
    begin = place[outer[-1]][0] if outer else 0
    return (place[j][0] - begin) // steps[j]
