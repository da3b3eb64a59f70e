"""A document of ``hwgen run``, a row for each layer: its images are added up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwgen.ir.counts import quantities_at

__all__ = ["MACS", "UNITS", "VECTOR", "LayerRow", "layer_rows", "summed"]

MACS = "MACs"
"""What the energy of the multiply-accumulates is called beside that of the memories."""
VECTOR = "vector unit"
UNITS = {"load": "DMA, loads", "compute": "HWCs", "store": "DMA, stores"}
"""What works on the commands of a cluster's queues; of a node without weights the vector unit computes."""
Amounts = Mapping[str, float]


@dataclass(frozen=True)
class LayerRow:
    """A layer that the hardware ran.

    Members
    -------
    node : its name in the network. ``operator``, ``shape``: what it is, and its output.
    images : how many were run.
    start : measured cycles of the layers before it.
    predicted, measured : cycles.
    useful : cycles' worth of the layer's multiply-accumulates, had all lanes worked.
    waits : measured cycles in which the datapath waited, by what for.
    traffic : bytes by level and operand, measured. ``expected``: predicted.
    energy : pJ by level, measured, and of the multiply-accumulates.
    busy : of a cluster the cycles in which a unit works, by what the unit is, predicted.
    right : every element exact, every count as predicted.
    """

    node: str
    operator: str
    shape: str
    images: int
    start: int
    predicted: int
    measured: int
    useful: float
    waits: Amounts
    traffic: Mapping[str, Amounts]
    expected: Mapping[str, Amounts]
    energy: Amounts
    busy: Amounts
    right: bool


def layer_rows(document: Mapping[str, Any]) -> list[LayerRow]:
    """The rows, in the order in which the layers ran."""
    runs: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in document["layers"]:
        runs[one["node"]].append(one)
    rows: list[LayerRow] = []
    start = 0
    for node, some in runs.items():
        rows.append(_row(node, some, start))
        start += rows[-1].measured
    return rows


def summed(parts: Iterable[Amounts]) -> dict[str, float]:
    """Amounts of the same name added up."""
    found: dict[str, float] = defaultdict(float)
    for part in parts:
        for name, amount in part.items():
            found[name] += amount
    return dict(found)


def _row(node: str, runs: Sequence[Mapping[str, Any]], start: int) -> LayerRow:
    operator, shape = _what(runs[0])
    return LayerRow(
        node=node,
        operator=operator,
        shape=shape,
        images=len(runs),
        start=start,
        predicted=sum(one["cycles"]["predicted"] for one in runs),
        measured=sum(one["cycles"]["measured"] for one in runs),
        useful=sum(one["cycles"]["measured"] * one["utilisation"] for one in runs),
        waits=summed(one["stalls"]["measured"] for one in runs),
        traffic=_traffic(runs, "measured"),
        expected=_traffic(runs, "predicted"),
        energy=summed(map(_energy, runs)),
        busy=summed(map(_busy, runs)),
        right=all(one["equal"] and one["exact"] and not one["failures"] for one in runs),
    )


def _what(run: Mapping[str, Any]) -> tuple[str, str]:
    """What a layer is, and its output; what has no schedule ran on a vector unit."""
    if run["schedule"] is None:
        return run["kind"], " x ".join(map(str, run["shape"][1:]))
    layer = run["schedule"]["layer"]
    height, width = layer["output_height"], layer["output_width"]
    operator = f"{layer['op'].replace('_', ' ')} {layer['kernel'][0]} x {layer['kernel'][1]}"
    return operator, f"{layer['output_channels']} x {height} x {width}"


def _busy(run: Mapping[str, Any]) -> dict[str, float]:
    queues = run.get("busy", {}).get("predicted", {})
    units = UNITS | ({"compute": VECTOR} if run["schedule"] is None else {})
    return {units[queue]: cycles for queue, cycles in queues.items()}


def _traffic(runs: Sequence[Mapping[str, Any]], source: str) -> dict[str, dict[str, float]]:
    levels = dict.fromkeys(level for one in runs for level in one[source] if "bytes" in quantities_at(level))
    return {level: summed(_moved(one[source].get(level, {})) for one in runs) for level in levels}


def _moved(operands: Mapping[str, Any]) -> dict[str, float]:
    return {name: sum(access["bytes"] for access in accesses.values()) for name, accesses in operands.items()}


def _energy(run: Mapping[str, Any]) -> dict[str, float]:
    energy = (run["energy"] or {}).get("measured")
    if energy is None:
        return {}
    return {level: sum(parts.values()) for level, parts in energy["levels"].items()} | {MACS: energy["mac"]}
