"""What a depth-first pipeline is generated for: feature maps, stages and the streams between, with every check.

Plain data. Maps are numbered from 0 so that every stage makes a map of a higher number than those it reads. *Along*
is the direction of a line of pixels (the scan steps along it first), *across* the direction from line to line.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from hwgen.arch.errors import ParameterError

__all__ = [
    "BIAS_BYTES",
    "OUTPUT_QUEUE",
    "ConvStage",
    "GlobalPoolStage",
    "JoinStage",
    "MapParameters",
    "Operand",
    "PipelineParameters",
    "PoolStage",
    "ShuffleStage",
    "Stage",
    "WindowStage",
]

BIAS_BYTES = 4
OUTPUT_QUEUE = 2
"""Pixels between a stage and the map that it makes, at least, and before an output stream."""
MOST_CHANNELS = 4096
MOST_PIXELS = 1 << 24
MOST_LINE = (1 << 14) - 1
MOST_MAPS = 128
MOST_BEAT = 64
MOST_QUEUE = 1 << 12

Pair = tuple[int, int]
"""Across lines, along lines."""


@dataclass(frozen=True)
class MapParameters:
    """One feature map of a stack: its ring, and what of it crosses to or from DRAM.

    Parameters
    ----------
    channels
        Elements of a pixel.
    pixels
        Pixels that the ring holds beside the newest, which is in flight; 0: no memory.
    line, lines
        The longest line of any tile, overlap included, and the most lines: what the run-time registers may have.
    beat
        Bytes a cycle of its input stream or its output stream.
    source
        Its new pixels come from an input stream, not from a stage.
    written
        Its new pixels go out through an output stream, because somebody reads them after the stack, or a skip of
        the stack goes through DRAM.
    overlap_in
        The most overlap columns of a line in any tile: what the map's queue behind the overlap port holds.
    overlap_out
        The most new columns of a line that go out through the overlap port in any tile, for later ones.
    queue
        Pixels that wait between the stage that makes them and the ring. `OUTPUT_QUEUE` of them let both work in every
        cycle; more keep a stage with a stride, which makes its outputs in some lines only, from holding others up.
    """

    channels: int
    pixels: int
    line: int
    lines: int
    beat: int = 1
    source: bool = False
    written: bool = False
    overlap_in: int = 0
    overlap_out: int = 0
    queue: int = OUTPUT_QUEUE

    def __post_init__(self) -> None:
        _check("channels", self.channels, 1, MOST_CHANNELS)
        _check("pixels", self.pixels, 0, MOST_PIXELS)
        _check("line", self.line, 1, MOST_LINE)
        _check("lines", self.lines, 1, MOST_LINE)
        _check("beat", self.beat, 1, min(MOST_BEAT, self.channels))
        _check("overlap_in", self.overlap_in, 0, self.line)
        _check("overlap_out", self.overlap_out, 0, self.line)
        _check("queue", self.queue, OUTPUT_QUEUE, MOST_QUEUE)

    @property
    def elements(self) -> int:
        """Elements of the ring."""
        return self.channels * self.pixels


@dataclass(frozen=True)
class WindowStage:
    """A window over one map: what `ConvStage` and `PoolStage` share."""

    reads: int
    makes: int
    kernel: Pair
    stride: Pair

    def check(self) -> None:
        """Raise `ParameterError` unless kernel and stride can be built."""
        for name, pair in (("kernel", self.kernel), ("stride", self.stride)):
            for extent in pair:
                _check(name, extent, 1, 255)

    @property
    def taps(self) -> int:
        """Pixels of a window."""
        return self.kernel[0] * self.kernel[1]


@dataclass(frozen=True)
class ConvStage(WindowStage):
    """A convolution with bias, requantisation and clipped ReLU.

    Parameters
    ----------
    reads, makes
        Numbers of the maps.
    kernel, stride
        Across and along.
    groups
        Groups of channels; as many as there are input channels: depthwise.
    input_lanes, output_lanes
        Input channels of a group, and output channels, that are multiplied in one cycle: divisors of both.
    """

    groups: int = 1
    input_lanes: int = 1
    output_lanes: int = 1


@dataclass(frozen=True)
class PoolStage(WindowStage):
    """The largest of each window, or its average: sum times a multiplier, shifted. Padding is left out of the
    largest, and counts as zero in the average. ``lanes`` channels a cycle: a divisor of the channels."""

    kind: Literal["max", "average"] = "max"
    lanes: int = 1


@dataclass(frozen=True)
class GlobalPoolStage:
    """The largest, or the average, of all pixels of a map: one pixel. ``lanes`` channels a cycle."""

    reads: int
    makes: int
    kind: Literal["max", "average"] = "average"
    lanes: int = 1


@dataclass(frozen=True)
class Operand:
    """What a join reads: a map, from its ring, or again from DRAM through a skip stream of ``beat`` bytes a cycle.

    ``queue`` pixels wait behind the ring, or behind the stream: the pipeline FIFO of a skip.
    """

    reads: int
    through_dram: bool = False
    queue: int = 2
    beat: int = 1


@dataclass(frozen=True)
class JoinStage:
    """Two or more maps pixel by pixel: their sum, requantised, ``lanes`` channels a cycle; or all their channels."""

    operands: tuple[Operand, ...]
    makes: int
    kind: Literal["add", "concat"] = "add"
    lanes: int = 1


@dataclass(frozen=True)
class ShuffleStage:
    """Pixel shuffle: ``factor`` squared channels become a square of pixels.

    Sub-pixel (p across, q along) of channel c is input channel ``(c factor + p) factor + q``, with ``transposed``
    ``(c factor + q) factor + p``: for lines along the height. ``line`` pixels of the map that it reads wait, but for
    the channels of the first line that each gives.
    """

    reads: int
    makes: int
    factor: int
    line: int
    transposed: bool = False


Stage = ConvStage | PoolStage | GlobalPoolStage | JoinStage | ShuffleStage


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
    """

    maps: tuple[MapParameters, ...]
    stages: tuple[Stage, ...]
    weight_beat: int = 4
    overlap_beat: int = 4

    def __post_init__(self) -> None:
        _check("maps", len(self.maps), 2, MOST_MAPS)
        _check("weight_beat", self.weight_beat, 1, MOST_BEAT)
        _check("overlap_beat", self.overlap_beat, 1, MOST_BEAT)
        made: dict[int, int] = {}
        for number, stage in enumerate(self.stages):
            where = f"stages: {number}"
            for read in reads_of(stage):
                if not 0 <= read < stage.makes < len(self.maps):
                    raise ParameterError(
                        f"{where}: expected to make a map after the one it reads, got {read} -> {stage.makes}"
                    )
            if stage.makes in made:
                raise ParameterError(f"{where}: map {stage.makes} is made by stage {made[stage.makes]} already")
            made[stage.makes] = number
            try:
                self._check_stage(stage)
            except ParameterError as error:
                raise ParameterError(f"{where}: {error}") from None
        for number, one in enumerate(self.maps):
            if one.source == (number in made):
                what = "is a source, but made by a stage" if one.source else "is no source and no stage makes it"
                raise ParameterError(f"maps: {number}: {what}")
            if not one.written and not any(number in ring_reads_of(stage) for stage in self.stages):
                raise ParameterError(f"maps: {number}: nobody reads it and it is not written")

    # --- derived ---

    def maker(self, number: int) -> int | None:
        """The stage that makes a map; None for a source."""
        return next((index for index, stage in enumerate(self.stages) if stage.makes == number), None)

    def window_readers(self, number: int) -> tuple[int, ...]:
        """Stages that read a map while its newest pixel is in flight: all but joins."""
        return tuple(
            index
            for index, stage in enumerate(self.stages)
            if not isinstance(stage, JoinStage) and stage.reads == number
        )

    def join_readers(self, number: int) -> tuple[tuple[int, int], ...]:
        """Stage and operand of the joins that read a map from its ring."""
        return tuple(
            (index, place)
            for index, stage in enumerate(self.stages)
            if isinstance(stage, JoinStage)
            for place, operand in enumerate(stage.operands)
            if operand.reads == number and not operand.through_dram
        )

    def skips(self) -> Iterator[tuple[int, int]]:
        """Stage and operand of every skip that comes through DRAM."""
        for index, stage in enumerate(self.stages):
            if isinstance(stage, JoinStage):
                yield from ((index, place) for place, operand in enumerate(stage.operands) if operand.through_dram)

    @property
    def sources(self) -> tuple[int, ...]:
        """The maps that come through input streams."""
        return tuple(number for number, one in enumerate(self.maps) if one.source)

    @property
    def written(self) -> tuple[int, ...]:
        """The maps that go out through output streams."""
        return tuple(number for number, one in enumerate(self.maps) if one.written)

    def steps(self, number: int) -> int:
        """Cycles that a stage works on one output pixel (on one input pixel for a global pool)."""
        stage = self.stages[number]
        match stage:
            case ConvStage():
                inputs, outputs = self.maps[stage.reads].channels, self.maps[stage.makes].channels
                blocks = inputs // stage.groups // stage.input_lanes * (outputs // stage.output_lanes)
                return stage.taps * blocks
            case PoolStage():
                return stage.taps * (self.maps[stage.reads].channels // stage.lanes)
            case GlobalPoolStage():
                return self.maps[stage.reads].channels // stage.lanes
            case JoinStage():
                return self.maps[stage.makes].channels // stage.lanes if stage.kind == "add" else 1
            case ShuffleStage():
                return 1

    def weight_words(self, number: int) -> tuple[int, int]:
        """Words of a convolution's weight memory, and the bytes of a word."""
        stage = self.stages[number]
        assert isinstance(stage, ConvStage)
        return self.steps(number), stage.input_lanes * stage.output_lanes

    def memory_words(self, number: int) -> dict[str, tuple[int, int]]:
        """The memories of a stage: words, and bytes of a word."""
        stage = self.stages[number]
        if isinstance(stage, ConvStage):
            blocks = self.maps[stage.makes].channels // stage.output_lanes
            return {"weights": self.weight_words(number), "bias": (blocks, BIAS_BYTES * stage.output_lanes)}
        if isinstance(stage, ShuffleStage):
            channels = self.maps[stage.reads].channels
            return {"memory": (stage.line, channels * (stage.factor - 1) // stage.factor)}
        return {}

    # --- checks ---

    def _check_stage(self, stage: Stage) -> None:
        made = self.maps[stage.makes]
        match stage:
            case ConvStage():
                self._check_conv(stage, made)
            case PoolStage() | GlobalPoolStage():
                if isinstance(stage, PoolStage):
                    stage.check()
                self._check_same("channels", self.maps[stage.reads].channels, made.channels)
                _check_divides("lanes", stage.lanes, made.channels)
            case JoinStage():
                self._check_join(stage, made)
            case ShuffleStage():
                _check("factor", stage.factor, 2, 16)
                _check("line", stage.line, 1, MOST_LINE)
                self._check_same(
                    "channels", self.maps[stage.reads].channels, made.channels * stage.factor * stage.factor
                )

    def _check_conv(self, stage: ConvStage, made: MapParameters) -> None:
        stage.check()
        inputs = self.maps[stage.reads].channels
        _check_divides("groups", stage.groups, inputs)
        _check_divides("groups", stage.groups, made.channels)
        _check_divides("input_lanes", stage.input_lanes, inputs // stage.groups)
        _check_divides("output_lanes", stage.output_lanes, made.channels)

    def _check_join(self, stage: JoinStage, made: MapParameters) -> None:
        if len(stage.operands) < 2:
            raise ParameterError(f"operands: expected two or more, got {len(stage.operands)}")
        channels = [self.maps[operand.reads].channels for operand in stage.operands]
        if stage.kind == "concat":
            channels = [sum(channels)]
        for one in channels:
            self._check_same("channels", one, made.channels)
        _check_divides("lanes", stage.lanes, made.channels)
        for operand in stage.operands:
            _check("queue", operand.queue, 1, MOST_QUEUE)
            _check("beat", operand.beat, 1, min(MOST_BEAT, self.maps[operand.reads].channels))

    @staticmethod
    def _check_same(name: str, got: int, expected: int) -> None:
        if got != expected:
            raise ParameterError(f"{name}: expected {expected}, got {got}")


def reads_of(stage: Stage) -> tuple[int, ...]:
    """The maps that a stage reads, through DRAM too."""
    return tuple(operand.reads for operand in stage.operands) if isinstance(stage, JoinStage) else (stage.reads,)


def ring_reads_of(stage: Stage) -> tuple[int, ...]:
    """The maps that a stage reads on chip."""
    if isinstance(stage, JoinStage):
        return tuple(operand.reads for operand in stage.operands if not operand.through_dram)
    return (stage.reads,)


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ParameterError(f"{name}: expected {least} to {most}, got {value}")


def _check_divides(name: str, value: int, of: int) -> None:
    if value < 1 or of % value:
        raise ParameterError(f"{name}: expected a divisor of {of}, got {value}")
