"""``hwgen network``: tables, runs and refusals."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.command_line import Run, refused
from tests.readers.integers.models import Draft, small


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return small(tmp_path / "small.onnx")


def saved(path: Path, array: np.ndarray) -> Path:
    np.save(path, array)
    return path


def test_the_nodes_and_their_shares(run: Run, tmp_path: Path) -> None:
    draft = Draft([1, 4, 6])
    made = draft.node("MatMul", draft.both("x", 0.1, 128), draft.weights(np.ones((6, 5)), 0.1))
    path = draft.write(tmp_path / "soft.onnx", draft.node("Softmax", draft.both(made, 0.1, 3)), [1, 4, 5])
    answer = run("network", str(path))
    assert answer.status == 0
    assert "hardware can run 100.00% of all MACs" in answer.out
    assert "host: Softmax t6 (its output is not quantised)\n" in answer.out
    document = run("network", str(path), "--json").json
    assert [node["runs_on"] for node in document["nodes"]] == ["host", "hardware", "host", "host"]
    assert [node["macs"] for node in document["nodes"]] == [0, 120, 0, 0]
    assert document["totals"]["macs"] == 120
    assert document["onnxruntime"] is None


@pytest.mark.parametrize("named", [True, False])
def test_names_and_the_host_are_told_alike(named: bool, run: Run, tmp_path: Path) -> None:
    """A flattening is a view, which nothing runs; a layer is called as its node, or as the output of that."""
    draft, rng = Draft([1, 2, 5, 6]), np.random.default_rng(1)
    window = draft.weights(rng.integers(-90, 90, (4, 2, 3, 3)), [0.01] * 4)
    made = draft.both(draft.node("Conv", draft.both("x", 0.05, 100), window, kernel_shape=[3, 3]), 0.2, 7)
    flat = draft.both(draft.node("Flatten", made), 0.2, 7)
    last = draft.both(draft.node("MatMul", flat, draft.weights(rng.integers(-9, 9, (48, 5)), 0.1)), 0.9, 3)
    path = draft.write(tmp_path / "flat.onnx", last, [1, 5])
    if not named:
        model = onnx.load(path)
        for node in model.graph.node:
            node.name = ""
        onnx.save(model, path)
    layers = [layer["name"] for layer in run("layers", path, "--json").json["layers"]]
    machine = ("--hardware", "cluster_64_vector")
    found = run("network", path, *machine, "--json").json
    at = {node["kind"]: node for node in found["nodes"]}
    assert layers == (["n3", "n10"] if named else ["t3", "t10"])
    assert layers == [at[kind]["onnx"][0] for kind in ("conv", "product")]
    assert (at["view"]["runs_on"], at["conv"]["runs_on"]) == (None, "hardware")
    assert found["host"] == [at["quantise"]["name"], at["dequantise"]["name"]]
    (forecast,) = run("predict", path, *machine, "--json").json["networks"]
    assert list(forecast["host"]) == found["host"]
    lines = [line for line in run("network", path, *machine).out.splitlines() if line.startswith("host: ")]
    ran = run("run", path, *machine, "--seed", 1, "-o", tmp_path / "out")
    assert [line for line in ran.out.splitlines() if line.startswith("host: ")] == lines
    assert len(lines) == 2


def test_a_run_beside_onnx_runtime(run: Run, model: Path, tmp_path: Path) -> None:
    image = saved(tmp_path / "x.npy", np.random.default_rng(5).normal(size=(1, 2, 5, 6)).astype(np.float32))
    out = tmp_path / "out"
    document = run("network", str(model), "--input", str(image), "-o", str(out), "--tensors", "--json").json
    assert document["onnxruntime"]["equal"] == 1
    assert document["onnxruntime"]["end_to_end"]["t5"] == {"equal": 1, "largest_difference": 0}
    made = np.load(out / document["outputs"]["t5"])
    assert (made.dtype, made.shape) == (np.float32, (1, 3, 5, 6))
    tensors = {path.stem: np.load(path) for path in (out / "tensors").iterdir()}
    assert set(tensors) == {"x", "t1", "t4", "t5"}
    assert tensors["t4"].dtype == np.int8
    np.testing.assert_array_equal(tensors["t5"], made)
    np.testing.assert_array_equal(
        ((tensors["t4"].astype(int) + 128 - 7) * np.float32(0.103)).astype(np.float32), made
    )
    assert "all nodes" in run("network", str(model), "--seed", "3").out


@pytest.mark.parametrize(
    ("array", "parts"),
    [
        (
            np.zeros((1, 2, 5, 7), np.float32),
            ("x.npy: input x: expected float32 of 1x2x5x6, got float32 of 1x2x5x7",),
        ),
        (np.zeros((1, 2, 5, 6), np.float64), ("expected float32 of 1x2x5x6, got float64",)),
        (np.zeros((0, 2, 5, 6), np.float32), ("expected at least one image, got 0",)),
        (np.float32(0), ("got float32 of no dimensions",)),
    ],
)
def test_an_input_of_another_shape(
    run: Run, model: Path, tmp_path: Path, array: np.ndarray, parts: list[str]
) -> None:
    refused(run("network", str(model), "--input", str(saved(tmp_path / "x.npy", array))), *parts)


def test_bad_input(run: Run, model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.npy"
    text.write_text("no array", encoding="utf-8")
    refused(run("network", str(model), "--input", str(text)), "text.npy: expected an array that numpy.save wrote")
    refused(run("network", str(model), "--input", str(tmp_path / "none.npy")), "none.npy: cannot be read")
    refused(run("network", str(model), "-o", "out"), "-o: expected with --input or --seed")
    refused(run("network", str(model), "--seed", "1", "--tensors"), "--tensors: expected with -o")
    refused(run("network", str(model), "--seed", "1", "--input", "x"), "--seed: not with --input")
    refused(run("network", str(tmp_path / "none.onnx")), "none.onnx: cannot be read")
    model.write_bytes(model.read_bytes()[:200])
    refused(run("network", str(model)), "small.onnx: ")


def test_a_reference_that_is_wrong_is_found(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hwgen.golden.quantised import execution
    from hwgen.ir.network.kinds import Convolution

    right = execution.REFERENCES[Convolution]
    monkeypatch.setitem(execution.REFERENCES, Convolution, lambda node, operands: right(node, operands) + np.int8(1))
    answer = run("network", str(model), "--seed", "3")
    assert answer.status == 1
    assert "t4" in answer.out
