"""Rows in short form: what is left out follows, what is written is the full form, what contradicts is refused."""

from typing import Any

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.layer_set import Network
from hwgen.ir.schedule import Schedule


def row(**keys: Any) -> dict[str, Any]:
    """A convolution of 3 to 4 channels, 9 x 12, 3 x 3, but for ``keys``; those that are None are left out."""
    full = {
        "name": "a", "op": "conv", "input_channels": 3, "output_channels": 4, "input_height": 9, "input_width": 12,
        "kernel": [3, 3], **keys,
    }  # fmt: skip
    return {key: value for key, value in full.items() if value is not None}


def table(*rows: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"format": 1, "kind": "layer_list", "network": "t", "layers": [*rows], **keys}


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ({}, {"output_height": 7, "output_width": 10}),
        ({"kernel": 3}, {"kernel": [3, 3], "output_height": 7, "output_width": 10}),
        ({"stride": 2}, {"stride": [2, 2], "output_height": 4, "output_width": 5}),
        ({"padding": 1}, {"padding": [1, 1, 1, 1], "output_height": 9, "output_width": 12}),
        ({"padding": [0, 1]}, {"padding": [0, 1, 0, 1], "output_height": 7, "output_width": 12}),
        ({"padding": "valid"}, {"padding": [0, 0, 0, 0], "output_height": 7, "output_width": 10}),
        ({"padding": "same"}, {"padding": [1, 1, 1, 1], "output_height": 9, "output_width": 12}),
        # Ceil of 9 / 2 and 12 / 2: in all 2 rows, and 1 column, which is at the end.
        (
            {"padding": "same", "stride": 2},
            {"stride": [2, 2], "padding": [1, 0, 1, 1], "output_height": 5, "output_width": 6},
        ),
        (
            {"padding": "same", "kernel": [1, 1], "stride": [3, 3]},
            {"padding": [0] * 4, "output_height": 3, "output_width": 4},
        ),
        ({"output_height": 7}, {"output_height": 7, "output_width": 10}),
        (
            {"op": "depthwise_conv", "output_channels": None},
            {"groups": 3, "output_channels": 3, "output_height": 7, "output_width": 10},
        ),
        ({"op": "depthwise_conv", "output_channels": 6}, {"groups": 3, "output_height": 7, "output_width": 10}),
    ],
)
def test_layers(short: dict[str, Any], full: dict[str, Any]) -> None:
    wanted = row(**{**short, **full})
    assert Network.from_data(table(row(**short))).as_data() == table(wanted)
    assert Layer.model_validate(row(**short)) == Layer.model_validate(wanted)


def test_other_operations() -> None:
    rows = [
        row(op="pool", pool="max", kernel=2, stride=2, output_channels=None),
        row(name="b", op="deconv", kernel=4, stride=2, padding="same"),
        row(name="c", op="deconv", kernel=3, stride=2, output_padding=1, padding=1),
        row(name="d", op="fc", kernel=None, input_height=None, input_width=None),
        row(name="e", op="pixel_shuffle", factor=2, kernel=None, input_channels=12, output_channels=None),
        row(name="f", op="add", kernel=None, output_channels=None),
    ]
    found = Network.from_data(table(*rows)).layers
    assert [(one.output_channels, one.output_height, one.output_width) for one in found] == [
        (3, 4, 6), (4, 18, 24), (4, 18, 24), (4, 1, 1), (3, 18, 24), (3, 9, 12),
    ]  # fmt: skip
    assert found[1].padding == (1, 1, 1, 1)


def test_rows_of_a_network_read_what_is_made() -> None:
    feature = {"channels": 3, "height": 9, "width": 12}
    rows = [
        {"name": "a", "op": "conv", "inputs": ["input"], "output_channels": 4, "kernel": 3, "padding": "same"},
        {"name": "b", "op": "concat", "inputs": ["a", "input"]},
        {"name": "c", "op": "fc", "inputs": ["b"], "output_channels": 2},
    ]
    network = Network.from_data(table(*rows, kind="network", input=feature))
    sizes = [(one.input_channels, one.input_height, one.input_width) for one in network.layers]
    assert sizes == [(3, 9, 12), (7, 9, 12), (7 * 9 * 12, 1, 1)]
    assert Network.from_data(network.as_data()) == network
    rows[1]["inputs"] = ["a", "nowhere"]
    with pytest.raises(InputError, match=r"layers: b: inputs: 'nowhere' is not the input or an earlier layer$"):
        Network.from_data(table(*rows, kind="network", input=feature))


def test_layers_of_schedule_files() -> None:
    data = {"format": 1, "kind": "schedule", "layer": row(kernel=1), "nest": [{dim: 1} for dim in "mcyx"]}
    schedule = Schedule.from_data(data)
    assert schedule.as_data()["layer"] == {
        **row(kernel=[1, 1]), "output_height": 9, "output_width": 12, "stride": [1, 1], "padding": [0, 0, 0, 0],
        "groups": 1,
    }  # fmt: skip


PAIR = "expected [height, width], or one number for both, from 1 to 65535"
PADDING = (
    "padding: expected [top, left, bottom, right], [vertical, horizontal], one number from 0 to 65535, same or valid"
)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"output_height": 8}, "output_height: expected 7 from input 9, padding 0, kernel 3, stride 1, got 8"),
        ({"padding": "same", "output_width": 10}, "output_width: expected 12 from input 12, padding 2, kernel 3,"),
        ({"kernel": 13}, "an input of 9 pixels is too small for its kernel of 13"),
        ({"kernel": 0}, f"kernel: {PAIR}, got 0"),
        ({"kernel": True}, f"kernel: {PAIR}, got"),
        ({"kernel": None}, "kernel: missing key"),
        ({"stride": 0}, f"stride: {PAIR}, got 0"),
        ({"stride": "2"}, f"stride: {PAIR}, got '2'"),
        ({"padding": "full"}, PADDING),
        ({"padding": [1]}, PADDING),
        ({"padding": [1, -1]}, PADDING),
        ({"input_width": None}, "input_width: missing key"),
        ({"op": "deconv", "kernel": 2, "stride": 3, "padding": "same"}, "padding: same: expected a kernel"),
    ],
)  # fmt: skip
def test_refusals(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Network.from_data(table(row(**keys)), "f.yaml")
    assert str(caught.value).startswith(f"f.yaml: layers: a: {message}")
