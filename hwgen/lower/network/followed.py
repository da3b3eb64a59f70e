"""Layers with a node of the vector unit beside them: how long it goes on when the layer has ended.

A layer's schedule is chosen before that node is placed among its tiles (`hwgen.lower.network.beside`). One large tile
is often the fastest for the layer, but then all of the node comes after it.
"""

from collections.abc import Sequence
from math import log2, prod

from hwgen.arch.bus import beat_bytes
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import OUTPUT_DIMS, Dim
from hwgen.ir.level import TCDM
from hwgen.ir.network.graph import Graph
from hwgen.ir.network.kinds import Node, View
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule
from hwgen.lower.vector.tasks import is_for_vector

__all__ = ["left_after", "rounded_work", "work_beside"]

ROWS: tuple[Dim, ...] = ("m", "y")
"""The axes along which a node beside a layer is computed part by part."""


def work_beside(graph: Graph, node: Node, hardware: Hardware) -> int:
    """About the cycles that a node takes which may run beside the layer that this node is; 0: none may.

    Such a node reads what the layer stores and nothing that the layer reads. They are those of the DMA, or of the
    vector unit, whichever takes longer.
    """
    cluster = hardware.cluster or Cluster()
    if not cluster.vector:
        return 0
    beat, most, stored = beat_bytes(cluster.axi_bits), 0, {node.output}
    for other in graph.nodes:
        reads = stored & set(other.inputs) and not set(node.inputs) & set(other.inputs)
        if reads and isinstance(other, View):
            stored.add(other.output)
        elif reads and is_for_vector(other):
            made = graph.tensors[other.output].elements
            moved = made + sum(graph.tensors[name].elements for name in other.inputs)
            most = max(most, made // cluster.vector_elements, moved // beat)
    return most


def rounded_work(work: int) -> int:
    """Cycles to the nearest of two values an octave, so that layers of one shape are searched a few times at most."""
    return round(2 ** (round(2 * log2(work)) / 2)) if work else 0


def left_after(schedule: Schedule, cycles: float, work: int) -> float:
    """About the cycles of a node beside a layer that are left when the layer ends.

    Such a node computes rows of channels, so that columns of a layer, or channels that are added up, which are loops
    outside of others, are passes over these: they are there as the last pass goes on. What the layer has stored of
    rows and filters before, loops outside of its passes, is computed by then.

    Parameters
    ----------
    cycles : of the layer.
    work : of the node, see `work_beside`.
    """
    if not work:
        return 0.0
    extents = dict(schedule.layer.extents)
    around = schedule.nest[: max(_marked(schedule.nest), default=-2) + 2]
    trips: list[tuple[Dim, int]] = []
    for item in around:
        if isinstance(item, Loop) and (item.dim in OUTPUT_DIMS or _outside_of_output(item, around)):
            trips.append((item.dim, -(-extents[item.dim] // item.step)))
            extents[item.dim] = item.step
    last = max((at for at, (dim, _) in enumerate(trips) if dim in ROWS), default=-1)
    passes = [at for at, (dim, number) in enumerate(trips[: last + 1]) if dim not in ROWS and number > 1]
    first = passes[0] if passes else 0
    before = prod(number for _, number in trips[:first])
    inside = prod(number for dim, number in trips[first:] if dim in ROWS)
    part, time = work / before, cycles / before / prod(trips[at][1] for at in passes)
    return max(part / inside, part - time * (1 - 1 / inside), work - cycles)


def _marked(nest: Sequence[Loop | Marker], array: ArrayName | None = None) -> list[int]:
    """Where the TCDM's markers are, or that of an operand."""
    found = [at for at, item in enumerate(nest) if isinstance(item, Marker) and item.level == TCDM]
    return [at for at in found if array is None or array in nest[at].arrays]  # type: ignore[union-attr]


def _outside_of_output(loop: Loop, around: Sequence[Loop | Marker]) -> bool:
    """Whether the output's tiles are gone through again for each iteration of a loop."""
    return around.index(loop) < max(_marked(around, "O"), default=-1)
