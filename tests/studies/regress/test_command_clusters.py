"""``hwgen regress-clusters``: what it runs, what it keeps, and what it takes for wrong."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hwgen.studies.regress.cluster
from cosim.cluster.preparation import prepare_cluster
from cosim.device.result import LayerResult
from hwgen.cli.console import CYCLES_NOTE
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.placement import place
from hwgen.studies.regress.cluster import ClusterCase
from tests.cli.command_line import Run, refused
from tests.cli.test_clusters import ROWS
from tests.studies.engine.inline import open_inline

HARDWARE = Hardware(name="four", budget=8192, cluster=Cluster(tcdm=1 << 16))
Simulated = list[tuple[int, bool, bool]]


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    save_schedule(ROWS, tmp_path / "rows.yaml")
    save_hardware(HARDWARE, tmp_path / "four.yaml")
    return [tmp_path / "rows.yaml", "--hardware", tmp_path / "four.yaml", "-o", tmp_path / "results"]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Simulated:
    """Runs that were asked for (HWCs, with a DRAM that takes its time, stalled), each as the model says."""
    return pretending(monkeypatch, {})


def pretending(monkeypatch: pytest.MonkeyPatch, changed: Mapping[int, Any]) -> Simulated:
    """Simulations that are none, of no Verilog; ``changed`` has other cycles, by the HWCs of the run."""
    asked: Simulated = []

    def run(schedules: list[Schedule], hardware: Hardware, *, stalls: bool, fast: bool) -> list[LayerResult]:
        (schedule,), cluster = schedules, hardware.cluster
        assert cluster is not None
        asked.append((cluster.hwcs, cluster.dram is not None, stalls))
        task = prepare_cluster(schedule, hardware)
        cycles = round(cluster_cycles(task.program).total)
        result = LayerResult(
            task.program.schedule, "verilator", 1.0, predicted=task.counts, measured=task.counts, equal=True,
            output_exact=True, predicted_cycles=cycles, cycles=cycles, hwcs=cluster.hwcs,
        )  # fmt: skip
        return [replace(result, **changed.get(cluster.hwcs, {}))]

    monkeypatch.setattr(hwgen.studies.regress.cluster, "generated_cluster", repr)
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    monkeypatch.setattr(hwgen.studies.regress.cluster, "cosimulate_clusters", run)
    monkeypatch.setattr(
        hwgen.studies.regress.cluster, "search_fewest_cycles", lambda *_, **__: SimpleNamespace(schedule=ROWS)
    )
    return asked


def test_what_is_done_is_not_done_again(
    run: Run, arguments: list[object], simulated: Simulated, tmp_path: Path
) -> None:
    answer = run("regress-clusters", *arguments, "--json")
    assert simulated == [(4, True, False), (4, True, True)]
    assert [result["case"] for result in answer.json["results"]] == ["rows", "rows, stalled"]
    assert (answer.status, answer.json["speedups"], answer.json["failures"]) == (0, [], [])
    again = run("regress-clusters", *arguments, "--json")
    assert [result["cycles"] for result in again.json["results"]] == [one["cycles"] for one in answer.json["results"]]
    assert len(simulated) == 2
    lines = csv.DictReader((tmp_path / "results" / "clusters.csv").read_text(encoding="utf-8").splitlines())
    for line, result in zip(lines, answer.json["results"], strict=True):
        stalled = "yes" if result["stalled"] else "no"
        assert [line[name] for name in ("case", "stalled", "passed")] == [result["case"], stalled, "yes"]
        cycles = [result["cycles"][way] for way in ("predicted", "measured")]
        assert [int(line[f"cycles_{way}"]) for way in ("predicted", "measured")] == cycles
        assert int(line["bytes_measured"]) == result["total_bytes"]
        words = [result["measured"]["tcdm"][name]["read"]["words"] for name in "IW"]
        assert (int(line["words_read"]), line["longest_wait_read"]) == (sum(words), "")  # no other cluster


def test_all_hwcs_against_one(run: Run, arguments: list[object], simulated: Simulated) -> None:
    answer = run("regress-clusters", *arguments, "--against-one", "rows", "--json")
    assert simulated[2:] == [(4, False, False), (1, False, False)]
    four, one = answer.json["results"][2:]
    assert four["case"] == one["case"] == "rows, searched"
    (gain,) = answer.json["speedups"]
    assert gain["measured"] == one["cycles"]["measured"] / four["cycles"]["measured"]
    assert answer.status == (1 if gain["measured"] < 3.6 else 0)


def test_layers_whose_hwcs_read_together(run: Run, arguments: list[object], simulated: Simulated) -> None:
    answer = run("regress-clusters", *arguments, "--together", "rows", "--json")
    assert simulated == [(4, True, False), (4, True, True), (4, True, False)]
    apart, _, together = answer.json["results"]
    assert together["case"] == "rows, together"
    words = [[result["measured"]["tcdm"][name]["read"]["words"] for name in "IW"] for result in (apart, together)]
    assert words[1] == [words[0][0] // 2, words[0][1]]  # two slices of filters, side by side
    table = run("regress-clusters", *arguments, "--together", "rows").out
    assert "Words of I and W that HWCs read at the TCDM" in table
    assert all(str(sum(each)) in table.replace(",", "") for each in words)


def test_a_run_that_takes_another_time(run: Run, arguments: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    pretending(monkeypatch, {4: {"cycles": 1000, "predicted_cycles": 1060}, 1: {"cycles": 3500}})
    answer = run("regress-clusters", *arguments, "--against-one", "rows")
    assert answer.status == 1
    assert "rows: 1000 cycles, 1060 predicted" in answer.out
    assert CYCLES_NOTE in answer.out
    assert "stalled: 1000" not in answer.out
    assert "rows, searched: only 3.50 times as fast as one HWC, expected 3.6 times" in answer.out


def test_a_run_that_counts_otherwise(run: Run, arguments: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    pretending(monkeypatch, {4: {"equal": False, "failures": ("I read at dram: 2 bytes, predicted 1",)}})
    answer = run("regress-clusters", *arguments)
    assert answer.status == 1
    assert "rows: I read at dram: 2 bytes, predicted 1" in answer.out


def test_of_several_clusters_each_has_room_for_a_share_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.studies.regress.cluster, "generated_cluster", repr)
    need = place(compile_cluster(ROWS, HARDWARE).schedule).size  # with room to spare maps take more
    banked = 4 * Cluster().banks
    small = HARDWARE.model_copy(update={"cluster": Cluster(tcdm=(need - 1) // banked * banked)})
    with pytest.raises(InputError, match="the TCDM needs"):
        compile_cluster(ROWS, small)
    keys = {
        ClusterCase("rows", ROWS, small, clusters=2, partition=partition).key for partition in ("KS", "OFM", "KS")
    }
    assert len(keys) == 2


def test_wrong_options_are_refused(run: Run, arguments: list[object], tmp_path: Path) -> None:
    wrong = run("regress-clusters", *arguments, "--against-one", "conv9")
    refused(wrong, "--against-one: expected layers of the schedules, got 'conv9'")
    refused(
        run("regress-clusters", *arguments, "--together", "conv9"), "--together: expected layers of the schedules"
    )
    file = tmp_path / "file"
    file.write_text("")
    refused(run("regress-clusters", *arguments[:-1], file), "-o: expected a folder, got the file")
