"""Networks out of ONNX graphs: the built-in tables again, and what the operators between two rows become."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto

from hwgen.ir.document import InputError
from hwgen.ir.excerpt import excerpt
from hwgen.ir.layer_set import Network
from hwgen.model.pipeline.graph import Graph as DepthFirst
from hwgen.readers.layer_sets import load_layer_set
from hwgen.readers.layers.reader import read_onnx
from tests.readers.layers.models import FORMS, Form, Graph

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def rows(network: Network) -> list[dict[str, Any]]:
    """All that shapes, arithmetic and connections follow from; inputs by the number of their row."""
    assert network.kind == "network", network.not_connected
    assert network.input is not None
    numbers = {network.input.name: 0} | {node.name: number for number, node in enumerate(network.layers, 1)}
    left = {"name", "onnx", "inputs", "note", "ref", "part", "scale_in", "scale_out"}
    return [
        {**node.model_dump(exclude=left), "inputs": sorted(numbers[one] for one in node.inputs)}
        for node in network.layers
    ]


def histories(network: Network) -> Counter[int]:
    """Each row with all that it is made from: equal for networks that differ in names and order alone."""
    known: list[int] = [0]
    for row in rows(network):
        made_from = sorted(known[number] for number in row.pop("inputs"))
        known.append(hash((*sorted((key, str(value)) for key, value in row.items()), *made_from)))
    return Counter(known)


def read(graph: Graph, tmp_path: Path, *outputs: str) -> Network:
    return read_onnx(Path(graph.save(tmp_path / "m.onnx", *outputs)))


def lenet(form: Form) -> Graph:
    graph = Graph(form, ["batch", 1, 32, 32])
    one = graph.node("Tanh", [graph.conv(graph.entry, [6, 1, 5, 5], "C1")])
    two = graph.node("AveragePool", [one], "S2", kernel_shape=[2, 2], strides=[2, 2])
    three = graph.node("Tanh", [graph.conv(two, [16, 6, 5, 5], "C3")])
    four = graph.node("AveragePool", [three], "S4", kernel_shape=[2, 2], strides=[2, 2])
    five = graph.node("Tanh", [graph.conv(four, [120, 16, 5, 5], "C5")])
    six = graph.node("Tanh", [graph.product(graph.node("Flatten", [five], axis=1), [120, 84], "F6")])
    graph.node("Softmax", [graph.product(six, [84, 10], "output")])
    return graph


@pytest.mark.parametrize("form", FORMS)
def test_lenet(tmp_path: Path, form: Form) -> None:
    network = read(lenet(form), tmp_path)
    assert rows(network) == rows(load_layer_set("lenet"))
    assert [node.name for node in network.layers] == ["C1", "S2", "C3", "S4", "C5", "F6", "output"]
    assert {node.onnx for node in network.layers} == {
        "float": {"Conv", "AveragePool", "MatMul"},
        "qdq": {"Conv", "AveragePool", "MatMul"},
        "qoperator": {"QLinearConv", "AveragePool", "QLinearMatMul"},
    }[form]


def normalised(graph: Graph, tensor: str, channels: int) -> str:
    if graph.form == "qoperator":  # folded before the model was quantised
        return tensor
    parameters = [graph.constant(f"{tensor}_{key}", TensorProto.FLOAT, [channels]) for key in "sbmv"]
    return graph.node("BatchNormalization", [tensor, *parameters])


@pytest.mark.parametrize("form", FORMS)
def test_mobilenet_block(tmp_path: Path, form: Form) -> None:
    def bounded(tensor: str) -> str:
        return graph.node("Clip", [tensor, "low", "high"])

    graph = Graph(form, [1, 24, 56, 56])
    graph.constant("low", TensorProto.FLOAT, [], [0.0])
    graph.constant("high", TensorProto.FLOAT, [], [6.0])
    wide = bounded(normalised(graph, graph.conv(graph.entry, [144, 24, 1, 1]), 144))
    deep = graph.conv(wide, [144, 1, 3, 3], group=144, pads=[1, 1, 1, 1])
    deep = bounded(normalised(graph, deep, 144))
    narrow = normalised(graph, graph.conv(deep, [24, 144, 1, 1]), 24)
    graph.add(narrow, graph.entry)
    table = excerpt(load_layer_set("mobilenet_v2"), "block02_expand", "block02_add")
    expected = rows(table)
    if form == "qoperator":
        expected = [{**row, "batchnorm": False} for row in expected]
    assert rows(read(graph, tmp_path)) == expected


def test_whole_models_are_the_built_in_tables() -> None:
    assert histories(read_onnx(LIGHT / "light_resnet50.onnx")) == histories(load_layer_set("resnet50"))
    for name in ("squeezenet", "inception_v1", "inception_v2", "vgg19", "bvlc_alexnet", "zfnet512"):
        network = read_onnx(LIGHT / f"light_{name}.onnx")
        assert DepthFirst.of(network).rows == len(network.layers)
    for name, why in (("densenet121", "BatchNormalization n8"), ("shufflenet", "Transpose n8 (moves elements)")):
        network = read_onnx(LIGHT / f"light_{name}.onnx")
        assert network.kind == "layer_list"
        assert why in str(network.not_connected)
        with pytest.raises(InputError, match="expected a connected network with an input, got a layer list"):
            DepthFirst.of(network)


def test_fsrcnn_with_its_deconvolution(tmp_path: Path) -> None:
    graph = Graph("float", [1, 1, 720, 1280])
    sizes = [(56, 1, 5), (12, 56, 1), (12, 12, 3), (12, 12, 3), (12, 12, 3), (12, 12, 3), (56, 12, 1)]
    tensor = graph.entry
    for number, (made, given, kernel) in enumerate(sizes):
        tensor = graph.conv(tensor, [made, given, kernel, kernel], pads=[kernel // 2] * 4)
        slopes = graph.constant(f"slope{number}", TensorProto.FLOAT, [made, 1, 1])
        tensor = graph.node("PRelu", [tensor, slopes])
    up = graph.weights([56, 1, 9, 9])
    graph.node("ConvTranspose", [tensor, up], strides=[2, 2], pads=[4] * 4, output_padding=[1, 1])
    network = read(graph, tmp_path)
    assert rows(network) == rows(load_layer_set("fsrcnn"))
    with pytest.raises(InputError, match=r"no schedule for 36.4 % of the multiply-accumulates"):
        network.convolutions()


# --- the operators between two rows ---


def between(graph: Graph, make: Callable[[str], str]) -> None:
    """conv, some operators, conv."""
    graph.conv(make(graph.conv(graph.entry, [8, 4, 3, 3], "a")), [2, 8, 1, 1], "b")


def constant_factor(graph: Graph, op: str, dims: list[int]) -> Callable[[str], str]:
    graph.constant("factor", TensorProto.FLOAT, dims)
    return lambda tensor: graph.node(op, [tensor, "factor"], op.lower())


def gated(graph: Graph, gate: str) -> Callable[[str], str]:
    return lambda tensor: graph.node("Mul", [tensor, graph.node(gate, [tensor])])


def test_activations_fold(tmp_path: Path) -> None:
    cases: dict[str, Callable[[Graph], Callable[[str], str]]] = {
        "relu": lambda graph: lambda tensor: graph.node("Relu", [graph.node("Identity", [tensor])]),
        "leaky_relu": lambda graph: lambda tensor: graph.node("LeakyRelu", [tensor]),
        "relu6": lambda graph: (
            graph.constant("low", 1, [], [0]), graph.constant("high", 1, [], [6]),
            lambda tensor: graph.node("Clip", [tensor, "low", "high"]))[-1],
        "clip": lambda graph: (
            graph.constant("low", 1, [], [-1]), lambda tensor: graph.node("Clip", [tensor, "low"]))[-1],
        "silu": lambda graph: gated(graph, "Sigmoid"),
        "hard_swish": lambda graph: gated(graph, "HardSigmoid"),
    }  # fmt: skip
    for activation, make in cases.items():
        graph = Graph("float", [1, 4, 6, 6])
        between(graph, make(graph))
        network = read(graph, tmp_path)
        assert (network.kind, network.layers[0].activation, network.layers[1].activation) == (
            "network", activation, None,
        )  # fmt: skip


def test_constants_for_each_channel_fold_and_others_do_not(tmp_path: Path) -> None:
    for op, dims, connected in [
        ("Mul", [8, 1, 1], True), ("Add", [1, 8, 1, 1], True), ("Sub", [], True), ("Div", [1], True),
        ("Add", [8, 4, 4], False), ("Max", [8, 1, 1], False),
    ]:  # fmt: skip
        graph = Graph("float", [1, 4, 6, 6])
        between(graph, constant_factor(graph, op, dims))
        network = read(graph, tmp_path)
        assert (network.kind == "network") == connected
        if not connected:
            assert f"no row expresses {op} {op.lower()} (" in str(network.not_connected)


def test_an_activation_beside_another_reader_is_no_row(tmp_path: Path) -> None:
    graph = Graph("float", [1, 4, 6, 6])
    one = graph.conv(graph.entry, [4, 4, 1, 1], "a")
    active = graph.node("Relu", [one], "r")
    graph.add(graph.conv(active, [4, 4, 1, 1], "b"), one)
    network = read(graph, tmp_path)
    assert (network.kind, network.layers[0].activation) == ("layer_list", None)
    assert network.not_connected == "no row expresses Relu r (not all that reads its input)"
    result = Graph("float", [1, 4, 6, 6])
    one = result.conv(result.entry, [4, 4, 1, 1], "a")
    result.conv(result.node("Relu", [one], "r"), [4, 4, 1, 1], "b")
    assert read(result, tmp_path).kind == "network"
    assert read(result, tmp_path, one, result.nodes[-1].output[0]).kind == "layer_list"


def test_what_moves_elements_ends_the_connection(tmp_path: Path) -> None:
    moves: list[tuple[str, dict[str, Any]]] = [
        ("Transpose", {"perm": [0, 1, 3, 2]}), ("Resize", {}), ("Exp", {}), ("Softmax", {}),
        ("LpPool", {"kernel_shape": [1, 1]}), ("InstanceNormalization", {}),
    ]  # fmt: skip
    for op, attributes in moves:
        graph = Graph("float", [1, 4, 6, 6])
        more = []
        if op == "Resize":
            more = ["", graph.constant("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2])]
        if op == "InstanceNormalization":
            more = [graph.constant(name, TensorProto.FLOAT, [8]) for name in ("one", "two")]
        between(graph, lambda tensor: graph.node(op, [tensor, *more], "n", **attributes))  # noqa: B023
        network = read(graph, tmp_path)
        assert network.kind == "layer_list"
        assert f"no row expresses {op} n" in str(network.not_connected)
        assert [node.op for node in network.layers] == ["conv", "conv"]
        assert (op, 1) in [(one.op, one.count) for one in network.ignored]


def test_zeros_around_a_map_become_padding(tmp_path: Path) -> None:
    graph = Graph("float", [1, 4, 6, 7])
    graph.constant("pads", TensorProto.INT64, [8], [0, 0, 1, 2, 0, 0, 3, 4])
    graph.conv(graph.node("Pad", [graph.entry, "pads"]), [8, 4, 3, 3], "a", pads=[1, 1, 1, 1])
    network = read(graph, tmp_path)
    (node,) = network.layers
    assert (network.kind, node.input_height, node.input_width, node.padding) == ("network", 6, 7, (2, 3, 4, 5))
    graph.node("MaxPool", [graph.node("Pad", [graph.nodes[-1].output[0], "pads"])], "p", kernel_shape=[2, 2])
    network = read(graph, tmp_path)
    assert (network.kind, network.not_connected) == ("layer_list", "p reads a padded map")
    assert network.layers[1].input_height == network.layers[0].output_height + 4


def test_an_input_with_channels_last(tmp_path: Path) -> None:
    graph = Graph("float", ["n", 6, 7, 4])
    first = graph.node("Transpose", [graph.entry], perm=[0, 3, 1, 2])
    graph.node("Transpose", [graph.mean(graph.conv(first, [8, 4, 3, 3]))], perm=[0, 2, 3, 1])
    network = read(graph, tmp_path)
    assert network.input is not None
    assert (network.kind, network.input.channels, network.input.height) == ("network", 4, 6)


def test_shuffles_joins_and_means(tmp_path: Path) -> None:
    graph = Graph("float", [1, 8, 6, 6])
    big = graph.node("DepthToSpace", [graph.entry], "s", blocksize=2, mode="CRD")
    both = graph.concat(big, graph.conv(big, [3, 2, 1, 1]), name="c")
    graph.constant("axes", TensorProto.INT64, [2], [2, -1])
    graph.node("ReduceMean", [both], "m", axes=[2, -1], keepdims=0)
    network = read(graph, tmp_path)
    assert [(node.op, node.output_channels) for node in network.layers] == [
        ("pixel_shuffle", 2), ("conv", 3), ("concat", 5), ("pool", 5),
    ]  # fmt: skip
    assert (network.kind, network.layers[3].global_pool, network.layers[3].kernel) == ("network", True, (12, 12))


def test_two_inputs_are_no_network(tmp_path: Path) -> None:
    graph = Graph("float", [1, 4, 6, 6], inputs=("left", "right"))
    graph.add(graph.conv("left", [4, 4, 1, 1]), graph.conv("right", [4, 4, 1, 1]))
    network = read(graph, tmp_path)
    assert (network.kind, network.not_connected) == ("layer_list", "expected one input, got left, right")
