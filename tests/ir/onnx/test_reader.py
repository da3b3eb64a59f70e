"""The ONNX importer against the light models that the package onnx brings, and against the built-in tables."""

from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from hwgen.ir.document import InputError
from hwgen.ir.network import Node, load_layer_set

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


def test_what_cannot_be_read_is_refused_in_a_line(tmp_path: Path) -> None:
    cases = [
        ("Conv", [1, 4, 10, 10], [8, 4, 3, 3], {"dilations": [2, 2]}, "Conv a_b: dilations: expected 1, got [2, 2]"),
        ("Conv", [1, 4, "h", 10], [8, 4, 3, 3], {}, "Conv a_b: the shape of x is not fixed"),
        ("Conv", [1, 4, 10], [8, 4, 3], {}, "Conv a_b: expected two spatial dimensions, got 1"),
        ("Relu", [1, 4, 10], None, {}, "the model has no convolution, fully connected or pooling node"),
    ]
    for op, shape, weights, attributes, message in cases:
        path = save_model(tmp_path / "m.onnx", op, shape, weights, **attributes)
        with pytest.raises(InputError) as caught:
            load_layer_set(str(path))
        assert message in str(caught.value)
    path.write_bytes(b"not a model")
    with pytest.raises(InputError, match="expected an ONNX model"):
        load_layer_set(str(path))
