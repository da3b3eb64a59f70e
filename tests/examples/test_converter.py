"""TFLite graphs as ONNX: every operator against TensorFlow's definition, on maps [rows, columns, channels]."""

from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from examples.face.converter import converted, same_padding
from examples.face.graph import FlatGraph, FlatOperator, FlatWindow

RNG = np.random.default_rng(2)
WEIGHTS = RNG.normal(size=(4, 5, 5, 3)).astype(np.float16)
DEPTHWISE = RNG.normal(size=(1, 3, 3, 4)).astype(np.float32)
BIASES = {"b1": RNG.normal(size=4).astype(np.float32), "b2": RNG.normal(size=4).astype(np.float32)}
HALVED = FlatWindow((2, 2), same=True)


def graph() -> FlatGraph:
    """All operators: a stem, a depthwise convolution beside a pool, channels added by padding, numbers in one row."""
    operators = [
        FlatOperator("DEQUANTIZE", ["w16"], ["w"]),
        FlatOperator("CONV_2D", ["x", "w", "b1"], ["stem"], "RELU", HALVED),
        FlatOperator("DEPTHWISE_CONV_2D", ["stem", "d", "b2"], ["deep"], window=HALVED),
        FlatOperator("MAX_POOL_2D", ["stem"], ["pool"], window=FlatWindow((2, 2), same=True, kernel=(2, 2))),
        FlatOperator("CONCATENATION", ["deep", "pool"], ["both"], axis=3),
        FlatOperator("PAD", ["pool", "widths"], ["wide"]),
        FlatOperator("ADD", ["both", "wide"], ["sum"]),
        FlatOperator("RELU", ["sum"], ["above"]),
        FlatOperator("RESHAPE", ["above"], ["row"]),
        FlatOperator("RESHAPE", ["stem"], ["other"]),
        FlatOperator("CONCATENATION", ["row", "other"], ["y"], axis=1),
    ]
    small, wide = (1, 2, 3, 4), (1, 2, 3, 8)
    shapes = {"x": (1, 7, 10, 3), "stem": (1, 4, 5, 4), "deep": small, "pool": small, "both": wide, "wide": wide,
              "sum": wide, "above": wide, "row": (1, 48, 1), "other": (1, 80, 1), "y": (1, 128, 1)}  # fmt: skip
    widths = np.array([[0, 0], [0, 0], [0, 0], [1, 3]], np.int32)
    return FlatGraph(operators, ["x"], ["y"], shapes, {"w16": WEIGHTS, "d": DEPTHWISE, "widths": widths, **BIASES})


def windows(given: NDArray, kernel: int, fill: float) -> NDArray:
    """[rows, columns, kernel, kernel, channels], stride 2, padding SAME."""
    sizes = [-(-size // 2) for size in given.shape[:2]]
    whole = [max((many - 1) * 2 + kernel - size, 0) for many, size in zip(sizes, given.shape[:2], strict=True)]
    padded = np.pad(given, [*((one // 2, one - one // 2) for one in whole), (0, 0)], constant_values=fill)
    return np.array(
        [[padded[2 * y : 2 * y + kernel, 2 * x : 2 * x + kernel] for x in range(sizes[1])] for y in range(sizes[0])]
    )


def expected(x: NDArray) -> NDArray:
    """What TensorFlow makes of it."""
    stem = np.maximum(np.einsum("yxklc,mklc->yxm", windows(x, 5, 0), WEIGHTS.astype(np.float32)) + BIASES["b1"], 0)
    deep = np.einsum("yxklc,klc->yxc", windows(stem, 3, 0), DEPTHWISE[0]) + BIASES["b2"]
    pool = windows(stem, 2, -np.inf).max(axis=(2, 3))
    above = np.maximum(np.concatenate([deep, pool], axis=2) + np.pad(pool, [(0, 0), (0, 0), (1, 3)]), 0)
    return np.concatenate([above.reshape(1, -1, 1), stem.reshape(1, -1, 1)], axis=1)


def test_every_operator_is_tensorflows() -> None:
    session = onnxruntime.InferenceSession(
        converted(graph(), "small").SerializeToString(), providers=["CPUExecutionProvider"]
    )
    x = RNG.normal(size=(1, 7, 10, 3)).astype(np.float32)
    (made,) = session.run(None, {"x": x.transpose(0, 3, 1, 2)})
    np.testing.assert_allclose(made, expected(x[0]), rtol=1e-4, atol=1e-4)


def test_the_odd_row_of_padding_is_below() -> None:
    assert [same_padding(*one) for one in ((128, 5, 2), (64, 3, 2), (7, 5, 2), (64, 2, 2), (9, 3, 1))] == [
        (1, 2), (0, 1), (2, 2), (0, 0), (1, 1),
    ]  # fmt: skip


def test_what_is_not_known_is_named() -> None:
    whole = graph()
    for change, message in (
        ({"kind": "SVDF"}, "small: SVDF: expected one of ADD, "),
        ({"activation": "RELU6"}, "stem: activation RELU6: expected NONE or RELU"),
        ({"window": FlatWindow((1, 1), same=True, dilation=(2, 2))}, r"stem: dilation: expected none, got \(2, 2\)"),
    ):
        operators = [whole.operators[0], replace(whole.operators[1], **change), *whole.operators[2:]]
        with pytest.raises(ValueError, match=message):
            converted(replace(whole, operators=operators), "small")
