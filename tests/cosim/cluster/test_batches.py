"""Batches on a cluster: loops over images at any place around the tiles, every access and output, and the cycles."""

from collections import Counter
from functools import cache
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import cosim.cluster.preparation
from cosim.cluster.results import cosimulate_clusters
from cosim.hwc.layer_data import LayerData, expected_output
from hwgen.ir.layer import IMAGE, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.requantisation import Requantisation
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.levels import tile_depth
from tests.cosim.cluster.test_clusters import SIMULATED, TIMING, check, check_cycles, hardware
from tests.random.clusters import cluster_schedules

CASES = 12


@cache
def cases(name: str) -> list[Schedule]:
    return cluster_schedules(hardware(name), Random(f"images {name}"), CASES, most_macs=5000, images=True)


@pytest.mark.parametrize("name", SIMULATED)
def test_counts_and_outputs_of_batches(name: str) -> None:
    free = cosimulate_clusters(cases(name), hardware(name), fast=False)
    check(free)
    check_cycles(free)
    stalled = cosimulate_clusters(cases(name)[::2], hardware(name), fast=False, stalls=True, timing=TIMING)
    check(stalled)
    assert [one.measured for one in stalled] == [one.measured for one in free[::2]]  # row misses included


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["sixty_four", "rows", "columns"])
def test_batches_on_other_orders_of_the_loops(name: str) -> None:
    check(cosimulate_clusters(cases(name), hardware(name), fast=False, stalls=True, timing=TIMING))


def test_the_cases_reach_every_corner() -> None:
    seen: Counter[str] = Counter()
    for case in cases("fig8"):
        loops, outer = case.loops, tile_depth(case)
        weights = case.marked_loop("W", TCDM)
        seen["a tile of W serves several images"] += any(loop.dim == IMAGE for loop in loops[weights:])
        seen["images of a tile one after the other"] += any(loop.dim == IMAGE for loop in loops[outer:])
        seen["images outside of a tile of W"] += any(loop.dim == IMAGE for loop in loops[:weights])
        seen["two loops over images"] += sum(loop.dim == IMAGE for loop in loops) > 1
        seen["groups"] += case.layer.groups > 1
        seen["strides"] += max(case.layer.stride) > 1
        seen["padding"] += max(case.layer.padding) > 0
    assert min(seen.values()) >= 2, seen


def test_the_weights_of_a_fully_connected_layer_come_once_for_all_images() -> None:
    """Where images stand inside of a tile of W; where they stand outside, for each of them anew."""
    layer = Layer(
        name="fc", op="fc", input_channels=40, output_channels=24, input_height=1, input_width=1, kernel=1, batch=4
    )
    local = iter((1, 1, 1, 1, 1, 1, 1, 1))
    order = [item if isinstance(item, Marker) else Loop(item, next(local)) for item in hardware("fig8").order or ()]
    images, filters, shares = Loop("n", 1), Loop("m", 12), Loop("m", 3, over="hwc")
    inside = (Marker(("W",), TCDM), filters, Marker(("I", "O"), TCDM), images, shares)
    outside = (images, Marker(ARRAYS, TCDM), filters, shares)
    schedules = [
        cases("fig8")[0].model_copy(update={"layer": layer, "nest": (*nest, *order), "bias_words": 0})
        for nest in (inside, outside)
    ]
    results = cosimulate_clusters(schedules, hardware("fig8"), fast=False)
    check(results)
    assert [one.measured["dram", "W", "read"].bytes for one in results] == [960, 4 * 960]
    assert [one.measured["dram", "I", "read"].bytes for one in results] == [2 * 160, 160]
    assert results[0].cycles < results[1].cycles


def test_the_image_of_a_wrong_element_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(layer: Layer, data: LayerData, requantisation: Requantisation) -> NDArray[np.signedinteger]:
        output = expected_output(layer, data, requantisation)
        output[1, 0, 0, 0] ^= 1
        return output

    monkeypatch.setattr(cosim.cluster.preparation, "expected_output", wrong)
    (result,) = cosimulate_clusters(cases("fig8")[:1], hardware("fig8"), fast=False)
    (line,) = result.failures
    assert "output: 1 elements are wrong, the first at [n, m, y, x] = [1, 0, 0, 0]: got" in line
