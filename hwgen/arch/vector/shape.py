"""How much a vector unit does in a cycle."""

from dataclasses import dataclass

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.vector.job import PAIR, VectorJob
from hwgen.ir.hardware import VECTOR_ELEMENTS
from hwgen.ir.requantisation import TABLE_ENTRIES

__all__ = ["MOST_SUMMED_ROWS", "NARROW", "STRIP_BITS", "VectorShape"]

MOST_SUMMED_ROWS = 8
"""Rows of a window whose columns are summed in strips, at most."""
STRIP_BITS = 9 + (MOST_SUMMED_ROWS - 1).bit_length()
"""Bits of a column of a strip: the sum of elements less their zero point, or the largest element."""


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
    def has_strips(self) -> bool:
        """Whether it takes windows in strips: the columns in a word, each the maximum or the sum over their rows."""
        return self.elements >= WORD_BYTES

    @property
    def table_words(self) -> int:
        """Words of a table."""
        return TABLE_ENTRIES // self.word_bytes

    def may_sum(self, rows: int, columns: int) -> bool:
        """Whether the sums of windows of this size may be made from strips."""
        return rows <= MOST_SUMMED_ROWS and columns <= self.elements + 1

    def check(self, job: VectorJob) -> None:
        """Raise `ParameterError` for a job that a unit of this shape does not compute.

        The second operand is whole words from the first, and a table begins with a word. Strips are for windows
        without dilation, whose rows are whole words apart, that are at most a column wider than a word, at most a
        word apart, and have an element that is no padding in the first column and in the first row; those of an
        average have at most `MOST_SUMMED_ROWS` rows.
        """
        if job.mode == "add" and (job.second - job.input) % self.word_bytes:
            raise ParameterError(
                f"second: expected whole words of {self.word_bytes} bytes from {job.input:#x}, got {job.second:#x}"
            )
        if job.table_from is not None and job.table_from % self.word_bytes:
            raise ParameterError(f"table_from: expected a multiple of {self.word_bytes}, got {job.table_from:#x}")
        if not self.takes(job):
            raise ParameterError("strips: expected windows that strips are for")

    def takes(self, job: VectorJob) -> bool:
        """Whether a job is not in strips, or may be."""
        if not job.strips:
            return True
        (_, wide), (_, apart) = job.kernel, job.stride
        begins = all(0 <= before < size for before, size in zip(job.padding, job.kernel, strict=True))
        return (
            self.has_strips
            and (job.mode == "maximum" or (job.mode == "average" and self.may_sum(*job.kernel)))
            and not job.by_element
            and job.dilation == (1, 1)
            and wide <= self.elements + 1
            and apart <= self.elements
            and job.input_pitch % self.word_bytes == 0
            and begins
        )


NARROW = VectorShape()
"""One element in a cycle."""
