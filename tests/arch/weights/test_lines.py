"""Lines of weights, by hand."""

import pytest

from hwgen.arch.weights.lines import WeightLines
from hwgen.ir.lanes import Lanes


def test_only_lanes_along_c_have_lines() -> None:
    assert WeightLines.of(Lanes(m=16)) is None
    assert WeightLines.of(Lanes(c=2, k=2)) is None
    assert WeightLines.of(Lanes(m=4, c=4)) == WeightLines(4, 4)


@pytest.mark.parametrize(
    ("lines", "outputs", "channels", "words", "packed"),
    [
        (WeightLines(4, 4), 4, 4, 4, 16),  # a word for each channel
        (WeightLines(4, 4), 1, 3, 3, 12),  # the same, with one byte used of each
        (WeightLines(8, 2), 5, 2, 4, 16),  # two words for each channel
        (WeightLines(8, 2), 4, 2, 2, 16),  # the second word of each is not fetched
        (WeightLines(2, 8), 2, 8, 4, 16),  # two channels in a word
        (WeightLines(2, 8), 1, 3, 2, 8),
        (WeightLines(1, 16), 1, 5, 2, 8),
        (WeightLines(1, 2), 1, 2, 1, 4),  # half of a word
        (WeightLines(4, 4, element=2), 4, 4, 8, 32),
    ],
)
def test_words_and_bytes(lines: WeightLines, outputs: int, channels: int, words: int, packed: int) -> None:
    assert lines.words(outputs, channels) == words
    assert lines.packed(channels) == packed
    assert len(lines.used(outputs, channels)) == outputs * channels * lines.element


def test_a_line_fills_at_least_a_word_of_the_memory() -> None:
    assert WeightLines(1, 2).stored == 4
    assert WeightLines(8, 8).stored == 64
