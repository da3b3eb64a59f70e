"""Random nests of two memory levels: markers of the TCDM anywhere outside of the local ones, spread loops between."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from hwgen.ir.lanes import OUTPUT_LANE_DIMS
from hwgen.ir.layer import IMAGE, Dim
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from tests.random.nests import random_bits, random_layer, random_schedule

__all__ = ["cluster_cases", "random_cluster_nest", "with_images"]


def random_cluster_nest(rng: Random, schedule: Schedule) -> Schedule:
    """The loops of a nest, with new markers for both levels and, perhaps, loops that are spread over HWCs."""
    loops = list(schedule.loops)
    over = sorted(_spread(rng, loops))
    for index in over:
        loops[index] = replace(loops[index], over="hwc")
    inside = over[0] if len(over) == 1 else over[0] - 1 if over else len(loops) - 1
    outer = {array: rng.randint(0, inside) for array in ARRAYS}
    if rng.random() < 0.3:
        outer = dict.fromkeys(ARRAYS, outer["I"])
    local = {}
    for array in ARRAYS:
        first = over[-1] + 1 if over else outer[array]
        if first < len(loops) and rng.random() < 0.85:
            local[array] = rng.randrange(first, len(loops))
    halves = {array for array in ARRAYS if rng.random() < 0.12}
    nest: list[Loop | Marker] = []
    for index, loop in enumerate(loops):
        for array in ARRAYS:
            if outer[array] == index:
                nest.append(Marker((array,), TCDM, "halves" if array in halves else None))
        nest += [Marker((array,)) for array in ARRAYS if local.get(array) == index]
        nest.append(loop)
    return schedule.model_copy(update={"nest": tuple(nest)})


def with_images(rng: Random, schedule: Schedule) -> Schedule:
    """The nest of a cluster for a batch: one or two loops over images, anywhere outside of what an HWC runs."""
    batch = rng.randint(2, 5)
    steps = [rng.randint(1, batch), 1] if rng.random() < 0.4 else [1]
    nest, last = (
        list(schedule.nest),
        max([index for index, loop in enumerate(schedule.loops) if loop.over], default=-1),
    )
    most, loops = len(nest) - 1, -1
    for index, item in enumerate(nest):
        loops += isinstance(item, Loop)
        if (isinstance(item, Marker) and not item.level.shared) or (isinstance(item, Loop) and loops == last):
            most = min(most, index)
    places = sorted(rng.randint(0, most) for _ in steps)
    for place, step in sorted(zip(places, steps, strict=True), reverse=True, key=lambda one: (one[0], -one[1])):
        nest.insert(place, Loop(IMAGE, step))
    return schedule.model_copy(update={"layer": schedule.layer.of_images(batch), "nest": tuple(nest)})


def _spread(rng: Random, loops: list[Loop]) -> set[int]:
    """One loop over m or y, or one over each of them; the first loop of all is none of two."""
    chosen = set()
    for dim in ("m", "y"):
        places = [index for index, loop in enumerate(loops) if loop.dim == dim]
        if places and rng.random() < 0.5:
            chosen.add(rng.choice(places))
    return chosen if len(chosen) < 2 or 0 not in chosen else {max(chosen)}


def cluster_cases(
    seed: int,
    number: int,
    *,
    most_macs: int = 1500,
    lane_dims: tuple[Dim, ...] = OUTPUT_LANE_DIMS,
    images: bool = False,
) -> Iterator[tuple[Schedule, int]]:
    """A fixed sequence of random nests, each with a number of HWCs; ``images``: all of batches."""
    rng = Random(seed)
    for _ in range(number):
        layer = random_layer(rng, most_macs=most_macs)
        schedule = random_schedule(rng, layer, lane_dims=lane_dims, bits=random_bits(rng))
        nest, hwcs = random_cluster_nest(rng, schedule), rng.choice((1, 2, 3, 4))
        yield (with_images(rng, nest) if images else nest), hwcs
