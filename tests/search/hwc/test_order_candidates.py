from itertools import permutations, product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, Order, order_of
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import DIMS, Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.one_level import predict
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.optimal import search
from tests.random.brute_force import operand_costs
from tests.search.hwc.best_choices import best_lanes, best_order


def layer_of(rng: Random, dims: tuple[str, ...], number: int) -> Layer:
    kernel = tuple(rng.randint(2, 3) if dim in dims else 1 for dim in "kl")
    outputs = [rng.randint(2, 6) if dim in dims else 1 for dim in "yx"]
    return Layer(
        name=f"layer_{number}", input_channels=rng.randint(2, 6) if "c" in dims else 1,
        output_channels=rng.randint(2, 6) if "m" in dims else 1, input_height=outputs[0] - 1 + kernel[0],
        input_width=outputs[1] - 1 + kernel[1], kernel=(kernel[0], kernel[1]),
    )  # fmt: skip


def brute_force(layers: list[Layer], size: int) -> int | None:
    """The least sum over all orders and marker places, each layer with its own best steps within the size."""
    dims = [dim for dim in range(6) if any(layer.extents[DIMS[dim]] > 1 for layer in layers)]
    around = next(dim for dim in range(4) if dim not in dims)
    tiled = [dim for dim in dims if dim < 4]
    best = None
    for outer, inner in product(permutations(tiled), permutations(dims)):
        costs = []
        for layer in layers:
            found = []
            for steps in product(*(range(1, layer.extents[DIMS[dim]] + 1) for dim in outer)):
                nest = ((around, 1), *zip(outer, steps, strict=True), *((dim, 1) for dim in inner))
                found.append(operand_costs(layer, nest, Bits()))
            costs.append(found)
        for places in product(range(len(outer) + len(inner) + 2), repeat=3):
            least = [_least(found, places, size) for found in costs]
            if None not in least:
                total = sum(cost for cost in least if cost is not None)
                best = total if best is None else min(best, total)
    return best


def _least(found: list, places: tuple[int, ...], size: int) -> int | None:
    fitting = [
        sum(int(costs[place, operand, 0]) for operand, place in enumerate(places))
        for costs in found
        if sum(int(costs[place, operand, 2]) for operand, place in enumerate(places)) <= size
    ]
    return min(fitting, default=None)


@pytest.mark.parametrize("seed", range(8))
def test_best_order_is_that_of_brute_force(seed: int) -> None:
    rng = Random(seed)
    dims = rng.choice([("m", "c"), ("c", "x"), ("m", "y"), ("y", "k"), ("x", "l"), ("c", "l")])
    layers = [layer_of(rng, dims, number) for number in range(rng.choice((2, 3)))]
    size = rng.randint(6, 40)
    found = best_order(layers, size)
    assert found.total_bytes == brute_force(layers, size)
    for result in found.results:
        assert order_of(result.schedule) == found.order
        assert result.need.total <= size


def test_best_order_for_alexnet_is_close_to_what_each_layer_would_like() -> None:
    """Stoutchinin et al. 2019, V-B: no order is best for all layers, but one is nearly so."""
    layers = load_layer_set("stoutchinin_2019").starting_with("alexnet").convolutions()
    alone = sum(search(layer, [1024])[0].total_bytes for layer in layers)
    together = best_order(layers, 1024).total_bytes
    # Recorded from this search in November 2026; guards against change. Brute force judges it on small layers.
    assert alone == 81842080
    # So near: a finding of this search, recorded with it.
    assert 1 < together / alone < 1.04


def test_no_order_fits() -> None:
    layers = [layer_of(Random(0), ("m", "c"), number) for number in range(2)]
    with pytest.raises(InputError, match="no order fits a buffer of 5 bytes with all 2 layers"):
        best_order(layers, 5)


ORDER: Order = ("m", "y", "x", Marker(("O",)), "c", Marker(("I",)), "k", Marker(("W",)), "l", "m", "y", "x")


def schedules_on(layer: Layer, lanes: Lanes) -> list[Schedule]:
    """All steps of `ORDER` with the inner loops going to the lanes."""
    found = []
    tiled: tuple[Dim, ...] = ("m", "y", "x")
    for steps in product(*(range(1, layer.extents[dim] + 1) for dim in tiled)):
        outer = dict(zip(tiled, steps, strict=True))
        inner = {dim: min(step, lanes.along(dim)) for dim, step in outer.items()}
        dims = iter((*outer.items(), ("c", 1), ("k", 1), ("l", 1), *inner.items()))
        nest = tuple(item if isinstance(item, Marker) else Loop(*next(dims)) for item in ORDER)
        found.append(Schedule(layer=layer, nest=nest, lanes=lanes))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_lanes_over_any_dimensions(seed: int) -> None:
    """The best steps of one order (whose I never slides along columns), for random lanes over m, y and x."""
    rng = Random(seed)
    layer = layer_of(rng, ("m", "c", "y", "x", "k", "l"), 0)
    lanes = Lanes(**({dim: rng.randint(2, 3) for dim in ("m", "y", "x") if rng.random() < 0.7} or {"m": 2}))
    hardware = Hardware(name="lanes", lanes=lanes)
    m, y, x = lanes.m, lanes.y, lanes.x
    units = (max(4, x) * y, max(4, m), 4 * m * y * x)
    found = []
    for schedule in schedules_on(layer, lanes):
        p = predict(schedule)
        memories = sum(max(p.allocation[a], 2 * unit) for a, unit in zip(("I", "W", "O"), units, strict=True))
        found.append((memories, p.total_bytes, p.counts.total_words()))
    size = rng.choice([memories for memories, _, _ in found])
    (result,) = search(layer, [size], hardware, order=ORDER)
    expected = min((total, words) for memories, total, words in found if memories <= size)
    assert (result.total_bytes, result.counts.total_words()) == expected
    assert result.schedule.lanes == lanes


def test_best_lanes_are_the_best_of_all_shapes() -> None:
    layer = layer_of(Random(1), ("m", "c", "y", "x", "k", "l"), 0)
    for objective in ("cycles", "traffic"):
        alone = [
            search(layer, [600], Hardware(name="lanes", lanes=shape), objective)[0]  # type: ignore[arg-type]
            for shape in Lanes.shapes(8)
        ]
        best = best_lanes(layer, 600, 8, objective)  # type: ignore[arg-type]
        if objective == "cycles":
            assert best.cycles == min(result.cycles for result in alone)
        else:
            assert best.total_bytes == min(result.total_bytes for result in alone)


def test_no_shape_of_the_lanes_fits() -> None:
    with pytest.raises(InputError, match="no schedule fits a buffer of 20 bytes"):
        best_lanes(layer_of(Random(1), ("m", "c"), 0), 20, 8)
