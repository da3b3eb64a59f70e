from functools import cache, partial
from itertools import product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ArrayName, Bits
from hwgen.model.area.estimate import estimated_area
from hwgen.model.cycle_bound import cycle_bound
from hwgen.model.hwc.cycles import cycles
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.search.core.lane_shapes import lane_shapes
from hwgen.search.core.nests import fixed_schedule
from hwgen.search.core.optimal import Cost, search
from hwgen.search.core.orders import TILED, fixed_order
from hwgen.search.core.space import Target
from hwgen.search.hwc.balanced import ANY_TRAFFIC, NEAR, balanced
from hwgen.search.hwc.balanced_shared import SharedSearch, WeighedHwc, balanced_shared, number_of_steps
from hwgen.search.hwc.canonical import CANONICAL, order_from_text
from hwgen.search.hwc.shared import best_shared
from tests.random.nests import random_layer

SLACKS = (0.0, 0.01, 0.1)
SHAPES = tuple(Lanes.parse(text) for text in ("x16", "m8x2", "m4x4", "m16"))


def every_step(layer: Layer, hardware: Hardware) -> list[tuple[int, int]]:
    """(Bytes, cycles) of all steps of the hardware's order that fit its memories: the judge, without any bound."""
    target = Target.of(hardware)
    fixed = fixed_order(hardware.order or (), target.lane_dims)
    sizes = hardware.buffers or {}
    ranges = []
    for dim in TILED:
        extent, lanes = layer.extents[dim], target.lanes.along(dim)
        stepped, whole = dim in fixed.loop_set.stepped, dim in fixed.loop_set.whole
        ranges.append([extent] if whole else range(1, (min(lanes, extent) if stepped else extent) + 1))
    found = []
    for steps in product(*ranges):
        schedule = fixed_schedule(layer, Bits(), target, fixed, dict(zip(TILED, steps, strict=True)))
        prediction = predict(schedule)
        if all(prediction.allocation[array] <= sizes[array] for array in ("I", "W", "O")):
            memories = PerOperand(sizes["I"], sizes["W"], sizes["O"])
            found.append((prediction.total_bytes, cycles(schedule, memories).total))
    return found


@cache
def drawn(seed: int) -> tuple[Layer, Hardware, list[tuple[int, int]]] | None:
    """A random layer, hardware of its own, and `every_step` there; None where no hardware of that shape runs it."""
    rng = Random(seed)
    layer = next(one for one in iter(lambda: random_layer(rng, most_stride=1), None) if one.groups == 1)
    order = order_from_text(rng.choice(CANONICAL))
    try:
        hardware = best_shared([layer], 512, rng.choice(SHAPES), order=order).hardware
    except InputError:
        return None
    return layer, hardware, every_step(layer, hardware)


@pytest.mark.parametrize("seed", range(6))
def test_on_given_hardware_no_schedule_within_the_slack_takes_fewer_cycles(seed: int) -> None:
    if (case := drawn(seed)) is None:
        return
    layer, hardware, everything = case
    least = min(traffic for traffic, _ in everything)
    before = None
    for slack in SLACKS:
        (found,) = balanced(layer, [512], hardware, slack)
        balance = found.balance
        assert balance is not None
        whole = balance.within_slack is not None
        assert whole or slack > 0.01
        if whole:
            inside = sum(traffic <= least * (1 + slack) for traffic, _ in everything)
            assert 1 <= balance.timed == balance.within_slack <= inside
        fewest = min(spent for traffic, spent in everything if traffic <= least * (1 + slack))
        assert balance.chosen.cycles == fewest if whole else balance.chosen.cycles >= fewest
        assert balance.chosen.total_bytes == found.total_bytes <= least * (1 + slack)
        assert balance.least_traffic.total_bytes == least
        assert balance.fewest_cycles.cycles <= balance.chosen.cycles <= balance.least_traffic.cycles
        assert before is None or balance.chosen.cycles <= before
        before = balance.chosen.cycles


@pytest.mark.parametrize(
    "seed", [one if one < 6 else pytest.param(one, marks=pytest.mark.nightly) for one in range(120)]
)
def test_on_given_hardware_no_schedule_takes_fewer_cycles(seed: int) -> None:
    """Whatever it moves: against all steps, but for what fewer bytes are worth."""
    if (case := drawn(seed)) is None:
        return
    layer, hardware, everything = case
    (found,) = balanced(layer, [512], hardware, ANY_TRAFFIC)
    assert found.balance is not None
    chosen, fewest = found.balance.chosen, min(spent for _, spent in everything)
    assert cycle_bound(layer, hardware).cycles <= fewest <= chosen.cycles <= fewest * (1 + NEAR)
    near = [traffic for traffic, spent in everything if spent <= fewest * (1 + NEAR)]
    assert chosen.total_bytes >= min(near)


def test_the_lanes_are_those_of_the_fastest_shape() -> None:
    """With free lanes the choice is the best of the choices on each shape with the same limit."""
    layer = random_layer(Random(6), most_macs=150)
    free = Hardware(name="free", budget=512, order=order_from_text(CANONICAL[2]))
    (found,) = balanced(layer, [512], free, 0.03)
    balance = found.balance
    assert balance is not None
    assert balance.within_slack == balance.timed
    most, spent = int(balance.least_traffic.total_bytes * 1.03), {}
    for lanes in lane_shapes([layer]):
        shaped = free.model_copy(update={"lanes": lanes})
        try:
            least = search(layer, [512], shaped)[0].total_bytes
        except InputError:
            continue
        if least <= most:
            (alone,) = balanced(layer, [512], shaped, (most + 0.5) / least - 1)
            assert alone.balance is not None
            spent[lanes] = alone.balance.chosen.cycles
    assert balance.chosen.cycles == min(spent.values()) < max(spent.values())
    assert spent[found.schedule.lanes] == balance.chosen.cycles


def test_of_equally_fast_schedules_that_of_fewest_bytes_with_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this order biases are fetched for each tile of rows: of one row each three times, of all rows once."""
    monkeypatch.setattr("hwgen.search.hwc.balanced.cycles_of", lambda schedule, memories: 1)
    layer = Layer(name="wide", input_channels=1, output_channels=72, input_height=3, input_width=1, kernel=1)
    order = order_from_text("[W]YM[IO]cmyx")
    buffers: dict[ArrayName, int] = {"I": 64, "W": 128, "O": 256}
    hardware = Hardware(name="hwc", lanes=Lanes(m=16), budget=448, order=order, buffers=buffers)
    (found,) = balanced(layer, [448], hardware, 0.05)
    assert found.balance is not None
    assert found.balance.within_slack == found.balance.timed > 1
    assert found.balance.least_traffic.total_bytes < found.total_bytes
    assert found.counts.total_with_bias() == found.total_bytes + 4 * 72


def test_free_lanes_and_memories() -> None:
    """Of all shapes, with what a schedule leaves of the budget as room to fetch ahead."""
    layer = random_layer(Random(3))
    free = Hardware(name="free", budget=512)
    (least,) = search(layer, [512], free)
    each = [search(layer, [512], free.model_copy(update={"lanes": lanes}))[0] for lanes in SHAPES]
    assert least.total_bytes <= min(one.total_bytes for one in each)
    spent = []
    for slack in (0.0, 0.01):
        (found,) = balanced(layer, [512], free, slack)
        assert found.balance is not None
        assert found.balance.least_traffic.total_bytes == least.total_bytes
        assert found.total_bytes <= least.total_bytes * (1 + slack)
        assert found.balance.within_slack is None  # so many that only the best of a short list are timed
        spent.append(found.balance.chosen.cycles)
    assert spent == sorted(spent, reverse=True)


def test_the_least_time_then_the_least_area() -> None:
    """Lanes along c have a higher clock; HWCs of nearly the same time differ in area; cycles alone know neither."""
    along_c, along_x = Lanes(m=8, c=2), Lanes(m=8, x=2)
    large, small = "mcyxm[O]c[I]kl[W]yx", "myx[O]c[I]k[W]lmyx"

    def hwc(lanes: Lanes, order: str) -> WeighedHwc:
        buffers: dict[ArrayName, int] = {"I": 128, "W": 32, "O": 832}
        return WeighedHwc(Hardware(name="h", lanes=lanes, order=order_from_text(order), buffers=buffers), ())

    judged = [
        (Cost(0, 1_000_000), hwc(along_x, large)),
        (Cost(0, 1_001_000), hwc(along_x, small)),
        (Cost(0, 1_040_000), hwc(along_c, large)),
        (Cost(0, 1_041_000), hwc(along_c, small)),
        (Cost(0, 1_060_000), hwc(along_c, small)),
    ]
    weighed = [SharedSearch((), 1024, None, "h", lambda: None, clocked).best(judged) for clocked in (True, False)]
    assert [judged.index(one) for one in weighed] == [3, 0]
    assert SharedSearch((), 1024, None, "h", lambda: None, True).best(judged[:2]) == judged[1]


@pytest.mark.nightly
def test_one_hwc_for_all_layers() -> None:
    """The least traffic is that of the best shape; the choice is within the slack, and never slower."""
    rng = Random(2)
    layers = [random_layer(rng, most_macs=4000).model_copy(update={"name": f"l{n}"}) for n in range(2)]
    least = []
    for lanes in Lanes.shapes(16):
        try:
            least.append(best_shared(layers, 1024, lanes).total_bytes)
        except InputError:
            continue
    spent: list[float] = []
    for slack in (0.0, 0.01):
        steps: list[float] = []
        found = balanced_shared(layers, 1024, slack=slack, step=partial(steps.append, slack))
        assert len(steps) == number_of_steps(layers, 1024, slack)
        balance, hardware = found.balance, found.hardware
        assert balance is not None
        assert hardware.buffers is not None
        assert balance.least_traffic.total_bytes == min(least)
        assert balance.within_slack is None
        assert balance.timed >= 1
        assert found.total_bytes == balance.chosen.total_bytes <= min(least) * (1 + slack)
        memories = PerOperand(**hardware.buffers)
        assert balance.chosen.cycles == sum(cycles(one.schedule, memories).total for one in found.results)
        assert balance.fewest_cycles.cycles < balance.chosen.cycles < balance.least_traffic.cycles
        assert balance.slack == slack
        assert hardware.shape != Lanes.shapes(16)[0]  # another one is faster at the same traffic
        mhz = estimated_area(hardware).mhz
        assert mhz is not None
        spent.append(balance.chosen.cycles / mhz)
    assert spent[1] <= spent[0] * (1 + NEAR)
