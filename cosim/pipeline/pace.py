"""The pace of a simulated stack: the cycles of its output compared with those of its slowest stage, tile by tile."""

from dataclasses import asdict, dataclass
from typing import Any

from cosim.pipeline.comparison import StackResult
from hwgen.lower.pipeline.pace import slowest_stage

__all__ = ["RunPace", "TilePace", "pace_of"]

WITHIN = 0.02
"""The largest accepted difference between the pace of the output and that of the slowest stage."""


@dataclass(frozen=True)
class TilePace:
    """Cycles of one tile of a stack.

    Members
    -------
    cycles : from the start of the run, or from the last line of the tile before, to the last line of this one.
    slowest : work of the slowest stage for one pixel of the output.
    measured : cycles from pixel to pixel of the output. Of the first tile over whole lines, while the slowest stage
        has work; None: its work ends before the second line of the output is complete. Of later ones over ``cycles``,
        so that the border to the tile before is in it.
    within : by which part that may differ from ``slowest``. At a border a line of the map with the fewest lines may
        be lost: while a stage completes the windows below its last line it takes no pixels, and the one before it
        stands still.
    """

    cycles: int
    slowest: float
    measured: float | None
    within: float = WITHIN

    @property
    def failures(self) -> list[str]:
        """One line for each thing that is wrong with the pace."""
        if self.measured is not None and abs(self.measured / self.slowest - 1) > self.within:
            return [f"{self.measured:.2f} cycles from pixel to pixel, the slowest stage takes {self.slowest:.2f}"]
        return []


@dataclass(frozen=True)
class RunPace:
    """Cycles of a run of tiles.

    Members
    -------
    tiles : those that make pixels of the last row's map.
    drain : cycles from the last line of the last of them to the end of the run.
    waited : stall cycles of all streams but skips: see `cosim.pipeline.run.StreamTimes`.
    behind : stall cycles of skips through DRAM. These streams read ahead and wait for data that the stack has yet to
        write; the pace of the tiles shows that this does not slow the output.
    """

    tiles: tuple[TilePace, ...]
    drain: int
    waited: int
    behind: int

    @property
    def failures(self) -> list[str]:
        """One line for each thing that is wrong with the pace."""
        lines = [f"tile {number}: {line}" for number, tile in enumerate(self.tiles) for line in tile.failures]
        return [*lines, f"streams wait {self.waited} cycles"] if self.waited else lines

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "failures": self.failures}


def pace_of(result: StackResult) -> RunPace:
    """The pace of a run."""
    parameters, times = result.run.parameters, result.result.times[-1]
    name = f"o_map{parameters.stages[-1].makes}"
    tiles = [tile for tile in result.run.program.tiles if tile.streams[name].count]
    count, before = len(times.lines[name]) // len(tiles), times.began
    border = max(WITHIN, 1 / min(one.lines for one in result.run.program.plan.maps))
    found: list[TilePace] = []
    for number, tile in enumerate(tiles):
        lines = times.lines[name][number * count : (number + 1) * count]
        columns, work = tile.streams[name].count, slowest_stage(parameters, tile.registers)
        cycles = lines[-1] - before
        if found:
            found.append(TilePace(cycles, work / (columns * count), cycles / (columns * count), border))
        else:
            # The slowest stage has work at least until then: it starts when its first window is complete.
            steady = [end for end in lines if end <= before + work]
            measured = (steady[-1] - steady[0]) / (columns * (len(steady) - 1)) if len(steady) > 1 else None
            found.append(TilePace(cycles, work / (columns * count), measured))
        before = lines[-1]
    skips, others = (
        sum(one.waited for port, one in times.streams.items() if port.startswith("i_skip") == skip)
        for skip in (True, False)
    )
    return RunPace(tuple(found), times.ended - before, others, skips)
