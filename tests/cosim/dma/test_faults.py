"""What the DMA does with errors of the buses and descriptors that leave their windows: it stops and tells."""

from random import Random

import numpy as np
import pytest

from cosim.device.dram import Region
from cosim.dma.model import load_model
from cosim.dma.run import DATA_BYTES, TCDM_BYTES, DmaJob, DmaResult, moved, run_dma
from hwgen.arch.descriptor import Descriptor, OperandTag, RingSelect
from hwgen.arch.dma import DmaParameters
from hwgen.arch.dram import Dram
from hwgen.arch.registers.errors import DmaError
from tests.random.descriptors import RINGS, random_memories

MEMORIES = random_memories(5)
STALLS = ((0,) * 8, (90, 90, 90, 90, 90, 70, 70, 70))
CODES = {False: DmaError.AXI_SLAVE.value, True: DmaError.AXI_DECODE.value}
BASE, LENGTH = 0x2003, 700


def loaded(address: int = BASE, length: int = LENGTH, tcdm: int = 0x4000, **more: int) -> Descriptor:
    return Descriptor(length, OperandTag.I, RingSelect.FIXED, address, tcdm, **more)


def stored(address: int = BASE, length: int = LENGTH, tcdm: int = 0x5001, **more: int) -> Descriptor:
    return Descriptor(length, OperandTag.O, RingSelect.FIXED, address, tcdm, **more)


def run(loads: list[Descriptor], stores: list[Descriptor], **more: object) -> tuple[DmaJob, DmaResult]:
    job = DmaJob(loads, stores, RINGS, MEMORIES, cycle_limit=40_000, **more)
    result = run_dma(load_model(DmaParameters()), job)
    assert not result.timed_out
    assert set(result.violations.values()) == {0}
    return job, result


def stays(before: np.ndarray, after: np.ndarray, *, but: range) -> None:
    """Nothing has changed outside of a range of addresses."""
    changed = np.flatnonzero(before != after)
    assert np.all((changed >= but.start) & (changed < but.stop))


@pytest.mark.parametrize("stalls", STALLS, ids=["calm", "stalled"])
@pytest.mark.parametrize("decode", [False, True], ids=["slverr", "decerr"])
@pytest.mark.parametrize("place", [0, 1, 40, LENGTH // 8 - 1, LENGTH // 8])
def test_a_beat_that_cannot_be_read(place: int, decode: bool, stalls: tuple[int, ...]) -> None:
    beat = (BASE & ~7) + 8 * place
    first, last = loaded(0x1000, 64, 0x3000), loaded(0x9000, 64, 0x6000)
    job, result = run([first, loaded(), last], [], error=("read", beat), decode=decode, stall_rates=stalls)
    assert result.errors[0] == (CODES[decode], max(beat, BASE))
    assert result.done == (1, 0)
    good = max(beat, BASE) - BASE
    assert np.array_equal(result.memories.tcdm[0x3000:0x3040], MEMORIES.dram[0x1000:0x1040])
    stays(moved(DmaJob([first], [], RINGS, MEMORIES)).tcdm, result.memories.tcdm, but=range(0x4000, 0x4000 + good))
    written = good // 8 * 8  # what lies in lines before the bad beat's
    assert np.array_equal(result.memories.tcdm[0x4000 : 0x4000 + written - 8 if written else 0x4000],
                          MEMORIES.dram[BASE : BASE + written - 8 if written else BASE])  # fmt: skip
    assert np.array_equal(result.memories.dram, job.memories.dram)


@pytest.mark.parametrize("stalls", STALLS, ids=["calm", "stalled"])
@pytest.mark.parametrize("decode", [False, True], ids=["slverr", "decerr"])
@pytest.mark.parametrize("place", [0, 255, 256, 600])
def test_a_beat_that_cannot_be_written(place: int, decode: bool, stalls: tuple[int, ...]) -> None:
    base, length = 0x2003, 5000  # bursts from 0x2003, 0x2800, 0x3000
    beat = (base & ~7) + 8 * place
    first, last = stored(0x1000, 64), stored(0x9000, 64)
    _, result = run([], [first, stored(base, length), last], error=("write", beat), decode=decode, stall_rates=stalls)
    assert result.errors[1] == (CODES[decode], max(base, beat // 2048 * 2048))
    assert result.done == (0, 1)
    assert np.array_equal(result.memories.dram[0x1000:0x1040], MEMORIES.tcdm[0x5001:0x5041])
    before = moved(DmaJob([], [first], RINGS, MEMORIES)).dram
    written = moved(DmaJob([], [first, stored(base, length), last], RINGS, MEMORIES)).dram
    changed = np.flatnonzero(result.memories.dram != before)
    assert np.array_equal(result.memories.dram[changed], written[changed])  # nowhere, and nothing, that was not asked
    assert not np.any((changed >= beat) & (changed < beat + 8))


@pytest.mark.parametrize("kind", ["load", "store"])
def test_an_access_to_the_tcdm_that_fails(kind: str) -> None:
    at = 0x4040 if kind == "load" else 0x5040
    sides = ([loaded(), loaded(0x9000)], []) if kind == "load" else ([], [stored(), stored(0x9000)])
    _, result = run(*sides, error=(kind, at))
    assert result.errors[kind == "store"] == (DmaError.TCDM_BUS.value, at)
    assert sum(result.done) < 2


WINDOWS = {"dram_window": (0x1000, 0xA000), "tcdm_window": (0x2000, 0x20000)}
I, O = RingSelect.I, RingSelect.O  # noqa: E741
OUTSIDE = {
    "below the DRAM's window": ({"address": 0xFFF}, DmaError.DRAM_WINDOW),
    "its last byte": ({"address": 0xA000 - LENGTH + 1}, DmaError.DRAM_WINDOW),
    "in a later run": ({"count_1": 3, "dram_stride_1": 0x4000, "tcdm_stride_1": 0x1000}, DmaError.DRAM_WINDOW),
    "in an outer run": ({"count_2": 2, "dram_stride_2": 0xFFFF_FFFF}, DmaError.DRAM_WINDOW),
    "below the TCDM's window": ({"tcdm": 0x1FFF}, DmaError.TCDM_WINDOW),
    "behind it": ({"tcdm": 0x20000 - LENGTH + 1}, DmaError.TCDM_WINDOW),
    "behind it in a later run": ({"count_1": 2, "count_2": 2, "tcdm_stride_2": 0x1C000}, DmaError.TCDM_WINDOW),
    "far behind it": ({"count_2": 2, "tcdm_stride_2": 0xFFFF_F000}, DmaError.TCDM_WINDOW),
}


@pytest.mark.parametrize("stores", [False, True], ids=["load", "store"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_descriptor_that_leaves_its_window(name: str, stores: bool) -> None:
    values, code = OUTSIDE[name]
    make = stored if stores else loaded
    sides = [[], []]
    sides[stores] = [make(), make(**values), make(0x3000)]
    _, result = run(*sides, **WINDOWS)
    refused = sides[stores][1]
    address = refused.dram_address if code == DmaError.DRAM_WINDOW else refused.tcdm_address
    assert result.errors[stores] == (code.value, address)
    assert result.done[stores] == 1
    expected = moved(DmaJob(sides[0][:1], sides[1][:1], RINGS, MEMORIES))
    assert np.array_equal(result.memories.dram, expected.dram)
    assert np.array_equal(result.memories.tcdm, expected.tcdm)
    assert sum(counts["bytes"] for counts in result.counts.values()) == LENGTH


class Raw(Descriptor):
    """Words that `Descriptor` would not make."""

    def encode(self) -> tuple[int, ...]:
        words = list(super().encode())
        for word, mask, value in CHANGES[self.dram_address]:
            words[word] = words[word] & ~mask | value
        return tuple(words)


CHANGES = {
    0x2000: [(0, 0xFFFFF, 0)],
    0x2004: [(2, 0xFFFF, 0)],
    0x2008: [(2, 0xFFFF0000, 0)],
    0x200C: [(8, 0xFFFF, 0)],
    0x2010: [(0, 3 << 24, 0)],
    0x2014: [(5, 0, 0)],
}


@pytest.mark.parametrize("address", sorted(CHANGES))
def test_a_descriptor_that_makes_no_sense(address: int) -> None:
    ring, outside = RINGS[I], address == 0x2014
    wrong = Raw(40, OperandTag.I, I, address, ring.end if outside else ring.start, scattered=True, fold=8,
                fast_stride=1, slow_stride=12)  # fmt: skip
    _, result = run([loaded(), wrong], [])
    expected = (DmaError.TCDM_WINDOW.value, ring.end) if outside else (DmaError.DESCRIPTOR.value, address)
    assert result.errors[0] == expected
    assert result.done == (1, 0)


def test_what_continues_must_do_so() -> None:
    _, result = run([loaded(0x5000), loaded(continues=True), loaded(BASE + LENGTH + 1)], [])
    assert result.errors[0] == (DmaError.DESCRIPTOR.value, BASE + LENGTH + 1)
    assert result.done <= (1, 0)


@pytest.mark.parametrize("stalls", STALLS, ids=["calm", "stalled"])
def test_a_program_is_fetched_beside_the_rest(stalls: tuple[int, ...]) -> None:
    random = Random(2)
    words = random.randint(300, 500)
    loads, stores = [loaded()] * 3, [stored(0x40000)] * 3
    timing = Dram(latency=17, miss_cycles=5, block_cycles=20)
    regions = (Region(0x8000, 0x8000 + 4 * words, OperandTag.P),)
    _, result = run(loads, stores, program=(0x8000, words), stall_rates=stalls, timing=timing, regions=regions)
    assert result.errors == ((0, 0),) * 3
    assert np.array_equal(result.program, MEMORIES.dram.view(np.uint32)[0x2000 : 0x2000 + words])
    counts = result.counts[OperandTag.P, False]
    assert (counts["bytes"], counts["jumps"]) == (4 * words, 1)
    assert counts["axi_bursts"] == counts["blocks"] == -(-words // 32)
    assert counts["beats"] == -(-words // 2)


@pytest.mark.parametrize(
    ("address", "words", "error", "code", "where"),
    [
        (0x8000, 400, ("read", 0x8204), DmaError.AXI_SLAVE, 0x8200),
        (0x8004, 400, None, DmaError.DESCRIPTOR, 0x8004),
        (0x0F80, 32, None, DmaError.DRAM_WINDOW, 0x0F80),
        (0x9F80, 33, None, DmaError.DRAM_WINDOW, 0x9F80),
        (0x8000, 1 << 30, None, DmaError.DRAM_WINDOW, 0x8000),
    ],
)
def test_a_program_that_cannot_be_fetched(
    address: int, words: int, error: tuple[str, int] | None, code: DmaError, where: int
) -> None:
    job = {"program": (address, min(words, 400)), "error": error, **WINDOWS}
    if words > 400:
        job["dram_window"] = (0x1000, 0x8004)
    _, result = run([], [], **job)
    assert result.errors[2] == (code.value, where)
    assert DATA_BYTES > 0xA000
    assert TCDM_BYTES > 0x20000


@pytest.mark.parametrize("stores", [False, True], ids=["load", "store"])
def test_descriptors_that_just_stay_inside(stores: bool) -> None:
    make, sides = (stored if stores else loaded), [[], []]
    sides[stores] = [make(0x1000), make(0xA000 - LENGTH), make(tcdm=0x2000), make(tcdm=0x20000 - LENGTH)]
    job, result = run(*sides, **WINDOWS)
    assert result.errors == ((0, 0),) * 3
    assert result.done[stores] == 4
    expected = moved(job)
    assert np.array_equal(result.memories.dram, expected.dram)
    assert np.array_equal(result.memories.tcdm, expected.tcdm)
