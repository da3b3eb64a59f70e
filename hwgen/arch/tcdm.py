"""What the shared memory of a cluster is generated for."""

from dataclasses import dataclass

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.parameter_error import ParameterError

__all__ = ["TcdmParameters"]


@dataclass(frozen=True)
class TcdmParameters:
    """What a memory of banks is generated for.

    Parameters
    ----------
    masters
        Ports.
    banks
        A power of two, at least 2.
    size
        Bytes in all: a multiple of a word in each bank, at least two of them.
    words
        For each port, the words of 32 bits that one access moves: a power of two, at most as many as there are banks.
        Without them one each.
    """

    masters: int
    banks: int = 16
    size: int = 1 << 18
    words: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.masters < 1:
            raise ParameterError(f"masters: expected at least 1, got {self.masters}")
        if self.banks < 2 or self.banks & (self.banks - 1):
            raise ParameterError(f"banks: expected a power of two from 2 on, got {self.banks}")
        line = WORD_BYTES * self.banks
        if self.size % line or not 2 * line <= self.size <= 1 << 31:
            raise ParameterError(f"size: expected a multiple of {line} bytes, at least two, got {self.size}")
        if self.words and len(self.words) != self.masters:
            raise ParameterError(f"words: expected {self.masters} numbers, got {len(self.words)}")
        if max(self.words_of) > self.banks:
            raise ParameterError(
                f"ports: expected at most {WORD_BITS * self.banks} bits with {self.banks} banks, "
                f"got {WORD_BITS * max(self.words_of)}"
            )

    @property
    def words_of(self) -> tuple[int, ...]:
        """Words that one access of each port moves."""
        return self.words or (1,) * self.masters

    @property
    def depth(self) -> int:
        """Words of a bank."""
        return self.size // WORD_BYTES // self.banks
