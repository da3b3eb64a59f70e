"""What stays in registers at the lanes: the operand that the innermost loops do not move."""

from collections.abc import Mapping, Sequence

from hwgen.ir.layer import OUTPUT_DIMS, REDUCTION_DIMS
from hwgen.ir.schedule import ARRAYS, ArrayName

__all__ = ["register_depths"]

STATIONARY: Mapping[ArrayName, frozenset[str]] = {
    "I": frozenset("m"),
    "W": frozenset(OUTPUT_DIMS) - {"m"},
    "O": frozenset(REDUCTION_DIMS),
}
"""Loops from one iteration to the next of which the lanes work on the same vector of an operand. (With groups, those
over m inside one tile of I.)"""


def register_depths(loops: Sequence[str], input_marker: int, output_marker: int) -> dict[ArrayName, int]:
    """Numbers of loops around the operations for which the lanes have one vector of I, W and O.

    ``loops`` : the loops of an HWC, outermost first, with its markers of I and O: a register holds nothing of another
    tile. As the innermost loop moves all operands but one, so only that one stays, and each operation has a vector
    of the others.
    """
    depths: dict[ArrayName, int] = {"I": min(input_marker + 1, len(loops)), "W": 0, "O": output_marker}
    for array in ARRAYS:
        inside = len(loops)
        while inside and loops[inside - 1] in STATIONARY[array]:
            inside -= 1
        depths[array] = max(depths[array], inside)
    return depths
