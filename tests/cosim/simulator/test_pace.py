"""The build is the one with which all is done soonest, and several runs go on side by side where that pays."""

from itertools import product
from random import Random

import pytest

import cosim.simulator.pace
from cosim.cluster.results import cosimulate_clusters
from cosim.simulator.pace import Forecast, Pace, cluster_paces, hwc_paces, soonest, total
from cosim.simulator.registry import SIMULATORS
from tests.cosim.cluster.test_clusters import cases, hardware

PACES = {"plain": Pace(1, 1e-5), "optimised": Pace(10, 1e-6)}


def test_every_pace_is_of_a_simulator() -> None:
    assert set(hwc_paces(16)) == set(SIMULATORS)
    assert set(cluster_paces(4)) <= set(SIMULATORS)


@pytest.mark.parametrize(
    ("cycles", "chosen"), [(1e4, "verilator"), (5e6, "verilator_fast"), (4e7, "verilator_profiled")]
)
def test_longer_runs_of_an_hwc_have_a_build_that_takes_longer(cycles: float, chosen: str) -> None:
    paces = {name: pace for name, pace in hwc_paces(16).items() if name != "icarus"}
    assert soonest(paces, [cycles]).simulator == chosen


def test_the_choice_is_between_seconds() -> None:
    """The two take the same time at a million cycles; a build that is there takes none."""
    assert soonest(PACES, [0.99e6]) == Forecast("plain", 1, 9.9, 0.99e6, 1)
    assert soonest(PACES, [1.01e6]).simulator == "optimised"
    assert soonest(PACES, [1e3], built=lambda name: name == "optimised") == Forecast("optimised", 0, 1e-3, 1e3, 1)


def test_side_by_side_the_longest_run_decides() -> None:
    """No split of the runs is sooner than half of all, nor than the longest; the longest first comes near that."""
    rng = Random(3)
    for _ in range(50):
        cycles = [rng.uniform(1e6, 9e6) for _ in range(rng.randint(2, 6))]
        found = soonest(PACES, cycles, processes=2)
        assert found.processes == 2
        splits = (sum(one for one, first in zip(cycles, way, strict=True) if first)
                  for way in product((True, False), repeat=len(cycles)))  # fmt: skip
        best = min(max(part, sum(cycles) - part) for part in splits)
        assert best <= found.run * 1e6 * (1 + 1e-9) <= best * 7 / 6 * (1 + 1e-9)


def test_short_runs_are_not_shared_out() -> None:
    assert soonest(PACES, [1e5, 1e5], processes=2).processes == 1
    assert soonest(PACES, [1e7], processes=2).processes == 1


def test_what_is_said() -> None:
    one = Forecast("plain", 20, 40, 5.25e7, 2)
    assert str(one) == "52.5 million cycles: about 60 s, 20 s of it to build a simulator"
    assert str(total([one, one])) == "105.0 million cycles: about 2 min, 40 s of it to build a simulator"
    assert str(Forecast("plain", 0, 1, 7851.4, 1)) == "7,851 cycles: about 1 s"
    assert str(Forecast("plain", 0, 7200, 1e9, 1)) == "1,000.0 million cycles: about 2.0 h"


def test_clusters_side_by_side_do_what_they_do_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosim.simulator.pace, "SHORT_SECONDS", 0.0)
    told: list[Forecast] = []
    some = cases("fig8")[:3]
    alone = cosimulate_clusters(some, hardware("fig8"), fast=False)
    both = cosimulate_clusters(some, hardware("fig8"), fast=False, jobs=2, tell=told.append)
    assert [one.processes for one in told] == [2]
    for one, other in zip(alone, both, strict=True):
        assert other.passed
        assert (other.layer, other.cycles, other.measured) == (one.layer, one.cycles, one.measured)
