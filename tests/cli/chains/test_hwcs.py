"""Commands that chain: what ``schedule -o found`` writes, ``predict``, ``cosim``, ``generate`` and ``synth`` take."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import hwgen.api.cosimulation
import hwgen.api.generation.hwcs
import hwgen.api.synthesis
from hwgen.arch.hardware_file import load_hardware
from hwgen.arch.hwc import HwcParameters
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Hardware, save_hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import load_schedule
from hwgen.lower.hwc import compile_layer
from hwgen.synthesis.ecp5 import Area, Device, Gates, Synthesis
from hwgen.synthesis.timing import CriticalPath
from tests.cli.command_line import Run, refused

LAYERS: list[dict[str, Any]] = [
    {"name": "a", "op": "conv", "input_channels": 2, "output_channels": 3, "input_height": 5, "input_width": 18,
     "output_height": 5, "output_width": 18, "kernel": [3, 3], "padding": [1, 1, 1, 1]},
    {"name": "b", "op": "conv", "input_channels": 3, "output_channels": 5, "input_height": 5, "input_width": 18,
     "output_height": 5, "output_width": 18, "kernel": [1, 1]},
]  # fmt: skip


LONE = {"input_channels": 8, "output_channels": 32, "input_height": 1, "input_width": 1, "output_height": 1,
        "output_width": 1}  # fmt: skip


@pytest.fixture
def layers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small layer set in an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": LAYERS}
    Path("my.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    return "my.yaml"


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], Hardware | None]]:
    """What reaches the simulator, in its stead: names of layers and hardware of each call."""
    seen: list[tuple[list[str], Hardware | None]] = []

    def record(schedules: Any, hardware: Any, **_: Any) -> list[Any]:
        seen.append(([schedule.layer.name for schedule in schedules], hardware))
        for schedule in schedules:
            compile_layer(schedule, hardware)
        return []

    monkeypatch.setattr(hwgen.api.cosimulation, "cosimulate", record)
    return seen


PURE = "runs on no HWC; for schedules, and an HWC that runs them: hwgen schedule SET --buffer 1KiB --shared -o DIR"


def test_the_pure_model(run: Run, layers: str) -> None:
    assert run("schedule", layers, "--buffer", "256,1KiB", "-o", "found").status == 0
    predicted = run("predict", "found", "--json").json["schedules"]
    assert [one["macs"] for one in predicted] == [2 * 3 * 9 * 90, 3 * 5 * 90] * 2
    assert [one["file"] for one in predicted] == [
        "found/1KiB/a.yaml", "found/1KiB/b.yaml", "found/256B/a.yaml", "found/256B/b.yaml"]  # fmt: skip
    refused(run("cosim", "found"), f"found/1KiB/a.yaml: a schedule of the pure model, without lanes, {PURE}")
    refused(run("generate", "found/256B/b.yaml", "-o", "rtl"), f"found/256B/b.yaml: a schedule of the pure model, "
                                                               f"without lanes, {PURE}")  # fmt: skip
    refused(run("synth", "found"), PURE)


def test_the_document_has_the_hardware(run: Run, layers: str) -> None:
    """It is that of the file; of several sizes there is one for each."""
    shared = ("schedule", layers, "--shared", "--objective", "traffic", "--multipliers", 4, "--json")
    found = run(*shared, "--buffer", 512, "-o", "found").json["hardware"]
    assert Hardware.from_data(found) == load_hardware(Path("found/shared.hardware.yaml"))
    several = run(*shared, "--buffer", "512,1KiB").json["hardware"]
    assert several[0] == found
    assert [one["budget"] for one in several] == [512, 1024]
    given = run("schedule", layers, "--hardware", "m4c4_1KiB", "--objective", "traffic", "--json").json
    assert given["hardware"] == load_hardware(named_file("hardware", "m4c4_1KiB")).as_data()
    assert "hardware" not in run("schedule", layers, "--buffer", 512, "--json").json


@pytest.mark.nightly
def test_one_hwc_for_all_layers_into_rtl(run: Run, layers: str) -> None:
    """The chain that the line above names, into the simulator; it is the HWC that cosim finds for the set."""
    assert run("schedule", layers, "--buffer", "1KiB", "--shared", "-o", "found").status == 0
    hardware = load_hardware(Path("found/shared.hardware.yaml"))
    predicted = {one["layer"]: one for one in run("predict", "found", "--json").json["schedules"]}
    chained = run("cosim", "found", "--json")
    assert chained.status == 0
    assert [(one["layer"], one["equal"], one["output_exact"]) for one in chained.json["results"]] == [
        ("a", True, True), ("b", True, True)]  # fmt: skip
    for one in chained.json["results"]:
        assert one["cycles"]["predicted"] == predicted[one["layer"]]["cycles"]
    direct = run("cosim", layers, "--buffer", "1KiB", "--save-schedules", "kept", "--json").json["results"]
    timeless = {"seconds": 0, "cpu_seconds": 0}
    assert [{**one, **timeless} for one in chained.json["results"]] == [{**one, **timeless} for one in direct]
    # What cosim was given a set for, it keeps if asked: the same files.
    names = ["a.yaml", "b.yaml", "shared.hardware.yaml"]
    assert sorted(path.name for path in Path("kept").glob("[!.]*")) == names
    assert load_hardware(Path("kept/shared.hardware.yaml")) == hardware
    for name in names[:2]:
        assert load_schedule(Path("kept", name)) == load_schedule(Path("found", name))
    refused(run("cosim", layers, "--save-schedules", layers), "--save-schedules: expected a folder, got the file")
    assert run("generate", "found", "-o", "rtl").status == 0
    assert load_hardware(Path("rtl/hardware.yaml")) == hardware
    again = run("predict", "rtl", "--json").json["schedules"]
    assert [(one["layer"], one["cycles"]) for one in again] == [(name, predicted[name]["cycles"]) for name in "ab"]


def test_given_hardware(run: Run, layers: str, simulated: list[tuple[list[str], Hardware | None]]) -> None:
    """Hardware lies beside the schedules of each size, with the size as its budget; that on the command line wins."""
    lanes = Lanes(x=16)
    save_hardware(Hardware(name="wide", lanes=lanes, budget=4096), Path("wide.yaml"))
    assert run("schedule", layers, "--buffer", "512,1KiB", "--hardware", "wide.yaml", "-o", "found").status == 0
    assert run("cosim", "found").status == 0
    beside = [Hardware(name="wide", lanes=lanes, budget=size) for size in (1024, 512)]
    assert simulated == [(["a", "b"], hardware) for hardware in beside]
    assert run("cosim", "found/512B/b.yaml").status == 0
    assert simulated[-1] == (["b"], beside[1])
    assert run("cosim", "found/512B", "--hardware", "wide.yaml").status == 0
    assert simulated[-1] == (["a", "b"], load_hardware(Path("wide.yaml")))


def plan_of_several(run: Run) -> list[dict[str, Any]]:
    """A plan of two HWCs in ``found``: a row of pixels and a lone pixel keep other lanes busy."""
    layers = [{**LAYERS[0], "name": "row"}, {**LAYERS[1], **LONE, "name": "lone"}]
    table = {"format": 1, "kind": "layer_list", "network": "two", "layers": layers}
    Path("two.yaml").write_text(yaml.safe_dump(table), encoding="utf-8")
    plan = ("schedule", "two.yaml", "--buffer", "512", "--min-utilisation", "0.3", "--max-ratio", "9")
    answer = run(*plan, "-o", "found", "--json")
    assert answer.status == 0, answer.err
    assert len(answer.json["hardware"]) == 2
    schedules: list[dict[str, Any]] = answer.json["schedules"]
    return schedules


def test_several_hwcs(
    run: Run, layers: str, simulated: list[tuple[list[str], Hardware | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    schedules = plan_of_several(run)
    beside = [load_hardware(Path(one["file"]).parent / f"{one['hardware']}.hardware.yaml") for one in schedules]
    parameters = [
        compile_layer(load_schedule(Path(one["file"])), hardware).parameters
        for one, hardware in zip(schedules, beside, strict=True)
    ]
    predicted = run("predict", "found", "--json").json["schedules"]
    assert {one["layer"]: one["file"] for one in predicted} == {one["layer"]: one["file"] for one in schedules}
    assert all(one["stalls"] is not None for one in predicted)
    assert run("cosim", "found").status == 0
    assert sorted(simulated, key=str) == sorted(
        (([one["layer"]], hardware) for one, hardware in zip(schedules, beside, strict=True)), key=str)  # fmt: skip
    monkeypatch.setattr(hwgen.api.generation.hwcs, "generated", lambda given, **_: f"// {given}\n")
    answer = run("generate", "found", "-o", "rtl", "--json")
    for one, hardware in zip(schedules, beside, strict=True):
        assert load_hardware(Path("rtl", one["hardware"], "hardware.yaml")) == hardware
    texts = {Path("rtl", one["hardware"], "hwc.v").read_text(encoding="utf-8") for one in schedules}
    assert texts == {f"// {given}\n" for given in parameters}
    assert {one["folder"] for one in answer.json["hardware"]} == {f"rtl/{one['hardware']}" for one in schedules}
    synthesised: list[HwcParameters] = []

    def record(given: HwcParameters, *_: object, **__: object) -> Synthesis:
        synthesised.append(given)
        return Synthesis(Device(), 99.0, CriticalPath("a", "b", 1.0, 2.0), Area(), {}, Gates(1, 1, 1, 1), {})

    monkeypatch.setattr(hwgen.api.synthesis, "synthesise_hwc", record)
    told = run("synth", "found", "--json").json["hardware"]
    assert sorted(one["layers"] for one in told) == [["lone"], ["row"]]
    assert set(synthesised) == set(parameters)


@pytest.mark.nightly
def test_several_hwcs_into_rtl(run: Run, layers: str) -> None:
    plan_of_several(run)
    results = run("cosim", "found", "--json").json["results"]
    assert {(one["layer"], one["equal"], one["output_exact"]) for one in results} == {
        ("row", True, True), ("lone", True, True)}  # fmt: skip
    assert len({one["folder"] for one in results}) == 2


def test_folders_that_are_refused(run: Run, layers: str) -> None:
    command = ("schedule", layers, "--buffer", "1KiB", "--hardware", "hwc")
    assert run(*command, "-o", "found").status == 0
    assert run(*command, "-o", "found").status == 0
    refused(run("schedule", layers, "--buffer", "1KiB", "-o", "found"), "-o: expected a folder for schedules without "
            "hardware, got found with hwc.hardware.yaml")  # fmt: skip
    save_hardware(Hardware(name="second"), Path("found/second.hardware.yaml"))
    refused(run("predict", "found/a.yaml"), "found: expected one hardware file beside schedules, or --hardware, got "
            "hwc.hardware.yaml, second.hardware.yaml")  # fmt: skip
    assert run("predict", "found/a.yaml", "--hardware", "hwc").status == 0
    Path("found/second.hardware.yaml").write_text("kind: something\n", encoding="utf-8")
    refused(run("predict", "found"), "second.hardware.yaml: kind: expected schedule, got 'something'")


def test_hardware_with_a_setting_too_narrow(run: Run, tmp_path: Path) -> None:
    """`schedule` and `predict` refuse what `generate` refuses: they make the program, too."""
    layers, found = tmp_path / "set.yaml", tmp_path / "found"
    row = {"name": "a", "op": "conv", "input_channels": 4, "output_channels": 16, "input_height": 8, "input_width": 8,
           "kernel": 3, "padding": "same"}  # fmt: skip
    layers.write_text(
        yaml.safe_dump({"format": 1, "kind": "layer_list", "network": "n", "layers": [row]}), encoding="utf-8"
    )
    wide, narrow = (tmp_path / f"{name}.yaml" for name in ("wide", "narrow"))
    for path, more in ((wide, {}), (narrow, {"setting_bits": {"weight_base": 4}})):
        data = {"format": 1, "kind": "hardware", "name": "h", "lanes": {"m": 4}, **more}
        path.write_text(yaml.safe_dump(data), encoding="utf-8")
    assert run("schedule", layers, "--hardware", wide, "--buffer", "1KiB", "-o", found).status == 0
    said = "a: Byte address of the packed weights: expected below 16, got "
    refused(run("schedule", layers, "--hardware", narrow, "--buffer", "1KiB", "-o", tmp_path / "no"), said)
    assert not (tmp_path / "no").exists()
    refused(run("predict", found / "a.yaml", "--hardware", narrow), said)
    refused(run("generate", layers, "--hardware", narrow, "-o", tmp_path / "no"), said)


def test_what_the_layer_alone_tells_is_said_before_a_search(run: Run, tmp_path: Path) -> None:
    """Also of hardware that is fitted to nothing."""
    layers, hardware = tmp_path / "set.yaml", tmp_path / "hardware.yaml"
    row = {"name": "a", "op": "conv", "input_channels": 4, "output_channels": 4, "input_height": 2, "kernel": 1}
    table = {"format": 1, "kind": "layer_list", "network": "n", "layers": [{**row, "input_width": 300}]}
    layers.write_text(yaml.safe_dump(table), encoding="utf-8")
    data = {"format": 1, "kind": "hardware", "name": "h", "lanes": {"m": 4}, "position_bits": 8}
    hardware.write_text(yaml.safe_dump(data), encoding="utf-8")
    refused(
        run("schedule", layers, "--hardware", hardware, "--buffer", "1KiB", "-o", tmp_path / "no"),
        "a: input_width: expected below 256, as the hardware has it, got 300",
    )
    assert not (tmp_path / "no").exists()
