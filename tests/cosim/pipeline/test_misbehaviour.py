"""What a pipeline says about its accesses changes no count, and what it reads too much is named."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest

from cosim.device.dram import Unwanted
from cosim.pipeline.build import PipelineBuild
from cosim.pipeline.comparison import compare, job_of
from cosim.pipeline.run import run_pipelines, sizes_for
from hwgen.arch.registers.pipeline import pipeline_registers
from tests.cosim.cluster.disguise import GREEDY, HONEST, LYING, disguised
from tests.cosim.pipeline.test_dram import DDR3, prepared


@dataclass(frozen=True)
class Disguised(PipelineBuild):
    """A pipeline whose burst at an address is a beat too long, or whose user bits are wrong, to order."""

    greedy_at: int = 0

    @cached_property
    def text(self) -> str:
        ((parameters, _),) = self.pipelines
        address = pipeline_registers(parameters).addresses["watchdog"]
        honest = PipelineBuild(self.pipelines, self.simulator, self.fast).text
        return disguised(honest, self.greedy_at, address, module="pipeline_0")


@pytest.mark.nightly
def test_what_a_pipeline_says_changes_no_count_and_a_beat_too_many_is_named() -> None:
    run = prepared("mobilenet_v2_stride1_x2", dram=DDR3)
    columns = run.program.tiles[0].streams["i_map0"]
    size = columns.count * run.program.parameters.maps[0].channels
    source = run.images.regions[run.program.stream("i_map0").region]
    jobs = [replace(job_of(run), watchdog=4096 + way) for way in (HONEST, LYING, GREEDY)]
    build = Disguised(((run.parameters, sizes_for(jobs)),), fast=False, greedy_at=source)
    honest, lying, greedy = run_pipelines(build, jobs)
    for result in (honest, lying):
        assert compare(run, result).passed, compare(run, result).failures
    assert (lying.dram, lying.cycles, lying.unwanted) == (honest.dram, honest.cycles, Unwanted())
    np.testing.assert_array_equal(lying.memory, honest.memory)

    judged = compare(run, greedy)
    assert judged.output_exact
    assert greedy.unwanted == Unwanted(0, 1, source + -(-size // 8) * 8)
    assert greedy.dram["i_map0"].beats == honest.dram["i_map0"].beats + 1
    named = f"DRAM: 1 beats read beyond what the program asks for, the first at {greedy.unwanted.address:#x}"
    assert named in judged.failures
    assert any(line.startswith("i_map0: ") for line in judged.failures)
