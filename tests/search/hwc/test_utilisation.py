from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

import hwgen.search.hwc.layer_fronts
from hwgen.ir.document import InputError
from hwgen.ir.hardware import order_of
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.nest.one_level import predict
from hwgen.search.core.optimal import search
from hwgen.search.core.orders import fixed_order
from hwgen.search.core.space import Target, tables
from hwgen.search.hwc.canonical import (
    CANONICAL,
    CHANNEL_STEPS,
    order_from_text,
    orders_for,
    points,
    schedule_of,
    splits_of,
)
from hwgen.search.hwc.estimate import estimate, shapes_of, waiting_of
from hwgen.search.hwc.utilisation import MOST_HARDWARE, Plan, plan_hwcs

BUDGET = 512
SHAPES = (Lanes(m=8, x=2), Lanes(m=4, y=2, x=2), Lanes(y=4, x=4), Lanes(x=16), Lanes(m=16))


def small_layer(rng: Random, name: str = "small") -> Layer:
    kernel = rng.choice((1, 3))
    size, stride = rng.randint(3, 5), rng.choice((1, 1, 2))
    across = (size - 1) * stride + kernel
    return Layer(
        name=name, input_channels=rng.choice((3, 8, 12)), output_channels=rng.choice((8, 12)), input_height=across,
        input_width=across, kernel=kernel, stride=stride,
    )  # fmt: skip


def box_of(layer: Layer, text: str, steps: tuple[int, int, int]) -> tuple[float, float]:
    """Elements of a row of the largest tile of I, of all its channels; its rows. The layers here have no padding."""
    channels, rows, columns = steps
    whole = text.startswith(("MYX[O]C[IW]", "M[W]"))
    taps, stride = layer.kernel[0], layer.stride[0]
    vertical = taps if whole else 1
    height = (rows - 1) * stride + vertical if vertical >= stride else rows * vertical
    width = (columns - 1) * stride + taps if taps >= stride else columns * taps
    return float(channels * width), float(height)


def brute_force(layer: Layer, target: Target) -> list[tuple[int, float]]:
    """Traffic and estimated utilisation of all schedules of the canonical orders, on the best split for each."""
    found = []
    for text in CANONICAL:
        fixed = fixed_order(order_from_text(text), target.lane_dims)
        kinds, waiting = shapes_of(layer, Bits(), target, fixed.orders), waiting_of(layer, target, fixed.orders)
        splits = splits_of([layer], BUDGET, target, text)
        ranges = []
        for dim in ("m", "c", "y", "x"):
            extent, lane = layer.extents[dim], target.lanes.along(dim)
            steps = [*range(lane, extent + 1, lane), extent] if dim != "c" else [*CHANNEL_STEPS, extent]
            if dim == "c" and "C" not in text:
                steps = [extent]
            ranges.append(sorted({step for step in steps if step <= extent}))
        for m, c, y, x in product(*ranges):
            p = predict(schedule_of(layer, target, text, (m, c, y, x)))
            needs = np.array([p.allocation.I, p.allocation.W, p.allocation.O, *box_of(layer, text, (c, y, x))])
            fitting = splits[(needs[:3] <= splits).all(axis=1)]
            cycles = min((estimate(kinds, waiting, m, c, y, x, needs, split) for split in fitting), default=np.inf)
            found.append((p.total_bytes, layer.macs / (16 * cycles)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_one_layer_never_moves_more_than_the_best_of_brute_force(seed: int) -> None:
    """Points that save less than 0.05 % of the cycles are left out of the fronts: hence the larger demand."""
    layer, lanes = small_layer(Random(seed)), SHAPES[seed]
    target = Target(lanes, True)
    everything = brute_force(layer, target)
    assert max(utilisation for _, utilisation in everything) > 0.1
    for demand in (0.1, 0.2, 0.4, 0.6, 0.8):
        expected = min((traffic for traffic, busy in everything if busy >= demand * 1.0006), default=None)
        try:
            plan = plan_hwcs([layer], BUDGET, demand, 100, lanes=lanes, jobs=1)  # type: ignore[arg-type]
        except InputError:
            assert expected is None
            continue
        check(plan, [layer], demand)
        assert plan.total_bytes >= min(traffic for traffic, busy in everything if busy >= demand)
        assert expected is None or plan.total_bytes <= expected


def check(plan: Plan, layers: list[Layer], demand: float) -> None:
    """Figures are those of the model, every schedule fits its HWC, the demand is met."""
    assert plan.utilisation >= demand
    assert plan.free_bytes == sum(search(layer, [BUDGET])[0].total_bytes for layer in layers)
    assert plan.ratio == plan.total_bytes / plan.free_bytes
    for choice, layer in zip(plan.choices, layers, strict=True):
        prediction, hardware = predict(choice.schedule), choice.hardware
        assert choice.schedule.layer == layer
        assert choice.total_bytes == prediction.total_bytes
        assert order_of(choice.schedule) == hardware.order
        assert choice.schedule.lanes == hardware.lanes
        assert hardware.buffers is not None
        assert sum(hardware.buffers.values()) <= BUDGET
        assert all(prediction.allocation[array] <= hardware.buffers[array] for array in ("I", "W", "O"))


def some_layers() -> list[Layer]:
    rng = Random(5)
    layers = [small_layer(rng, f"layer_{number}") for number in range(4)]
    return [*layers, layers[0].model_copy(update={"name": "again"})]


def test_more_utilisation_takes_no_less_traffic_and_one_hwc_for_all_no_less_than_several() -> None:
    layers = some_layers()
    traffic = []
    for demand in (0.3, 0.5):
        several = plan_hwcs(layers, BUDGET, demand, 10, most_hardware=MOST_HARDWARE, lanes=Lanes(m=8, x=2), jobs=1)
        one = plan_hwcs(layers, BUDGET, demand, 10, lanes=Lanes(m=8, x=2), jobs=1)
        check(several, layers, demand)
        check(one, layers, demand)
        assert len(one.hardware) == 1
        assert several.choices[0].hardware == several.choices[4].hardware  # equal but for the name
        assert several.total_bytes <= one.total_bytes
        traffic.append(several.total_bytes)
    assert traffic == sorted(traffic)


def test_any_shape_does_no_worse_than_one_and_jobs_change_nothing() -> None:
    layers = some_layers()[:2]
    free = plan_hwcs(layers, BUDGET, 0.3, 10, jobs=2)
    assert free.choices == plan_hwcs(layers, BUDGET, 0.3, 10, jobs=1).choices
    check(free, layers, 0.3)
    assert free.total_bytes <= plan_hwcs(layers, BUDGET, 0.3, 10, lanes=Lanes(m=8, x=2), jobs=1).total_bytes


def test_a_plan_is_searched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = some_layers()[:2]

    def plan(most_hardware: int) -> Plan:
        return plan_hwcs(
            layers, BUDGET, 0.3, 10, most_hardware=most_hardware, lanes=Lanes(m=8, x=2), store=tmp_path, jobs=1
        )

    several, one = plan(MOST_HARDWARE), plan(1)
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(hwgen.search.hwc.layer_fronts, "_front", None)
    assert plan(MOST_HARDWARE) == several
    assert plan(1) == one
    for file in tmp_path.iterdir():
        file.write_text("{}")
    with pytest.raises(TypeError):
        plan(1)


def test_what_cannot_be_reached_is_said() -> None:
    layers = some_layers()[:1]
    with pytest.raises(InputError, match=r"^utilisation: expected 0 to 1, got 1\.5$"):
        plan_hwcs(layers, BUDGET, 1.5, 2)
    with pytest.raises(InputError, match="utilisation: expected at least one layer"):
        plan_hwcs([], BUDGET, 0.5, 2)
    with pytest.raises(InputError, match=r"^utilisation: no choice reaches 1 with 512 bytes; the highest mean found"):
        plan_hwcs(layers, BUDGET, 1.0, 2, lanes=Lanes(m=8, x=2), jobs=1)
    with pytest.raises(InputError, match=r"^utilisation: 0\.3 with 512 bytes takes [0-9.]+ times the least traffic"):
        plan_hwcs(layers, BUDGET, 0.3, 1.0, lanes=Lanes(x=16), jobs=1)
    with pytest.raises(InputError, match="small: utilisation: no schedule of the canonical orders fits"):
        plan_hwcs([small_layer(Random(1))], 100, 0.1, 9, lanes=Lanes(m=8, x=2), jobs=1)


def test_plans_are_for_as_many_multipliers_as_asked_for() -> None:
    layers = [small_layer(Random(seed), f"layer{seed}") for seed in range(2)]
    plan = plan_hwcs(layers, 2048, 0.0, 9.0, multipliers=64, jobs=1)
    (hardware,) = plan.hardware
    assert hardware.shape.product == 64
    for choice in plan.choices:
        assert choice.utilisation == choice.schedule.layer.macs / (64 * choice.cycles) <= 1


def test_large_budgets_also_cut_the_channels_of_a_weight_stationary_nest() -> None:
    """W of all channels of a lane's outputs does not fit: only the order with tiles of channels streams I past it."""
    layer = small_layer(Random(0)).model_copy(update={"input_channels": 512, "output_channels": 16, "groups": 1})
    assert orders_for(1 << 16) == (*CANONICAL[:-1], "MC[W]X[I]Ymyx[O]ckl")
    target = Target(Lanes(m=8, x=2), True)
    text = orders_for(1 << 16)[-1]
    fixed = fixed_order(order_from_text(text), target.lane_dims)
    assert fixed.loop_set.tiled == ("m", "c", "y", "x")
    splits = np.array([[1024.0, 2048.0, 256.0]])
    found = points(layer, target, text, splits, tables(layer, Bits(), target), 1e9, 1e-3)
    assert len(found.split)
    for traffic, steps in zip(found.traffic, found.steps, strict=True):
        prediction = predict(schedule_of(layer, target, text, tuple(steps.tolist())))
        assert prediction.total_bytes == traffic
        assert (np.array([prediction.allocation[array] for array in ("I", "W", "O")]) <= splits[0]).all()
        assert steps[1] < 512
