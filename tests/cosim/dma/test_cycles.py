"""The DMA's cycle model beside the simulated DMA: tiles one by one, and as they follow each other."""

import pytest

from cosim.dma.tiles import measure_tiles, random_tiles
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.model.dma.cycles import load_times

TIMINGS = {
    "zero latency": Dram(),
    "like DDR3": Dram(latency=20, miss_cycles=28, block_cycles=16),
    "slow": Dram(latency=30, miss_cycles=10, block_cycles=64.3),
    "an access before each block": Dram(access_cycles=18.6, block_cycles=44.3),
    "accesses and rows": Dram(latency=9, miss_cycles=12, access_cycles=3.7, block_cycles=13.1),
}


@pytest.mark.parametrize("loads", [True, False], ids=["loads", "stores"])
@pytest.mark.parametrize("name", TIMINGS)
def test_every_tile_to_the_cycle(name: str, loads: bool) -> None:
    tiles = random_tiles(f"{name} {loads}", 35, loads=loads)
    times = measure_tiles(tiles, DmaParameters(), TIMINGS[name], loads=loads)
    assert [time.predicted for time in times] == [time.measured for time in times]


@pytest.mark.parametrize("loads", [True, False], ids=["loads", "stores"])
@pytest.mark.parametrize("name", TIMINGS)
def test_tiles_that_follow_each_other(name: str, loads: bool) -> None:
    tiles = random_tiles(f"{name} {loads} again", 35, loads=loads)
    times = measure_tiles(tiles, DmaParameters(), TIMINGS[name], loads=loads, serial=False)
    assert max(time.error for time in times) < 0.005


def run(length: int) -> Descriptor:
    return Descriptor(length, OperandTag.I, RingSelect.FIXED, 0, 0)


def test_a_run_of_one_beat_computed_by_hand() -> None:
    # 8 words, summed, judged, offered: 11 cycles; walker, two registers, the DRAM: 5; aligner, writer, port: 4.
    assert load_times([run(8)]).cycles == (19,)
    assert load_times([run(8)], timing=Dram(latency=10)).cycles == (28,)
    assert load_times([run(4096)]).cycles == (19 + 511,)
