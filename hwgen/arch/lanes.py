"""What lanes need: units of memory, stages of the datapath, outputs in a cycle; and what stays at them."""

from collections.abc import Mapping, Sequence

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.latency import (
    ACCESSES_BESIDE,
    ACCESSES_IN_FLIGHT,
    CAPTURE,
    FEWER_WORDS_AHEAD,
    ROW_ADDRESS,
    SCALING,
    SPREAD,
    TREE,
)
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.weights import WeightLines
from hwgen.ir.hardware import MULTIPLIERS
from hwgen.ir.lanes import LANE_DIMS, NARROW_PORTS, WIDE, Lanes, Ports
from hwgen.ir.layer import OUTPUT_DIMS, REDUCTION_DIMS
from hwgen.ir.requantisation import RequantisationForm
from hwgen.ir.schedule import ARRAYS, ArrayName

__all__ = [
    "FEW_LINES",
    "LANES",
    "capture",
    "check_lanes",
    "datapath",
    "input_words_ahead",
    "memory_units",
    "register_depths",
    "requantisers",
    "scaling",
    "spreads",
    "tree_levels",
    "vector_bytes",
    "vectors_apart",
]

LANES = MULTIPLIERS
"""Lanes of a datapath if nothing else is asked for."""
FEW_LINES = 2
"""Rows of lanes whose waiting outputs are in registers, at most."""
LANE_RANGE = range(4, 257)
"""Lanes that a datapath may have together."""
STATIONARY: Mapping[ArrayName, frozenset[str]] = {
    "I": frozenset("m"),
    "W": frozenset(OUTPUT_DIMS) - {"m"},
    "O": frozenset(REDUCTION_DIMS),
}
"""Loops from one iteration to the next of which the lanes work on the same vector of an operand. (With groups, those
over m inside one tile of I.)"""


def datapath(lanes: Lanes, operand_bits: int) -> Lanes:
    """The lanes that a datapath has for operands of 8 bits.

    ``lanes`` : those for operands of ``operand_bits``. Only with lanes along c do the two differ.
    """
    return lanes.doubled() if operand_bits == WIDE and lanes.lie_along_c else lanes


def vector_bytes(lanes: Lanes) -> dict[ArrayName, int]:
    """Bytes of a vector of I, of W, and of the sums that are added to, with operands of 8 bits."""
    return {"I": lanes.c * lanes.y * lanes.x, "W": lanes.m * lanes.c, "O": SUM_BYTES * lanes.sums}


def memory_units(lanes: Lanes, operand_bits: int = 8, ports: Ports = NARROW_PORTS) -> tuple[int, int, int]:
    """Bytes by which the input, weight and output memories of such lanes grow.

    The input memory holds every element as often as there are lanes along y, which read rows of their own. A copy is
    one memory for each lane along c, with a byte-wide bank for each byte that the lanes along x read. The weight
    memory has a bank for each byte that the lanes along m and c read; operands of 16 bits take two of these lanes
    along c. All have at least the banks that a word of its port is written to, but for weights in lines, of which the
    memory holds what is used. The output memory has a 32-bit sum for each lane along m, y and x.
    """
    dense_and_wide = operand_bits == WIDE and lanes.c == 1
    weights = max(lanes.m, 2 * lanes.halved().m) if dense_and_wide else lanes.m * lanes.c
    return (
        lanes.y * lanes.c * max(ports.input_bytes, lanes.x),
        max(WORD_BYTES if WeightLines.of(lanes) else ports.weight_bytes, weights),
        SUM_BYTES * lanes.sums,
    )


def input_words_ahead(lanes: Lanes, in_flight: int = ACCESSES_IN_FLIGHT) -> int:
    """Words of the input that are requested before the first is written, at most, on an HWC with such lanes.

    Registers and queues beside the memories stay within 256 bytes: with all of 16 lanes along m the biases of a
    vector, and outputs that wait for a word, leave less of it to the input's queue, unless more is asked for.
    """
    fewer = lanes.m == lanes.product == LANES and in_flight == ACCESSES_IN_FLIGHT
    return FEWER_WORDS_AHEAD if fewer else in_flight + ACCESSES_BESIDE


def capture(lanes: Lanes) -> int:
    """Cycles from asking the output memory for a vector to having it: the stages of the datapath."""
    return CAPTURE + TREE * tree_levels(lanes) + SPREAD * spreads(lanes)


def vectors_apart(lanes: Lanes) -> int:
    """Cycles from asking the output memory for a vector that is drained to asking for the next one, at the least.

    No vector takes longer to store than a cycle for each of its sums, of which it has at least a word's outputs, and
    the address of its row is there by then: so the next one may be under way already when it comes. Where it comes
    sooner than that, the next one is asked for when it has come.
    """
    return min(max(ROW_ADDRESS, WORD_BYTES, lanes.sums), capture(lanes) + 1)


def spreads(lanes: Lanes) -> bool:
    """Whether operands stand in registers on their way from the memories to the multipliers."""
    return lanes.c > 1 and lanes.product > LANES


def tree_levels(lanes: Lanes) -> int:
    """Levels of the adders that sum the products of lanes along c."""
    return lanes.c.bit_length() - 1


def requantisers(lanes: Lanes, most: int = WORD_BYTES) -> int:
    """Outputs of 8 bits that an HWC with such lanes makes in a cycle: as many as a row of lanes has, or the most."""
    return min(most, lanes.x)


def scaling(form: RequantisationForm) -> int:
    """Cycles that an access of the output's port takes longer than with sums that are only shifted."""
    return SCALING if form == "scaled" else 0


def check_lanes(lanes: Lanes) -> None:
    """Raise `ParameterError` unless the datapath can have these lanes."""
    powers = all(lanes.along(dim) & (lanes.along(dim) - 1) == 0 for dim in LANE_DIMS)
    if not powers or lanes.outside(LANE_DIMS) or lanes.product not in LANE_RANGE:
        raise ParameterError(
            f"lanes: expected powers of two along {', '.join(LANE_DIMS)}, "
            f"{LANE_RANGE[0]} to {LANE_RANGE[-1]} together, got {lanes}"
        )


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
