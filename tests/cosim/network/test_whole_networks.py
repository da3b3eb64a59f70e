"""Networks of ordinary size in the RTL, weights at random: outputs, counts and cycles of every layer at 224 x 224."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import hwgen
from examples.light import MODELS, folded, with_weights
from examples.quantising import quantise

HARDWARE = "cluster_64_vector"
ERROR = 0.005
"""By which the cycles of all programs together may be predicted wrong."""


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_every_layer(name: str, tmp_path: Path) -> None:
    """Such a network runs on the built-in cluster for networks, no map of it but the output through the host."""
    rng = np.random.default_rng(1)
    model = with_weights(MODELS / f"light_{name}.onnx", rng)
    (value,) = model.graph.input
    image = {value.name: rng.normal(size=(1, 3, 224, 224)).astype(np.float32)}
    file = quantise(folded(model, tmp_path / "folded.onnx"), tmp_path / f"{name}.onnx", [image])
    run = hwgen.run(file, image, HARDWARE)
    predicted, measured = run.both_cycles
    assert run.exact
    assert run.equal
    assert not run.strayed
    assert measured == pytest.approx(predicted, rel=ERROR)


@pytest.mark.nightly
def test_a_network_of_more_than_64_mib(tmp_path: Path) -> None:
    """Its weights are in a larger DRAM than any other test needs."""
    rng, inputs, outputs = np.random.default_rng(1), 8192, 8704
    weights = numpy_helper.from_array(rng.normal(size=(outputs, inputs)).astype(np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["input", "weights"], ["output"], transB=1)], "large",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, (1, inputs))],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, (1, outputs))], [weights],
    )  # fmt: skip
    image = {"input": rng.normal(size=(1, inputs)).astype(np.float32)}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    run = hwgen.run(quantise(model, tmp_path / "large.onnx", [image]), image, HARDWARE)
    predicted, measured = run.both_cycles
    assert run.exact
    assert run.equal
    assert not run.strayed
    assert measured == pytest.approx(predicted, rel=ERROR)
