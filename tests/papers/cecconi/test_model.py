"""The cost of DMA transfers: Eq. 1-6 by hand, the exact count against every single transfer, and against the nest."""

from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Bits
from hwgen.model.nest.one_level import predict
from hwgen.papers.cecconi.model import (
    LayerMoves,
    Moves,
    TransferCost,
    exact_moves,
    exact_need,
    published_moves,
    published_need,
    tiled_nest,
)
from hwgen.papers.stoutchinin.model import Tile
from tests.random.nests import random_layer

STRIDED = Layer(
    name="strided", input_channels=4, output_channels=6, input_height=8, input_width=12, kernel=3, stride=2, padding=1
)
TILE = Tile(m=3, c=2, y=2, x=3)  # 4 by 6 inputs


def test_equations_by_hand() -> None:
    """Two by two by two input tiles of 4 x 6 x 2, each with two sets of three filters."""
    found = published_moves(STRIDED, TILE)
    inputs, weights, outputs = found
    assert inputs == Moves(8, 8 * 4 * 2, 8 * 4 * 6 * 2)
    assert weights == Moves(16, 16 * (3 + 1), 16 * (2 * 3 * 9 + 3))
    assert outputs == Moves(2 * 16, 2 * 16 * 2 * 3, 2 * 16 * 2 * 3 * 3)
    assert published_need(STRIDED, TILE) == 48 + 57 + 18
    by_transfer = 8 * (100 + 8 * 10 + 48) + 16 * (100 + 4 * 10 + 57) + 16 * 2 * (100 + 6 * 10 + 18)
    assert TransferCost(100, 10, 1).of(found) == by_transfer


def test_exactly_by_hand() -> None:
    """Rows -1 to 3 and 3 to 7 of 8, columns -1 to 5 and 5 to 11 of 12: a halo on one side, padding on the other."""
    inputs, weights, outputs = exact_moves(STRIDED, TILE)
    assert inputs == Moves(8, 2 * (4 + 5) * 4, (4 + 5) * (6 + 7) * 4)
    assert weights == Moves(16, 16 * (3 + 1), 16 * (2 * 3 * 9 + 3))
    assert outputs == Moves(3 * 8, 3 * 4 * 2 * 6, 3 * 4 * 6 * 6)
    assert exact_need(STRIDED, TILE) == 5 * 7 * 2 + 57 + 18


def test_runs_merge() -> None:
    """Rows as wide as the map are one run, maps that lie one behind the other too, and so are filters."""
    bands = exact_moves(STRIDED, Tile(m=3, c=4, y=2, x=6))
    assert (bands.I, bands.O.runs) == (Moves(2, 2 * 4, (4 + 5) * 12 * 4), 2 * 6)
    assert bands.W.runs == 4 * (1 + 1)
    whole = exact_moves(STRIDED, Tile(m=3, c=2, y=4, x=6))
    assert (whole.I.runs, whole.O.runs, whole.W.runs) == (2, 3 * 2, 4 * (1 + 3))


def every_transfer(layer: Layer, tile: Tile) -> LayerMoves:
    """Listing 1.1 executed for each group, each transfer as a set of addresses."""
    channels, outputs = layer.channels_per_group, layer.outputs_per_group
    moved = {"I": [0, 0, 0], "W": [0, 0, 0], "O": [0, 0, 0]}

    def transfer(name: str, *parts: set[int]) -> None:
        if any(parts):
            moved[name][0] += 1
            for addresses in parts:
                moved[name][1] += sum(address - 1 not in addresses for address in addresses)
                moved[name][2] += len(addresses)

    height, width, kernel = layer.input_height, layer.input_width, layer.kernel
    for group in range(layer.groups):
        written: set[int] = set()
        for y0 in range(0, layer.output_height, tile.y):
            ys = range(y0, min(y0 + tile.y, layer.output_height))
            for x0 in range(0, layer.output_width, tile.x):
                xs = range(x0, min(x0 + tile.x, layer.output_width))
                rows = {y * layer.stride[0] + k - layer.padding[0] for y in ys for k in range(kernel[0])}
                columns = {x * layer.stride[1] + k - layer.padding[1] for x in xs for k in range(kernel[1])}
                for c0 in range(0, channels, tile.c):
                    cs = range(c0, min(c0 + tile.c, channels))
                    pixels = [(h, w) for h in rows for w in columns if 0 <= h < height and 0 <= w < width]
                    transfer("I", {((group * channels + c) * height + h) * width + w for c in cs for h, w in pixels})
                    for m0 in range(0, outputs, tile.m):
                        ms = range(m0, min(m0 + tile.m, outputs))
                        area = kernel[0] * kernel[1]
                        weights = {(m * channels + c) * area + k for m in ms for c in cs for k in range(area)}
                        transfer("W", weights, set(ms))
                        sums = {(m * layer.output_height + y) * layer.output_width + x
                                for m in ms for y in ys for x in xs}  # fmt: skip
                        if sums <= written:
                            transfer("O", sums)
                        written |= sums
                        transfer("O", sums)
    return LayerMoves(*(Moves(*moved[name]) for name in "IWO"))


def random_tile(rng: Random, layer: Layer) -> Tile:
    extents = (layer.outputs_per_group, layer.channels_per_group, layer.output_height, layer.output_width)
    return Tile(*(rng.choice((extent, rng.randint(1, extent))) for extent in extents))


@pytest.mark.parametrize("seed", range(60))
def test_exact_counts_are_those_of_every_transfer(seed: int) -> None:
    rng = Random(seed)
    layer = random_layer(rng, most_macs=3000, most_stride=3)
    while any(stride > kernel for stride, kernel in zip(layer.stride, layer.kernel, strict=True)):
        layer = random_layer(rng, most_macs=3000, most_stride=3)
    tile = random_tile(rng, layer)
    assert exact_moves(layer, tile) == every_transfer(layer, tile)


@pytest.mark.parametrize("seed", range(20))
def test_exact_elements_are_those_of_the_nest(seed: int) -> None:
    rng = Random(seed)
    layer = random_layer(rng, most_macs=3000, most_stride=1)
    while layer.groups > 1:
        layer = random_layer(rng, most_macs=3000, most_stride=1)
    tile = random_tile(rng, layer)
    counts = predict(tiled_nest(layer, tile, bits=Bits(I=8, W=8, O=8, acc=8))).counts
    moved = exact_moves(layer, tile)
    biases = _tiles(layer, tile) * layer.output_channels
    found = {operand: counts.operand_bytes(operand) for operand in ("I", "W", "O")}
    assert found == {"I": moved.I.elements, "W": moved.W.elements - biases, "O": moved.O.elements}


def _tiles(layer: Layer, tile: Tile) -> int:
    pieces = (layer.input_channels / tile.c, layer.output_height / tile.y, layer.output_width / tile.x)
    number = 1
    for piece in pieces:
        number *= int(-(-piece // 1))
    return number


def test_refusals() -> None:
    with pytest.raises(ValueError, match="tile: expected a divisor of 12, got 8"):
        published_moves(STRIDED, Tile(m=3, c=2, y=2, x=4))
    gaps = STRIDED.model_copy(update={"kernel": (1, 1), "padding": (0, 0, 0, 0)})
    with pytest.raises(InputError, match="strided: stride: expected at most the kernel's 1, got 2"):
        exact_moves(gaps, TILE)
