"""Random small layers through the RTL: every access predicted, every output right, with and without stalls."""

from collections import Counter
from random import Random

import pytest

from cosim.device.result import LayerResult
from cosim.hwc.results import cosimulate
from hwgen.ir.schedule import Schedule
from hwgen.model.nest.one_level import predict
from tests.random.layers import HWCS, hwc, schedules_for

LAYERS = 7  # for each HWC; there are a dozen
ICARUS_LAYERS = 1
ICARUS_HWC = "everything"
"""The one that every run of the tests has under Icarus: operands of 16 bits, and partial sums that leave."""


NIGHTLY_HWCS = (
    "inputs_far_out", "partial_sums", "rows_of_kernel", "kept_in_registers", "outputs_of_a_row",
    "channels_and_columns", "channels", "squares", "rows", "columns", "columns_of_kernel", "sixty_four", "one_sum",
)  # fmt: skip


def layers_of(name: str) -> list[Schedule]:
    return schedules_for(hwc(name), Random(f"layers of {name}"), LAYERS, most_macs=20000)


def complaints(results: list[LayerResult]) -> list[str]:
    return [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY_HWCS else name for name in HWCS]
)
def test_counts_and_outputs_with_and_without_stalls(name: str) -> None:
    schedules = layers_of(name)
    calm = cosimulate(schedules, hwc(name), fast=False, seed=1)
    assert not complaints(calm)
    stalled = cosimulate(schedules, hwc(name), fast=False, seed=1, stalls=True)
    assert not complaints(stalled)
    assert [result.measured for result in stalled] == [result.measured for result in calm]
    # Stalls did happen; what was fetched ahead hides those of a short layer now and then.
    assert sum(late.cycles > early.cycles for late, early in zip(stalled, calm, strict=True)) > LAYERS // 2


def test_the_random_layers_cover_what_they_are_for() -> None:
    seen: Counter[str] = Counter()
    for name in HWCS:
        for schedule in layers_of(name):
            layer, counts = schedule.layer.of_network, predict(schedule).counts
            seen["layers"] += 1
            seen["strided"] += layer.stride != (1, 1)
            seen["stride above kernel"] += layer.stride[0] > layer.kernel[0] or layer.stride[1] > layer.kernel[1]
            seen["grouped"] += layer.groups > 1
            seen["depthwise"] += layer.groups == layer.input_channels > 1
            seen["groups at once"] += schedule.layer.form.groups_at_once > 1
            seen["columns in a window"] += schedule.layer.form.column_window
            seen["strides of a window"] += schedule.layer.form.column_window and layer.stride[1] > 1
            seen["padded unequally"] += len(set(layer.padding)) > 1
            seen["map below kernel"] += layer.input_height < layer.kernel[0] or layer.input_width < layer.kernel[1]
            seen["several vectors a row"] += layer.output_width > 16
            seen["partial sums leave"] += counts["tcdm", "O", "write_partial"].words > 0
            seen["kernel of five or more"] += max(layer.kernel) >= 5
            seen["16-bit operands"] += schedule.bits.I == 16
    assert seen["layers"] >= 80
    assert min(seen.values()) >= 5, seen


def test_cocotb_clock_agrees() -> None:
    """The same layers with the clock of cocotb in place of the run loop: counts, cycles, registers of stalls."""
    schedules = sorted(layers_of(ICARUS_HWC), key=lambda schedule: predict(schedule).iterations)[:ICARUS_LAYERS]
    for stalls in (False, True):
        theirs = cosimulate(schedules, hwc(ICARUS_HWC), bench="gpi", fast=False, seed=2, stalls=stalls)
        assert not complaints(theirs)
        ours = cosimulate(schedules, hwc(ICARUS_HWC), fast=False, seed=2, stalls=stalls)
        for one, other in zip(theirs, ours, strict=True):
            assert (one.measured, one.cycles, one.stalls) == (other.measured, other.cycles, other.stalls)


@pytest.mark.icarus
@pytest.mark.parametrize(
    "name", [name if name == ICARUS_HWC else pytest.param(name, marks=pytest.mark.nightly) for name in HWCS]
)
def test_icarus_agrees(name: str, icarus: None) -> None:
    """A small layer under the other simulator: the same counts, cycles and outputs, stalls included."""
    schedules = sorted(layers_of(name), key=lambda schedule: predict(schedule).iterations)[:ICARUS_LAYERS]
    for stalls in (False, True):
        theirs = cosimulate(schedules, hwc(name), simulator="icarus", seed=2, stalls=stalls)
        assert not complaints(theirs)
        ours = cosimulate(schedules, hwc(name), fast=False, seed=2, stalls=stalls)
        assert [result.measured for result in theirs] == [result.measured for result in ours]
        assert [result.cycles for result in theirs] == [result.cycles for result in ours]
