"""Layers with a batch through the commands: on a cluster they run, on one HWC alone they are refused."""

from pathlib import Path

import pytest
import yaml

from hwgen.ir.hardware import save_hardware
from tests.cli.command_line import Run, refused
from tests.cosim.cluster.test_clusters import hardware

LAYERS = [
    {
        "name": "fc", "op": "fc", "input_channels": 64, "output_channels": 24, "input_height": 1, "input_width": 1,
        "kernel": 1, "batch": 4,
    },
    {
        "name": "grouped", "op": "conv", "input_channels": 4, "output_channels": 6, "input_height": 7,
        "input_width": 9, "kernel": 3, "stride": 2, "padding": 1, "groups": 2, "batch": 3,
    },
]  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A layer file with batches."""
    path = tmp_path / "set.yaml"
    path.write_text(yaml.safe_dump({"format": 1, "kind": "layer_list", "network": "n", "layers": LAYERS}), "utf-8")
    return path


def test_batches_on_a_cluster(run: Run, tmp_path: Path, table: Path) -> None:
    """What is scheduled is predicted, generated and measured, to the byte; the weights come once for all images."""
    save_hardware(hardware("fig8"), tmp_path / "hardware.yaml")
    folder, rtl = tmp_path / "found", tmp_path / "rtl"
    on = ("--hardware", tmp_path / "hardware.yaml")
    answer = run("schedule", table, *on, "--objective", "traffic", "-o", folder, "--json")
    assert (answer.status, answer.err) == (0, "")
    fc, grouped = answer.json["schedules"]
    assert fc["counts"]["dram"]["W"]["read"]["bytes"] == 64 * 24
    assert fc["counts"]["dram"]["I"]["read"]["bytes"] == 4 * 64
    assert grouped["counts"]["dram"]["O"]["write"]["bytes"] == 3 * 6 * 4 * 5
    assert fc["gap"] == grouped["gap"] == 0
    predicted = run("predict", folder, "--json").json["schedules"]
    assert [one["macs"] for one in predicted] == [4 * 64 * 24, 3 * 6 * 2 * 9 * 4 * 5]
    assert [one["counts"] for one in predicted] == [fc["counts"], grouped["counts"]]
    assert run("generate", folder, "-o", rtl).status == 0
    results = {one["layer"]: one for one in run("cosim", "--program", rtl, "--json").json["results"]}
    assert all(one["equal"] and one["output_exact"] for one in results.values())
    assert [results[one["layer"]]["measured"] for one in predicted] == [one["counts"] for one in predicted]


def test_a_cluster_is_designed_for_batches(run: Run, tmp_path: Path, table: Path) -> None:
    """Its memories do not hold the weights of the first layer, which come once for all images."""
    out = tmp_path / "designed"
    made = run("design", table, "--sram", "1536", "--cores", "1", "--lanes", "m2c2", "-o", out, "--json")
    assert (made.status, made.err) == (0, "")
    assert made.json["bytes"] <= 1536 == 64 * 24
    fc, _ = run("predict", out, "--json").json["schedules"]
    assert fc["counts"]["dram"]["W"]["read"]["bytes"] == 64 * 24
    assert fc["energy"] == made.json["layers"][0]["energy"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("schedule", "--hardware", "hwc"), "fc: batch: expected 1: only a cluster runs several images, got 4"),
        (("cosim", "--hardware", "hwc"), "fc: batch: expected 1: only a cluster runs several images, got 4"),
    ],
)
def test_one_hwc_alone_refuses_them(run: Run, table: Path, command: tuple[str, ...], message: str) -> None:
    name, *options = command
    refused(run(name, table, *options), message)
