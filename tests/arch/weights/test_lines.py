"""Lines of weights, by hand."""

import pytest

from hwgen.arch.weights import WeightLines
from hwgen.ir.lanes import Lanes


def test_only_lanes_along_c_have_lines() -> None:
    assert WeightLines.of(Lanes(m=16)) is None
    assert WeightLines.of(Lanes(c=2, k=2)) is None
    assert WeightLines.of(Lanes(m=4, c=4)) == WeightLines(4, 4)
    assert WeightLines.of(Lanes(m=4, c=2).halved(), 16) == WeightLines(4, 1, bits=16)


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
        (WeightLines(4, 4, bits=16), 4, 4, 8, 32),
    ],
)
def test_words_and_bytes(lines: WeightLines, outputs: int, channels: int, words: int, packed: int) -> None:
    assert lines.words(outputs, channels) == words
    assert lines.packed(channels) == packed
    assert len(lines.used(outputs, channels)) == outputs * channels * lines.bits // 8


@pytest.mark.parametrize("word", [4, 16, 64])
@pytest.mark.parametrize("lanes", [Lanes(m=4, c=4), Lanes(m=16, c=2), Lanes(c=16), Lanes(m=2, c=2, x=4)], ids=str)
def test_lines_of_weights_of_16_bits_are_as_long(lanes: Lanes, word: int) -> None:
    narrow, wide = WeightLines.of(lanes, 8, word), WeightLines.of(lanes.halved(), 16, word)
    assert narrow
    assert wide
    assert wide.stored == narrow.stored
    assert wide.packed(wide.channels) == narrow.packed(narrow.channels)
    assert (wide.pitch, wide.channels) == (2 * narrow.pitch, narrow.channels // 2)


@pytest.mark.parametrize(
    ("lines", "lane_words", "word_lanes"),
    [(WeightLines(8, 2), 2, 1), (WeightLines(2, 8), 1, 2), (WeightLines(4, 4, bits=16, word=16), 1, 2)],
)
def test_words_and_lanes_share_each_other(lines: WeightLines, lane_words: int, word_lanes: int) -> None:
    assert (lines.lane_words, lines.word_lanes) == (lane_words, word_lanes)


def test_a_line_fills_at_least_a_word_of_the_memory() -> None:
    assert WeightLines(1, 2).stored == 4
    assert WeightLines(8, 8).stored == 64
