"""One pipeline for a network in several tilings: the most of everything, the same stages."""

import pytest

from hwgen.arch.pipeline import PipelineParameters
from hwgen.ir.document import InputError
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.program import shared_pipeline
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.studies.regress.pipeline_cases import PARTS, Part, whole_stack


def pipelines(part: Part, macs: int) -> list[PipelineParameters]:
    solutions = (whole_stack(part.made(small=False), factor) for factor in (1, 2, 3))
    plans = [plan_stack(one, one.stacks[0]) for one in solutions]
    return [lower_stack(plan, None, macs=macs, order=lambda *_: ((), ())).parameters for plan in plans]


def test_the_regressions_networks_in_all_their_tilings() -> None:
    beats = set()
    for part in PARTS:
        own = pipelines(part, 512)
        shared = shared_pipeline(own)
        for number, one in enumerate(shared.maps):
            for name in ("pixels", "line", "beat", "overlap_in", "overlap_out", "queue"):
                assert getattr(one, name) == max(getattr(each.maps[number], name) for each in own)
        beats |= {len({each.maps[0].beat for each in own})}
    assert max(beats) > 1  # narrow tiles want their input faster


def test_refuses_other_stages() -> None:
    with pytest.raises(
        InputError, match="expected stages that differ in nothing but the length of lines and of queues"
    ):
        shared_pipeline([pipelines(PARTS[1], macs)[0] for macs in (8, 64)])
