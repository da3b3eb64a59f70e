"""``hwgen layers``: the layers of a layer set."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

import typer

from hwgen.cli.console import Json, print_json, print_table, printable
from hwgen.cli.coverage import Partial
from hwgen.cli.names import set_names
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Totals
from hwgen.readers.layer_sets import load_layer_set

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
    network = load_layer_set(name)
    if as_json:
        print_json(_as_json(network))
    else:
        _print(network)
    if network.left_out and not partial:
        raise InputError(f"{name}: no layer for {_nodes_left_out(network).lost}; --partial leaves it out")


def _nodes_left_out(network: Network) -> Coverage:
    """The coverage as far as nodes of a model have no row."""
    coverage = network.coverage()
    return replace(coverage, left_out=network.left_out)


def _print(network: Network) -> None:
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
    print_table(network.network, columns, rows, wide=["kernel", "weights", "stride", "groups", "pad t,l,b,r"])
    for images, count in Counter(node.batch for node in network.layers if node.batch > 1).items():
        typer.echo(f"{count} layers of {images} images, which share the weights")
    for line in _accounts(network):
        typer.echo(printable(line))


def _accounts(network: Network) -> Iterator[str]:
    """What became of the nodes of a model, and what of the rows no schedule does."""
    taken = Counter(node.onnx for node in network.layers if node.onnx is not None)
    if taken:
        yield f"taken: {', '.join(f'{count} {op}' for op, count in taken.items())}"
    for one in network.ignored:
        yield f"ignored: {one.count} {one.op} ({one.why})"
    for lost in network.left_out:
        macs = "an unknown number of" if lost.macs is None else f"{lost.macs:,}"
        yield f"left out: {lost.name} ({lost.reason}), {macs} MACs"
    if network.not_connected:
        yield f"a layer list, no connected network: {network.not_connected}"
    elif taken and network.input is not None:
        yield f"a connected network: input {network.input.name}"
    coverage = network.coverage()
    yield from coverage.other_activations
    if coverage.left_out:
        yield f"no schedule for {coverage.lost}"


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
        "ignored": [one.model_dump() for one in network.ignored],
        "not_connected": network.not_connected,
        "left_out": network.coverage().as_json(),
    }
