"""Operators over windows in float64 beside ONNX Runtime's in float32."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from hwgen.golden.quantised import windowed


def reference(operator: str, operands: list[np.ndarray], settings: dict[str, object]) -> np.ndarray:
    names = ["x", "w"][: len(operands)]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape)
              for name, array in zip(names, operands, strict=True)]  # fmt: skip
    node = helper.make_node(operator, names, ["y"], **settings)
    graph = helper.make_graph([node], "one", inputs, [helper.make_value_info("y", onnx.TypeProto())])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {name: one.astype(np.float32) for name, one in zip(names, operands, strict=True)})
    return found


@pytest.mark.parametrize("seed", range(12))
def test_convolutions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spatial, groups = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    kernel = [int(one) for one in rng.integers(1, 4, spatial)]
    data = rng.normal(size=(2, 2 * groups, *rng.integers(6, 9, spatial)))
    settings: dict[str, object] = {"group": groups, "kernel_shape": kernel,
                                   "strides": [int(one) for one in rng.integers(1, 3, spatial)]}  # fmt: skip
    if rng.integers(2):
        settings["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    else:
        settings["pads"] = [int(one) for one in rng.integers(0, 3, 2 * spatial)]
        settings["dilations"] = [int(one) for one in rng.integers(1, 3, spatial)]
    weights = rng.normal(size=(3 * groups, 2, *kernel))
    wanted = reference("Conv", [data, weights], settings)
    np.testing.assert_allclose(windowed.convolution(data, weights, settings, wanted.shape), wanted, atol=1e-5)
    turned = {
        "group": groups,
        "strides": settings["strides"],
        "pads": [0, 1] * spatial if seed % 2 else [0] * 2 * spatial,
    }
    weights = rng.normal(size=(2 * groups, 3, *kernel))
    wanted = reference("ConvTranspose", [data, weights], turned)
    np.testing.assert_allclose(
        windowed.transposed_convolution(data, weights, turned, wanted.shape), wanted, atol=1e-5
    )


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [(12, 11), (10, 12), (9, 11)])
def test_a_transposed_convolution_of_a_given_size(mode: str, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    data, weights = rng.normal(size=(1, 2, 5, 6)), rng.normal(size=(2, 3, 3, 3))
    settings = {"auto_pad": mode, "output_shape": list(size), "strides": [2, 2]}
    wanted = reference("ConvTranspose", [data, weights], settings)
    found = windowed.transposed_convolution(data, weights, settings, wanted.shape)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_pools(seed: int) -> None:
    rng = np.random.default_rng(seed)
    spatial = int(rng.integers(1, 3))
    kernel = [int(one) for one in rng.integers(2, 4, spatial)]
    data = rng.normal(size=(1, 2, *rng.integers(6, 9, spatial)))
    strides = [int(one) for one in rng.integers(1, 3, spatial)]
    settings: dict[str, object] = {"kernel_shape": kernel, "strides": strides,
                                   "pads": [int(one) for one in rng.integers(0, 2, 2 * spatial)]}  # fmt: skip
    wanted = reference("MaxPool", [data], settings)
    np.testing.assert_allclose(windowed.greatest(data, settings, wanted.shape), wanted, rtol=1e-6)
    settings["count_include_pad"] = seed % 2
    wanted = reference("AveragePool", [data], settings)
    np.testing.assert_allclose(windowed.average(data, settings, wanted.shape), wanted, atol=1e-5)
