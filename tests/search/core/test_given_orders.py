"""The search for one HWC with a given order, and what it thinks the hardware runs: as lowering has it."""

from collections.abc import Iterator
from itertools import islice, product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order, order_of
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.lane_accesses import with_output_at_reduction
from hwgen.model.nest.one_level import predict
from hwgen.search.core.optimal import result_of, search
from hwgen.search.objectives.of_hwc import hwc_objective
from tests.random.nests import layer_of_few_loops, random_layer

LANES = 16
OBJECTIVES = ("traffic", "words", "cycles")


def random_order(rng: Random, layer: Layer) -> Order:
    """One or two loops over what has more than one iteration, in any order, markers anywhere."""
    loops: list[str] = []
    for dim, extent in layer.extents.items():
        if extent > 1:
            loops += [dim] * (rng.choice((1, 2)) if dim in "mcyx" else 1)
    loops = loops or ["m"]
    rng.shuffle(loops)
    places = {array: rng.randrange(len(loops)) for array in "IWO" if rng.random() < 0.9}
    items: list[object] = []
    for index, dim in enumerate(loops):
        arrays = tuple(array for array in "IWO" if places.get(array) == index)
        items += [Marker(arrays)] if arrays else []  # type: ignore[arg-type]
        items.append(dim)
    return tuple(items)  # type: ignore[arg-type]


def every_schedule_of(layer: Layer, order: Order) -> Iterator[Schedule]:
    """All steps that the loops of an order can take, the last loop over each dimension in single steps."""
    loops = [item for item in order if not isinstance(item, Marker)]
    free = [index for index, dim in enumerate(loops) if dim in loops[index + 1 :]]
    for steps in product(*(range(1, layer.extents[loops[index]] + 1) for index in free)):
        chosen = dict(zip(free, steps, strict=True))
        index, nest = 0, []
        for item in order:
            nest.append(item if isinstance(item, Marker) else Loop(item, chosen.get(index, 1)))
            index += not isinstance(item, Marker)
        yield Schedule(layer=layer, nest=tuple(nest))


@pytest.mark.parametrize("seed", range(80))
def test_given_order(seed: int) -> None:
    """Whole layers, up to ten loops; with the order given no other nest can stand in for one that is misjudged."""
    rng = Random(seed)
    layer = random_layer(rng, most_macs=500)
    order = random_order(rng, layer)
    predictions = [predict(schedule) for schedule in every_schedule_of(layer, order)]
    needs = sorted(prediction.need_bytes.total for prediction in predictions)
    size = rng.choice(needs)
    expected = min(
        (p.total_bytes, p.counts.total_words(), p.need_bytes.total) for p in predictions if p.need_bytes.total <= size
    )
    (result,) = search(layer, [size], order=order)
    found = predict(result.schedule)
    assert order_of(result.schedule) == order
    assert (found.total_bytes, found.counts.total_words(), found.need_bytes.total) == expected
    assert result.covered == len(predictions)
    with pytest.raises(InputError, match=f"the smallest that would do has {needs[0]}$"):
        search(layer, [needs[0] - 1], order=order)


def every_schedule_on_hardware(layer: Layer, order: Order) -> Iterator[Schedule]:
    """All steps that the loops of an order can take on 16 lanes; a lone x loop takes any step up to the lanes."""
    loops = [item for item in order if not isinstance(item, Marker)]
    free, most = [], []
    for index, dim in enumerate(loops):
        if dim in loops[index + 1 :] or (dim == "x" and loops.count("x") == 1):
            free.append(index)
            most.append(layer.extents[dim] if dim in loops[index + 1 :] else min(LANES, layer.extents[dim]))
    for steps in product(*(range(1, step + 1) for step in most)):
        chosen = dict(zip(free, steps, strict=True))
        index, nest, x_step = 0, [], layer.extents["x"]
        for item in order:
            if isinstance(item, Marker):
                nest.append(item)
                continue
            step = chosen.get(index, min(LANES, x_step) if item == "x" else 1)
            x_step = step if item == "x" else x_step
            nest.append(Loop(item, step))
            index += 1
        yield Schedule(layer=layer, nest=tuple(nest), lanes=Lanes(x=LANES))


def memories(schedule: Schedule) -> int:
    allocation = predict(schedule).allocation
    return max(allocation.I, 32) + max(allocation.W, 8) + max(allocation.O, 128)


@pytest.mark.parametrize("seed", range(60))
def test_hardware_rules_are_those_of_lowering(seed: int) -> None:
    """With a given order the search finds the best of what `compile_layer` accepts; nothing if it accepts nothing.

    Orders with O's marker above a loop over outputs, which lowering moves further in, are not searched, nor schedules
    whose I slides along the columns.
    """
    rng = Random(seed)
    layer = random_layer(rng, most_macs=900, most_stride=4)
    order = random_order(rng, layer)
    accepted = []
    for schedule in islice(every_schedule_on_hardware(layer, order), 400):
        try:
            program = compile_layer(schedule)
        except InputError:
            continue
        slides = any(name == "input_slides" and value for name, _, value in program.registers)
        if with_output_at_reduction(schedule) is not schedule or (program.parameters.columns_slide and slides):
            continue
        accepted.append((predict(schedule).total_bytes, predict(schedule).counts.total_words(), memories(schedule)))
    if not accepted:
        with pytest.raises(InputError, match=r"none is searched that the hardware|expected O's marker right above"):
            search(layer, [4096], Hardware(name="hwc", lanes=Lanes(x=16), budget=4096), order=order)
        return
    (result,) = search(layer, [4096], Hardware(name="hwc", lanes=Lanes(x=16), budget=4096), order=order)
    compile_layer(result.schedule)
    found = (result.total_bytes, result.counts.total_words(), memories(result.schedule))
    if result.covered < 400:
        assert found == min(accepted)
    else:
        assert found <= min(accepted)


@pytest.mark.parametrize("seed", range(60))
def test_lowering_accepts_what_is_found_for_any_shape(seed: int) -> None:
    """Free orders, and random ones, for each goal; what lowering accepts of the latter is never better."""
    rng = Random(seed)
    layer = random_layer(rng, most_macs=900, most_stride=4)
    shape = rng.choice(Lanes.shapes(LANES, LANE_DIMS))
    objective = OBJECTIVES[seed % len(OBJECTIVES)]
    hardware = Hardware(name="hwc", lanes=shape, budget=8192)
    for order in (None, random_order(rng, layer)):
        try:
            (result,) = search(layer, [8192], hardware, objective, order)
        except InputError:
            continue
        compile_layer(result.schedule)
        least = hwc_objective(objective)
        steps = [loop.step for loop in result.schedule.loops]
        for _ in range(20 if order else 0):
            place = rng.randrange(len(steps))
            changed = [max(1, step + rng.choice((-1, 1)) * (n == place)) for n, step in enumerate(steps)]
            other = iter(changed)
            nest = [Loop(item.dim, next(other)) if isinstance(item, Loop) else item for item in result.schedule.nest]
            try:
                schedule = Schedule(layer=layer, nest=tuple(nest), lanes=result.schedule.lanes)
                compile_layer(schedule, hardware)
            except ValueError:
                continue
            other_one = result_of(schedule, 8192, hardware=True, covered=0, pruned=0)
            assert other_one.value(least) >= result.value(least), (nest, shape)


def test_given_memories_hold_what_is_kept_in_them() -> None:
    rng = Random(7)
    for _ in range(10):
        layer = layer_of_few_loops(rng, most_x=12)
        order = ("m", "y", "x", Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "l", "x")
        buffers = {"I": 4 * rng.randint(2, 12), "W": 4 * rng.randint(2, 8), "O": 16 * rng.randint(2, 6)}
        hardware = Hardware(name="given", lanes=Lanes(x=4), order=order, buffers=buffers)
        try:
            (result,) = search(layer, [1024], hardware)
        except InputError:
            continue
        allocation = predict(result.schedule).allocation
        assert all(allocation[array] <= buffers[array] for array in ("I", "W", "O"))
        assert order_of(result.schedule) == order
