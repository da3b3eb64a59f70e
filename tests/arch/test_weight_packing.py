"""The packer of weights against one that walks the nest iteration by iteration."""

from itertools import product
from random import Random

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.weight_packing import PackedWeights, pack_weights, packed_size
from hwgen.ir.layer import WEIGHT_DIMS
from hwgen.ir.schedule import Bits, Schedule
from tests.random.nests import cases

Ranges = tuple[range, ...]


def iterations(ranges: Ranges, loops: list[tuple[int, int]]) -> list[Ranges]:
    """The parts into which loops, as (dimension, step), cut a box, in program order."""
    if not loops:
        return [ranges]
    (dim, step), *inner = loops
    found = []
    for begin in ranges[dim][::step]:
        part = range(begin, min(begin + step, ranges[dim].stop))
        found += iterations((*ranges[:dim], part, *ranges[dim + 1 :]), inner)
    return found


def walked(schedule: Schedule, weights: NDArray[np.signedinteger]) -> tuple[list[int], dict[Ranges, int]]:
    """The packed bytes, and where each box begins."""
    marked = schedule.marked_loop("W")
    boxed = len(schedule.loops) if marked is None else marked + 1
    cut = [
        [(WEIGHT_DIMS.index(loop.dim), loop.step) for loop in loops if loop.dim in WEIGHT_DIMS]
        for loops in (schedule.loops[:boxed], schedule.loops[boxed:])
    ]
    found: list[int] = []
    places: dict[Ranges, int] = {}
    for box in iterations(tuple(map(range, weights.shape)), cut[0]):
        places[box] = len(found)
        for m, c, k, l in iterations(box, cut[1]):  # noqa: E741
            for element in product(c, k, l):  # the nest leaves one of each; lanes are over m only
                found += [byte for one in m for byte in weights[one, *element].tobytes()]
        found += [0] * (-len(found) % 4)
    return found, places


def test_random_nests_against_the_walk() -> None:
    rng, padded, several = Random(3), 0, 0
    values = np.random.default_rng(3)
    for schedule in cases(3, 150):
        layer = schedule.layer
        shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
        bits = rng.choice((8, 8, 16))
        schedule = schedule.model_copy(update={"bits": Bits(I=bits, W=bits, O=bits)})
        kind = np.dtype(f"int{schedule.bits.W}")
        weights = values.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind)
        expected, places = walked(schedule, weights)
        assert pack_weights(schedule, weights).view(np.uint8).tolist() == expected
        assert packed_size(schedule) == len(expected)
        packing = PackedWeights(schedule, 0)
        for box, place in places.items():
            sizes = tuple(len(part) for part in box)
            size = sizes[0] * sizes[1] * sizes[2] * sizes[3] * weights.itemsize
            assert packing.place(tuple(part[0] for part in box), shape, sizes) == (place, size)
        several += len(places) > 1
        padded += len(expected) > weights.nbytes
    assert several > 20
    assert padded > 20
