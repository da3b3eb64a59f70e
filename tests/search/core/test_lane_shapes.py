"""The shapes of the lanes that searches try."""

from math import prod

import pytest

from hwgen.arch.hwc import memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.layer import Layer
from hwgen.search.core.lane_shapes import MOST, WITH_CHANNELS, lane_shapes
from hwgen.search.core.optimal import search


def share_at_work(layer: Layer, lanes: Lanes) -> float:
    """The share of the lanes that the innermost iterations of an uncut layer use, in the mean: at most 1."""
    return prod(extent / (lanes.vectors(dim, extent) * lanes.along(dim)) for dim, extent in layer.extents.items())


def layer_of(inputs: int, outputs: int, size: int, groups: int = 1) -> Layer:
    return Layer(
        name="layer", input_channels=inputs, output_channels=outputs, groups=groups, input_height=size,
        input_width=size, kernel=1,
    )  # fmt: skip


WIDE = layer_of(64, 64, 14)


def test_of_sixteen_multipliers_every_shape_over_m_y_x_and_few_along_c_are_tried() -> None:
    shapes = lane_shapes([WIDE], 16, 1024)
    assert shapes[:-WITH_CHANNELS] == Lanes.shapes(16)
    assert all(lanes.c > 1 for lanes in shapes[-WITH_CHANNELS:])
    assert lane_shapes([WIDE]) == shapes


@pytest.mark.parametrize(("multipliers", "budget"), [(64, 4096), (256, 16384), (256, 65536)])
def test_of_many_multipliers_those_are_tried_that_keep_most_lanes_at_work(multipliers: int, budget: int) -> None:
    layers = [WIDE, layer_of(3, 64, 14), layer_of(96, 48, 7)]
    shapes = lane_shapes(layers, multipliers, budget)
    assert 1 <= len(shapes) <= MOST
    shares = [sum(share_at_work(layer, lanes) for layer in layers) for lanes in shapes]
    assert shares == sorted(shares, reverse=True)
    for lanes in shapes:
        assert lanes.product == multipliers
        assert 4 * sum(memory_units(lanes)) <= budget
    best = max(sum(share_at_work(layer, lanes) for layer in layers) for lanes in Lanes.shapes(multipliers, LANE_DIMS))
    assert shares[0] == best


def test_a_depthwise_layer_has_lanes_along_c_idle() -> None:
    depthwise = layer_of(64, 64, 16, groups=64)
    assert share_at_work(depthwise, Lanes(m=4, c=4, x=4)) == 0.25
    assert all(lanes.c == 1 for lanes in lane_shapes([depthwise], 64, 4096)[:3])


def test_where_no_memories_fit_the_least_ones_are_tried() -> None:
    (lanes,) = lane_shapes([WIDE], 256, 100)
    assert sum(memory_units(lanes)) == min(sum(memory_units(one)) for one in Lanes.shapes(256, LANE_DIMS))


def test_free_lanes_are_as_many_as_the_hardware_has_multipliers() -> None:
    layer = layer_of(12, 24, 5)
    free = Hardware(name="free", multipliers=64, budget=2048)
    (found,) = search(layer, [2048], free, "cycles")
    alone = {}
    for lanes in lane_shapes([layer], 64, 2048):
        try:
            alone[lanes] = search(layer, [2048], free.model_copy(update={"lanes": lanes}), "cycles")[0].cycles
        except InputError:
            continue
    assert found.schedule.lanes.product == 64
    assert found.cycles == min(alone.values()) == alone[found.schedule.lanes]
