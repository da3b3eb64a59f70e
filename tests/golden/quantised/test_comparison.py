"""What differs from ONNX Runtime is a tie, known, or wrong: ties by exact arithmetic, on both sides."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hwgen.golden.quantised import execution
from hwgen.golden.quantised.comparison import Agreement, Beside, compare_nodes, run_beside, total
from hwgen.golden.quantised.runtime import model_outputs
from hwgen.ir.document import InputError
from hwgen.ir.network import kinds
from hwgen.ir.network.graph import Graph
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.onnx.reader import load_quantised
from tests.readers.integers.models import Draft


def compared(path: Path, seed: int, spread: float = 1.0) -> tuple[Graph, Beside]:
    graph = read_quantised(path)
    shape = graph.tensors["x"].shape
    return graph, run_beside(path, graph, {"x": normal(shape, seed) * np.float32(spread)}, "x")


def normal(shape: tuple[int, ...], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def of_kind(beside: Beside, kind: str) -> Agreement:
    return total([one for one in beside.agreements if one.kind == kind])


def decimal_sum(path: Path) -> Path:
    """A sum whose scales are short decimals: many real values are at the middle of two integers, or next to it."""
    draft = Draft([1, 3, 8, 8])
    first = draft.both("x", 0.3, 3, np.int8)
    other = draft.numbers(draft.constant([[[[10]], [[-7]], [[31]]]], np.int8), 0.1, 0, np.int8)
    return draft.write(path, draft.both(draft.node("Add", first, other), 0.2, -3, np.int8), None)


def test_ties_of_decimal_scales_are_no_errors(tmp_path: Path) -> None:
    path = decimal_sum(tmp_path / "x.onnx")
    ties = 0
    for seed in range(40):
        graph, beside = compared(path, seed, 9.0)
        assert beside.holds
        one = of_kind(beside, "add")
        assert (one.different, one.largest <= 1) == (0, True)
        ties += one.ties
    (node,) = (node for node in graph.nodes if isinstance(node, kinds.Addition))
    assert 0 < ties < 40 * 192 / 2
    # In decimals half of these sums are ties; the scales of float32 are a little off, the multipliers otherwise.
    scales = [Fraction(float(np.float32(scale))) / Fraction(float(np.float32(0.2))) for scale in (0.3, 0.1)]
    assert scales[0] != Fraction(3, 2)
    assert [Fraction(scale.multiplier, 1 << scale.shift) for scale in node.scales] == [Fraction(3, 2), Fraction(1, 2)]


def convolution(draft: Draft, given: str) -> str:
    weights = draft.weights(np.random.default_rng(3).integers(-127, 128, (4, 3, 3, 3)), 0.0113)
    return draft.node("Conv", given, weights, draft.constant([0.3, -0.21, 0.7, 0.11]))


KINDS: dict[str, tuple[type[kinds.Node], Callable[[Draft, str], str]]] = {
    "conv": (kinds.Convolution, convolution),
    "add": (kinds.Addition, lambda draft, given: draft.node("Add", given, draft.both(given, 0.031, 3, np.int8))),
    "average pool": (
        kinds.AveragePool, lambda draft, given: draft.node("AveragePool", given, kernel_shape=[2, 3])),
    "max pool": (kinds.MaxPool, lambda draft, given: draft.node("MaxPool", given, kernel_shape=[2, 3])),
    "table": (kinds.Lookup, lambda draft, given: draft.node("Tanh", given)),
    "concat": (kinds.Concatenation, lambda draft, given: draft.node("Concat", given, given, axis=2)),
    "move (Transpose)": (kinds.Movement, lambda draft, given: draft.node("Transpose", given, perm=[0, 2, 1, 3])),
    "product": (
        kinds.Product,
        lambda draft, given: draft.node("MatMul", given, draft.weights(np.arange(40).reshape(8, 5) - 20, 0.0113))),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", [-1, 1])
def test_one_step_in_one_element_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, by: int
) -> None:
    form, build = KINDS[kind]
    draft = Draft([1, 3, 8, 8])
    made = build(draft, draft.both("x", 0.029, 3, np.int8))
    path = draft.write(tmp_path / "x.onnx", draft.both(made, 0.053, -3, np.int8), None)
    assert compared(path, 1)[1].holds
    right = execution.REFERENCES[form]

    def planted(node: kinds.Node, operands: list[np.ndarray]) -> np.ndarray:
        found = right(node, operands).copy()
        at = next(at for at, value in enumerate(found.flat) if -100 < value < 100)
        found.flat[at] += by
        return found

    monkeypatch.setitem(execution.REFERENCES, form, planted)
    _, beside = compared(path, 1)
    assert not beside.holds
    assert of_kind(beside, kind).different == 1


def test_a_wrong_scale_of_one_in_a_thousand_is_found(tmp_path: Path) -> None:
    draft = Draft([1, 3, 8, 8])
    path = draft.write(tmp_path / "x.onnx", draft.both(convolution(draft, draft.both("x", 0.03, 3)), 0.02, 128), None)
    draft.constants[2].float_data[:] = []
    graph = read_quantised(path)
    image = {"x": normal((1, 3, 8, 8), 2)}
    runtime = model_outputs(path, image, list(graph.tensors))
    node = next(node for node in graph.nodes if isinstance(node, kinds.Convolution))
    (scale,) = node.requantisation.scales
    object.__setattr__(scale, "multiplier", scale.multiplier + scale.multiplier // 1000)
    found = compare_nodes(graph, image, runtime, lambda: load_quantised(path))
    assert total(found).different > 0


def test_another_shape_or_type_is_wrong(tmp_path: Path) -> None:
    path = decimal_sum(tmp_path / "x.onnx")
    graph, image = read_quantised(path), {"x": normal((1, 3, 8, 8), 2)}
    (output,) = graph.outputs
    made = model_outputs(path, image, [])[output]
    for wrong in (made[..., :7], made.astype(np.float64)):
        found = compare_nodes(graph, image, {output: wrong}, lambda: load_quantised(path))
        assert (total(found).different, total(found).holds) == (wrong.size, False)


@pytest.mark.parametrize("scale", [0.4, 0.6, 0.3, 1.7])
def test_nearest_elements_of_onnx_are_not_those_of_onnx_runtime(tmp_path: Path, scale: float) -> None:
    draft = Draft([1, 2, 10, 10])
    given = draft.both("x", 0.03, 3, np.int8)
    made = draft.node("Resize", given, "", draft.constant([1, 1, scale, scale]), mode="nearest",
                      coordinate_transformation_mode="asymmetric", nearest_mode="floor")  # fmt: skip
    path = draft.write(tmp_path / "x.onnx", draft.both(made, 0.03, 3, np.int8), None)
    _, beside = compared(path, 1)
    assert beside.holds
    one = of_kind(beside, "move (Resize)")
    assert one.different == 0
    assert ("other nearest elements" in one.why) == (one.apart > 0)
    assert scale != 0.4 or one.apart > 0


@pytest.mark.parametrize("operator", ["Sqrt", "Log", "Reciprocal", "Pow", "Acosh"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_functions_outside_of_their_domain(tmp_path: Path, operator: str, kind: type) -> None:
    draft = Draft([1, 1, 16, 16])
    given = draft.both("x", 0.1, 3 if kind is np.int8 else 131, kind)
    more = [draft.constant(0.5)] if operator == "Pow" else []
    path = draft.write(tmp_path / "x.onnx", draft.both(draft.node(operator, given, *more), 0.05, 7, kind), None)
    _, beside = compared(path, 1, 5.0)
    assert beside.holds
    assert beside.whole.different == 0
    assert all(one.equal == 1 for one in beside.differences.values())


def test_what_becomes_of_what_is_no_number_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft = Draft([1, 1, 16, 16])
    given = draft.both("x", 0.1, 3, np.int8)
    path = draft.write(tmp_path / "x.onnx", draft.both(draft.node("Sqrt", given), 0.05, 7, np.int8), None)
    right = execution.REFERENCES[kinds.Lookup]
    monkeypatch.setitem(
        execution.REFERENCES, kinds.Lookup, lambda node, operands: np.maximum(right(node, operands), np.int8(0))
    )
    _, beside = compared(path, 1, 5.0)
    assert beside.holds
    assert "no number" in of_kind(beside, "table").why


def test_sizes_of_which_onnx_is_not_sure_are_refused(tmp_path: Path) -> None:
    draft = Draft([1, 2, 10, 10])
    made = draft.node("Resize", draft.both("x", 0.03, 3, np.int8), "", draft.constant([1, 1, 1, 0.7]), mode="nearest")
    path = draft.write(tmp_path / "x.onnx", draft.both(made, 0.03, 3, np.int8), None)
    with pytest.raises(
        InputError, match=r"Resize n2: 10 times 0\.699999988 is 6 elements to ONNX and 7 to ONNX Runtime"
    ):
        read_quantised(path)
