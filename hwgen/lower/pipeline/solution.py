"""Depth-first solutions: files that ``hwgen depth-first --memory`` writes, read and checked against the model."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from hwgen.ir.document import InputError, Value, load_yaml, validated
from hwgen.ir.layer_set import Network
from hwgen.ir.requantisation import RequantisationForm
from hwgen.model.pipeline.cost import Stack, StackCost, Traffic, WeightMode, stack_cost
from hwgen.model.pipeline.graph import Edge, Graph, Span

__all__ = ["Solution", "is_solution", "read_solution", "solution_from_data"]


@dataclass(frozen=True)
class Solution:
    """A network and the stacks that run it, in the table's order.

    ``requantisation``: how the pipelines make outputs of sums.
    """

    network: Network
    graph: Graph
    stacks: tuple[Stack, ...]
    weights: WeightMode
    requantisation: RequantisationForm = "shift"

    def name(self, stack: Stack) -> str:
        """A name for a stack: its first and last row."""
        first, last = self.graph.maps[stack.span.first].name, self.graph.maps[stack.span.last].name
        return first if first == last else f"{first}..{last}"

    def traffic(self, stack: Stack) -> Traffic:
        """The predicted traffic of a stack, weights included if they are fetched."""
        cost = stack_cost(self.graph, stack)
        return cost.traffic + Traffic(weights=cost.weights if self.weights == "fetched" else 0)


class _StackEntry(Value):
    """One stack of the file. Keys that follow from others are optional, and are checked where they are given."""

    called = "stack"

    first: str
    last: str
    factor: int = 1
    through_dram: tuple[tuple[str, str], ...] = ()
    line_axis: Literal["W", "H"] | None = None
    memory: int | None = None
    weights: int | None = None
    in_flight: int | None = None
    traffic: dict[str, int] | None = None
    rings: tuple[dict[str, Any], ...] | None = None


class _File(Value):
    """The whole document."""

    called = "depth-first solution"

    format: Literal[1]
    kind: Literal["depth_first"]
    rules: Literal["default"] = "default"
    weights: WeightMode = "resident"
    requantisation: RequantisationForm = "shift"
    memory: int | None = None
    traffic: dict[str, int] | None = None
    stacks: tuple[_StackEntry, ...]
    network: dict[str, Any]


def is_solution(path: Path) -> bool:
    """Whether a file is a depth-first solution, by its ``kind``."""
    if not path.is_file() or path.suffix.lower() not in (".yaml", ".yml"):
        return False
    data = load_yaml(path)
    return isinstance(data, dict) and data.get("kind") == "depth_first"


def read_solution(path: Path) -> Solution:
    """Read one file. Raises `InputError`, with one line that says what is wrong."""
    return solution_from_data(load_yaml(path), str(path))


def solution_from_data(data: object, where: str) -> Solution:
    """The solution in plain data, checked."""
    if isinstance(data, dict) and data.get("rules") == "published":
        raise InputError(f"{where}: rules: expected default: the published rules leave out what hardware has to move")
    file = validated(_File, data, where)
    network = Network.from_data(file.network, f"{where}: network")
    graph = Graph.of(network)
    numbers = {one.name: number for number, one in enumerate(graph.maps)}
    stacks: list[Stack] = []
    for index, entry in enumerate(file.stacks):
        place = f"{where}: stacks: {index}"
        stack = _stack(graph, numbers, entry, stacks[-1].span.last + 1 if stacks else 1, place)
        _check_figures(graph, stack, entry, place)
        stacks.append(stack)
    if not stacks or stacks[-1].span.last != graph.rows:
        raise InputError(f"{where}: stacks: expected the last to end with {graph.maps[-1].name}")
    solution = Solution(network, graph, tuple(stacks), file.weights, file.requantisation)
    total = sum((solution.traffic(stack) for stack in stacks), Traffic())
    _same(file.traffic, {"total": total.total, **asdict(total)}, f"{where}: traffic")
    return solution


def _stack(graph: Graph, numbers: dict[str, int], entry: _StackEntry, first: int, where: str) -> Stack:
    if entry.first != graph.maps[min(first, graph.rows)].name or first > graph.rows:
        expected = graph.maps[first].name if first <= graph.rows else "no more stacks"
        raise InputError(f"{where}: first: expected {expected}, got {entry.first}")
    last = numbers.get(entry.last, 0)
    if last < first:
        raise InputError(f"{where}: last: expected {entry.first} or a row after it, got {entry.last}")
    span = Span(first, last)
    joins = {
        (graph.maps[edge.producer].name, entry_name): edge
        for row in range(first, last + 1)
        for edge in graph.reads[row]
        if edge.kind == "join"
        for entry_name in (graph.maps[row].name,)
    }
    through: set[Edge] = set()
    for producer, consumer in entry.through_dram:
        if (producer, consumer) not in joins:
            raise InputError(f"{where}: through_dram: expected an operand and a join of the stack, got "
                             f"{producer}, {consumer}")  # fmt: skip
        through.add(joins[producer, consumer])
    return Stack(span, entry.factor, frozenset(through))


def _check_figures(graph: Graph, stack: Stack, entry: _StackEntry, where: str) -> None:
    try:
        cost = stack_cost(graph, stack)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    expected = {"line_axis": graph.line_axis(stack.span), "weights": cost.weights, "in_flight": cost.in_flight}
    for key, value in expected.items():
        given = getattr(entry, key)
        if given is not None and given != value:
            raise InputError(f"{where}: {key}: expected {value}, got {given}")
    kinds = asdict(cost.traffic)
    del kinds["weights"]
    _same(entry.traffic, kinds, f"{where}: traffic")
    if entry.rings is not None and list(entry.rings) != _rings(cost):
        raise InputError(f"{where}: rings: expected the rings of the model, or none")


def _rings(cost: StackCost) -> list[dict[str, Any]]:
    return [
        {"map": ring.name, "channels": ring.channels, "line": ring.line, "pixels": ring.pixels} for ring in cost.rings
    ]


def _same(given: dict[str, int] | None, expected: dict[str, int], where: str) -> None:
    for key, value in (given or {}).items():
        if expected.get(key) != value:
            raise InputError(f"{where}: {key}: expected {expected.get(key, 'no such kind')}, got {value}")
