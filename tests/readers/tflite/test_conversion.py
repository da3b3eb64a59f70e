"""TFLite models as graphs: shapes, windows, orders of axes, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from hwgen.ir.document import InputError
from hwgen.ir.network.kinds import AveragePool, Concatenation, Convolution, FixedMean, Movement, Product, View
from hwgen.readers.integers.reader import read_quantised
from hwgen.readers.layer_sets import load_network
from hwgen.readers.tflite.conversion import as_onnx, places, same_padding
from tests.random.tflite_models import Writer

PLAIN = {"StrideH": 1, "StrideW": 1, "DilationHFactor": 1, "DilationWFactor": 1}
SAME, VALID = 0, 1


class Net(Writer):
    """A model of int8 with an input of one shape; `node` adds an operator whose output has a scale of 0.1."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.x = self.made(shape)

    def made(self, shape: tuple[int, ...], scale: float = 0.1, zero: int = 3) -> int:
        return self.tensor(shape, "int8", [scale], [zero])

    def weights(self, shape: tuple[int, ...], axis: int = 0) -> int:
        return self.constant(np.arange(np.prod(shape)).reshape(shape).astype(np.int8), [0.01] * shape[axis], axis)

    def bias(self, channels: int) -> int:
        return self.constant(np.arange(channels, dtype=np.int32), [0.001] * channels)

    def save(self, path: Path, output: int) -> Path:
        return self.write(path / "net.tflite", [self.x], [output])


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "expected"),
    [(5, 3, 1, 1, (1, 1)), (6, 3, 2, 1, (0, 1)), (5, 3, 2, 1, (1, 1)), (4, 1, 2, 1, (0, 0)), (9, 3, 1, 2, (2, 2)),
     (10, 4, 2, 1, (1, 1)), (49, 10, 2, 1, (4, 5))],
)  # fmt: skip
def test_padding_as_tensorflow_has_it(
    size: int, kernel: int, stride: int, dilation: int, expected: tuple[int, int]
) -> None:
    assert same_padding(size, kernel, stride, dilation) == expected


def test_a_depthwise_convolution_with_a_multiplier(tmp_path: Path) -> None:
    net = Net((1, 6, 5, 3))
    made = net.made((1, 3, 3, 6))
    settings = {**PLAIN, "StrideH": 2, "StrideW": 2, "Padding": SAME, "DepthMultiplier": 2}
    inputs = [net.x, net.weights((1, 3, 3, 6), 3), net.bias(6)]
    net.add("DEPTHWISE_CONV_2D", inputs, made, "DepthwiseConv2DOptions", FusedActivationFunction=3, **settings)
    graph = read_quantised(net.save(tmp_path, made))
    turned, node, back = graph.nodes
    assert isinstance(node, Convolution)
    assert (node.groups, node.weights.shape, node.shape) == (3, (6, 1, 3, 3), (1, 6, 3, 3))
    assert node.window.padding == (0, 1, 1, 1)
    np.testing.assert_array_equal(node.weights[:, 0, 0, 0], np.arange(6))
    assert (node.requantisation.low, node.requantisation.high) == (3, 63)
    assert all(scale.twice for scale in node.requantisation.scales)
    assert isinstance(turned, Movement)
    assert isinstance(back, Movement)
    assert (graph.shape(graph.inputs[0]), graph.shape(graph.outputs[0])) == ((1, 6, 5, 3), (1, 3, 3, 6))
    assert graph.batch is None


def test_padding_before_a_convolution_is_in_its_window(tmp_path: Path) -> None:
    net = Net((1, 5, 5, 1))
    widths = net.constant(np.array([[0, 0], [0, 1], [2, 1], [0, 0]], np.int32))
    padded, made = net.made((1, 6, 8, 1)), net.made((1, 4, 6, 2))
    net.add("PAD", [net.x, widths], padded, "PadOptions")
    inputs = [padded, net.weights((2, 3, 3, 1)), net.bias(2)]
    net.add("CONV_2D", inputs, made, "Conv2DOptions", Padding=VALID, **PLAIN)
    graph = read_quantised(net.save(tmp_path, made))
    (node,) = (node for node in graph.nodes if isinstance(node, Convolution))
    assert node.window.padding == (0, 2, 1, 1)
    assert not any(isinstance(node, Concatenation) for node in graph.nodes)


def test_products_of_a_map_take_its_elements_as_they_lie(tmp_path: Path) -> None:
    net = Net((1, 2, 3, 4))
    flat, made = net.made((1, 24)), net.made((1, 2))
    net.add("RESHAPE", [net.x, net.constant(np.array([1, 24], np.int32))], flat)
    net.add("FULLY_CONNECTED", [flat, net.constant(np.tile(np.arange(24, dtype=np.int8), (2, 1)), [0.1])], made,
            "FullyConnectedOptions")  # fmt: skip
    path = net.save(tmp_path, made)
    (node,) = (node for node in read_quantised(path).nodes if isinstance(node, Product))
    order = np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1).ravel()
    np.testing.assert_array_equal(node.weights[0], order)
    place = places(path)["t1"]
    np.testing.assert_array_equal(place.of(np.arange(24)[None])[0], order)


def test_an_average_of_a_pool_is_of_the_elements_as_they_are(tmp_path: Path) -> None:
    net = Net((1, 4, 4, 2))
    made = net.made((1, 2, 2, 2))
    net.add("AVERAGE_POOL_2D", [net.x], made, "Pool2DOptions", Padding=VALID, StrideH=2, StrideW=2, FilterHeight=2,
            FilterWidth=2)  # fmt: skip
    (node,) = (node for node in read_quantised(net.save(tmp_path, made)).nodes if isinstance(node, AveragePool))
    assert (node.zero_in, node.zero_out) == (0, 0)


def test_a_mean_runs_as_a_pool_where_that_is_equal(tmp_path: Path) -> None:
    kinds = []
    for sizes, scale in (((1, 3), 0.1), ((6, 7), 0.1), ((5, 7), 0.017)):
        net = Net((1, *sizes, 2))
        made = net.made((1, 2), scale)
        net.add("MEAN", [net.x, net.constant(np.array([1, 2], np.int32))], made, "ReducerOptions", KeepDims=False)
        kinds.append(type(read_quantised(net.save(tmp_path, made)).nodes[-1]))
    assert kinds == [AveragePool, FixedMean, FixedMean]


def test_a_network_of_floats_is_a_layer_set(tmp_path: Path) -> None:
    writer = Writer()
    x = writer.tensor((1, 6, 6, 2), "float32", name="x")
    stored = writer.constant(np.ones((3, 3, 3, 2), np.float16))
    kernel, made = writer.tensor((3, 3, 3, 2), "float32"), writer.tensor((1, 6, 6, 3), "float32", name="y")
    writer.add("DEQUANTIZE", [stored], kernel)
    writer.add("CONV_2D", [x, kernel, writer.constant(np.zeros(3, np.float32))], made, "Conv2DOptions", Padding=SAME,
               FusedActivationFunction=1, **PLAIN)  # fmt: skip
    path = writer.write(tmp_path / "floats.tflite", [x], [made])
    (layer,) = load_network(path).layers
    assert (layer.op, layer.input_channels, layer.output_channels, layer.kernel) == ("conv", 2, 3, (3, 3))
    with pytest.raises(InputError, match="expected a quantised model"):
        read_quantised(path)
    names = {node.op_type for node in as_onnx(path).graph.node}
    assert names == {"Transpose", "Conv", "Relu"}


def test_a_view_of_one_element_a_row_moves_nothing(tmp_path: Path) -> None:
    net = Net((1, 1, 1, 8))
    made = net.made((1, 8))
    net.add("RESHAPE", [net.x, net.constant(np.array([1, 8], np.int32))], made)
    assert all(isinstance(node, View) for node in read_quantised(net.save(tmp_path, made)).nodes)


def refusal(path: Path, net: Net, output: int) -> str:
    with pytest.raises(InputError) as caught:
        read_quantised(net.save(path, output))
    return str(caught.value)


def test_refusals(tmp_path: Path) -> None:
    net = Net((1, 4, 4, 2))
    made = net.made((1, 4, 4, 2))
    net.add("LOGISTIC", [net.x], made)
    assert "LOGISTIC t1: expected one of ADD, AVERAGE_POOL_2D" in refusal(tmp_path, net, made)

    net = Net((1, 4, 4, 2))
    made = net.tensor((1, 4, 4, 2), "int16", [0.1])
    net.add("QUANTIZE", [net.x], made)
    assert "QUANTIZE t1: expected float32 or int8 or uint8" in refusal(tmp_path, net, made)

    net = Net((1, 4, 4, 2))
    made = net.made((1, 3, 4, 2))
    net.add("ADD", [net.x, net.x], made, "AddOptions")
    assert "its shape is 1x2x3x4, its operator makes 1x2x4x4" in refusal(tmp_path, net, made)

    net = Net((1, 4, 4, 2))
    made = net.made((1, 4, 4, 2), 0.2)
    net.add("MAX_POOL_2D", [net.x], made, "Pool2DOptions", StrideH=1, StrideW=1, FilterHeight=1, FilterWidth=1)
    assert "MAX_POOL_2D t1: expected the scale and the zero point of its input" in refusal(tmp_path, net, made)

    net = Net((1, 4, 4, 2))
    made = net.made((1, 4, 4, 2))
    net.add("ADD", [net.x, net.x], made, "AddOptions", FusedActivationFunction=4)
    assert "activation TANH: expected one of NONE, RELU, RELU6, RELU_N1_TO_1" in refusal(tmp_path, net, made)
