"""How much a vector unit does in a cycle."""

from dataclasses import dataclass

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.vector.job import PAIR, VectorJob
from hwgen.ir.hardware import VECTOR_ELEMENTS
from hwgen.ir.requantisation import TABLE_ENTRIES

__all__ = ["NARROW", "VectorShape"]


@dataclass(frozen=True)
class VectorShape:
    """How wide a vector unit is.

    Parameters
    ----------
    elements
        Elements of a window that it visits in a cycle, at most. They are side by side in one word of its port.
    """

    elements: int = 1

    def __post_init__(self) -> None:
        if self.elements not in VECTOR_ELEMENTS:
            expected = ", ".join(map(str, VECTOR_ELEMENTS[:-1]))
            raise ParameterError(f"elements: expected {expected} or {VECTOR_ELEMENTS[-1]}, got {self.elements}")

    @property
    def wide(self) -> bool:
        """Whether it visits more than one element in a cycle."""
        return self.elements > 1

    @property
    def word_bytes(self) -> int:
        """Bytes that an access of its ports moves."""
        return max(WORD_BYTES, self.elements)

    @property
    def outputs(self) -> int:
        """Outputs of a cycle, at most, of what is computed element by element: what the port can read two operands
        for."""
        return min(self.elements, self.word_bytes // PAIR)

    @property
    def table_words(self) -> int:
        """Words of a table."""
        return TABLE_ENTRIES // self.word_bytes

    def check(self, job: VectorJob) -> None:
        """Raise `ParameterError` unless the second operand is whole words from the first, and a table begins with a
        word."""
        if job.mode == "add" and (job.second - job.input) % self.word_bytes:
            raise ParameterError(
                f"second: expected whole words of {self.word_bytes} bytes from {job.input:#x}, got {job.second:#x}"
            )
        if job.table_from is not None and job.table_from % self.word_bytes:
            raise ParameterError(f"table_from: expected a multiple of {self.word_bytes}, got {job.table_from:#x}")


NARROW = VectorShape()
"""One element in a cycle."""
