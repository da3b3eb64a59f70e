"""The DMA against cocotbext-axi's AxiRam: data, and the rules of AXI."""

from random import Random

import numpy as np
import pytest

from cosim.dma.run import DATA_BYTES, DmaJob, moved
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from tests.cosim.dma.axi import run_on_bus
from tests.random.descriptors import RINGS, dram_counts, random_descriptor, random_memories

pytestmark = [pytest.mark.icarus, pytest.mark.usefixtures("icarus")]


def short_ones(random: Random, count: int, *, loads: bool) -> list[Descriptor]:
    found: list[Descriptor] = []
    while len(found) < count:
        fresh = random_descriptor(random, loads=loads)
        if fresh.bytes <= 400:
            found.append(fresh)
    return found


@pytest.mark.parametrize(
    ("axi_bits", "stall_rate"),
    [
        (64, 80),
        pytest.param(64, 0, marks=pytest.mark.nightly),
        pytest.param(32, 80, marks=pytest.mark.nightly),
        pytest.param(128, 80, marks=pytest.mark.nightly),
    ],
)
def test_random_descriptors(axi_bits: int, stall_rate: int) -> None:
    random = Random(axi_bits + stall_rate)
    long_load = Descriptor(5000, OperandTag.I, RingSelect.FIXED, 0x3EFD, 0x3003)
    long_store = Descriptor(5000, OperandTag.O, RingSelect.FIXED, 0x7D01, 0x3002)
    job = DmaJob(
        [long_load, *short_ones(random, 20, loads=True)],
        [long_store, *short_ones(random, 20, loads=False)],
        RINGS,
        random_memories(axi_bits),
        random=7,
    )
    run = run_on_bus(DmaParameters(axi_bits=axi_bits), job, stall_rate=stall_rate)
    assert run.breaches == ()
    expected = moved(job)
    np.testing.assert_array_equal(run.memories.tcdm, expected.tcdm)
    np.testing.assert_array_equal(run.memories.dram, expected.dram)
    for channel, descriptors in (("ar", job.loads), ("aw", job.stores)):
        wanted = dram_counts(descriptors, axi_bits // 8, Dram())
        bursts = [beats for name, _, beats in run.bursts if name == channel]
        assert len(bursts) == sum(counts["axi_bursts"] for counts in wanted.values())
        assert sum(bursts) == sum(counts["beats"] for counts in wanted.values())
        assert max(bursts) <= 256
    assert len(expected.dram) == DATA_BYTES
