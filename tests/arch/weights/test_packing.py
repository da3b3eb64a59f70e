"""The packer of weights against one that walks the nest iteration by iteration."""

from itertools import product
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from hwgen.arch.weights import OrderedWeights, PackedWeights, pack_weights, packed_size, unpack_weights
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.layer import DIMS, WEIGHT_DIMS, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Schedule
from hwgen.model.cluster.levels import normalised
from tests.random.cluster_nests import cluster_cases
from tests.random.layers import HWCS, hwc, schedules_for
from tests.random.nests import cases, random_layer, random_schedule

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
            for element in product(c, k, l):  # the nest leaves one of k and l; lanes are over m and c only
                found += [byte for one in m for byte in weights[one, *element].tobytes()]
                if schedule.lanes.c > 1:
                    found += [0] * ((schedule.lanes.m - len(m)) * weights.itemsize)
            if schedule.lanes.c > 1:
                found += [0] * (-len(found) % 4)
        found += [0] * (-len(found) % 4)
    return found, places


def test_random_nests_against_the_walk() -> None:
    rng, padded, several, in_lines = Random(3), 0, 0, 0
    values = np.random.default_rng(3)
    for schedule in [*cases(3, 150), *cases(4, 100, LANE_DIMS)]:
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
        in_lines += schedule.lanes.c > 1
    assert several > 20
    assert padded > 20
    assert in_lines > 20


def test_lanes_along_any_dimension_read_side_by_side() -> None:
    layer = Layer(name="lanes", input_channels=4, output_channels=4, input_height=1, input_width=3, kernel=(1, 2))
    nest = (Loop("m", 2), Loop("c", 2), Loop("x", 1))
    schedule = Schedule(layer=layer, nest=nest, lanes=Lanes(m=2, c=2, x=1, l=2))
    weights = np.arange(32, dtype=np.int8).reshape(4, 4, 1, 2)
    packed = pack_weights(schedule, weights)
    assert packed[:8].tolist() == [0, 8, 1, 9, 2, 10, 3, 11]  # m inside l inside c
    assert sorted(packed.tolist()) == list(range(32))


def test_every_weight_is_packed_once_for_lanes_along_any_dimension() -> None:
    rng = Random(7)
    for _ in range(200):
        schedule = random_schedule(rng, random_layer(rng), lane_dims=DIMS, bits=Bits())
        shape = tuple(schedule.layer.extents[dim] for dim in WEIGHT_DIMS)
        ones = np.ones(shape, np.int8)
        packed = pack_weights(schedule, ones)
        assert (packed.size, int(packed.sum())) == (packed_size(schedule), ones.size)


def test_tiles_of_two_levels_are_contiguous_in_the_order_of_the_nest() -> None:
    values, several, in_lines = np.random.default_rng(5), 0, 0
    for chosen, hwcs in [*cluster_cases(5, 60), *cluster_cases(6, 90, lane_dims=LANE_DIMS)]:
        schedule, layer = normalised(chosen, hwcs), chosen.layer
        schedule = schedule.model_copy(update={"bits": Bits(W=values.choice((8, 16)))})
        shape = (layer.output_channels, layer.channels_per_group, *layer.kernel)
        weights = values.integers(-128, 128, shape, f"int{schedule.bits.W}")
        packed, places = walked(schedule, weights)
        assert pack_weights(schedule, weights).view(np.uint8).tolist() == packed
        depth = (schedule.marked_loop("W", TCDM) or 0) + 1
        cut = [(WEIGHT_DIMS.index(one.dim), one.step) for one in schedule.loops[:depth] if one.dim in WEIGHT_DIMS]
        tiles = iterations(tuple(map(range, weights.shape)), cut)
        first = {tuple(part.start for part in box): place for box, place in places.items()}
        starts = [first[tuple(part.start for part in tile)] for tile in tiles]
        ordered = OrderedWeights(schedule, depth)
        for tile, start, end in zip(tiles, starts, [*starts[1:], len(packed)], strict=True):
            assert ordered.place(tuple(part.start for part in tile), tuple(map(len, tile))) == (start, end - start)
        several += len(tiles) > 3
        in_lines += schedule.lanes.c > 1 and len(tiles) > 1
    assert several > 20
    assert in_lines > 10


@pytest.mark.parametrize("name", HWCS)
def test_what_is_packed_can_be_unpacked(name: str) -> None:
    """Weights of random layers on each HWC, columns in place of channels among them."""
    rng, machine = np.random.default_rng(5), hwc(name)
    for schedule in schedules_for(machine, Random(name), 8, 3000):
        layer, limits = schedule.layer, np.iinfo(f"int{schedule.bits.W}")
        shape = (layer.output_channels, layer.channels_per_group, *layer.weight_kernel)
        weights = rng.integers(limits.min, limits.max, shape, dtype=limits.dtype, endpoint=True)
        unpacked = unpack_weights(schedule, pack_weights(schedule, weights))
        np.testing.assert_array_equal(unpacked, weights)
