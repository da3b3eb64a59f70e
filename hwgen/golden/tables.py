"""Activations that are no clips as rows of their own: each element through a table, as pipelines have a stage for."""

from typing import Any

from hwgen.ir.layer_set import Network

__all__ = ["linear_of", "with_tables"]

TABLES_EACH = {"leaky_relu": False, "prelu": True, "selu": False}
"""The rectifiers that are not zero below zero: whether each channel has a table of its own."""


def linear_of(name: str) -> str:
    """The name of the row that makes what the table of a row reads."""
    return f"{name}_linear"


def with_tables(network: Network) -> Network:
    """The network with two rows for each that has such a rectifier: the row without it, then a `lookup`.

    The lookup has the row's name.
    """
    if not any(node.activation in TABLES_EACH for node in network.layers):
        return network
    rows: list[dict[str, Any]] = []
    for node in network.layers:
        row = node.model_dump(mode="json", exclude_unset=True)
        if node.activation in TABLES_EACH:
            del row["activation"]
            rows.append({**row, "name": linear_of(node.name)})
            sizes = {f"{side}_{what}": getattr(node, f"output_{what}")
                     for side in ("input", "output") for what in ("channels", "height", "width")}  # fmt: skip
            tables = node.output_channels if TABLES_EACH[node.activation] else 1
            row = {"name": node.name, "op": "lookup", "inputs": [linear_of(node.name)], "groups": tables, **sizes}
        rows.append(row)
    said = {key: value for key, value in network.as_data().items() if key not in ("totals", "totals_by_part")}
    return Network.from_data({**said, "layers": rows})
