"""HWCs of random loop orders, marker places, lanes and operand widths, every second one fitted to its layers: what
each runs is counted and right."""

from random import Random

import pytest

from cosim.hwc.results import cosimulate
from hwgen.ir.hardware import Hardware
from hwgen.ir.schedule import Schedule
from hwgen.lower.hwc.fitting import fitted
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


def check(seed: str, *, fits: bool) -> None:
    hardware, schedules = drawn(seed)
    if fits:
        hardware = fitted(hardware, schedules)
        assert hardware.constants
        assert hardware.setting_bits
    for stalls in (False, True):
        results = cosimulate(schedules, hardware, fast=False, seed=1, stalls=stalls)
        wrong = [f"{result.schedule.as_data()}: {result.failures}" for result in results if not result.passed]
        assert not wrong, (hardware.as_data(), wrong)


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2, 3))])
def test_a_few_random_hwcs(number: int) -> None:
    check(f"few {number}", fits=number % 2 == 0)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(60))
def test_many_random_hwcs(number: int) -> None:
    check(f"many {number}", fits=number % 2 == 0)
