"""Several cores on one schedule, by hand."""

import pytest

from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.memory.yang_2016 import energy_per_byte
from hwgen.ir.schedule import Schedule
from hwgen.papers.yang.cores import energy_of_cores, last_levels

LAYER = {"name": "dot", "op": "conv", "input_channels": 64, "output_channels": 64, "input_height": 8,
         "input_width": 8, "output_height": 8, "output_width": 8, "kernel": [1, 1], "stride": [1, 1]}  # fmt: skip
BITS = {"I": 16, "W": 16, "O": 16, "acc": 16}
HIERARCHY = Hierarchy.from_data({
    "format": 1, "kind": "hierarchy", "name": "h", "bits": BITS,
    "levels": [
        {"name": "dram"},
        {"name": "last", "bytes": {"I": 8192, "W": 8192}},
        {"name": "own", "bytes": {"W": 128}},
    ],
})  # fmt: skip
NEST = [{"buffer": {"last": ["I", "W"]}}, {"m": 1}, {"buffer": {"own": "W"}}, {"y": 1}, {"x": 1}, {"c": 1}]
SCHEDULE = Schedule.from_data({"format": 1, "kind": "schedule", "layer": LAYER, "bits": BITS, "nest": NEST})
INPUTS, WEIGHTS, OUTPUTS, MACS = 8192, 8192, 8192, 64 * 64 * 64


def test_one_core_is_the_schedule_as_it_is() -> None:
    assert last_levels(SCHEDULE, HIERARCHY) == {"I": 8192, "W": 8192, "O": 0}
    one = energy_of_cores(SCHEDULE, HIERARCHY, 1, "W")
    assert one == energy_of_cores(SCHEDULE, HIERARCHY, 1, "I")
    assert one.private == pytest.approx(2 * MACS * energy_per_byte(128))
    assert one.last["I"] == pytest.approx(2 * MACS * energy_per_byte(8192))
    assert one.last["W"] == pytest.approx(WEIGHTS * energy_per_byte(8192))
    # Sums are held nowhere: each multiply-accumulate writes one, and reads it back but for the first of 64.
    assert one.dram == pytest.approx((INPUTS + WEIGHTS + OUTPUTS * 127) * energy_per_byte(None))


@pytest.mark.parametrize("cores", [2, 4])
def test_what_is_shared_is_read_less_often_across_the_chip_and_the_rest_is_split(cores: int) -> None:
    across = 8192 + 8192 + cores * 128
    weights = energy_of_cores(SCHEDULE, HIERARCHY, cores, "W")
    assert weights.last["W"] == pytest.approx(WEIGHTS / cores * energy_per_byte(across))
    assert weights.last["I"] == pytest.approx(2 * MACS * energy_per_byte(8192 // cores))
    assert weights.shuffle == 0
    inputs = energy_of_cores(SCHEDULE, HIERARCHY, cores, "I")
    assert inputs.last["I"] == pytest.approx(2 * MACS / cores * energy_per_byte(across))
    assert inputs.last["W"] == pytest.approx(WEIGHTS * energy_per_byte(8192 // cores))
    assert inputs.shuffle == pytest.approx(OUTPUTS * energy_per_byte(across))
    one = energy_of_cores(SCHEDULE, HIERARCHY, 1, "W")
    assert {weights.private, inputs.private} == {one.private}
    assert weights.on_chip == pytest.approx(weights.private + sum(weights.last.values()))


def test_a_part_is_not_below_the_memory_inside_it() -> None:
    many = energy_of_cores(SCHEDULE, HIERARCHY, 128, "I")
    assert many.last["W"] == pytest.approx(WEIGHTS * energy_per_byte(128))
