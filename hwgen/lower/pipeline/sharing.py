"""One pipeline for several programs: the same stages, with the largest ring, line and queue of each."""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from hwgen.arch.pipeline import MapParameters, PipelineParameters, Stage
from hwgen.ir.document import InputError

__all__ = ["shared_pipeline"]


def shared_pipeline(pipelines: Sequence[PipelineParameters]) -> PipelineParameters:
    """The smallest pipeline that runs the programs of all given ones. They may differ in their tiles only."""
    maps = tuple(_largest(column) for column in zip(*(one.maps for one in pipelines), strict=True))
    stages = tuple(_longest(column) for column in zip(*(one.stages for one in pipelines), strict=True))
    return replace(pipelines[0], maps=maps, stages=stages)


def _largest(maps: Sequence[MapParameters]) -> MapParameters:
    sizes = {name: max(getattr(one, name) for one in maps) for name in
             ("pixels", "line", "lines", "beat", "overlap_in", "overlap_out", "queue")}  # fmt: skip
    found = {replace(one, **sizes) for one in maps}
    if len(found) > 1:
        raise InputError("pipelines: expected maps that differ in nothing but their sizes")
    return found.pop()


def _longest(stages: Sequence[Stage]) -> Stage:
    found = {reduce(lambda one, other: one.with_room_for(other), stages, stage) for stage in stages}
    if len(found) > 1:
        raise InputError("pipelines: expected stages that differ in nothing but the length of lines and of queues")
    return found.pop()
