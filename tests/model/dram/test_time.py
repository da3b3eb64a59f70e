"""How long the DRAM is at work: by hand."""

from hwgen.ir.counts import Access, Counts
from hwgen.ir.hardware import Cluster, Dram
from hwgen.model.dma.transfers import DramTiming
from hwgen.model.dram.time import TICKS, dram_ticks, timing_of

COUNTS = Counts(
    {
        ("dram", "I", "read"): Access(300, 300, beats=40, blocks=4, row_misses=2),
        ("dram", "O", "read_partial"): Access(25, 100, beats=13, blocks=1, row_misses=0),
        ("dram", "O", "write"): Access(480, 480, beats=60, blocks=5, row_misses=1),
        ("tcdm", "I", "read"): Access(300, 300, 80),
    }
)


def test_blocks_and_rows_of_both_directions_take_turns() -> None:
    timing = DramTiming(latency=100, miss_cycles=20, block_cycles=15.5)
    assert dram_ticks(COUNTS, timing) == (10 * 15.5 + 3 * 20) * TICKS


def test_no_more_than_a_beat_of_either_in_a_cycle() -> None:
    assert dram_ticks(COUNTS, DramTiming()) == 60 * TICKS
    assert dram_ticks(COUNTS, DramTiming(block_cycles=5.0)) == 60 * TICKS


def test_timing_of_a_cluster() -> None:
    assert timing_of(Cluster()) == DramTiming()
    behind = Dram(latency=3, miss_cycles=4, block_cycles=5.5, row_bytes=1024, banks=4)
    assert timing_of(Cluster(dram=behind)) == DramTiming(3, 4, 5.5, 1024, 4)
