"""``hwgen generate``: files that agree with each other and with the Verilog, and nothing half-written."""

import json
from pathlib import Path

import pytest

from hwgen.api.generation import hwcs
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.registers.control import Status
from hwgen.export.hwc import hwc_memories
from hwgen.ir.hardware import save_hardware
from hwgen.ir.schedule import Schedule, load_schedule, save_schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.one_level import allocation
from hwgen.readers.layer_sets import load_layer_set
from tests.cli.command_line import Run, refused
from tests.cli.test_cosim import small
from tests.cosim.cluster.test_clusters import cases, hardware


@pytest.fixture
def without_verilog(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the stead of an HWC's Verilog, its parameters; that the real one is written, others test."""
    monkeypatch.setattr(hwcs, "generated", lambda parameters, **_: f"// {parameters}\n")


def test_one_hwc_for_a_set(run: Run, tmp_path: Path) -> None:
    answer = run("generate", "lenet:C", "-o", tmp_path, "--json")
    assert (answer.status, answer.err) == (0, "")
    (one,) = answer.json["hardware"]
    assert one["folder"] == str(tmp_path)
    assert one["layers"] == [layer.name for layer in load_layer_set("lenet:C").convolutions()]
    hardware = load_hardware(tmp_path / "hardware.yaml")
    assert one["memories"] == hardware.buffers
    assert one["allocated_bytes"] == sum(one["memories"].values()) <= 1024
    assert one["bias_store"] == {"B": 4 * hardware.bias_words}
    layer = load_schedule(tmp_path / "schedules" / f"{one['layers'][0]}.yaml")
    in_verilog = sum(array.bits for array in hwc_memories(compile_layer(layer, hardware).parameters))
    queues = [size for name, size in one["beside"].items() if name.endswith("_queues")]
    queues += one["addresses"].values()
    rounding = 8 * (one["allocated_bytes"] + one["bias_store"]["B"] + sum(queues)) - in_verilog
    assert 0 <= rounding < 8 * len(queues)
    for name in one["files"]:
        assert (tmp_path / name).stat().st_size > 0
    for layer in one["layers"]:
        schedule = load_schedule(tmp_path / "schedules" / f"{layer}.yaml")
        program = json.loads((tmp_path / "programs" / f"{layer}.json").read_text(encoding="utf-8"))
        compiled = compile_layer(schedule, hardware)
        registers = [(entry["name"], entry["address"], entry["value"]) for entry in program["registers"]]
        assert registers == list(compiled.registers)
        assert program["regions"]["output"]["base"] == compiled.regions["output"].base
        assert (program["start"], program["status"]["done"]) == ({"address": 4, "value": 1}, Status.DONE)


@pytest.mark.usefixtures("without_verilog")
def test_the_memories_are_what_the_model_allocates(run: Run, tmp_path: Path) -> None:
    """An HWC of its own for one schedule: nothing to spare, as far as memories of two entries are large enough."""
    data = small().as_data()
    data["layer"] |= {"input_channels": 4, "output_channels": 40}
    data["nest"][0] = {"m": 12}
    schedule = Schedule.from_data(data)
    save_schedule(schedule, tmp_path / "s.yaml")
    (one,) = run("generate", tmp_path / "s.yaml", "-o", tmp_path / "rtl", "--json").json["hardware"]
    need = allocation(schedule)
    assert one["memories"] == {"I": need.I, "W": need.W, "O": need.O}
    assert not (tmp_path / "rtl" / "hardware.yaml").exists()


@pytest.mark.usefixtures("without_verilog")
def test_unchanged_files_are_left_alone(run: Run, tmp_path: Path) -> None:
    def stamps() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}

    assert run("generate", "lenet:C3", "-o", tmp_path).status == 0
    before = stamps()
    assert run("generate", "lenet:C3", "-o", tmp_path).status == 0
    assert stamps() == before


@pytest.mark.nightly
def test_an_hwc_for_each_layer(run: Run, tmp_path: Path) -> None:
    answer = run("generate", "lenet:C", "--per-layer", "--objective", "traffic", "-o", tmp_path, "--json")
    folders = [one["folder"] for one in answer.json["hardware"]]
    assert folders == [str(tmp_path / name) for name in ("C1", "C3", "C5")]
    assert [one["layers"] for one in answer.json["hardware"]] == [["C1"], ["C3"], ["C5"]]
    assert all((tmp_path / name / "hwc.v").exists() for name in ("C1", "C3", "C5"))


def test_refusals_leave_nothing_behind(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "rtl"
    save_schedule(small(), tmp_path / "a.yaml")
    save_schedule(small(), tmp_path / "b.yaml")
    refused(run("generate", tmp_path / "a.yaml"), "Missing option '-o'")
    refused(
        run("generate", tmp_path / "a.yaml", tmp_path / "b.yaml", "-o", folder), "small: two schedules for a layer"
    )
    refused(run("generate", "lenet", "--buffer", "64", "-o", folder), "no HWC of 64 bytes runs all 5 layers")
    refused(
        run("generate", "lenet", "--buffer", "64", "--per-layer", "-o", folder), "no schedule fits a buffer of 64"
    )
    data = small("wide").as_data()
    data["layer"] |= {"kernel": [13, 1], "input_height": 17, "padding": [0] * 4, "output_width": 18}
    data["nest"] = [{"m": 1}, {"y": 1}, {"x": 16}, {"buffer": "O"}, {"c": 1}, {"k": 1}, {"l": 1}]
    save_schedule(Schedule.from_data(data), tmp_path / "wide.yaml")
    command = ("generate", tmp_path / "a.yaml", tmp_path / "wide.yaml", "-o", folder)
    refused(run(*command), "wide: kernel: expected at most 11, got [13, 1]")
    assert not folder.exists()
    refused(run("generate", tmp_path / "a.yaml", "-o", tmp_path / "b.yaml"), "-o: expected a folder, got the file")


def test_a_cluster_and_its_programs(run: Run, tmp_path: Path) -> None:
    schedule = cases("fig8")[0]
    save_schedule(schedule, tmp_path / "s.yaml")
    save_hardware(hardware("fig8"), tmp_path / "h.yaml")
    answer = run("generate", tmp_path / "s.yaml", "--hardware", tmp_path / "h.yaml", "-o", tmp_path / "rtl", "--json")
    assert (answer.status, answer.err) == (0, "")
    (cluster,) = answer.json["clusters"]
    assert (cluster["parameters"]["hwcs"], cluster["parameters"]["tcdm_bytes"]) == (4, 1 << 16)
    for name in cluster["files"]:
        assert (tmp_path / "rtl" / name).stat().st_size > 0
    (layer,) = cluster["layers"]
    program = compile_cluster(schedule, hardware("fig8"))
    words = (tmp_path / "rtl" / "programs" / f"{layer['layer']}.hex").read_text().split()
    assert [int(word, 16) for word in words] == program.words.tolist()
    told = json.loads((tmp_path / "rtl" / "programs" / f"{layer['layer']}.json").read_text())
    assert told["registers"]["program_words"] == len(words)
    assert told["regions"]["output"]["base"] == program.layout.output.base
    save_schedule(small(), tmp_path / "small.yaml")
    both = run("generate", tmp_path / "s.yaml", tmp_path / "small.yaml", "-o", tmp_path / "rtl")
    refused(both, "SCHEDULE: expected schedules of one memory level or of two, got both")
