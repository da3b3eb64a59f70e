"""``--clusters``: layers shared out to several clusters, on the command line."""

import csv
import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hwgen.studies.regress.cluster
from hwgen.ir.hardware import save_hardware
from hwgen.ir.schedule import save_schedule
from hwgen.lower.system.program import fastest_partition
from tests.cli.command_line import Run, refused
from tests.cosim.system.test_systems import cases, hardware
from tests.studies.engine.inline import open_inline


@pytest.fixture
def arguments(tmp_path: Path) -> list[object]:
    save_schedule(cases()[1], tmp_path / "layer.yaml")
    save_hardware(hardware(), tmp_path / "cluster.hardware.yaml")
    return [tmp_path / "layer.yaml", "--hardware", tmp_path / "cluster.hardware.yaml"]


@pytest.mark.nightly
def test_cosim_on_two_clusters(run: Run, arguments: list[object]) -> None:
    answer = run("cosim", *arguments, "--clusters", "2", "--partition", "OFM", "--json")
    (result,) = answer.json["results"]
    assert (answer.status, result["equal"], result["output_exact"]) == (0, True, True)
    assert result["shared_out"] == {"clusters": 2, "partition": "OFM"}
    chosen = run("cosim", *arguments, "--clusters", "2")
    assert f"random_1, {fastest_partition(cases()[1], hardware(), 2)}" in chosen.out


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_what_is_generated_for_two_clusters(run: Run, arguments: list[object], tmp_path: Path) -> None:
    """Each cluster has its program, at a place of its own in the DRAM, and the whole tensors; all of it compiles."""
    folder = tmp_path / "rtl"
    answer = run("generate", *arguments, "--clusters", "2", "--partition", "OFM", "-o", folder, "--json")
    ((shares),) = [layer["shares"] for layer in answer.json["systems"][0]["layers"]]
    assert [share["output_rows"][0] for share in shares] == [0, shares[0]["output_rows"][1]]
    headers = [f"programs/random_1.cluster{number}.h" for number in (0, 1)]
    programs = [json.loads((folder / name).with_suffix(".json").read_text()) for name in headers]
    assert programs[0]["regions"] == programs[1]["regions"]
    assert len({program["registers"]["program_address"] for program in programs}) == 2
    includes = "".join(f'#include "{name}"\n' for name in ("system.h", "cluster_driver.c", *headers))
    (folder / "main.c").write_text(
        includes + "int main(void) { return (int)cluster_program_random_1_cluster1.count == 0; }\n"
    )
    subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "main.c"], cwd=folder, check=True)
    assert "module system(" in (folder / "system.v").read_text()
    assert run("generate", *arguments, "--clusters", "2", "-o", folder).status == 0


def test_every_partition_is_run_and_the_last_one_stalled(
    run: Run, arguments: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    def simulated(schedules: Any, hardware: Any, clusters: int, partition: str, *, stalls: bool, fast: bool) -> Any:
        asked.append((clusters, partition, hardware.cluster.dram is not None, stalls))
        found = {"cycles": {"measured": 100, "predicted": 104}, "failures": [], "equal": True, "output_exact": True}
        waits = {"cluster0_longest_wait_read": 7, "cluster0_longest_wait_write": 9}
        found |= {
            "layer": "random_1",
            "macs": 400,
            "total_bytes": 50,
            "utilisation": 0.5,
            "seconds": 1,
            "stalls": {"measured": waits},
            "measured": {"tcdm": {operand: {"read": {"words": 30}} for operand in "IW"}},
            "shared_out": {"clusters": clusters},
        }
        return [SimpleNamespace(as_json=lambda: found)]

    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    monkeypatch.setattr(hwgen.studies.regress.cluster, "generated_cluster", repr)
    monkeypatch.setattr(hwgen.studies.regress.cluster, "cosimulate_systems", simulated)
    answer = run("regress-clusters", *arguments, "--clusters", "4", "-o", tmp_path / "results")
    ways = ["KS", "KS&OFM", "OFM"]
    assert asked == [*((4, way, True, False) for way in ways), (4, "OFM", True, True)]
    assert answer.status == 0
    assert "random_1, KS&OFM" in answer.out
    assert "waited for those of others" in answer.out
    (line, *_) = csv.DictReader((tmp_path / "results" / "clusters.csv").read_text(encoding="utf-8").splitlines())
    assert [line[f"longest_wait_{way}"] for way in ("read", "write")] == ["7", "9"]
    assert line["words_read"] == "60"


def test_wrong_options_are_refused(run: Run, arguments: list[object], tmp_path: Path) -> None:
    refused(run("cosim", *arguments, "--clusters", "17"), "--clusters: expected 2 to 16, got 17")
    refused(run("cosim", *arguments, "--partition", "KS"), "--partition: expected with --clusters")
    wrong = run("cosim", *arguments, "--clusters", "2", "--partition", "rows")
    refused(wrong, "--partition: expected KS, KS+OFM, OFM, got 'rows'")
    both = run("cosim", *arguments, "--clusters", "2", "--partition", "KS+OFM")
    refused(both, "random_1: partition: KS&OFM: expected a number of clusters such as 4, got 2")
    given = run("generate", *arguments, "--clusters", "2", "--operands", tmp_path, "-o", tmp_path / "rtl")
    refused(given, "--operands: not for clusters")
    one = run("regress-clusters", *arguments, "--clusters", "2", "--together", "random_1", "-o", tmp_path / "results")
    refused(one, "--clusters: expected without --against-one and --together")
