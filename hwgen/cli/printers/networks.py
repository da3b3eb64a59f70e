"""Networks as tables."""

from collections import Counter
from collections.abc import Iterator

import typer

from hwgen.api.networks import Network
from hwgen.cli.console import print_table, printable
from hwgen.ir.layer_set import Network as LayerSet
from hwgen.ir.layer_set import Totals

__all__ = ["print_network"]


def print_network(found: Network) -> None:
    """Print the layers, and what became of the rows that no schedule does."""
    network = found.table
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


def _accounts(network: LayerSet) -> Iterator[str]:
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
