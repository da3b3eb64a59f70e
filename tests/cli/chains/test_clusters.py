"""Schedules of two memory levels chain, too: found on a cluster, they carry its hardware file along."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import hwgen.api.cosimulation
import hwgen.api.synthesis
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.hardware import save_hardware
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.synthesis.ecp5 import Area, Device, Gates, Synthesis
from hwgen.synthesis.timing import CriticalPath
from tests.cli.chains.test_hwcs import LAYERS
from tests.cli.command_line import Run
from tests.cosim.cluster.test_clusters import hardware


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> list[dict[str, Any]]:
    """Two small layers, scheduled for a cluster whose simulator other tests have built, in the folder ``found``."""
    monkeypatch.chdir(tmp_path)
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": LAYERS}
    Path("my.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    save_hardware(hardware("fig8"), Path("mine.yaml"))
    answer = run("schedule", "my.yaml", "--hardware", "mine.yaml", "-o", "found", "--json")
    assert answer.status == 0, answer.err
    schedules: list[dict[str, Any]] = answer.json["schedules"]
    return schedules


def test_a_cluster(run: Run, found: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    given = load_hardware(Path("mine.yaml"))
    assert load_hardware(Path(f"found/{given.name}.hardware.yaml")) == given
    programs = [compile_cluster(load_schedule(Path(one["file"])), given) for one in found]
    predicted = run("predict", "found", "--json").json["schedules"]
    assert [one["total_bytes"] for one in predicted] == [one["total_bytes"] for one in found]
    assert all(one["cycles"] and one["refused"] is None for one in predicted)
    assert [one["macs"] for one in predicted] == [load_schedule(Path(one["file"])).layer.macs for one in found]
    assert run("predict", "found", "--hardware", "mine.yaml", "--json").json["schedules"] == predicted
    seen: list[Any] = []

    def simulate(schedules: tuple[Schedule, ...], runs_on: object, **_: object) -> list[object]:
        seen.append(([schedule.layer.name for schedule in schedules], runs_on))
        return []

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate_clusters", simulate)
    assert run("cosim", "found").status == 0
    assert seen == [(["a", "b"], given)]

    def synthesise(parameters: object, *_: object, **__: object) -> Synthesis:
        seen.append(parameters)
        return Synthesis(Device(), 99.0, CriticalPath("a", "b", 1.0, 2.0), Area(), {}, Gates(1, 1, 1, 1), {})

    monkeypatch.setattr(hwgen.api.synthesis, "synthesise_hwc", synthesise)
    told = run("synth", "found", "--json").json["hardware"]
    assert [name for one in told for name in one["layers"]] == ["a", "b"]
    assert set(seen[1:]) == {program.parameters for program in programs}


@pytest.mark.nightly
def test_a_cluster_into_rtl(run: Run, found: list[dict[str, Any]]) -> None:
    results = run("cosim", "found", "--json").json["results"]
    assert [(one["layer"], one["equal"], one["output_exact"]) for one in results] == [
        ("a", True, True),
        ("b", True, True),
    ]
    clusters = run("generate", "found", "-o", "rtl", "--json").json["clusters"]
    assert sorted(layer["layer"] for one in clusters for layer in one["layers"]) == ["a", "b"]
