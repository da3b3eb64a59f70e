"""What a lowered stack is: a pipeline's parameters, and for each tile its registers and what its streams carry.

Plain values. A *region* is a map in DRAM, pixel by pixel: address base + (line * columns + column) * channels +
channel. A stream carries runs of whole pixels of one region; what a run counts as is the stream's kind.
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
    """A map of the pipeline and the graph's map that it is; ``for_join``: (stage, operand) that alone reads it."""

    graph_number: int
    name: str
    for_join: tuple[int, int] | None = None


@dataclass(frozen=True)
class Stream:
    """A stream of pixels between the pipeline and DRAM.

    Members
    -------
    name : of the port: ``i_map0``, ``o_map3``, ``i_skip2_1``.
    reads : from DRAM into the pipeline; else out of it.
    region : the graph's map.
    kind : what its bytes count as.
    beat : bytes a cycle.
    """

    name: str
    reads: bool
    region: int
    kind: Kind
    beat: int


@dataclass(frozen=True)
class Columns:
    """In a tile, these columns of every line of a region, line by line."""

    first: int
    count: int


@dataclass(frozen=True)
class OverlapLine:
    """One line of a map's overlap in a tile, as it crosses the overlap port: the pipeline's map, and its columns."""

    map: int
    line: int
    first: int
    count: int


@dataclass(frozen=True)
class TileProgram:
    """One tile: register values by name, what each stream carries, and the overlap port's lines in order."""

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
    streams : all streams but those of weights and overlap.
    tiles : in order.
    weights : the bytes that the weight port takes, each word and bias padded to whole beats.
    fetched : whether the weights count as traffic; else they are on chip before.
    cycles : of the slowest stage, if nothing waits.
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
        """A stream by its port's name."""
        return next(one for one in self.streams if one.name == name)
