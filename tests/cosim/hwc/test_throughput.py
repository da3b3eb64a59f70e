"""The streams keep up with the datapath: with room for a second box it hardly ever waits for input or weights."""

import pytest

from cosim.hwc.preparation import prepare
from cosim.hwc.results import judge
from cosim.hwc.runner import run_jobs
from hwgen.export.cached import generated
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc import compile_layer
from tests.random.layers import order_from

LANES = Lanes(x=16)
STREAMS = "m y x O c I k W l m y x"
SMALL = Hardware(
    name="small", lanes=LANES, budget=1024, buffers={"I": 128, "W": 64, "O": 768}, order=order_from(STREAMS)
)


def layer(name: str, *, kernel: int, stride: int = 1, padding: int = 0, outputs: int = 24) -> Layer:
    """A map of 15 rows of 14 outputs."""
    height, width = (extent * stride + kernel - 2 * padding for extent in (14, 13))
    return Layer(
        name=name, input_channels=24, output_channels=outputs, input_height=height, input_width=width,
        output_height=15, output_width=14, kernel=kernel, stride=stride, padding=padding,
    )  # fmt: skip


def stalls(of: Layer, *, rows: int, buffers: dict[str, int]) -> tuple[int, int, int]:
    """Cycles that were spent on multiplying, in waiting for the input, and for weights; the run must be right."""
    steps = [Loop("m", 12 // rows), Loop("y", rows), Loop("x", 14), Marker(("O",)), Loop("c", 1), Marker(("I",))]
    steps += [Loop("k", 1), Marker(("W",)), Loop("l", 1), Loop("m", 1), Loop("y", 1), Loop("x", 14)]
    schedule = Schedule(layer=of, nest=tuple(steps), lanes=LANES)
    run = prepare(compile_layer(schedule, SMALL.model_copy(update={"buffers": buffers})))
    (outcome,) = run_jobs(generated(run.program.parameters), [run.job], fast=False)
    result = judge(run, outcome, "verilator")
    assert result.passed, result.failures
    return run.prediction.iterations, result.stalls["input"], result.stalls["weight"]


@pytest.mark.parametrize(
    ("of", "rows"),
    [
        # A box of the input lasts twelve cycles and needs four words.
        pytest.param(layer("one_tap", kernel=1), 1, marks=pytest.mark.nightly),
        # As many words as cycles: twelve. A box of less than nine would have to wait for the next one to be placed.
        (layer("one_tap_three_rows", kernel=1, outputs=8), 3),
        (layer("three_taps", kernel=3, padding=1), 1),
        (layer("every_other_column", kernel=1, stride=2), 1),
    ],
    ids=lambda value: value.name if isinstance(value, Layer) else "",
)
def test_streams_keep_up(of: Layer, rows: int) -> None:
    assert SMALL.buffers is not None
    iterations, input_, weight = stalls(of, rows=rows, buffers=SMALL.buffers)
    assert input_ + weight < 0.01 * iterations


@pytest.mark.nightly
def test_without_room_for_a_second_box_they_do_not() -> None:
    """So the counters do count."""
    iterations, input_, _ = stalls(
        layer("no_room", kernel=1, outputs=6), rows=2, buffers={"I": 32, "W": 64, "O": 768}
    )
    assert input_ > 0.2 * iterations
