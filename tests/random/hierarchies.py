"""Random nests on random hierarchies: images, per-operand levels left out, several levels at one loop."""

from collections.abc import Iterator
from random import Random

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS, LOOP_DIMS, Layer
from hwgen.ir.level import level_named
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from tests.random.nests import random_bits, random_layer

__all__ = ["hierarchy_cases", "random_hierarchy", "random_nest_on"]

NAMES = ("sram", "tcdm", "local", "reg", "dram")
"""Some mean levels of the hardware elsewhere; here they are names like others."""


def random_hierarchy(rng: Random, levels: int) -> Hierarchy:
    """A hierarchy of ``levels`` levels, the outermost included, that holds whatever a small layer needs."""
    names = rng.sample(NAMES, levels)
    inner = [
        {"name": name, "bytes": size if rng.random() < 0.5 else dict.fromkeys(ARRAYS, size // 3)}
        for name, size in zip(names[1:], (1 << 30, 1 << 28, 1 << 26), strict=False)
    ]
    return Hierarchy.from_data(
        {"format": 1, "kind": "hierarchy", "name": "random", "levels": [{"name": names[0]}, *inner]}
    )


def random_nest_on(rng: Random, layer: Layer, hierarchy: Hierarchy, most_splits: int = 3) -> Schedule:
    """Any nest whose markers are of this hierarchy."""
    lanes = Lanes.from_data({dim: rng.randint(1, 4) for dim in DIMS if rng.random() < 0.25})
    left = dict(layer.loop_extents)
    chains: dict[str, list[int]] = {}
    for dim in LOOP_DIMS:
        chain = []
        for _ in range(rng.choice((0, 1, 1, most_splits - 1))):
            left[dim] = rng.randint(1, left[dim])
            chain.append(left[dim])
        if left[dim] > lanes.along(dim) or rng.random() < 0.2:
            chain.append(rng.randint(1, min(left[dim], lanes.along(dim))))
        chains[dim] = chain
    loops: list[Loop] = []
    while any(chains.values()):
        dim = rng.choice([dim for dim in LOOP_DIMS if chains[dim]])
        loops.append(Loop(dim, chains[dim].pop(0)))
    loops = loops or [Loop("m", layer.extents["m"])]
    nest: list[Loop | Marker] = []
    places = {operand: _places(rng, hierarchy, len(loops)) for operand in ARRAYS}
    for index, loop in enumerate(loops):
        for level in hierarchy.inner:
            arrays = tuple(operand for operand in ARRAYS if places[operand].get(level.name) == index)
            if arrays:
                nest.append(Marker(arrays, level_named(level.name)))
        nest.append(loop)
    return Schedule(layer=layer, bits=random_bits(rng), nest=tuple(nest), lanes=lanes)


def _places(rng: Random, hierarchy: Hierarchy, loops: int) -> dict[str, int]:
    """For the levels that hold an operand the loop above which its marker is, ascending."""
    names = [level.name for level in hierarchy.inner if rng.random() < 0.75]
    return dict(zip(names, sorted(rng.randrange(loops) for _ in names), strict=True))


def hierarchy_cases(seed: int, number: int, *, most_macs: int = 150) -> Iterator[tuple[Schedule, Hierarchy]]:
    """A fixed sequence of random schedules on hierarchies of 1 to 4 levels, each of its own random layer."""
    rng = Random(seed)
    for _ in range(number):
        layer = random_layer(rng, most_macs=most_macs)
        layer = layer.model_copy(update={"batch": rng.choice((1, 1, 2, 3, 5))})
        hierarchy = random_hierarchy(rng, rng.choice((1, 2, 3, 3, 4, 4)))
        yield random_nest_on(rng, layer, hierarchy), hierarchy
