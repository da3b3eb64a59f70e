"""``hwgen cosim``: its document, its exit status, and what it refuses before anything is simulated."""

import dataclasses
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import hwgen.api.cosimulation
from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult
from cosim.hwc.results import cosimulate
from hwgen.cli.console import CYCLE_MODEL
from hwgen.cli.printers.cosimulations import print_comparison
from hwgen.golden.convolution import layer_output
from hwgen.ir.counts import Access, Counts
from hwgen.ir.hardware import Hardware, order_of, save_hardware
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.nest.one_level import allocation, predict
from hwgen.tools.toolchain import ToolError
from tests.cli.command_line import Run, refused
from tests.cosim.cluster.test_clusters import cases, hardware

SMALL: dict[str, Any] = {
    "format": 1,
    "kind": "schedule",
    "layer": {
        "name": "small", "op": "conv", "input_channels": 2, "output_channels": 3, "input_height": 5,
        "input_width": 18, "output_height": 5, "output_width": 18, "kernel": [3, 3], "stride": [1, 1],
        "padding": [1, 1, 1, 1], "groups": 1,
    },
    "nest": [{"m": 3}, {"y": 2}, {"x": 16}, {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"y": 1}, {"k": 1},
             {"m": 1}, {"l": 1}],
    "lanes": {"x": 16},
}  # fmt: skip


def small(name: str = "small") -> Schedule:
    return Schedule.from_data({**SMALL, "layer": {**SMALL["layer"], "name": name}})


@pytest.fixture
def schedule_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    save_schedule(small(), path)
    return path


def result(schedule: Schedule, measured: Counts | None = None, **changes: Any) -> LayerResult:
    prediction = predict(schedule)
    plain = LayerResult(
        schedule=schedule,
        simulator="verilator",
        predicted=prediction.counts,
        measured=measured or prediction.counts,
        equal=measured is None,
        output_exact=True,
        predicted_cycles=19,
        cycles=20,
        seconds=0.5,
    )
    return dataclasses.replace(plain, **changes)


def test_an_interrupt_says_what_is_kept(run: Run, schedule_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(schedules: Any, *_: Any, progress: Any, **__: Any) -> list[LayerResult]:
        progress(result(schedules[0]))
        raise KeyboardInterrupt

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", interrupted)
    answer = run("cosim", schedule_file, "--quiet")
    kept = "simulators that were built are kept in the cache; the same command goes on from there"
    assert (answer.status, answer.out, answer.err) == (130, "", f"hwgen: interrupted: cosimulating, 1 of 1; {kept}\n")


def test_a_run_in_the_simulator(run: Run, schedule_file: Path, tmp_path: Path) -> None:
    dump, output = tmp_path / "dump", tmp_path / "out" / "results.json"
    answer = run("cosim", schedule_file, "--json", "--dump", dump, "-o", output, "--seed", 3)
    assert (answer.status, answer.err) == (0, "")
    assert json.loads(output.read_text(encoding="utf-8")) == answer.json
    (entry,) = answer.json["results"]
    assert entry["layer"] == "small"
    assert entry["simulator"] == "verilator"
    assert entry["equal"] is entry["output_exact"] is True
    assert entry["predicted"] == entry["measured"] == predict(small()).counts.as_json()
    assert Schedule.from_data(entry["schedule"]) == small()
    assert entry["macs"] == small().layer.macs
    inputs, weights, bias, found = (np.load(dump / f"small.{part}.npy") for part in ("I", "W", "bias", "O"))
    settings = json.loads((dump / "small.json").read_text(encoding="utf-8"))
    expected = layer_output(small().layer, inputs, weights, bias, Requantisation.shifted(**settings))
    assert np.array_equal(expected, found)


def test_a_difference_is_told_and_is_status_1(run: Run, schedule_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = predict(small()).counts
    key = ("tcdm", "I", "read")
    more = Counts({**counts.accesses, key: counts[key] + Access(0, 0, 1)})
    wrong = result(small(), measured=more, failures=("I read at tcdm: one word more",))
    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", lambda *_, **__: [wrong])
    answer = run("cosim", schedule_file)
    assert answer.status == 1
    assert "small: I read at tcdm: one word more" in answer.out
    assert "NO" in answer.out
    answer = run("cosim", schedule_file, "--json")
    assert (answer.status, answer.json["results"][0]["equal"]) == (1, False)
    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", lambda *_, **__: [result(small(), output_exact=False)])
    assert run("cosim", schedule_file).status == 1
    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", lambda *_, **__: [result(small())])
    assert run("cosim", schedule_file).status == 0


def test_options_reach_the_simulation(
    run: Run, schedule_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, Any] = {}

    def record(schedules: Any, hardware: Any, **options: Any) -> list[LayerResult]:
        seen.update(options, schedules=schedules, hardware=hardware)
        return [result(schedule) for schedule in schedules]

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", record)
    run("cosim", schedule_file, "--sim", "icarus", "-j", 2, "--seed", 7, "--stalls", "--waves", "--dump", tmp_path)
    assert seen["simulator"] == "icarus"
    assert (seen["jobs"], seen["seed"], seen["stalls"]) == (2, 7, True)
    assert (seen["dump"], seen["waves"]) == (tmp_path, tmp_path)
    assert set(seen) - {"schedules", "hardware", "progress"} <= set(cosimulate.__annotations__)


def test_what_the_hardware_cannot_run_is_refused(run: Run, schedule_file: Path, tmp_path: Path) -> None:
    need = allocation(small())
    smaller = {"I": need.I - 16, "W": need.W + 4, "O": need.O}
    path = tmp_path / "h.yaml"
    save_hardware(Hardware(name="tiny", buffers=smaller, order=order_of(small())), path)
    refused(run("cosim", schedule_file, "--hardware", path), f"small: I needs {need.I} bytes, hardware tiny has")
    other = order_of(small())[:-1]
    save_hardware(Hardware(name="other", order=other), path)
    refused(run("cosim", schedule_file, "--hardware", path), "expected the loop order and markers of hardware other")


def test_a_missing_tool_is_told_in_a_line(run: Run, schedule_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> list[LayerResult]:
        raise ToolError("Icarus Verilog is missing")

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", fail)
    assert run("cosim", schedule_file, "--sim", "icarus") == (1, "", "hwgen: Icarus Verilog is missing\n")


def test_wrong_options_are_refused(run: Run, schedule_file: Path, tmp_path: Path) -> None:
    refused(run("cosim", schedule_file, "--sim", "modelsim"), "'modelsim' is not one of 'verilator', 'icarus'")
    refused(run("cosim", schedule_file, "-j", -1), "'--jobs'")
    refused(run("cosim", schedule_file, "--seed", -1), "'--seed'")
    refused(
        run("cosim", schedule_file, "--buffer", "1KiB"), "--buffer: expected with a layer set, not with schedules"
    )
    for option, value in (("--objective", "balanced"), ("--traffic-slack", "0")):
        why = f"{option}: expected with a layer set, not with schedules"
        refused(run("cosim", schedule_file, option, value), why)
        refused(run("generate", schedule_file, option, value, "-o", tmp_path / "made"), why)
        refused(run("cosim", "--program", tmp_path, option, value), f"{option}: not with --program")
        refused(run("predict", schedule_file, option, value), f"No such option: {option}")
    both = ("--objective", "traffic", "--traffic-slack", "0.01")
    refused(run("cosim", "lenet:C1", *both), "--traffic-slack: expected with --objective balanced, got traffic")
    refused(run("cosim", schedule_file, "--per-layer"), "--per-layer: expected with a layer set, not with schedules")
    refused(
        run("cosim", schedule_file, "--hardware", "none"), "none: expected a file or one of the built-in hardware"
    )
    refused(run("cosim", schedule_file, "--hardware", schedule_file), "kind: expected hardware, got 'schedule'")
    refused(run("cosim", schedule_file, "--dump", schedule_file), "--dump: expected a folder, got the file")
    refused(run("cosim", schedule_file, "-o", tmp_path), "-o: expected a file, got the folder")
    refused(run("cosim", "nonet"), "nonet: expected a file or one of the built-in layersets")
    refused(run("cosim", "alexnet", "--buffer", "1KiB,2KiB"), "--buffer: expected one size, got 1KiB,2KiB")
    bad = tmp_path / "bad.yaml"
    bad.write_text(yaml.safe_dump({**SMALL, "nest": [{"m": 3}]}), encoding="utf-8")
    refused(run("cosim", bad), "bad.yaml: nest: m: the innermost step leaves 3, the lanes do 1")


@pytest.mark.nightly
def test_a_set_is_scheduled_first(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(schedules: Any, hardware: Any, **_: Any) -> list[LayerResult]:
        seen.update(schedules=schedules, hardware=hardware)
        return [result(schedule) for schedule in schedules]

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", record)
    run("cosim", "lenet:C", "--buffer", "2KiB", "--objective", "traffic")
    assert [schedule.layer.name for schedule in seen["schedules"]] == ["C1", "C3", "C5"]
    assert {order_of(schedule) for schedule in seen["schedules"]} == {seen["hardware"].order}
    assert seen["hardware"].budget == 2048
    shared = seen["hardware"].model_copy(update={"name": "mine"})
    save_hardware(shared, tmp_path / "h.yaml")
    schedules = seen["schedules"]
    run("cosim", "lenet:C", "--hardware", tmp_path / "h.yaml", "--objective", "traffic")
    assert (seen["schedules"], seen["hardware"]) == (schedules, shared)
    run("cosim", "lenet:C", "--per-layer")
    assert (seen["hardware"].lanes, seen["hardware"].order, seen["hardware"].buffers) == (None, None, None)
    assert all(allocation(schedule).total <= 1024 for schedule in seen["schedules"])
    refused(run("cosim", "lenet", "--buffer", "64"), "no HWC of 64 bytes runs all 5 layers")


def test_a_set_is_scheduled_for_a_cluster(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(schedules: Any, hardware: Any, **_: Any) -> list[LayerResult]:
        seen.update(schedules=schedules, hardware=hardware)
        return [result(small())]

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate_clusters", record)
    save_hardware(hardware("fig8"), tmp_path / "fig8.yaml")
    assert run("cosim", "lenet:C1", "--hardware", tmp_path / "fig8.yaml").status == 0
    (schedule,) = seen["schedules"]
    assert (schedule.layer.name, seen["hardware"].cluster) == ("C1", hardware("fig8").cluster)
    compile_cluster(schedule, seen["hardware"])
    wrong = run("cosim", "lenet:C1", "--hardware", tmp_path / "fig8.yaml", "--buffer", "1KiB")
    refused(wrong, "--buffer: a cluster has its sizes: expected none")


@pytest.mark.nightly
def test_schedules_of_two_levels_run_on_clusters(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate_clusters", partial(cosimulate_clusters, fast=False))
    chosen = cases("fig8")[:2]
    for number, schedule in enumerate(chosen):
        save_schedule(schedule, tmp_path / "schedules" / f"{number}.yaml")
    save_hardware(hardware("fig8"), tmp_path / "fig8.yaml")
    given = ("--hardware", tmp_path / "fig8.yaml")
    answer = run("cosim", tmp_path / "schedules", *given, "--dump", tmp_path / "dump", "--json")
    assert (answer.status, [one["equal"] for one in answer.json["results"]]) == (0, [True, True])
    first = answer.json["results"][0]
    assert set(first["measured"]) == {"dram", "tcdm", "tcdm_dma"}
    assert first["measured"]["dram"]["P"]["read"]["bytes"] > 0
    output = np.load(tmp_path / "dump" / "random_0.O.npy")
    assert output.shape[0] == chosen[0].layer.output_channels
    shown = run("cosim", tmp_path / "schedules", *given)
    assert "Traffic at tcdm_dma" in shown.out
    assert CYCLE_MODEL in shown.out
    save_schedule(small(), tmp_path / "schedules" / "small.yaml")
    refused(
        run("cosim", tmp_path / "schedules"), "SCHEDULE: expected schedules of one memory level or of two, got both"
    )
    refused(
        run("cosim", tmp_path / "schedules" / "0.yaml", "--sim", "icarus"),
        "--sim: clusters run in Verilator, without waveforms",
    )


def test_the_verdict_stays_at_80_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    print_comparison([result(small())])
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert " equal " in text
    assert "narrow: words predicted, words measured. --wide" in " ".join(text.split())
