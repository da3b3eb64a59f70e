"""``hwgen regress --model`` and the goals of busy HWCs."""

import csv
from pathlib import Path

import pytest
import yaml

from hwgen.model.hwc.cycles import predicted_cycles
from hwgen.model.nest.one_level import predict
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.command_goals import missed
from hwgen.studies.regress.goals import BUSY, GOALS, NEAREST, TRAFFIC_FIRST, Goal, goal_of, verdict
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, make_plan
from tests.cli.command_line import Run

LAYERS = [
    {"name": "point", "op": "conv", "input_channels": 6, "output_channels": 5, "input_height": 6, "input_width": 7,
     "output_height": 6, "output_width": 7, "kernel": [1, 1]},
    {"name": "deep", "op": "conv", "input_channels": 8, "output_channels": 4, "input_height": 5, "input_width": 6,
     "output_height": 5, "output_width": 6, "kernel": [1, 1]},
]  # fmt: skip


@pytest.mark.usefixtures("kernels_of_plans")
def test_the_model_alone_has_what_the_simulation_is_compared_with(run: Run, tmp_path: Path) -> None:
    path, output = tmp_path / "two.yaml", tmp_path / "out"
    document = {"format": 1, "kind": "layer_list", "network": "two", "layers": LAYERS}
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    answer = run("regress", path, "--model", "--per-layer", "--buffer", "256,1KiB", "-j", 1, "-o", output, "--json")
    assert (answer.status, answer.json["failures"]) == (0, [])
    assert answer.err.count("Mcycles predicted") == 4
    assert not (output / "results.jsonl").exists()
    layers = tuple(load_layer_set(str(path)).convolutions())
    lines = list(csv.DictReader((output / "model.csv").read_text(encoding="utf-8").splitlines()))
    for line, found in zip(lines, answer.json["configurations"], strict=True):
        assert (line["configuration"], line["verdict"]) == (found["name"], "")
        assert [int(line[name]) for name in ("bytes", "cycles")] == [found["total_bytes"], found["cycles"]]
    for budget, found in zip((256, 1024), answer.json["configurations"], strict=True):
        plan = make_plan(layers, Configuration("per-layer", budget), output / "plans")
        rows = rows_of(plan)
        cycles = [predicted_cycles(row.entry.schedule, row.parameters).total for row in rows]
        moved = sum(predict(row.entry.schedule).total_bytes for row in rows)
        busy = [layer.macs / (16 * taken) for layer, taken in zip(layers, cycles, strict=True)]
        assert (found["budget"], found["rows"], found["cycles"], found["total_bytes"]) == (
            budget,
            2,
            sum(cycles),
            moved,
        )
        assert found["ratio"] == pytest.approx(moved / sum(plan.optima.values()))
        assert (found["mean_utilisation"], found["least_utilisation"]) == pytest.approx((sum(busy) / 2, min(busy)))
        assert found["goal"] is None


def test_goals_are_judged_and_a_missed_one_is_a_failure() -> None:
    goal = (Goal(0.9, 1.15), False)
    assert verdict(goal, 0.9, 1.15) == "met"
    assert verdict(goal, 0.899, 1.1) == verdict(goal, 0.95, 1.151) == "MISSED"
    assert verdict((Goal(0.0, 1.3), True), 0.1, 1.25) == "nearest"
    per_layer = Configuration.busy("per-layer", 4096, 64)
    assert missed(per_layer, 0.95, 1.1) is None
    assert missed(per_layer, 0.85, 1.1) == (
        "per-layer 4096 64 multipliers at 0.94, 1.15: expected a mean utilisation of at least 0.9 and at most 1.15 "
        "of the optima, got 0.850 and 1.100"
    )
    assert missed(Configuration("per-layer", 4096), 0.1, 9.9) is None


def test_what_holds_in_place_of_a_goal_is_weaker_and_a_search_is_asked_for_no_less_than_its_goal() -> None:
    for (multipliers, budget, kind), nearest in NEAREST.items():
        assert nearest.ratio > GOALS[multipliers][kind].ratio
        assert goal_of(kind, budget, multipliers) == (nearest, True)
    for (multipliers, budget, kind), (lanes, slack) in TRAFFIC_FIRST.items():
        wanted = Configuration.busy(kind, budget, multipliers)
        assert (wanted.lanes, wanted.slack, wanted.utilisation) == (lanes, slack, None)
        assert lanes.product == wanted.multipliers == multipliers
        assert wanted.goal == ((goal := GOALS[multipliers][kind]), False)
        assert goal.utilisation == 0
    for multipliers, goals in GOALS.items():
        assert all(goal.utilisation < BUSY[multipliers][kind] for kind, goal in goals.items())
