"""The pace of a simulated stack: the cycles of its output compared with those of its slowest stage, tile by tile."""

from dataclasses import asdict, dataclass
from typing import Any

from cosim.pipeline.comparison import StackResult
from hwgen.lower.pipeline.pace import slowest_stage

__all__ = ["TilePace", "pace_of"]

WITHIN = 0.02
"""The largest accepted difference between the pace of the output and that of the slowest stage."""


@dataclass(frozen=True)
class TilePace:
    """Cycles of one tile of a stack.

    Members
    -------
    fill : from the start to the first beat of the output.
    between : from the first to the last beat of the output.
    drain : from the last beat to the end of the tile.
    slowest : work of the slowest stage for one pixel of the output.
    measured : cycles from pixel to pixel of the output, over whole lines, while the slowest stage has work. None: its
        work ends before the second line of the output is complete.
    waited : stall cycles of all streams but skips: see `cosim.pipeline.run.StreamTimes`.
    behind : stall cycles of skips through DRAM. These streams read ahead and wait for data that the stack has yet to
        write; ``measured`` shows that this does not slow the output.
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
        """One line for each thing that is wrong with the pace."""
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
    """The pace of each tile that makes pixels of the last row's map."""
    parameters, tiles = result.run.parameters, result.run.program.tiles
    name = f"o_map{parameters.stages[-1].makes}"
    paces = []
    for tile, times in zip(tiles, result.result.times[-len(tiles) :], strict=True):
        columns = tile.streams[name].count
        if not columns:
            continue
        stream, work = times.streams[name], slowest_stage(parameters, tile.registers)
        # The slowest stage has work at least until then: it starts when its first window is complete.
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
