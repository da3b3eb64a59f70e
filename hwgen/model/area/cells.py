"""What the area of hardware in standard cells is a sum of: quantities of it that are estimated without synthesis.

Four coefficients, um2 of each quantity, make them the area in a library: they are measured with the library
(`hwgen.api.choosing.cells`). LUT4 are those of an ECP5 without its memories, as `hwgen.model.area.estimate` has them.
"""

from dataclasses import astuple, dataclass

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.model.area.estimate import LUTS_OF_A_MEMORY, estimated_around, estimated_hwc, known_memories
from hwgen.model.area.terms import LUT_BITS, LUT_WORDS, hwc_structure

__all__ = ["CellTerms", "around_terms", "hwc_terms"]

USED = 0.8
"""The part of the bits of memories in LUTs that are used, in the DMA and the queues of a cluster."""
TABLE_BITS = 256 * 8
"""Bits of a vector unit's table; copies of it are joined."""


@dataclass(frozen=True)
class CellTerms:
    """Quantities that cells are proportional to.

    Members
    -------
    luts : LUT4 of logic.
    flip_flops : those that are no memory.
    multipliers : as an ECP5 has them.
    memory_bits : that become flip-flops: all but the shared memory of a cluster.
    """

    luts: float
    flip_flops: float
    multipliers: float
    memory_bits: float

    def values(self) -> tuple[float, ...]:
        """All four."""
        return astuple(self)


def hwc_terms(parameters: HwcParameters) -> CellTerms:
    """The quantities of an HWC."""
    area, known = estimated_hwc(parameters), hwc_structure(parameters)
    luts = area.lut4 - LUTS_OF_A_MEMORY * known.lut_rams
    return CellTerms(luts, area.flip_flops, area.dsps, known.memory_bits)


def around_terms(parameters: ClusterParameters) -> CellTerms:
    """The quantities of what is around the HWCs of a cluster, without its shared memory."""
    area = estimated_around(parameters)
    memories, of_tables = known_memories(parameters)
    queues = WORD_BITS * (parameters.load_words + parameters.compute_words + parameters.store_words)
    tables = TABLE_BITS if parameters.vector else 0
    bits = USED * LUT_WORDS * LUT_BITS * (memories - of_tables) + queues + tables
    return CellTerms(area.lut4 - LUTS_OF_A_MEMORY * memories, area.flip_flops, area.dsps, bits)
