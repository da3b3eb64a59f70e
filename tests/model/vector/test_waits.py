"""What the vector unit waits for the DMA at the banks: the words that may meet it, by hand."""

from typing import Any

import pytest

from hwgen.arch.vector.job import VectorJob
from hwgen.arch.vector.shape import VectorShape
from hwgen.model.vector.cycles import vector_access, vector_waits

CHANCE = 0.25


def job(**rest: Any) -> VectorJob:
    """A job on three maps of 20 rows of 40 bytes without gaps, as many windows as fit."""
    (high, wide), (down, right) = rest.get("kernel", (1, 1)), rest.get("stride", (1, 1))
    fixed = {
        "mode": "maximum", "channels": 3, "rows": (20 - high) // down + 1, "columns": (40 - wide) // right + 1,
        "input": 0, "input_pitch": 40, "input_plane": 800, "height": 20, "width": 40,
        "output": 3000, "output_pitch": 40, "output_plane": 800,
    }  # fmt: skip
    return VectorJob(**(fixed | rest))


@pytest.mark.parametrize("elements", [4, 8])
def test_each_word_of_a_strip_waits(elements: int) -> None:
    """Two windows end in four columns, three in eight, and a strip has as many rows or more."""
    shape, one = VectorShape(elements), job(kernel=(4, 3), stride=(2, 2), strips=True)
    assert vector_waits(one, shape, CHANCE) == CHANCE * vector_access(one, shape).inputs.words
    assert vector_waits(one, shape, CHANCE) == CHANCE * 3 * 9 * 4 * 40 / elements


def test_a_strip_that_is_there_before_it_is_needed_is_late_for_nothing() -> None:
    """Four windows end in each of the strips but the first, which takes two cycles to read."""
    shape, one = VectorShape(4), job(kernel=(2, 2), strips=True)
    assert vector_waits(one, shape, CHANCE) == 0
    words, spare = 3 * 19 * 2 * 10, 3 * 19 * (1 + 9 * 2)
    assert vector_waits(one, shape, 0.99) == pytest.approx(0.99 * words - spare)


def test_the_first_word_of_each_line_of_a_window_waits() -> None:
    shape = VectorShape(2)
    assert vector_waits(job(kernel=(3, 9), stride=(1, 2)), shape, CHANCE) == CHANCE * 3 * 18 * 16 * 3
    above = job(kernel=(3, 9), stride=(1, 2), padding=(1, 0))  # the first window has a line less
    assert vector_waits(above, shape, CHANCE) == CHANCE * 3 * (18 * 3 - 1) * 16
    one_line = job(mode="average", kernel=(1, 40))
    assert vector_waits(one_line, shape, CHANCE) == CHANCE * 3 * 20


def test_sums_wait_for_each_word_and_copies_for_none() -> None:
    shape = VectorShape(4)
    assert vector_waits(job(mode="add", second=1000), shape, CHANCE) == CHANCE * 2 * 3 * 20 * 10
    assert vector_waits(job(), shape, CHANCE) == 0
