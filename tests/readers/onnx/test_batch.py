"""Batches: taken image by image where a model provably treats images apart, else run as one image, whole."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from hwgen.golden.quantised.comparison import Beside, run_beside
from hwgen.golden.quantised.execution import checked_inputs
from hwgen.ir.document import InputError
from hwgen.ir.network.graph import Graph
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-127, 128, shape)


def attention(draft: Draft) -> str:
    """Tokens along the first axis, without a batch."""
    given = draft.both("x", 0.05, 120)
    first, second, third = (
        draft.both(draft.node("MatMul", given, draft.weights(weights(8, 8) + at, 0.01, axis=1)), 0.1, 128)
        for at in (0, -1, 0)
    )
    turned = draft.both(draft.node("Transpose", second, perm=[1, 0]), 0.1, 128)
    scores = draft.both(draft.node("MatMul", first, turned), 0.3, 128)
    parts = draft.both(draft.node("Softmax", scores, axis=-1), 1 / 256, 0)
    return draft.both(draft.node("MatMul", parts, third), 0.1, 128)


def mean_over_tokens(draft: Draft) -> str:
    made = draft.both(draft.node("ReduceMean", draft.both("x", 0.05, 120), axes=[0], keepdims=1), 0.03, 100)
    return draft.both(draft.node("MatMul", made, draft.weights(weights(8, 5), 0.01, axis=1)), 0.1, 128)


def softmax(draft: Draft) -> str:
    made = draft.node("MatMul", draft.both("x", 0.05, 120), draft.weights(weights(8, 5), 0.003, axis=1))
    return draft.both(draft.node("Softmax", draft.both(made, 0.02, 128), axis=0), 1 / 256, 0)


def joined(draft: Draft) -> str:
    given = draft.both("x", 0.05, 120)
    return draft.both(draft.node("Concat", given, given, axis=0), 0.05, 120)


def convolved(draft: Draft, given: str) -> str:
    made = draft.node("Conv", given, draft.weights(weights(4, 3, 3, 3), 0.01), kernel_shape=[3, 3])
    return draft.both(made, 0.1, 128)


def one_map(draft: Draft) -> str:
    return convolved(draft, draft.node("Unsqueeze", draft.both("x", 0.05, 120), draft.constant([0], np.int64)))


def columns_first(draft: Draft) -> str:
    turned = draft.node("Transpose", draft.both("x", 0.05, 120), perm=[2, 0, 1])
    return convolved(draft, draft.node("Unsqueeze", turned, draft.constant([0], np.int64)))


def images_that_meet(draft: Draft) -> str:
    made = convolved(draft, draft.both("x", 0.05, 120))
    return draft.both(draft.node("ReduceMax", made, axes=[0], keepdims=1), 0.1, 128)


def turned_product(draft: Draft) -> str:
    factor = draft.weights(weights(6, 5), 0.01, axis=1)
    return draft.both(draft.node("Gemm", draft.both("x", 0.05, 120), factor, transA=1), 0.1, 128)


def constant_by_row(draft: Draft) -> str:
    given, factor = draft.both("x", 0.05, 120), draft.weights(weights(8, 6), 0.01, axis=1)
    return draft.both(draft.node("Gemm", given, factor, draft.constant(np.arange(6.0)[:, None])), 0.1, 128)


WHOLE: list[tuple[Callable[[Draft], str], list[int], str]] = [
    (attention, [6, 8], "Transpose"),
    (mean_over_tokens, [6, 8], "ReduceMean"),
    (softmax, [6, 8], "Softmax"),
    (joined, [6, 8], "Concat"),
    (turned_product, [6, 8], "Gemm"),
    (constant_by_row, [6, 8], "Gemm"),
    (one_map, [3, 7, 6], "Unsqueeze"),
    (columns_first, [7, 6, 3], "Transpose"),
    (images_that_meet, [2, 3, 6, 6], "ReduceMax"),
]


def compared(path: Path, graph: Graph, array: np.ndarray) -> Beside:
    """Beside ONNX Runtime, whose outputs a session without any option has, too."""
    found = run_beside(path, graph, {"x": array}, "x")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for name, wanted in zip(graph.outputs, session.run(None, {"x": array}), strict=True):
        assert (found.outputs[name].shape, found.outputs[name].dtype) == (wanted.shape, wanted.dtype)
        assert found.differences[name].equal > 0.9
    return found


@pytest.mark.parametrize(("build", "shape", "operator"), WHOLE, ids=lambda one: getattr(one, "__name__", None))
def test_what_meets_along_the_first_axis_is_one_image(
    tmp_path: Path, build: Callable[[Draft], str], shape: list[int], operator: str
) -> None:
    draft = Draft(shape)
    path = draft.write(tmp_path / "whole.onnx", build(draft))
    graph = read_quantised(path)
    assert (graph.batch, graph.apart) == (1, frozenset())
    assert graph.together.startswith(operator)
    compared(path, graph, np.random.default_rng(1).normal(size=shape).astype(np.float32))
    with pytest.raises(InputError, match=operator):
        checked_inputs(graph, {"x": np.zeros((shape[0] + 1, *shape[1:]), np.float32)}, "x")


def test_maps_of_several_images_that_meet_are_the_hosts(tmp_path: Path) -> None:
    draft = Draft([2, 3, 6, 6])
    graph = read_quantised(draft.write(tmp_path / "x.onnx", images_that_meet(draft)))
    reasons = {getattr(node, "operator", ""): getattr(node, "reason", "") for node in graph.nodes}
    assert reasons["Conv"] == "2 maps at a time, of a batch that is not taken apart"
    assert graph.work().macs == 2 * 4 * 27 * 16


@pytest.mark.parametrize(("first", "rows"), [(2, 8), (2, -1), (3, 12), (None, -1)])
def test_images_apart(tmp_path: Path, first: int | None, rows: int) -> None:
    draft = Draft([first or 1, 3, 6, 6])
    if first is None:
        draft.inputs[0].type.tensor_type.shape.dim[0].dim_param = "N"
    made = convolved(draft, draft.both("x", 0.05, 120))
    made = draft.node("Reshape", made, draft.constant([rows, 16], np.int64))
    made = draft.both(draft.node("MatMul", made, draft.weights(weights(16, 5), 0.01, axis=1)), 0.2, 128)
    made = draft.both(draft.node("Softmax", made, axis=1), 1 / 256, 0)
    path = draft.write(tmp_path / "apart.onnx", made)
    graph = read_quantised(path)
    assert (graph.batch, graph.apart, graph.together) == (first, {"x"}, "")
    assert [graph.tensors[name].shape for name in graph.outputs] == [(4, 5)]
    compared(path, graph, np.random.default_rng(1).normal(size=(first or 5, 3, 6, 6)).astype(np.float32))


def test_a_free_first_size_whose_elements_meet(tmp_path: Path) -> None:
    draft = Draft([1, 8])
    draft.inputs[0].type.tensor_type.shape.dim[0].dim_param = "tokens"
    graph = read_quantised(draft.write(tmp_path / "free.onnx", softmax(draft)))
    with pytest.raises(InputError, match=r"expected float32 of 1x8, got float32 of 6x8 \(one image: Softmax"):
        checked_inputs(graph, {"x": np.zeros((6, 8), np.float32)}, "x")
