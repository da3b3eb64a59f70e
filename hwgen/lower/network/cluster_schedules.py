"""Schedules of a network's layers on a cluster, each shape once, side by side where they take longer."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.names import safe_name
from hwgen.ir.network.graph import Graph
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of
from hwgen.lower.cluster.cycles import estimated_cycles
from hwgen.lower.network.followed import left_after, rounded_work, work_beside
from hwgen.lower.network.known_schedules import KNOWN
from hwgen.lower.network.layers import layer_of, may_be_laid_out, weighted
from hwgen.search.cluster.least_cycles import search_few, search_least_cycles
from hwgen.search.core.shared_out import shared_out

__all__ = ["cluster_schedules"]


LATE = 0.05
"""The part of a layer's cycles that a node beside it may go on after it, before a schedule is searched for both."""


@dataclass(frozen=True)
class _Named:
    """A layer of the network, the name of its node, and the cycles of a node that may run beside it."""

    name: str
    layer: Layer
    beside: int


@dataclass
class _Shape:
    """Layers that differ in nothing but their names.

    Members
    -------
    layer : the first of them.
    laid_out : the input may be laid out for them, see `hwgen.search.layer_forms.forms_of`.
    beside : cycles of a node of the vector unit that their schedule is to leave time for.
    """

    layer: Layer
    laid_out: bool
    beside: int
    nodes: list[_Named] = field(default_factory=list)


class _Shapes:
    """Shapes to be searched, each once."""

    def __init__(self) -> None:
        self._shapes: dict[str, _Shape] = {}

    def add(self, node: _Named, laid_out: bool, beside: int = 0) -> None:
        """Add a layer; ``beside`` : cycles that its schedule is to leave time for."""
        key = json.dumps([node.layer.shape_data, laid_out, beside], sort_keys=True)
        self._shapes.setdefault(key, _Shape(node.layer, laid_out, beside)).nodes.append(node)

    def searched(self, hardware: Hardware, jobs: int | None, few: bool) -> Iterator[tuple[_Shape, Schedule | str]]:
        """Each with its schedule, or why it has none; those that are known first."""
        different = []
        for shape in self._shapes.values():
            known = KNOWN.of(shape.layer, shape.laid_out, hardware, shape.beside)
            if known is None:
                different.append(shape)
            else:
                yield shape, known
        tasks = [(shape.layer, shape.laid_out, hardware, shape.beside, few) for shape in different]
        for number, result in shared_out(_scheduled, tasks, [shape.layer.macs for shape in different], jobs):
            shape = different[number]
            if not few:
                KNOWN.keep(shape.layer, shape.laid_out, hardware, result, shape.beside)
            yield shape, result


def cluster_schedules(
    graph: Graph, hardware: Hardware, progress: Callable[[], None], jobs: int | None = None, *, few: bool = False
) -> tuple[dict[str, Schedule], dict[str, str]]:
    """The schedules of fewest cycles of nodes by name, their maps in the DRAM; and why others have none.

    Where a node of the vector unit may run beside a layer, and would go on long after it, the schedule is that with
    which both are done first. ``progress`` is called for each node with weights; ``jobs`` : processes that search,
    see `shared_out`. ``few`` : of a few schedules that of the least estimate, in far less time.
    """
    refused: dict[str, str] = {}
    found: dict[str, Schedule] = {}
    taken: set[str] = set()
    alone, together = _Shapes(), _Shapes()
    for node in weighted(graph):
        name = safe_name(node.name, taken)
        try:
            layer, laid_out = layer_of(graph, node, name), may_be_laid_out(graph, node)
        except InputError as error:
            refused[node.name] = str(error).removeprefix(f"{name}: ")
            progress()
            continue
        alone.add(_Named(node.name, layer, work_beside(graph, node, hardware)), laid_out)
    for shape, result in alone.searched(hardware, jobs, few):
        for one in shape.nodes:
            if isinstance(result, str):
                refused[one.name] = result
            else:
                found[one.name] = result.of_layer(one.layer)
                if not few and _is_late(result, one.beside, hardware):
                    together.add(one, shape.laid_out, rounded_work(one.beside))
                    continue
            progress()
    for shape, result in together.searched(hardware, jobs, few):
        for one in shape.nodes:
            if isinstance(result, Schedule):
                found[one.name] = result.of_layer(one.layer)
            progress()
    return {node.name: found[node.name] for node in weighted(graph) if node.name in found}, refused


def _is_late(schedule: Schedule, beside: int, hardware: Hardware) -> bool:
    """Whether a node beside a layer of this schedule goes on after it for long."""
    if not beside:
        return False
    cycles = estimated_cycles(schedule, hardware)
    return left_after(schedule, cycles, beside) > LATE * cycles


def _scheduled(layer: Layer, laid_out: bool, hardware: Hardware, beside: int, few: bool) -> Schedule | str:
    """The schedule of a layer, or why it has none; with a node beside it, that after which both are done first."""
    judge = judge_of(hardware, timed=True, ordered=True, briefly=True)
    lanes = (hardware.cluster or Cluster()).hwcs * hardware.shape.product

    def estimate(schedule: Schedule, *, most: float = inf) -> float:
        cycles = estimated_cycles(schedule, hardware, most=most)
        return cycles + left_after(schedule, cycles, beside)

    def timed(schedule: Schedule) -> float:
        cycles = layer.macs / (lanes * judge(schedule))
        return layer.macs / (lanes * (cycles + left_after(schedule, cycles, beside)))

    if few:
        with suppress(InputError):
            runs = judge_of(hardware, timed=False, ordered=True)
            return search_few(layer, hardware, runs=runs, estimate=estimate, laid_out=laid_out)
    try:
        judged = timed if beside else judge
        return search_least_cycles(layer, hardware, timed=judged, estimate=estimate, laid_out=laid_out).schedule
    except InputError as error:
        return str(error).removeprefix(f"{layer.name}: ")
