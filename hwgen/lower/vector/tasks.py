"""What the vector unit has to do for a node: tasks, each from one or two maps to one map or a part of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.requantisation import HIGHEST, LOWEST
from hwgen.arch.vector.job import PAIR, VectorMode
from hwgen.ir.document import InputError
from hwgen.ir.network.kinds import Addition, AveragePool, Concatenation, Lookup, MaxPool, Movement, Node, Window
from hwgen.ir.requantisation import Scale
from hwgen.lower.vector.maps import FeatureMap

__all__ = ["ELEMENT", "Arithmetic", "Region", "Task", "is_for_vector", "moves_planes", "tasks_of"]

Ints = NDArray[np.int64]
MOVED_TOGETHER = 16
"""Elements of a plane at the least: the DMA takes some cycles for each run."""
MOST_STEPS = 16
"""Copies that a node is made of at the most."""
ELEMENT = Window((1, 1))
"""What is computed element by element."""


@dataclass(frozen=True)
class Arithmetic:
    """What becomes of a window's value; as it is by default."""

    mode: VectorMode = "maximum"
    scales: tuple[Scale, ...] = ()
    zeros: tuple[int, ...] = (0,)
    zero_out: int = 0
    low: int = LOWEST
    high: int = HIGHEST


@dataclass(frozen=True)
class Region:
    """Rows and columns of the output, each a first one and the one after the last, with one arithmetic."""

    rows: tuple[int, int]
    columns: tuple[int, int]
    arithmetic: Arithmetic


@dataclass(frozen=True)
class Task:
    """One target from one or two sources.

    Members
    -------
    window : of the first source.
    regions : that the target consists of.
    tables : indices of the tables that outputs go through: none, one, or one for each channel.
    """

    sources: tuple[FeatureMap, ...]
    target: FeatureMap
    regions: tuple[Region, ...]
    window: Window = ELEMENT
    tables: tuple[int, ...] = field(default=())

    @property
    def arithmetic(self) -> Arithmetic:
        """The arithmetic of its first region; the mode of all is the same."""
        return self.regions[0].arithmetic

    @property
    def copies(self) -> bool:
        """Whether every element stays what it is."""
        plain = all(region.arithmetic == Arithmetic() for region in self.regions)
        return plain and not self.tables and self.window == ELEMENT and len(self.sources) == 1


def tasks_of(
    node: Node, inputs: Sequence[FeatureMap], output: FeatureMap, *, flat: bool = True
) -> tuple[list[Task], bytes]:
    """The tasks of a node, and its tables one after the other.

    ``flat`` : maps without gaps are taken as one row, where it has no window.

    Raises `InputError` for a node that the vector unit does not compute.
    """
    match node:
        case Addition():
            return [_addition(node, inputs, output, flat)], b""
        case Lookup():
            tables = tuple(range(len(node.tables)))
            return [_by_element(inputs, output, Arithmetic(), tables, flat=flat)], node.tables.tobytes()
        case Concatenation():
            given = [table for table in node.tables if table is not None]
            return list(_concatenation(node, inputs, output, flat)), b"".join(table.tobytes() for table in given)
        case MaxPool():
            region = Region((0, output.rows), (0, output.columns), Arithmetic())
            table = b"" if node.table is None else node.table.tobytes()
            return [Task(tuple(inputs), output, (region,), node.window, (0,) if table else ())], table
        case Movement():
            return list(_moved_planes(node, inputs, output)), b""
        case AveragePool():
            return [Task(tuple(inputs), output, tuple(_averages(node, inputs[0], output)), node.window)], b""
        case _:
            raise InputError(f"{node.name}: {node.label}: not for the vector unit")


def _by_element(
    sources: Sequence[FeatureMap],
    target: FeatureMap,
    arithmetic: Arithmetic,
    tables: tuple[int, ...] = (),
    *,
    flat: bool = True,
) -> Task:
    """A task without a window; where no map has gaps and there is one table at most, all elements are one row."""
    maps = [*sources, target]
    if flat and all(one.is_dense for one in maps) and len(tables) <= 1:
        maps = [one.flat() for one in maps]
    target = maps.pop()
    region = Region((0, target.rows), (0, target.columns), arithmetic)
    return Task(tuple(maps), target, (region,), tables=tables)


def _addition(node: Addition, inputs: Sequence[FeatureMap], output: FeatureMap, flat: bool) -> Task:
    if len(inputs) != PAIR or any(one.elements != output.elements for one in inputs):
        raise InputError(f"{node.name}: expected {PAIR} operands of the output's shape for the vector unit")
    arithmetic = Arithmetic("add", node.scales, node.zeros, node.zero_out, node.low, node.high)
    return _by_element(inputs, output, arithmetic, flat=flat)


def _concatenation(
    node: Concatenation, inputs: Sequence[FeatureMap], output: FeatureMap, flat: bool
) -> Iterator[Task]:
    """A task for each operand: channels of the output, or the same part of each of the outer axes' elements."""
    number = 0
    for (source, target), table in zip(_joined_parts(node, inputs, output), node.tables, strict=True):
        yield _by_element([source], target, Arithmetic(), () if table is None else (number,), flat=flat)
        number += table is not None


def _joined_parts(
    node: Concatenation, inputs: Sequence[FeatureMap], output: FeatureMap
) -> Iterator[tuple[FeatureMap, FeatureMap]]:
    """Each operand and its part of the output. Channels may be any distance apart; else maps are without gaps."""
    outer, done = prod(node.shape[: node.axis]), 0
    by_channel = node.axis == 1 and outer == 1 and sum(one.channels for one in inputs) == output.channels
    if by_channel and all((one.rows, one.columns) == (output.rows, output.columns) for one in inputs):
        for source in inputs:
            base = output.base + done * output.plane
            yield source, replace(output, base=base, channels=source.channels)
            done += source.channels
        return
    if not all(one.is_dense for one in (*inputs, output)):
        raise InputError(f"{node.name}: concat: expected maps without gaps")
    whole = output.flat(outer)
    for source in (one.flat(outer) for one in inputs):
        yield source, replace(whole, base=whole.base + done, columns=source.columns)
        done += source.columns


def is_for_vector(node: Node) -> bool:
    """Whether a vector unit, or the DMA beside it, runs nodes of this kind."""
    return isinstance(node, Addition | AveragePool | Concatenation | Lookup | MaxPool) or moves_planes(node)


def moves_planes(node: Node) -> bool:
    """Whether a node puts whole planes of its map in another order, in few enough steps."""
    return isinstance(node, Movement) and _order_of_planes(node) is not None


def _order_of_planes(node: Movement) -> tuple[int, Ints] | None:
    """Elements of a plane, and [outer, inner]: the plane of the input that each plane of the output is.

    The distances are the same in every row, and in every column.
    """
    index = node.index.reshape(-1)
    breaks = np.flatnonzero(np.diff(index) != 1) + 1
    size = int(np.gcd.reduce(np.append(breaks, [index.size, *index[breaks].tolist(), int(index[0])])))
    if size < MOVED_TOGETHER or not np.array_equal(np.sort(index), np.arange(index.size)):
        return None
    planes = index[::size] // size
    turns = np.flatnonzero(np.diff(planes, 2)) + 1
    inner = int(turns[0]) + 1 if turns.size else planes.size
    if planes.size % inner:
        return None
    found = planes.reshape(-1, inner)
    along, across = np.unique(np.diff(found, axis=1)), np.unique(np.diff(found[:, 0]))
    if along.size > 1 or across.size > 1 or min([*along, *across, 1]) < 1 or min(found.shape) > MOST_STEPS:
        return None
    return size, found


def _moved_planes(node: Movement, inputs: Sequence[FeatureMap], output: FeatureMap) -> Iterator[Task]:
    """A copy for each row, or for each column, of the order of planes."""
    order, (source,) = _order_of_planes(node), inputs
    if order is None or not (source.is_dense and output.is_dense):
        raise InputError(f"{node.name}: {node.label}: expected whole planes of maps without gaps in few steps")
    size, planes = order
    *_, rows, columns = (1, 1, *node.shape)
    if rows * columns != size:
        rows, columns = 1, size
    places = np.arange(planes.size).reshape(planes.shape)
    if len(planes) > planes.shape[1]:
        planes, places = planes.T, places.T

    def part(one: FeatureMap, numbers: Ints) -> FeatureMap:
        apart = int(numbers[1] - numbers[0]) if len(numbers) > 1 else 1
        base = one.base + int(numbers[0]) * size
        return FeatureMap(base, len(numbers), rows, columns, columns, apart * size, one.resident)

    for given, made in zip(planes, places, strict=True):
        yield _by_element([part(source, given)], part(output, made), Arithmetic(), flat=False)


def _averages(node: AveragePool, source: FeatureMap, target: FeatureMap) -> Iterator[Region]:
    """The parts of the output in whose windows equally many elements count."""
    (top, left, bottom, right), window = node.counted, node.window
    down = _counts(window, 0, target.rows, source.rows, (top, bottom))
    across = _counts(window, 1, target.columns, source.columns, (left, right))
    for rows, high in _runs(down):
        for columns, wide in _runs(across):
            scale = node.scales.get(high * wide, Scale(0, 1))
            arithmetic = Arithmetic("average", (scale,), (node.zero_in,), node.zero_out, node.low, node.high)
            yield Region(rows, columns, arithmetic)


def _counts(window: Window, axis: int, outputs: int, size: int, counted: tuple[int, int]) -> list[int]:
    """The elements of its window that count, for each output along an axis."""
    first = np.arange(outputs) * window.stride[axis] - window.padding[axis]
    places = first[:, None] + np.arange(window.kernel[axis]) * window.dilation[axis]
    numbers: list[int] = ((places >= -counted[0]) & (places < size + counted[1])).sum(axis=1).tolist()
    return numbers


def _runs(numbers: Sequence[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """Equal neighbours: where they begin and end, and what they are."""
    at = 0
    for number, run in groupby(numbers):
        end = at + len(list(run))
        yield (at, end), number
        at = end
