"""The literal oracle of hierarchies: a nest executed iteration by iteration, with the sets that every level holds.

Slow and obvious on purpose; the closed form of `hwgen.model.hierarchy.access` is judged by this file. All levels run
at once, in program order: what a level fetches has to be in the level that serves it, which is checked, and whether
an output is final is known from the multiply-accumulates done so far. The semantics of one marker are those of
`hwgen.model.core.walk`. The datapath is a level without a marker: it keeps nothing from one innermost iteration to
the next.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from hwgen.ir.counts import Access, Counts, Direction, Operand
from hwgen.ir.layer import REDUCTION_DIMS
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Schedule
from hwgen.model.core.prediction import PerOperand
from hwgen.model.core.walk import (
    Element,
    Tile,
    split,
    touched_inputs,
    touched_outputs,
    touched_weights,
    whole,
)
from hwgen.model.hierarchy.prediction import HierarchyCounts, held_bytes

__all__ = ["walk_hierarchy"]

Tally = dict[tuple[str, Operand, Direction], Access]
Path = tuple[tuple[int, Tile], ...]
"""For each loop, outermost first: the number of its iteration, and what this covers."""


@dataclass
class _Store:
    """What one level holds of one operand; ``level`` and ``place`` are None of the datapath's registers."""

    operand: ArrayName
    level: str | None
    place: int | None
    served_by: str
    held: set[Element] = field(default_factory=set)
    written_partial: set[Element] = field(default_factory=set)
    execution: tuple[int, ...] | None = None
    iteration: tuple[int, ...] | None = None
    touched: set[Element] = field(default_factory=set)
    need: int = 0

    def move_to(self, schedule: Schedule, path: Path) -> set[Element]:
        """Turn to the iteration that this innermost one belongs to. Returns what is no longer held."""
        numbers = tuple(number for number, _ in path)
        around = len(path) if self.place is None else self.place
        execution, iteration = numbers[:around], numbers[: around + 1]
        if iteration == self.iteration:
            return set()
        self.touched = _touched(schedule, self.operand, path[min(around, len(path) - 1)][1])
        self.need = max(self.need, len(self.touched))
        dropped = self.held - self.touched if execution == self.execution else self.held
        self.held = self.held - dropped
        self.execution, self.iteration = execution, iteration
        return dropped


def walk_hierarchy(schedule: Schedule, hierarchy: Hierarchy) -> HierarchyCounts:
    """Execute the nest once and count every element and byte that moves between two levels, or to the datapath."""
    served: Tally = defaultdict(Access, {(level.name, "I", "read"): Access() for level in hierarchy.levels})
    filled, datapath = defaultdict(Access, served), defaultdict(Access, served)
    stores = {operand: _stores(schedule, hierarchy, operand) for operand in ARRAYS}

    def count(store: _Store, way: Direction, elements: int, bits: int) -> None:
        access = Access(elements, elements * bits // 8)
        served[store.served_by, store.operand, way] += access
        if store.level is None:
            datapath[store.served_by, store.operand, way] += access
        elif way in ("read", "read_partial"):
            filled[store.level, store.operand, way] += access

    bits, extents = schedule.bits, schedule.layer.extents
    reduction, done = prod(extents[dim] for dim in REDUCTION_DIMS), defaultdict[Element, int](int)

    def write_back(store: _Store, dropped: set[Element]) -> None:
        finished = {element for element in dropped if done[element] == reduction}
        store.written_partial |= dropped - finished
        count(store, "write_partial", len(dropped - finished), bits.acc)
        count(store, "write", len(finished), bits.O)

    for path in _paths(whole(schedule.layer), schedule.loops):
        for store in reversed(stores["O"]):
            write_back(store, store.move_to(schedule, path))
        for operand in ("I", "W"):
            for store in stores[operand]:
                store.move_to(schedule, path)
        for operand in ARRAYS:
            around = None
            for store in stores[operand]:
                new = store.touched - store.held
                assert around is None or new <= around.held, "the level that serves does not hold it"
                if operand == "O":
                    count(store, "read_partial", len(new & store.written_partial), bits.acc)
                else:
                    count(store, "read", len(new), getattr(bits, operand))
                store.held = store.held | new
                around = store
        for element in stores["O"][-1].touched:
            done[element] += prod(len(path[-1][1][dim]) for dim in REDUCTION_DIMS)
    for store in reversed(stores["O"]):
        write_back(store, store.held)
    return _result(schedule, hierarchy, stores, (served, datapath, filled))


def _stores(schedule: Schedule, hierarchy: Hierarchy, operand: ArrayName) -> list[_Store]:
    """The levels that hold an operand, from the outside inward, and the datapath's registers."""
    stores, outside = [], hierarchy.outermost.name
    for level, place in hierarchy.held(schedule, operand):
        stores.append(_Store(operand, level.name, place, outside))
        outside = level.name
    return [*stores, _Store(operand, None, None, outside)]


def _paths(tile: Tile, loops: tuple[Loop, ...], around: Path = ()) -> Iterator[Path]:
    """All innermost iterations in program order."""
    if not loops:
        yield around
        return
    for number, iteration in enumerate(split(tile, loops[0])):
        yield from _paths(iteration, loops[1:], (*around, (number, iteration)))


def _touched(schedule: Schedule, operand: ArrayName, tile: Tile) -> set[Element]:
    match operand:
        case "I":
            return touched_inputs(schedule.layer, tile)
        case "W":
            return touched_weights(tile)
        case "O":
            return touched_outputs(schedule.layer, tile)


def _result(
    schedule: Schedule,
    hierarchy: Hierarchy,
    stores: dict[ArrayName, list[_Store]],
    tallies: tuple[Tally, Tally, Tally],
) -> HierarchyCounts:
    served, datapath, filled = (Counts(dict(tally)) for tally in tallies)
    need = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    need_bytes = {level.name: dict.fromkeys(ARRAYS, 0) for level in hierarchy.inner}
    for operand in ARRAYS:
        for store in stores[operand]:
            if store.level is not None:
                partial = served[store.level, operand, "write_partial"].elements > 0
                need[store.level][operand] = store.need
                need_bytes[store.level][operand] = held_bytes(schedule.bits, operand, store.need, partial=partial)
    return HierarchyCounts(
        served,
        datapath,
        filled,
        {level: PerOperand(**sizes) for level, sizes in need.items()},
        {level: PerOperand(**sizes) for level, sizes in need_bytes.items()},
    )
