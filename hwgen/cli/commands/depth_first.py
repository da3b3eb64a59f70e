"""``hwgen depth-first``: a network in depth-first stacks, with the front of on-chip memory against traffic."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import claim_folder
from hwgen.api.depth_first import connected_network, memory_size
from hwgen.cli.console import Json, note, print_json, print_table, progress
from hwgen.cli.coverage import tell_activations
from hwgen.cli.jobs import set_names
from hwgen.golden.tables import with_tables
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError, dump_yaml, load_yaml, write_atomically
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.model.pipeline.cost import layer_by_layer
from hwgen.model.pipeline.graph import Graph, Rules
from hwgen.search.pipeline.files import front_data, point_data, solution_data
from hwgen.search.pipeline.front import FACTORS, POWERS_OF_TWO, Front, Point, best_within, search_front

__all__ = ["depth_first"]

Name = Annotated[
    str,
    typer.Argument(
        metavar="NET",
        help="A connected network: a layer table (YAML, ONNX or TFLite) or a built-in name.",
        autocompletion=set_names,
    ),
]
Resolution = Annotated[
    str | None, typer.Option("--resolution", metavar="WxH", help="Another size of the network's input.")
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", help="Only the point of least traffic within that memory: 256KiB, 2MiB."
    ),
]
RuleSet = Annotated[
    Rules, typer.Option("--rules", help="published: long skips through DRAM, short ones free; factors powers of two.")
]
Phases = Annotated[
    bool,
    typer.Option(
        "--phases", help="Transposed convolutions as a convolution and a pixel shuffle each, which pipelines have."
    ),
]
Tables = Annotated[
    bool,
    typer.Option(
        "--tables", help="PReLU, leaky ReLU and SELU by tables, which pipelines have; they are ReLU otherwise."
    ),
]
Form = Annotated[
    RequantisationForm,
    typer.Option(
        "--requantisation",
        help="scaled, with --memory: pipelines for quantised networks, a multiplier and a shift for each channel.",
    ),
]
Folder = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="DIR", help="Write front.yaml, or depth_first.yaml, here.")
]

FILES = {"depth_first_front": "front.yaml", "depth_first": "depth_first.yaml"}
"""What is written of each kind."""
SHOWN = 24
"""Points of a front in the table; all of them are in the file."""


def depth_first(
    name: Name,
    *,
    resolution: Resolution = None,
    memory: Memory = None,
    rules: RuleSet = "default",
    phases: Phases = False,
    tables: Tables = False,
    requantisation: Form = "shift",
    output: Folder = None,
    as_json: Json = False,
) -> None:
    """Find the exact front of on-chip memory against traffic in depth-first execution, or its point for a memory.

    An element is a byte. The front is over all cuts, tiling factors to 64 and skips in rings or through DRAM, with
    weights resident or fetched once for each stack.
    """
    limit = None if memory is None else memory_size(memory)
    if limit is None and requantisation != "shift":
        raise InputError("--requantisation: expected with --memory, which says what pipelines run")
    claim_folder(output)
    network = connected_network(name, resolution, phases=phases)
    if tables:
        network = with_tables(network)
    graph = Graph.of(network)
    with progress(graph.rows, "searching") as step:
        front = search_front(graph, rules, FACTORS if rules == "default" else POWERS_OF_TWO, progress=step)
    points = list(front.points)
    if limit is not None:
        best = best_within(front, limit)
        if best is None:
            raise InputError(f"--memory: expected at least {front.points[0].memory} bytes, got {memory}")
        points = [best]
        data = solution_data(network, front, best, requantisation)
    else:
        data = front_data(front)
    file = FILES[data["kind"]]
    if output is not None:
        write_atomically(output / file, dump_yaml(data))
        _clear_other(output, data)
    coverage = Coverage.depth_first(network.network, network.layers)
    if as_json:
        document = _as_json(network, front, points, None if output is None else output / file)
        print_json({**document, "left_out": coverage.as_json()})
        return
    if limit is not None:
        _print_point(graph, points[0])
    else:
        _print_front(front)
    tell_activations(coverage)


def _clear_other(folder: Path, written: dict[str, Any]) -> None:
    """Remove the front, or the solution, of an earlier run from a folder, unless the solution is one of the front."""
    (kind,) = (kind for kind in FILES if kind != written["kind"])
    path = folder / FILES[kind]
    other = load_yaml(path) if path.is_file() else None
    if not isinstance(other, dict) or other.get("kind") != kind:
        return
    both = {written["kind"]: written, kind: other}
    if not _is_of(both["depth_first"], both["depth_first_front"]):
        path.unlink()
        note(f"{path}: removed, of an earlier run on something else")


def _is_of(solution: dict[str, Any], front: dict[str, Any]) -> bool:
    """Whether a solution is a point of a front."""
    try:
        wanted = (solution["memory"], solution["traffic"]["total"], solution["weights"])
        points = [(point["memory"], point["traffic"], point["weights"]) for point in front["points"]]
        named = (solution["network"]["network"], solution["rules"]) == (front["network"], front["rules"])
    except (KeyError, TypeError):
        return False
    return named and wanted in points


def _as_json(network: Network, front: Front, points: list[Point], file: Path | None) -> dict[str, Any]:
    return {
        "network": network.network,
        "rules": front.rules,
        "file": None if file is None else str(file),
        "points": [
            {
                **point_data(front.graph, point),
                "layer_by_layer": layer_by_layer(front.graph, point.memory),
                "layer_by_layer_convolutions": layer_by_layer(front.graph, point.memory, convolutions_only=True),
            }
            for point in points
        ],
    }


def _print_front(front: Front) -> None:
    points = front.points
    step = max(1, -(-(len(points) - 1) // (SHOWN - 1)))
    shown = [*points[:-1:step], points[-1]]
    columns = ["on chip", "traffic", "weights", "stacks", "factors", "/ layer by layer"]
    rows = [
        [
            point.memory,
            point.traffic,
            point.weights,
            len(point.factors),
            " ".join(map(str, point.factors)),
            point.traffic / layer_by_layer(front.graph, point.memory),
        ]
        for point in shown
    ]
    few = f", {len(shown)} shown" if len(shown) < len(points) else ""
    print_table(f"{front.graph.network}: {len(points)} points in bytes{few}", columns, rows)


def _print_point(graph: Graph, point: Point) -> None:
    columns = ["first", "last", "factor", "on chip", "rings", "weights", "in flight", "traffic", "through DRAM"]
    maps = graph.maps
    rows: list[list[object]] = [
        [
            maps[stack.span.first].name,
            maps[stack.span.last].name,
            stack.factor,
            memory,
            cost.ring_elements,
            cost.weights,
            cost.in_flight,
            cost.traffic.total + (cost.weights if point.weights == "fetched" else 0),
            ", ".join(f"{maps[edge.producer].name} to {maps[edge.consumer].name}" for edge in stack.through_dram),
        ]
        for stack, cost, memory in zip(point.stacks, point.costs, point.stack_memories, strict=True)
    ]
    title = f"{graph.network}: {point.traffic:,} bytes with {point.memory:,} on chip"
    print_table(f"{title}, weights {point.weights}", columns, rows, wide=["through DRAM", "in flight"])
