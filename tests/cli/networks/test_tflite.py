"""TFLite models at the commands."""

from pathlib import Path

import numpy as np
import pytest

from tests.cli.command_line import Run, refused
from tests.random.tflite_models import Drawn

KINDS = ["convolution", "pool", "mean", "product", "softmax"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return Drawn(3).write(tmp_path / "small.tflite", KINDS)


def test_nodes_and_a_run_of_several_images(run: Run, model: Path, tmp_path: Path) -> None:
    document = run("network", model, "--json").json
    kinds = [node["kind"] for node in document["nodes"]]
    assert "conv" in kinds
    assert (document["onnxruntime"], document.get("litert")) == (None, None)
    (shape,) = {tuple(node["shape"]) for node in document["nodes"] if node["name"] == "t0::planes"}
    array = np.random.default_rng(1).integers(-128, 128, (3, *shape[2:], shape[1])).astype(np.int8)
    np.save(tmp_path / "x.npy", array)
    out = tmp_path / "out"
    document = run("network", model, "--input", tmp_path / "x.npy", "-o", out, "--json").json
    assert document["onnxruntime"] is None
    assert document["litert"]["holds"]
    (output,) = document["outputs"].values()
    made = np.load(out / output)
    assert (made.shape[0], made.dtype) == (3, np.int8)
    answer = run("network", model, "--seed", "1").out
    assert "nodes that differ from LiteRT's" in answer
    assert "all nodes" in answer


def test_layers_and_a_forecast(run: Run, model: Path) -> None:
    layers = run("layers", model, "--json").json["layers"]
    assert [layer["op"] for layer in layers if layer["macs"]] == ["conv", "fc"]
    assert run("predict", model, "--json").json["networks"][0]["hardware"] == "cluster_64_vector"


@pytest.mark.nightly
@pytest.mark.icarus
def test_sums_round_twice_in_the_hardware(run: Run, model: Path, tmp_path: Path) -> None:
    command = ("run", model, "--hardware", "hwc_16", "--sim", "icarus", "--seed", "1", "-o", tmp_path / "out")
    document = run(*command, "--json").json
    assert document["exact"]
    assert document["litert"]["holds"]
    assert all(layer["exact"] and layer["equal"] for layer in document["layers"])


@pytest.mark.parametrize("command", ["network", "layers", "schedule"])
def test_a_broken_file(run: Run, model: Path, tmp_path: Path, command: str) -> None:
    broken = tmp_path / "broken.tflite"
    broken.write_bytes(model.read_bytes()[:400])
    more = ("--buffer", "1KiB", "-o", tmp_path / "o") if command == "schedule" else ()
    refused(run(command, broken, *more), "broken.tflite: expected a TFLite model (is the file whole?)")
