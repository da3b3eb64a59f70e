"""HWCs of random loop orders, marker places, lanes, ports and operand widths, every second one fitted to its layers:
what each runs is counted and right.

A run with stalls has a memory of random latency, 1 to 5 cycles, which answers all writes, none, or those that fail.
"""

import shutil
from random import Random

import pytest

from cosim.device.result import LayerResult
from cosim.hwc.results import cosimulate
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc.fitting import fitted
from hwgen.tools.toolchain import Simulator
from tests.random.layers import random_hwc, schedules_for

LAYERS = 5


def drawn(seed: str) -> tuple[Hardware, list[Schedule]]:
    """A random HWC that has something to run, and random layers on it."""
    rng = Random(seed)
    while True:
        hardware = random_hwc(rng, "random")
        try:
            return hardware, schedules_for(hardware, rng, LAYERS, most_macs=8000)
        except AssertionError:  # for example lanes along m, and an order that holds I for all of them
            continue


def check(seed: str, *, fits: bool, simulator: Simulator = "verilator") -> None:
    hardware, schedules = drawn(seed)
    if fits:
        hardware = fitted(hardware, schedules)
        assert hardware.constants
        assert hardware.setting_bits
    for stalls in (False, True):
        results = cosimulate(schedules, hardware, fast=False, seed=1, stalls=stalls, simulator=simulator)
        wrong = [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]
        late = [result.as_json()["cycles"] for result in results if not stalls and _off(result)]
        assert not wrong, (hardware.as_data(), wrong)
        assert not late, (hardware.as_data(), late)


def _off(result: LayerResult) -> bool:
    """Whether the prediction of the cycles is."""
    return abs(result.cycles - result.predicted_cycles) > max(0.01 * result.cycles, 12)


@pytest.mark.parametrize("number", [14, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(4))])
def test_a_few_random_hwcs(number: int) -> None:
    check(f"few {number}", fits=number % 2 == 0)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(60))
def test_many_random_hwcs(number: int) -> None:
    check(f"many {number}", fits=number % 2 == 0)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(8))
def test_random_hwcs_in_the_other_simulator(number: int) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")
    check(f"other {number}", fits=number % 2 == 0, simulator="icarus")
