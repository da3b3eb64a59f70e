"""Layer tables: all built-in sets load, their totals are the sums of their rows, bad ones are refused in a line."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from hwgen.ir.builtin import builtin_names, builtin_path
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, save_network
from hwgen.readers.layer_sets import load_layer_set, load_network

CONV: dict[str, Any] = {
    "name": "c1",
    "op": "conv",
    "inputs": ["input"],
    "input_channels": 4,
    "output_channels": 8,
    "input_height": 9,
    "input_width": 10,
    "output_height": 5,
    "output_width": 5,
    "kernel": [3, 3],
    "stride": [2, 2],
    "padding": [1, 1, 1, 0],
    "groups": 2,
}
PLAIN = {"inputs": ["c1"], "input_channels": 8, "input_height": 5, "input_width": 5, "output_height": 5}
PLAIN |= {"output_width": 5, "output_channels": 8}


def network(*rows: dict[str, Any], **header: Any) -> dict[str, Any]:
    feature = {"channels": 4, "height": 9, "width": 10}
    return {"format": 1, "kind": "network", "network": "n", "input": feature, "layers": list(rows), **header}


def raw_table(name: str) -> dict[str, Any]:
    path = builtin_path("layersets", name)
    assert path is not None
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def macs_and_weights(row: dict[str, Any]) -> tuple[int, int]:
    """Written from the definition, apart from `Node`."""
    if row["op"] not in ("conv", "depthwise_conv", "fc", "deconv"):
        return 0, 0
    weights = row["output_channels"] * row["input_channels"] * row["kernel"][0] * row["kernel"][1] // row["groups"]
    side = "input" if row["op"] == "deconv" else "output"
    return weights * row[f"{side}_height"] * row[f"{side}_width"], weights


def test_there_are_28_built_in_sets() -> None:
    assert len(builtin_names("layersets")) == 28


@pytest.mark.parametrize("name", builtin_names("layersets"))
def test_built_in_set(name: str) -> None:
    table = raw_table(name)
    loaded = load_layer_set(name)
    assert loaded.as_data() == table
    rows = [macs_and_weights(row) for row in table["layers"]]
    assert sum(macs for macs, _ in rows) == table["totals"]["macs"] == sum(node.macs for node in loaded.layers)
    assert sum(weights for _, weights in rows) == table["totals"]["weights"]
    convolutions = loaded.convolutions(partial=True)
    deconvs = [macs_and_weights(row)[0] for row in table["layers"] if row["op"] == "deconv"]
    assert sum(layer.macs for layer in convolutions) == table["totals"]["macs"] - sum(deconvs)
    assert len(convolutions) == table["totals"]["weighted_layers"] - len(deconvs)


def test_published_figures() -> None:
    figures = {"alexnet": 724_406_816, "vgg16": 15_470_264_320, "mobilenet_v2": 300_774_272}
    for name, macs in figures.items():
        assert sum(layer.macs for layer in load_layer_set(name).convolutions()) == macs
    rows = load_layer_set("stoutchinin_2019:alexnet").convolutions()
    assert [layer.name for layer in rows] == [f"alexnet_{number}" for number in range(1, 6)]
    assert sum(layer.macs for layer in rows) == 1_076_634_144


def test_fc_is_a_one_pixel_convolution() -> None:
    layer = load_layer_set("alexnet:fc6").convolutions()[0]
    assert layer.op == "fc"
    assert layer.extents == {"m": 4096, "c": 9216, "y": 1, "x": 1, "k": 1, "l": 1}


def test_a_file_and_its_prefix(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    second = {**PLAIN, "name": "add2", "op": "lrn"}
    original = Network.from_data(network(CONV, second))
    assert save_network(original, path)
    assert not save_network(original, path)
    assert load_network(path) == original
    selected = load_layer_set(f"{path}:c")
    assert (selected.kind, [node.name for node in selected.layers]) == ("layer_list", ["c1"])
    assert Network.from_data(selected.as_data()) == selected


def test_every_operation_in_one_network() -> None:
    conv_rows = [
        CONV,
        {**PLAIN, "name": "l", "op": "lrn"},
        {**PLAIN, "name": "a", "op": "add", "inputs": ["c1", "l"]},
        {**PLAIN, "name": "p", "op": "pool", "pool": "max", "kernel": [2, 2], "stride": [2, 2], "inputs": ["a"],
         "output_height": 2, "output_width": 2},
        {**PLAIN, "name": "d", "op": "depthwise_conv", "groups": 8, "inputs": ["a"], "kernel": [1, 1]},
        {**PLAIN, "name": "t", "op": "concat", "inputs": ["a", "d"], "input_channels": 16, "output_channels": 16},
        {**PLAIN, "name": "s", "op": "pixel_shuffle", "inputs": ["t"], "factor": 2, "input_channels": 16,
         "output_channels": 4, "output_height": 10, "output_width": 10},
        {**PLAIN, "name": "u", "op": "deconv", "inputs": ["a"], "kernel": [3, 3], "stride": [2, 2],
         "padding": [1, 1, 1, 1], "output_padding": [1, 1], "output_height": 10, "output_width": 10},
        {"name": "f", "op": "fc", "inputs": ["p"], "input_channels": 32, "output_channels": 3, "input_height": 1,
         "input_width": 1, "output_height": 1, "output_width": 1},
    ]  # fmt: skip
    loaded = Network.from_data(network(*conv_rows))
    assert [layer.name for layer in loaded.convolutions(partial=True)] == ["c1", "d", "f"]
    deconv = next(node for node in loaded.layers if node.op == "deconv")
    assert (deconv.weights, deconv.macs) == (8 * 8 * 9, 8 * 8 * 9 * 25)


def test_a_layer_requantises_as_its_row_says() -> None:
    def given(**keys: Any) -> dict[str, Any] | None:
        (layer,) = Network.from_data(network({**CONV, **keys})).convolutions()
        return layer.model_dump().get("requantisation")

    assert given() is given(activation="tanh") is None
    assert given(activation="relu6") == {"relu": True}
    assert given(activation="relu", requantisation={"shift": 4}) == {"shift": 4, "relu": True}
    assert given(activation="relu", requantisation={"relu": False}) == {"relu": False}


def changed(**changes: Any) -> dict[str, Any]:
    row = copy.deepcopy(CONV)
    row.update(changes)
    return row


BAD_ROWS = [
    (changed(colour="red"), "set.yaml: layers: c1: colour: unknown key"),
    (changed(input_channels=-4), "c1: input_channels: expected at least 1, got -4"),
    (changed(input_channels="4"), "c1: input_channels: expected a whole number, got '4'"),
    (
        changed(stride=[0, 1]),
        "c1: stride: expected [height, width], or one number for both, from 1 to 65535, got [0, 1]",
    ),
    (changed(stride=[1]), "c1: stride: expected [height, width], or one number for both, from 1 to 65535, got [1]"),
    (changed(output_height=6), "c1: output_height: expected 5 from input 9, padding 2, kernel 3, stride 2, got 6"),
    (changed(kernel=[12, 3]), "c1: kernel: height 12 exceeds the padded input height 11"),
    (changed(groups=3), "c1: input_channels: expected a multiple of groups (3), got 4"),
    (changed(op="depthwise_conv"), "c1: groups: expected input_channels (4) for a depthwise_conv"),
    (
        changed(op="softmax"),
        "c1: op: expected conv, depthwise_conv, fc, deconv, pool, add, concat, lookup, lrn or pixel_shuffle",
    ),
    (changed(op="pool"), "c1: pool: missing key (max or avg)"),
    (changed(op="pool", pool="max"), "c1: output_channels: expected 4 for pool, got 8"),
    (changed(op="fc"), "c1: fc: expected flattened channels"),
    (changed(op="lrn"), "c1: output_channels: expected 4 for lrn, got 8"),
    (changed(op="pixel_shuffle"), "c1: factor: missing key"),
    (changed(op="pixel_shuffle", factor=3), "c1: input_channels: expected a multiple of 9, got 4"),
    (changed(op="deconv"), "c1: output_height: expected 17 for deconv, got 5"),
    (changed(name="../up"), "layers: ../up: name: expected letters, digits and any of _ . + -, got '../up'"),
    (changed(inputs=["nowhere"]), "c1: inputs: nowhere is not the input or an earlier layer"),
    (changed(inputs=[]), "c1: inputs: expected the name of one row, or of the network's input, for conv"),
    (
        changed(input_channels=2, groups=2),
        "c1: inputs: input gives 4x9x10 (channels x height x width), expected 2x9x10",
    ),
    (
        changed(op="lrn", output_channels=4, output_height=9, output_width=10, requantisation={}),
        "c1: requantisation: expected none for lrn",
    ),
    ("conv", "set.yaml: layers: item 0: expected a mapping with the keys of a row, got 'conv'"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_bad_rows_are_refused(row: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Network.from_data(network(row), "set.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_FILES = [
    ([], "set.yaml: expected a mapping with the keys of a layer set, got []"),
    (network(CONV, format=2), "set.yaml: format: expected 1, got 2"),
    (network(CONV, kind="schedule"), "set.yaml: kind: expected network or layer_list, got 'schedule'"),
    (network(), "set.yaml: layers: expected a list of at least one layer"),
    (network(CONV, CONV), "set.yaml: layers: c1: the name is used twice"),
    (network(CONV, colour=1), "set.yaml: colour: unknown key"),
    (network(CONV, kind="layer_list"), "set.yaml: layers: c1: inputs: expected none in a layer_list"),
    (
        network(CONV, {**PLAIN, "name": "a", "op": "add"}),
        "set.yaml: layers: a: inputs: expected names of two or more rows, or of the network's input, for add",
    ),
    (
        network(
            CONV,
            totals={
                "layers": 1,
                "weighted_layers": 1,
                "macs": 3600,
                "conv_macs": 3601,
                "fc_macs": 0,
                "weights": 144,
                "conv_weights": 144,
            },
        ),
        "set.yaml: totals: conv_macs: expected 3600, got 3601",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD_FILES)
def test_bad_files_are_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Network.from_data(data, "set.yaml")
    assert str(caught.value) == message


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"^nonet: expected a file or one of the built-in layersets \(did you mean lenet\?\): alexnet, ",
    ):
        load_layer_set("nonet")
    with pytest.raises(InputError, match=r"no layer's name starts with 'zzz'"):
        load_layer_set("alexnet:zzz")
    with pytest.raises(InputError, match="expected a file or one of the built-in"):
        load_layer_set("../layersets/alexnet")
    broken = tmp_path / "broken.yaml"
    broken.write_text("layers: [\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.yaml:2: expected YAML"):
        load_layer_set(str(broken))
    with pytest.raises(InputError, match="cannot be read"):
        load_network(tmp_path / "missing.yaml")
