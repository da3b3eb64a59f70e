"""Every nest of a small layer on a hierarchy, counted by the model: the judge of the search on hierarchies.

All splits of all dimensions by any integer steps, in any order; kernel loops cut at once; each operand held in any of
the levels, its markers anywhere. Shares nothing with `hwgen.search`.
"""

from collections.abc import Iterator, Mapping
from itertools import combinations, combinations_with_replacement
from random import Random

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.lanes import ONE_LANE
from hwgen.ir.layer import LOOP_DIMS, Dim, Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Loop, Schedule
from hwgen.model.nest.hierarchy_counts import traffic_at
from hwgen.model.nest.ranges import Nest

__all__ = ["every_loops", "least_cost", "small_case"]

Floats = NDArray[np.float64]
Known = dict[tuple[object, ...], tuple[dict[str, float], int]]


def small_case(rng: Random, inner: int) -> tuple[Layer, Hierarchy]:
    """A layer with two or three loops of more than one iteration, and a hierarchy of that many tight inner levels."""
    dims = rng.sample(list(LOOP_DIMS), rng.choice((2, 3, 3)))
    size: dict[Dim, int] = dict.fromkeys(LOOP_DIMS, 1)
    for dim in dims:
        size[dim] = rng.randint(2, 3 if dim in "kl" or len(dims) == 3 else 5)
    kernel = (size["k"] if "k" in dims else rng.choice((1, 2)), size["l"] if "l" in dims else 1)
    stride = (rng.choice((1, 1, 2)), rng.choice((1, 1, 2)))
    top, left = rng.randrange(kernel[0]), rng.randrange(kernel[1])
    groups = rng.choice((1, 1, size["m"]))
    height, width = ((size[d] - 1) * s + k - p for d, s, k, p in zip("yx", stride, kernel, (top, left), strict=True))
    if height < 1 or width < 1:
        return small_case(rng, inner)
    layer = Layer(
        name="small", input_channels=size["c"] * groups, output_channels=size["m"], input_height=height,
        input_width=width, kernel=kernel, stride=stride, padding=(top, left, 0, 0), groups=groups, batch=size["n"],
    )  # fmt: skip
    levels: list[dict[str, object]] = [{"name": "dram"}]
    total = rng.randint(8, 60)
    for name in ("sram", "reg")[:inner]:
        if rng.random() < 0.6:
            levels.append({"name": name, "bytes": total})
        else:
            each = {array: rng.randint(1, max(1, total // 3)) for array in rng.sample(ARRAYS, rng.choice((2, 3, 3)))}
            levels.append({"name": name, "bytes": each})
            total = sum(each.values())
        total = rng.randint(1, max(1, total - 1))
        if total < 2:
            break
    bits = rng.choice((Bits(), Bits(I=16, W=16, O=16, acc=16)))
    energy = {"dram": 100.0, "sram": 8.0, "reg": 1.0, "mac": 0.5}
    known = {str(level["name"]) for level in levels} | {"mac"}
    return layer, Hierarchy.from_data(
        {"format": 1, "kind": "hierarchy", "name": "small", "levels": levels, "bits": bits.model_dump(),
         "energy": {name: pj for name, pj in energy.items() if name in known}}
    )  # fmt: skip


def every_loops(layer: Layer) -> Iterator[tuple[Loop, ...]]:
    """Every sequence of loops with more than one iteration each, down to single iterations; an idle loop last."""
    extents = {dim: extent for dim, extent in layer.loop_extents.items() if extent > 1}
    idle = Loop("m", 1)

    def grow(loops: tuple[Loop, ...], left: Mapping[Dim, int]) -> Iterator[tuple[Loop, ...]]:
        if all(step == 1 for step in left.values()):
            yield (*loops, idle)
            return
        for dim, most in left.items():
            for step in range(1, most):
                if step == 1 or dim not in "kl":
                    yield from grow((*loops, Loop(dim, step)), {**left, dim: step})

    yield from grow((), extents)


def least_cost(layer: Layer, hierarchy: Hierarchy, objective: str, *, fills: bool = False) -> float:
    """The least energy, or least bytes of a level, of any nest."""
    best = np.inf
    known: Known = {}
    for loops in every_loops(layer):
        schedule = Schedule(layer=layer, bits=hierarchy.bits or Bits(), lanes=ONE_LANE, nest=loops)
        fronts = [_front(schedule, hierarchy, array, objective, known, fills=fills) for array in ARRAYS]
        best = min(best, _cheapest(fronts, hierarchy))
    return best + (hierarchy.mac_energy * layer.macs if objective == "energy" else 0.0)


def _traffic(schedule: Schedule, array: ArrayName, place: int | None, known: Known) -> tuple[dict[str, float], int]:
    """Bytes by direction and elements held; of the loops outside the marked one only the ranges matter."""
    loops = schedule.loops if place is None else schedule.loops[: place + 1]
    steps = frozenset((dim, tuple(loop.step for loop in loops[:-1] if loop.dim == dim)) for dim in LOOP_DIMS)
    key = (array, steps, loops[-1]) if place is not None else (array,)
    if key not in known:
        accesses, need = traffic_at(Nest(schedule), array, place)
        known[key] = {way: float(access.bytes) for way, access in accesses.items()}, need
    return known[key]


def _front(
    schedule: Schedule, hierarchy: Hierarchy, array: ArrayName, objective: str, known: Known, *, fills: bool
) -> Floats:
    """Rows (cost, bytes needed at each inner level) of all choices of levels and places of one operand, unbeaten."""
    levels, bits = hierarchy.levels, schedule.bits
    price = [hierarchy.energy_per_byte(level, array) if objective == "energy" else 0.0 for level in levels]
    if objective != "energy":
        price[[level.name for level in levels].index(objective)] = 1.0
    inner = range(1, len(levels))
    rows = []
    for number in range(len(levels)):
        for held in combinations(inner, number):
            for places in combinations_with_replacement(range(len(schedule.loops)), number):
                moved = [_traffic(schedule, array, place, known) for place in (*places, None)]
                cost, room = 0.0, [0.0] * len(inner)
                for at, ((ways, _), outer) in enumerate(zip(moved, (0, *held), strict=True)):
                    cost += price[outer] * sum(ways.values())
                    if fills and at < number:
                        cost += price[held[at]] * (ways.get("read", 0.0) + ways.get("read_partial", 0.0))
                for at, level in enumerate(held):
                    partial = moved[at + 1][0].get("write_partial", 0.0) > 0
                    width = bits.acc if array == "O" and partial else getattr(bits, array)
                    room[level - 1] = moved[at][1] * width / 8
                size = [levels[level].size_for(array) or 0 for level in held]
                if all(room[level - 1] <= most for level, most in zip(held, size, strict=True)):
                    rows.append((cost, *room))
    unique = np.unique(np.array(rows), axis=0)
    kept = [row for row in unique if not ((unique <= row).all(axis=1) & (unique < row).any(axis=1)).any()]
    return np.array(kept)


def _cheapest(fronts: list[Floats], hierarchy: Hierarchy) -> float:
    a, b, c = fronts
    together = a[:, None, None] + b[None, :, None] + c[None, None, :]
    fits = np.ones(together.shape[:3], np.bool_)
    for number, level in enumerate(hierarchy.inner):
        if level.shared:
            fits &= together[..., number + 1] <= level.bytes
    return float(np.where(fits, together[..., 0], np.inf).min())
