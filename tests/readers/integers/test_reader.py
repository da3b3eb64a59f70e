"""Forms of quantised models, each as the integer graph that it must become."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from hwgen.golden.quantised.comparison import Beside, run_beside, total
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Addition, Convolution, HostOperator, Lookup, Product, zero_share
from hwgen.readers.integers.reader import read_quantised
from tests.readers.integers.models import INT8, UINT8, Draft, small


def beside(path: Path, graph: Graph, seed: int = 0) -> Beside:
    """Both on random numbers, or on all integers."""
    rng = np.random.default_rng(seed)
    tensor = graph.tensors["x"]
    shape = (graph.batch or 2, *tensor.shape[1:])
    if tensor.quantisation is None:
        values = (rng.normal(size=shape) * 3).astype(np.float32)
    else:
        values = rng.integers(0, 256, shape).astype(np.uint8).view(tensor.dtype)
    return run_beside(path, graph, {"x": values}, "x")


def kinds(graph: Graph) -> list[str]:
    return [node.label for node in graph.nodes]


def test_zero_points_scales_and_biases_by_hand(tmp_path: Path) -> None:
    path = small(tmp_path / "small.onnx")
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    node = graph.nodes[1]
    assert isinstance(node, Convolution)
    weights = np.arange(54).reshape(3, -1) - 20
    assert node.bias.tolist() == (weights.sum(axis=1) * 28).tolist()  # 100 of uint8 is -28
    assert (node.requantisation.zero_in, node.requantisation.zero_out) == (-28, -121)
    factors = [scale.multiplier / 2.0**scale.shift for scale in node.requantisation.scales]
    assert factors == pytest.approx([0.0005 / 0.103, 0.001 / 0.103, 0.00025 / 0.103], rel=2.0**-16)
    assert node.macs == 54 * 30
    assert total(beside(path, graph).agreements).different == 0


def test_batches_are_taken_apart(tmp_path: Path) -> None:
    draft = Draft([3, 2, 4, 4])
    read = draft.both("x", 0.05, 128)
    flat = draft.node("Reshape", read, draft.constant([3, 32], np.int64))
    rng = np.random.default_rng(0)
    made = draft.node("MatMul", flat, draft.weights(rng.integers(-127, 128, (32, 5)), 0.01))
    path = draft.write(tmp_path / "batch.onnx", draft.both(made, 0.2, 100), [3, 5])
    graph = read_quantised(path)
    assert (graph.batch, graph.nodes[-1].shape) == (3, (1, 5))
    found = beside(path, graph)
    assert found.outputs[graph.outputs[0]].shape == (3, 5)
    assert total(found.agreements).elements == 3 * 5
    assert found.differences[graph.outputs[0]].largest == 0


def test_a_clip_of_integers_is_part_of_what_it_follows(tmp_path: Path) -> None:
    draft = Draft([1, 2, 3, 3])
    weights = draft.quantised(draft.constant(np.linspace(-1, 1, 4).reshape(2, 2, 1, 1)), 0.01, 0, np.int8)
    narrow = [draft.constant(bound, np.int8) for bound in (-100, 90)]
    clipped = draft.node("Clip", weights, *narrow)
    convolved = draft.node("Conv", draft.both("x", 0.1, 0, np.int8), draft.numbers(clipped, 0.01, 0, np.int8))
    integers = draft.quantised(convolved, 0.02, 0, np.int8)
    made = draft.numbers(draft.node("Clip", integers, *narrow), 0.02, 0, np.int8)
    path = draft.write(tmp_path / "qcdq.onnx", made, [1, 2, 3, 3])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    node = graph.nodes[1]
    assert isinstance(node, Convolution)
    assert node.weights.ravel().tolist() == [-100, -33, 33, 90]
    assert (node.requantisation.low, node.requantisation.high) == (-100, 90)
    found = beside(path, graph)
    assert total(found.agreements).different == 0
    assert found.differences[made].largest == 0


def test_integer_sums_with_a_scale_and_a_bias_after_them(tmp_path: Path) -> None:
    draft = Draft([1, 3, 6, 6])
    rng = np.random.default_rng(1)
    zero = draft.constant(90, np.uint8)
    weights = draft.constant(rng.integers(-127, 128, (4, 3, 3, 3)), np.int8)
    read = draft.quantised("x", 0.05, 90)
    sums = draft.node("ConvInteger", read, weights, zero, kernel_shape=[3, 3])
    scaled = draft.node("Mul", draft.node("Cast", sums, to=1), draft.constant(0.0005))
    biased = draft.node("Add", scaled, draft.constant(rng.normal(size=(1, 4, 1, 1))))
    path = draft.write(tmp_path / "sums.onnx", draft.both(draft.node("Relu", biased), 0.02, 3), [1, 4, 4, 4])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def test_integers_go_in_and_out(tmp_path: Path) -> None:
    draft = Draft([1, 4, 5, 5], kind=UINT8)
    scale, zero = draft.constant(0.1), draft.constant(60, np.uint8)
    pooled = draft.node("MaxPool", "x", kernel_shape=[2, 2])
    made = draft.node("QLinearLeakyRelu", pooled, scale, zero, draft.constant(0.05), draft.constant(30, np.uint8),
                      domain="com.microsoft", alpha=0.1)  # fmt: skip
    parameters = [scale, zero]
    first = draft.node("QLinearAdd", "x", *parameters, "x", *parameters, *parameters, domain="com.microsoft")
    sliced = draft.node("Slice", first, *(draft.constant(pair, np.int64) for pair in ([1, 1], [5, 5], [2, 3])))
    others = [draft.constant(0.05), draft.constant(30, np.uint8)]
    joined = draft.node("QLinearConcat", *parameters, made, *others, sliced, *parameters,
                        domain="com.microsoft", axis=1)  # fmt: skip
    path = draft.write(tmp_path / "integers.onnx", joined, [1, 8, 4, 4], UINT8)
    graph = read_quantised(path)
    assert kinds(graph) == ["max pool", "table", "table", "move (Slice)", "concat"]
    found = beside(path, graph)
    assert found.outputs[joined].dtype == np.uint8
    assert total(found.agreements).different == 0
    assert found.differences[joined].largest == 0


@pytest.mark.parametrize(
    ("pads", "kind"),
    [
        ([0, 1, 0, 0, 0, 2, 0, 0], "concat"),
        ([0, 0, 0, 0, 0, 0, 0, 3], "concat"),
        ([0, 0, 1, 0, 0, 0, 0, 1], "move (Pad)"),
    ],
)
def test_a_map_padded_along_one_axis_is_joined_with_constants(tmp_path: Path, pads: list[int], kind: str) -> None:
    draft = Draft([1, 4, 5, 6])
    made = draft.node("Pad", draft.both("x", 0.03, 120), draft.constant(pads, np.int64), draft.constant(0.7))
    path = draft.write(tmp_path / "pad.onnx", draft.both(made, 0.03, 120), None)
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", kind, "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def test_a_batch_normalisation_alone_is_a_depthwise_convolution(tmp_path: Path) -> None:
    draft = Draft([1, 40, 16, 16], opset=13)
    rng = np.random.default_rng(2)
    named = [draft.constant(v) for v in (rng.uniform(-2, 2, 40), rng.normal(size=40), rng.normal(size=40),
                                         rng.uniform(0.5, 2, 40))]  # fmt: skip
    normalised = draft.node("BatchNormalization", draft.both("x", 0.03, 120), *named)
    path = draft.write(tmp_path / "bn.onnx", draft.both(normalised, 0.05, 140), [1, 40, 16, 16])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "depthwise conv", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def test_batch_normalisation_after_a_convolution_is_folded(tmp_path: Path) -> None:
    draft = Draft([1, 2, 9, 9], opset=13)
    rng = np.random.default_rng(3)
    weights = draft.weights(rng.integers(-127, 128, (4, 2, 3, 3)), 0.01)
    made = draft.node("Conv", draft.both("x", 0.03, 120), weights)
    named = [draft.constant(v) for v in ([1.0, -2.0, 0.5, 0.0], rng.normal(size=4), rng.normal(size=4),
                                         rng.uniform(0.5, 2, 4))]  # fmt: skip
    made = draft.node("Relu", draft.node("BatchNormalization", made, *named))
    path = draft.write(tmp_path / "folded.onnx", draft.both(made, 0.05, 0), [1, 4, 7, 7])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    assert graph.nodes[1].covers == ("n3", "n4", "n5")
    assert total(beside(path, graph).agreements).different == 0


def test_factors_and_offsets_after_a_product(tmp_path: Path) -> None:
    draft = Draft([1, 5, 7])
    rng = np.random.default_rng(4)
    weights = draft.weights(rng.integers(-127, 128, (7, 6)), rng.uniform(0.005, 0.02, 6), axis=1)
    made = draft.node("MatMul", draft.both("x", 0.031, 120), weights)
    made = draft.node("Add", made, draft.constant(rng.normal(size=6)))
    made = draft.node("Mul", draft.constant([-1.3, 0.7, 2.0, 1.1, 0.4, -0.2]), made)
    made = draft.node("Div", draft.node("Sub", draft.constant(0.5), made), draft.constant(1.7))
    path = draft.write(tmp_path / "affine.onnx", draft.both(made, 0.043, 130), [1, 5, 6])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "product", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def test_weights_that_are_quantised_before_they_are_turned(tmp_path: Path) -> None:
    draft = Draft([1, 7])
    rng = np.random.default_rng(6)
    scales, zeros = draft.constant(rng.uniform(0.005, 0.02, 5)), draft.constant(np.zeros(5), np.int8)
    integers = draft.node("QuantizeLinear", draft.constant(rng.normal(size=(5, 7))), scales, zeros, axis=0)
    turned = draft.node("Transpose", draft.node("DequantizeLinear", integers, scales, zeros, axis=0), perm=[1, 0])
    made = draft.node("Add", draft.node("MatMul", draft.both("x", 0.031, 120), turned), draft.constant([0.3]))
    path = draft.write(tmp_path / "turned.onnx", draft.both(made, 0.017, 130), [1, 5])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "product", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize("groups", [1, 2])
def test_a_transposed_convolution(tmp_path: Path, groups: int) -> None:
    draft = Draft([1, 4, 5, 4])
    rng = np.random.default_rng(5)
    weights = draft.weights(rng.integers(-127, 128, (4, 3, 3, 4)), rng.uniform(0.01, 0.03, 3), axis=1)
    made = draft.node("ConvTranspose", draft.both("x", 0.031, 70), weights, strides=[2, 3], pads=[1, 0, 0, 2],
                      output_padding=[1, 2], group=groups)  # fmt: skip
    path = draft.write(tmp_path / "turned.onnx", draft.both(made, 0.21, 130), [1, 3 * groups, 11, 13])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "move (ConvTranspose)", "dequantise"]
    node = graph.nodes[1]
    assert isinstance(node, Convolution)
    assert (node.weights.shape, node.window.kernel) == ((3 * groups * 6, 4 // groups, 2, 2), (2, 2))
    assert node.macs == 4 * 3 * 12 * 20
    assert zero_share(node) == pytest.approx(1 - node.macs / (node.weights.size * 6 * 5))
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize("mode", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("size", [(12, 11), (10, 12), (9, 11)])
def test_a_transposed_convolution_of_a_given_size(tmp_path: Path, mode: str, size: tuple[int, int]) -> None:
    draft, rng = Draft([1, 4, 5, 6]), np.random.default_rng(5)
    weights = draft.weights(rng.integers(-127, 128, (4, 3, 3, 3)), rng.uniform(0.01, 0.03, 3), axis=1)
    settings = {"auto_pad": mode, "output_shape": size, "strides": [2, 2]}
    made = draft.node("ConvTranspose", draft.both("x", 0.031, 70), weights, **settings)
    path = draft.write(tmp_path / "size.onnx", draft.both(made, 0.2137, 130), [1, 3, *size])
    graph = read_quantised(path)
    assert kinds(graph)[1:-1] == ["conv", "move (ConvTranspose)"]
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize(
    ("zero", "kind"), [(128, ["product"]), (100, ["concat", "product"]), (0, ["concat", "product"])]
)
def test_weights_with_a_zero_point(tmp_path: Path, zero: int, kind: list[str]) -> None:
    draft = Draft([1, 6])
    weights = draft.weights(np.arange(24).reshape(6, 4) * 11, 0.01, dtype=np.uint8, zero=zero)
    made = draft.node("Gemm", draft.both("x", 0.1, 128), weights)
    path = draft.write(tmp_path / "zero.onnx", draft.both(made, 0.3, 128), [1, 4])
    graph = read_quantised(path)
    assert kinds(graph)[1:-1] == kind
    node = graph.nodes[-2]
    assert isinstance(node, Product)
    copies = node.weights.shape[1] // 6
    whole = node.weights.reshape(4, copies, 6).astype(int).sum(axis=1)
    assert whole.T.tolist() == (np.arange(24).reshape(6, 4) * 11 - zero).tolist()
    assert (node.macs, node.all_macs) == (24, 24 * copies)
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_weights_of_a_convolution_with_a_zero_point(tmp_path: Path, groups: int) -> None:
    draft, rng = Draft([1, 4, 6, 5]), np.random.default_rng(8)
    integers = rng.integers(0, 256, (4, 4 // groups, 3, 3))
    integers[0, 0, 0, :2] = 0, 255
    weights = draft.weights(integers, 0.01, dtype=np.uint8, zero=120)
    made = draft.node("Conv", draft.both("x", 0.05, 90), weights, pads=[1, 0, 1, 2], strides=[1, 2], group=groups)
    path = draft.write(tmp_path / "zero.onnx", draft.both(made, 0.3, 128), [1, 4, 6, 3])
    graph = read_quantised(path)
    assert kinds(graph)[1:-1] == ["concat" if groups == 1 else "move (Concat)", "conv"]
    assert (graph.nodes[2].macs, graph.nodes[2].parameter_bytes) == (integers.size * 18, integers.size * 2 + 32)
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize(
    ("bounds", "clip"),
    [((3.0, 1.0), (20, 20)), ((1.0, None), (20, 127)), ((None, 1.0), (-128, 20)), ((9.0, 8.0), (127, 127)),
     ((-1.0, 1.0), (-20, 20)), ((np.inf, -1.0), (-20, -20))],
)  # fmt: skip
def test_bounds_of_a_clip(tmp_path: Path, bounds: tuple[float | None, ...], clip: tuple[int, int]) -> None:
    draft, rng = Draft([1, 2, 5, 5]), np.random.default_rng(2)
    weights = draft.weights(rng.integers(-127, 128, (3, 2, 3, 3)), 0.01)
    convolved = draft.node("Conv", draft.both("x", 0.05, 0, np.int8), weights)
    clipped = draft.node("Clip", convolved, *("" if one is None else draft.constant(one) for one in bounds))
    path = draft.write(tmp_path / "clip.onnx", draft.both(clipped, 0.05, 0, np.int8), [1, 3, 3, 3])
    graph = read_quantised(path)
    node = graph.nodes[1]
    assert isinstance(node, Convolution)
    assert (node.requantisation.low, node.requantisation.high) == clip
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize(
    ("shape", "axis", "steps"),
    [
        ((6, 18), 0, [("Reshape", [6, 2, 3, 3])]),
        ((6, 2, 3, 3), 0, [("Identity",), ("Flatten",), ("Reshape", [6, 2, 3, 3])]),
        ((18, 6), 1, [("Transpose",), ("Reshape", [6, 2, 3, 3])]),
        ((1, 6, 2, 3, 3), 1, [("Squeeze", [0])]),
        ((9, 2, 3, 3), 0, [("Slice", [2], [8], [0])]),
        ((7, 2, 3, 3), 0, [("Gather", [5, 1, 0, 2, 2, 3])]),
        ((6, 1, 3, 3), 0, [("Expand", [6, 2, 3, 3])]),
    ],
)
def test_weights_in_another_order(
    tmp_path: Path, shape: tuple[int, ...], axis: int, steps: list[tuple[object, ...]]
) -> None:
    draft, rng = Draft([1, 2, 5, 6]), np.random.default_rng(3)
    weights = draft.weights(rng.integers(-127, 128, shape), rng.uniform(0.005, 0.01, shape[axis]), axis=axis)
    for operator, *constants in steps:
        weights = draft.node(str(operator), weights, *(draft.constant(one, np.int64) for one in constants))
    made = draft.node("Conv", draft.both("x", 0.05, 120), weights)
    path = draft.write(tmp_path / "order.onnx", draft.both(made, 0.3, 130), [1, 6, 3, 4])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def test_weights_whose_scales_no_longer_are_along_an_axis(tmp_path: Path) -> None:
    draft = Draft([1, 2, 5, 6])
    weights = draft.weights(np.arange(108).reshape(27, 4), [0.01, 0.02, 0.01, 0.03], axis=1)
    weights = draft.node("Reshape", weights, draft.constant([6, 2, 3, 3], np.int64))
    made = draft.node("Conv", draft.both("x", 0.05, 120), weights)
    path = draft.write(tmp_path / "mixed.onnx", draft.both(made, 0.3, 130), [1, 6, 3, 4])
    hosts = [node for node in read_quantised(path).nodes if isinstance(node, HostOperator)]
    assert [node.reason for node in hosts] == ["weights have scales along more than one axis"]


@pytest.mark.parametrize(("second", "scales"), [(1, 1), (1, 2), (3, 3)])
def test_weights_beside_each_other(tmp_path: Path, second: int, scales: int) -> None:
    draft, rng = Draft([1, 2, 5, 6]), np.random.default_rng(3)
    scale = rng.uniform(0.005, 0.01, 2) if scales > 1 else 0.01
    parts = [
        draft.weights(rng.integers(-127, 128, (2, 2, 3, 3)), scale),
        draft.node("Cast", draft.weights(rng.integers(-127, 128, (second, 2, 3, 3)), 0.01), to=1),
    ]
    made = draft.node("Conv", draft.both("x", 0.05, 120), draft.node("Concat", *parts, axis=-4))
    path = draft.write(tmp_path / "beside.onnx", draft.both(made, 0.3, 130), [1, 2 + second, 3, 4])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "conv", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


def weights_clipped(draft: Draft) -> str:
    return draft.node("Clip", draft.weights(np.arange(48).reshape(8, 6), 0.01), draft.constant(0.1))


def weights_beside_of_other_channels(draft: Draft) -> str:
    parts = [draft.weights(np.ones((4, 6)), np.linspace(0.01, 0.02, 6), axis=1) for _ in range(2)]
    return draft.node("Concat", *parts, axis=0)


def weights_of_float8(draft: Draft) -> str:
    draft.constants.append(helper.make_tensor("w8", TensorProto.FLOAT8E4M3FN, [8, 6], [0.375] * 48))
    return draft.node("DequantizeLinear", "w8", draft.constant(0.05))


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (weights_clipped, "weights go through Clip after they are quantised"),
        (weights_beside_of_other_channels, "weights go through Concat after they are quantised"),
        (weights_of_float8, "weights are of float8_e4m3fn"),
        (lambda draft: draft.constant(np.ones((8, 6))), "weights are not quantised"),
    ],
)
def test_weights_that_are_no_integers(tmp_path: Path, write: Callable[[Draft], str], reason: str) -> None:
    draft = Draft([1, 8], opset=19)
    made = draft.node("MatMul", draft.both("x", 0.05, 120), write(draft))
    path = draft.write(tmp_path / "numbers.onnx", draft.both(made, 0.3, 130), [1, 6])
    hosts = [node for node in read_quantised(path).nodes if isinstance(node, HostOperator)]
    assert [(node.operator, node.reason) for node in hosts] == [("MatMul", reason)]


def test_padding_that_cuts_is_the_hosts(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6, 7])
    made = draft.node("Pad", draft.both("x", 0.05, 120), draft.constant([0, 0, -1, 2, 0, 0, 0, -1], np.int64))
    path = draft.write(tmp_path / "cut.onnx", draft.both(made, 0.05, 120), [1, 4, 5, 8])
    graph = read_quantised(path)
    assert [node.reason for node in graph.nodes if isinstance(node, HostOperator)] == [
        "Pad: padding below 0, which cuts"
    ]
    assert beside(path, graph).differences[graph.outputs[0]].largest == 0


def test_a_slope_for_each_column_is_no_table(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6, 7])
    made = draft.node("PRelu", draft.both("x", 0.05, 120), draft.constant(np.linspace(0.1, 0.7, 7)))
    path = draft.write(tmp_path / "columns.onnx", draft.both(made, 0.05, 120), [1, 4, 6, 7])
    hosts = [node for node in read_quantised(path).nodes if isinstance(node, HostOperator)]
    assert [node.reason for node in hosts] == ["a constant after it is not one for each channel"]


@pytest.mark.parametrize(
    ("attributes", "bias"),
    [
        ({"alpha": 0.5, "beta": 2.0}, (5,)), ({"alpha": -0.7, "beta": -1.5}, (1, 5)), ({"alpha": 0.0}, (5,)),
        ({"beta": 0.0}, ()), ({}, (1, 1)), ({"transB": 1}, (1,)),
    ],
)  # fmt: skip
def test_the_factors_and_the_constant_of_a_gemm(
    tmp_path: Path, attributes: dict[str, float], bias: tuple[int, ...]
) -> None:
    draft, rng = Draft([1, 12]), np.random.default_rng(5)
    shape = (5, 12) if attributes.get("transB") else (12, 5)
    weights = draft.weights(rng.integers(-127, 128, shape), rng.uniform(0.005, 0.01, 5), axis=shape.index(5))
    made = draft.node(
        "Gemm", draft.both("x", 0.05, 120), weights, draft.constant(rng.normal(size=bias)), **attributes
    )
    path = draft.write(tmp_path / "gemm.onnx", draft.both(made, 0.1, 130), [1, 5])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "product", "dequantise"]
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize(
    ("matrices", "scales", "axis"),
    [((1, 8, 6), 6, 2), ((3, 8, 6), 1, 0), ((3, 8, 6), 3, 0), ((3, 8, 6), 6, 2), ((2, 3, 8, 6), 1, 0)],
)
def test_a_product_with_several_matrices(tmp_path: Path, matrices: tuple[int, ...], scales: int, axis: int) -> None:
    draft, rng = Draft([1, 5, 8]), np.random.default_rng(5)
    scale = rng.uniform(0.005, 0.01, scales) if scales > 1 else 0.01
    weights = draft.weights(rng.integers(-127, 128, matrices), scale, axis=axis)
    made = draft.node("Relu", draft.node("MatMul", draft.both("x", 0.05, 120), weights))
    path = draft.write(tmp_path / "several.onnx", draft.both(made, 0.1, 30), [*matrices[:-2], 5, 6])
    graph = read_quantised(path)
    assert [node.kind for node in graph.nodes if node.macs] == ["product" if matrices[0] == 1 else "conv"]
    assert graph.work().macs == int(np.prod(matrices)) * 5
    assert total(beside(path, graph).agreements).different == 0


@pytest.mark.parametrize("shape", [[1, 8, 6], [1, 3, 8, 6]])
def test_weights_on_the_left(tmp_path: Path, shape: list[int]) -> None:
    draft, rng = Draft(shape), np.random.default_rng(5)
    weights = draft.weights(rng.integers(-127, 128, (5, 8)), 0.01)
    made = draft.node("MatMul", weights, draft.both("x", 0.05, 120))
    made = draft.node("Add", made, draft.constant(rng.normal(size=(5, 1))))
    path = draft.write(tmp_path / "left.onnx", draft.both(made, 0.1, 130), [*shape[:-2], 5, 6])
    graph = read_quantised(path)
    assert kinds(graph)[2] == "conv"
    assert graph.work().macs == 5 * int(np.prod(shape))
    assert total(beside(path, graph).agreements).different == 0


def convolved(path: Path, follow: Callable[[Draft, str], str], zero: int = 130) -> Graph:
    """A convolution, what follows it, and a quantiser; and that all of it agrees with ONNX Runtime."""
    draft, rng = Draft([1, 3, 6, 7]), np.random.default_rng(9)
    weights = draft.weights(rng.integers(-127, 128, (5, 3, 3, 3)), rng.uniform(0.005, 0.01, 5))
    made = follow(draft, draft.node("Conv", draft.both("x", 0.05, 120), weights))
    draft.write(path, draft.both(made, 0.05, zero), [1, 5, 4, 5])
    graph = read_quantised(path)
    found = beside(path, graph)
    assert total(found.agreements).different == 0
    assert found.differences[graph.outputs[0]].largest == 0
    return graph


SLOPES = np.linspace(0.05, 0.9, 5).reshape(5, 1, 1)
FACTORS = np.array([0.7, -1.2, 0.3, 2.0, -0.1]).reshape(5, 1, 1)


@pytest.mark.parametrize(
    "follow",
    [
        lambda draft, made: draft.node("LeakyRelu", made, alpha=0.1),
        lambda draft, made: draft.node("LeakyRelu", made),
        lambda draft, made: draft.node("LeakyRelu", made, alpha=-0.3),
        lambda draft, made: draft.node("PRelu", made, draft.constant(SLOPES)),
        lambda draft, made: draft.node("LeakyRelu", draft.node("Mul", made, draft.constant(FACTORS)), alpha=0.2),
        lambda draft, made: draft.node("Add", draft.node("LeakyRelu", made, alpha=0.2), draft.constant(0.7)),
        lambda draft, made: draft.node("Mul", draft.node("LeakyRelu", made), draft.constant(-0.7)),
        lambda draft, made: draft.node("Clip", draft.node("LeakyRelu", made), draft.constant(-0.1)),
    ],
)
def test_a_rectifier_of_sums_is_the_sum_of_its_halves(tmp_path: Path, follow: Callable[[Draft, str], str]) -> None:
    graph = convolved(tmp_path / "leaky.onnx", follow)
    assert kinds(graph)[1:-1] == ["conv", "conv", "add"]
    assert graph.work().macs == 5 * 3 * 9 * 20


def test_a_rectifier_whose_output_has_nothing_below_zero(tmp_path: Path) -> None:
    graph = convolved(tmp_path / "leaky.onnx", lambda draft, made: draft.node("LeakyRelu", made, alpha=0.1), 0)
    assert kinds(graph)[1:-1] == ["conv"]

    def clipped(draft: Draft, made: str) -> str:
        return draft.node("Clip", draft.node("LeakyRelu", made), draft.constant(0.3), draft.constant(2.0))

    assert kinds(convolved(tmp_path / "clipped.onnx", clipped))[1:-1] == ["conv"]


@pytest.mark.parametrize(
    "follow",
    [
        lambda draft, made: draft.node("Mul", draft.node("Relu", made), draft.constant(0.4)),
        lambda draft, made: draft.node("Mul", draft.node("Relu", made), draft.constant(np.abs(FACTORS))),
        lambda draft, made: draft.node("Sub", draft.constant(0.5), draft.node("Clip", made, draft.constant(-0.7))),
        lambda draft, made: draft.node("Min", draft.node("Max", made, draft.constant(-0.2)), draft.constant([0.9])),
        lambda draft, made: draft.node("HardSigmoid", made),
        lambda draft, made: draft.node("HardSigmoid", made, alpha=0.3, beta=0.43),
    ],
)
def test_factors_after_a_clip(tmp_path: Path, follow: Callable[[Draft, str], str]) -> None:
    assert kinds(convolved(tmp_path / "clip.onnx", follow))[1:-1] == ["conv"]


@pytest.mark.parametrize(
    ("follow", "reason"),
    [
        (lambda draft, made: draft.node("HardSwish", made), "sums through HardSwish before they are quantised"),
        (lambda draft, made: draft.node("Mul", made, draft.node("Sigmoid", made)), "Mul of two maps: hardware mult"),
        (
            lambda draft, made: draft.node("Add", draft.node("Relu", made), draft.constant(FACTORS)),
            "a clip with other bounds for each channel",
        ),
    ],
)
def test_what_follows_sums_and_is_no_clip_is_said_of_all_of_it(
    tmp_path: Path, follow: Callable[[Draft, str], str], reason: str
) -> None:
    hosts = [node for node in convolved(tmp_path / "no.onnx", follow).nodes if isinstance(node, HostOperator)]
    assert hosts[0].operator == "Conv"
    assert all(node.reason.startswith(reason) for node in hosts)


def test_what_two_read_is_moved_once(tmp_path: Path) -> None:
    draft, rng = Draft([1, 4, 6, 7]), np.random.default_rng(2)
    turned = draft.node("Transpose", draft.both("x", 0.05, 120), perm=[0, 2, 3, 1])
    made = [
        draft.both(draft.node("Conv", turned, draft.weights(rng.integers(-127, 128, (3, 6, 2, 2)), 0.01)), 0.1, 120)
        for _ in range(2)
    ]
    path = draft.write(tmp_path / "two.onnx", draft.both(draft.node("Add", *made), 0.2, 120), [1, 3, 6, 3])
    nodes = read_quantised(path).nodes
    assert [node.label for node in nodes].count("move (Transpose)") == 1
    assert len({node.name for node in nodes}) == len(nodes)


def test_a_quantised_constant_is_added_exactly(tmp_path: Path) -> None:
    draft = Draft([1, 3, 4, 4])
    constant = draft.numbers(draft.constant([[[10]], [[200]], [[77]]], np.uint8), 0.07, 90)
    made = draft.node("Add", draft.both("x", 0.1, 20), constant)
    path = draft.write(tmp_path / "constant.onnx", draft.both(made, 0.15, 60), [1, 3, 4, 4])
    graph = read_quantised(path)
    assert isinstance(graph.nodes[1], Addition)
    assert total(beside(path, graph).agreements).different == 0


def test_an_activation_made_of_several_nodes_is_one_table(tmp_path: Path) -> None:
    draft = Draft([1, 3, 4, 4], kind=INT8)
    read = draft.numbers("x", 0.05, -3, np.int8)
    made = draft.node("Mul", read, draft.node("Sigmoid", read))
    path = draft.write(tmp_path / "silu.onnx", draft.quantised(made, 0.03, -100, np.int8), [1, 3, 4, 4], INT8)
    graph = read_quantised(path)
    assert isinstance(graph.nodes[0], Lookup)
    assert len(graph.nodes) == 1
    assert graph.nodes[0].covers == ("n1", "n2")
    assert total(beside(path, graph).agreements).different == 0


def test_what_follows_numbers_of_the_host_is_quantised_first(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6, 6])
    normalised = draft.node("LRN", draft.both("x", 0.1, 128), size=3)
    pooled = draft.node("MaxPool", normalised, kernel_shape=[3, 2], strides=[1, 2])
    flat = draft.node("Flatten", pooled)
    path = draft.write(tmp_path / "lrn.onnx", draft.both(flat, 0.07, 120), [1, 48])
    graph = read_quantised(path)
    assert kinds(graph) == ["quantise", "dequantise", "LRN", "quantise", "max pool", "view", "dequantise"]
    assert [node.reason for node in graph.nodes if isinstance(node, HostOperator)] == ["LRN: no integer form"]
    found = beside(path, graph)
    assert found.differences[graph.outputs[0]].largest == 0
    assert total(found.agreements).elements == 48


def test_what_hardware_cannot_do_is_named_with_its_work(tmp_path: Path) -> None:
    draft = Draft([1, 4, 6])
    read = draft.both("x", 0.1, 128)
    turned = draft.node("Transpose", read, perm=[0, 2, 1])
    made = draft.node("MatMul", read, draft.both(turned, 0.1, 128))
    path = draft.write(tmp_path / "host.onnx", draft.both(draft.node("Softmax", made), 0.004, 0), [1, 4, 4])
    graph = read_quantised(path)
    hosts = [node for node in graph.nodes if isinstance(node, HostOperator)]
    assert [(node.operator, node.macs) for node in hosts] == [("MatMul", 96), ("Softmax", 0)]
    assert graph.work([node.name for node in hosts]).macs == graph.work().macs == 96
    assert beside(path, graph).differences[graph.outputs[0]].largest == 0
