"""The estimate of waits at banks: its arbiter against the hardware's, and where it is known by hand."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from hwgen.arch.cluster import TcdmParameters
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from hwgen.model.cluster.bank_waits import BY_CHANCE, BankContest, Lines, Moved, Stream, Waits
from tests.gateware.simulate import simulate

WORDS = 2000
IN_ROW = Lines(pitch=0, plane=0, rows=1, channels=1, words=1, tiles=1, again=1)
"""Words that follow each other through the banks."""
IN_ONE_BANK = Lines(pitch=16, plane=16, rows=8, channels=8, words=1, tiles=64, again=16)
NOTHING = Stream(accesses=0, words=1, first=0, lines=IN_ROW)
RESTS = Moved(np.full((1, 1), -1), np.zeros(1, np.bool_), 0)


def moved(words: Sequence[Sequence[int]], single: bool = False) -> Moved:
    return Moved(np.array(words), np.full(len(words), single), len(words))


def waits(hwcs: Sequence[Sequence[Stream]], banks: int, dma: Moved = RESTS, rate: float = 0.0) -> Waits:
    """Those of HWCs that ask all the time, while the DMA moves ``rate`` lines a cycle."""
    return BankContest(hwcs, [dma, RESTS], banks).waits(WORDS, (rate, 0.0))


# --- against the hardware ---


def words_of(stream: Stream) -> list[int]:
    """The first word of each access, from the first access on."""
    lines, found = stream.lines, list[int]()
    again = 0
    while len(found) < WORDS:
        for tile in range(lines.tiles):
            for row in range(lines.rows):
                for channel in range(tile * lines.channels, (tile + 1) * lines.channels):
                    first = again + lines.pitch * row + lines.plane * channel
                    found += [first + word for word in range(lines.words)]
        again += lines.again
    begin = stream.first // stream.words * stream.words
    return [begin + stream.words * one for one in found]


def measured(
    hwcs: Sequence[Sequence[Stream]], channels: Sequence[Moved], banks: int, cycles: int, rates: Sequence[float]
) -> Waits:
    """The same contest at the banks of the gateware: masters in Python ask, `TcdmBanks` grants."""
    streams = [one for each in hwcs for one in each]
    together = channels[0].words.shape[1]
    first_of_dma, masters = len(streams), len(streams) + len(channels) * together
    widths = tuple([one.words for one in streams] + [1] * (len(channels) * together))
    dut = TcdmBanks(TcdmParameters(masters, banks, 64 * banks, widths, frozenset(range(first_of_dma, masters))))
    places = [words_of(one) for one in streams]
    done, waited = [0] * len(streams), [0] * len(streams)
    gone = [[0] * together for _ in channels]
    given, due = [0] * len(channels), [0.0] * len(channels)
    late, asked_banks = np.zeros((len(channels), 2)), np.zeros((len(channels), 2))

    def may_come(number: int) -> float:
        """I and W are read a tile ahead, O is written a tile later; HWCs begin ten cycles after each other."""
        one, (turn, operand) = streams[number], divmod(number, 3)
        tile, place = divmod(done[number], one.together)
        tile = tile + 1 if operand == 2 else max(0, tile - 1)
        return 10 * turn + tile * one.together / one.accesses * cycles + place

    def asks(cycle: int, free: list[float]) -> dict[int, int]:
        """The bank of each master that asks."""
        found = {}
        for number, one in enumerate(streams):
            if done[number] < one.accesses and cycle >= max(free[number], may_come(number)):
                found[number] = places[number][done[number]] % banks
        for channel, one in enumerate(channels):
            due[channel] += rates[channel]
            if due[channel] >= 1 and given[channel] - min(gone[channel]) < 2:
                due[channel] -= 1
                line = one.words[given[channel] % len(one.words)]
                asked_banks[channel, int(one.single[0])] += len({word % banks for word in line if word >= 0})
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
        free = [0.0] * len(streams)
        for cycle in range(cycles):
            wanted = asks(cycle, free)
            for number, bank in wanted.items():
                ctx.set(dut.ports.add[number], 4 * bank)
            ctx.set(dut.ports.req, sum(1 << number for number in wanted))
            ctx.set(dut.ports.wen, (1 << masters) - 1)
            grants = ctx.get(dut.ports.gnt)
            for channel, one in enumerate(channels):
                mine = range(first_of_dma + channel * together, first_of_dma + (channel + 1) * together)
                wants = {wanted[number] for number in mine if number in wanted}
                has = {wanted[number] for number in mine if number in wanted and grants >> number & 1}
                late[channel, int(one.single[0])] += len(wants - has)
            for number in wanted:
                granted = grants >> number & 1
                if number >= first_of_dma:
                    channel, place = divmod(number - first_of_dma, together)
                    gone[channel][place] += granted
                elif granted:
                    done[number] += 1
                    free[number] = cycle + 1
                else:
                    waited[number] += 1
            await ctx.tick()

    simulate(dut, bench)
    per_access = [
        (count if count > BY_CHANCE else 0) / max(1, number) for count, number in zip(waited, done, strict=True)
    ]
    per_line = late / np.maximum(1, asked_banks)
    return Waits(np.array(per_access).reshape(-1, 3), per_line[:, 0], per_line[:, 1])


def random_stream(rng: Random, words: int) -> Stream:
    lines = Lines(
        pitch=rng.randrange(40), plane=rng.randrange(90), rows=rng.randint(1, 4), channels=rng.randint(1, 4),
        words=rng.randint(1, 6), tiles=rng.randint(1, 3), again=rng.randint(1, 40),
    )  # fmt: skip
    return Stream(rng.choice((0, 60, 150, 290)), words, rng.randrange(64), lines)


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
    found = BankContest(hwcs, channels, banks).waits(300, rates)
    wanted = measured(hwcs, channels, banks, 300, rates)
    assert found.accesses.sum() > 0
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other, abs=1e-9)


# --- by hand ---


@pytest.mark.parametrize("hwcs", [1, 2, 3])
def test_words_in_one_bank_are_read_one_after_the_other(hwcs: int) -> None:
    stream = Stream(WORDS, 1, 0, IN_ONE_BANK)
    found = waits([[stream, NOTHING, NOTHING]] * hwcs, 16)
    assert found.accesses[:, 0] == pytest.approx([hwcs - 1] * hwcs, abs=0.05)
    apart = [[Stream(WORDS, 1, hwc, IN_ONE_BANK), NOTHING, NOTHING] for hwc in range(hwcs)]
    assert not waits(apart, 16).accesses.any()


def test_who_does_not_ask_waits_for_nothing() -> None:
    led = [NOTHING, Stream(WORDS, 1, 0, IN_ONE_BANK), NOTHING]
    leader, follower = waits([[Stream(WORDS, 1, 0, IN_ONE_BANK), NOTHING, NOTHING], led], 16).accesses
    assert (follower[0], follower[2], leader[1], leader[2]) == (0, 0, 0, 0)
    assert leader[0] > 0.9
    assert follower[1] > 0.9


def test_a_wide_port_and_narrow_ones_take_turns() -> None:
    wide, narrow = Stream(WORDS, 2, 0, IN_ONE_BANK), Stream(WORDS, 1, 0, IN_ONE_BANK)
    both = waits([[narrow, wide, NOTHING]], 16).accesses[0]
    assert pytest.approx((1, 1), abs=0.05) == tuple(both[:2])
    seldom = Stream(WORDS // 10, 1, 0, IN_ONE_BANK)
    found = waits([[seldom, wide, NOTHING]], 16).accesses[0]
    assert pytest.approx(1, abs=0.1) == found[0]
    assert pytest.approx(0.1, abs=0.03) == found[1]


def test_the_dma_and_who_waited_for_it_take_turns() -> None:
    """Of a bank that both ask for all the time each gets half; who asks seldom costs the DMA a cycle each time."""
    one_bank, line = Stream(WORDS, 1, 0, IN_ONE_BANK), moved([[0]])
    both = waits([[one_bank, NOTHING, NOTHING]], 16, line, 1.0)
    assert (both.accesses[0, 0], both.words[0]) == pytest.approx((1, 1), abs=0.05)
    seldom = waits([[Stream(WORDS // 10, 1, 0, IN_ONE_BANK), NOTHING, NOTHING]], 16, line, 1.0)
    assert (seldom.accesses[0, 0], seldom.words[0]) == pytest.approx((1, 0.1), abs=0.05)
    apart = waits([[one_bank, NOTHING, NOTHING]], 16, moved([[1], [2], [3]]), 1.0)
    assert not apart.accesses.any()
    assert not apart.words.any()


def test_two_words_of_a_line_in_one_bank_do_not_wait_for_the_hwcs() -> None:
    """They wait for each other, which is left to the model of the DMA."""
    found = waits([[Stream(WORDS, 1, 8, IN_ONE_BANK), NOTHING, NOTHING]], 16, moved([[0, 0]], single=True), 0.5)
    assert not found.single.any()
    contested = waits([[Stream(WORDS // 5, 1, 0, IN_ONE_BANK), NOTHING, NOTHING]], 16, moved([[0, 0]], True), 0.5)
    assert contested.single[0] == pytest.approx(0.4 / 0.8, abs=0.1)  # a fifth of the cycles; two of them are a line
    assert not contested.words.any()
