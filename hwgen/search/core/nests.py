"""Schedules from an order, marker places and tile steps, as short as they get."""

from collections.abc import Mapping, Sequence

from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import predict
from hwgen.search.core.orders import DIM_OF_LOOP, LOOPS, FixedOrder
from hwgen.search.core.space import Target

__all__ = ["fixed_items", "fixed_schedule", "free_items", "free_schedule"]

Item = Loop | Marker
TILES = LOOPS[:4]


def free_schedule(
    layer: Layer, bits: Bits, target: Target, loops: Sequence[int], places: Sequence[int], steps: Mapping[Dim, int]
) -> Schedule:
    """The schedule of one of the ten-loop orders; loops of one iteration are left out where that changes nothing."""
    nest = free_items(layer.extents, target, loops, places, steps)
    if not any(isinstance(item, Loop) for item in nest):
        nest.append(Loop("m", layer.extents["m"]))
    return _without_idle_loops(layer, bits, target, nest)


def free_items(
    extents: Mapping[Dim, int], target: Target, loops: Sequence[int], places: Sequence[int], steps: Mapping[Dim, int]
) -> list[Item]:
    """One of the ten-loop orders in what is left; of the loops of one iteration only those that a marker wants."""
    nest: list[Item] = []
    left = dict(extents)
    for position, loop in enumerate(loops):
        dim = DIM_OF_LOOP[loop]
        step = min(left[dim], steps[dim] if loop < len(TILES) else target.lanes.along(dim))
        marked = tuple(array for array, place in zip("IWO", places, strict=True) if place == position)
        if marked:
            nest.append(Marker(marked))  # type: ignore[arg-type]
        if marked or step < left[dim]:
            nest.append(Loop(dim, step))
        left[dim] = step
    return nest


def _without_idle_loops(layer: Layer, bits: Bits, target: Target, nest: list[Item]) -> Schedule:
    """Leave out marked loops of one iteration too if the counts and the need stay what they are."""
    schedule = _schedule(layer, bits, target, nest)
    left = dict(layer.extents)
    known = None
    at = 0
    while at < len(nest):
        item = nest[at]
        if isinstance(item, Loop) and item.step == left[item.dim] and len(schedule.loops) > 1:
            known = known or predict(schedule)
            shorter = _schedule(layer, bits, target, _joined(nest[:at] + nest[at + 1 :]))
            found = predict(shorter)
            if (found.counts, found.need, found.allocation) == (known.counts, known.need, known.allocation):
                schedule, nest = shorter, list(shorter.nest)
                at = next((n for n, other in enumerate(nest) if n >= at and isinstance(other, Loop)), len(nest))
                continue
        if isinstance(item, Loop):
            left[item.dim] = item.step
        at += 1
    return schedule


def _joined(nest: list[Item]) -> list[Item]:
    """Consecutive markers as one; markers below the last loop are none."""
    joined: list[Item] = []
    for item in nest:
        if isinstance(item, Marker) and joined and isinstance(joined[-1], Marker):
            arrays = {*joined[-1].arrays, *item.arrays}
            joined[-1] = Marker(tuple(array for array in ("I", "W", "O") if array in arrays))
        else:
            joined.append(item)
    while isinstance(joined[-1], Marker):
        joined.pop()
    return joined


def fixed_schedule(layer: Layer, bits: Bits, target: Target, fixed: FixedOrder, steps: Mapping[Dim, int]) -> Schedule:
    """The schedule that has exactly the loops and markers of the given order."""
    return _schedule(layer, bits, target, fixed_items(layer.extents, target, fixed, steps))


def fixed_items(
    extents: Mapping[Dim, int], target: Target, fixed: FixedOrder, steps: Mapping[Dim, int]
) -> list[Item]:
    """Exactly the loops and markers of the given order in what is left."""
    nest: list[Item] = []
    left = dict(extents)
    loops = iter(fixed.loops)
    for item in fixed.order:
        if isinstance(item, Marker):
            nest.append(item)
            continue
        loop = next(loops)
        step = min(left[item], steps[item] if loop < len(TILES) else target.lanes.along(item))
        nest.append(Loop(item, step))
        left[item] = step
    return nest


def _schedule(layer: Layer, bits: Bits, target: Target, nest: list[Item]) -> Schedule:
    return Schedule(
        layer=layer,
        bits=bits,
        nest=tuple(nest),
        lanes=target.lanes,
        bias_words=target.bias_words,
        ports=target.ports,
        requantisation=target.requantisation,
        lane_registers=target.lane_registers,
    )
