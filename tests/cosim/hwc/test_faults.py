"""What goes wrong around an HWC is answered, and the next layer runs as if nothing had happened.

All of it in the harness, most of it on the bus in Python too; nothing may hang.
"""

from dataclasses import replace

import numpy as np
import pytest

from cosim.device.job import Outcome
from cosim.hwc.jobs import Job, Port
from cosim.hwc.preparation import Run, prepare
from cosim.hwc.results import judge
from cosim.hwc.runner import Bench, run_jobs
from hwgen.arch.registers.bank import Register
from hwgen.arch.registers.control import Control, Status, error_of
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.cached import generated
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from tests.cosim.benches import BUS
from tests.random.layers import hwc

BENCHES: list[Bench] = ["native", BUS]
NATIVE = ["native", pytest.param(BUS, marks=pytest.mark.nightly)]
"""For tests of many runs: nightly on the bus in Python, too."""
HARDWARE = hwc("two_tiles")
LAYER = Layer(
    name="faulty", input_channels=4, output_channels=4, input_height=4, input_width=20, kernel=3, padding=1, groups=2
)
STEPS = (2, 1, 2, 20, 1, 1, 1, 1, 16, 1)  # for the loops of `two_tiles`; partial sums leave
LOOPS = iter(STEPS)
NEST = tuple(item if isinstance(item, Marker) else Loop(item, next(LOOPS)) for item in HARDWARE.order or ())
RUN = prepare(compile_layer(Schedule(layer=LAYER, nest=NEST, lanes=Lanes(x=16)), HARDWARE))
MAP = hwc_registers(RUN.program.parameters)


def run(jobs: list[Job], bench: Bench = "native") -> list[Outcome]:
    return run_jobs(generated(RUN.program.parameters), jobs, bench=bench, fast=False)


def after(name: str) -> Job:
    """The layer itself, without a reset before it."""
    return replace(RUN.job, name=f"after {name}")


def passes(result: Outcome, planned: Run = RUN) -> None:
    judged = judge(planned, result, "verilator")
    assert judged.passed, judged.failures


def error(result: Outcome) -> HwcError:
    """The error code of a layer that failed: an interrupt until it was acknowledged, and a status that says so."""
    assert not result.timed_out
    assert result.irq == (1, 0)
    assert result.only.status & 0xFF == Status.FAILED, hex(result.only.status)
    return HwcError(error_of(result.only.status))


def reading(job: Job, *names: str) -> Job:
    return replace(job, reads={name: MAP[name].address for name in names})


@pytest.mark.parametrize("bench", BENCHES)
def test_the_interrupt_stays_until_it_is_acknowledged(bench: Bench) -> None:
    first, second = run([RUN.job, replace(after("it"), acknowledge=None)], bench)
    passes(first)
    passes(second)
    assert first.irq == (1, 0)
    assert second.irq == (1, 1)


@pytest.mark.parametrize("bench", BENCHES)
def test_a_start_or_a_setting_while_busy_is_refused_and_disturbs_nothing(bench: Bench) -> None:
    setting = RUN.job.registers[3]
    meanwhile = ((200, "write", *RUN.job.start), (50, "write", setting[1], setting[2] ^ 1))
    result, next_one = run([replace(RUN.job, meanwhile=meanwhile), after("it")], bench)  # type: ignore[arg-type]
    assert result.only.refused == (f"{RUN.job.start[0]:#x}", setting[0])
    assert result.only.status == Status.FAILED | HwcError.WRITTEN_WHILE_BUSY << 8
    counted = judge(RUN, result, "verilator")
    assert counted.equal
    assert counted.output_exact
    passes(next_one)


@pytest.mark.parametrize("bench", NATIVE)
@pytest.mark.parametrize("stalls", [False, True])
def test_a_reset_in_mid_layer_leaves_nothing_behind(bench: Bench, stalls: bool) -> None:
    planned = prepare(RUN.program, stalls=stalls)
    again = [(0, "write", address, value) for _, address, value in planned.job.registers]
    again.append((0, "write", *planned.job.start))
    jobs = [
        replace(planned.job, name=f"reset after {cycles}", meanwhile=((cycles, "reset", 0, 0), *again))
        for cycles in (3, 57, 400, 1001)
    ]
    for result in run(jobs, bench):
        passes(result, planned)


def accesses_in(name: str) -> list[tuple[Port, int, HwcError]]:
    """Bus errors on each port, at the beginning and the end of what it reads or writes."""
    port, code = {
        "input": ("i", HwcError.INPUT_BUS),
        "weights": ("w", HwcError.WEIGHT_BUS),
        "bias": ("o", HwcError.OUTPUT_BUS),
        "partial": ("o", HwcError.OUTPUT_BUS),
        "output": ("o", HwcError.OUTPUT_BUS),
    }[name]
    region = RUN.program.regions[name]
    return [(port, address, code) for address in (region.base, region.end - 4)]  # type: ignore[list-item]


@pytest.mark.parametrize("bench", NATIVE)
def test_a_bus_error_stops_the_layer_and_leaves_its_address(bench: Bench) -> None:
    cases = [case for name in RUN.program.regions for case in accesses_in(name)]
    jobs = []
    for port, address, _ in cases:
        for stalls in ((0, 0, 0), (90, 60, 120)):
            job = replace(RUN.job, name=f"{port} {address} {stalls}", error=(port, address), stall_rates=stalls)
            jobs += [reading(job, "fault_address"), after(job.name)]
    results = run(jobs, bench)
    for (_, address, code), *pairs in zip(
        cases, results[0::4], results[1::4], results[2::4], results[3::4], strict=True
    ):
        calm, after_calm, stalled, after_stalled = pairs
        for result in (calm, stalled):
            assert error(result) is code
            assert result.only.registers["fault_address"] == address
            assert not any(result.violations.values())
        passes(after_calm)
        passes(after_stalled)


@pytest.mark.parametrize("bench", BENCHES)
def test_accesses_to_no_register_and_writes_that_cannot_be_are_refused(bench: Bench) -> None:
    wide = next(register for register in MAP.held if register.width < 32)
    wrong = {
        HwcError.UNKNOWN_REGISTER: (0xFF0, 1),
        HwcError.READ_ONLY_REGISTER: (MAP["cycles"].address, 1),
        HwcError.VALUE_TOO_WIDE: (wide.address, 1 << wide.width),
    }
    jobs = []
    for code, (address, value) in wrong.items():
        registers = (*RUN.job.registers, ("wrong", address, value))
        jobs += [reading(replace(RUN.job, name=code.name, registers=registers), "fault_address"), after(code.name)]
    results = run(jobs, bench)
    for (code, (address, _)), result, next_one in zip(wrong.items(), results[0::2], results[1::2], strict=True):
        assert result.only.refused == ("wrong",)
        assert error(result) is code
        assert result.only.registers["fault_address"] == address
        assert not result.only.tcdm
        assert np.array_equal(result.memory, RUN.job.image)
        passes(next_one)


def nonsense(register: Register, values: int) -> list[int]:
    """Values that may or may not make sense: none, the largest, one, and one in between."""
    largest = (1 << register.width) - 1
    return [0, largest, 1, largest // 3][:values]


def test_settings_of_zero_that_make_no_sense_have_an_error_code_of_their_own() -> None:
    expected = {
        "program_digest": HwcError.OTHER_HWC,
        "extent_m": HwcError.EXTENT,
        "extent_x": HwcError.EXTENT,
        "stride_y": HwcError.STRIDE,
        "group_outputs": HwcError.GROUP,
        "input_slabs": HwcError.INPUT_RING,
        "step_0_m": HwcError.STEP,
    }
    jobs = [replace(RUN.job, name=name, registers=with_value(name, 0)) for name in expected]
    for code, result in zip(expected.values(), run(jobs), strict=True):
        assert error(result) is code
        assert not result.only.tcdm


def with_value(name: str, value: int) -> tuple[tuple[str, int, int], ...]:
    """The layer's registers, one of them with another value."""
    assert any(entry[0] == name for entry in RUN.job.registers)
    return tuple((n, address, value if n == name else given) for n, address, given in RUN.job.registers)


@pytest.mark.parametrize("values", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_whatever_is_in_a_register_the_hwc_answers_and_runs_the_next_layer(values: int) -> None:
    """What hangs is ended by the watchdog, what goes on for too long by software; no reset is needed."""
    jobs = []
    watchdog = ("watchdog", MAP["watchdog"].address, 4)
    aborts = ((5_000, "write", MAP["control"].address, int(Control.ABORT)),)
    for name, _, given in RUN.job.registers:
        for value in sorted({*nonsense(MAP[name], values)} - {given}):
            registers = (*with_value(name, value), watchdog)
            job = replace(RUN.job, name=f"{name} = {value}", registers=registers, cycle_limit=10_000)
            job = replace(job, meanwhile=aborts)  # type: ignore[arg-type]
            jobs += [job, after(job.name)]
    results = run(jobs)
    codes = []
    for result, next_one in zip(results[0::2], results[1::2], strict=True):
        if not result.name.split()[0].endswith(("_base", "_pitch", "_plane")):  # may be within a word
            assert not any(result.violations.values()), result.name
        assert result.only.status & 0xFF in (Status.DONE, Status.FAILED), (
            f"{result.name}: status {result.only.status:#x}"
        )
        assert not result.timed_out, f"{result.name}: status {result.only.status:#x}"
        codes.append(error_of(result.only.status))
        passes(next_one)
    assert sum(code != 0 for code in codes) >= 20
    assert 0 < codes.count(HwcError.ABORTED) < len(jobs) / 6  # extents of thousands take their time; that is all


def test_settings_that_contradict_each_other_stop_before_anything_is_written() -> None:
    """Each of them passes the checks of its own, and gave wrong outputs."""
    given = {name: value for name, _, value in RUN.job.registers}
    memory = RUN.program.parameters.input_elements
    wrong = {
        "input_phase_1": given["input_phase_2"] + 1,
        "input_phase_2": given["input_phase_3"] + 1,
        "input_phase_3": given["input_line"] + 1,
        "input_line": given["input_slab"] + 1,
        "input_slabs": memory // given["input_slab"] + 1,
    }
    jobs = [replace(RUN.job, name=name, registers=with_value(name, value)) for name, value in wrong.items()]
    for result in run(jobs):
        assert error(result) is HwcError.CONTRADICTION, result.name
        assert not any(result.only.at("o", "output", written=True)), result.name
        assert not any(result.only.at("o", "partial", written=True)), result.name
        assert result.cycles < 40, result.name


@pytest.mark.parametrize("bench", BENCHES)
def test_a_write_outside_its_window_is_not_made_and_leaves_its_address(bench: Bench) -> None:
    regions = RUN.program.regions
    output, partial = regions["output"], regions["partial"]
    cases = [("write_base", output.base + 4, output.base), ("write_last", partial.end - 5, partial.end - 4)]
    jobs = []
    for name, value, _ in cases:
        job = replace(RUN.job, name=name, registers=with_value(name, value))
        jobs += [reading(job, "fault_address"), after(name)]
    results = run(jobs, bench)
    for (_, _, address), result, next_one in zip(cases, results[0::2], results[1::2], strict=True):
        assert error(result) is HwcError.WRITE_WINDOW
        assert result.only.registers["fault_address"] == address
        assert result.memory[address // 4] == RUN.job.image[address // 4]
        assert not any(result.violations.values())
        passes(next_one)


@pytest.mark.parametrize("bench", NATIVE)
def test_software_aborts_a_layer_at_any_time_and_the_bus_keeps_its_rules(bench: Bench) -> None:
    cycles = (0, 1, 2, 5, 57, 400, 1001)
    jobs = []
    for after_cycles in cycles:
        for stalls in ((0, 0, 0), (90, 60, 120)):
            aborts = ((after_cycles, "write", MAP["control"].address, int(Control.ABORT)),)
            job = replace(RUN.job, name=f"{after_cycles} {stalls}", meanwhile=aborts, stall_rates=stalls)  # type: ignore[arg-type]
            jobs += [job, after(job.name)]
    results = run(jobs, bench)
    for result, next_one in zip(results[0::2], results[1::2], strict=True):
        assert error(result) is HwcError.ABORTED, result.name
        assert not any(result.violations.values()), result.name
        passes(next_one)
