"""Schedules of fewest cycles near the fewest bytes."""

from random import Random

import pytest

from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Form, Layer
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


def test_groups_are_run_at_once_where_that_is_faster() -> None:
    layer = Layer(name="dw", input_channels=8, output_channels=8, input_height=6, input_width=9, kernel=3, groups=8)
    machine = TWO.model_copy(update={"lanes": Lanes(m=4, c=4)})
    timed, runs = (judge_of(machine, timed=one) for one in (True, False))
    found = search_fewest_cycles(layer, machine, timed=timed, runs=runs, ends=True)
    assert found.judged is not None
    assert found.judged == timed(found.schedule)
    judged = {}
    for at_once in (2, 4, 8):
        one = layer.in_form(Form(groups_at_once=at_once))
        judged[one.form] = search_fewest_cycles(one, machine, timed=timed, runs=runs).judged or 0.0
    least = search_cluster(layer, machine, judge=timed)
    assert found.least == (least.dram_bytes, least.judged)
    assert found.judged == max(judged.values()) == judged[found.schedule.layer.form]
    assert found.judged > (least.judged or 1)
