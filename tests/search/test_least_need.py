"""The least need of a layer: below what any schedule needs, and said with operand and bytes."""

from random import Random
from typing import Any

import pytest

from hwgen.arch.hwc import memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Marker
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.placement import place
from hwgen.model.nest.lane_accesses import with_output_at_reduction
from hwgen.model.nest.one_level import allocation
from hwgen.search.least_need import require_room
from tests.random.clusters import cluster_schedules
from tests.random.layers import HWCS, hwc, order_from, schedules_for

LAYER = Layer(name="a", input_channels=8, output_channels=300, input_height=9, input_width=11, kernel=3, padding=1)


@pytest.mark.parametrize("name", HWCS)
def test_no_schedule_that_fits_is_refused(name: str) -> None:
    """Each schedule has just the memories that it takes."""
    machine = hwc(name).model_copy(update={"operand_bits": 8})
    units = memory_units(machine.shape)
    for schedule in schedules_for(machine, Random(name), 12, 3000):
        need = allocation(with_output_at_reduction(schedule))
        buffers = {array: max(need[array], 2 * unit) for array, unit in zip(ARRAYS, units, strict=True)}
        require_room([schedule.layer], machine.model_copy(update={"buffers": buffers}))
        budget = machine.model_copy(update={"buffers": None, "budget": sum(buffers.values())})
        require_room([schedule.layer], budget)


@pytest.mark.parametrize("requantisation", ["shift", "scaled"])
def test_no_placement_that_fits_is_refused(requantisation: str) -> None:
    machine = hwc("fig8").model_copy(
        update={"operand_bits": 8, "requantisation": requantisation, "cluster": Cluster(tcdm=1 << 16)}
    )
    for schedule in cluster_schedules(machine, Random(requantisation), 12):
        size = place(normalised(schedule, 4)).size
        require_room(
            [schedule.layer], machine.model_copy(update={"cluster": Cluster().model_copy(update={"tcdm": size})})
        )


@pytest.mark.parametrize("name", [name for name in HWCS if hwc(name).order is not None])
def test_no_schedule_of_a_cluster_that_fits_is_refused(name: str) -> None:
    """Each schedule whose tiles have whole kernels, as all have that are searched, has just the memories it takes."""
    machine = hwc(name).model_copy(update={"operand_bits": 8, "cluster": Cluster()})
    below = len([item for item in machine.order or () if not isinstance(item, Marker)])
    checked = 0
    for schedule in cluster_schedules(machine, Random(name), 24, most_macs=3000):
        if any(loop.dim in "kl" for loop in schedule.loops[:-below]):
            continue
        try:
            smallest = compile_cluster(schedule).parameters
        except InputError:  # no memory as small as what it needs can be built
            continue
        buffers = {"I": smallest.input_bytes, "W": smallest.weight_bytes, "O": smallest.output_bytes}
        require_room([schedule.layer], machine.model_copy(update={"buffers": buffers}))
        require_room([schedule.layer], machine.model_copy(update={"buffers": None, "budget": sum(buffers.values())}))
        checked += 1
    assert checked > 3


ORDER = order_from("O m y x c IW y k l x c")
SMALL = {"I": 512, "W": 256, "O": 64}
REFUSED = [
    (  # a channel of 9 x 11 sums
        Hardware(name="h", lanes=Lanes(c=16), buffers=SMALL, order=ORDER),
        "a: O: no schedule fits: the smallest tile needs 396 bytes with lanes c16, hardware h has 64",
    ),
    (
        Hardware(name="h", lanes=Lanes(x=256), budget=1024),
        (
            "a: no schedule fits a buffer of 1024 bytes: "
            "the smallest tile needs 2568 (I 512, W 8, O 2048) with lanes x256"
        ),
    ),
    (
        Hardware(name="h", lanes=Lanes(x=16), cluster=Cluster(tcdm=1024)),
        "a: the TCDM needs at least 1219 bytes for its smallest tile (biases 1200, I 9, W 9, O 1), it has 1024",
    ),
    (  # all taps of 16 filters and 4 channels
        Hardware(
            name="h",
            lanes=Lanes(m=16, c=4),
            budget=2048,
            buffers=SMALL | {"W": 512},
            cluster=Cluster(),
            order=order_from("m c W y x O I k l m y x"),
        ),
        (
            "a: W: no schedule fits: the smallest tile of a whole kernel needs 576 bytes with lanes m16c4, "
            "hardware h has 512"
        ),
    ),
    (Hardware(name="h", constants={"stride_x": 2}), "a: stride_x: the hardware is fitted to 2, got 1"),
    (Hardware(name="h", constants={"group_outputs": 1}), "a: group_outputs: the hardware is fitted to 1, got 300"),
    (Hardware(name="h", position_bits=8), "a: group_outputs: expected below 256, as the hardware has it, got 300"),
    (
        Hardware(name="h", setting_bits={"input_width": 3}),
        "a: input_width: expected below 8, as the hardware has it, got 11",
    ),
]
BEYOND = [
    ({"kernel": (13, 13), "padding": (6, 6, 6, 6)}, "a: kernel: expected at most 11, got [13, 13]"),
    ({"stride": (5, 5), "output_height": 2, "output_width": 3}, "a: stride: expected at most 4, got [5, 5]"),
]


@pytest.mark.parametrize(("change", "message"), BEYOND)
def test_what_no_hwc_runs_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        require_room([Layer(**(LAYER.model_dump() | change))], Hardware(name="h"))
    assert str(caught.value) == message


@pytest.mark.parametrize(("hardware", "message"), REFUSED)
def test_what_does_not_fit_is_said(hardware: Hardware, message: str) -> None:
    with pytest.raises(InputError) as caught:
        require_room([LAYER], hardware)
    assert str(caught.value) == message
