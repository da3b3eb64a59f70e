"""``hwgen schedule --hierarchy``: files, JSON, refusals."""

from pathlib import Path

import pytest

from hwgen.ir.document import load_yaml
from hwgen.ir.memory.hierarchy import load_hierarchy
from hwgen.model.nest.hierarchy_counts import counts_of
from tests.cli.command_line import Run, refused

LEVELS = """format: 1
kind: hierarchy
name: two
levels:
- {name: dram}
- {name: sram, bytes: {I: 512, W: 2048, O: 512}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(LEVELS)
    return path


def test_schedules_are_written_and_counted(run: Run, tmp_path: Path, file: Path) -> None:
    (one,) = run("schedule", "lenet:C5", "--hierarchy", file, "-o", tmp_path / "out", "--json").json["schedules"]
    hierarchy = load_hierarchy(file)
    schedule = hierarchy.read_schedule(load_yaml(Path(one["file"])))
    assert counts_of(schedule, hierarchy).as_json()["counts"] == one["counts"]
    assert one["bound"] <= one["value"] == pytest.approx(one["energy"]["total"])
    assert one["gap"] == pytest.approx(one["value"] / one["bound"] - 1)
    assert set(one) >= {"layer", "file", "counts", "energy", "bound", "gap", "seconds"}


def test_refusals(run: Run, tmp_path: Path, file: Path) -> None:
    refused(run("schedule", "lenet:C5", "--hierarchy", "diano"), "built-in hierarchies (did you mean diannao?)")
    command = ("schedule", "lenet:C5", "--hierarchy", file)
    refused(run(*command, "--buffer", "1KiB"), "--hierarchy: expected no options but --objective, --fills,")
    refused(run(*command, "--objective", "words"), "--objective: expected energy or a level (dram, sram), got words")
    refused(run(*command, "--objective", "dram", "--fills"), "--fills: expected with --objective energy")
    refused(run("schedule", "lenet:C5", "--buffer", "1KiB", "--fills"), "--fills: expected with --hierarchy")
    refused(run("schedule", "lenet:C5", "--buffer", "1KiB", "--objective", "dram"), "--objective: expected one of")
    alone = tmp_path / "alone.yaml"
    alone.write_text("format: 1\nkind: hierarchy\nname: one\nlevels:\n- {name: dram}\n")
    refused(run("schedule", "lenet:C5", "--hierarchy", alone), "levels: expected a level inside dram")
