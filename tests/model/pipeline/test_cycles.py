"""Cycles of small pipelines by hand: the pace of a stage, padding, queues, standstill, the order of the port.

That the hardware takes exactly these cycles is tested where it is simulated.
"""

from dataclasses import dataclass

import pytest

from hwgen.arch.latency import CONV_REGISTERS, POOL_REGISTERS
from hwgen.model.pipeline.cycles import (
    CONV,
    JOIN,
    OPERAND,
    OUTPUT,
    POOL,
    SAVED,
    Branch,
    Map,
    Pipeline,
    Source,
    Stage,
    play,
)


def one_stage(stage: Stage, line: int, lines: int, *, columns: int, ring: int = 0, beats: int = 1) -> Pipeline:
    maps = (Map(line, lines, 0, 0, ring, -1, 0, 1, 2), Map(columns, stage.lines, 0, 0, 0, 0, 0, 1, 2))
    output = Branch(OUTPUT, 1, 0, columns, 2, beats)
    return Pipeline(maps, (stage,), (output,), (Source(line, lines, 1),))


def pixelwise(steps: int, line: int, lines: int, beats: int = 1) -> Pipeline:
    stage = Stage(CONV, 0, 1, steps, lines=lines, columns=line, registers=CONV_REGISTERS)
    return one_stage(stage, line, lines, columns=line, beats=beats)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_a_stage_takes_its_steps_for_every_pixel(steps: int) -> None:
    # start, a beat, in flight; steps; multiply, add, requantise, collect, queue, in flight, queue, out
    assert play(pixelwise(steps, 3, 1)).cycles == 3 + 3 * steps + 8
    assert play(pixelwise(steps, 9, 5)).cycles == 3 + 45 * steps + 8


@pytest.mark.parametrize("more", [1, 4])
def test_registers_of_the_datapath_cost_their_cycles_once(more: int) -> None:
    one = pixelwise(2, 3, 1)
    (stage,) = one.stages
    deeper = one._replace(stages=(stage._replace(registers=CONV_REGISTERS + more),))
    assert play(deeper).cycles == play(one).cycles + more


def test_the_last_step_of_each_tile() -> None:
    tile = pixelwise(4, 9, 5)
    once, twice = play(tile), play([tile, tile])
    assert once.worked == ((once.cycles - 8,),)
    # 8 cycles from a step to the end of the run; a turn, a beat and the first pixel in flight between two tiles
    assert twice.worked == ((once.cycles - 8,), (once.cycles - 8 + 4 + 9 * 5 * 4,))
    assert twice.cycles == twice.worked[-1][0] + 8


def test_a_slow_output_sets_the_pace() -> None:
    assert play(pixelwise(2, 9, 5, beats=6)).cycles - play(pixelwise(2, 9, 4, beats=6)).cycles == 9 * 6


def test_padding_and_pixels_that_complete_nothing() -> None:
    # 3 by 3 with padding on 4 by 4: five pixels before the first window, and each line's first, complete none
    padded = Stage(POOL, 0, 1, 5, 3, 3, 1, 1, 4, 4, 1, 1, registers=POOL_REGISTERS)
    ring = 2 * 4 + 2
    none = 5 + 2
    # below the map the offsets of one line are counted down once
    assert play(one_stage(padded, 4, 4, columns=4, ring=ring)).cycles == 3 + none + 16 * 5 + 1 + 7
    # every second window of every second line; nothing is left of a line after its last window
    strided = Stage(POOL, 0, 1, 5, 2, 2, 2, 2, 2, 2, 1, 1, registers=POOL_REGISTERS)
    assert play(one_stage(strided, 4, 4, columns=2, ring=5)).cycles == 3 + 12 + 4 * 5 + 7


@dataclass(frozen=True)
class Skip:
    """A map that goes through a late window and past it."""

    ring: int
    queue: int = 2

    @property
    def pipeline(self) -> Pipeline:
        line, lines = 8, 6
        maps = (
            Map(line, lines, 0, 0, self.ring, -1, 0, 1, 2),
            Map(line, lines, 0, 0, 0, 0, 0, 1, 2),
            Map(line, lines, 0, 0, 0, 1, 0, 1, 2),
        )
        late = Stage(CONV, 0, 1, 4, 3, 3, 1, 1, lines, line, 1, 1, registers=CONV_REGISTERS)
        join = Stage(JOIN, 0, 2, 1)
        branches = (
            Branch(OPERAND, 0, 0, line, self.queue, target=1),
            Branch(OPERAND, 1, 0, line, self.queue, target=1),
            Branch(OUTPUT, 2, 0, line, 2),
        )
        return Pipeline(maps, (late, join), branches, (Source(line, lines, 1),))


def test_a_skip_needs_a_line_and_a_pixel() -> None:
    assert play(Skip(ring=8 + 1).pipeline).cycles > 0
    assert play(Skip(ring=2).pipeline).cycles == -1
    paces = [play(Skip(ring=18, queue=queue).pipeline).cycles for queue in (2, 20)]
    assert paces[0] == paces[1] == pytest.approx(48 * 4, rel=0.2)


def test_the_port_serves_the_maps_as_they_want_it() -> None:
    line, lines = 6, 5
    first = Map(line, lines, 2, 1, 2 * line + 2, -1, 0, 1, 2)
    second = Map(4, lines, 1, 2, 0, 0, 0, 1, 2)
    stage = Stage(CONV, 0, 1, 3, 3, 3, 1, 1, lines, 3, 1, 3, registers=CONV_REGISTERS)
    branches = (Branch(SAVED, 0, 5, 1, 2), Branch(SAVED, 1, 2, 2, 2), Branch(OUTPUT, 1, 1, 3, 2))
    pipeline = Pipeline((first, second), (stage,), branches, (Source(4, lines, 1),))
    seen = play(pipeline)
    # the second map asks for the next line when the one before has come, which is a line of the first later
    assert seen.incoming == (0, 1, 0, 0, 1, 0, 1, 0, 1, 1)
    assert seen.outgoing == (0, 0, 1, 0, 1, 0, 1, 0, 1, 1)
    assert play(pipeline, seen.incoming, seen.outgoing).cycles > 0
    assert play(pipeline, (1,) * lines + (0,) * lines, seen.outgoing).cycles == -1
