"""The ONNX importer against the light models that the package onnx brings, and against the built-in tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.readers.layer_sets import load_layer_set
from hwgen.readers.layers.operators import IGNORED, REFUSED, TAKEN
from hwgen.readers.layers.reader import read_onnx
from hwgen.readers.onnx.lifting import EQUIVALENTS

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# Convolutions, depthwise ones among them, fully connected layers, pools, MACs, weights: measured on onnx 1.23.2.
MODELS = {
    "light_bvlc_alexnet": (5, 0, 3, 3, 654_560_384, 60_954_656),
    "light_densenet121": (121, 0, 0, 5, 2_834_161_664, 7_894_208),
    "light_inception_v1": (57, 0, 1, 14, 1_431_556_352, 6_990_272),
    "light_inception_v2": (69, 0, 1, 13, 2_018_851_840, 11_174_080),
    "light_resnet50": (53, 0, 1, 2, 4_089_184_256, 25_502_912),
    "light_shufflenet": (49, 16, 1, 5, 124_664_528, 1_365_464),
    "light_squeezenet": (26, 0, 0, 4, 349_151_936, 1_231_552),
    "light_vgg19": (16, 0, 3, 5, 19_632_062_464, 143_652_544),
    "light_zfnet512": (5, 0, 3, 3, 1_481_727_008, 87_242_528),
}


@pytest.mark.parametrize("name", MODELS)
def test_light_model(name: str) -> None:
    layers = load_layer_set(str(LIGHT / f"{name}.onnx")).layers
    ops = Counter(node.op for node in layers)
    found = (ops["conv"] + ops["depthwise_conv"], ops["depthwise_conv"], ops["fc"], ops["pool"])
    assert (*found, sum(node.macs for node in layers), sum(node.weights for node in layers)) == MODELS[name]


@pytest.mark.parametrize(
    ("model", "table"),
    [("light_resnet50", "resnet50"), ("light_squeezenet", "squeezenet_1_1"), ("light_vgg19", "vgg19")],
)
def test_same_layers_as_the_built_in_table(model: str, table: str) -> None:
    def rows(name: str) -> Counter[tuple[Any, ...]]:
        return Counter(
            (node.op, *node.model_dump(include=set(SIZES)).values())
            for node in load_layer_set(name).layers
            if node.op in ("conv", "fc", "pool")
        )

    assert rows(str(LIGHT / f"{model}.onnx")) == rows(table)


SIZES = [
    "input_channels", "output_channels", "input_height", "input_width", "output_height", "output_width", "kernel",
    "stride", "padding", "groups",
]  # fmt: skip


def save_model(path: Path, op: str, shape: list[Any], weights: list[int] | None, **attributes: Any) -> Path:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    values = [] if weights is None else [helper.make_tensor("w", TensorProto.FLOAT, weights, [0.0] * _count(weights))]
    node = helper.make_node(op, ["x"] + ["w"] * len(values), ["y"], name="a/b", **attributes)
    graph = helper.make_graph([node], "g", [given], [made], values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


def _count(dims: list[int]) -> int:
    total = 1
    for dim in dims:
        total *= dim
    return total


def read_one(path: Path, *arguments: Any, **attributes: Any) -> Node:
    (node,) = load_layer_set(str(save_model(path / "m.onnx", *arguments, **attributes))).layers
    return node


def test_attributes_become_explicit_pads(tmp_path: Path) -> None:
    same = read_one(tmp_path, "Conv", [1, 4, 10, 10], [8, 2, 4, 4], group=2, auto_pad="SAME_UPPER", strides=[3, 3])
    assert (same.name, same.op, same.groups, same.padding) == ("a_b", "conv", 2, (1, 1, 2, 2))
    lower = read_one(tmp_path, "Conv", [1, 4, 10, 10], [8, 4, 4, 4], auto_pad="SAME_LOWER", strides=[3, 3])
    assert lower.padding == (2, 2, 1, 1)
    pool = read_one(tmp_path, "MaxPool", [1, 4, 6, 6], None, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    assert (pool.output_height, pool.padding) == (3, (0, 0, 1, 1))
    mean = read_one(tmp_path, "GlobalAveragePool", [1, 4, 6, 7], None)
    assert (mean.pool, mean.global_pool, mean.kernel) == ("avg", True, (6, 7))
    depthwise = read_one(tmp_path, "Conv", ["batch", 4, 6, 6], [4, 1, 3, 3], group=4)
    assert depthwise.op == "depthwise_conv"
    up = read_one(tmp_path, "ConvTranspose", [1, 4, 6, 6], [4, 2, 3, 3], strides=[2, 2], output_padding=[1, 1])
    assert (up.op, up.output_channels, up.output_height) == ("deconv", 2, 14)
    product = read_one(tmp_path, "MatMul", [1, 12], [12, 5])
    assert (product.op, product.input_channels, product.output_channels) == ("fc", 12, 5)


def test_one_dimension_is_a_map_of_height_one(tmp_path: Path) -> None:
    wave = read_one(tmp_path, "Conv", [1, 4, 10], [8, 4, 3], pads=[1, 2], strides=[2])
    assert (wave.input_height, wave.input_width, wave.output_height, wave.output_width) == (1, 10, 1, 6)
    assert (wave.kernel, wave.stride, wave.padding, wave.macs) == ((1, 3), (1, 2), (0, 1, 0, 2), 8 * 4 * 3 * 6)
    pool = read_one(tmp_path, "MaxPool", [1, 4, 9], None, kernel_shape=[3], strides=[3])
    assert (pool.kernel, pool.output_width) == ((1, 3), 3)
    up = read_one(tmp_path, "ConvTranspose", [1, 4, 6], [4, 2, 3], strides=[2])
    assert (up.op, up.output_width, up.macs) == ("deconv", 13, 4 * 2 * 3 * 6)


def test_a_transposed_convolution_of_a_given_size(tmp_path: Path) -> None:
    up = read_one(tmp_path, "ConvTranspose", [1, 4, 6, 6], [4, 2, 3, 3], strides=[2, 2], output_shape=[12, 12])
    assert (up.output_height, up.padding) == (12, (1, 1, 0, 0))
    same = read_one(tmp_path, "ConvTranspose", [1, 4, 6, 6], [4, 2, 3, 3], strides=[2, 2], auto_pad="SAME_UPPER")
    assert (same.output_height, same.padding) == (12, (0, 0, 1, 1))


def test_several_rows_of_a_matrix_are_pixels(tmp_path: Path) -> None:
    words = read_one(tmp_path, "MatMul", [1, 7, 12], [12, 5])
    assert (words.op, words.input_channels, words.output_width, words.macs) == ("conv", 12, 7, 7 * 12 * 5)
    image = read_one(tmp_path, "MatMul", [1, 3, 7, 12], [12, 5])
    assert (image.op, image.output_height, image.output_width) == ("conv", 3, 7)


# Images, channels read and made, pixels as height and width, groups, of products and what has images.
SHARED = [
    ("Gemm", [7, 12], [12, 5], {}, ("conv", 1, 12, 5, 1, 7, 1)),
    ("MatMul", [7, 12], [12, 5], {}, ("conv", 1, 12, 5, 1, 7, 1)),
    ("Gemm", [12, 7], [5, 12], {"transA": 1, "transB": 1}, ("conv", 1, 12, 5, 1, 7, 1)),
    ("MatMul", [1, 7, 12], [12, 5], {}, ("conv", 1, 12, 5, 1, 7, 1)),
    ("MatMul", [3, 7, 12], [12, 5], {}, ("conv", 3, 12, 5, 1, 7, 1)),
    ("MatMul", [3, 1, 12], [12, 5], {}, ("fc", 3, 12, 5, 1, 1, 1)),
    ("MatMul", [2, 6, 7, 12], [12, 5], {}, ("conv", 2, 12, 5, 6, 7, 1)),
    ("MatMul", [1, 3, 12], [2, 12, 5], {}, ("conv", 1, 24, 10, 1, 3, 2)),
    ("MatMul", [4, 2, 3, 12], [2, 12, 5], {}, ("conv", 4, 24, 10, 1, 3, 2)),
    ("Conv", [4, 4, 9, 10], [8, 4, 3, 3], {}, ("conv", 4, 4, 8, 7, 8, 1)),
    ("Conv", [4, 4, 10], [4, 1, 3], {"group": 4}, ("depthwise_conv", 4, 4, 4, 1, 8, 4)),
    ("ConvTranspose", [3, 4, 5, 6], [4, 2, 2, 2], {"strides": [2, 2]}, ("deconv", 3, 4, 2, 10, 12, 1)),
    ("MaxPool", [2, 3, 8, 8], None, {"kernel_shape": [2, 2], "strides": [2, 2]}, ("pool", 2, 3, 3, 4, 4, 1)),
    ("GlobalAveragePool", [2, 3, 8, 8], None, {}, ("pool", 2, 3, 3, 1, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("op", "shape", "weights", "attributes", "row"), SHARED)
def test_rows_and_images_share_the_weights(
    tmp_path: Path, op: str, shape: list[int], weights: list[int] | None, attributes: dict[str, Any], row: object
) -> None:
    node = read_one(tmp_path, op, shape, weights, **attributes)
    sizes = node.input_channels, node.output_channels, node.output_height, node.output_width, node.groups
    assert (node.op, node.batch, *sizes) == row
    if weights is not None:
        pixels = 5 * 6 if op == "ConvTranspose" else node.output_height * node.output_width
        assert (node.weights, node.macs) == (_count(weights), _count(weights) * pixels * node.batch)


def test_weights_on_the_left(tmp_path: Path) -> None:
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 12, 7])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    weights = helper.make_tensor("w", TensorProto.FLOAT, [5, 12], [0.0] * 60)
    graph = helper.make_graph([helper.make_node("MatMul", ["w", "x"], ["y"])], "g", [given], [made], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), str(tmp_path / "m.onnx"))
    (node,) = load_layer_set(str(tmp_path / "m.onnx")).layers
    assert (node.batch, node.input_channels, node.output_channels, node.output_width) == (2, 12, 5, 7)


# What a node with work is left out for, and its multiply-accumulates.
LOST = [
    ("Conv", [1, 4, 10, 10], [8, 4, 3, 3], {"dilations": [2, 2]}, "dilations [2, 2], expected 1", 8 * 4 * 9 * 36),
    ("Conv", [1, 4, 5, 5, 5], [8, 4, 3, 3, 3], {}, "a convolution of 3 dimensions, expected 1 or 2", 32 * 27 * 27),
    ("ConvTranspose", [1, 4, 5, 5], [4, 8, 3, 3], {"dilations": [2, 2]}, "dilations [2, 2]", 32 * 9 * 25),
    ("MatMul", [4, 12], [12], {}, "a product with a vector, expected matrices", 4 * 12),
    ("Conv", [1, 4, 70000], [8, 4, 1], {}, "input_width: expected at most 65535", 8 * 4 * 70000),
]


@pytest.mark.parametrize(("op", "shape", "weights", "attributes", "reason", "macs"), LOST)
def test_work_that_no_row_expresses_is_left_out_by_name(
    tmp_path: Path, op: str, shape: list[Any], weights: list[int], attributes: dict[str, Any], reason: str, macs: int
) -> None:
    path = save_model(tmp_path / "m.onnx", op, shape, weights, **attributes)
    with pytest.raises(InputError) as caught:
        load_layer_set(str(path))
    assert f"no node is a layer of a table: 100 % of the multiply-accumulates: a_b ({op}: {reason}" in str(
        caught.value
    )
    node = save_model(path, op, shape, weights, **attributes)
    assert str(node) in str(caught.value)
    model = onnx.load(str(path))
    first = helper.make_node("Conv", ["z", "v"], ["u"], name="first")
    model.graph.node.insert(0, first)
    model.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 1, 1, 1]))
    model.graph.initializer.append(helper.make_tensor("v", TensorProto.FLOAT, [1, 1, 1, 1], [0.0]))
    onnx.save(model, str(path))
    network = load_layer_set(str(path))
    (lost,) = network.left_out
    assert (lost.name, lost.op, lost.macs) == ("a_b", op, macs)
    assert network.coverage().share == macs / (macs + 1)
    assert str(network.not_connected).startswith(f"a_b is left out: {op}: {reason}")


def recurrent() -> onnx.NodeProto:
    return helper.make_node("LSTM", ["x", "w", "r"], ["y"], name="memory", hidden_size=5)


def test_unknown_work_is_left_out_by_name(tmp_path: Path) -> None:
    cases: list[tuple[onnx.NodeProto, str, int | None]] = [
        (recurrent(), "LSTM: a recurrent layer", 7 * (20 * 12 + 20 * 5)),
        (helper.make_node("Einsum", ["x", "x"], ["y"], name="e", equation="abc,abd->acd"), "Einsum: a product", None),
        (
            helper.make_node("Blur", ["x"], ["y"], name="b", domain="my.own"),
            "my.own.Blur: an operator that is not",
            None,
        ),
        (helper.make_node("MatMul", ["x", "t"], ["y"], name="p"), "MatMul: a product of two computed", 7 * 7 * 12),
    ]
    for node, reason, macs in cases:
        taken = helper.make_node("Conv", ["x", "k"], ["u"], name="taken")
        swap = helper.make_node("Transpose", ["x"], ["t"], name="swap", perm=[0, 2, 1])
        sizes = {"w": [1, 20, 12], "r": [1, 20, 5], "k": [1, 1, 1]}
        given = helper.make_tensor_value_info(
            "x", TensorProto.FLOAT, [7, 1, 12] if node.name == "memory" else [1, 7, 12]
        )
        values = [
            helper.make_tensor(name, TensorProto.FLOAT, dims, [0.0] * _count(dims)) for name, dims in sizes.items()
        ]
        if node.name != "memory":
            values[2] = helper.make_tensor("k", TensorProto.FLOAT, [1, 7, 1], [0.0] * 7)
        else:
            taken = helper.make_node("Conv", ["h", "k"], ["u"], name="taken")
        inputs = [given, helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 1, 4])]
        made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
        graph = helper.make_graph([swap, taken, node], "g", inputs, [made], values)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.own", 1)]
        path = tmp_path / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))
        (lost,) = load_layer_set(str(path)).left_out
        assert lost.reason.startswith(reason)
        assert lost.macs == macs


def test_what_cannot_be_read_is_refused_in_a_line(tmp_path: Path) -> None:
    path = save_model(tmp_path / "m.onnx", "Conv", [1, 4, "h", 10], [8, 4, 3, 3])
    with pytest.raises(
        InputError, match=r"m\.onnx: input x: size 2 \(h\) is free: expected fixed sizes but for the batch"
    ):
        load_layer_set(str(path))
    save_model(path, "Relu", [1, 4, 10], None)
    with pytest.raises(InputError, match="expected a model with a convolution, product or pool, got 1 Relu"):
        load_layer_set(str(path))
    save_model(path, "MaxPool", [1, 4, 10, 10], None, kernel_shape=[2, 2], dilations=[2, 2])
    with pytest.raises(InputError, match=r"got 1 MaxPool \(a dilated pool, or channels last: no multiply-acc"):
        load_layer_set(str(path))
    whole = save_model(path, "Conv", [1, 4, 10, 10], [8, 4, 3, 3]).read_bytes()
    for kept in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:kept])
        with pytest.raises(InputError, match=r"m\.onnx: (expected an ONNX model|shapes cannot be inferred)"):
            load_layer_set(str(path))
    path.write_bytes(b"not a model")
    with pytest.raises(InputError, match="expected an ONNX model"):
        load_layer_set(str(path))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_onnx(tmp_path / "none.onnx")


def test_every_operator_is_listed_once_and_exists() -> None:
    ignored = [name for group in IGNORED for name in group.names]
    tables: list[set[str]] = [set(TAKEN), set(ignored), set(REFUSED), set(EQUIVALENTS)]
    assert len(ignored) == len(set(ignored))
    assert sum(map(len, tables)) == len(set[str]().union(*tables))
    standard = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""}
    losses = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}
    assert standard - set[str]().union(*tables) <= losses  # newer ones are refused until they are listed
    assert set(EQUIVALENTS.values()) <= set(TAKEN) | set(ignored)


def test_functions_of_the_model_are_looked_into(tmp_path: Path) -> None:
    body = [helper.make_node("Conv", ["a", "b"], ["c"]), helper.make_node("Relu", ["c"], ["d"])]
    opset = [helper.make_opsetid("", 17)]
    function = helper.make_function("my.own", "Block", ["a", "b"], ["d"], body, opset)
    path = save_model(tmp_path / "m.onnx", "Conv", [1, 4, 10, 10], [8, 4, 3, 3])
    model = onnx.load(str(path))
    node = model.graph.node[0]
    node.op_type, node.domain = "Block", "my.own"
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("my.own", 1))
    onnx.save(model, str(path))
    network = load_layer_set(str(path))
    assert [(row.op, row.activation) for row in network.layers] == [("conv", "relu")]
