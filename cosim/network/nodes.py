"""Nodes of the vector unit in a run of a program: what was counted against the model."""

from collections import defaultdict

from cosim.device.dram import Counted
from cosim.device.job import Accesses
from cosim.device.judge import AT_VECTOR, Comparison, compared
from hwgen.ir.counts import Access, Counts, Key, Operand
from hwgen.ir.level import BUSES

__all__ = ["compared_vector"]


def compared_vector(counts: Counts, tcdm: Accesses, dram: Counted, *, apart: bool = False) -> Comparison:
    """What a node has counted, against the model; ``apart``: its tables have a region of their own in the TCDM."""
    return compared(None, counts if apart else _together(counts), (), tcdm, dram, AT_VECTOR)


def _together(counts: Counts) -> Counts:
    """Tables among the maps, where they have no place of their own in the TCDM."""
    found: dict[Key, Access] = defaultdict(Access)
    for (level, operand, direction), access in counts.accesses.items():
        one: Operand = "I" if operand == "B" and not BUSES[level].programs else operand
        found[level, one, direction] += access
    return Counts(dict(found))
