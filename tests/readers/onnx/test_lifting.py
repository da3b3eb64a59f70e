"""Operators on integers mean what ONNX Runtime makes of them: offsets, factors and orders of axes included."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hwgen.golden.quantised.comparison import run_beside, total
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft

SCALE, ZERO = 0.05, 120
MICROSOFT = "com.microsoft"


def check(draft: Draft, made: str, path: Path) -> list[str]:
    """The kinds of nodes between quantisers; all elements are ONNX Runtime's, on random numbers."""
    graph = read_quantised(draft.write(path / "integers.onnx", made))
    shape = graph.tensors["x"].shape
    found = run_beside(
        path / "integers.onnx", graph, {"x": np.linspace(-7, 7, 168, dtype=np.float32).reshape(shape)}, "x"
    )
    assert total(found.agreements).different == 0
    assert found.differences[made].largest == 0
    return [node.label for node in graph.nodes if node.kind not in ("quantise", "dequantise")]


def direct(operator: str, *constants: Any, dtype: Any = np.int64, **attributes: Any) -> Callable[[Draft, str], str]:
    """A standard operator on integers."""
    return lambda draft, read: draft.node(
        operator, read, *(draft.constant(one, dtype) for one in constants), **attributes
    )


AROUND = [0, 0, 1, 2, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (direct("Pad", AROUND), ["move (Pad)"]),
        (direct("Pad", AROUND, mode="edge"), ["move (Pad)"]),
        (lambda draft, read: draft.node("Pad", read, draft.constant(AROUND, np.int64), draft.constant(9, np.uint8)),
         ["move (Pad)"]),
        (direct("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1]), ["max pool"]),
        (direct("Min", 150, dtype=np.uint8), ["Min", "DequantizeLinear"]),
        (lambda draft, read: draft.node("Cast", draft.node("Cast", read, to=1), to=2),
         ["Cast", "Cast", "DequantizeLinear"]),
    ],
)  # fmt: skip
def test_integers_stay_what_they_are(tmp_path: Path, write: Callable[[Draft, str], str], kind: list[str]) -> None:
    draft = Draft([1, 4, 6, 7])
    made = draft.numbers(write(draft, draft.quantised("x", SCALE, ZERO)), SCALE, ZERO)
    assert check(draft, made, tmp_path) == kind


def test_a_relu_of_integers_keeps_what_is_above_the_integer_zero(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6, 7])
    made = draft.node("Relu", draft.quantised("x", SCALE, -30, np.int8))
    assert check(draft, draft.numbers(made, SCALE, -30, np.int8), tmp_path) == ["table"]


def test_integers_beside_each_other_are_not_scaled(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6, 7])
    one = draft.quantised("x", SCALE, ZERO)
    other = draft.quantised(draft.node("Relu", draft.numbers(one, SCALE, ZERO)), 0.03, 7)
    made = draft.numbers(draft.node("Concat", one, other, axis=1), SCALE, ZERO)
    assert check(draft, made, tmp_path) == ["table", "concat"]


@pytest.mark.parametrize(
    ("operator", "attributes", "kind"),
    [
        ("QLinearGlobalAveragePool", {}, ["average pool"]),
        ("QLinearGlobalAveragePool", {"channels_last": 1}, ["move (Transpose)", "average pool", "view"]),
        ("QLinearAveragePool", {"channels_last": 1, "kernel_shape": [2, 3], "pads": [1, 0, 1, 2]},
         ["move (Transpose)", "average pool", "move (Transpose)"]),
    ],
)  # fmt: skip
def test_channels_first_and_last(tmp_path: Path, operator: str, attributes: dict[str, Any], kind: list[str]) -> None:
    draft = Draft([1, 4, 6, 7])
    parameters = [draft.constant(SCALE), draft.constant(ZERO, np.uint8)]
    outputs = [draft.constant(0.0431), draft.constant(100, np.uint8)]
    read = draft.quantised("x", SCALE, ZERO)
    made = draft.node(operator, read, *parameters, *outputs, domain=MICROSOFT, **attributes)
    assert check(draft, draft.numbers(made, 0.0431, 100), tmp_path) == kind


@pytest.mark.parametrize("attributes", [{}, {"alpha": 0.5}, {"alpha": 1.7, "transB": 1}])
def test_the_factor_of_a_gemm_is_that_of_its_bias_too(tmp_path: Path, attributes: dict[str, float]) -> None:
    draft, rng = Draft([1, 168]), np.random.default_rng(4)
    shape = (5, 168) if "transB" in attributes else (168, 5)
    parameters = [draft.constant(SCALE), draft.constant(ZERO, np.uint8)]
    weights = [
        draft.constant(rng.integers(-127, 128, shape), np.int8),
        draft.constant(rng.uniform(0.001, 0.003, 5)), draft.constant([0] * 5, np.int8),
        draft.constant(rng.integers(-9999, 9999, 5), np.int32),
    ]  # fmt: skip
    outputs = [draft.constant(0.2137), draft.constant(ZERO, np.uint8)]
    read = draft.quantised("x", SCALE, ZERO)
    made = draft.node("QGemm", read, *parameters, *weights, *outputs, domain=MICROSOFT, **attributes)
    assert check(draft, draft.numbers(made, 0.2137, ZERO), tmp_path) == ["product"]
