"""For how long a store keeps the write data channel that others wait for."""

from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.model.dma.cycles import store_times

DMA = DmaParameters(64)


def rows(length: int, count: int, apart: int, tcdm: int) -> Descriptor:
    """As many rows of so many bytes: ``apart`` and ``tcdm`` bytes from one to the next in DRAM and in the TCDM."""
    return Descriptor(length, OperandTag.I, RingSelect.I, 1 << 20, 0, count, 1, apart, 0, tcdm, 0)


def test_a_burst_keeps_the_channel_a_cycle_for_each_beat_or_for_as_long_as_it_takes_to_bring_them() -> None:
    whole = store_times([rows(2048, 1, 2048, 2048)], DMA)
    assert 2048 // 8 - 10 <= whole.held[0] <= 2048 // 8
    # Bursts of a beat are at hand when their turn comes, although it takes longer to read them.
    single = store_times([rows(8, 40, 64, 64)], DMA)
    assert single.held == (40,)
    # Rows of 14 bytes that follow each other in DRAM are bursts of 256 beats; their beats come slower than that.
    slow = store_times([rows(14, 560, 14, 16)], DMA)
    beats = 14 * 560 // 8
    assert 1.2 * beats < slow.held[0] <= slow.cycles[0]
    # Of several descriptors each has its own.
    assert store_times([rows(8, 40, 64, 64), rows(8, 20, 64, 64)], DMA).held == (40, 20)
