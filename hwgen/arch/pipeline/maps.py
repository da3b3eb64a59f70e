"""The feature maps of a pipeline: their rings and their streams; checks that maps and stages share."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hwgen.arch.parameter_error import ParameterError

__all__ = [
    "LEAST_QUEUE",
    "MOST_BEAT",
    "MOST_LINE",
    "MOST_QUEUE",
    "OUTPUT_QUEUE",
    "MapParameters",
    "StreamPort",
    "check_divides",
    "check_equal",
    "check_range",
    "stream_ports",
]


def check_range(name: str, value: int, least: int, most: int) -> None:
    """Raise `ParameterError` unless ``value`` is from ``least`` to ``most``."""
    if not least <= value <= most:
        raise ParameterError(f"{name}: expected {least} to {most}, got {value}")


def check_divides(name: str, value: int, of: int) -> None:
    """Raise `ParameterError` unless ``value`` divides ``of``."""
    if value < 1 or of % value:
        raise ParameterError(f"{name}: expected a divisor of {of}, got {value}")


def check_equal(name: str, got: int, expected: int) -> None:
    """Raise `ParameterError` unless both are equal."""
    if got != expected:
        raise ParameterError(f"{name}: expected {expected}, got {got}")


# --- streams of bytes ---

if TYPE_CHECKING:
    from hwgen.arch.pipeline.parameters import PipelineParameters


@dataclass(frozen=True)
class StreamPort:
    """A stream of a pipeline.

    Members
    -------
    name : as in the Verilog, without ``__payload`` and so on.
    reads : into the pipeline; else out of it.
    bytes : of a beat.
    keep : whether it has a port that marks the used bytes of a beat; else all bytes are used.
    apart : the port that marks beats to be counted apart; None: no such port.
    """

    name: str
    reads: bool
    bytes: int
    keep: bool = True
    apart: str | None = None


def stream_ports(parameters: "PipelineParameters") -> tuple[StreamPort, ...]:
    """All streams of a pipeline: first those that it reads, then those that it writes."""
    maps = parameters.maps
    reads = [StreamPort(f"i_map{number}", True, maps[number].beat) for number in parameters.sources]
    for index, place in parameters.skips():
        reads.append(StreamPort(f"i_skip{index}_{place}", True, parameters.operand(index, place).beat))
    if parameters.loads_weights:
        reads.append(StreamPort("i_weights", True, parameters.weight_beat, apart="weights_bias"))
    writes = [StreamPort(f"o_map{number}", False, maps[number].beat) for number in parameters.written]
    if any(one.overlap_in for one in maps):
        reads.append(StreamPort("i_overlap", True, parameters.overlap_beat))
        reads.append(StreamPort("i_overlap_in_order", True, 1, keep=False))
    if any(one.overlap_out for one in maps):
        reads.append(StreamPort("i_overlap_out_order", True, 1, keep=False))
        writes.append(StreamPort("o_overlap", False, parameters.overlap_beat))
    return (*reads, *writes)


# --- feature maps ---

LEAST_QUEUE = 2
"""Pixels of a queue that is filled and drained in every cycle."""
OUTPUT_QUEUE = LEAST_QUEUE
"""Pixels of the shortest queue between a stage and the map that it makes, and before an output stream."""
MOST_CHANNELS = 4096
MOST_PIXELS = 1 << 24
MOST_LINE = (1 << 14) - 1
MOST_BEAT = 64
MOST_QUEUE = 1 << 12


@dataclass(frozen=True)
class MapParameters:
    """One feature map of a pipeline: its ring buffer, and what of it crosses to or from DRAM.

    Parameters
    ----------
    channels
        Elements of a pixel.
    pixels
        Pixels of the ring, without the newest pixel, which is in flight; 0: no memory.
    line, lines
        The longest line of any tile, overlap included, and the most lines: limits of the run-time registers.
    beat
        Bytes a cycle of its input stream or its output stream.
    source
        Its new pixels come from an input stream; else a stage makes them.
    written
        Its new pixels go to an output stream, because they are read after the stack, or because a skip of the stack
        goes through DRAM.
    overlap_in
        The most overlap columns of a line in any tile: the depth of the map's queue after the overlap port.
    overlap_out
        The most new columns of a line that any tile saves through the overlap port for later tiles.
    queue
        Pixels of the queue between the stage that makes them and the ring. `OUTPUT_QUEUE` lets both work in every
        cycle. A stage with a stride makes its outputs in some lines only: a longer queue keeps it from stalling
        the others.
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
        check_range("channels", self.channels, 1, MOST_CHANNELS)
        check_range("pixels", self.pixels, 0, MOST_PIXELS)
        check_range("line", self.line, 1, MOST_LINE)
        check_range("lines", self.lines, 1, MOST_LINE)
        check_range("beat", self.beat, 1, min(MOST_BEAT, self.channels))
        check_range("overlap_in", self.overlap_in, 0, self.line)
        check_range("overlap_out", self.overlap_out, 0, self.line)
        check_range("queue", self.queue, OUTPUT_QUEUE, MOST_QUEUE)

    @property
    def elements(self) -> int:
        """Elements of the ring."""
        return self.channels * self.pixels
