"""ONNX Runtime starts every model that it can, and says nothing."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from hwgen.golden.quantised import runtime
from hwgen.golden.quantised.comparison import run_beside
from hwgen.ir.document import InputError
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import INT8, Draft, small


def int8_convolution(path: Path) -> Path:
    """QLinearConv of int8, from inputs to outputs."""
    draft = Draft([1, 3, 5, 5], kind=INT8)
    given = [draft.constant(0.05), draft.constant(3, np.int8)]
    named = [draft.constant(np.random.default_rng(2).integers(-127, 128, (4, 3, 3, 3)), np.int8),
             draft.constant(0.01), draft.constant(0, np.int8)]  # fmt: skip
    made = draft.node("QLinearConv", "x", *given, *named, draft.constant(0.1), draft.constant(-7, np.int8))
    return draft.write(path, made, [1, 4, 3, 3], INT8)


def shared_weights(path: Path) -> Path:
    """Two convolutions with one DequantizeLinear of weights."""
    draft = Draft([1, 4, 6, 6])
    weights = draft.weights(np.random.default_rng(2).integers(-127, 128, (4, 4, 3, 3)), 0.01)
    bias = draft.numbers(draft.constant([1, -2, 3, 4], np.int32), 0.0005, 0, np.int32)
    made = "x"
    for _ in range(2):
        made = draft.node("Conv", draft.both(made, 0.05, 3, np.int8), weights, bias, pads=[1, 1, 1, 1])
    return draft.write(path, draft.both(made, 0.1, 0, np.int8), [1, 4, 6, 6])


def scales_of_input_channels(path: Path) -> Path:
    """Weights that the optimiser takes for those of a QLinearConv, whose kernel then refuses them on the way."""
    draft = Draft([1, 3, 5, 5])
    weights = draft.weights(np.random.default_rng(2).integers(-127, 128, (6, 3, 3, 3)), [0.01, 0.02, 0.03], axis=1)
    return draft.write(
        path, draft.both(draft.node("Conv", draft.both("x", 0.05, 120), weights), 0.3, 130), [1, 6, 3, 3]
    )


@pytest.mark.parametrize("saturates", [False, True])
@pytest.mark.parametrize("build", [int8_convolution, shared_weights, scales_of_input_channels, small])
def test_models_that_an_option_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], build, saturates: bool
) -> None:
    monkeypatch.setattr(runtime, "_saturates", lambda: saturates)
    path = build(tmp_path / "x.onnx")
    graph = read_quantised(path)
    tensor, rng = graph.tensors["x"], np.random.default_rng(3)
    array = rng.integers(-128, 128, tensor.shape) if tensor.quantisation else rng.normal(size=tensor.shape)
    found = run_beside(path, graph, {"x": array.astype(tensor.dtype)}, "x")
    assert all(one.equal > 0.9 for one in found.differences.values())
    assert capfd.readouterr() == ("", "")


def test_the_probe_is_of_sums_that_saturate(monkeypatch: pytest.MonkeyPatch) -> None:
    right = runtime._started

    class Saturated:
        def __init__(self, session) -> None:
            self.session = session

        def run(self, names, inputs):
            return [np.minimum(one, 32767 * 32) for one in self.session.run(names, inputs)]

    assert runtime._saturates.__wrapped__() in (True, False)
    monkeypatch.setattr(runtime, "_started", lambda *given: Saturated(right(*given)))
    assert runtime._saturates.__wrapped__() is True


def test_a_model_that_fails_on_the_way_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = small(tmp_path / "small.onnx")
    with pytest.raises(InputError, match="ONNX Runtime does not run it: "):
        runtime.model_outputs(path, {"x": np.zeros((1, 2, 5, 7), np.float32)}, [])
    path.write_bytes(b"")
    draft = Draft([1, 2])
    draft.nodes.append(helper.make_node("Unheard", ["x"], ["y"]))
    draft.write(path, "y", [1, 2])
    with pytest.raises(InputError, match="ONNX Runtime does not run it: "):
        runtime.model_outputs(path, {"x": np.zeros((1, 2), np.float32)}, [])
    assert capfd.readouterr() == ("", "")
