"""Layers of odd shapes."""

from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.studies.fuzz.pairs import Case

__all__ = ["LAYERS", "is_layer", "layer_table"]

MOST_MACS = 12_000
LAYERS: dict[str, tuple[Any, ...]] = {
    "layers": (1, 2),
    "height": (1, 2, 3, 5, 7, 12),
    "width": (1, 2, 3, 5, 9, 17, 33),
    "kernel_rows": (1, 2, 3, 5),
    "kernel_columns": (1, 2, 3, 4, 7),
    "stride_rows": (1, 2, 3, 4),
    "stride_columns": (1, 2, 3, 4),
    "padding_top": (0, 1, 2, 4),
    "padding_left": (0, 1, 3),
    "padding_bottom": (0, 1, 2),
    "padding_right": (0, 1, 2, 5),
    "channels": (1, 2, 3, 5, 8, 17),
    "outputs": (1, 2, 3, 5, 13, 16),
    "groups": (1, 2, 3, 5),
    "shift": (None, 0, 7, 31),
    "relu": (None, True),
    "ceiling": (None, 0, 6),
}
"""Features of a set of layers. Channels and outputs are those of a group."""


def layer_table(case: Case) -> dict[str, Any]:
    """The data of its file; a second layer is the first one with rows and columns, channels and outputs swapped."""
    return {
        "format": 1,
        "kind": "layer_list",
        "network": "drawn",
        "layers": [_row(case), *([_row(case | _mirrored(case)) | {"name": "second"}] if case["layers"] == 2 else ())],
    }


def is_layer(case: Case) -> bool:
    """Whether the windows fit into the maps, and the layers are small."""
    try:
        layers = [Layer.model_validate(row) for row in layer_table(case)["layers"]]
    except (InputError, ValueError):
        return False
    return all(layer.macs <= MOST_MACS for layer in layers)


def _row(case: Case) -> dict[str, Any]:
    given = {key: case[key] for key in ("shift", "relu", "ceiling") if case[key] is not None}
    each = case["channels"] == case["outputs"] == 1 < case["groups"]
    return {
        "name": "first",
        "op": "depthwise_conv" if each else "conv",
        "input_channels": case["groups"] * case["channels"],
        "output_channels": case["groups"] * case["outputs"],
        "input_height": case["height"],
        "input_width": case["width"],
        "kernel": [case["kernel_rows"], case["kernel_columns"]],
        "stride": [case["stride_rows"], case["stride_columns"]],
        "padding": [case[f"padding_{side}"] for side in ("top", "left", "bottom", "right")],
        "groups": case["groups"],
        **({"requantisation": given} if given else {}),
    }


SWAPPED = {"height": "width", "kernel_rows": "kernel_columns", "stride_rows": "stride_columns",
           "padding_top": "padding_left", "padding_bottom": "padding_right", "channels": "outputs"}  # fmt: skip


def _mirrored(case: Case) -> Case:
    return {one: case[other] for pair in SWAPPED.items() for one, other in (pair, pair[::-1])}
