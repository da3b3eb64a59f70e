"""Memories of every kind around an HWC: latencies of several cycles, with and without answers to writes."""

from dataclasses import replace

import pytest

from cosim.device.job import Outcome
from cosim.hwc.jobs import Job
from cosim.hwc.preparation import Run, prepare
from cosim.hwc.results import judge
from cosim.hwc.runner import Bench, run_jobs
from hwgen.arch.latency import ACCESSES_IN_FLIGHT, CAPTURE, WRITE_ANSWER_LIMIT
from hwgen.arch.registers.control import Status, error_of
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.cached import generated
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.hwc.cycles import predicted_cycles
from tests.cosim.benches import BUS
from tests.cosim.hwc.test_faults import RUN as ON_THE_BUS

LANES = Lanes(m=8, x=2)
HARDWARE = Hardware(
    name="memories",
    lanes=LANES,
    budget=1 << 16,
    buffers={"I": 4096, "W": 4608, "O": 4096},
    order=(Marker(("I", "W")), "c", "m", Marker(("O",)), "c", "k", "l", "y", "x"),
    second_settings=True,
)
"""`tests.cosim.hwc.test_second_settings` simulates it, too."""


def planned(name: str, *, outputs: int, channels: int, size: int, kernel: int = 1, at_a_time: int) -> Run:
    """A layer whose input and weights are one tile for ``at_a_time`` channels."""
    layer = Layer(
        name=name, input_channels=channels, output_channels=outputs, input_height=size, input_width=size,
        output_height=size, output_width=size, kernel=kernel, padding=kernel // 2,
    )  # fmt: skip
    steps = iter((at_a_time, 8, 1, 1, 1, 1, 2))  # for the loops of the order
    nest = tuple(item if isinstance(item, Marker) else Loop(item, next(steps)) for item in HARDWARE.order or ())
    return prepare(compile_layer(Schedule(layer=layer, nest=nest, lanes=LANES), HARDWARE))


INPUTS = planned("inputs", outputs=16, channels=64, size=8, at_a_time=64)
WEIGHTS = planned("weights", outputs=32, channels=16, size=4, kernel=3, at_a_time=16)
SUMS = planned("sums", outputs=16, channels=4, size=8, at_a_time=1)


def run(jobs: list[Job], bench: Bench = "native", of: Run = SUMS) -> list[Outcome]:
    return run_jobs(generated(of.program.parameters), jobs, bench=bench, fast=False)


def more_cycles(of: Run) -> list[int]:
    """Cycles beyond those of a memory that answers at once, for latencies from 1 on."""
    jobs = [replace(of.job, name=f"{of.job.name} {latency}", latency=latency) for latency in range(1, 6)]
    results = run(jobs)
    expected = predicted_cycles(of.program.schedule, of.program.parameters).total
    for result in results:
        judged = judge(of, result, "verilator")
        assert judged.equal
        assert judged.output_exact
    return [result.cycles - expected for result in results]


@pytest.mark.parametrize(("of", "words"), [(INPUTS, 1024), (WEIGHTS, 1152)], ids=["input", "weights"])
def test_a_word_of_a_tile_in_every_cycle(of: Run, words: int) -> None:
    """One tile of ``words`` words, all of which are waited for."""
    rates = [words / (words + more) for more in more_cycles(of)]
    assert rates[0] == 1.0
    assert min(rates[:ACCESSES_IN_FLIGHT]) > 0.97, rates
    assert 0.75 < rates[ACCESSES_IN_FLIGHT] < 0.95, rates


def test_a_sum_of_a_vector_in_every_cycle() -> None:
    """Partial sums are loaded a vector at a time: each waits for its last word only.

    A vector that is not complete when it was to be kept is kept five cycles later.
    """
    vectors = 3 * 64
    more = more_cycles(SUMS)
    assert more[0] == 0
    for latency in range(2, ACCESSES_IN_FLIGHT + 1):
        assert more[latency - 1] <= vectors * (CAPTURE + 2) + 40, more
    assert more[ACCESSES_IN_FLIGHT] > vectors * 2 * (CAPTURE + 2), more


@pytest.mark.parametrize("bench", ["native", BUS])
def test_answers_to_writes_do_not_matter(bench: Bench) -> None:
    """Nor what the memory was when it was reset last: each kind of memory follows each other one after a reset.

    The HWC is not told which kind it is.
    """
    kinds = ("all", "none", "failing") if bench == "native" else ("none", "all")
    sums = SUMS if bench == "native" else ON_THE_BUS
    jobs, runs = [], []
    for latency, stalls in ((1, False), (3, False), (4, True)) if bench == "native" else ((2, True),):
        for answers in kinds:
            of = prepare(sums.program, stalls=True) if stalls else sums
            for reset in (True, False):
                name = f"{answers} {latency} {reset}"
                kind = {"write_answers": answers, "tells_memory": None}
                jobs.append(replace(of.job, name=name, latency=latency, reset=reset, **kind))
                runs.append(of)
    results = run(jobs, bench, sums)
    for of, result in zip(runs, results, strict=True):
        judged = judge(of, result, "verilator")
        assert judged.equal, (result.name, judged.failures)
        assert judged.output_exact, result.name
        assert not any(result.violations.values())
    cycles = {result.name: result.cycles for result in results}
    if bench == "native":
        expected = predicted_cycles(SUMS.program.schedule, SUMS.program.parameters).total
        assert cycles["all 1 True"] == cycles["all 1 False"] == expected
        # What the first write costs, it costs once; the last one is complete a cycle earlier.
        assert abs(cycles["none 1 True"] - expected - WRITE_ANSWER_LIMIT) < 20
        assert cycles["none 1 False"] == expected - 1


def test_an_hwc_that_is_told_loses_no_cycle_after_a_reset() -> None:
    jobs = [
        replace(SUMS.job, name=f"{answers} {reset}", write_answers=answers, reset=reset)
        for answers in ("all", "none", "failing")
        for reset in (True, False)
    ]
    results = run(jobs)
    for result in results:
        assert judge(SUMS, result, "verilator").output_exact
    expected = predicted_cycles(SUMS.program.schedule, SUMS.program.parameters).total
    # Without answers the last write is complete a cycle earlier.
    assert [result.cycles - expected for result in results] == [0, 0, -1, -1, -1, -1]


@pytest.mark.parametrize("answers", ["all", "failing"])
def test_a_write_that_fails_is_an_error_with_both_kinds_of_memory(answers: str) -> None:
    address = SUMS.program.regions["output"].base
    fails = replace(
        SUMS.job, name="fails", error=("o", address), write_answers=answers, reset=True,
        reads={"fault_address": hwc_registers(SUMS.program.parameters)["fault_address"].address},
    )  # fmt: skip
    failed, following = run([fails, replace(SUMS.job, name="following", write_answers=answers)])
    assert not failed.timed_out
    assert failed.only.status & 0xFF == Status.FAILED
    assert HwcError(error_of(failed.only.status)) is HwcError.OUTPUT_BUS
    if answers == "all":
        assert failed.only.registers["fault_address"] == address
    judged = judge(SUMS, following, "verilator")
    assert judged.equal
    assert judged.output_exact
