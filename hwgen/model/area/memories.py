"""Memories as Yosys maps them on an ECP5: 16 words of 4 bits in LUTs, or block RAM of 18 Kibit."""

from dataclasses import dataclass

__all__ = ["BLOCK_BITS", "MemoryCells", "asynchronous", "synchronous"]

LUT_WORDS, LUT_BITS = 16, 4
"""Words and bits of a memory in LUTs (TRELLIS_DPR16X4)."""
BLOCK_WORDS, BLOCK_WIDTH = 512, 36
"""Words and bits of a block RAM (PDPW16KD) at its widest."""
BLOCK_BITS = BLOCK_WORDS * BLOCK_WIDTH
LUT_COST = 4
BLOCK_COST = 32 * LUT_COST
"""Costs of the two by which ``memory_libmap`` chooses, as the files of ``synth_ecp5`` state them."""
CHOICE, EMULATED = 0.5, 1.0
"""The cost of a bit that is chosen among rows of memories in LUTs, and of a bit of a synchronous read made of an
asynchronous one: factors of ``memory_libmap``."""


@dataclass(frozen=True)
class MemoryCells:
    """What a memory takes.

    Members
    -------
    lut_rams, block_rams : cells.
    chosen : bits of the answer times rows of memories in LUTs beside the first: what multiplexers choose from.
    rows : memories in LUTs that are stacked to the depth.
    held : bits of registers that hold an answer which is read synchronously.
    """

    lut_rams: int = 0
    block_rams: int = 0
    chosen: int = 0
    rows: int = 0
    held: int = 0


def asynchronous(words: int, bits: int) -> MemoryCells:
    """A memory that answers in the same cycle: always in LUTs."""
    rows = -(-words // LUT_WORDS)
    return MemoryCells(lut_rams=rows * -(-bits // LUT_BITS), chosen=bits * (rows - 1), rows=rows)


def synchronous(words: int, bits: int, *, parts: int = 1, transparent: bool = False) -> MemoryCells:
    """A memory that answers in the next cycle: whatever costs less.

    Parameters
    ----------
    words, bits : its size.
    parts : of a word that are written each for itself.
    transparent : a read of what is written in the same cycle gives the new word.
    """
    luts = asynchronous(words, bits)
    each = -(-bits // parts)
    blocks = min(parts * -(-each // width) * -(-words // (BLOCK_BITS // BLOCK_WIDTH * BLOCK_WIDTH // width))
                 for width in (36, 18, 9))  # fmt: skip
    cost = LUT_COST * luts.lut_rams + CHOICE * luts.chosen + EMULATED * bits
    if cost < BLOCK_COST * blocks + (EMULATED * bits if transparent else 0):
        return MemoryCells(luts.lut_rams, 0, luts.chosen, luts.rows, bits)
    return MemoryCells(block_rams=blocks)
