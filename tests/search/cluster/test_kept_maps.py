"""Layers whose maps stay in the TCDM: the schedule found takes no more cycles than the one for maps in the DRAM."""

from functools import partial

import numpy as np
import pytest

from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.lower.cluster.cost import judge_of, program_on
from hwgen.lower.cluster.cycles import cluster_cycles, estimated_cycles
from hwgen.model.cluster.residence import Residence
from hwgen.search.cluster.kept_maps import search_few_with_kept_maps, search_with_kept_maps
from hwgen.search.cluster.least_cycles import search_few, search_least_cycles

HARDWARE = {
    "lanes": {"m": 4, "c": 4},
    "budget": 1792,
    "buffers": {"I": 512, "W": 256, "O": 1024},
    "order": ["m", "y", "x", {"buffer": "O"}, "c", {"buffer": "I"}, "k", {"buffer": "W"}, "l", "m", "y", "x"],
    "cluster": {"hwcs": 4, "tcdm": 65536},
}
INPUT, OUTPUT = 32768, 49152
FEW = 0.8, 1.6
"""What the best of a few schedules may be estimated to take, in parts of what is found for layers of few cycles."""


def timed_on(schedule: Schedule, hardware: Hardware, residence: Residence) -> float:
    return cluster_cycles(program_on(schedule, hardware, ordered=True, residence=residence)).total


def _layer(rng: np.random.Generator) -> Layer:
    kernel, stride = int(rng.choice([1, 3])), int(rng.integers(1, 4))
    out = int(rng.integers(1, 17))
    return Layer(
        name="drawn", input_channels=int(rng.integers(1, 17)), output_channels=int(rng.integers(1, 33)),
        input_height=(out - 1) * stride + kernel, input_width=(out - 1) * stride + kernel, output_height=out,
        output_width=out, kernel=kernel, stride=stride,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_the_best_of_a_few_takes_about_as_long(seed: int) -> None:
    hardware = read_hardware_data({"format": 1, "kind": "hardware", "name": "four", **HARDWARE}, "four")
    layer, estimate = _layer(np.random.default_rng(seed)), partial(estimated_cycles, hardware=hardware)
    judge = judge_of(hardware, timed=True, ordered=True)
    best = search_least_cycles(layer, hardware, timed=judge, estimate=estimate)
    found = search_few(layer, hardware, runs=judge_of(hardware, timed=False, ordered=True), estimate=estimate)
    assert judge(found) > 0  # it runs
    few = estimate(found)
    assert FEW[0] * best.value <= few <= FEW[1] * best.value


@pytest.mark.parametrize("seed", range(6))
def test_no_more_cycles_than_for_maps_in_the_dram(seed: int) -> None:
    hardware = read_hardware_data({"format": 1, "kind": "hardware", "name": "four", **HARDWARE}, "four")
    layer = _layer(np.random.default_rng(seed))
    found = search_least_cycles(
        layer,
        hardware,
        timed=judge_of(hardware, timed=True, ordered=True),
        estimate=partial(estimated_cycles, hardware=hardware),
    ).schedule
    for residence in (Residence(INPUT, OUTPUT, stored=False), Residence(INPUT), Residence(None, OUTPUT)):
        timed = partial(timed_on, hardware=hardware, residence=residence)
        best = search_with_kept_maps(
            layer,
            hardware,
            residence,
            timed=timed,
            estimate=partial(estimated_cycles, hardware=hardware, residence=residence),
            found=found,
        )
        assert best is not None
        try:
            before = timed(found)
        except InputError:  # it has partial sums in the TCDM, where the output stays
            before = float("inf")
        assert timed(best) <= before
        estimate = partial(estimated_cycles, hardware=hardware, residence=residence)
        few = search_few_with_kept_maps(layer, hardware, residence, estimate=estimate, found=found)
        assert few is not None
        assert FEW[0] * timed(best) <= estimate(few) <= FEW[1] * timed(best)


@pytest.mark.parametrize("seed", range(4))
def test_schedules_are_found_where_no_map_is_moved(seed: int) -> None:
    """Whatever is known of maps in the DRAM: nothing is left of a tile but its weights."""
    one = {**HARDWARE, "cluster": {"hwcs": 1, "tcdm": 65536}}
    hardware = read_hardware_data({"format": 1, "kind": "hardware", "name": "one", **one}, "one")
    layer, residence = _layer(np.random.default_rng(seed)), Residence(INPUT, OUTPUT, stored=False)
    timed = partial(timed_on, hardware=hardware, residence=residence)
    estimate = partial(estimated_cycles, hardware=hardware, residence=residence)
    best = search_with_kept_maps(layer, hardware, residence, timed=timed, estimate=estimate)
    assert best is not None
    assert timed(best) > 0


def test_few_large_tiles_where_nothing_is_moved() -> None:
    """With the maps in the DRAM rows are cut so that transfers overlap; where they stay that costs cycles."""
    hardware = read_hardware_data({"format": 1, "kind": "hardware", "name": "four", **HARDWARE}, "four")
    layer = Layer(name="wide", input_channels=16, output_channels=32, input_height=28, input_width=28, kernel=1)
    judge = judge_of(hardware, timed=True, ordered=True)
    found = search_least_cycles(
        layer, hardware, timed=judge, estimate=partial(estimated_cycles, hardware=hardware)
    ).schedule
    residence = Residence(INPUT, OUTPUT, stored=False)
    timed = partial(timed_on, hardware=hardware, residence=residence)
    estimate = partial(estimated_cycles, hardware=hardware, residence=residence)
    best = search_with_kept_maps(layer, hardware, residence, timed=timed, estimate=estimate, found=found)
    assert best is not None
    assert timed(best) < 0.95 * timed(found)
    assert estimate(best) == pytest.approx(timed(best), rel=0.05)


def test_a_few_schedules_of_depthwise_layers_use_the_lanes() -> None:
    """Groups have iterations of their own: one after the other they leave most lanes idle."""
    wide = {
        "lanes": {"m": 16, "c": 16},
        "budget": 4608,
        "buffers": {"I": 1024, "W": 1024, "O": 2560},
        "order": HARDWARE["order"],
        "cluster": {"hwcs": 1, "tcdm": 65536},
    }
    hardware = read_hardware_data({"format": 1, "kind": "hardware", "name": "wide", **wide}, "wide")
    layer = Layer(
        name="depthwise", op="depthwise_conv", input_channels=24, input_height=25, input_width=5, kernel=3,
        padding=1,
    )  # fmt: skip
    residence = Residence(INPUT, OUTPUT, stored=False)
    timed = partial(timed_on, hardware=hardware, residence=residence)
    estimate = partial(estimated_cycles, hardware=hardware, residence=residence)
    runs, of_dram = judge_of(hardware, timed=False, ordered=True), partial(estimated_cycles, hardware=hardware)
    found = search_few(layer, hardware, runs=runs, estimate=of_dram)
    best = search_with_kept_maps(layer, hardware, residence, timed=timed, estimate=estimate)
    few = search_few_with_kept_maps(layer, hardware, residence, estimate=estimate, found=found)
    assert best is not None
    assert few is not None
    assert FEW[0] * timed(best) <= estimate(few) <= FEW[1] * timed(best)
