"""Cycles and stalls of the timing model against those of the RTL."""

from dataclasses import replace
from random import Random

import pytest

import cosim.hwc.preparation
from cosim.device.result import LayerResult
from cosim.hwc.jobs import Job
from cosim.hwc.results import cosimulate
from hwgen.arch.lanes import datapath
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Loop, Marker, Schedule
from hwgen.lower.hwc.program import compile_layer
from hwgen.model.hwc.cycles import HwcTiming
from hwgen.model.hwc.timing.state import PARTS
from hwgen.model.nest.one_level import PerOperand
from tests.cosim.hwc.test_throughput import SMALL, STREAMS
from tests.model.hwc.test_cycles import LEAST, one_operation
from tests.random.layers import hwc as random_hwcs
from tests.random.layers import order_from, schedules_for

LAYERS = 12
# Lanes, order, and memories with little room beyond a box: elements of I for each lane along c, bytes of W, vectors
# of O.
HWCS: dict[str, tuple[Lanes, str, tuple[int, int, int]]] = {
    "outputs stay": (Lanes(m=8, x=2), "m y x O c I k W l m y x", (64, 32, 16)),
    "rows of lanes": (Lanes(m=8, y=2), "m y x O c I k W l m y x", (96, 32, 16)),
    "rows slide": (Lanes(x=16), "m y x O c IW y k m l", (192, 32, 8)),
    "sums leave": (Lanes(m=4, x=4), "c m y x O k I m c y x l", (128, 64, 16)),
    "input held": (Lanes(m=16), "m c y x O c y k W I m x l", (256, 128, 32)),
    "columns slide": (Lanes(m=4, x=4), "m y O c k I x W l m y x", (64, 64, 32)),
    "no marker": (Lanes(x=16), "m y x c k l", (64, 16, 4)),
    "sums of channels": (Lanes(m=4, c=4), "m y x O c I k W l m y x c", (64, 128, 64)),
    "lines pass by": (Lanes(m=2, c=8), "m c x O k W y I l m y x c", (64, 128, 64)),
}
WIDE = ("sums of channels", "lines pass by")
"""Those that compute with 16-bit operands too."""
NIGHTLY = (
    "outputs stay", "rows of lanes", "rows slide", "sums leave", "input held", "columns slide", "no marker",
    "lines pass by",
)  # fmt: skip


def hwc(name: str) -> Hardware:
    lanes, order, (elements, weights, vectors) = HWCS[name]
    buffers = {"I": elements * lanes.y * lanes.c, "W": weights, "O": 4 * lanes.sums * vectors}
    tight = Hardware(name="tight", lanes=lanes, budget=1 << 16, buffers=buffers, order=order_from(order))
    return tight.model_copy(update={"operand_bits": 16 if name in WIDE else 8})


def off(result: LayerResult) -> int:
    return abs(result.predicted_cycles - result.cycles)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in NIGHTLY else name for name in HWCS]
)
def test_random_layers_in_tight_memories(name: str) -> None:
    """Within 1 %, and nearly always to the cycle; the stalls too, each for its reason."""
    schedules = schedules_for(hwc(name), Random(f"cycles: {name}"), LAYERS, 30_000)
    results = cosimulate(schedules, hwc(name), fast=False, seed=1)
    assert not [result.failures for result in results if not result.passed]
    for result in results:
        assert off(result) <= max(0.01 * result.cycles, 12), (result.schedule.as_data(), result.as_json()["cycles"])
    exact = [r for r in results if not off(r) and r.predicted_stalls == r.stalls]
    assert len(exact) >= 0.75 * LAYERS, [r.as_json()["stalls"] for r in results if r not in exact]


@pytest.mark.parametrize("name", ["window", "two_tiles", pytest.param("rows", marks=pytest.mark.nightly)])
def test_what_waits_of_the_output_cost(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector that comes while the port is held up is asked for again: far more cycles than the access waits."""
    rate = 16  # cycles in 256 without a grant: what an access waits comes from it

    def at_the_output(job: Job, _rng: object) -> Job:
        return replace(job, stall_rates=(0, 0, rate), cycle_limit=4 * job.cycle_limit)

    monkeypatch.setattr(cosim.hwc.preparation, "_stalled", at_the_output)
    hardware = random_hwcs(name)
    schedules = schedules_for(hardware, Random(f"waits {name}"), LAYERS, 30_000)
    free = cosimulate(schedules, hardware, fast=False, seed=1)
    held_up = cosimulate(schedules, hardware, fast=False, seed=1, stalls=True)
    waits = PerOperand(0, 0, round(rate / (256 - rate) * PARTS))
    longer = sum(one.cycles for one in held_up) - sum(one.cycles for one in free)
    predicted = sum(timing_of(schedule, hardware).cycles(waits).total for schedule in schedules)
    predicted -= sum(one.predicted_cycles for one in free)
    assert abs(predicted - longer) <= 0.2 * longer, (predicted, longer)


def timing_of(schedule: Schedule, hardware: Hardware) -> HwcTiming:
    parameters = compile_layer(schedule, hardware).parameters
    inputs = parameters.input_elements * schedule.lanes.y * datapath(schedule.lanes, schedule.bits.I).c
    return HwcTiming(
        schedule,
        PerOperand(inputs, parameters.weight_bytes, parameters.output_bytes),
        words_ahead=parameters.input_words_ahead,
    )


@pytest.mark.nightly
def test_the_case_by_hand() -> None:
    lanes = Lanes(x=16)
    buffers = {"I": LEAST.I, "W": LEAST.W, "O": LEAST.O}
    (result,) = cosimulate([one_operation()], Hardware(name="by_hand", lanes=lanes, buffers=buffers), fast=False)
    assert result.passed
    assert result.predicted_cycles == result.cycles == 34


def layer_of(kernel: int, stride: int, channels: int) -> Layer:
    return Layer(
        name=f"kernel_{kernel}_{stride}", input_channels=channels, output_channels=32, input_height=14,
        input_width=14, output_height=14 // stride, output_width=14 // stride, kernel=kernel, stride=stride,
        padding=(kernel - 1) // 2,
    )  # fmt: skip


def test_layers_of_many_tiles() -> None:
    """A hundred thousand cycles in the shape that layers at full size have: tiles of a kind are played once."""
    schedules = []
    for layer in (layer_of(3, 1, 32), layer_of(1, 1, 128), layer_of(3, 2, 64)):
        steps = iter((8, 1, layer.output_width, 1, 1, 1, 1, 1, layer.output_width))
        nest = tuple(item if isinstance(item, Marker) else Loop(item, next(steps)) for item in order_from(STREAMS))
        schedules.append(Schedule(layer=layer, nest=nest, lanes=Lanes(x=16)))
    for result in cosimulate(schedules, SMALL, fast=False, seed=1):
        assert result.passed, result.failures
        assert off(result) <= 0.001 * result.cycles, result.as_json()["cycles"]
