"""The estimate of waits at banks: against a memory with all its ports that is played here, and where it is exact."""

from itertools import count
from random import Random

import pytest

from hwgen.model.cluster.bank_waits import InputWords, Port, cycles_at_banks

WORDS = 6000
IN_ROW = InputWords(pitch=4, plane=1, rows=1, channels=4, words=1, tiles=64)
"""Words that follow each other through the banks."""
IN_TWO_BANKS = InputWords(pitch=4, plane=40, rows=5, channels=4, words=1, tiles=64)
"""Those of four channels are in few banks, and so are those of the next row."""


def addresses(read: InputWords) -> list[int]:
    found: list[int] = []
    for again in count():
        for tile in range(read.tiles):
            for row in range(read.rows):
                for channel in range(tile * read.channels, (tile + 1) * read.channels):
                    found += [again + read.pitch * row + read.plane * channel + word for word in range(read.words)]
        if len(found) >= WORDS:
            return found[:WORDS]
    raise AssertionError


def played(read: InputWords, hwcs: int, banks: int, weights: float, moved: float) -> int:
    """Cycles until ``hwcs`` HWCs have read all words of I, one in each cycle in which none waits.

    Besides they read words of W, ``weights`` a cycle, and the DMA moves two at a time, ``moved`` a cycle, before all
    others. Both go through the banks in a row.
    """
    rng, words = Random(f"{read} {hwcs} {banks} {weights} {moved}"), addresses(read)
    done, waiting, last = [0] * hwcs, [False] * hwcs, [0] * banks
    at, dma = [rng.randrange(banks) for _ in range(hwcs)], 0
    for cycle in count(1):
        taken = {dma % banks, (dma + 1) % banks} if rng.random() < moved / 2 else set()
        dma += 2 * bool(taken)
        wants: dict[int, list[int]] = {}
        for hwc in range(hwcs):
            if not waiting[hwc] and rng.random() < weights:
                waiting[hwc], at[hwc] = True, at[hwc] + 1
            if done[hwc] < WORDS:
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
        if min(done) == WORDS:
            return cycle
    raise AssertionError


@pytest.mark.parametrize("banks", [32, 64])
@pytest.mark.parametrize("read", [IN_ROW, IN_TWO_BANKS])
@pytest.mark.parametrize(("weights", "moved"), [(0.4, 0.5), (0.2, 0.0), (0.0, 0.8)])
def test_hwcs_that_read_alike(read: InputWords, banks: int, weights: float, moved: float) -> None:
    ports = [Port(WORDS, 1, 4), Port(round(WORDS * weights), 1, 4)]
    found = cycles_at_banks(ports, WORDS, banks, moved, read, 4)
    assert found == pytest.approx(played(read, 4, banks, weights, moved), rel=0.05)
    assert found > WORDS


def test_words_in_one_bank_are_read_one_after_the_other() -> None:
    in_one = InputWords(pitch=16, plane=16, rows=8, channels=8, words=1, tiles=64)
    found = cycles_at_banks([Port(WORDS, 1, 3)], WORDS, 16, 0.0, in_one, 3)
    assert found == pytest.approx(3 * WORDS, rel=0.02)
    assert cycles_at_banks([Port(WORDS, 1, 3)], WORDS, 16, 0.0, in_one, 1) == WORDS
    assert cycles_at_banks([Port(WORDS // 4, 1, 3)], WORDS, 16, 0.0, in_one, 3) == WORDS


def test_a_port_with_room_makes_up_for_its_waits() -> None:
    ports = [Port(700, 1, 4), Port(400, 1, 4), Port(10, 1, 4)]
    assert cycles_at_banks(ports, 1000, 32, 0.5, IN_ROW, 1) == 1000


def test_a_wide_port_waits_for_the_dma_alone_and_others_for_it() -> None:
    wide = [Port(1000, 1, 2), Port(1000, 4, 2)]
    assert cycles_at_banks(wide, 1000, 32, 0.0, IN_ROW, 1) == 1000 * (1 + 2 * 4 / 32)
    assert cycles_at_banks(wide[::-1], 1000, 32, 0.0, IN_ROW, 1) == 1000 * (1 + 2 * 4 / 32)
    assert cycles_at_banks(wide[1:], 1000, 32, 0.0, IN_ROW, 1) == 1000
    assert cycles_at_banks(wide[1:], 1000, 32, 0.8, IN_ROW, 1) == 1000 * (1 + 4 * 0.8 / 32)
