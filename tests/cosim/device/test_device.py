"""Sizes of the memories that are simulated."""

import pytest

from cosim.device.device import dram_depth
from hwgen.ir.document import InputError


@pytest.mark.parametrize(
    ("words", "depth"), [(1, 18), (1 << 18, 18), ((1 << 18) + 1, 20), ((1 << 24) + 1, 26), (1 << 28, 28)]
)
def test_a_dram_is_the_smallest_that_holds_the_image(words: int, depth: int) -> None:
    """Networks of more than 64 MiB, as VGG19 is, could not be run once."""
    assert dram_depth(words) == depth


def test_an_image_that_no_dram_holds_is_refused() -> None:
    with pytest.raises(InputError, match=r"at most 1,073,741,824 bytes to simulate, got 1,073,741,828"):
        dram_depth((1 << 28) + 1)
