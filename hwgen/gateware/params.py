"""What an HWC is generated for: its loop order, marker places, lanes and memory sizes, with every check."""

from dataclasses import dataclass

__all__ = ["DIMS", "REDUCTION", "WORD_BYTES", "HwcParameters", "ParameterError"]

DIMS = ("m", "c", "y", "x", "k", "l")
REDUCTION = frozenset("ckl")
WORD_BYTES = 4
SUM_BYTES = 4


class ParameterError(ValueError):
    """A combination of parameters that cannot be built; the text says which and why."""


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
        Sizes of the three local memories: multiples of the lanes, of 4, and of 4 times the lanes, at least two deep.
    lanes
        Output columns computed in one cycle.
    position_bits
        Width of a coordinate; every extent is below ``2 ** position_bits``.
    """

    loops: tuple[str, ...]
    input_marker: int
    weight_marker: int
    output_marker: int
    input_bytes: int
    weight_bytes: int
    output_bytes: int
    lanes: int = 16
    position_bits: int = 16

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
        if self.lanes != 16:
            raise ParameterError(f"lanes: expected 16 along x, got {self.lanes}")
        if not 8 <= self.position_bits <= 16:
            raise ParameterError(f"position_bits: expected 8 to 16, got {self.position_bits}")
        for operand, unit in (("input", self.lanes), ("weight", WORD_BYTES), ("output", SUM_BYTES * self.lanes)):
            size = getattr(self, f"{operand}_bytes")
            if size % unit or not 2 * unit <= size <= 1 << 16:
                raise ParameterError(
                    f"{operand}_bytes: expected a multiple of {unit} from {2 * unit} to 65536, got {size}"
                )

    @property
    def input_depth(self) -> int:
        """Lines of one byte per lane in the input memory."""
        return self.input_bytes // self.lanes

    @property
    def weight_depth(self) -> int:
        """32-bit words in the weight memory."""
        return self.weight_bytes // WORD_BYTES

    @property
    def output_depth(self) -> int:
        """Vectors of one 32-bit sum per lane in the output memory."""
        return self.output_bytes // (SUM_BYTES * self.lanes)

    def inside(self, marker: int, dims: str) -> tuple[int, ...]:
        """Indices of the loops over ``dims`` that run inside one iteration of the marked loop."""
        return tuple(j for j in range(marker + 1, len(self.loops)) if self.loops[j] in dims)

    @property
    def output_box(self) -> range:
        """Indices of the loops that run inside one execution of O's loop."""
        return range(self.output_marker, len(self.loops))
