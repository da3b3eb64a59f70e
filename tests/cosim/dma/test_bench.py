"""The DMA in its harness under cocotb, on both simulators, counts what the run loop counts, in the same cycles."""

from dataclasses import fields

import numpy as np
import pytest

from cosim.dma.model import load_model
from cosim.dma.run import DmaJob, DmaResult, run_dma
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.tools.toolchain import Simulator
from tests.cosim.benches import dma_in_bench
from tests.cosim.dma.test_dma import check, random_job
from tests.random.descriptors import REGIONS, RINGS, random_memories

RATES = (48, 48, 48, 48, 48, 48, 48, 48)
DESCRIPTORS: dict[Simulator, int] = {"verilator": 12, "icarus": 4}
"""At random: under Icarus each takes a second."""


def by_hand() -> DmaJob:
    """Counted by hand: 900 bytes from 0x1003 on, and from there to 0x6B01, which crosses 0x7000."""
    load = Descriptor(900, OperandTag.B, RingSelect.FIXED, 0x1003, 0x202)
    store = Descriptor(900, OperandTag.P, RingSelect.FIXED, 0x6E01, 0x202)
    return DmaJob([load], [store], RINGS, random_memories(1), stores_last=True, regions=REGIONS, stall_rates=RATES)


def same(one: DmaResult, other: DmaResult) -> None:
    """Everything, and every byte of both memories."""
    for field in fields(DmaResult):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if field.name == "memories":
            np.testing.assert_array_equal(mine.dram, theirs.dram)
            np.testing.assert_array_equal(mine.tcdm, theirs.tcdm)
        elif field.name == "program":
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert mine == theirs, field.name


@pytest.mark.parametrize("simulator", ["verilator", pytest.param("icarus", marks=pytest.mark.icarus)])
def test_cocotb_counts_what_the_run_loop_counts(simulator: Simulator, request: pytest.FixtureRequest) -> None:
    if simulator == "icarus":
        request.getfixturevalue("icarus")
    model = load_model(DmaParameters())
    jobs = [by_hand(), random_job(3, DESCRIPTORS[simulator], program=(0x4000, 70), stall_rates=RATES)]
    benched = dma_in_bench(model.parameters, jobs, simulator=simulator)
    for job, one in zip(jobs, benched, strict=True):
        same(one, run_dma(model, job))
        check(model, job, one)
    # Beats 512 to 624, blocks 32 to 39; beats 3520 to 3632, blocks 220 to 227.
    names = ("bytes", "beats", "axi_bursts", "blocks", "jumps")
    assert [benched[0].counts[OperandTag.I, False][name] for name in names] == [900, 113, 1, 8, 1]
    assert [benched[0].counts[OperandTag.W, True][name] for name in names] == [900, 113, 2, 8, 1]
