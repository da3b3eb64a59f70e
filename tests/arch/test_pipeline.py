"""Pipelines that cannot be built are refused, each with its reason."""

from dataclasses import replace

import pytest

from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.pipeline import (
    ConvStage,
    GlobalPoolStage,
    JoinStage,
    MapParameters,
    Operand,
    PipelineParameters,
    PoolStage,
    ShuffleStage,
    Stage,
)

MAPS = (MapParameters(4, 10, 8, 8, source=True), MapParameters(4, 2, 8, 8), MapParameters(4, 0, 8, 8, written=True))
CONV = ConvStage(0, 1, (3, 3), (1, 1), groups=1, input_lanes=2, output_lanes=4)
JOIN = JoinStage((Operand(0), Operand(1)), 2)
SOUND = PipelineParameters(MAPS, (CONV, JOIN))


def test_steps_and_readers() -> None:
    assert (SOUND.steps(0), SOUND.steps(1)) == (9 * 2, 4)
    assert SOUND.memory_words(0)["weights"] == (18, 8)
    wide = replace(MAPS[2], channels=8)
    joined = PipelineParameters((*MAPS[:2], wide), (CONV, replace(JOIN, kind="concat")))
    assert joined.steps(1) == 1
    assert (SOUND.window_readers(0), SOUND.join_readers(0), SOUND.join_readers(1)) == ((0,), ((1, 0),), ((1, 1),))
    assert (SOUND.sources, SOUND.written, SOUND.maker(1), SOUND.maker(0)) == ((0,), (2,), 0, None)
    through = replace(SOUND, stages=(CONV, replace(JOIN, operands=(Operand(0, through_dram=True), Operand(1)))))
    assert list(through.skips()) == [(1, 0)]
    assert not through.join_readers(0)


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ((replace(CONV, input_lanes=3), JOIN), "stages: 0: input_lanes: expected a divisor of 4, got 3"),
        ((replace(CONV, groups=4, input_lanes=2), JOIN), "stages: 0: input_lanes: expected a divisor of 1, got 2"),
        ((replace(CONV, output_lanes=0), JOIN), "stages: 0: output_lanes: expected a divisor of 4, got 0"),
        ((replace(CONV, groups=3), JOIN), "stages: 0: groups: expected a divisor of 4, got 3"),
        ((replace(CONV, kernel=(0, 3)), JOIN), "stages: 0: kernel: expected 1 to 255, got 0"),
        ((CONV, replace(JOIN, operands=(Operand(0),))), "stages: 1: operands: expected two or more, got 1"),
        ((CONV, replace(JOIN, kind="concat")), "stages: 1: channels: expected 4, got 8"),
        ((CONV, replace(JOIN, operands=(Operand(0, queue=0), Operand(1)))), "stages: 1: queue: expected 1 to 4096"),
        ((CONV, JOIN, replace(CONV, makes=2)), "stages: 2: map 2 is made by stage 1 already"),
        ((CONV,), "maps: 1: nobody reads it and it is not written"),
        ((JOIN,), "maps: 1: is no source and no stage makes it"),
        ((CONV, replace(CONV, reads=1, makes=1), JOIN), "stages: 1: expected to make a map after the one it reads"),
        ((CONV, ShuffleStage(1, 2, 2, 8)), "stages: 1: channels: expected 16, got 4"),
        ((CONV, PoolStage(1, 2, (2, 2), (2, 2), lanes=3)), "stages: 1: lanes: expected a divisor of 4, got 3"),
        ((CONV, GlobalPoolStage(1, 2, lanes=8)), "stages: 1: lanes: expected a divisor of 4, got 8"),
    ],
)
def test_refuses_stages(stages: tuple[Stage, ...], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        replace(SOUND, stages=stages)
    assert str(error.value).startswith(message)


def test_refuses_maps() -> None:
    for change, message in (
        ({"beat": 5}, "beat: expected 1 to 4, got 5"),
        ({"channels": 0}, "channels: expected 1 to 4096"),
        ({"overlap_in": 9}, "overlap_in: expected 0 to 8, got 9"),
    ):
        with pytest.raises(ParameterError) as error:
            replace(MAPS[0], **change)
        assert str(error.value).startswith(message)
    with pytest.raises(ParameterError, match="maps: 1: is a source, but made by a stage"):
        replace(SOUND, maps=(MAPS[0], replace(MAPS[1], source=True), MAPS[2]))
    with pytest.raises(ParameterError, match="maps: 2: nobody reads it and it is not written"):
        replace(SOUND, maps=(*MAPS[:2], replace(MAPS[2], written=False)))
