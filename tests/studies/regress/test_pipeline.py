"""``hwgen regress-stacks`` on two small stacks: tables, what is kept, and what makes it fail."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hwgen.studies.regress.command_pipelines as command
import hwgen.studies.regress.pipeline as regression
from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.pace import RunPace, TilePace, border_allowance
from hwgen.ir.document import sealed, unsealed
from hwgen.lower.pipeline.program import KINDS
from hwgen.studies.regress.pipeline_cases import small_cases
from tests.cli.command_line import Run, refused
from tests.studies.engine.inline import open_inline

NAMES = ("srgan_blocks_x1", "srgan_blocks_x2")


@pytest.mark.usefixtures("icarus")
def test_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "small_cases", lambda: [case for case in small_cases() if case.name in NAMES])
    monkeypatch.setattr(regression, "PipelineBuild", lambda pipelines: PipelineBuild(pipelines, "icarus"))
    answer = run("regress-stacks", "--small", "-o", tmp_path)
    assert answer.status == 0, answer.out
    assert "What is simulated (inputs: channels x height x width)" in answer.out
    assert "2 x 12 x 16" in answer.out
    assert "64 x 720 x 1280" in answer.out
    assert "as published" not in answer.out
    assert "Bytes to and from DRAM in depth-first execution" in answer.out
    assert "Cycles a pixel of the output" in answer.out

    def never(*_: Any) -> None:
        raise AssertionError("what is kept is simulated again")

    monkeypatch.setattr(regression, "run_pipelines", never)
    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    results = run("regress-stacks", "--small", "-o", tmp_path, "--json").json["results"]
    assert [result["stack"] for result in results] == list(NAMES)
    assert [len(result["pace"]["tiles"]) for result in results] == [1, 2]
    for result in results:
        assert result["equal"]
        assert result["output_exact"]
        assert not result["failures"]
        assert result["size"]["divisor"] == 32
        assert result["cycles"]["measured"] == result["cycles"]["predicted"]
        for tile in result["pace"]["tiles"]:
            assert tile["measured"] == pytest.approx(tile["slowest"], rel=tile["within"])

    lines = list(csv.DictReader((tmp_path / "stacks.csv").read_text(encoding="utf-8").splitlines()))
    for line, result in zip(lines, results, strict=True):
        assert [line[name] for name in ("stack", "channels", "dram_bytes")] == [result["stack"], "1/32", ""]
        moved = [int(line[name]) for name in ("features", "overlap", "cycles_measured")]
        assert moved[0] == sum(result["measured"][kind] for kind in KINDS)
        overlap = sum(result["measured"][f"overlap_{way}"] for way in ("out", "in"))
        assert moved[1:] == [overlap, result["cycles"]["measured"]]
        assert line["passed"] == "yes"
    assert int(lines[1]["overlap"]) > int(lines[0]["overlap"]) == 0

    file = tmp_path / "depth_first.jsonl"
    first, second = map(unsealed, file.read_text().splitlines())
    cycles = first["value"]["cycles"]
    cycles["measured"] = cycles["predicted"] * 103 // 100
    second["value"]["pace"]["failures"] = ["streams wait 3 cycles"]
    file.write_text("".join(sealed(line, indent=None) for line in (first, second)))
    answer = run("regress-stacks", "--small", "-o", tmp_path)
    assert answer.status == 1
    assert f"{NAMES[0]}: {cycles['measured']} cycles, {cycles['predicted']} predicted" in answer.out
    assert f"{NAMES[1]}: streams wait 3 cycles" in answer.out


def test_refusals(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    refused(run("regress-stacks", "-o", file), "-o: expected a folder, got the file")
    both = "--full-size: expected with --dram, and --dram with --full-size"
    refused(run("regress-stacks", "--full-size", "-o", tmp_path), both)
    refused(run("regress-stacks", "--dram", "cluster_ddr3", "-o", tmp_path), both)
    options = ("--full-size", "--dram", "cluster_ddr3", "--small")
    refused(run("regress-stacks", *options, "-o", tmp_path), "--small: expected without --full-size")
    alone = "--all-channels: expected without --small, --full-size and --dram"
    refused(run("regress-stacks", "--all-channels", "--small", "-o", tmp_path), alone)


def test_a_stack_that_does_not_keep_pace() -> None:
    tile = TilePace(cycles=100, slowest=10.0, measured=10.19)
    assert tile.failures == []
    assert replace(tile, measured=None).failures == []  # too short to be judged
    slow, fast = replace(tile, measured=10.21), replace(tile, measured=9.79)
    assert slow.failures == ["10.21 cycles from pixel to pixel, the slowest stage takes 10.00"]
    assert fast.failures == ["9.79 cycles from pixel to pixel, the slowest stage takes 10.00"]
    assert replace(slow, within=0.1).failures == []
    run = RunPace((tile, slow), drain=2, waited=3, skips_waited=7)
    assert run.failures == [f"tile 1: {slow.failures[0]}", "streams wait 3 cycles"]
    assert replace(run, tiles=(tile,), waited=0).failures == []
    other = replace(run, tiles=(tile,), waited=0, differs=5)
    assert other.failures == ["the run takes 5 cycles more than the model that the pace is from"]


def test_a_border_may_cost_a_line_of_small_maps_only() -> None:
    assert [border_allowance(lines) for lines in (10, 40, 50, 56, 224)] == [0.1, 0.025, 0.02, 0.02, 0.02]
