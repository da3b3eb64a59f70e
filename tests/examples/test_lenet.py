"""The LeNet's gradients, and its ONNX form."""

import numpy as np
import onnxruntime
import pytest

from examples.digits.fixed_point import as_chain, ranges
from examples.digits.lenet import LeNet, as_onnx
from hwgen.papers.sousa.fixed_point import POINT_EACH, FixedChain


@pytest.fixture
def network() -> LeNet:
    return LeNet(np.random.default_rng(4))


def test_gradients_are_the_slopes(network: LeNet) -> None:
    rng = np.random.default_rng(5)
    digits, direction = rng.random((1, 1, 28, 28)).astype(np.float32), rng.normal(size=(1, 10))
    network.forward(digits)
    network.backward(direction.astype(np.float32))
    found = [array.astype(np.float64) for stage in network.trained for array in stage.gradients]
    for stage in network.trained:  # exact enough for a difference
        stage.weights, stage.bias = stage.weights.astype(np.float64), stage.bias.astype(np.float64)
    arrays = [array for stage in network.trained for array in (stage.weights, stage.bias)]
    for array, gradient in zip(arrays, found, strict=True):
        step = rng.normal(size=array.shape)
        values = []
        for sign in (1e-6, -1e-6):
            array += sign * step
            values.append((network.forward(digits) * direction).sum())
            array -= sign * step
        slope = (values[0] - values[1]) / 2e-6
        assert slope == pytest.approx((gradient * step).sum(), rel=1e-3, abs=1e-3)


def test_the_model_is_the_network(network: LeNet) -> None:
    digits = np.random.default_rng(6).random((2, 1, 28, 28)).astype(np.float32)
    model = as_onnx(network).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(["answers"], {"digits": digits})[0], network.forward(digits), atol=1e-4)


def test_the_chain_of_fixed_point_is_the_network(network: LeNet) -> None:
    digits = np.random.default_rng(7).random((2, 1, 28, 28)).astype(np.float32)
    fixed = FixedChain.of(as_chain(network), ranges(network, digits), POINT_EACH)
    answers, exact = fixed.answers(digits), network.forward(digits)
    ratio = (answers * exact).sum() / (exact * exact).sum()
    np.testing.assert_allclose(answers / ratio, exact, atol=2e-3 * np.abs(exact).max())
