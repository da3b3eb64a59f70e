"""Objectives of the search for one HWC: what a schedule costs, the first criterion first.

An objective is a class with a number, by which the compiled `criteria` knows it. What it sums are products of
non-negative factors of single axes (`hwgen.search.core.space.Scale`), or the largest of some. So the same sum over
the smallest factors that are left bounds it from below, which is what branch and bound cuts by.
"""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.model.compiled import njit

__all__ = ["CYCLES", "HWC_OBJECTIVES", "NEED", "TRAFFIC", "HwcObjective", "criteria", "hwc_objective"]


TRAFFIC, WORDS, CYCLES, NEED, WITH_BIASES = range(5)
"""Numbers in the compiled parts; `NEED` stands for no criterion, so that the bytes of the memories decide."""


class HwcObjective(ABC):
    """What a search for one HWC has least of.

    Members
    -------
    name, title : in options, and in what is printed.
    number : in the compiled parts.
    words : whether nests are compared in words from the start: the first criterion is not bytes of I, W and O alone.
    biases : whether biases count, none of which may be kept.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    number: ClassVar[int]
    words: ClassVar[bool] = True
    biases: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def sums(cls, counts: Counts, cycles: int) -> tuple[int, ...]:
        """The first criteria of a schedule, as the model counts them.

        ``cycles``: of the busiest of datapath and ports.
        """


class Traffic(HwcObjective):
    """Bytes of I, W and O, then words. No schedule goes below `hwgen.model.nest.bounds`."""

    name, title, number, words = "traffic", "traffic", TRAFFIC, False

    @classmethod
    def sums(cls, counts: Counts, cycles: int) -> tuple[int, ...]:
        return counts.total_bytes(), counts.total_words()


class TrafficWithBiases(HwcObjective):
    """Bytes of I, W, O and of the biases, then words. The bounds of the traffic hold for it, too."""

    name, title, number, biases = "with-bias", "traffic with biases", WITH_BIASES, True

    @classmethod
    def sums(cls, counts: Counts, cycles: int) -> tuple[int, ...]:
        return counts.total_with_bias(), counts.total_words()


class Words(HwcObjective):
    """Accesses of the three ports, then bytes. At least the bytes by the width of the widest port."""

    name, title, number = "words", "words", WORDS

    @classmethod
    def sums(cls, counts: Counts, cycles: int) -> tuple[int, ...]:
        return counts.total_words(), counts.total_bytes()


class Cycles(HwcObjective):
    """Cycles of the busiest of datapath (an innermost iteration each) and ports (a word each), then bytes and words.

    At least the multiply-accumulates by the lanes.
    """

    name, title, number = "cycles", "cycles", CYCLES

    @classmethod
    def sums(cls, counts: Counts, cycles: int) -> tuple[int, ...]:
        return cycles, counts.total_bytes()


HWC_OBJECTIVES: dict[str, type[HwcObjective]] = {one.name: one for one in (Traffic, TrafficWithBiases, Words, Cycles)}


def hwc_objective(name: str) -> type[HwcObjective]:
    """The objective of that name; raises `InputError` for an unknown one."""
    if name not in HWC_OBJECTIVES:
        raise InputError(f"objective: expected {', '.join(HWC_OBJECTIVES)}, got {name}")
    return HWC_OBJECTIVES[name]


@njit(cache=True)
def criteria(scale, s, goal, m, c, y, x, missing):  # type: ignore[no-untyped-def]
    """The three criteria of the objective with this number; ``missing``: bytes of W's words beyond its bytes.

    Cycles are those of the busiest of four: the datapath, an innermost iteration a cycle, and the three ports, a
    word a cycle each.
    """
    again = c[2] - 1.0
    if s[14] or s[15]:
        again = c[2] * (scale.k_size if s[14] else 1.0) * (scale.l_size if s[15] else 1.0) - 1.0
    lines, w_tiles = m[0] * y[0], y[1] * x[1]
    total = lines * x[0] * scale.i_bytes + w_tiles * scale.w_bytes + scale.o_bytes + again * scale.o_partial_bytes
    if missing < 0:
        return total, 0.0, 0.0
    inputs, weights = lines * x[6] * scale.i_lines, w_tiles * np.ceil((scale.w_bytes + missing) / scale.w_word)
    outputs = scale.o_rows * x[7] + again * scale.o_partial_rows * x[9]
    words = inputs + weights + outputs
    if goal == TRAFFIC:
        return total, words, 0.0
    if goal == WITH_BIASES:
        return total + scale.b_bytes * y[6] * x[8], words, 0.0
    if goal == WORDS:
        return words, total, 0.0
    if goal == NEED:
        return 0.0, 0.0, 0.0
    return max(max(inputs, weights), max(outputs, scale.taps * m[4] * y[4] * x[4])), total, words
