"""The kinds of stages in lowering, and the registry that finds the kind of a row or of a stage.

A kind turns a row of a network into the parameters of a stage and into register values, predicts the cycles of the
stage, and computes its output in numpy. The modules of `hwgen.lower.pipeline.stages` define the kinds, in `KINDS`;
nothing else asks which operation a row has.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

import hwgen.lower.pipeline.stages
from hwgen.arch.pipeline import Operand, PipelineParameters, Stage
from hwgen.arch.requantisation import requantisation_of, scaled_requantisation
from hwgen.golden.network import RowData
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Node
from hwgen.ir.operators import Reading
from hwgen.ir.requantisation import Requantisation, RequantisationForm, Scale
from hwgen.lower.pipeline.lanes import Lanes, Work
from hwgen.lower.pipeline.tiles import MapPlan, MapTile, StagePlan
from hwgen.model.pipeline.cycles import Stage as PlayedStage
from hwgen.model.pipeline.graph import LineAxis

__all__ = [
    "Int8",
    "PlannedStage",
    "PlannedTile",
    "RunningStage",
    "StageKind",
    "Words",
    "kind_of_row",
    "kind_of_stage",
    "stage_kinds",
]


Int8 = NDArray[np.int8]
Words = Mapping[str, NDArray[np.uint8]]
"""The words [word, byte] that the weight port has loaded, for each memory of a stage."""

S = TypeVar("S", bound=Stage)


@dataclass(frozen=True)
class PlannedStage:
    """A row of a planned stack, between the maps of its pipeline.

    Members
    -------
    row : by lines and columns.
    axis : along which a line runs.
    sources : the maps that it reads, in the order of its inputs.
    operands : the same as the pipeline's maps, with queues and streams.
    makes : the pipeline's map.
    requantisation : how sums become outputs.
    """

    row: StagePlan
    axis: LineAxis
    sources: tuple[MapPlan, ...]
    operands: tuple[Operand, ...]
    makes: int
    requantisation: RequantisationForm = "shift"


@dataclass(frozen=True)
class PlannedTile:
    """A row in one tile.

    Members
    -------
    row : by lines and columns.
    made : the columns that it makes.
    lines : the lines that it makes.
    read : for each operand the columns that are there; None: it comes through DRAM.
    """

    row: StagePlan
    made: MapTile
    lines: int
    read: tuple[MapTile | None, ...]

    def first(self, column: int, place: int = 0) -> int:
        """A column of an operand, counted from the beginning of the tile's line; 0 in a tile that makes nothing."""
        source = self.read[place]
        return column - source.begin if source is not None and self.made.new else 0


@dataclass(frozen=True)
class RunningStage:
    """A stage of a pipeline in one tile: the register values of the whole pipeline, and which stage."""

    parameters: PipelineParameters
    index: int
    registers: Mapping[str, int]

    def setting(self, name: str) -> int:
        """One of its own registers."""
        return self.registers[f"stage{self.index}_{name}"]

    @property
    def settings(self) -> Mapping[str, int]:
        """Its own registers."""
        prefix = f"stage{self.index}_"
        return {name.removeprefix(prefix): value for name, value in self.registers.items() if name.startswith(prefix)}

    def requantisation(self) -> Requantisation:
        """What its own registers make of a sum."""
        return requantisation_of(self.settings)

    def scaled(self, scales: tuple[Scale, ...]) -> Requantisation:
        """What its own registers make of a scaled sum, with these scales."""
        return scaled_requantisation({"zero_in": 0, **self.settings}, scales)

    @property
    def steps(self) -> int:
        """Cycles of a pixel."""
        return self.parameters.steps(self.index)

    def line(self, number: int) -> int:
        """Columns of a map in the tile."""
        return self.registers[f"map{number}_line"]

    def lines(self, number: int) -> int:
        """Lines of a map in the tile."""
        return self.registers[f"map{number}_lines"]

    def queue(self, stage: Stage) -> int:
        """Pixels of the queue after the stage."""
        return self.parameters.maps[stage.makes].queue


class StageKind(ABC, Generic[S]):
    """A kind of stage."""

    parameters: ClassVar[type[Stage]]
    """What it is built from."""

    # --- from a row to a stage ---

    @abstractmethod
    def runs(self, node: Node) -> bool:
        """Whether it is the kind for a row."""

    def requantises(self, node: Node) -> bool:
        """Whether the stage of a row requantises its outputs, so that it can have an activation."""
        return False

    def check(self, row: StagePlan, tiles: int) -> None:
        """Raise `InputError` for a row that the stage cannot run in ``tiles`` tiles."""

    @abstractmethod
    def work(self, node: Node, pixels: int) -> Work:
        """The work of a row that makes ``pixels`` pixels, with its choices of lanes. See `works_on_input`."""

    def works_on_input(self) -> bool:
        """Whether its work is proportional to the pixels that it reads, not to those that it makes."""
        return False

    @abstractmethod
    def stage(self, planned: PlannedStage, lanes: Lanes) -> S:
        """The parameters of the stage."""

    # --- its registers ---

    @abstractmethod
    def columns(self, tile: PlannedTile) -> dict[str, int]:
        """The registers that say what it makes in a tile."""

    def arithmetic(self, node: Node, data: RowData, form: RequantisationForm) -> dict[str, int]:
        """The registers of its arithmetic, where pipelines make outputs of sums in this form."""
        return {}

    def weight_words(self, stage: S, data: RowData, axis: LineAxis) -> Iterator[NDArray[np.uint8]]:
        """The words [word, byte] for the weight port, one memory after the other."""
        yield from ()

    # --- its time ---

    @abstractmethod
    def busy_cycles(self, stage: S, tile: RunningStage) -> int:
        """Cycles that it works in a tile if it never stalls."""

    @abstractmethod
    def played(self, stage: S, tile: RunningStage) -> PlayedStage:
        """The stage as `hwgen.model.pipeline.cycles` simulates it."""

    # --- what it makes ---

    @abstractmethod
    def run(self, stage: S, tile: RunningStage, operands: list[Int8], words: Words) -> Int8:
        """The pixels [channels, lines, columns] that it makes in a tile from the lines of its operands."""


@cache
def stage_kinds() -> tuple[StageKind[Any], ...]:
    """All kinds."""
    folder = hwgen.lower.pipeline.stages
    modules = [import_module(module.name) for module in iter_modules(folder.__path__, f"{folder.__name__}.")]
    return tuple(kind for module in modules for kind in getattr(module, "KINDS", ()))


def kind_of_row(node: Node) -> StageKind[Any]:
    """The kind of stage that runs a row. Raises `InputError` if there is none."""
    for kind in stage_kinds():
        if kind.runs(node):
            return kind
    transposed = node.operator.reading(node) is Reading.TRANSPOSED
    hint = "; hwgen depth-first --phases has a convolution and a pixel shuffle for it" if transposed else ""
    raise InputError(f"{node.name}: op: a depth-first pipeline has no stage for {node.op}{hint}")


def kind_of_stage(stage: Stage) -> StageKind[Any]:
    """The kind that a stage is of."""
    return next(kind for kind in stage_kinds() if kind.parameters is type(stage))
