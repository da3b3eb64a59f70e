"""The search for DMA tiles: against all tiles of small layers, and what Cecconi et al. 2017 print of FlowNet S."""

from itertools import product
from random import Random
from statistics import median

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.papers.cecconi.model import TransferCost, exact_moves, exact_need, published_moves, published_need
from hwgen.papers.cecconi.search import FILL, Tiling, best_tiling, published_tiles
from hwgen.papers.stoutchinin.model import Tile
from tests.random.nests import random_layer

COST = TransferCost(100, 10, 1)
EVEN = Layer(
    name="even", input_channels=4, output_channels=6, input_height=8, input_width=12, kernel=3, stride=2, padding=1
)


def every_tile(layer: Layer) -> list[Tile]:
    extents = (layer.outputs_per_group, layer.channels_per_group, layer.output_height, layer.output_width)
    return [Tile(*sizes) for sizes in product(*(range(1, extent + 1) for extent in extents))]


@pytest.mark.parametrize("seed", range(25))
def test_exact_search_is_over_all_tiles(seed: int) -> None:
    rng = Random(seed)
    layer = random_layer(rng, most_macs=2500, most_stride=2)
    while any(stride > kernel for stride, kernel in zip(layer.stride, layer.kernel, strict=True)):
        layer = random_layer(rng, most_macs=2500, most_stride=2)
    cost = TransferCost(rng.choice((0, 20, 100)), rng.choice((0, 10)), 1)
    needs = {tile: exact_need(layer, tile) for tile in every_tile(layer)}
    elements = rng.randint(min(needs.values()), max(needs.values()))
    fitting = [
        Tiling(tile, need, cost.of(exact_moves(layer, tile))) for tile, need in needs.items() if need <= elements
    ]
    found = best_tiling(layer, cost, elements, "exact")
    assert found.best == min(fitting, key=order)
    naive = [one.cost for one in fitting if one.need >= FILL * elements]
    if not naive:
        assert found.naive is None
    else:
        assert found.naive is not None
        assert found.naive.number == len(naive)
        assert (found.naive.least, found.naive.most) == (min(naive), max(naive))
        assert found.naive.median == pytest.approx(median(naive))


def order(one: Tiling) -> tuple[float, ...]:
    return (one.cost, one.need, one.tile.y, one.tile.x, one.tile.c, one.tile.m)


def test_published_search_is_over_divisors() -> None:
    """Inputs of a tile: 4 or 8 rows (2 is less than the kernel, 1 odd), 4, 6 or 12 columns."""
    tiles = [Tile(m, c, s // 2, t // 2) for s in (4, 8) for t in (4, 6, 12) for c in (1, 2, 4) for m in (1, 2, 3, 6)]
    assert sorted(published_tiles(EVEN), key=str) == sorted(tiles, key=str)
    fitting = [
        Tiling(tile, published_need(EVEN, tile), COST.of(published_moves(EVEN, tile)))
        for tile in tiles
        if published_need(EVEN, tile) <= 200
    ]
    found = best_tiling(EVEN, COST, 200, "published")
    assert found.best == min(fitting, key=order)
    naive = [one.cost for one in fitting if one.need >= 160]
    assert found.naive is not None
    assert (found.naive.number, found.naive.median) == (len(naive), median(naive))


def test_refusals() -> None:
    with pytest.raises(InputError, match="even: no tile fits half of the memory, 10 elements"):
        best_tiling(EVEN, COST, 10, "exact")
    with pytest.raises(InputError, match="even: no tile fits half of the memory, 10 elements"):
        best_tiling(EVEN, COST, 10, "published")
    odd = EVEN.model_copy(update={"input_height": 7})
    with pytest.raises(InputError, match="even: no tile divides the map: 7 has no divisor"):
        best_tiling(odd, COST, 200, "published")
