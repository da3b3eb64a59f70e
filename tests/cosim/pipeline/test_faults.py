"""A pipeline on a DRAM when something goes wrong: errors for each of its streams, stalls, a reset in mid-tile."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.comparison import StackRun, compare, job_of
from cosim.pipeline.run import AccessError, PipelineResult, run_pipelines, sizes_for
from hwgen.arch.pipeline.movers import Mover, movers_of
from hwgen.arch.registers.control import Status, error_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.lower.pipeline.movers import all_runs
from tests.cosim.pipeline.test_dram import DDR3, prepared

pytestmark = pytest.mark.nightly


@cache
def plain() -> StackRun:
    """Two tiles with overlap, and skips through the DRAM. No constant, as its cycles take a kernel."""
    return prepared("srgan_blocks_dram_x2", dram=DDR3)


def movers() -> tuple[Mover, ...]:
    return movers_of(plain().parameters)


def run(*jobs: StackRun, reset_after: int | None = None) -> list[PipelineResult]:
    found = [replace(job_of(one), reset_after=reset_after) for one in jobs]
    sizes = sizes_for([replace(job_of(plain()), reset_after=0)])
    return run_pipelines(PipelineBuild(((plain().parameters, sizes),), fast=False), found)


def outside_of_the_outputs(result: PipelineResult) -> np.ndarray:
    """Bytes that have changed, and that no stream of the pipeline writes."""
    changed = result.memory != plain().images.memory
    for mover in movers():
        if not mover.reads:
            for start, stop in zip(*all_runs(plain().program, plain().images.layout, mover), strict=True):
                changed[start:stop] = False
    return np.flatnonzero(changed)


def test_the_stack_has_streams_of_all_kinds() -> None:
    kinds = {mover.stream.rstrip("0123456789_") for mover in movers()}
    assert kinds == {"i_map", "i_skip", "i_weights", "i_overlap", "i_overlap_in_order", "i_overlap_out_order",
                     "o_map", "o_overlap"}  # fmt: skip


@pytest.mark.parametrize("place", [0, -1])
def test_an_error_for_any_stream_is_answered(place: int) -> None:
    """In the first run of the stream, and in the last."""
    for mover in movers():
        starts, _ = all_runs(plain().program, plain().images.layout, mover)
        (result,) = run(replace(plain(), error=AccessError(int(starts[place]), mover.reads)))
        expected = PipelineError.READ_BUS if mover.reads else PipelineError.WRITE_BUS
        assert error_of(result.status[-1]) == expected, mover.stream
        assert not result.violations, mover.stream
        assert not result.beyond, mover.stream
        assert not outside_of_the_outputs(result).size, mover.stream


@pytest.mark.parametrize("rate", [128, 240])
def test_stalls_on_all_channels(rate: int) -> None:
    (result,) = run(replace(plain(), stall_rate=rate))
    assert compare(plain(), result).passed, compare(plain(), result).failures
    assert not outside_of_the_outputs(result).size


@pytest.mark.parametrize("cycles", [1, 50, 333, 1500])
def test_a_reset_in_mid_tile(cycles: int) -> None:
    """Everything is as if nothing had run before, but that bytes are written twice."""
    (alone,), (reset,) = run(plain()), run(plain(), reset_after=cycles)
    assert set(reset.status) == {Status.DONE}
    assert reset.cycles == (alone.cycles[0], *alone.cycles)  # the weights are loaded twice
    assert reset.dram == alone.dram
    judged = compare(plain(), replace(reset, twice=0))
    assert judged.passed, judged.failures
    assert not outside_of_the_outputs(reset).size
