"""The published models on cases worked out by hand, and their best tiles against brute force."""

from itertools import product
from random import Random

import pytest

from hwgen.ir.layer import Layer
from hwgen.papers.stoutchinin.model import Reading, Tile, baseline, best_baselines, candidate_steps
from tests.random.nests import random_layer

SMALL = Layer(name="small", input_channels=4, output_channels=6, input_height=8, input_width=8, kernel=3)
TILE = Tile(m=2, c=2, y=3, x=2)  # B(I) = 2 * 5 * 4, B(W) = 2 * 2 * 9, B(O) = 2 * 3 * 2
BYTES = Reading(sums="output")


def moved(layer: Layer, tile: Tile, innermost: str | None, reading: Reading) -> tuple[int, int, int]:
    found = baseline(layer, tile, innermost, reading=reading)  # type: ignore[arg-type]
    return found.input_bytes, found.weight_bytes, found.output_bytes


@pytest.mark.parametrize(
    ("innermost", "expected"),
    [
        (None, (36 * 40, 36 * 36, 36 * 2 * 12)),  # Eq. 6: 3 * 2 * 2 * 3 tiles
        ("m", (12 * 40, 12 * 108, 12 * 2 * 36)),  # Eq. 7: M instead of mss, 2 * 2 * 3 tiles
        ("c", (18 * 80, 18 * 72, 18 * 12)),  # Eq. 8: C instead of css, outputs once
        ("y", (18 * 64, 18 * 36, 18 * 2 * 24)),  # Eq. 9: H rows, E output rows, 3 * 2 * 3 tiles
        ("x", (12 * 80, 12 * 36, 12 * 2 * 36)),  # Eq. 10: H columns, E output columns, 3 * 2 * 2 tiles
    ],
)
def test_appendix_a_in_elements(innermost: str | None, expected: tuple[int, int, int]) -> None:
    assert moved(SMALL, TILE, innermost, BYTES) == expected


def test_partial_sums_of_four_bytes() -> None:
    assert moved(SMALL, TILE, None, Reading()) == (36 * 40, 36 * 36, 36 * 2 * 12 * 4)
    assert moved(SMALL, TILE, "c", Reading()) == (18 * 80, 18 * 72, 18 * 12)  # complete when it leaves: one byte
    assert baseline(SMALL, TILE, reading=BYTES).need_bytes == 40 + 36 + 12
    assert baseline(SMALL, TILE).need_bytes == 40 + 36 + 4 * 12
    assert baseline(SMALL, TILE, "c").need_bytes == 40 + 36 + 4 * 12


def test_square_tiles_give_equation_9_as_printed() -> None:
    iss = jss = 3
    expected = 3 * 2 * 2 * (2 * 8 * 5 + 2 * 2 * 9 + 2 * 2 * 6 * iss)
    assert sum(moved(SMALL, Tile(2, 2, iss, jss), "y", BYTES)) == expected
    assert sum(moved(SMALL, Tile(2, 2, iss, jss), "x", BYTES)) == expected


def test_padding_is_an_open_point_of_the_equations() -> None:
    padded = Layer(**{**SMALL.model_dump(), "padding": (1, 1, 1, 1), "output_height": 8, "output_width": 8})
    whole = Tile(6, 4, 8, 8)
    assert moved(padded, whole, None, BYTES)[0] == 4 * 10 * 10
    assert moved(padded, whole, None, Reading("output", "clipped"))[0] == 4 * 8 * 8
    assert moved(padded, Tile(6, 4, 8, 1), "x", BYTES)[0] == 4 * 10 * 8


def test_groups_are_layers_of_their_own() -> None:
    grouped = Layer(**{**SMALL.model_dump(), "groups": 2, "input_channels": 8, "output_channels": 12})
    assert moved(grouped, TILE, "m", BYTES) == tuple(2 * part for part in moved(SMALL, TILE, "m", BYTES))
    with pytest.raises(ValueError, match="tile: m: expected 1 to 6, got 7"):
        baseline(grouped, Tile(7, 1, 1, 1))


@pytest.mark.parametrize("reading", [Reading(), BYTES, Reading("acc", "clipped")])
def test_best_tiles_equal_brute_force_over_all_integers(reading: Reading) -> None:
    rng = Random(9)
    for _ in range(12):
        layer = random_layer(rng, most_macs=3000)
        extents = (layer.outputs_per_group, layer.channels_per_group, layer.output_height, layer.output_width)
        tiles = [Tile(*sizes) for sizes in product(*(range(1, extent + 1) for extent in extents))]
        budgets = (4, 24, 60, 150, 600, 5000)
        for model, loops in (("CACHE", (None,)), ("PEEMEN", ("m", "c", "y", "x"))):
            every = [baseline(layer, tile, loop, reading=reading) for tile in tiles for loop in loops]  # type: ignore[arg-type]
            best = best_baselines(layer, model, budgets, reading=reading)  # type: ignore[arg-type]
            for budget, found in zip(budgets, best, strict=True):
                fitting = [(b.total_bytes, b.need_bytes) for b in every if b.need_bytes <= budget]
                assert (found and (found.total_bytes, found.need_bytes)) == min(fitting, default=None)


def test_given_tiles_only() -> None:
    (found,) = best_baselines(SMALL, "CACHE", (128,), tiles={"m": (2,), "c": (2,), "y": (3,), "x": (2, 6)})
    assert found == baseline(SMALL, TILE)


def test_peemen_never_above_cache() -> None:
    layer = Layer(
        name="conv4_2", input_channels=512, output_channels=512, input_height=28, input_width=28, kernel=3, padding=1
    )
    budgets = [1024 << power for power in range(9)]
    cache, peemen = best_baselines(layer, "CACHE", budgets), best_baselines(layer, "PEEMEN", budgets)
    for worse, better in zip(cache, peemen, strict=True):
        assert worse is not None
        assert better is not None
        assert better.total_bytes <= worse.total_bytes
    assert sorted((b.total_bytes for b in peemen if b), reverse=True) == [b.total_bytes for b in peemen if b]


def test_candidate_steps() -> None:
    assert candidate_steps(10) == (1, 2, 3, 4, 5, 10)
    assert candidate_steps(1) == (1,)
