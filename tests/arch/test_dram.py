"""The DRAM's rows, and the port of a cluster."""

import pytest

from hwgen.arch.dram import BLOCK_BYTES, Dram, DramPort, OpenRows
from hwgen.ir.hardware import Cluster


def test_the_port_of_a_cluster() -> None:
    assert DramPort.of(Cluster()) == DramPort(64, Dram())
    dram = Dram(latency=3, miss_cycles=4, block_cycles=5.5, row_bytes=1024, banks=4)
    port = DramPort.of(Cluster(axi_bits=32, dram=dram))
    assert (port.beat_bytes, port.burst_window, port.dram) == (4, 1024, dram)


def test_each_bank_holds_one_row_open() -> None:
    rows = OpenRows(Dram(row_bytes=256, banks=2))
    # Rows 0, 0, 1, 0, 2 (in the bank of row 0), 0, 1.
    missed = [rows.misses(address) for address in (0, 255, 256, 128, 512, 0, 300)]
    assert missed == [True, False, True, False, True, True, False]
    assert [rows.misses(address) for address in (0, 256, 512, 256)] == [False, False, True, False]


def test_a_beat_in_every_cycle_unless_blocks_take_time() -> None:
    assert Dram(latency=9).immediate
    assert not Dram(miss_cycles=1).immediate
    assert not Dram(block_cycles=0.5).immediate


def test_a_row_is_a_block_at_the_least() -> None:
    with pytest.raises(ValueError, match="row_bytes"):
        Dram(row_bytes=BLOCK_BYTES // 2)
