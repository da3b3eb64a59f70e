"""The banked memory under random masters: data, order of answers, fairness, and what is counted."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from hwgen.arch.cluster import TcdmParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from tests.gateware.simulate import simulate

SIZE = 256


@dataclass
class Master:
    """Holds a request until it is granted, and knows what has to be answered in the next cycle.

    With a `stride` (words) it reads through the memory; where one is `beside` it, at most two accesses ahead of that.
    """

    rng: Random
    rate: float
    banks: tuple[int, ...]
    banks_in_all: int
    words: int = 1
    steady: bool = False
    stride: int = 0
    beside: "Master | None" = None
    request: tuple[int, int, int, int] | None = None
    due: tuple[bool, int | None] | None = None
    waited: int = 0
    longest: int = 0
    conflicts: int = 0
    granted: list[int] = field(default_factory=list)

    def ask(self) -> None:
        if self.beside and len(self.granted) > len(self.beside.granted) + 1:
            return
        if self.request is None and self.stride:
            word = self.banks[0] + self.stride * len(self.granted)
            self.request = (4 * word % SIZE, 1, (1 << 4 * self.words) - 1, 0)
        elif self.request is None and self.rng.random() < self.rate:
            word = self.rng.randrange(SIZE // 4 // self.banks_in_all) * self.banks_in_all + self.rng.choice(
                self.banks
            )
            address = 4 * word if self.rng.random() < 0.97 else SIZE + 4 * self.rng.randrange(1 << 20)
            address -= address % (4 * self.words)
            enable, value = (self.rng.getrandbits(bits * self.words) for bits in (4, 32))
            self.request = (address, self.rng.getrandbits(1), enable, value)

    def places(self) -> list[int]:
        """The addresses of the words that are asked for, as far as they are inside."""
        address = self.request[0] if self.request else SIZE
        return [] if address >= SIZE else [address + 4 * i for i in range(self.words)]


def run(masters: list[Master], banks: int, cycles: int, steady_words: int = 1) -> None:
    """Drive the masters and check every cycle against a memory in Python."""
    words = tuple(master.words for master in masters)
    steady = frozenset(i for i, master in enumerate(masters) if master.steady)
    dut = TcdmBanks(TcdmParameters(len(masters), banks, SIZE, words, steady, steady_words))
    memory = dict.fromkeys(range(0, SIZE, 4), 0)

    def grant(ctx: Any, number: int, master: Master, busy: set[int]) -> None:
        assert master.request is not None
        address, reads, enable, value = master.request
        places = master.places()
        if not ctx.get(dut.ports.gnt) >> number & 1:
            assert address < SIZE, "what lies outside waits for nobody"
            master.waited += 1
            master.conflicts += 1
            master.longest = max(master.longest, master.waited)
            return
        master.waited, master.request = 0, None
        if address >= SIZE:
            master.due = (True, None)
            return
        taken = {place // 4 % banks for place in places}
        assert not taken & busy, "one access to a bank in one cycle"
        busy |= taken
        master.granted.append(ctx.get(dut.ports.add[number]))
        master.due = (False, sum(memory[place] << 32 * i for i, place in enumerate(places)) if reads else None)
        if not reads:
            for i, place in enumerate(places):
                mask = sum(0xFF << 8 * b for b in range(4) if enable >> 4 * i + b & 1)
                memory[place] = memory[place] & ~mask | value >> 32 * i & mask

    async def bench(ctx: Any) -> None:
        for _ in range(cycles):
            busy: set[int] = set()
            requests = reading = 0
            for number, master in enumerate(masters):
                valid = ctx.get(dut.ports.r_valid) >> number & 1
                assert valid == (master.due is not None), "one answer a cycle after each grant"
                if master.due is not None:
                    failed, value = master.due
                    assert ctx.get(dut.ports.r_opc) >> number & 1 == failed
                    if value is not None:
                        assert ctx.get(dut.ports.r_rdata[number]) == value
                master.due = None
                master.ask()
                address, reads, enable, value = master.request or (master.rng.getrandbits(32), 1, 0, 0)
                ctx.set(dut.ports.add[number], address)
                ctx.set(dut.ports.be[number], enable)
                ctx.set(dut.ports.wdata[number], value)
                requests |= (master.request is not None) << number
                reading |= bool(reads) << number
            ctx.set(dut.ports.req, requests)
            ctx.set(dut.ports.wen, reading)
            wanted = {place // 4 % banks for master in masters for place in master.places()}
            for number, master in enumerate(masters):
                if master.request is not None:
                    grant(ctx, number, master, busy)
            if max(words) == 1:
                assert busy == wanted, "no bank rests while it is wanted"
            assert bool(busy) == bool(wanted), "somebody is granted"
            await ctx.tick()
        assert [ctx.get(dut.conflicts[number]) for number in range(len(masters))] == [m.conflicts for m in masters]
        ctx.set(dut.clear, 1)
        await ctx.tick()
        assert ctx.get(dut.conflicts[0]) == 0

    simulate(dut, bench)


@pytest.mark.parametrize(("count", "banks"), [(1, 2), (3, 4), (7, 4), (5, 16)])
def test_random_masters_against_a_memory_in_python(count: int, banks: int) -> None:
    rng = Random(f"{count} {banks}")
    rates = [rng.choice((0.2, 0.6, 1.0)) for _ in range(count)]
    masters = [Master(Random(rng.random()), rate, tuple(range(banks)), banks) for rate in rates]
    run(masters, banks, 400)
    assert all(master.granted for master in masters)
    assert all(master.longest <= (count - 1) for master in masters), "who waits is served after each other one once"


@pytest.mark.parametrize(
    ("words", "banks"), [((2, 2, 2), 4), ((4, 1, 1, 2, 1, 4), 8), ((16, 1, 4, 16, 1, 1), 16), ((4, 1), 4)]
)
@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.parametrize("steady", [0, 1])
def test_wide_accesses_take_adjacent_banks_in_one_grant(
    words: tuple[int, ...], banks: int, rate: float, steady: int
) -> None:
    masters = [
        Master(Random(i), rate, tuple(range(banks)), banks, number, i % 2 < steady) for i, number in enumerate(words)
    ]
    run(masters, banks, 400)
    assert min(len(master.granted) for master in masters) >= 400 // (4 * len(words)) * rate
    assert all(master.longest <= 4 * len(words) for master in masters), "wide and narrow ones take turns"


def test_where_a_wide_and_a_narrow_access_meet_the_narrow_one_waits() -> None:
    wide, narrow = (Master(Random(i), 0.3, (0,), 4, words) for i, words in enumerate((2, 1)))
    run([wide, narrow], 4, 1000)
    assert narrow.conflicts >= 50
    assert wide.conflicts <= narrow.conflicts // 2, "it waits only where it met one the time before"
    assert max(wide.longest, narrow.longest) == 1


def test_a_steady_access_goes_before_a_wide_one() -> None:
    wide, steady = (Master(Random(i), 0.1, (0,), 4, words, words == 1) for i, words in enumerate((2, 1)))
    run([wide, steady], 4, 2000)
    assert wide.conflicts >= 10
    assert steady.conflicts <= wide.conflicts // 2, "it waits only where the wide one waited a moment before"
    assert max(wide.longest, steady.longest) == 1


def test_a_steady_access_goes_before_others_of_its_width() -> None:
    others = [Master(Random(i), 0.8, tuple(range(8)), 8) for i in range(5)]
    steady = Master(Random(5), 1.0, (0,), 8, steady=True, stride=1)
    run([*others, steady], 8, 1000)
    assert len(steady.granted) >= 950, "it is not slowed down by others, as it comes to a bank after eight cycles"
    assert all(master.conflicts >= 100 and master.longest <= 6 for master in others)


def test_a_steady_access_to_the_same_bank_leaves_every_other_cycle_to_others() -> None:
    others = [Master(Random(i), 1.0, (1,), 4) for i in range(3)]
    steady = [Master(Random(i), 1.0, (1,), 4, steady=True) for i in range(2)]
    run([*others, *steady], 4, 300)
    assert [len(master.granted) for master in [*others, *steady]] == [50, 50, 50, 75, 75]
    assert [master.longest for master in [*others, *steady]] == [5, 5, 5, 3, 3]


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_two_words_a_cycle_pass_one_word_a_cycle(first: int) -> None:
    wide = Master(Random(0), 1.0, (0,), 8, 2, stride=2)
    steady = Master(Random(1), 1.0, (0,), 8, 1, steady=True, stride=1, granted=[0] * first)
    run([wide, steady], 8, 400)
    assert wide.conflicts + steady.conflicts <= 400 // 3, "it would be each second cycle where it follows"
    assert len(wide.granted) >= 300


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_two_words_a_cycle_meet_a_line_of_two_words_once(first: int, late: int) -> None:
    """The ports of a line go one after the other (late), from a bank that is ahead of the wide access (first)."""
    wide = Master(Random(0), 1.0, (0,), 8, 2, stride=2)
    line = [Master(Random(i), 1.0, (2 * first + i,), 8, 1, steady=True, stride=2) for i in (0, 1)]
    line[0].granted = [0] * late
    line[0].beside, line[1].beside = line[1], line[0]
    run([wide, *line], 8, 400, steady_words=2)
    assert sum(master.conflicts for master in [wide, *line]) <= 4, "each goes on at its own pace"


def test_masters_that_all_want_one_bank_are_served_in_turn() -> None:
    masters = [Master(Random(i), 1.0, (1,), 4) for i in range(5)]
    run(masters, 4, 300)
    served = [len(master.granted) for master in masters]
    assert max(served) - min(served) <= 20
    assert sum(served) >= 270
    assert all(master.longest <= 4 for master in masters)


def test_one_that_asks_rarely_does_not_starve_beside_greedy_ones() -> None:
    masters = [Master(Random(i), 0.05 if i == 2 else 1.0, (0,), 2) for i in range(4)]
    run(masters, 2, 400)
    assert masters[2].granted
    assert masters[2].longest <= 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"masters": 0}, "masters: expected at least 1, got 0"),
        ({"banks": 1}, "banks: expected a power of two from 2 on, got 1"),
        ({"banks": 12}, "banks: expected a power of two from 2 on, got 12"),
        ({"size": 100}, "size: expected a multiple of 16 bytes, at least two, got 100"),
        ({"size": 16}, "size: expected a multiple of 16 bytes, at least two, got 16"),
        ({"words": (1,)}, "words: expected 2 numbers, got 1"),
        ({"words": (1, 8)}, "ports: expected at most 128 bits with 4 banks, got 256"),
    ],
)
def test_what_cannot_be_built_is_refused(given: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        TcdmParameters(**{"masters": 2, "banks": 4, "size": 256, **given})
    assert str(caught.value) == message
