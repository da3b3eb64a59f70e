"""The estimate of waits at banks: its arbiter against the hardware's, and where it is known by hand."""

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Any

import numpy as np
import pytest

from hwgen.arch.cluster import TcdmParameters
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from hwgen.model.cluster.bank_waits import BETWEEN_STARTS, BY_CHANCE, BankContest, Moved, Stream, Waits
from tests.gateware.simulate import simulate

WORDS = 2000
NOTHING = Stream(1, np.zeros(0, np.int64), np.zeros(0, np.int64))


def in_one_bank(accesses: int = WORDS, words: int = 1, first: int = 0) -> Stream:
    """A port that asks for words 16 apart, at the same distances in time: all the time if there are `WORDS`."""
    number = np.arange(accesses)
    return Stream(words, number * (WORDS // accesses) * (accesses < WORDS), first + 16 * number)


RESTS = Moved(np.full((1, 1), -1), np.zeros(1, np.bool_), 0)


def moved(words: Sequence[Sequence[int]], single: bool = False) -> Moved:
    return Moved(np.array(words), np.full(len(words), single), len(words))


def waits(hwcs: Sequence[Sequence[Stream]], banks: int, dma: Moved = RESTS, rate: float = 0.0) -> Waits:
    """Those of HWCs that ask all the time, while the DMA moves ``rate`` lines a cycle."""
    return BankContest([dma, RESTS], banks).waits(hwcs, (rate, 0.0), (inf, inf), WORDS)


# --- against the hardware ---


def measured(
    hwcs: Sequence[Sequence[Stream]],
    channels: Sequence[Moved],
    banks: int,
    cycles: int,
    rates: Sequence[float],
    ends: Sequence[float],
) -> Waits:
    """The same contest at the banks of the gateware: masters in Python ask, `TcdmBanks` grants."""
    streams = [one for each in hwcs for one in each]
    together = channels[0].words.shape[1]
    first_of_dma, masters = len(streams), len(streams) + len(channels) * together
    widths = tuple([one.words for one in streams] + [1] * (len(channels) * together))
    dma = frozenset(range(first_of_dma, masters))
    dut = TcdmBanks(TcdmParameters(masters, banks, 64 * banks, widths, dma, steady_words=together))
    done = [0] * len(streams)
    each = [[0] * (1 + len(one.times)) for one in streams]
    gone = [[0] * together for _ in channels]
    given, due = [0] * len(channels), [0.0] * len(channels)
    late, lines = np.zeros((len(channels), together, 2)), np.zeros((len(channels), 1, 2))

    def asks(cycle: int, free: list[int]) -> dict[int, int]:
        """The bank of each master that asks."""
        found = {}
        for number, one in enumerate(streams):
            at = done[number]
            if at < len(one.times) and cycle >= max(free[number], one.times[at] + BETWEEN_STARTS * (number // 3)):
                found[number] = int(one.places[at] // one.words * one.words % banks)
        for channel, one in enumerate(channels):
            due[channel] += rates[channel] * (cycle < ends[channel])
            if due[channel] >= 1 and given[channel] - min(gone[channel]) < 2:
                due[channel] -= 1
                lines[channel, 0, int(one.single[0])] += 1
                given[channel] += 1
            for place in range(together):
                while gone[channel][place] < given[channel]:
                    word = one.words[gone[channel][place] % len(one.words), place]
                    if word >= 0:
                        found[first_of_dma + channel * together + place] = int(word) % banks
                        break
                    gone[channel][place] += 1
        return found

    async def bench(ctx: Any) -> None:
        free = [0] * len(streams)
        for cycle in range(cycles):
            wanted = asks(cycle, free)
            for number, bank in wanted.items():
                ctx.set(dut.ports.add[number], 4 * bank)
            ctx.set(dut.ports.req, sum(1 << number for number in wanted))
            ctx.set(dut.ports.wen, (1 << masters) - 1)
            grants = ctx.get(dut.ports.gnt)
            for channel, one in enumerate(channels):
                first = first_of_dma + channel * together
                mine = [number for number in range(first, first + together) if number in wanted]
                has = {wanted[number] for number in mine if grants >> number & 1}
                for place, number in enumerate(mine):
                    earlier = {wanted[other] for other in mine[:place]}
                    late[channel, number - first, int(one.single[0])] += not {wanted[number]} & (has | earlier)
            for number in wanted:
                granted = grants >> number & 1
                if number >= first_of_dma:
                    channel, place = divmod(number - first_of_dma, together)
                    gone[channel][place] += granted
                elif granted:
                    done[number] += 1
                    free[number] = cycle + 1
                else:
                    each[number][done[number]] += 1
            await ctx.tick()

    simulate(dut, bench)
    known = [np.array(one[:number]) * (sum(one) > BY_CHANCE) for one, number in zip(each, done, strict=True)]
    per_access = [
        (sum(one) if sum(one) > BY_CHANCE else 0) / max(1, number) for one, number in zip(each, done, strict=True)
    ]
    per_line = (late / np.maximum(1, lines)).max(axis=1)
    by_hwc = [known[first : first + 3] for first in range(0, len(known), 3)]
    return Waits(np.array(per_access).reshape(-1, 3), by_hwc, per_line[:, 0], per_line[:, 1])


def random_stream(rng: Random, words: int) -> Stream:
    """Bursts of words side by side or apart, some of which may come before the ones before them are done."""
    times, places, at = list[int](), list[int](), 0
    for _ in range(rng.choice((0, 4, 12, 25))):
        at, place, step = at + rng.randrange(30), rng.randrange(500), rng.choice((1, 1, 2, 4)) * words
        for access in range(rng.randint(1, 20)):
            times.append(at + access)
            places.append(place + step * access)
    return Stream(words, np.array(times, np.int64), np.array(places, np.int64))


def random_channel(rng: Random, together: int, banks: int) -> Moved:
    lines = [[rng.choice((-1, rng.randrange(banks))) for _ in range(together)] for _ in range(30)]
    if rng.random() < 0.5:  # as weights are: to one bank for a while
        lines = [[line // 9 % banks] * together for line in range(60)]
    return moved([[0] * together, *lines], rng.random() < 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_the_arbiter_is_that_of_the_hardware(seed: int) -> None:
    rng = Random(seed)
    banks, together = rng.choice((4, 8)), rng.choice((1, 2))
    widths = rng.choice(((1, 1, 1), (1, 2, 1), (1, 2, 2), (2, 4, 1)))
    hwcs = [[random_stream(rng, words) for words in widths] for _ in range(rng.choice((1, 2)))]
    channels = [random_channel(rng, together, banks) for _ in range(2)]
    rates = [rng.choice((0.0, 0.375, 1.0)) for _ in channels]
    ends = [rng.choice((50.5, 120.0, inf)) for _ in channels]
    found = BankContest(channels, banks).waits(hwcs, rates, ends, 300)
    wanted = measured(hwcs, channels, banks, 300, rates, ends)
    assert found.accesses.sum() > 0
    for name in ("accesses", "words", "single"):
        assert getattr(found, name) == pytest.approx(getattr(wanted, name), abs=1e-9)
    pairs = [
        pair for one, other in zip(found.each, wanted.each, strict=True) for pair in zip(one, other, strict=True)
    ]
    assert all(one.tolist() == other.tolist() for one, other in pairs)


# --- by hand ---


@pytest.mark.parametrize("hwcs", [1, 2, 3])
def test_words_in_one_bank_are_read_one_after_the_other(hwcs: int) -> None:
    stream = in_one_bank()
    found = waits([[stream, NOTHING, NOTHING]] * hwcs, 16)
    assert found.accesses[:, 0] == pytest.approx([hwcs - 1] * hwcs, abs=0.05)
    apart = [[in_one_bank(first=hwc), NOTHING, NOTHING] for hwc in range(hwcs)]
    assert not waits(apart, 16).accesses.any()


def test_who_does_not_ask_waits_for_nothing() -> None:
    led = [NOTHING, in_one_bank(), NOTHING]
    leader, follower = waits([[in_one_bank(), NOTHING, NOTHING], led], 16).accesses
    assert (follower[0], follower[2], leader[1], leader[2]) == (0, 0, 0, 0)
    assert leader[0] > 0.9
    assert follower[1] > 0.9


def test_others_take_banks_too() -> None:
    one_bank = in_one_bank()
    contest = BankContest([RESTS, RESTS], 16)
    found = contest.waits([[one_bank, NOTHING, NOTHING]], (0, 0), (inf, inf), WORDS, [one_bank, in_one_bank(first=1)])
    assert found.accesses.tolist() == [[pytest.approx(1, abs=0.05), 0, 0]]
    assert [len(each) for each in found.each] == [3]


def test_a_wide_port_and_narrow_ones_take_turns() -> None:
    wide, narrow = in_one_bank(words=2), in_one_bank()
    both = waits([[narrow, wide, NOTHING]], 16).accesses[0]
    assert pytest.approx((1, 1), abs=0.05) == tuple(both[:2])
    seldom = in_one_bank(WORDS // 10)
    found = waits([[seldom, wide, NOTHING]], 16).accesses[0]
    assert pytest.approx(1, abs=0.1) == found[0]
    assert pytest.approx(0.1, abs=0.03) == found[1]


def test_the_dma_and_who_waited_for_it_take_turns() -> None:
    """Of a bank that both ask for all the time each gets half; who asks seldom costs the DMA a cycle each time."""
    one_bank, line = in_one_bank(), moved([[0]])
    both = waits([[one_bank, NOTHING, NOTHING]], 16, line, 1.0)
    assert (both.accesses[0, 0], both.words[0]) == pytest.approx((1, 1), abs=0.05)
    seldom = waits([[in_one_bank(WORDS // 10), NOTHING, NOTHING]], 16, line, 1.0)
    assert (seldom.accesses[0, 0], seldom.words[0]) == pytest.approx((1, 0.1), abs=0.05)
    apart = waits([[one_bank, NOTHING, NOTHING]], 16, moved([[1], [2], [3]]), 1.0)
    assert not apart.accesses.any()
    assert not apart.words.any()


def test_two_words_of_a_line_in_one_bank_do_not_wait_for_the_hwcs() -> None:
    """They wait for each other, which is left to the model of the DMA."""
    found = waits([[in_one_bank(first=8), NOTHING, NOTHING]], 16, moved([[0, 0]], single=True), 0.5)
    assert not found.single.any()
    contested = waits([[in_one_bank(WORDS // 5), NOTHING, NOTHING]], 16, moved([[0, 0]], True), 0.5)
    assert contested.single[0] == pytest.approx(0.4 / 0.8, abs=0.1)  # a fifth of the cycles; two of them are a line
    assert not contested.words.any()
