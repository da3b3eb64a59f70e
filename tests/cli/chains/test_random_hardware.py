"""Random hardware files through the commands: what one writes the next takes, or a line says why not.

In every run what needs no simulator; nightly also what the RTL does.
"""

import re
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import yaml

from hwgen.arch.hardware_file import hardware_keys
from hwgen.ir.hardware import save_hardware
from tests.cli.command_line import Answer, Run, refused
from tests.random.hardware import random_hardware
from tests.random.layers import fitting_layer
from tests.random.quantised import quantised_model, random_model

IN_EVERY_RUN, NIGHTLY, SIMULATED, NETWORKS = (8, 9, 12), 200, 60, 20
"""Draws in every run, nightly, and nightly in the simulator: sets of layers, quantised networks."""
MACS = 3000
UNFITTED = 0.2
"""Share of the draws whose layers may need other values than the `constants` of the hardware."""
OTHERWISE = (
    r"((stride_[yx]|group_outputs): the hardware is fitted to [12], got \d+"
    r"|(extent_[mx]|padding_top): expected below (64|256|4096), as the hardware has it, got \d+"
    r"|(Bytes from (row to row|channel to channel)|Extent of dimension [mx]|Padded rows above the input): "
    r"expected below (64|256|4096), got \d+)"
)
"""What hardware that is fitted to other layers says: a constant, or the bits of a setting."""
REASONS = (
    rf"layer\d: {OTHERWISE}",
    rf".*drawn\.onnx: expected layers with weights that drawn_\d+ runs, got (\S+: {OTHERWISE}(; |$))+",
)
"""Why hardware may not run a drawn layer or network, as the whole message is. Any other refusal is a fault."""


def files(number: int, folder: Path) -> tuple[Path, Path]:
    """A random layer set and random hardware."""
    rng = Random(f"chain {number}")
    folder.mkdir(parents=True, exist_ok=True)
    hardware, layers = folder / "hardware.yaml", folder / "set.yaml"
    drawn = random_hardware(rng)
    save_hardware(drawn, hardware)
    fitted = {} if rng.random() < UNFITTED else drawn.constants or {}
    rows = [fitting_layer(rng, f"layer{n}", MACS, fitted).model_dump(mode="json") for n in range(rng.randint(1, 2))]
    table = {"format": 1, "kind": "layer_list", "network": "drawn", "layers": rows}
    layers.write_text(yaml.safe_dump(table), encoding="utf-8")
    return layers, hardware


def done(answer: Answer) -> bool:
    """Whether the command did its work; if not, one line says why: one of the reasons that are known to be true."""
    if answer.status == 0:
        assert "Traceback" not in answer.err
        return True
    refused(answer)
    message = answer.err[len("hwgen: ") : -1]
    assert any(re.fullmatch(reason, message) for reason in REASONS), message
    return False


def simulator_of(number: int, *, clustered: bool) -> str:
    """Icarus for two of three HWCs: it builds nothing, which takes most of the time. Clusters run in Verilator."""
    return "verilator" if clustered or number % 3 == 0 else "icarus"


def chain(run: Run, number: int, folder: Path, *, simulated: bool) -> bool:
    """schedule -> predict (-> generate, cosim, cosim --program); whether the hardware runs the layers."""
    layers, hardware = files(number, folder)
    data = yaml.safe_load(hardware.read_text(encoding="utf-8"))
    size = () if "cluster" in data else ("--buffer", data["budget"])
    scheduled = run("schedule", layers, "--hardware", hardware, *size, "-o", folder / "found", "--json")
    if not done(scheduled):
        return False
    entries = scheduled.json["schedules"]
    paths = [one["file"] for one in entries]
    beside = next((folder / "found").glob("*.hardware.yaml"))
    predicted = run("predict", *paths, "--hardware", beside, "--json")
    assert done(predicted)
    predictions = predicted.json["schedules"]
    for one, two in zip(entries, predictions, strict=True):
        for key in ("layer", "file", "counts", "total_bytes", "total_with_bias"):
            assert one[key] == two[key], key
    if not simulated:
        return True
    sim = ("--sim", simulator_of(number, clustered="cluster" in data), "--json")
    assert done(run("generate", layers, "--hardware", hardware, "-o", folder / "rtl", "--json"))
    ours = judged(run("cosim", layers, "--hardware", hardware, *sim))
    theirs = judged(run("cosim", "--program", folder / "rtl", *sim))
    assert [one["measured"] for one in ours] == [two["measured"] for two in theirs]
    for one, two in zip(judged(run("cosim", *paths, "--hardware", beside, *sim)), predictions, strict=True):
        assert one["layer"] == two["layer"]
        assert _together(one["predicted"]) == _together(two["counts"])
        assert one["cycles"]["predicted"] == two["cycles"]
    return True


def _together(counts: dict[str, Any]) -> dict[str, Any]:
    """Counts whose writes of O at a TCDM are one: in a cluster partial sums share the addresses of the outputs."""
    found = {level: dict(operands) for level, operands in counts.items()}
    for level in {"tcdm", "tcdm_dma"} & set(found):
        ways = found[level]["O"]
        written = {unit: ways["write_partial"][unit] + ways["write"][unit] for unit in ("bytes", "words")}
        found[level]["O"] = {"read_partial": ways["read_partial"], "written": written}
    return found


def judged(answer: Answer) -> list[dict[str, Any]]:
    """The results, all of them equal and exact."""
    assert answer.status == 0, (answer.out, answer.err)
    results: list[dict[str, Any]] = answer.json["results"]
    assert all(one["equal"] and one["output_exact"] for one in results)
    return results


@pytest.mark.parametrize(
    "number", [one if one in IN_EVERY_RUN else pytest.param(one, marks=pytest.mark.nightly) for one in range(NIGHTLY)]
)
def test_what_is_scheduled_is_predicted(run: Run, tmp_path: Path, number: int) -> None:
    chain(run, number, tmp_path, simulated=False)


@pytest.mark.nightly
@pytest.mark.usefixtures("icarus")
@pytest.mark.parametrize("number", range(SIMULATED))
def test_what_is_generated_runs(run: Run, tmp_path: Path, number: int) -> None:
    chain(run, number, tmp_path, simulated=True)


@pytest.mark.nightly
@pytest.mark.usefixtures("icarus")
@pytest.mark.parametrize("number", range(NETWORKS))
def test_a_quantised_network_runs(run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str], number: int) -> None:
    """On hardware that scales sums, with order and memories."""
    rng, numbers = Random(f"network {number}"), np.random.default_rng(number)
    drawn = (random_hardware(rng) for _ in range(1000))
    fitted = rng.random() < UNFITTED
    fit = (one for one in drawn if one.requantisation == "scaled" and one.order and one.buffers)
    machine = next(one for one in fit if fitted or one.constants is None)
    save_hardware(machine, tmp_path / "hardware.yaml")
    quantised_model(numbers, random_model(numbers), tmp_path / "drawn.onnx")
    capfd.readouterr()  # what the quantiser says
    answer = run(
        "run", tmp_path / "drawn.onnx", "--hardware", tmp_path / "hardware.yaml", "--seed", number,
        "-o", tmp_path / "out", "--sim", simulator_of(number, clustered=machine.cluster is not None), "--json",
    )  # fmt: skip
    if done(answer):
        assert answer.json["exact"]
        assert all(one["equal"] and one["exact"] for one in answer.json["layers"])


def test_every_key_is_drawn() -> None:
    """Each with several values, or absent and there."""
    seen: dict[str, set[str]] = {key.name: set() for key in hardware_keys()}
    for number in range(300):
        data = random_hardware(Random(number)).model_dump(mode="json")
        for name, values in seen.items():
            place: Any = data
            for part in name.split("."):
                place = place.get(part) if isinstance(place, dict) else None
            values.add(str(place))
    assert [name for name, values in seen.items() if len(values) < 2] == []


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
