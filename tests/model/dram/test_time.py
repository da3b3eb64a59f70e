"""How long the DRAM is at work: by hand."""

from hwgen.arch.dram import TICKS, Dram, DramPort
from hwgen.ir.counts import Access, Counts
from hwgen.model.dram.counts import dram_ticks

COUNTS = Counts(
    {
        ("dram", "I", "read"): Access(300, 300, beats=40, blocks=4, row_misses=2),
        ("dram", "O", "read_partial"): Access(25, 100, beats=13, blocks=1, row_misses=0),
        ("dram", "O", "write"): Access(480, 480, beats=60, blocks=5, row_misses=1),
        ("tcdm", "I", "read"): Access(300, 300, 80),
    }
)


def test_blocks_and_rows_of_both_directions_take_turns() -> None:
    timing = Dram(latency=100, miss_cycles=20, block_cycles=15.5)
    assert dram_ticks(COUNTS, DramPort(64, timing)) == (10 * 15.5 + 3 * 20) * TICKS


def test_no_more_than_a_beat_of_either_in_a_cycle() -> None:
    assert dram_ticks(COUNTS, DramPort()) == 60 * TICKS
    assert dram_ticks(COUNTS, DramPort(64, Dram(block_cycles=5.0))) == 60 * TICKS


def test_an_access_before_each_block_and_the_part_of_it_that_is_moved() -> None:
    """Sousa 2022, Eq. 6: 3 cycles for each block, and 16 of 128 bytes, two beats, take an eighth of 16."""
    assert dram_ticks(COUNTS, DramPort(64, Dram(block_cycles=16, access_cycles=3))) == (10 * 3 + 113) * TICKS
