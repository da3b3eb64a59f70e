"""``hwgen design``: what it writes is a hierarchy with schedules on it; what is searched is not searched again."""

import csv
from pathlib import Path

import numpy as np
import pytest

import hwgen.cli.commands.design as command
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.lower.network.cluster_plan import plan_cluster
from hwgen.readers.integers.reader import read_quantised
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import Draft

NAMES = ("wide", "point")
LAYERS = """
format: 1
kind: layer_list
network: two
layers:
- {name: wide, op: conv, input_channels: 4, output_channels: 8, input_height: 6, input_width: 6, output_height: 6,
   output_width: 6, kernel: [3, 3], padding: [1, 1, 1, 1]}
- {name: point, op: conv, input_channels: 8, output_channels: 4, input_height: 6, input_width: 6, output_height: 6,
   output_width: 6, kernel: [1, 1]}
"""


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / "two.yaml"
    path.write_text(LAYERS)
    return path


@pytest.mark.nightly
def test_memories_and_schedules_together(
    run: Run, layers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    asked = ["design", layers, "--sram", "2KiB", "--sizes", "256,1KiB", "-o", out]
    found = run(*asked, "--json").json
    assert found["hierarchies"] == 5  # 256, 1 KiB, 2 KiB; 1 KiB and 1.75 KiB with 256 bytes inside
    assert found["bound"] <= found["energy"] == sum(entry["energy"] for entry in found["layers"])
    assert found["energy_alone"] <= found["energy"] <= found["ten_best"]["energy"]
    files = [entry["file"] for entry in found["layers"]]
    assert files == [str(out / "schedules" / f"{name}.yaml") for name in NAMES]
    predicted = run("predict", "--hierarchy", out / "hierarchy.yaml", *files, "--json").json
    energies = [entry["energy"]["total"] for entry in predicted["schedules"]]
    assert energies == pytest.approx([entry["energy"] for entry in found["layers"]], rel=1e-12)
    with (out / "design.csv").open() as file:
        table = list(csv.DictReader(file))
    assert min(float(row["energy_pj"]) for row in table) == found["energy"]
    assert (out / "front.png").stat().st_size > 5000

    monkeypatch.setattr(command, "HierarchyRequest", None)  # nothing is asked for again
    again = run(*asked)
    assert (again.status, again.err) == (0, "")
    assert "chosen" in again.out
    assert max(map(len, again.out.splitlines())) <= 80


@pytest.mark.parametrize("simulated", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_cluster_is_designed_and_runs(run: Run, layers: Path, tmp_path: Path, simulated: bool) -> None:
    """Two HWCs that read together: what the buses show costs what was predicted, to the last digit."""
    out = tmp_path / "cluster"
    found = run("design", layers, "--sram", "8KiB", "--cores", "2", "--lanes", "m2c2", "-o", out, "--json").json
    buffers, hardware = found["buffers"], found["hardware"]
    assert found["bytes"] == found["tcdm"] + 2 * sum(buffers.values()) <= 8192
    assert (hardware["cluster"]["hwcs"], hardware["cluster"]["multicast"]) == (2, True)
    assert {entry["partition"] for entry in found["layers"]} <= {"K", "XY", "K+XY"}
    energies = [entry["energy"]["total"] for entry in found["layers"]]
    assert found["energy"] == sum(energies) > found["energy_without_program"]
    predicted = run("predict", out, "--json").json["schedules"]
    assert sorted(entry["energy"]["total"] for entry in predicted) == sorted(energies)
    if not simulated:
        return
    ran = run("cosim", out, "--json").json["results"]
    assert all(result["equal"] and result["output_exact"] for result in ran)
    assert sorted(result["energy"]["measured"]["total"] for result in ran) == sorted(energies)
    assert {result["energy"]["datapath"] for result in ran} == {"predicted"}


@pytest.mark.parametrize("simulated", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_cluster_for_a_quantised_network_runs_it(run: Run, tmp_path: Path, simulated: bool) -> None:
    """What `hwgen run` needs of hardware is there: sums are scaled, and there is a vector unit for pools."""
    model, out = pooled(tmp_path / "model.onnx"), tmp_path / "cluster"
    found = run(
        "design", model, "--sram", "16KiB", "--cores", "2", "--lanes", "m2c2", "--partial", "-o", out, "--json"
    )
    assert found.status == 0, found.err
    hardware = found.json["hardware"]
    assert (hardware["requantisation"], hardware["cluster"]["vector"]) == ("scaled", True)
    for file in (out / "design.hardware.yaml", named_file("hardware", "cluster_64_vector")):
        plan = plan_cluster(read_quantised(model), load_hardware(file))
        assert (len(plan.layers), plan.refused) == (2, {})
    if simulated:
        on = ("--hardware", out / "design.hardware.yaml", "--seed", "1", "-o", tmp_path / "run", "--json")
        ran = run("run", model, *on)
        assert ran.status == 0, ran.err
        assert (ran.json["exact"], len(ran.json["layers"]), ran.json["refused"]) == (True, 2, {})
        return
    refused(
        run("design", model, "--sram", "1MiB", "--cores", "8", "--partial", "-o", out), "--cores: expected at most 7"
    )


def pooled(path: Path) -> Path:
    """A convolution and a pool."""
    draft = Draft([1, 4, 6, 6])
    weights = draft.weights(np.random.default_rng(1).integers(-127, 128, (8, 4, 3, 3)), 0.01)
    first = draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=[3, 3])
    last = draft.node("MaxPool", draft.both(first, 0.07, 90), kernel_shape=[2, 2])
    return draft.write(path, draft.both(last, 0.07, 90), [1, 8, 3, 3])


def test_wrong_options_are_refused(run: Run, layers: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(run("design", layers, "-o", out), "--sram, --area: expected one of them")
    refused(run("design", layers, "--sram", "1KiB", "--area", 1, "-o", out), "--sram, --area: expected one of them")
    refused(run("design", layers, "--sram", "100", "-o", out), "--sram: a budget of 100 bytes: expected room for 4")
    refused(
        run("design", layers, "--sram", "100", "--levels", 2, "-o", out), "--sram: a budget of 100 bytes: expected"
    )
    refused(
        run("design", layers, "--sram", "1MiB", "--cores", "9", "-o", out), "--cores: expected numbers from 1 to 8"
    )
    refused(
        run("design", layers, "--sram", "1MiB", "--cores", "2", "--levels", 2, "-o", out), "--cores: expected without"
    )
    refused(
        run("design", layers, "--sram", "1MiB", "--lanes", "m2", "-o", out), "--lanes: lanes: expected powers of two"
    )
    refused(
        run("design", layers, "--area", 0.3, "-o", out), "--area: expected more than the 0.43 mm2 without memories"
    )
    refused(run("design", layers, "--sram", "1KiB,2KiB", "-o", out), "--sram: expected one size, got 1KiB,2KiB")
    refused(
        run("design", layers, "--sram", "1KiB", "--lanes", "m", "-o", out), "--lanes: expected lanes such as m8x2"
    )
    refused(run("design", layers, "--sram", "1KiB", "--sizes", "big", "-o", out), "--sizes: expected sizes such as")
    assert not out.exists()


@pytest.mark.nightly
def test_less_energy_than_a_cluster_by_hand(run: Run, tmp_path: Path) -> None:
    """AlexNet's rows within 256 KiB, local memories included; the schedules by hand have 256 KiB of TCDM alone."""
    found = run("design", "stoutchinin_2019:alexnet", "--sram", "256KiB", "-o", tmp_path / "out", "--json").json
    by_hand = run("predict", "alexnet_cluster", "--json").json["schedules"]
    assert found["bytes"] <= 256 << 10
    assert found["energy"] < 0.5 * sum(entry["energy"]["total"] for entry in by_hand)
