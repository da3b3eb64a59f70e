"""Schedules of a network's layers on a cluster, each shape once, side by side where they take longer."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.lower.network.known_schedules import KNOWN
from hwgen.lower.network.layers import layer_of, may_be_laid_out, weighted
from hwgen.search.cluster.least_cycles import search_least_cycles
from hwgen.search.core.shared_out import shared_out

__all__ = ["cluster_schedules"]


@dataclass
class _Shape:
    """Layers that differ in nothing but their names.

    Members
    -------
    layer : the first of them.
    laid_out : the input may be laid out for them, see `hwgen.search.layer_forms.forms_of`.
    nodes : the names of the nodes, with their layers.
    """

    layer: Layer
    laid_out: bool
    nodes: list[tuple[str, Layer]] = field(default_factory=list)


def cluster_schedules(
    graph: Graph, hardware: Hardware, progress: Callable[[], None], jobs: int | None = None
) -> tuple[dict[str, Schedule], dict[str, str]]:
    """The schedules of fewest cycles of nodes by name, their maps in the DRAM; and why others have none.

    ``progress`` is called for each node with weights; ``jobs`` : processes that search, see `shared_out`.
    """
    refused: dict[str, str] = {}
    taken: set[str] = set()
    shapes: dict[str, _Shape] = {}
    for node in weighted(graph):
        name = safe_name(node.name, taken)
        try:
            layer, laid_out = layer_of(graph, node, name), may_be_laid_out(graph, node)
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{name}: ")
            progress()
            continue
        key = json.dumps([layer.shape_data, laid_out], sort_keys=True)
        shapes.setdefault(key, _Shape(layer, laid_out)).nodes.append((node.name, layer))
    found: dict[str, Schedule] = {}

    def finish(shape: _Shape, result: Schedule | str) -> None:
        for name, layer in shape.nodes:
            if isinstance(result, str):
                refused[name] = result
            else:
                found[name] = result.of_layer(layer)
            progress()

    different = []
    for shape in shapes.values():
        known = KNOWN.of(shape.layer, shape.laid_out, hardware)
        if known is None:
            different.append(shape)
        else:
            finish(shape, known)
    tasks = [(shape.layer, shape.laid_out, hardware) for shape in different]
    for number, result in shared_out(_scheduled, tasks, [shape.layer.macs for shape in different], jobs):
        KNOWN.keep(different[number].layer, different[number].laid_out, hardware, result)
        finish(different[number], result)
    return {node.name: found[node.name] for node in weighted(graph) if node.name in found}, refused


def _scheduled(layer: Layer, laid_out: bool, hardware: Hardware) -> Schedule | str:
    """The schedule of a layer, or why it has none."""

    def estimate(schedule: Schedule) -> float:
        return estimated_cycles(schedule, hardware)

    try:
        timed = judge_of(hardware, timed=True, ordered=True)
        return search_least_cycles(layer, hardware, timed=timed, estimate=estimate, laid_out=laid_out).schedule
    except InputError as error:
        return str(error).removeprefix(f"{layer.name}: ")
