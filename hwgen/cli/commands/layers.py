"""``hwgen layers``: the layers of a layer set."""

from typing import Annotated

import typer

from hwgen.api.networks import load
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import set_names
from hwgen.cli.printers.networks import print_network

__all__ = ["LayerSet", "layers"]

LayerSet = Annotated[
    str,
    typer.Argument(
        metavar="SET",
        help="A layer table (YAML, ONNX or TFLite), a built-in name, or one of these with :PREFIX.",
        autocompletion=set_names,
    ),
]


def layers(name: LayerSet, *, partial: Partial = False, as_json: Json = False) -> None:
    """Print the layers of a set, with their multiply-accumulates and sizes.

    Of an ONNX or TFLite file also what became of each node: taken as a layer, ignored because it carries no work, or
    left out.
    """
    network = load(name)
    if as_json:
        print_json(network.document())
    else:
        print_network(network)
    if not partial:
        network.require_all_nodes()
