"""The pace of a stack: the cycles of its output compared with those of its slowest stage, tile by tile.

At streams the pace is measured. On a DRAM no stream ends at the harness: there the pace is that of the cycle model,
and is accepted only for a run that takes exactly the cycles of the model.
"""

from dataclasses import asdict, dataclass
from typing import Any

from cosim.pipeline.comparison import StackResult
from hwgen.lower.pipeline.pace import slowest_stage

__all__ = ["RunPace", "TilePace", "border_allowance", "pace_of", "pace_on_dram"]

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
        has work; None: its work ends before the second line of the output is complete, or it is not known. Of later
        ones over ``cycles``, so that the border to the tile before is in it.
    within : by which part that may differ from ``slowest``: see `border_allowance`.
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
    skips_waited : stall cycles of skips through DRAM. These streams read ahead and wait for data that the stack has
        yet to write; the pace of the tiles shows that this does not slow the output.
    differs : of a pace by the cycle model: the simulated cycles of the run less those of the model.
    """

    tiles: tuple[TilePace, ...]
    drain: int
    waited: int
    skips_waited: int
    differs: int = 0

    @property
    def failures(self) -> list[str]:
        """One line for each thing that is wrong with the pace."""
        lines = [f"tile {number}: {line}" for number, tile in enumerate(self.tiles) for line in tile.failures]
        if self.differs:
            lines.append(f"the run takes {self.differs} cycles more than the model that the pace is from")
        return [*lines, f"streams wait {self.waited} cycles"] if self.waited else lines

    def as_json(self) -> dict[str, Any]:
        """The value as plain data."""
        return {**asdict(self), "failures": self.failures}


def border_allowance(lines: int) -> float:
    """The part by which a tile after another may differ from the work of its slowest stage.

    2 %, as within a tile. At a border a line is lost: while a stage completes the windows below its last line it
    takes no pixels, and the one before it stands still. So maps of fewer than 50 ``lines``, of which a line is more
    than that, may lose a line. None of the stacks that are simulated at their published size has such a map.
    """
    return max(WITHIN, 1 / lines)


def pace_on_dram(result: StackResult) -> RunPace:
    """The pace of a run with movers, by the cycle model; that of its first tile is left open.

    The output of a tile ends with the last step of the last stage. Where that is a join the pace is not known.
    """
    run, played = result.run, result.run.played
    tiles = [place for place, tile in enumerate(run.program.tiles) if tile.streams[_output(result)].count]
    ends = [played.worked[place][-1] for place in tiles]
    allowance = border_allowance(_fewest_lines(result))
    found: list[TilePace] = []
    for number, (place, end) in enumerate(zip(tiles, ends, strict=True)):
        tile = run.program.tiles[place]
        pixels = tile.registers[f"map{run.parameters.stages[-1].makes}_lines"] * tile.streams[_output(result)].count
        slowest = slowest_stage(run.parameters, tile.registers) / pixels
        cycles = end - (ends[number - 1] if number else 0)
        measured = cycles / pixels if number and end else None
        found.append(TilePace(cycles, slowest, measured, allowance if number else WITHIN))
    return RunPace(tuple(found), played.cycles - ends[-1], 0, 0, result.cycles - played.cycles)


def _output(result: StackResult) -> str:
    """The stream of the stack's output."""
    return f"o_map{result.run.parameters.stages[-1].makes}"


def _fewest_lines(result: StackResult) -> int:
    return min(one.lines for one in result.run.program.plan.maps)


def pace_of(result: StackResult) -> RunPace:
    """The pace of a run, measured at its streams."""
    parameters, times = result.run.parameters, result.result.times[-1]
    name = _output(result)
    tiles = [tile for tile in result.run.program.tiles if tile.streams[name].count]
    count, before = len(times.lines[name]) // len(tiles), times.began
    border = border_allowance(_fewest_lines(result))
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
