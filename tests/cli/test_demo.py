"""``hwgen demo``: the same steps as in `make demo`, on a set that is simulated in seconds."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hwgen.cli.commands.demo
from cosim.device.result import LayerResult
from hwgen.api.work import one_for_all
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.area.estimate import estimated_area
from hwgen.search.core.optimal import search
from tests.cli.command_line import Run
from tests.cli.test_cosim import result

one_hwc = cache(one_for_all)
"""The search takes seconds, and is of the same layers in all tests of this process."""


@pytest.fixture(autouse=True)
def searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.cli.commands.demo, "one_for_all", one_hwc)


def test_the_demo_runs_the_five_full_size_rows() -> None:
    """Their layers are those of `tests.cli.test_cli`."""
    assert (hwgen.cli.commands.demo.SET, hwgen.cli.commands.demo.BUDGET) == ("stoutchinin_2019:alexnet", 1024)


def test_from_the_table_to_equal_counts(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.cli.commands.demo, "SET", "lenet:C")
    answer = run("demo", "-o", tmp_path / "results", "--rtl", tmp_path / "rtl")
    assert answer.status == 0, answer.out
    assert answer.out.splitlines()[-1].startswith("All 3 rows: predicted = measured for every operand and direction")
    document = json.loads((tmp_path / "results" / "demo.json").read_text(encoding="utf-8"))
    hardware = load_hardware(tmp_path / "rtl" / "hardware.yaml")
    assert hardware.position_bits == 8
    assert hardware.constants, "fitted to the layers"
    assert document["traffic_slack"] == 0.05
    assert document["chosen"]["total_bytes"] <= 1.05 * document["least_traffic"]["total_bytes"]
    area = estimated_area(hardware)
    assert f"{area.mhz:.1f} MHz, {area.lut4:,} LUT4-equivalents" in " ".join(answer.out.split())
    for entry in document["results"]:
        assert entry["equal"] is entry["output_exact"] is True
        assert entry["predicted"] == entry["measured"]
        schedule = Schedule.from_data(entry["schedule"])
        assert schedule == load_schedule(tmp_path / "rtl" / "schedules" / f"{entry['layer']}.yaml")
        compile_layer(schedule, hardware)
        own = search(schedule.layer, [1024])[0].total_bytes
        total = sum(count["bytes"] for array in "IWO" for count in entry["measured"]["tcdm"][array].values())
        assert f"{total / own:.3f}" in answer.out


def test_a_difference_is_told_and_is_status_1(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(work: Any, **_: Any) -> list[LayerResult]:
        return [result(schedule, output_exact=schedule.layer.name != "C3") for schedule in work.schedules]

    monkeypatch.setattr(hwgen.cli.commands.demo, "SET", "lenet:C")
    monkeypatch.setattr(hwgen.cli.commands.demo, "run", wrong)
    answer = run("demo", "-o", tmp_path, "--rtl", tmp_path / "rtl")
    assert (answer.status, answer.out.splitlines()[-1]) == (1, "NOT EQUAL: C3")
    answer = run("demo", "-o", tmp_path, "--rtl", tmp_path / "rtl", "--json")
    assert [entry["output_exact"] for entry in answer.json["results"]] == [True, False, True]
