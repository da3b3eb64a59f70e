"""Random networks as ONNX graphs in every form, read again: rows, folding and connections are the same."""

import random
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto

from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Node
from hwgen.readers.layers.reader import read_onnx
from tests.random.networks import random_network
from tests.readers.layers.models import FORMS, Form, Graph
from tests.readers.layers.test_connections import rows

GRAPHS = 50


def decorated(network: Network, rng: random.Random, form: Form) -> Network:
    """Some rows have an activation, some of those with weights a batch normalisation; names of rows as in ONNX."""
    data = network.as_data()
    for row in data["layers"]:
        if row["op"] == "depthwise_conv" and row["groups"] == 1:  # the same, and ONNX does not tell them apart
            row["op"] = "conv"
        if row["op"] == "pool" and [row["input_height"], row["input_width"]] == row["kernel"]:
            row["global_pool"] = not any(row.get("padding", [0]))
        if row["op"] != "concat" and rng.random() < 0.4:
            row["activation"] = rng.choice(["relu", "leaky_relu", "sigmoid"])
        if row["op"] in ("conv", "depthwise_conv", "deconv") and form != "qoperator" and rng.random() < 0.4:
            row["batchnorm"] = True
    return Network.from_data(data)


class Writer:
    """A network as an ONNX graph, with nodes in between that change nothing."""

    def __init__(self, network: Network, form: Form, rng: random.Random) -> None:
        assert network.input is not None
        self.rng = rng
        self.graph = Graph(form, [rng.choice([1, "n"]), *_sizes(network.input)], [network.input.name])
        self.maps = {network.input.name: self.graph.entry}
        for node in network.layers:
            made = self.finished(node, getattr(self, node.op)(node, [self.maps[name] for name in node.inputs]))
            self.maps[node.name] = self.unchanged(made)
        read = {name for node in network.layers for name in node.inputs}
        self.outputs = [self.maps[node.name] for node in network.layers if node.name not in read]

    def unchanged(self, tensor: str) -> str:
        """Perhaps through nodes that rows are connected through."""
        for op in ("Identity", "Dropout"):
            if self.rng.random() < 0.2:
                tensor = self.graph.node(op, [tensor])
        return tensor

    def finished(self, node: Node, tensor: str) -> str:
        """With the batch normalisation and the activation of a row."""
        if node.batchnorm:
            names = [f"{node.name}_{key}" for key in "sbmv"]
            parameters = [self.graph.constant(name, TensorProto.FLOAT, [node.output_channels]) for name in names]
            tensor = self.unchanged(self.graph.node("BatchNormalization", [tensor, *parameters]))
        operator = {"relu": "Relu", "leaky_relu": "LeakyRelu", "sigmoid": "Sigmoid", None: ""}[node.activation]
        return self.graph.node(operator, [self.unchanged(tensor)]) if operator else tensor

    def conv(self, node: Node, maps: list[str]) -> str:
        dims = [node.output_channels, node.input_channels // node.groups, *node.kernel]
        window = {"strides": node.stride, "pads": node.padding, "group": node.groups}
        return self.graph.conv(maps[0], dims, node.name, **window)

    depthwise_conv = conv

    def deconv(self, node: Node, maps: list[str]) -> str:
        weights = self.graph.weights([node.input_channels, node.output_channels, *node.kernel])
        window = {"strides": node.stride, "pads": node.padding, "output_padding": node.output_padding}
        return self.graph.node("ConvTranspose", [maps[0], weights], node.name, **window)

    def pool(self, node: Node, maps: list[str]) -> str:
        if node.global_pool and node.pool == "avg":
            return self.graph.mean(maps[0], node.name)
        operator = "MaxPool" if node.pool == "max" else "AveragePool"
        window = {"kernel_shape": node.kernel, "strides": node.stride, "pads": node.padding}
        return self.graph.node(operator, maps, node.name, **window)

    def add(self, node: Node, maps: list[str]) -> str:
        return self.graph.add(*maps, name=node.name) if len(maps) == 2 else self.graph.node("Sum", maps, node.name)

    def concat(self, node: Node, maps: list[str]) -> str:
        return self.graph.concat(*maps, name=node.name)

    def pixel_shuffle(self, node: Node, maps: list[str]) -> str:
        return self.graph.node("DepthToSpace", maps, node.name, blocksize=node.factor, mode="CRD")


def _sizes(source: Any) -> list[int]:
    return [source.channels, source.height, source.width]


@pytest.mark.parametrize("form", FORMS)
def test_random_networks_come_back(tmp_path: Path, form: Form) -> None:
    rng = random.Random(f"onnx {form}")
    seen: set[str] = set()
    for _ in range(GRAPHS):
        network = decorated(random_network(rng), rng, form)
        written = Writer(network, form, rng)
        found = read_onnx(Path(written.graph.save(tmp_path / "m.onnx", *written.outputs)))
        expected, made = rows(network), rows(found)
        for row in (*expected, *made):  # a global pool has no stride
            row["stride"] = (1, 1) if row["global_pool"] else row["stride"]
        assert made == expected
        assert [node.name for node in found.layers] == [node.name for node in network.layers]
        assert len(found.layers) + sum(one.count for one in found.ignored) == len(written.graph.nodes)
        assert found.coverage().share == network.coverage().share
        seen |= {node.op for node in network.layers}
    assert seen >= {"conv", "depthwise_conv", "deconv", "pool", "add", "concat", "pixel_shuffle"}


def test_damaged_files_end_in_a_line_or_in_layers(tmp_path: Path) -> None:
    rng = random.Random("damaged")
    path = tmp_path / "m.onnx"
    read, refused = 0, []
    for form in FORMS:
        written = Writer(decorated(random_network(rng), rng, form), form, rng)
        whole = Path(written.graph.save(path, *written.outputs)).read_bytes()
        for _ in range(200):
            damaged = bytearray(whole)
            for _ in range(rng.choice([1, 1, 2, 5])):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
            path.write_bytes(damaged)
            try:
                read_onnx(path).coverage()
                read += 1
            except InputError as error:
                refused.append(str(error))
    assert all(line.startswith(f"{path}: ") for line in refused)
    assert min(read, len(refused)) > 50
