"""What is no quantised model that can be imported: one line that says what was expected."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from hwgen.ir.document import InputError
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import Draft, small


def float_model(draft: Draft) -> str:
    return draft.node("Relu", "x")


def quant(draft: Draft) -> str:
    names = [draft.constant(value) for value in (0.1, 0.0, 8.0)]
    return draft.node("Quant", "x", *names, domain="qonnx.custom_op.general")


def unknown(draft: Draft) -> str:
    return draft.node("Frobnicate", draft.both("x", 0.1, 0))


def foreign(draft: Draft) -> str:
    return draft.node("Relu", draft.both("x", 0.1, 0), domain="ai.somebody")


def zero_scale(draft: Draft) -> str:
    return draft.both(draft.node("Relu", draft.both("x", 0.0, 0)), 0.1, 0)


def zero_weight_scale(draft: Draft) -> str:
    weights = draft.weights(np.ones((2, 2, 1, 1)), [0.1, 0.0])
    return draft.both(draft.node("Conv", draft.both("x", 0.1, 0), weights), 0.1, 0)


def no_scale_yet(draft: Draft) -> str:
    largest = draft.node("ReduceMax", "x", keepdims=0)
    return draft.node("QuantizeLinear", "x", largest, draft.constant(0, np.uint8))


def dynamic(draft: Draft) -> str:
    return draft.node("DynamicQuantizeLinear", "x")


def computed_weights(draft: Draft) -> str:
    read = draft.both("x", 0.1, 0)
    weights = draft.node("Reshape", read, draft.constant([9, 2, 1, 1], np.int64))
    return draft.both(draft.node("Conv", read, weights), 0.1, 0)


def wide(draft: Draft) -> str:
    return draft.both("x", 0.1, 0, np.uint16)


def several_scales(draft: Draft) -> str:
    scales, zeros = draft.constant([0.1, 0.2]), draft.constant([0, 0], np.uint8)
    integers = draft.node("QuantizeLinear", "x", scales, zeros, axis=1)
    return draft.node("DequantizeLinear", integers, scales, zeros, axis=1)


def nothing_fits(draft: Draft) -> str:
    weights = draft.weights(np.ones((2, 5, 1, 1)), 0.1)
    return draft.both(draft.node("Conv", draft.both("x", 0.1, 0), weights), 0.1, 0)


def too_few_inputs(draft: Draft) -> str:
    return draft.both(draft.node("QLinearConv", draft.quantised("x", 0.1, 0), draft.constant(0.1)), 0.1, 0)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (float_model, "expected a quantised model"),
        (quant, "Quant n0: expected QuantizeLinear"),
        (unknown, "Frobnicate n2: an operator that is not known"),
        (foreign, "an operator of ai.somebody that is not known"),
        (zero_scale, "scale c0: expected scales above 0, got 0"),
        (zero_weight_scale, "expected scales above 0, got 0"),
        (no_scale_yet, "scale t0 is computed at run time: expected static scales"),
        (dynamic, "DynamicQuantizeLinear n0: scales are computed at run time"),
        (computed_weights, "Conv n3: weights t2 are not constant"),
        (wide, "is quantised to uint16: expected int8 or uint8"),
        (several_scales, "expected one scale for an activation, got 2"),
        (too_few_inputs, "a node: inputs or attributes that the operator does not have"),
        (nothing_fits, "Conv n3: weights of 5 channels for 1 groups of 2"),
    ],
)
def test_refused_in_one_line(write: Callable[[Draft], str], message: str, tmp_path: Path) -> None:
    draft = Draft([1, 2, 3, 3], opset=21)
    path = draft.write(tmp_path / "model.onnx", write(draft))
    with pytest.raises(InputError) as caught:
        read_quantised(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_the_reason_of_another_library_is_whole(tmp_path: Path) -> None:
    draft = Draft([1, 12])
    made = draft.node("Gemm", draft.both("x", 0.1, 0), draft.weights(np.ones((11, 5)), 0.1))
    path = draft.write(tmp_path / "model.onnx", draft.both(made, 0.1, 0))
    with pytest.raises(InputError, match=r"Gemm, node name: n3\): .* between 11 and 12$") as caught:
        read_quantised(path)
    assert len(str(caught.value).splitlines()) == 1


def test_a_file_that_is_not_whole(tmp_path: Path) -> None:
    path = small(tmp_path / "small.onnx")
    whole = path.read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"small\.onnx"):
            read_quantised(path)


def test_a_free_size(tmp_path: Path) -> None:
    path = small(tmp_path / "small.onnx")
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    onnx.save(model, path)
    with pytest.raises(InputError, match=r"input x: size 2 \(height\) is free: expected fixed sizes"):
        read_quantised(path)


def test_a_free_batch_is_taken_image_by_image(tmp_path: Path) -> None:
    path = small(tmp_path / "small.onnx")
    model = onnx.load(path)
    for value in (model.graph.input[0], model.graph.output[0]):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    onnx.save(model, path)
    assert read_quantised(path).batch is None
