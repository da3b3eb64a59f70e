"""The master of a TCDM port and memories: every latency, with and without answers to writes, with stalls."""

import gc
from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from amaranth._unused import MustUse

from hwgen.arch.bus import WriteAnswers
from hwgen.arch.latency import ACCESSES_BESIDE, ACCESSES_IN_FLIGHT, WRITE_ANSWER_LIMIT
from hwgen.gateware.bus.tcdm import TcdmMaster, TcdmRegister
from tests.gateware.simulate import simulate


@dataclass(frozen=True)
class Access:
    """A request, and the cycles in which nothing is asked for before it."""

    address: int
    write: bool = False
    pause: int = 0


@dataclass
class Memory:
    """What answers, in order: a fixed number of cycles after a grant, or any number after that.

    Members
    -------
    latency : least cycles from grant to answer.
    answers_writes : all of them, or none but those that fail.
    stalls, delays : share of the cycles without grant, without answer.
    failing : addresses that are answered with an error.
    """

    latency: int = 1
    answers_writes: bool = True
    stalls: float = 0.0
    delays: float = 0.0
    failing: frozenset[int] = frozenset()


@dataclass
class Seen:
    """What happened: accesses in order, the data that came back, with their cycles."""

    granted: list[tuple[int, int, bool]] = field(default_factory=list)
    data: list[int] = field(default_factory=list)
    cycles: int = 0
    most: int = 0
    fault: int | None = None
    found: WriteAnswers = WriteAnswers.UNKNOWN


def run(
    accesses: list[Access],
    memory: Memory,
    *,
    seed: int = 0,
    limit: int = 4000,
    known: WriteAnswers = WriteAnswers.UNKNOWN,
    **given: Any,
) -> Seen:
    """Make the accesses and wait until the master is idle; protocol rules are checked in every cycle.

    ``known``: what the master is told of the memory; ``given``: its parameters.
    """
    dut = TcdmMaster(**{"writes": True, **given})
    rng, seen = Random(seed), Seen()
    writes = given.get("writes", True)

    async def bench(ctx: Any) -> None:
        waiting, answers = deque(accesses), deque[tuple[int, int, int, bool]]()
        pause = waiting[0].pause
        before = None
        if writes:
            ctx.set(dut.answers, known)
        for cycle in range(limit):
            offers = bool(waiting) and pause == 0
            pause = max(pause - 1, 0)
            ctx.set(dut.i_request.valid, offers)
            if offers:
                ctx.set(dut.i_request.payload.address, waiting[0].address)
                ctx.set(dut.i_request.payload.write, waiting[0].write)
                ctx.set(dut.i_request.payload.enable, 0xF)
                ctx.set(dut.i_request.payload.data, waiting[0].address ^ 0xFFFF)
            grants = rng.random() >= memory.stalls
            ctx.set(dut.port.gnt, grants)
            answers_now = bool(answers) and answers[0][0] <= cycle and rng.random() >= memory.delays
            ctx.set(dut.port.r_valid, answers_now)
            if answers_now:
                _, value, failed, _ = answers.popleft()
                ctx.set(dut.port.r_rdata, value)
                ctx.set(dut.port.r_opc, failed)
            # As they are before the next edge.
            request = (ctx.get(dut.port.add), ctx.get(dut.port.wen), ctx.get(dut.port.be), ctx.get(dut.port.wdata))
            asks = bool(ctx.get(dut.port.req))
            if before is not None:
                assert asks, "withdrawn"
                assert request == before, "changed"
            before = request if asks and not grants else None
            if ctx.get(dut.o_response.valid):
                seen.data.append(ctx.get(dut.o_response.data))
            if asks and grants:
                address, reads = request[0], bool(request[1])
                seen.granted.append((cycle, address, not reads))
                failed = address in memory.failing
                if reads or memory.answers_writes or failed:
                    answers.append((cycle + memory.latency, address if reads else 0xBAD, int(failed), reads))
            seen.most = max(seen.most, len(answers))
            if offers and ctx.get(dut.i_request.ready):
                waiting.popleft()
                pause = waiting[0].pause if waiting else 0
            if writes and (found := WriteAnswers(ctx.get(dut.finds))) is not WriteAnswers.UNKNOWN:
                seen.found = found
            if cycle > 2 and not offers and not waiting and ctx.get(dut.idle):
                seen.cycles = cycle
                break
            await ctx.tick()
            if writes and seen.found is not WriteAnswers.UNKNOWN:
                ctx.set(dut.answers, seen.found)
        assert not waiting, "the master does not take them all"
        assert seen.cycles, "the master is not idle"
        assert not any(reads for *_, reads in answers), "it is idle before reads are answered"
        if ctx.get(dut.fault):
            seen.fault = ctx.get(dut.fault_address)

    simulate(dut, bench)
    return seen


def truth(memory: Memory) -> WriteAnswers:
    return WriteAnswers.GIVEN if memory.answers_writes else WriteAnswers.NOT_GIVEN


def reads(number: int) -> list[Access]:
    return [Access(4 * i) for i in range(number)]


def mixed(seed: int, number: int = 60) -> list[Access]:
    rng = Random(seed)
    write, accesses = False, []
    for i in range(number):
        if rng.random() < 0.3:
            write = not write
        accesses.append(Access(4 * i, write, rng.choice((0, 0, 0, 1, 5))))
    return accesses


def words_per_cycle(seen: Seen) -> float:
    return (len(seen.granted) - 1) / (seen.granted[-1][0] - seen.granted[0][0])


@pytest.mark.parametrize("given", [{"writes": False}, {"writes": True}], ids=["reads", "reads and writes"])
@pytest.mark.parametrize("latency", [1, 2, 3, 4, 5])
def test_a_word_a_cycle_up_to_the_latency_that_is_asked_for(latency: int, given: dict[str, bool]) -> None:
    rate = words_per_cycle(run(reads(60), Memory(latency), **given))
    if latency <= ACCESSES_IN_FLIGHT:
        assert rate == 1.0
    else:
        assert 0.8 < rate < 1.0
    assert words_per_cycle(run(reads(60), Memory(latency), in_flight=latency, **given)) == 1.0


@pytest.mark.parametrize("answers", [True, False], ids=["answered", "unanswered"])
@pytest.mark.parametrize("latency", [1, 2, 3, 4])
def test_writes_go_a_word_a_cycle_too(latency: int, answers: bool) -> None:
    memory = Memory(latency, answers_writes=answers)
    for given in ({}, {"reads": False}):
        writes = [Access(4 * i, write=True) for i in range(60)]
        assert words_per_cycle(run(writes, memory, known=truth(memory), **given)) == 1.0


@pytest.mark.parametrize("answers", [True, False], ids=["answered", "unanswered"])
@pytest.mark.parametrize("seed", range(12))
def test_reads_get_their_own_data_whether_writes_are_answered_or_not(seed: int, answers: bool) -> None:
    rng = Random(seed)
    memory = Memory(rng.randint(1, 6), answers, rng.choice((0, 0.5)), rng.choice((0, 0.5)))
    accesses = mixed(seed)
    finds_out = seed % 3 != 2
    seen = run(accesses, memory, seed=seed, known=WriteAnswers.UNKNOWN if finds_out else truth(memory))
    assert [(address, write) for _, address, write in seen.granted] == [(a.address, a.write) for a in accesses]
    assert seen.data == [a.address for a in accesses if not a.write]
    assert seen.fault is None
    assert seen.most <= ACCESSES_IN_FLIGHT + ACCESSES_BESIDE
    if finds_out:
        assert seen.found is truth(memory)


def test_the_first_write_tells_and_costs_its_wait_once() -> None:
    accesses = [Access(0, write=True), *(Access(4 * i) for i in range(1, 9))]
    answered, unanswered = (run(accesses, Memory(answers_writes=given)) for given in (True, False))
    assert answered.cycles < 20
    assert WRITE_ANSWER_LIMIT <= unanswered.cycles < WRITE_ANSWER_LIMIT + 20
    assert run(accesses, Memory(answers_writes=False), known=WriteAnswers.NOT_GIVEN).cycles < 20


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("answers", [True, False], ids=["answered", "unanswered"])
def test_a_failing_access_leaves_its_address(answers: bool, known: bool) -> None:
    accesses = [Access(4 * i, write=i in (3, 4, 5)) for i in range(12)]
    for at in range(12):
        memory = Memory(2, answers, failing=frozenset({4 * at}))
        fault = run(accesses, memory, known=truth(memory) if known else WriteAnswers.UNKNOWN).fault
        if answers or at not in (3, 4, 5):
            assert fault == 4 * at
        else:  # what answers failing writes alone: that there is an error, is seen
            assert fault is not None


def test_an_answer_that_nothing_waits_for_is_an_error_where_writes_are_not_answered() -> None:
    accesses = [Access(4 * i, write=i % 4 < 2, pause=4) for i in range(12)]
    assert run(accesses, Memory(), known=WriteAnswers.NOT_GIVEN).fault is not None
    assert run(accesses, Memory(), known=WriteAnswers.GIVEN).fault is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"reads": False, "writes": False}, "reads, writes: expected one of them at least"),
        ({"in_flight": 0}, "in_flight: expected 1 or more, got 0"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A component that is refused is never used, which Amaranth would warn of when it is collected.
    monkeypatch.setattr(MustUse, "_MustUse__silence", True)
    with pytest.raises(ValueError, match=message):
        TcdmMaster(**given)
    gc.collect(1)  # it is young


def test_a_register_grants_at_once_and_answers_a_cycle_later() -> None:
    dut = TcdmRegister()

    async def bench(ctx: Any) -> None:
        seen: list[tuple[int, ...]] = []
        held = None
        for cycle in range(8):
            asks = cycle in (1, 2, 4)
            ctx.set(dut.outer.req, asks)
            ctx.set(dut.outer.add, 16 * cycle)
            ctx.set(dut.outer.wen, cycle != 2)
            ctx.set(dut.outer.wdata, 7 * cycle)
            # The block behind it: answers the address.
            ctx.set(dut.inner.r_valid, held is not None)
            ctx.set(dut.inner.r_rdata, held or 0)
            assert ctx.get(dut.outer.gnt) == 1
            held = ctx.get(dut.inner.add) if ctx.get(dut.inner.req) else None
            if ctx.get(dut.outer.r_valid):
                seen.append((cycle, ctx.get(dut.outer.r_rdata)))
            if held == 32:
                assert (ctx.get(dut.inner.wen), ctx.get(dut.inner.wdata)) == (0, 14)
            await ctx.tick()
        assert seen == [(3, 16), (4, 32), (6, 64)]

    simulate(dut, bench)
