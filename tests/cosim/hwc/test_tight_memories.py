"""Memories with room for little more than a box: nothing is overwritten that is still in use."""

import pytest

from cosim.hwc.results import cosimulate
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from tests.random.layers import order_from


@pytest.mark.nightly
def test_a_slab_of_few_channels_waits_for_as_much_room_as_one_of_many() -> None:
    """The last tile of channels has two of three; a slab is claimed as a whole, so it has to fit as a whole."""
    layer = Layer(
        name="few_channels", input_channels=5, output_channels=1, input_height=6, input_width=27, kernel=3,
        padding=(0, 1, 0, 1),
    )  # fmt: skip
    order = order_from("c m y x O k I m c y x l")
    steps = (3, 1, 3, 9, 1, 1, 1, 1, 4, 1)
    left = iter(steps)
    nest = tuple(item if isinstance(item, Marker) else Loop(item, next(left)) for item in order)
    lanes = Lanes(m=4, x=4)
    schedule = Schedule(layer=layer, nest=nest, lanes=lanes)
    hardware = Hardware(
        name="tight", lanes=lanes, budget=1 << 12, buffers={"I": 128, "W": 64, "O": 1024}, order=order
    )
    for seed in (3, 5):
        (result,) = cosimulate([schedule], hardware, fast=False, seed=seed)
        assert result.passed, result.failures
