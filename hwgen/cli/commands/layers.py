"""``hwgen layers``: the layers of a layer set."""

from typing import Annotated

import typer

from hwgen.cli.console import Json, print_json, print_table
from hwgen.cli.names import set_names
from hwgen.ir.network import Network, Totals, load_layer_set

__all__ = ["LayerSet", "layers"]

LayerSet = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="A layer table (YAML or ONNX), a built-in name, or one of these with :PREFIX.",
        autocompletion=set_names,
    ),
]


def layers(name: LayerSet, *, as_json: Json = False) -> None:
    """Print the layers of a set, with their multiply-accumulates and sizes."""
    network = load_layer_set(name)
    if as_json:
        print_json(_as_json(network))
        return
    totals = Totals.of(network.layers)
    rows: list[list[object]] = [
        [
            node.name,
            node.op,
            _shape(node.input_channels, node.input_height, node.input_width),
            _shape(node.output_channels, node.output_height, node.output_width),
            _shape(*node.kernel),
            _shape(*node.stride),
            ",".join(map(str, node.padding)),
            node.groups,
            node.macs,
            node.weights,
        ]
        for node in network.layers
    ]
    rows.append([f"{len(network.layers)} layers", "", "", "", "", "", "", None, totals.macs, totals.weights])
    columns = ["layer", "op", "input", "output", "kernel", "stride", "pad t,l,b,r", "groups", "MACs", "weights"]
    print_table(network.network, columns, rows)


def _shape(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def _as_json(network: Network) -> dict[str, object]:
    totals = Totals.of(network.layers)
    return {
        "network": network.network,
        "kind": network.kind,
        "layers": [
            {**node.model_dump(mode="json", exclude_unset=True), "macs": node.macs, "weights": node.weights}
            for node in network.layers
        ],
        "totals": totals.model_dump(),
    }
