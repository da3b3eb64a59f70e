"""What a depth-first pipeline is generated for: feature maps, stages and the streams between, with every check.

Maps are numbered from 0; every stage makes a map of a higher number than those that it reads. *Along* is the
direction of a line of pixels (the scan steps along it first), *across* the direction from line to line.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline.maps import MOST_BEAT, MapParameters, check_range
from hwgen.arch.pipeline.movers import MoverParameters, movers_of
from hwgen.arch.pipeline.stage import MemorySize, Operand, Stage

__all__ = ["PipelineParameters"]

MOST_MAPS = 128


@dataclass(frozen=True)
class PipelineParameters:
    """Generation-time parameters of a pipeline; raises `ParameterError`.

    Parameters
    ----------
    maps
        Feature maps, producers first.
    stages
        Each makes one map; every map that is no source is made by one.
    weight_beat
        Bytes a cycle of the weight port.
    overlap_beat
        Bytes a cycle of the overlap port, in each direction.
    movers
        What carries the streams from and to a DRAM. None: the streams are ports of the pipeline.
    """

    maps: tuple[MapParameters, ...]
    stages: tuple[Stage, ...]
    weight_beat: int = 4
    overlap_beat: int = 4
    movers: MoverParameters | None = None

    def __post_init__(self) -> None:
        check_range("maps", len(self.maps), 2, MOST_MAPS)
        check_range("weight_beat", self.weight_beat, 1, MOST_BEAT)
        check_range("overlap_beat", self.overlap_beat, 1, MOST_BEAT)
        made: dict[int, int] = {}
        for number, stage in enumerate(self.stages):
            where = f"stages: {number}"
            for read in stage.reads_of_all:
                if not 0 <= read < stage.makes < len(self.maps):
                    raise ParameterError(
                        f"{where}: expected to make a map after the one it reads, got {read} -> {stage.makes}"
                    )
            if stage.makes in made:
                raise ParameterError(f"{where}: map {stage.makes} is made by stage {made[stage.makes]} already")
            made[stage.makes] = number
            try:
                stage.check(self.maps)
            except ParameterError as error:
                raise ParameterError(f"{where}: {error}") from None
        for number, one in enumerate(self.maps):
            if one.source == (number in made):
                what = "is a source, but made by a stage" if one.source else "is no source and no stage makes it"
                raise ParameterError(f"maps: {number}: {what}")
            if not one.written and not any(number in stage.reads_on_chip for stage in self.stages):
                raise ParameterError(f"maps: {number}: nobody reads it and it is not written")
        if self.movers is not None:
            movers_of(self)

    # --- derived ---

    def maker(self, number: int) -> int | None:
        """The stage that makes a map; None for a source."""
        return next((index for index, stage in enumerate(self.stages) if stage.makes == number), None)

    def window_readers(self, number: int) -> tuple[int, ...]:
        """Stages that read a map while its newest pixel is in flight."""
        return tuple(index for index, stage in enumerate(self.stages) if number in stage.window_reads)

    def join_readers(self, number: int) -> tuple[tuple[int, int], ...]:
        """Stage and operand of those that read a map pixel by pixel from its ring."""
        return tuple(
            (index, place)
            for index, stage in enumerate(self.stages)
            for place, operand in enumerate(stage.pixel_operands)
            if operand.reads == number and not operand.through_dram
        )

    def skips(self) -> Iterator[tuple[int, int]]:
        """Stage and operand of every skip that comes through DRAM."""
        for index, stage in enumerate(self.stages):
            for place, operand in enumerate(stage.pixel_operands):
                if operand.through_dram:
                    yield index, place

    def operand(self, number: int, place: int) -> Operand:
        """What a stage reads pixel by pixel."""
        return self.stages[number].pixel_operands[place]

    @property
    def sources(self) -> tuple[int, ...]:
        """The maps that come through input streams."""
        return tuple(number for number, one in enumerate(self.maps) if one.source)

    @property
    def written(self) -> tuple[int, ...]:
        """The maps that go out through output streams."""
        return tuple(number for number, one in enumerate(self.maps) if one.written)

    @property
    def loads_weights(self) -> bool:
        """Whether any stage takes weights from the weight port."""
        return any(stage.loads_weights for stage in self.stages)

    def steps(self, number: int) -> int:
        """Cycles that a stage works on one output pixel (on one input pixel for a global pool)."""
        return self.stages[number].steps(self.maps)

    def memory_words(self, number: int) -> Mapping[str, MemorySize]:
        """The memories of a stage: words, and bytes of a word."""
        return self.stages[number].memories(self.maps)
