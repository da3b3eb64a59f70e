"""Quantised networks as tables."""

from collections.abc import Sequence

import typer

from hwgen.api.quantised import QuantisedNetwork
from hwgen.api.runtime import judgement
from hwgen.cli.console import print_table, printable
from hwgen.golden.quantised.comparison import Beside
from hwgen.ir.network.graph import Graph
from hwgen.lower.network.placement import Placement

__all__ = ["print_beside", "print_host", "print_quantised"]


def print_quantised(found: QuantisedNetwork) -> None:
    """Print the nodes, where each runs, and what was compared."""
    graph, place, beside = found.graph, found.place, found.beside
    whole = graph.work()
    rows: list[list[object]] = [
        [
            node.name,
            node.label,
            "x".join(map(str, node.shape)),
            node.macs,
            graph.bytes_of(node),
            _percent(node.macs, whole.macs),
            place.runs_on(node) or "",
            ", ".join(node.covers),
        ]
        for node in graph.nodes
    ]
    rows.append([f"{len(graph.nodes)} nodes", "", "", whole.macs, whole.bytes, "", "", ""])
    columns = ["node", "kind", "output", "MACs", "bytes", "of all MACs", "runs on", "in the model"]
    print_table(graph.name, columns, rows, wide=["in the model", "of all MACs", "output"])
    macs, moved = graph.share(place.here)
    typer.echo(
        f"hardware can run {macs:.2%} of all MACs and {moved:.2%} of all bytes that nodes read and write: "
        f"{place.hardware}"
    )
    print_host(graph, place)
    if beside is not None:
        _print_run(beside)


def print_host(graph: Graph, place: Placement) -> None:
    """Print the nodes that the host runs, why, and their part of the multiply-accumulates."""
    whole = graph.work().macs
    for node in place.host(graph):
        reason = f" ({place.reasons[node.name]})" if node.name in place.reasons else ""
        share = f", {_percent(node.macs, whole)} of all MACs" if node.macs else ""
        typer.echo(printable(f"host: {node.label} {node.name}{reason}{share}"))


def _print_run(beside: Beside) -> None:
    rows: list[list[object]] = [
        [one.name, one.kind, one.elements, one.different, one.ties, one.apart, f"{one.largest:g}", f"{one.equal:.4%}"]
        for one in beside.unlike
    ]
    whole = beside.whole
    rows.append(
        [
            "all nodes",
            "",
            whole.elements,
            whole.different,
            whole.ties,
            whole.apart,
            f"{whole.largest:g}",
            f"{whole.equal:.4%}",
        ]
    )
    columns = ["node", "kind", "elements", "different", "ties", "apart", "largest", "equal"]
    print_table(f"nodes that differ from {beside.runtime}'s", columns, rows)
    for line in judgement(beside):
        typer.echo(printable(line))


def _percent(part: int, whole: int) -> str:
    return f"{part / max(whole, 1):.2%}"


def print_beside(beside: Beside, strayed: Sequence[str]) -> None:
    """Print how the integer reference compares with ONNX Runtime or LiteRT, and the outputs that strayed from it."""
    whole = beside.whole
    typer.echo(
        f"The integer reference against {beside.runtime}, node by node: {whole.equal:.4%} equal, ties aside "
        f"({whole.ties}), "
        f"largest difference {whole.largest:g}"
    )
    for line in judgement(beside):
        typer.echo(printable(line))
    for name in strayed:
        typer.echo(printable(f"output {name}: it does not follow from the hardware as from the integer reference"))
