"""What a DMA says about its accesses changes no count, and what it reads too much is named."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from cosim.device.dram import Unwanted
from cosim.dma.model import SimulatedDma, designs
from cosim.dma.run import DmaResult, moved
from hwgen.arch.descriptor import OperandTag
from hwgen.arch.dma import DmaParameters
from tests.cosim.benches import dma_in_bench
from tests.cosim.cluster.disguise import GREEDY, HONEST, LYING, disguised
from tests.cosim.dma.test_bench import by_hand, same
from tests.cosim.dma.test_dma import check

JOB, PARAMETERS = by_hand(), DmaParameters()
FIRST = JOB.loads[0].dram_address
"""Where its only burst of loads begins, a byte address."""
Behaves = Callable[[int], DmaResult]


@pytest.fixture(scope="module")
def behaves() -> Behaves:
    """The same run by a DMA that behaves in one of three ways."""

    def run(way: int) -> DmaResult:
        made = designs(PARAMETERS)
        made["dma.v"] = disguised(made["dma.v"], FIRST, module="dma", way=way)
        (found,) = dma_in_bench(PARAMETERS, [JOB], simulator="icarus", made=made)
        return found

    results = {way: run(way) for way in (HONEST, LYING, GREEDY)}
    return results.__getitem__


@pytest.mark.nightly
@pytest.mark.icarus
@pytest.mark.usefixtures("icarus")
class TestMisbehaviour:
    """One simulation of each for all."""

    def test_a_dma_that_lies_changes_no_count(self, behaves: Behaves) -> None:
        same(behaves(LYING), behaves(HONEST))
        assert behaves(LYING).unwanted == Unwanted()

    def test_a_beat_too_many_is_found_and_named(self, behaves: Behaves) -> None:
        honest, greedy = behaves(HONEST), behaves(GREEDY)
        assert honest.unwanted == Unwanted()
        assert greedy.unwanted.beats == 1
        wanted = honest.counts[OperandTag.I, False]["beats"]
        assert greedy.unwanted.address == (FIRST & -PARAMETERS.beat_bytes) + wanted * PARAMETERS.beat_bytes
        more = {name: count - honest.counts[OperandTag.I, False][name]
                for name, count in greedy.counts[OperandTag.I, False].items()}  # fmt: skip
        assert more["beats"] == 1
        assert more["bytes"] == more["axi_bursts"] == more["jumps"] == 0
        assert (greedy.memories.tcdm == moved(JOB).tcdm).all()
        with pytest.raises(AssertionError, match="Unwanted"):
            check(cast(SimulatedDma, SimpleNamespace(parameters=PARAMETERS)), JOB, greedy)
