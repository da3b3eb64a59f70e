"""What an HWC is generated for: its loop order, marker places, lanes and memory sizes, with every check."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from hwgen.arch.bus import SUM_BYTES, WORD_BYTES
from hwgen.arch.lanes import (
    LANES,
    capture,
    check_lanes,
    input_words_ahead,
    memory_units,
    register_depths,
    requantisers,
    scaling,
    spreads,
    vectors_apart,
)
from hwgen.arch.latency import ACCESSES_BESIDE, ACCESSES_IN_FLIGHT, MOST_IN_FLIGHT
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.requantisation import HALF_UP, record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.lanes import NARROW_PORTS, Lanes, Ports
from hwgen.ir.layer import DIMS, MAX_KERNEL, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS
from hwgen.ir.requantisation import RequantisationForm
from hwgen.ir.schedule import MOST_BIAS_WORDS, ArrayName

__all__ = [
    "ALONG_X",
    "DIMS",
    "LANES",
    "MOST_MEMORY",
    "OUTPUT_DIMS",
    "REDUCTION",
    "WEIGHT_DIMS",
    "HwcParameters",
    "as_told",
    "check_lanes",
    "input_words_ahead",
    "memory_units",
]

REDUCTION = frozenset(REDUCTION_DIMS)
MOST_MEMORY = 1 << 16
"""Bytes of a local memory, at most."""
LUT_LINES = 32
"""A memory of as many lines is made of LUTs by itself."""
MOST_WEIGHTS_IN_LUTS = 1 << 11
"""Bytes of weights that are kept in LUTs, at most, where a block RAM would answer too late."""
ALONG_X = Lanes(x=LANES)
REQUANTISERS = (1, 2, WORD_BYTES)
INDIFFERENT = frozenset(
    {"read_back", "second_settings", "in_flight", "block_ram", "most_requantisers", "lane_registers"}
)
"""Parameters that change neither the addresses of settings nor what they mean."""
FIT = ("constants", "setting_bits")
"""Parameters that only hardware has that is fitted to its layers."""
OPTIONS = {"scaled": False, "most_requantisers": WORD_BYTES, "column_window": False, "lane_registers": False}
"""Parameters that digests tell only where they are not as here."""


def as_told(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters by name, as digests have them."""
    return {name: value for name, value in parameters.items() if name not in OPTIONS or value != OPTIONS[name]}


@dataclass(frozen=True)
class HwcParameters:
    """Generation-time parameters of one HWC.

    Parameters
    ----------
    loops
        Loop dimensions of the nest, outermost first, each one of ``m c y x k l``.
    input_marker, weight_marker, output_marker
        Index of the loop that the operand's buffer marker stands above; ``len(loops)`` without a marker, which means
        below the innermost loop: nothing is kept from one iteration to the next.
    input_bytes, weight_bytes, output_bytes
        Sizes of the three local memories: multiples of `memory_units`, at least two deep.
    lanes
        Output channels, input channels, rows and columns computed in one cycle: powers of two, 4 to 256 together.
    operand_bits
        8, or 16: then layers with 16-bit operands run too, on `wide_lanes`.
    position_bits
        Width of a coordinate; every extent is below ``2 ** position_bits``. Coordinates of the
        kernel are narrower: it has at most `MAX_KERNEL` rows and columns.
    bias_words
        Biases that are kept for later tiles: a power of two, or 0.
    ports
        Widths of the ports to the shared memory.
    in_flight
        Cycles from a grant to its answer up to which each port makes an access in every cycle.
    cluster
        One of several HWCs that share a memory through which layers stream: operands are in rings, at any byte; a
        layer may be a part of the reduction; the HWC can be halted.
    read_back
        Software can read the settings; else they read zero.
    second_settings
        The settings of the next layer can be written, and its start, while a layer runs.
    block_ram
        The memories of I and W read synchronously, so that large ones become block RAM. No cycle differs.
    scaled
        Each output channel has a multiplier and a shift, which come with its bias; there are zero points.
    most_requantisers
        Outputs of 8 bits that are made in a cycle, at most: 1, 2 or 4.
    column_window
        Lanes along c can serve as columns of the kernel: each output channel has the last columns of a channel of its
        own, in a shift register, as depthwise layers need it.
    lane_registers
        The operand that the innermost loops do not move stays in registers at the lanes; the local memories are
        accessed only for another vector, and a port tells of each access.
    constants
        Settings, by their names, that all its programs have alike: the value is in the hardware, in place of a
        register.
    setting_bits
        Width of the register of other settings that are always smaller than those of any layer could be.
    """

    loops: tuple[str, ...]
    input_marker: int
    weight_marker: int
    output_marker: int
    input_bytes: int
    weight_bytes: int
    output_bytes: int
    lanes: Lanes = ALONG_X
    operand_bits: int = 8
    position_bits: int = 16
    bias_words: int = 0
    ports: Ports = NARROW_PORTS
    in_flight: int = ACCESSES_IN_FLIGHT
    cluster: bool = False
    read_back: bool = False
    second_settings: bool = False
    block_ram: bool = False
    scaled: bool = False
    most_requantisers: int = WORD_BYTES
    column_window: bool = False
    lane_registers: bool = False
    constants: tuple[tuple[str, int], ...] = ()
    setting_bits: tuple[tuple[str, int], ...] = ()

    rounding: ClassVar[str] = HALF_UP
    """How shifts round: a name in `hwgen.ir.requantisation.ROUNDINGS`."""

    def __post_init__(self) -> None:
        if not self.loops or any(dim not in DIMS for dim in self.loops):
            raise ParameterError(f"loops: expected dimensions out of {' '.join(DIMS)}, got {self.loops!r}")
        for operand in ("input", "weight", "output"):
            marker = getattr(self, f"{operand}_marker")
            if not 0 <= marker <= len(self.loops):
                raise ParameterError(f"{operand}_marker: expected 0 to {len(self.loops)}, got {marker}")
        if self.output_marker < len(self.loops) and self.loops[self.output_marker] not in REDUCTION:
            raise ParameterError(
                f"output_marker: loop {self.loops[self.output_marker]} carries no reuse of O; "
                "move the marker further in, above a c, k or l loop"
            )
        if self.operand_bits not in (8, 16):
            raise ParameterError(f"operand_bits: expected 8 or 16, got {self.operand_bits}")
        check_lanes(self.lanes)
        self._check_window()
        units = memory_units(self.lanes, self.operand_bits, self.ports)
        if self.scaled and self.operand_bits != 8:
            raise ParameterError(f"operand_bits: expected 8 where sums are scaled, got {self.operand_bits}")
        if self.lane_registers and self.operand_bits != 8:
            raise ParameterError(f"operand_bits: expected 8 with lane_registers, got {self.operand_bits}")
        if self.most_requantisers not in REQUANTISERS:
            raise ParameterError(f"most_requantisers: expected 1, 2 or 4, got {self.most_requantisers}")
        if not 1 <= self.in_flight <= MOST_IN_FLIGHT:
            raise ParameterError(f"in_flight: expected 1 to {MOST_IN_FLIGHT}, got {self.in_flight}")
        if self.cluster and self.second_settings:
            raise ParameterError("second_settings: expected none in a cluster: its program waits for the HWCs")
        if not 8 <= self.position_bits <= 16:
            raise ParameterError(f"position_bits: expected 8 to 16, got {self.position_bits}")
        if self.bias_words & (self.bias_words - 1) or self.bias_words == 1 or self.bias_words > MOST_BIAS_WORDS:
            raise ParameterError(
                f"bias_words: expected 0, or a power of two from 2 to {MOST_BIAS_WORDS}, got {self.bias_words}"
            )
        for operand, unit in zip(("input", "weight", "output"), units, strict=True):
            size = getattr(self, f"{operand}_bytes")
            if size % unit or not 2 * unit <= size <= MOST_MEMORY:
                raise ParameterError(
                    f"{operand}_bytes: expected a multiple of {unit} from {2 * unit} to {MOST_MEMORY}, got {size}"
                )

    def _check_window(self) -> None:
        """Columns follow each other in the innermost loop alone; those of a tile of the input lie side by side."""
        if not self.column_window:
            return
        if self.lanes.c == 1 or self.lanes.y > 1 or self.lanes.x > 1 or self.operand_bits != 8:
            raise ParameterError(
                "column_window: expected operands of 8 bits and lanes along m and c, of which there are some, "
                f"got {self.operand_bits} bits and {self.lanes}"
            )
        innermost = len(self.loops) - 1
        outside = max(self.input_marker, self.weight_marker) < innermost and self.output_marker <= innermost
        if not outside or self.columns_slide or self.inside(self.input_marker, "x") != (innermost,):
            raise ParameterError(
                "column_window: expected x as the innermost loop and no other loop over x inside the input's marked "
                f"loop, which is not over x or l, got the loops {' '.join(self.loops)}"
            )

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`; raises `ParameterError`."""
        try:
            fields = {"loops": tuple(data["loops"]), "lanes": Lanes(**data["lanes"]), "ports": Ports(**data["ports"])}
            fit = {name: tuple((key, value) for key, value in data.get(name, ())) for name in FIT}
            return cls(**{**data, **fields, **fit})
        except (KeyError, TypeError, ValueError) as error:
            raise ParameterError(str(error)) from None

    @cached_property
    def digest(self) -> int:
        """32 bits that tell what programs run on it: of all parameters but those that no program depends on.

        A program carries the digest of the HWC that it was made for; another HWC refuses to start it.
        """
        told = {name: value for name, value in asdict(self).items() if name not in INDIFFERENT}
        told = {name: value for name, value in told.items() if name not in FIT or value}
        told = as_told(told)
        return int.from_bytes(hashlib.sha256(json.dumps(told, sort_keys=True).encode()).digest()[:4], "big")

    @property
    def word_addresses(self) -> dict[str, int]:
        """Settings that are addresses and distances of words wider than 32 bits, and the bytes of such a word.

        In a cluster feature maps and biases may begin inside a word.
        """
        maps = {
            "input": self.ports.input_bytes,
            "output": self.ports.output_bytes,
            "partial": self.ports.output_bytes,
        }
        found = {f"{name}_{part}": word for name, word in maps.items() for part in ("pitch", "plane")}
        found["weight_base"] = self.ports.weight_bytes
        if not self.cluster:
            found |= {f"{name}_base": word for name, word in maps.items()} | {"bias_base": self.ports.output_bytes}
        return {name: word for name, word in found.items() if word > WORD_BYTES}

    @property
    def input_words_ahead(self) -> int:
        """Words of the input that are requested before the first is written, at most."""
        return input_words_ahead(self.lanes, self.in_flight)

    @property
    def weight_words_ahead(self) -> int:
        """The same of the weights."""
        return self.in_flight + ACCESSES_BESIDE

    @property
    def loads_sums(self) -> bool:
        """Whether partial sums that were written may be loaded again."""
        return self.cluster or any(dim in REDUCTION for dim in self.loops[: self.output_marker])

    @property
    def lane_dims(self) -> tuple[str, ...]:
        """Dimensions of which an operation may cover fewer iterations than there are lanes."""
        return (*OUTPUT_DIMS, "c") if self.lanes.c > 1 else OUTPUT_DIMS

    @property
    def dim_bits(self) -> dict[str, int]:
        """Width of the extent, and of a coordinate, of each dimension."""
        return {dim: MAX_KERNEL.bit_length() if dim in "kl" else self.position_bits for dim in DIMS}

    def step_bits(self, index: int) -> int:
        """Width of a loop's step: that of the lanes, if no other loop comes between."""
        dim = self.loops[index]
        innermost = dim in self.lane_dims and self.innermost()[dim] == index
        return self.size_bits[index] if innermost else self.dim_bits[dim]

    @property
    def wide(self) -> bool:
        """Whether 16-bit operands are computed with, too."""
        return self.operand_bits == 16

    @property
    def wide_lanes(self) -> Lanes:
        """Lanes for 16-bit operands."""
        return self.lanes.halved()

    @property
    def wide_halves(self) -> bool:
        """Whether a vector of 16-bit operands has half as many sums as one of 8-bit operands."""
        return self.wide and self.lanes.c == 1

    @property
    def byte_planes(self) -> bool:
        """Whether a 16-bit operand takes two lanes along c: of a pair of lanes the memory of the first has the lower
        byte of an input, that of the second has, at the same place, the upper one."""
        return self.wide and self.lanes.c > 1

    @property
    def input_reads(self) -> int:
        """Consecutive bytes that are read for one lane row."""
        return max(self.lanes.x, 2 * self.wide_lanes.x) if self.wide_halves else self.lanes.x

    @property
    def pads_before(self) -> bool:
        """Whether the input's memories answer what padding reads as: their bytes go straight to the multipliers.

        Else it is chosen after them: of several bytes, which are rotated there, and where another register follows.
        Unless sums are scaled padding is 0.
        """
        return (
            (self.scaled or self.column_window)
            and self.input_reads == 1
            and not self.block_ram
            and not spreads(self.lanes)
        )

    @property
    def weight_reads(self) -> int:
        """Consecutive bytes that are read from the weight memory."""
        if self.weight_lines:
            return self.lanes.m * self.lanes.c
        return max(self.lanes.m, 2 * self.wide_lanes.m) if self.wide else self.lanes.m

    @property
    def input_banks(self) -> int:
        """Byte-wide banks of the input memory of one lane row and one channel lane."""
        return max(self.ports.input_bytes, self.lanes.x)

    @property
    def input_elements(self) -> int:
        """Bytes that the input memory of one lane row and one channel lane holds: the ring of addresses."""
        return self.input_bytes // (self.lanes.y * self.lanes.c)

    @property
    def weight_banks(self) -> int:
        """Byte-wide banks of the weight memory, where weights are packed densely."""
        return max(self.ports.weight_bytes, self.weight_reads)

    @property
    def weight_lines(self) -> WeightLines | None:
        """How weights are packed in lines, one for each operation; None where they are packed densely."""
        return WeightLines.of(self.lanes, word=self.ports.weight_bytes)

    @property
    def input_depth(self) -> int:
        """Lines of the input memory's banks."""
        return self.input_elements // self.input_banks

    @property
    def weights_answer_late(self) -> bool:
        """Whether weights go from their memory to the multipliers within a cycle, with lanes along c: no register is
        on their way. A block RAM answers too late for that.
        """
        return self.weight_lines is not None and not spreads(self.lanes)

    @property
    def weights_in_luts(self) -> bool:
        """Whether the memory for weights is one of LUTs, where a block RAM would cost less. Of few lines it is in any
        case.
        """
        fits = self.weight_depth > LUT_LINES and self.weight_bytes <= MOST_WEIGHTS_IN_LUTS
        return self.weights_answer_late and not self.block_ram and fits

    @property
    def weight_depth(self) -> int:
        """Units of the weight memory's ring: lines, or words of the port where weights are packed densely."""
        return self.weight_bytes // (self.weight_lines.stored if self.weight_lines else self.ports.weight_bytes)

    @property
    def output_depth(self) -> int:
        """Vectors of one 32-bit sum per lane along m, y and x in the output memory."""
        return self.output_bytes // (SUM_BYTES * self.lanes.sums)

    @property
    def output_index_bits(self) -> int:
        """Width of a vector's number in the output memory or in a tile, which may be larger; half vectors count."""
        return self.output_depth.bit_length() + (2 if self.wide_halves else 1)

    def inside(self, marker: int, dims: str) -> tuple[int, ...]:
        """Indices of the loops over ``dims`` that run inside one iteration of the marked loop."""
        return tuple(j for j in range(marker + 1, len(self.loops)) if self.loops[j] in dims)

    def innermost(self, depth: int | None = None) -> dict[str, int]:
        """The innermost loop of each dimension among the outer ``depth`` loops, or among all."""
        return {dim: j for j, dim in enumerate(self.loops[:depth])}

    @cached_property
    def size_bits(self) -> dict[int, int]:
        """The loops of which the hardware needs to know what an iteration covers, and the width of that.

        These are the loops that bound a tile of the weights that are packed densely, the channels and the kernel of a
        tile of the input, and an operation.
        """
        within = {j: dim for dim, j in self.innermost(self.weight_marker + 1).items() if dim in WEIGHT_DIMS}
        if self.weight_lines:
            within = {}
        within |= {j: dim for dim, j in self.innermost(self.input_marker + 1).items() if dim in REDUCTION}
        lanes = {
            j: self.lanes.along(dim).bit_length() for dim, j in self.innermost().items() if dim in self.lane_dims
        }
        return {j: self.dim_bits[dim] for j, dim in sorted(within.items())} | lanes

    @cached_property
    def register_depths(self) -> dict[ArrayName, int]:
        """Numbers of loops around the operations for which the lanes have one vector of an operand."""
        return register_depths(self.loops, self.input_marker, self.output_marker)

    @property
    def holds_sums(self) -> bool:
        """Whether consecutive operations work on one vector of sums, which stays at the lanes."""
        return self.lane_registers and self.register_depths["O"] < len(self.loops)

    @property
    def bias_loops(self) -> tuple[int, ...]:
        """Indices of the loops from one iteration to the next of which biases may be kept."""
        return tuple(j for j in range(self.output_marker) if self.bias_words and self.loops[j] in "yx")

    @property
    def vector_lanes(self) -> Lanes:
        """Lanes of a vector as the output's port has it: at least as many sums as a word has outputs."""
        fewer = max(1, WORD_BYTES // self.lanes.sums)
        return Lanes(m=fewer * self.lanes.m, y=self.lanes.y, x=self.lanes.x)

    @property
    def capture(self) -> int:
        """Cycles from asking the output memory for a vector to having it."""
        return capture(self.lanes)

    @property
    def vectors_apart(self) -> int:
        """Cycles from asking for a vector that is drained to asking for the next one, at the least."""
        return vectors_apart(self.lanes)

    @property
    def overlaps(self) -> bool:
        """Whether the next vector may be asked for before the one before it has come."""
        return self.vectors_apart <= self.capture

    @property
    def requantisers(self) -> int:
        """Outputs of 8 bits that are made in a cycle."""
        return requantisers(self.vector_lanes, self.most_requantisers)

    @property
    def steps_in_word(self) -> int:
        """Steps that make a word of outputs of a row of lanes, or all of a shorter row."""
        return requantisers(self.vector_lanes) // self.requantisers

    @property
    def requantisation(self) -> RequantisationForm:
        """What becomes of sums."""
        return "scaled" if self.scaled else "shift"

    @property
    def scaling(self) -> int:
        """Stages of the output's port that other HWCs do not have."""
        return scaling(self.requantisation)

    @property
    def record_bytes(self) -> int:
        """Bytes that an output channel brings along: its bias, with its multiplier and shift if sums are scaled."""
        return record_bytes(self.requantisation)

    @property
    def record_words(self) -> int:
        """Words of a record."""
        return self.record_bytes // WORD_BYTES

    @property
    def most_steps(self) -> int:
        """Steps of a move of the output's port, at most: a lane, or a word of a record, in each."""
        return max(self.vector_lanes.product, self.record_words * self.vector_lanes.m)

    @property
    def columns_slide(self) -> bool:
        """Whether the input's marked loop moves along the columns: then those that stay are kept, not rows."""
        return self.input_marker < len(self.loops) and self.loops[self.input_marker] in "xl"

    @property
    def output_tile_loops(self) -> range:
        """Indices of the loops that run inside one execution of O's loop."""
        return range(self.output_marker, len(self.loops))
