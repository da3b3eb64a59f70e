"""Forecasts of networks as tables."""

from collections.abc import Mapping

import typer

from hwgen.api.forecasts import MachineForecast, NetworkForecast
from hwgen.cli.console import print_table, printable

__all__ = ["print_forecast", "rounded_rate", "tell_beside"]

ROUNDED = 100
"""Images a second that are printed as whole numbers, at the least."""


def print_forecast(found: NetworkForecast, *, layers: bool) -> None:
    """Print a line for each hardware; with ``layers`` a table of its nodes, too."""
    clock = found.machines[0].given_mhz
    speed = "a second, MHz estimated" if clock is None else f"a second at {clock:g} MHz"
    columns = ["hardware", "multipliers", "cycles", speed, "MHz, estimated", "LUT4, estimated", "utilisation",
               "bytes", "at", "uJ", "on the host"]  # fmt: skip
    rows = [
        [
            one.name,
            one.multipliers,
            one.cycles,
            rounded_rate(one.images_a_second),
            round(one.area.mhz or 0.0),
            one.luts,
            one.utilisation,
            one.bytes,
            one.memory,
            one.energy / 1e6,
            len(one.host),
        ]
        for one in found.machines
    ]
    wide = ["utilisation", "uJ", "MHz, estimated", "multipliers"]
    clusters = found.machines[0].clusters
    images = "one image" if clusters == 1 else f"an image on each of {clusters} clusters, bytes and uJ of one"
    print_table(f"{found.network}, {images}, predicted", columns, rows, wide=wide)
    for one in found.machines if layers else ():
        _print_nodes(one)


def rounded_rate(images: float) -> float:
    """Images a second as they are printed."""
    return round(images) if images >= ROUNDED else images


def tell_beside(pairs: Mapping[str, str]) -> None:
    """Say below a table which nodes run beside the layer before them, and in which row what of them is."""
    if pairs:
        named = "; ".join(f"{layer} and {node}" for node, layer in pairs.items())
        what = "cycles of both in the row of the first while it runs, accesses in the row of each"
        typer.echo(printable(f"Side by side, {what}: {named}"))


def _print_nodes(one: MachineForecast) -> None:
    rows: list[list[object]] = [
        [node.name, node.kind, node.macs, round(node.cycles), node.bytes, node.energy / 1e6] for node in one.layers
    ]
    rows += [[name, "host", "", "", "", ""] for name in one.host]
    print_table(one.name, ["node", "kind", "MACs", "cycles", "bytes", "uJ"], rows, wide=["uJ"])
    tell_beside({node.name: node.beside for node in one.layers if node.beside})
