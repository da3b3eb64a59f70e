"""Hardware as files from Python: the same as the command's."""

from pathlib import Path

import pytest

import hwgen
import hwgen.api.generation.hwcs
from hwgen.api.generation.request import GeneratedLayers
from tests.api.test_schedule import STEM
from tests.cli.command_line import Run, refused


def test_a_plan_is_generated_as_its_files_are(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.api.generation.hwcs, "generated", lambda parameters, **_: f"// {parameters}\n")
    plan = hwgen.schedule(STEM, "hwc", buffer=512, output=tmp_path / "found")
    made = hwgen.generate(plan, tmp_path / "rtl")
    assert isinstance(made, GeneratedLayers)
    written = {path.relative_to(tmp_path / "rtl"): path.read_bytes() for path in (tmp_path / "rtl").rglob("*.*")}
    assert {"hwc.v", "schedules/stem.yaml", "programs/stem.json"} <= {path.as_posix() for path in written}
    assert made.designs[0].programs[0].schedule.layer == STEM
    document = run("generate", tmp_path / "found", "-o", tmp_path / "rtl", "--json").json
    assert {
        path.relative_to(tmp_path / "rtl"): path.read_bytes() for path in (tmp_path / "rtl").rglob("*.*")
    } == written
    assert made.to_dict()["hardware"] == document["hardware"]
    assert "1 designs with programs of 1 layers" in repr(made)


def test_what_is_wrong_is_said_as_the_command_says_it(run: Run, tmp_path: Path) -> None:
    with pytest.raises(hwgen.InputError) as raised:
        hwgen.generate("lenet", tmp_path / "rtl", resident=True)
    refused(run("generate", "lenet", "--resident", "-o", tmp_path / "rtl"), str(raised.value))
    assert not (tmp_path / "rtl").exists()
