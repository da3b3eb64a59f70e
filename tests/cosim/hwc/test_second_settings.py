"""Two layers, the second of which is written and started while the first one runs: exact, and as fast as alone."""

from dataclasses import replace

import numpy as np
import pytest

from cosim.hwc.jobs import Job
from cosim.hwc.preparation import Run, prepare
from cosim.hwc.results import judge
from cosim.hwc.runner import run_jobs
from hwgen.arch.registers.control import Control, Status
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.export.cached import generated
from hwgen.export.hwc_program import ADDRESSES
from hwgen.lower.hwc import compile_layer
from tests.cosim.hwc.test_memories import HARDWARE, SUMS

MAP = hwc_registers(SUMS.program.parameters)
CLEAR = (MAP["control"].address, int(Control.CLEAR))


def layer(seed: int, *, stalls: bool = False) -> Run:
    run = prepare(compile_layer(SUMS.program.schedule, HARDWARE), seed=seed, stalls=stalls)
    return replace(run, job=replace(run.job, name=f"layer {seed}", reads={"cycles": MAP["cycles"].address}))


def behind(run: Run, offset: int) -> list[tuple[str, int, int]]:
    """The registers of a layer whose memory begins at a byte address."""
    return [
        (name, address, (value + offset * name.endswith(ADDRESSES)) % (1 << 32))
        for name, address, value in run.job.registers
    ]


def one_after_the_other(first: Run, second: Run, written_after: int) -> Job:
    """The second layer is written while the first one runs, its memory after that of the first one."""
    offset = 4 * len(first.job.image)
    meanwhile = [(0, "write", address, value) for _, address, value in behind(second, offset)]
    meanwhile = [(written_after, *meanwhile[0][1:]), *meanwhile[1:]]
    meanwhile += [(0, "write", *first.job.start), (0, "end", *CLEAR)]
    return replace(
        first.job,
        name=f"both, after {written_after}",
        image=np.concatenate([first.job.image, second.job.image]),
        meanwhile=tuple(meanwhile),  # type: ignore[arg-type]
        cycle_limit=4 * first.job.cycle_limit,
    )


@pytest.mark.parametrize("stalls", [False, True])
def test_a_layer_that_was_queued_runs_as_alone(stalls: bool) -> None:
    first, second = layer(1, stalls=stalls), layer(2, stalls=stalls)
    jobs = [first.job, second.job]
    jobs += [one_after_the_other(first, second, cycles) for cycles in (0, 300)]
    one, other, *both = run_jobs(generated(first.program.parameters), jobs, fast=False)
    for run, result in ((first, one), (second, other)):
        unit = replace(result.only, registers={"status": result.only.status})
        judged = judge(run, replace(result, units=(unit,)), "verilator")
        assert judged.passed, judged.failures
    words = len(first.job.image)
    for result in both:
        assert result.only.status == Status.DONE, hex(result.only.status)
        assert not result.only.refused
        assert not any(result.violations.values())
        assert np.array_equal(result.memory[:words], one.memory)
        assert np.array_equal(result.memory[words:], other.memory)
        if not stalls:
            assert result.only.registers["cycles"] == other.only.registers["cycles"], "cycles"
