"""The estimate of waits at banks: against a memory with all its ports that is played here, and where it is exact."""

from itertools import count
from random import Random

import pytest

from hwgen.model.cluster.bank_waits import Lines, Stream, waits_at_banks
from hwgen.model.hwc.timing.state import PARTS

WORDS = 2000
IN_ROW = Lines(pitch=4, plane=1, rows=1, channels=4, words=1, tiles=64, again=1)
"""Words that follow each other through the banks."""
IN_TWO_BANKS = Lines(pitch=4, plane=40, rows=5, channels=4, words=1, tiles=64, again=1)
"""Those of four channels are in few banks, and so are those of the next row."""
IN_ONE_BANK = Lines(pitch=16, plane=16, rows=8, channels=8, words=1, tiles=64, again=16)
NOTHING = Stream(accesses=0, words=1, first=0, lines=IN_ROW)


def addresses(read: Lines) -> list[int]:
    found: list[int] = []
    for again in count():
        for tile in range(read.tiles):
            for row in range(read.rows):
                for channel in range(tile * read.channels, (tile + 1) * read.channels):
                    first = read.again * again + read.pitch * row + read.plane * channel
                    found += range(first, first + read.words)
        if len(found) >= WORDS:
            return found[:WORDS]
    raise AssertionError


def played(read: Lines, hwcs: int, banks: int, weights: float, moved: float) -> float:
    """The mean wait of a word of I of ``hwcs`` HWCs, which read one in each cycle in which none waits.

    Besides they read words of W, ``weights`` a cycle, and the DMA moves two at a time, ``moved`` a cycle, before all
    others: W goes through the banks in a row, the DMA to any two.
    """
    rng, words = Random(f"{read} {hwcs} {banks} {weights} {moved}"), addresses(read)
    done, waiting, last = [0] * hwcs, [False] * hwcs, [0] * banks
    at = [rng.randrange(banks) for _ in range(hwcs)]
    for cycle in range(WORDS):
        dma = 2 * rng.randrange(banks // 2)
        taken = {dma, dma + 1} if rng.random() < moved / 2 else set()
        wants: dict[int, list[int]] = {}
        for hwc in range(hwcs):
            if not waiting[hwc] and rng.random() < weights:
                waiting[hwc], at[hwc] = True, at[hwc] + 1
            if cycle >= 10 * hwc:
                wants.setdefault(words[done[hwc]] % banks, []).append(2 * hwc)
            if waiting[hwc]:
                wants.setdefault(at[hwc] % banks, []).append(2 * hwc + 1)
        for bank, masters in wants.items():
            if bank not in taken:
                last[bank] = min(masters, key=lambda one: (one <= last[bank], one))
                if last[bank] % 2:
                    waiting[last[bank] // 2] = False
                else:
                    done[last[bank] // 2] += 1
    return sum((WORDS - 10 * hwc) / number - 1 for hwc, number in enumerate(done)) / hwcs


def streams(read: Lines, weights: float, hwc: int) -> list[Stream]:
    """An HWC that reads I all the time, and W, which begins at any bank."""
    in_row = Lines(pitch=0, plane=0, rows=1, channels=1, words=1, tiles=1, again=1)
    return [Stream(WORDS, 1, 0, read), Stream(round(WORDS * weights), 1, 5 + 7 * hwc, in_row), NOTHING]


@pytest.mark.parametrize("banks", [32, 64])
@pytest.mark.parametrize("read", [IN_ROW, IN_TWO_BANKS])
@pytest.mark.parametrize(("weights", "moved"), [(0.4, 0.5), (0.2, 0.0), (0.0, 0.8)])
def test_hwcs_that_read_alike(read: Lines, banks: int, weights: float, moved: float) -> None:
    waits = waits_at_banks([streams(read, weights, hwc) for hwc in range(4)], WORDS, banks, moved, 2)
    found = sum(one.I for one in waits) / 4 / PARTS
    assert found == pytest.approx(played(read, 4, banks, weights, moved), rel=0.1, abs=0.03)


@pytest.mark.parametrize("hwcs", [1, 2, 3])
def test_words_in_one_bank_are_read_one_after_the_other(hwcs: int) -> None:
    stream = Stream(WORDS, 1, 0, IN_ONE_BANK)
    waits = waits_at_banks([[stream, NOTHING, NOTHING]] * hwcs, WORDS, 16, 0.0, 2)
    assert [one.I / PARTS for one in waits] == pytest.approx([hwcs - 1] * hwcs, abs=0.05)
    apart = [[Stream(WORDS, 1, hwc, IN_ONE_BANK), NOTHING, NOTHING] for hwc in range(hwcs)]
    assert all(one.I == 0 for one in waits_at_banks(apart, WORDS, 16, 0.0, 2))


def test_who_does_not_ask_waits_for_nothing() -> None:
    led = [NOTHING, Stream(WORDS, 1, 0, IN_ONE_BANK), NOTHING]
    leader, follower = waits_at_banks([[Stream(WORDS, 1, 0, IN_ONE_BANK), NOTHING, NOTHING], led], WORDS, 16, 0.0, 2)
    assert (follower.I, follower.O, leader.W, leader.O) == (0, 0, 0, 0)
    assert leader.I > 0.9 * PARTS
    assert follower.W > 0.9 * PARTS


def test_a_wide_port_and_narrow_ones_take_turns() -> None:
    wide, narrow = Stream(WORDS, 2, 0, IN_ONE_BANK), Stream(WORDS, 1, 0, IN_ONE_BANK)
    both = waits_at_banks([[narrow, wide, NOTHING]], WORDS, 16, 0.0, 2)[0]
    assert pytest.approx((1, 1), abs=0.05) == (both.I / PARTS, both.W / PARTS)
    seldom = Stream(WORDS // 10, 1, 0, IN_ONE_BANK)
    waits = waits_at_banks([[seldom, wide, NOTHING]], WORDS, 16, 0.0, 2)[0]
    assert pytest.approx(1, abs=0.1) == waits.I / PARTS
    assert pytest.approx(0.1, abs=0.03) == waits.W / PARTS


def test_the_dma_goes_first() -> None:
    in_row = Stream(WORDS, 1, 8, Lines(pitch=0, plane=0, rows=1, channels=1, words=1, tiles=1, again=1))
    assert waits_at_banks([[in_row, NOTHING, NOTHING]], WORDS, 16, 0.0, 2)[0].I == 0
    one_bank = Stream(WORDS, 1, 0, IN_ONE_BANK)
    wait = waits_at_banks([[one_bank, NOTHING, NOTHING]], WORDS, 16, 1.6, 2)[0].I / PARTS
    assert wait == pytest.approx(1 / (1 - 1.6 / 16) - 1, abs=0.03)
