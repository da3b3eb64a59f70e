"""Does a stack keep pace? Its output against its slowest stage, tile by tile, by the harness' cycles."""

from dataclasses import asdict, dataclass
from typing import Any

from cosim.pipeline.comparison import StackResult
from hwgen.lower.pipeline.pace import slowest_stage

__all__ = ["TilePace", "pace_of"]

WITHIN = 0.02
"""The output's pixels may come that much slower or faster than the slowest stage works."""


@dataclass(frozen=True)
class TilePace:
    """One tile of a stack; cycles.

    Members
    -------
    fill : from the start to the first beat of the output.
    between : from there to its last beat.
    drain : from there to the end.
    slowest : the slowest stage's work for a pixel of the output.
    measured : from pixel to pixel of the output in whole lines, as long as the slowest stage has work; None: it has
        none any more when the second line is complete.
    waited : in which a stream was ready at one side only, all but skips: see `cosim.pipeline.run.StreamTimes`.
    behind : the same of skips through DRAM: they are read as soon as the stack has written them, well ahead of their
        use; that none of it holds anybody up is what ``measured`` shows.
    """

    fill: int
    between: int
    drain: int
    slowest: float
    measured: float | None
    waited: int
    behind: int

    @property
    def failures(self) -> list[str]:
        """What is wrong with the pace, a line each."""
        lines = []
        if self.measured is not None and abs(self.measured / self.slowest - 1) > WITHIN:
            lines.append(
                f"{self.measured:.2f} cycles from pixel to pixel, the slowest stage takes {self.slowest:.2f}"
            )
        if self.waited:
            lines.append(f"streams wait {self.waited} cycles")
        return lines

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "failures": self.failures}


def pace_of(result: StackResult) -> list[TilePace]:
    """Tile by tile, those that make some of the last row's map."""
    parameters, tiles = result.run.parameters, result.run.program.tiles
    name = f"o_map{parameters.stages[-1].makes}"
    paces = []
    for tile, times in zip(tiles, result.result.times[-len(tiles) :], strict=True):
        columns = tile.streams[name].count
        if not columns:
            continue
        stream, work = times.streams[name], slowest_stage(parameters, tile.registers)
        # It works at least until then; it begins when its first window is complete.
        steady = [end for end in times.lines[name] if end <= times.began + work]
        measured = (steady[-1] - steady[0]) / (columns * (len(steady) - 1)) if len(steady) > 1 else None
        paces.append(
            TilePace(
                stream.first - times.began,
                stream.last - stream.first,
                times.ended - stream.last,
                work / (columns * len(times.lines[name])),
                measured,
                sum(one.waited for port, one in times.streams.items() if not port.startswith("i_skip")),
                sum(one.waited for port, one in times.streams.items() if port.startswith("i_skip")),
            )
        )
    return paces
