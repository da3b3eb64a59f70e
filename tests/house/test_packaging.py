"""The wheel holds what the program reads at run time: layer tables, and what the simulator is built from."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.builtin import builtin_names, builtin_schedules

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of a freshly built wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("hwgen-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_sources_and_data_are_in_the_wheel(installed: Path) -> None:
    sources = [path for folder in ("hwgen", "cosim") for path in (ROOT / folder).rglob("*")]
    wanted = {str(path.relative_to(ROOT)) for path in sources if path.is_file() and path.parent.name != "__pycache__"}
    packed = {str(path.relative_to(installed)) for path in installed.rglob("*") if path.is_file()}
    assert wanted - packed == set()
    assert {path.split("/")[0] for path in packed if ".dist-info/" not in path} == {"hwgen", "cosim"}
    # Layer tables, hardware, schedules: as they are in the checkout.
    built_in = {path.relative_to(ROOT) for path in (ROOT / "schedules").rglob("*") if path.is_file()}
    assert {str("hwgen" / path) for path in built_in} - packed == set()
    for path in built_in:
        assert (installed / "hwgen" / path).read_bytes() == (ROOT / path).read_bytes()


def answer(installed: Path, folder: Path, *arguments: str) -> Any:
    """What the installed program prints, far from the checkout."""
    program = "import hwgen.cli, sys; assert hwgen.__file__.startswith(sys.argv.pop(1)); hwgen.cli.main()"
    command = [sys.executable, "-c", program, str(installed), *arguments, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    told = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return json.loads(told.stdout)


def test_the_wheel_knows_what_is_built_in(installed: Path, tmp_path: Path) -> None:
    listed = answer(installed, tmp_path, "sets")
    assert [one["name"] for one in listed["sets"]] == builtin_names("layersets")
    assert {one["name"] for one in listed["schedules"]} == set(builtin_schedules())
    assert answer(installed, tmp_path, "hardware", "alexnet_cluster")["cluster"]["hwcs"] == 4


@pytest.mark.nightly
def test_the_wheel_does_what_the_documents_say(installed: Path, tmp_path: Path) -> None:
    """Kernels are compiled anew, which takes a minute: schedules with their hardware, files, a simulation."""
    predicted = answer(installed, tmp_path, "predict", "alexnet_cluster")["schedules"]
    assert len(predicted) == 5
    assert all(one["cycles"] for one in predicted)
    (one,) = answer(installed, tmp_path, "generate", "lenet:C3", "-o", "rtl")["hardware"]
    assert all((tmp_path / "rtl" / name).is_file() for name in one["files"])
    (result,) = answer(installed, tmp_path, "cosim", "rtl")["results"]
    assert result["equal"]


def test_the_wheel_finds_its_own_tables(installed: Path, tmp_path: Path) -> None:
    kind = "'layersets'"
    program = f"from hwgen.ir.builtin import *; print(builtin_path({kind}, 'alexnet'), builtin_names({kind}))"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, capture_output=True, text=True
    )
    path, _, names = result.stdout.strip().partition(" ")
    assert path == str(installed / "hwgen" / "schedules" / "layersets" / "alexnet.yaml")
    assert names == str(builtin_names("layersets"))
