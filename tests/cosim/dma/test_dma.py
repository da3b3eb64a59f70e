"""The DMA between the harness' DRAM and TCDM: data, counts, faults, for AXI of every width."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cosim.device.dram import Unwanted
from cosim.dma.model import SimulatedDma, load_model
from cosim.dma.run import DATA_BYTES, DmaJob, DmaResult, moved, run_dma
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DESCRIPTORS_AHEAD, DmaParameters
from hwgen.arch.dram import Dram
from tests.random.descriptors import REGIONS, RINGS, dram_counts, random_descriptors, random_memories

CALM = (0,) * 8
TIMED = Dram(latency=23, miss_cycles=9, block_cycles=17.3)


WIDTHS = [64, pytest.param(32, marks=pytest.mark.nightly), pytest.param(128, marks=pytest.mark.nightly)]


@pytest.fixture(scope="module", params=WIDTHS, ids="axi{}".format)
def model(request: pytest.FixtureRequest) -> SimulatedDma:
    return load_model(DmaParameters(axi_bits=request.param))


def check(model: SimulatedDma, job: DmaJob, result: DmaResult) -> None:
    """All of it was moved, exactly, and counted as it should be."""
    assert not result.timed_out
    assert result.errors == ((0, 0),) * 3
    assert set(result.violations.values()) == {0}
    assert result.done == (len(job.loads), len(job.stores))
    expected = moved(job)
    np.testing.assert_array_equal(result.memories.tcdm, expected.tcdm)
    np.testing.assert_array_equal(result.memories.dram, expected.dram)
    assert result.unwanted == Unwanted()
    for number, descriptors in enumerate((job.loads, job.stores)):
        wanted = dram_counts(descriptors, model.parameters.beat_bytes, job.timing)
        found = {kind: result.counts[kind, number == 1] for kind in wanted}
        if number == 0 and job.program[1]:
            found[OperandTag.P] = without_program(found[OperandTag.P], job.program[1], model.parameters.beat_bytes)
        assert found == wanted
        assert result.accesses[number][1] == sum(each.bytes for each in descriptors)


def without_program(counted: dict[str, int], words: int, beat_bytes: int) -> dict[str, int]:
    """What was read in the region of the program besides the program, which begins a block and a row."""
    blocks, row = -(-words // 32), Dram().row_bytes // 4
    program = {
        "bytes": 4 * words,
        "beats": -(-4 * words // beat_bytes),
        "axi_bursts": blocks,
        "blocks": blocks,
        "jumps": 1,
        "row_misses": -(-words // row),
    }
    return {name: count - program[name] for name, count in counted.items()}


def random_job(seed: int, count: int, **more: object) -> DmaJob:
    random = Random(seed)
    return DmaJob(
        random_descriptors(random, count, loads=True),
        random_descriptors(random, count, loads=False),
        RINGS,
        random_memories(seed),
        random=random.randrange(1, 1 << 32),
        stores_last=True,
        regions=REGIONS,
        **more,
    )


@pytest.mark.parametrize("seed", range(3))
def test_random_descriptors(model: SimulatedDma, seed: int) -> None:
    job = random_job(seed, 60, timing=Dram() if seed else TIMED)
    check(model, job, run_dma(model, job))


@pytest.mark.parametrize("seed", range(3, 6))
def test_stalls_change_nothing_but_time(model: SimulatedDma, seed: int) -> None:
    rates = [(100, 100, 100, 100, 100, 60, 60, 0), (0, 0, 0, 0, 0, 128, 128, 0), (240, 20, 240, 20, 200, 0, 0, 0)]
    job = random_job(seed, 40, stall_rates=rates[seed % 3], timing=TIMED if seed % 2 else Dram())
    check(model, job, run_dma(model, job))


@pytest.mark.parametrize("write_answers", [0, 1, 2], ids=["answered", "if they fail", "unanswered"])
@pytest.mark.parametrize("latency", [1, 4])
def test_a_tcdm_of_every_kind(model: SimulatedDma, latency: int, write_answers: int) -> None:
    job = random_job(latency, 30, tcdm_latency=latency, write_answers=write_answers)
    check(model, job, run_dma(model, job))


@pytest.mark.parametrize("seed", range(2))
def test_loads_stores_and_a_program_at_the_same_time(model: SimulatedDma, seed: int) -> None:
    """The channels share the DRAM, and nothing else: loads read its lower half, stores write the upper one."""
    random = Random(f"together {seed}")
    low, high = range(DATA_BYTES // 2), range(DATA_BYTES // 2, DATA_BYTES)
    loads = random_descriptors(random, 60, loads=True, dram=low)
    stores = random_descriptors(random, 60, loads=False, dram=high)
    job = DmaJob(
        [replace(each, continues=False) for each in loads if each.ring in (RingSelect.I, RingSelect.W)],
        [each for each in stores if each.ring in (RingSelect.O, RingSelect.FIXED)],
        RINGS,
        random_memories(seed),
        regions=REGIONS,
        program=(0x4000, 700),
        timing=TIMED,
        stall_rates=(60, 60, 60, 60, 60, 60, 60, 90) if seed else CALM,
    )
    result = run_dma(model, job)
    check(model, job, result)
    np.testing.assert_array_equal(result.program, job.memories.dram.view(np.uint32)[0x1000 : 0x1000 + 700])


def test_as_many_descriptors_share_a_burst_as_may(model: SimulatedDma) -> None:
    parts = [
        Descriptor(9, OperandTag.W, RingSelect.W, 0x1003 + 9 * i, RINGS[RingSelect.W].start + 64 * i, continues=True)
        for i in range(DESCRIPTORS_AHEAD)
    ]
    parts[-1] = replace(parts[-1], continues=False)
    job = DmaJob(parts, [], RINGS, random_memories(8), cycle_limit=5000, regions=REGIONS)
    result = run_dma(model, job)
    check(model, job, result)
    assert result.counts[OperandTag.I, False]["axi_bursts"] == 1
