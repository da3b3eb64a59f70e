"""``hwgen run``: layers of a quantised network in the RTL, and refusals."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.arch.cluster import START_AFTER_START
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import Draft, small

CLUSTER = Cluster(hwcs=2, tcdm=1 << 14, vector=True)


@pytest.fixture
def hardware(tmp_path: Path) -> Path:
    return saved(tmp_path, requantisation="scaled")


def saved(folder: Path, **update: object) -> Path:
    """A hardware file of a small HWC, some of it otherwise."""
    machine = load_hardware(named_file("hardware", "m4c4_1KiB")).model_copy(update=update)
    path = folder / "hwc.yaml"
    save_hardware(Hardware.from_data(machine.as_data()), path)
    return path


def mixed(path: Path) -> Path:
    """A depthwise convolution, a dilated one, a pool and a product of three rows, 2 images of 2 x 6 x 5 at a time."""
    draft, rng = Draft([2, 2, 6, 5]), np.random.default_rng(7)
    weights = draft.weights(rng.integers(-127, 128, (4, 1, 3, 3)), rng.uniform(0.005, 0.02, 4))
    bias = draft.numbers(draft.constant([90, -700, 5, 0], np.int32), [0.0005] * 4, 0, np.int32, axis=0)
    first = draft.node(
        "Conv", draft.both("x", 0.05, 100), weights, bias, group=2, kernel_shape=[3, 3], pads=[1, 1, 0, 1],
        strides=[2, 1],
    )  # fmt: skip
    weights = draft.weights(rng.integers(-127, 128, (2, 4, 2, 2)), 0.01)
    second = draft.node("Conv", draft.both(first, 0.07, 90), weights, kernel_shape=[2, 2], dilations=[1, 2])
    pooled = draft.node("MaxPool", draft.both(second, 0.09, 30), kernel_shape=[1, 1])
    rows = draft.node("Reshape", draft.both(pooled, 0.09, 30), draft.constant([2, 3, 4], np.int64))
    product = draft.node("MatMul", rows, draft.weights(rng.integers(-127, 128, (4, 5)), 0.01, axis=1))
    return draft.write(path, draft.both(product, 0.1, 120), [2, 3, 5])


def test_layers_in_the_hardware_and_the_rest_on_the_host(run: Run, tmp_path: Path, hardware: Path) -> None:
    model, out = mixed(tmp_path / "mixed.onnx"), tmp_path / "out"
    command = ("run", model, "--hardware", hardware, "--seed", "1", "--sim", "icarus", "-o", out)
    document = run(*command, "--json").json
    layers = document["layers"]
    assert [layer["image"] for layer in layers] == [0, 0, 0, 1, 1, 1]
    assert all(layer["exact"] and layer["equal"] and not layer["failures"] for layer in layers)
    assert [layer["schedule"]["layer"]["op"] for layer in layers[:3]] == ["depthwise_conv", "conv", "conv"]
    assert document["exact"] is True
    assert document["onnxruntime"]["largest_difference"] <= 1
    assert document["refused"] == {}
    assert document["zeros"] == {layers[1]["node"]: pytest.approx(1 / 3, abs=1e-3)}  # 2 x 3 for 2 x 2 taps
    assert {layer["node"] for layer in layers}.isdisjoint(document["host"])
    assert document["cycles"]["measured"] == sum(layer["cycles"]["measured"] for layer in layers)
    named = ("--hardware", hardware)
    beside = run("network", model, *named, "--seed", "1", "-o", tmp_path / "reference", "--json").json
    assert beside["host"] == document["host"]
    assert beside["hardware"]["name"] == load_hardware(hardware).name
    ((name, file),) = document["outputs"].items()
    made = np.load(out / file)
    assert (made.dtype, made.shape) == (np.float32, (2, 3, 5))
    assert len(np.unique(made)) > 3
    np.testing.assert_array_equal(made, np.load(tmp_path / "reference" / beside["outputs"][name]))


def test_programs_on_a_cluster(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, out = mixed(tmp_path / "mixed.onnx"), tmp_path / "out"
    whole = saved(tmp_path, requantisation="scaled", cluster=CLUSTER)
    command = ("run", model, "--hardware", whole, "--seed", "1", "-o", out)
    document = run(*command, "--json").json
    kinds = ["depthwise conv", "dilated conv", "max pool", "product"]
    assert [layer["kind"] for layer in document["layers"]] == 2 * kinds
    assert all(layer["exact"] and layer["equal"] and not layer["failures"] for layer in document["layers"])
    # The host turns the rows of the product between two programs.
    assert [len(program["layers"]) for program in document["programs"]] == [3, 1, 3, 1]
    assert all(program["passed"] for program in document["programs"])
    assert document["cycles"]["measured"] == sum(one["cycles"]["measured"] for one in document["programs"])
    assert document["dram"]["peak"] >= document["dram"]["bound"] > 0
    beside = run("network", model, "--seed", "1", "-o", tmp_path / "reference", "--json").json
    ((name, file),) = document["outputs"].items()
    np.testing.assert_array_equal(np.load(out / file), np.load(tmp_path / "reference" / beside["outputs"][name]))

    from cosim.network import on_cluster as clustered

    right = clustered._operand
    monkeypatch.setattr(clustered, "_operand", lambda layer, operand: right(layer, operand) + np.int8(1))
    answer = run(*command)
    assert answer.status == 1
    assert "elements are wrong" in answer.out
    assert "layers are not as they have to be in the hardware: t6, t9, t12, t17\n" in answer.out


def test_images_run_on_several_clusters_at_the_same_time(run: Run, tmp_path: Path) -> None:
    single = CLUSTER.model_copy(update={"hwcs": 1})
    model, whole = mixed(tmp_path / "mixed.onnx"), saved(tmp_path, requantisation="scaled", cluster=single)
    for number in range(2):
        image = np.random.default_rng(number).normal(size=(2, 2, 6, 5)).astype(np.float32)
        np.save(tmp_path / f"{number}.npy", image[: 1 + number])
    several = [one for number in range(2) for one in ("--input", tmp_path / f"{number}.npy")]
    clusters = 4  # the first has begun its first layer before the last is started
    on = ("--hardware", whole, "--clusters", clusters)
    odd = run("run", model, *on, *several, "-o", tmp_path / "odd")
    refused(odd, ".npy: expected a multiple of 2 images, got 3")
    np.save(tmp_path / "0.npy", np.concatenate([np.load(tmp_path / "0.npy")] * 6))
    document = run("run", model, *on, *several, "-o", tmp_path / "out", "--json").json
    programs = document["programs"]
    assert [(one["image"], one["cluster"], len(one["layers"])) for one in programs] == [
        (first + cluster, cluster, layers) for first in (0, 4) for layers in (3, 1) for cluster in range(clusters)
    ]
    assert all(one["passed"] for one in programs)
    assert (document["clusters"], document["exact"], document["onnxruntime"]["equal"]) == (clusters, True, 1)
    for source in ("predicted", "measured"):
        ends = [one["cycles"][source] + START_AFTER_START * one["cluster"] for one in programs]
        assert document["cycles"][source] == sum(max(ends[at : at + clusters]) for at in range(0, 16, clusters))
    predicted = run("predict", model, *on, "--json").json["networks"][0]
    assert 2 * predicted["cycles"] == pytest.approx(document["cycles"]["predicted"], abs=2)
    beside = run("network", model, *several, "-o", tmp_path / "reference", "--json").json
    ((name, file),) = document["outputs"].items()
    made = np.load(tmp_path / "out" / file)
    assert (made.shape, len(np.unique(made)) > 3) == ((8, 3, 5), True)
    np.testing.assert_array_equal(made, np.load(tmp_path / "reference" / beside["outputs"][name]))


def test_a_wrong_layer_is_found(run: Run, tmp_path: Path, hardware: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cosim.network import on_hwc as network

    right = network._input
    monkeypatch.setattr(network, "_input", lambda one, tensors: right(one, tensors) + np.int8(1))
    model = small(tmp_path / "small.onnx")
    answer = run("run", model, "--hardware", hardware, "--seed", "3", "--sim", "icarus", "-o", tmp_path / "out")
    assert answer.status == 1
    assert "elements differ from the integer reference of the network" in answer.out


def test_bad_input(run: Run, tmp_path: Path, hardware: Path) -> None:
    model, rest = small(tmp_path / "small.onnx"), ("-o", tmp_path / "out")
    alone = run("run", model, "--hardware", hardware, "--seed", "1", "--clusters", "2", *rest)
    refused(alone, "--clusters: expected a cluster, got the HWC m4c4_1KiB")
    refused(run("run", model, "--seed", "1", "--clusters", "1", *rest), "--clusters: expected 2 to 16, got 1")
    refused(
        run("predict", model, "--hardware", hardware, "--clusters", "2"), "--clusters: expected clusters, got the HWC"
    )
    np.save(tmp_path / "a.npy", np.zeros((1, 2, 5, 6), np.float32))
    np.save(tmp_path / "b.npy", np.zeros((1, 2, 5, 7), np.float32))
    unlike = [one for name in "ab" for one in ("--input", tmp_path / f"{name}.npy")]
    refused(run("network", model, *unlike), "b.npy: expected images as those before it for input x: float32 of 2x5x6")
    np.save(tmp_path / "x.npy", np.zeros((1, 2, 5, 7), np.float32))
    wrong = run("run", model, "--hardware", hardware, "--input", tmp_path / "x.npy", *rest)
    refused(wrong, "x.npy: input x: expected float32 of 1x2x5x6, got float32 of 1x2x5x7")
    for file, what in (("x.npy", "x.npy: input x: expected float32"), ("none.npy", "none.npy: cannot be read")):
        refused(run("run", model, "--input", tmp_path / file, *rest), what)  # nor is the default cluster told
    refused(run("run", model, "--hardware", hardware, *rest), "--input, --seed: expected one of them")
    draft = Draft([1, 2, 5, 6])
    floats = draft.write(tmp_path / "floats.onnx", draft.node("Relu", "x"), [1, 2, 5, 6])
    refused(run("run", floats, "--hardware", hardware, "--seed", "1", *rest), "floats.onnx")
    shifting = saved(tmp_path)
    refused(run("run", model, "--hardware", shifting, "--seed", "1", *rest), "requantisation: expected scaled")
    nameless = saved(tmp_path, name="hardware")
    refused(run("run", model, "--hardware", nameless, "--seed", "1", *rest), "hwgen: hardware: requantisation")
    free = saved(tmp_path, requantisation="scaled", order=None)
    refused(run("run", model, "--hardware", free, "--seed", "1", *rest), "order: missing key: all layers of")
    refused(run("run", model, "--hardware", "cluster", "--seed", "1", *rest), "requantisation: expected scaled")
    whole = saved(tmp_path, requantisation="scaled", cluster=CLUSTER)
    refused(run("run", model, "--hardware", whole, "--seed", "1", "--sim", "icarus", *rest), "--sim: expected")
