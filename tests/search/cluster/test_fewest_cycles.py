"""Schedules of fewest cycles near the fewest bytes."""

from random import Random

import pytest

from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.search.cluster.fewest_cycles import SLACK, search_fewest_cycles
from hwgen.search.cluster.optimal import search_cluster
from tests.random.layers import random_layer
from tests.search.cluster.test_shared import TWO


def untimed(schedule: Schedule) -> float:
    raise AssertionError(f"{schedule.layer.name} is timed")


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_is_timed_the_estimate_decides(seed: int) -> None:
    layer = random_layer(Random(f"untimed {seed}"), "random", 4_000)
    timed, runs = (judge_of(TWO, timed=one) for one in (True, False))
    found = search_fewest_cycles(layer, TWO, timed=untimed, runs=runs, most_timed=0)
    best = search_fewest_cycles(layer, TWO, timed=timed, runs=runs)
    least = search_cluster(layer, TWO, judge=runs)
    assert least.dram_bytes <= found.dram_bytes <= least.dram_bytes * (1 + SLACK)
    assert 0 < timed(found.schedule) <= timed(best.schedule)
