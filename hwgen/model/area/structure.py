"""What is known of hardware without coefficients: its multipliers, its memories, and the terms of its blocks."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["QUANTITIES", "Structure", "Terms"]

QUANTITIES = ("luts", "flip_flops", "lut_rams")
"""What coefficients are fitted for: LUT4 without those of memories, flip-flops, and memories of 16 words of 4 bits
beside those that are known."""

Terms = Mapping[str, float]
"""Numbers of things that Yosys makes cells of, by what they are called: bits of counters, bits that a multiplexer
chooses from, adders."""


@dataclass(frozen=True)
class Structure:
    """The structure of a device.

    Members
    -------
    terms : by block.
    lut_rams, block_rams, dsps : cells that follow from its parameters.
    """

    terms: Mapping[str, Terms]
    lut_rams: int = 0
    block_rams: int = 0
    dsps: int = 0
