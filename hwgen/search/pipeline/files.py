"""Fronts and solutions of depth-first execution as plain data, for YAML and JSON files."""

from dataclasses import asdict
from typing import Any

from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.model.pipeline.cost import Stack, StackCost
from hwgen.model.pipeline.graph import Graph
from hwgen.search.pipeline.front import Front, Point

__all__ = ["front_data", "point_data", "solution_data"]


def front_data(front: Front) -> dict[str, Any]:
    """All points of a front and their stacks, by rising memory; figures in elements."""
    return {
        "format": 1,
        "kind": "depth_first_front",
        "network": front.graph.network,
        "rules": front.rules,
        "points": [point_data(front.graph, point) for point in front.points],
    }


def point_data(graph: Graph, point: Point) -> dict[str, Any]:
    """One point: elements on chip, elements moved, and its stacks by first and last row."""
    stacks = [
        {**_stack(graph, stack), "memory": memory}
        for stack, memory in zip(point.stacks, point.stack_memories, strict=True)
    ]
    return {"memory": point.memory, "traffic": point.traffic, "weights": point.weights, "stacks": stacks}


def solution_data(
    network: Network, front: Front, point: Point, requantisation: RequantisationForm = "shift"
) -> dict[str, Any]:
    """One point in full, with the network: everything that running it needs.

    ``requantisation``: how its pipelines make outputs of sums.
    """
    graph = front.graph
    stacks = [
        {**_stack(graph, stack), "line_axis": graph.line_axis(stack.span), "memory": memory, **_cost(cost)}
        for stack, memory, cost in zip(point.stacks, point.stack_memories, point.costs, strict=True)
    ]
    return {
        "format": 1,
        "kind": "depth_first",
        "rules": front.rules,
        "weights": point.weights,
        **({} if requantisation == "shift" else {"requantisation": requantisation}),
        "memory": point.memory,
        "traffic": {"total": point.traffic, **asdict(point.by_kind)},
        "stacks": stacks,
        "network": network.as_data(),
    }


def _stack(graph: Graph, stack: Stack) -> dict[str, Any]:
    maps = graph.maps
    data: dict[str, Any] = {
        "first": maps[stack.span.first].name,
        "last": maps[stack.span.last].name,
        "factor": stack.factor,
    }
    if stack.through_dram:
        edges = sorted(stack.through_dram, key=lambda edge: (edge.producer, edge.consumer))
        data["through_dram"] = [[maps[edge.producer].name, maps[edge.consumer].name] for edge in edges]
    return data


def _cost(cost: StackCost) -> dict[str, Any]:
    kinds = asdict(cost.traffic)
    del kinds["weights"]
    return {
        "weights": cost.weights,
        "in_flight": cost.in_flight,
        "traffic": kinds,
        "rings": [
            {"map": ring.name, "channels": ring.channels, "line": ring.line, "pixels": ring.pixels}
            for ring in cost.rings
        ],
    }
