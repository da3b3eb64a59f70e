"""The DMA's cycle model beside the simulated DMA: tiles one by one, and as they follow each other."""

from collections.abc import Sequence
from dataclasses import fields
from random import Random

import pytest

from cosim.dma_model import load_model
from cosim.dma_run import DmaJob, run_dma
from hwgen.gateware.descriptor import Descriptor
from hwgen.gateware.dma_params import DmaParameters
from hwgen.model.dma_cycles import DmaTiming, DramTiming, Move, Times, load_times, store_times
from tests.cosim.random_descriptors import random_memories
from tests.cosim.random_tiles import RINGS, random_tile

MEMORIES = random_memories(3)
TIMINGS = {"zero latency": (0, 0, 0.0), "like DDR3": (20, 28, 16.0), "slow": (30, 10, 64.3)}


def move_of(descriptor: Descriptor) -> Move:
    return Move(**{entry.name: getattr(descriptor, entry.name) for entry in fields(Move)})


def compare(tiles: Sequence[Descriptor], timing: tuple[int, int, float], *, loads: bool, serial: bool) -> list[float]:
    """Relative errors of the predicted cycles: of each tile, or up to the end of each."""
    job = DmaJob(
        tiles if loads else [],
        [] if loads else tiles,
        RINGS,
        MEMORIES,
        serial=serial,
        timing=DramTiming(*timing),
    )
    measured = run_dma(load_model(DmaParameters()), job)
    assert not measured.timed_out
    predict = load_times if loads else store_times
    times = predict([move_of(tile) for tile in tiles], DmaTiming(), DramTiming(*timing), serial=serial)
    found = Times(tuple(measured.begins), tuple(measured.ends))
    pairs = zip(*((times.cycles, found.cycles) if serial else (times.ends, found.ends)), strict=True)
    return [(predicted - actual) / actual for predicted, actual in pairs]


@pytest.mark.parametrize("loads", [True, False], ids=["loads", "stores"])
@pytest.mark.parametrize("name", TIMINGS)
def test_every_tile_to_the_cycle(name: str, loads: bool) -> None:
    random = Random(f"{name} {loads}")
    tiles = [random_tile(random, loads=loads) for _ in range(35)]
    assert set(compare(tiles, TIMINGS[name], loads=loads, serial=True)) == {0.0}


@pytest.mark.parametrize("loads", [True, False], ids=["loads", "stores"])
@pytest.mark.parametrize("name", TIMINGS)
def test_tiles_that_follow_each_other(name: str, loads: bool) -> None:
    random = Random(f"{name} {loads} again")
    tiles = [random_tile(random, loads=loads) for _ in range(35)]
    assert max(map(abs, compare(tiles, TIMINGS[name], loads=loads, serial=False))) < 0.005


def test_a_run_of_one_beat_computed_by_hand() -> None:
    # 8 words, summed, judged, offered: 11 cycles; walker, two registers, the DRAM: 5; aligner, writer, port: 4.
    assert load_times([Move(8, 0, 0)]).cycles == (19,)
    assert load_times([Move(8, 0, 0)], timing=DramTiming(latency=10)).cycles == (28,)
    assert load_times([Move(4096, 0, 0)]).cycles == (19 + 511,)
