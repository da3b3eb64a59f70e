"""Automatic padding of dilated windows beside ONNX Runtime, which does not have it."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.golden.quantised.comparison import run_beside, total
from hwgen.ir.network.kinds import HostOperator
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft


@pytest.mark.parametrize("mode", ["SAME_LOWER", "SAME_UPPER"])
@pytest.mark.parametrize(
    ("size", "kernel", "strides", "dilations"),
    [([9, 11], [3, 3], [1, 1], [2, 2]), ([8, 9], [2, 4], [2, 1], [1, 3]), ([11], [3], [2], [3])],
)
def test_a_convolution(
    tmp_path: Path, mode: str, size: list[int], kernel: list[int], strides: list[int], dilations: list[int]
) -> None:
    draft, rng = Draft([1, 2, *size]), np.random.default_rng(3)
    weights = draft.weights(rng.integers(-127, 128, (3, 2, *kernel)), 0.01)
    settings = {"auto_pad": mode, "strides": strides, "dilations": dilations}
    made = draft.both(draft.node("Conv", draft.both("x", 0.05, 120), weights, **settings), 0.2137, 130)
    again = draft.node("Conv", made, draft.weights(rng.integers(-127, 128, (3, 3, *kernel)), 0.01), **settings)
    path = draft.write(tmp_path / "same.onnx", draft.both(draft.node("HardSwish", again), 0.3, 130), None)
    graph = read_quantised(path)
    assert [node.operator for node in graph.nodes if isinstance(node, HostOperator)] == ["Conv", "HardSwish"]
    found = run_beside(path, graph, {"x": rng.normal(size=(1, 2, *size)).astype(np.float32) * 3}, "x")
    assert total(found.agreements).different == 0
    assert found.differences[graph.outputs[0]].largest == 0


@pytest.mark.parametrize("mode", ["SAME_LOWER", "SAME_UPPER"])
def test_a_pool(tmp_path: Path, mode: str) -> None:
    draft, rng = Draft([1, 3, 9, 10]), np.random.default_rng(3)
    pooled = draft.node("MaxPool", draft.both("x", 0.05, 120), kernel_shape=[2, 3], dilations=[2, 2], auto_pad=mode)
    path = draft.write(tmp_path / "pool.onnx", draft.both(pooled, 0.05, 120), [1, 3, 9, 10])
    graph = read_quantised(path)
    found = run_beside(path, graph, {"x": rng.normal(size=(1, 3, 9, 10)).astype(np.float32) * 3}, "x")
    assert total(found.agreements).elements == 270
    assert total(found.agreements).different == 0
