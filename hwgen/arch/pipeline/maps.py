"""The feature maps of a pipeline: their rings and their streams."""

from dataclasses import dataclass

from hwgen.arch.pipeline.checks import check_range

__all__ = ["LEAST_QUEUE", "MOST_BEAT", "MOST_LINE", "MOST_QUEUE", "OUTPUT_QUEUE", "MapParameters"]

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
