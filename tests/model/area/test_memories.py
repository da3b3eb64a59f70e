"""Memories in cells of an ECP5, by hand."""

import pytest

from hwgen.model.area.terms import MemoryCells, asynchronous, synchronous


@pytest.mark.parametrize(("words", "bits", "cells"), [(16, 4, 1), (16, 5, 2), (17, 4, 2), (6, 30, 8), (64, 8, 8)])
def test_memories_in_luts(words: int, bits: int, cells: int) -> None:
    assert asynchronous(words, bits).lut_rams == cells


def test_rows_of_luts_are_chosen_from() -> None:
    assert asynchronous(40, 8) == MemoryCells(lut_rams=6, chosen=16, rows=3, size=320)


@pytest.mark.parametrize(
    ("words", "bits", "blocks"), [(64, 32, 1), (512, 36, 1), (513, 36, 2), (1024, 18, 1), (256, 72, 2), (48, 128, 4)]
)
def test_large_ones_become_block_rams(words: int, bits: int, blocks: int) -> None:
    found = synchronous(words, bits)
    assert (found.block_rams, found.lut_rams) == (blocks, 0)


def test_small_ones_stay_in_luts_and_hold_their_answer() -> None:
    assert synchronous(13, 256, transparent=True) == MemoryCells(lut_rams=64, rows=1, held=256, size=3328)
