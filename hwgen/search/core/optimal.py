"""The best schedule of one layer for every buffer size, proven by exhaustion.

*The space*: the tile loops of m, c, y, x in any order outermost, then the inner loops of m, c, y, x, k, l in any
order (to step 1, or to the lanes), every integer step of the tile loops, the marker of each of I, W, O above any loop
or absent. Among the schedules whose need fits the buffer (with hardware: whose three memories, as allocated, fit, and
which the hardware can run) the search returns the first by: goal, further criteria
(`hwgen.search.objectives.of_hwc`), need, loops of more than one iteration; then a fixed order, so that equal input
gives equal output.

*Why it is exact.* Traffic and need of an operand depend on order and marker only through its form
(`hwgen.search.core.orders`), as products of factors of single axes, which are tabulated by marking every iteration's
rows and columns (`hwgen.search.core.axes`). Dominance drops forms and steps that another one beats in every factor
(`hwgen.search.core.dominance`), branch and bound those whose lower bound is no better than what is known
(`hwgen.search.core.branch`). Both keep, for each candidate that they drop, one that is at least as good. Nothing else
is left out. Every schedule returned is replayed by `hwgen.model.nest.one_level`; a difference is an error.

Two passes: the first finds the least goal for all buffer sizes at once, with all that is equal in it thrown together;
the second finds, among what reaches it, the first by the other criteria, with forms and steps compared in these too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwgen.ir.counts import DIRECTIONS, Counts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Marker, Schedule
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.search.core.branch import FOUND, Problem, improve
from hwgen.search.core.dominance import Triples
from hwgen.search.core.lane_shapes import lane_shapes
from hwgen.search.core.nests import fixed_schedule, free_schedule
from hwgen.search.core.orders import OUTPUT_STATES, TILED, FixedOrder, Orders, all_orders, fixed_order
from hwgen.search.core.problems import LayerProblems, with_memories
from hwgen.search.core.space import Target, steps_allowed
from hwgen.search.objectives.of_hwc import NEED, HwcObjective, hwc_objective

__all__ = ["Balance", "Cost", "Result", "result_of", "search"]


@dataclass(frozen=True)
class Cost:
    """What a schedule costs on hardware: bytes of I, W and O, and cycles by the model of `hwgen.model.hwc.cycles`.

    ``mhz`` : the estimated clock of the hardware, where hardware is compared by time; else None.
    """

    total_bytes: int
    cycles: int
    mhz: float | None = None


@dataclass(frozen=True)
class Balance:
    """What a choice between traffic and cycles gives, and what both ends would be.

    Members
    -------
    chosen : what was chosen.
    least_traffic : the least traffic that the hardware can have, with the cycles that it takes then.
    fewest_cycles : the fewest cycles that were found for any traffic.
    timed : schedules within the slack of the least traffic whose cycles the model told.
    within_slack : all schedules of the space within the slack, where each of them was timed, so that none has fewer
        cycles than the chosen one; None where some were only estimated: then they are not counted.
    slack : of one HWC for many layers, by what share its traffic might exceed the least; else None.
    """

    chosen: Cost
    least_traffic: Cost
    fewest_cycles: Cost
    timed: int
    within_slack: int | None
    slack: float | None = None

    @property
    def ends(self) -> tuple[Cost, Cost, Cost]:
        """The choice and both ends."""
        return self.chosen, self.least_traffic, self.fewest_cycles

    @classmethod
    def together(cls, parts: "Sequence[Balance]") -> "Balance":
        """The sums over several layers."""
        totals = []
        for ends in zip(*(one.ends for one in parts), strict=True):
            totals.append(Cost(sum(end.total_bytes for end in ends), sum(end.cycles for end in ends)))
        chosen, least, fewest = totals
        counted = [one.within_slack for one in parts if one.within_slack is not None]
        within_slack = sum(counted) if len(counted) == len(parts) else None
        return cls(chosen, least, fewest, sum(one.timed for one in parts), within_slack)

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Balance":
        """The inverse of `as_data`."""
        chosen, least, fewest = (Cost(**data[key]) for key in ("chosen", "least_traffic", "fewest_cycles"))
        return cls(chosen, least, fewest, data["timed"], data["within_slack"], data.get("slack"))


@dataclass(frozen=True)
class Result:
    """The best schedule of one layer for one buffer size.

    Members
    -------
    schedule : the schedule.
    buffer_bytes : the buffer size asked for.
    counts : its accesses, as `hwgen.model.nest.one_level` predicts them.
    need : bytes of the I, W and O buffers: exact ones, or memories as the hardware allocates them.
    total_bytes : its traffic.
    cycles : cycles of the busiest of datapath (an innermost iteration each) and ports (a word each).
    covered : candidates (order, marker places, steps) that the space holds.
    pruned : those of them that were never costed, by dominance or bounds.
    seconds : time spent; the search of one layer is shared out evenly over its buffer sizes.
    balance : where cycles were weighed against traffic, what came of it.
    """

    schedule: Schedule
    buffer_bytes: int
    counts: Counts
    need: PerOperand
    total_bytes: int
    cycles: int
    covered: int
    pruned: int
    seconds: float
    balance: Balance | None = None

    def value(self, objective: type[HwcObjective]) -> int:
        """What a search for this objective makes least."""
        return objective.sums(self.counts, self.cycles)[0]


@dataclass(frozen=True)
class _Room:
    """Everything that one layer's search needs."""

    layer: Layer
    bits: Bits
    target: Target
    orders: Orders
    fixed: FixedOrder | None
    problems: LayerProblems
    memories: dict[ArrayName, int] | None
    covered: int
    allowed: dict[Dim, NDArray[np.bool_]]

    def pruned_space(self, *, words: bool, biases: bool = False) -> tuple[Problem, Triples]:
        found = self.problems.problem(self.allowed, words=words, biases=biases)
        return with_memories(found, self.memories), self.triples(words=words, biases=biases)

    def triples(self, *, words: bool, biases: bool = False) -> Triples:
        return self.problems.triples(self.orders, words=words, biases=biases)

    def schedule(self, triples: Triples, found: NDArray[np.float64]) -> Schedule:
        steps = {dim: int(found[6 + n]) for n, dim in enumerate(TILED)}
        if self.fixed is not None:
            return fixed_schedule(self.layer, self.bits, self.target, self.fixed, steps)
        triple = int(triples.index[int(found[5])])
        loops = self.orders.loops[self.orders.orders[triple]].tolist()
        return free_schedule(self.layer, self.bits, self.target, loops, self.orders.places(triple), steps)


def search(
    layer: Layer,
    buffer_bytes: Sequence[int],
    hardware: Hardware | None = None,
    objective: str = "traffic",
    order: Order | None = None,
    *,
    bits: Bits | None = None,
    interleaved: bool = False,
    problems: LayerProblems | None = None,
) -> list[Result]:
    """The best schedule for each buffer size, in the order given.

    Parameters
    ----------
    layer
        The layer.
    buffer_bytes
        Buffer sizes in bytes: I, W and O together.
    hardware
        Without it the pure model: no lanes, needs to the byte. With it its lanes (where they are free,
        those of `lane_shapes`), allocation and rules, and if it has them its order and its three memories.
    objective
        ``traffic`` (bytes), ``words`` or ``cycles`` (the busiest of datapath and ports). ``with-bias``: bytes with
        those of the biases, which no store keeps.
    order
        Only schedules with exactly these loops and markers.
    bits
        Widths of the elements; 8-bit operands and 32-bit sums if left out.
    interleaved
        Tile loops and inner loops in any order in which the tile loop of a dimension is above its inner loop.
    problems
        Those of the layer on this target, if they are at hand; on hardware whose lanes are not free.

    Raises `InputError` if nothing fits the smallest buffer, with the size that would do.
    """
    if hardware is not None and hardware.lanes is None:
        searches = [partial(_search_one, layer, size, objective, order, bits, interleaved) for size in buffer_bytes]
        sought = zip(searches, buffer_bytes, strict=True)
        return [
            _over_shapes(hardware, lane_shapes([layer], hardware.number_of_multipliers, size), search_one, objective)
            for search_one, size in sought
        ]
    started = time.perf_counter()
    bits = bits or Bits()
    problems = problems or LayerProblems(layer, bits, Target.of(hardware).with_operands(bits))
    room = _room(problems, hardware, order, interleaved)
    sizes = sorted(set(buffer_bytes))
    least = hwc_objective(objective)
    if least.biases and room.target.bias_words:
        raise InputError(f"objective: {objective}: expected without hardware, or with hardware that keeps no biases")
    best = np.full((len(sizes), FOUND), np.inf)
    pruned, triples = room.pruned_space(words=least.words, biases=least.biases)
    costed = improve(pruned, triples.states, np.array(sizes, dtype=np.float64), least.number, 0, best)
    if not np.isfinite(best[0, 0]):
        raise InputError(_too_small(room, sizes[0]))
    if not least.words:
        pruned, triples = room.pruned_space(words=True)
    chosen = []
    for size, known in zip(sizes, best[:, 0], strict=True):
        found = np.full((1, FOUND), np.inf)
        found[0, 0] = known
        more = improve(pruned, triples.states, np.array([float(size)]), least.number, 1, found)
        schedule = room.schedule(triples, found[0])
        chosen.append((schedule, found[0], costed + more))
    seconds = (time.perf_counter() - started) / len(sizes)
    results = {
        size: _replayed(room, least, schedule, found, number, size, seconds)
        for size, (schedule, found, number) in zip(sizes, chosen, strict=True)
    }
    return [results[size] for size in buffer_bytes]


def _search_one(
    layer: Layer,
    size: int,
    objective: str,
    order: Order | None,
    bits: Bits | None,
    interleaved: bool,
    hardware: Hardware,
) -> Result:
    return search(layer, [size], hardware, objective, order, bits=bits, interleaved=interleaved)[0]


def _over_shapes(
    hardware: Hardware, shapes: Sequence[Lanes], search_one: Callable[[Hardware], Result], objective: str
) -> Result:
    """The best over some shapes of the lanes; of equal ones, that of the first shape."""
    found, refusal = [], None
    for lanes in shapes:
        try:
            found.append(search_one(hardware.model_copy(update={"lanes": lanes})))
        except InputError as error:
            refusal = refusal or error
    if refusal is not None and not found:
        raise refusal
    return replace(
        min(found, key=lambda result: result.value(hwc_objective(objective))),
        covered=sum(result.covered for result in found),
        pruned=sum(result.pruned for result in found),
        seconds=sum(result.seconds for result in found),
    )


def _room(problems: LayerProblems, hardware: Hardware | None, order: Order | None, interleaved: bool) -> _Room:
    layer, bits, target = problems.layer, problems.bits, problems.target
    if order is None and hardware is not None:
        order = hardware.order
    fixed = None if order is None else fixed_order(order, target.lane_dims)
    if fixed is not None:
        _check_covers(layer, target, fixed)
        if target.hardware:
            _check_output_marker(fixed)
    orders = all_orders(interleaved) if fixed is None else fixed.orders
    memories = dict(hardware.buffers) if hardware is not None and hardware.buffers is not None else None
    loop_set = fixed.loop_set if fixed is not None else None
    allowed = steps_allowed(layer, target, loop_set)
    covered = orders.placements
    for steps in allowed.values():
        covered *= int(steps.sum())
    return _Room(layer, bits, target, orders, fixed, problems, memories, covered, allowed)


def _check_covers(layer: Layer, target: Target, fixed: FixedOrder) -> None:
    for dim, extent in layer.extents.items():
        if dim not in fixed.order and extent > target.lanes.along(dim):
            raise InputError(f"order: {layer.name}: {dim}: expected a loop over its {extent}")


def _check_output_marker(fixed: FixedOrder) -> None:
    """Refuse O's marker above a loop that moves its tile: what it would hold is not reused, and is not searched."""
    if int(fixed.orders.numbers[2][0]) % OUTPUT_STATES[-1]:
        marked = fixed.order.index(next(one for one in fixed.order if isinstance(one, Marker) and "O" in one.arrays))
        above = next(one for one in fixed.order[marked:] if not isinstance(one, Marker))
        expected = "expected O's marker right above a loop over c, k or l for a search on hardware"
        raise InputError(f"order: {expected}, got it above {above}")


def _too_small(room: _Room, size: int) -> str:
    """Why no schedule fits: the budget, else the given memories, else rules of the hardware."""
    where = f"{room.layer.name}: no schedule fits"
    if (least := _of_least_need(room)) is not None:
        return f"{where} a buffer of {size} bytes; the smallest that would do has {int(least[0, 3])}"
    if room.memories is not None and (least := _of_least_need(replace(room, memories=None))) is not None:
        needed = predict(room.schedule(room.triples(words=False), least[0])).allocation
        needs = ", ".join(f"{array}: {max(needed[array], room.target.least[n])}" for n, array in enumerate(ARRAYS))
        own = ", ".join(f"{array}: {room.memories[array]}" for array in ARRAYS)
        return f"{where} buffers of {{{own}}} bytes; the one of the given order that needs least has {{{needs}}}"
    return f"{where} a buffer of any size: none is searched that the hardware runs with this order"


def _of_least_need(room: _Room) -> NDArray[np.float64] | None:
    """The candidate that needs least bytes, as `improve` has it; None if there is none."""
    pruned, triples = room.pruned_space(words=False)
    found = np.full((1, FOUND), np.inf)
    improve(pruned, triples.states, np.array([np.inf]), NEED, 1, found)
    return found if np.isfinite(found[0, 3]) else None


def _replayed(
    room: _Room,
    least: type[HwcObjective],
    schedule: Schedule,
    found: NDArray[np.float64],
    costed: int,
    size: int,
    seconds: float,
) -> Result:
    """The result, after the model has confirmed what the search believes of it."""
    result = result_of(
        schedule,
        size,
        hardware=room.target.hardware,
        covered=room.covered,
        pruned=room.covered - costed,
        seconds=seconds,
    )
    believed = least.sums(result.counts, result.cycles)
    memories = sum(max(result.need[array], size) for array, size in zip(ARRAYS, room.target.least, strict=True))
    if tuple(found[: len(believed)].tolist()) != believed or memories != found[3]:
        raise RuntimeError(
            f"{room.layer.name}, {size} bytes: search and model differ: {found[:4].tolist()} against "
            f"{[*believed, memories]} for {schedule.as_data()['nest']}"
        )
    return result


def result_of(
    schedule: Schedule, buffer_bytes: int, *, hardware: bool, covered: int, pruned: int, seconds: float = 0.0
) -> Result:
    """A result with the counts and needs that the model predicts for its schedule."""
    prediction = predict(schedule)
    ports = [sum(prediction.counts["tcdm", array, way].words for way in DIRECTIONS[array]) for array in ARRAYS]
    return Result(
        schedule=schedule,
        buffer_bytes=buffer_bytes,
        counts=prediction.counts,
        need=prediction.allocation if hardware else prediction.need_bytes,
        total_bytes=prediction.total_bytes,
        cycles=max(prediction.iterations, *ports),
        covered=covered,
        pruned=pruned,
        seconds=seconds,
    )
