"""The program of a pipeline: its parameters, and for each tile its register values and the data of its streams.

Plain values. A *region* is a map in DRAM, pixel by pixel: the address of an element is base + (line * columns +
column) * channels + channel. A stream carries whole pixels of one region. Its kind says what its bytes count as.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from hwgen.arch.pipeline import PipelineParameters
from hwgen.lower.pipeline.tiles import StackPlan

__all__ = ["KINDS", "Columns", "Kind", "OverlapLine", "PipelineMap", "PipelineProgram", "Stream", "TileProgram"]

Kind = Literal["input", "output", "skip_out", "skip_in", "overlap_out", "overlap_in"]
KINDS: tuple[Kind, ...] = ("input", "output", "skip_out", "skip_in", "overlap_out", "overlap_in")


@dataclass(frozen=True)
class PipelineMap:
    """A map of the pipeline, and which map of the graph it is.

    ``for_join``: the only reader, as (stage, operand); None: any stages.
    """

    graph_number: int
    name: str
    for_join: tuple[int, int] | None = None


@dataclass(frozen=True)
class Stream:
    """A stream of pixels between the pipeline and DRAM.

    Members
    -------
    name : of the port: ``i_map0``, ``o_map3``, ``i_skip2_1``.
    reads : from DRAM into the pipeline; else from the pipeline to DRAM.
    region : the graph's map.
    kind : the kind of traffic.
    beat : bytes a cycle.
    """

    name: str
    reads: bool
    region: int
    kind: Kind
    beat: int


@dataclass(frozen=True)
class Columns:
    """Columns of every line of a region, as a stream carries them in a tile."""

    first: int
    count: int


@dataclass(frozen=True)
class OverlapLine:
    """One line of a map's overlap in a tile, as it crosses the overlap port. ``map`` is the pipeline's."""

    map: int
    line: int
    first: int
    count: int


@dataclass(frozen=True)
class TileProgram:
    """One tile: register values by name, the columns of each stream, and the lines of the overlap port in order."""

    registers: Mapping[str, int]
    streams: Mapping[str, Columns]
    overlap_in: tuple[OverlapLine, ...]
    overlap_out: tuple[OverlapLine, ...]


@dataclass(frozen=True)
class PipelineProgram:
    """A lowered stack.

    Members
    -------
    plan : the tiles that it comes from.
    parameters : of the pipeline that runs it.
    maps : the pipeline's maps, by its numbers.
    streams : all streams except those of weights and overlap.
    tiles : in order.
    weights : the bytes for the weight port; each word is padded to whole beats.
    fetched : whether the weights count as traffic; else they are resident.
    cycles : of the slowest stage if nothing stalls.
    """

    plan: StackPlan
    parameters: PipelineParameters
    maps: tuple[PipelineMap, ...]
    streams: tuple[Stream, ...]
    tiles: tuple[TileProgram, ...]
    weights: bytes
    fetched: bool
    cycles: int

    def stream(self, name: str) -> Stream:
        """The stream of a port, by its name."""
        return next(one for one in self.streams if one.name == name)
