"""Forecasts of networks as tables."""

from hwgen.api.forecasts import MachineForecast, NetworkForecast
from hwgen.cli.console import print_table

__all__ = ["print_forecast"]

ROUNDED = 100
"""Images a second that are printed as whole numbers, at the least."""


def print_forecast(found: NetworkForecast, *, layers: bool) -> None:
    """Print a line for each hardware; with ``layers`` a table of its nodes, too."""
    clock = found.machines[0].mhz
    columns = ["hardware", "multipliers", "cycles", "utilisation", "bytes", "at", "uJ", "on the host"]
    rows = [
        [
            one.name,
            one.multipliers,
            one.cycles,
            one.utilisation,
            one.bytes,
            one.memory,
            one.energy / 1e6,
            len(one.host),
        ]
        for one in found.machines
    ]
    if clock is not None:
        columns.insert(3, f"a second at {clock:g} MHz")
        for row, one in zip(rows, found.machines, strict=True):
            rate = one.images_a_second or 0.0
            row.insert(3, round(rate) if rate >= ROUNDED else rate)
    print_table(f"{found.network}, one image, predicted", columns, rows, wide=["uJ", "multipliers"])
    for one in found.machines if layers else ():
        _print_nodes(one)


def _print_nodes(one: MachineForecast) -> None:
    rows: list[list[object]] = [
        [node.name, node.kind, node.macs, round(node.cycles), node.bytes, node.energy / 1e6] for node in one.layers
    ]
    rows += [[name, "host", "", "", "", ""] for name in one.host]
    print_table(one.name, ["node", "kind", "MACs", "cycles", "bytes", "uJ"], rows, wide=["uJ"])
