"""The output's stream where sums are scaled: records in place of biases, more stages, one to four outputs a cycle."""

from dataclasses import replace
from random import Random

import pytest

from hwgen.ir.requantisation import Requantisation, Scale
from tests.gateware.hwc.output.test_stream import ORDERS, SHAPES, Task, check, task_for


def with_scales(task: Task, rng: Random, requantisers: int) -> Task:
    """The same task with a scale for each channel, for sums of any size, and a zero point."""
    scales = []
    for _ in range(task.extents["m"]):
        multiplier = rng.choice((1, rng.randrange(1, 1 << 16), rng.randrange(1 << 15, 1 << 16)))
        scales.append(Scale(multiplier, min(multiplier.bit_length() + rng.randint(20, 26), 47)))
    low, high = rng.choice(((-128, 127), (-20, 90)))
    form = Requantisation(tuple(scales), zero_out=rng.randint(-128, 127), low=low, high=high)
    return replace(task, scaled=form, requantisers=requantisers, spread=1 << 31, unit=0)


@pytest.mark.parametrize("stalls", [True, pytest.param(False, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("shape", "requantisers", "tasks"),
    [
        *(("x16", 1, 1), ("m16", 4, 1), ("m2 y2 x4", 2, 1)),
        *(pytest.param(shape, 1 << number % 3, 6, marks=pytest.mark.nightly) for number, shape in enumerate(SHAPES)),
    ],
)
def test_outputs_and_words_where_sums_are_scaled(shape: str, requantisers: int, tasks: int, stalls: bool) -> None:
    rng = Random(f"{shape} {requantisers} {stalls}")
    for seed in range(tasks):
        depth = rng.choice((1.0, 1.5, 2.0, 3.4))
        task = task_for(SHAPES[shape], ORDERS[seed % 2], rng, depth_in_tiles=depth)
        check(with_scales(task, rng, requantisers), stalls, seed)
