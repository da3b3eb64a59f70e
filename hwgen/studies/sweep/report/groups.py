"""The configurations of a sweep, each summed over its layers, and the Pareto front of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Group", "groups_of", "label_of", "labels_of", "pareto"]

Row = Mapping[str, Any]
GATES_PER_BIT = 1.5
"""Six transistors for a bit of memory, by the four of a NAND of two inputs."""


@dataclass(frozen=True)
class Group:
    """One configuration.

    Members
    -------
    label : what plots call it.
    buffer_bytes : asked for.
    traffic : bytes of I, W and O over all layers, measured where that was done.
    area : of its HWC; None without synthesis or with an HWC for each layer.
    """

    label: str
    configuration: str
    buffer_bytes: int
    layers: int
    traffic: int
    area: float | None


def label_of(row: Row) -> str:
    """The name of a row's configuration."""
    parts = [_size(row["buffer_bytes"])]
    if row["configuration"] == "cluster":
        parts = [f"{row['hwcs']} x {parts[0]}, TCDM {_size(row['tcdm_bytes'])}"]
    elif row["configuration"] != "shared":
        parts.append(row["configuration"])
    if row["lanes"] not in ("auto", "x16"):
        parts.append(row["lanes"])
    if row["order"] != "best":
        parts.append(row["order"])
    if row["scale"] > 1:
        parts.append(f"scaled by {row['scale']}")
    return " ".join(parts)


def labels_of(rows: Sequence[Row]) -> list[str]:
    """The names of the rows' configurations; with what varies besides: objective, set, seed, cluster."""
    searched = [row for row in rows if row["objective"] is not None]
    clusters = [row for row in rows if row["hwcs"] is not None]
    varied = [
        *(name for name in ("objective", "traffic_slack") if len({row[name] for row in searched} - {None}) > 1),
        *(name for name in ("set", "seed") if len({row[name] for row in rows}) > 1),
        *(name for name in ("axi_bits", "banks", "dram") if len({row[name] for row in clusters}) > 1),
    ]
    usual = {row["lanes"] for row in searched} & {"auto", "x16"}
    named = usual if len(usual) > 1 else set()
    return [
        " ".join([label_of(row), *([row["lanes"]] if row["objective"] is not None and row["lanes"] in named else []),
                  *(_text(name, row[name]) for name in varied if row[name] is not None)])
        for row in rows
    ]  # fmt: skip


def _text(name: str, value: Any) -> str:
    match name:
        case "seed":
            return f"seed {value}"
        case "traffic_slack":
            return f"within {100 * value:g} %"
        case "axi_bits":
            return f"{value} bits"
        case "banks":
            return f"{value} banks"
    return str(value)


def _size(size: int) -> str:
    return f"{size // 1024} KiB" if size % 1024 == 0 else f"{size} B"


def _area_of(row: Row) -> float | None:
    """Logic and memories of a row's HWC, in NANDs of two inputs: the same measure wherever an FPGA puts a memory."""
    if row["gates"] is None:
        return None
    return float(row["gates"] + GATES_PER_BIT * (row["buffer_bits"] + row["queue_bits"]))


def groups_of(rows: Iterable[Row]) -> list[Group]:
    """One group for each configuration of lone HWCs whose rows have figures."""
    found: dict[str, list[Row]] = {}
    alone = [row for row in rows if row["configuration"] != "cluster"]
    for row, label in zip(alone, labels_of(alone), strict=True):
        found.setdefault(label, []).append(row)
    groups = []
    for label, same in found.items():
        known = [row for row in same if row["total_bytes_predicted"] is not None]
        if not known:
            continue
        areas = {_area_of(row) for row in known}
        traffic = sum(
            row["total_bytes_predicted"] if row["total_bytes_measured"] is None else row["total_bytes_measured"]
            for row in known
        )
        first = known[0]
        area = areas.pop() if len(areas) == 1 else None
        groups.append(Group(label, first["configuration"], first["buffer_bytes"], len(known), traffic, area))
    return groups


def pareto(groups: Sequence[Group]) -> list[Group]:
    """The Pareto front of area and traffic among the groups with the same number of layers, by area."""
    most = max((group.layers for group in groups), default=0)
    placed = [(group.area, group) for group in groups if group.area is not None and group.layers == most]
    front: list[Group] = []
    for _, group in sorted(placed, key=lambda pair: (pair[0], pair[1].traffic)):
        if not front or group.traffic < front[-1].traffic:
            front.append(group)
    return front
