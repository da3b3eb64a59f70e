"""Where model and hardware part ways is told: kind of access, loop indices, what was expected, what came."""

from dataclasses import replace
from random import Random

import pytest

from cosim.device.job import Outcome
from cosim.device.judge import AT_HWC
from cosim.hwc.divergence import divergences
from cosim.hwc.expected_accesses import KINDS, expected_groups
from cosim.hwc.jobs import Job
from cosim.hwc.preparation import Run, prepare
from cosim.hwc.results import judge
from cosim.hwc.runner import run_jobs
from hwgen.export.cached import generated
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.nest.one_level import predict
from tests.random.layers import HWCS, hwc, schedules_for

HARDWARE = hwc("fig8")


def fig8_run() -> Run:
    """Six channels of six rows: m in twos, y in threes, one vector of columns."""
    layer = Layer(
        name="told", input_channels=3, output_channels=4, input_height=6, input_width=13, kernel=3, padding=1
    )
    steps = iter((2, 3, 13, 1, 1, 1, 1, 1))
    nest = tuple(item if isinstance(item, Marker) else Loop(item, next(steps)) for item in HARDWARE.order or ())
    return prepare(compile_layer(Schedule(layer=layer, nest=nest, lanes=Lanes(x=16)), HARDWARE))


RUN = fig8_run()


def once(job: Job) -> Outcome:
    return run_jobs(generated(RUN.program.parameters), [job], fast=False)[0]


def told(window: int = 1 << 20, **registers: int) -> list[str]:
    """What is told about the layer when registers are set to something else."""
    changed = tuple((name, address, registers.get(name, value)) for name, address, value in RUN.job.registers)
    assert changed != RUN.job.registers or not registers
    job = replace(RUN.job, registers=changed)
    outcome = once(job)
    assert judge(RUN, outcome, "verilator").equal == (not registers)
    return divergences(replace(RUN, job=job), outcome, once, window)


@pytest.mark.parametrize("name", HWCS)
def test_expected_accesses_add_up_to_the_prediction(name: str) -> None:
    for schedule in schedules_for(hwc(name), Random(f"expected {name}"), 6, most_macs=15000):
        program, counts = compile_layer(schedule, hwc(name)), predict(schedule).counts
        keys = {f"{operand} {direction}": key for key in AT_HWC.keys.values() for _, operand, direction in [key]}
        for kind, called in KINDS.items():
            accesses = [access for group in expected_groups(program, kind) for access in group.accesses]
            marked = sum(access.be.bit_count() for access in accesses)
            assert (len(accesses), marked) == (counts[keys[called]].words, counts[keys[called]].bytes), kind


@pytest.mark.parametrize("window", [1 << 20, pytest.param(100, marks=pytest.mark.nightly)])
def test_a_layer_without_a_difference_tells_none(window: int) -> None:
    assert told(window) == []


def test_a_missing_row_is_told_where_it_is_missed() -> None:
    inputs, *outputs = told(repeats_4_1=0)  # one output row in the last tile of y
    place = "m0=0 (0..1) y1=1 (3..5) x2=0 (0..12)"
    # Row 5 of the input is needed first by output row 4, the second one in the second tile of y.
    assert inputs.startswith(
        f"I read at tcdm: model and hardware part ways at {place} c3=0 (0..0) y4=1 (4..4): expected"
    )
    assert any(line.startswith(f"O write at tcdm: model and hardware part ways at {place}: ") for line in outputs)


def test_other_weights_are_told_with_address_and_byte_enables() -> None:
    base = RUN.program.regions["weights"].base
    # Eighteen weights, five words: all the same but for the first one and the last one's byte enables.
    (line,) = told(weight_base=base + 4)
    expected, got = f"expected read {base:#x} be 1111", f"got read {base + 16:#x} be 1111"
    place = "m0=0 (0..1) y1=0 (0..2) x2=0 (0..12) c3=0 (0..0) y4=0 (0..0)"
    assert line == f"W read at tcdm: model and hardware part ways at {place}: {expected}, {got}"


def test_accesses_that_never_end_are_told_as_such() -> None:
    lines = told(repeats_0_0=2)
    assert any("nothing more was expected, the hardware goes on with read" in line for line in lines)
    assert any("is in no region it may be in" in line for line in lines)
