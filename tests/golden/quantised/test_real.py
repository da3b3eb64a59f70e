"""Real values and how far float32 may be from them, beside ONNX Runtime without its optimiser."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from hwgen.golden.quantised.real import RealValues, sum_roundings
from hwgen.readers.onnx.reader import load_quantised
from tests.readers.integers.models import Draft


def chain(draft: Draft, given: str) -> str:
    """Numbers that go through most of the rules."""
    rng = np.random.default_rng(4)
    weights = draft.weights(rng.integers(-127, 128, (4, 3, 3, 3)), rng.uniform(0.005, 0.02, 4))
    bias = draft.numbers(draft.constant([90, -700, 5, 0], np.int32), [0.0005] * 4, 0, np.int32, axis=0)
    made = draft.node("Conv", given, weights, bias, pads=[1, 1, 1, 1])
    named = [
        draft.constant(one) for one in (rng.uniform(0.5, 2, 4), rng.normal(size=4), rng.normal(size=4), [0.7] * 4)
    ]
    made = draft.node("HardSwish", draft.node("BatchNormalization", made, *named))
    made = draft.node("AveragePool", draft.node("Mul", made, draft.constant(0.3)), kernel_shape=[3, 2])
    made = draft.node("Concat", made, draft.node("Sigmoid", made), axis=1)
    made = draft.node(
        "ConvTranspose", made, draft.weights(rng.integers(-127, 128, (8, 2, 2, 2)), 0.01), strides=[2, 2]
    )
    made = draft.node("LRN", draft.node("MaxPool", made, kernel_shape=[2, 2], strides=[2, 2]), size=3)
    flat = draft.node("Flatten", draft.node("Transpose", made, perm=[0, 2, 3, 1]))
    made = draft.node("Gemm", flat, draft.weights(rng.integers(-127, 128, (84, 7)), 0.01), alpha=0.5)
    return draft.node("Softmax", draft.node("Div", made, draft.constant(3.0)), axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_float32_is_within_the_bound(tmp_path: Path, seed: int) -> None:
    draft = Draft([1, 3, 8, 8])
    end = chain(draft, draft.both("x", 0.03, 120))
    path = draft.write(tmp_path / "x.onnx", draft.both(end, 1 / 256, 0), None)
    model = load_quantised(path)
    image = np.random.default_rng(seed).normal(size=(1, 3, 8, 8)).astype(np.float32)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    whole = helper.make_model(
        helper.make_graph(
            draft.nodes, "all", draft.inputs,
            [helper.make_value_info(node.output[0], onnx.TypeProto()) for node in draft.nodes], draft.constants,
        ), opset_imports=[helper.make_opsetid("", draft.opset)], ir_version=8,
    )  # fmt: skip
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    tensors = dict(zip([node.output[0] for node in draft.nodes], session.run(None, {"x": image}), strict=True))
    known = {name: one.quantisation.inside(tensors[name]) for name, one in model.tensors.items() if one.quantisation}
    real = RealValues(model, known)
    judged = 0
    for node in draft.nodes:
        name = node.output[0]
        if name in model.constants or name in known:
            continue
        found = real.of(name)
        assert found is not None, node.op_type
        assert found.value.shape == tensors[name].shape
        assert np.all(np.abs(tensors[name] - found.value) <= found.error), node.op_type
        assert found.error.max() < 3e-3 * np.abs(found.value).max(), node.op_type
        judged += 1
    assert judged > 10


def test_roundings_of_a_sum() -> None:
    assert [sum_roundings(terms) for terms in (1, 25, 3600)] == [5, 29, 364]
