"""HWCs that scale the sums of each channel: counts, cycles and outputs of random layers with random quantisations."""

from random import Random

import numpy as np
import pytest

from cosim.device.result import LayerResult
from cosim.hwc.layer_data import expected_output, random_data, random_scales
from cosim.hwc.results import cosimulate
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.requantisation import Requantisation
from hwgen.tools.toolchain import Simulator
from tests.random.layers import HWCS, hwc, random_hwc, schedules_for


def scaling(hardware: Hardware, requantisers: int) -> Hardware:
    """The same HWC with a multiplier and a shift for each channel."""
    update = {"operand_bits": 8, "requantisation": "scaled", "requantisers": requantisers}
    return hardware.model_copy(update=update)


def check(results: list[LayerResult], *, stalls: bool = False) -> None:
    """Everything is as predicted; where nothing stalls, cycles too, but for the effects that are not modelled."""
    for one in results:
        assert one.failures == ()
        assert stalls or abs(one.cycles - one.predicted_cycles) <= max(0.01 * one.cycles, 12)


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "requantisers"), [("two_tiles", 1), ("sums_of_channels", 4)])
def test_a_few_layers_under_icarus(name: str, requantisers: int) -> None:
    hardware = scaling(hwc(name), requantisers)
    schedules = schedules_for(hardware, Random(f"scaled {name}"), 2, most_macs=3000)
    check(cosimulate(schedules, hardware, simulator="icarus", seed=1))


@pytest.mark.nightly
@pytest.mark.parametrize("name", HWCS)
def test_every_loop_order(name: str) -> None:
    rng = Random(f"every {name}")
    hardware = scaling(hwc(name), rng.choice((1, 2, 4)))
    schedules = schedules_for(hardware, rng, 12, most_macs=20_000)
    check(cosimulate(schedules, hardware, seed=2, fast=False))
    check(cosimulate(schedules[:4], hardware, seed=3, fast=False, stalls=True), stalls=True)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(12))
def test_random_hwcs(number: int) -> None:
    rng = Random(f"scaled hwc {number}")
    hardware = scaling(random_hwc(rng, f"scaled_{number}"), rng.choice((1, 2, 4)))
    simulator: Simulator = "verilator" if number % 3 else "icarus"
    check(cosimulate(schedules_for(hardware, rng, 8, most_macs=8000), hardware, simulator=simulator, seed=4))


def test_random_quantisations_reach_all_of_the_form() -> None:
    layer = Layer(
        name="data", input_channels=8, output_channels=16, input_height=9, input_width=9, kernel=3, padding=1
    )
    forms: list[tuple[Requantisation, float]] = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        form = random_scales(layer, rng)
        output = expected_output(layer, random_data(layer, rng), form)
        low, high = form.bounds(8)
        forms.append((form, float(((output > low) & (output < high)).mean())))
    assert sum(inside > 0.2 for _, inside in forms) > 20
    scales = {scale for form, _ in forms for scale in form.scales}
    assert {scale.multiplier for scale in scales} >= {1, (1 << 16) - 1}
    assert {scale.shift for scale in scales} >= {0, 1, 47}
    assert {-128, 127} <= {form.zero_in for form, _ in forms}
    assert {-128, 127} <= {form.zero_out for form, _ in forms}
    assert any(form.relu for form, _ in forms)
    assert any(form.low not in (None, -128, form.zero_out) for form, _ in forms)
