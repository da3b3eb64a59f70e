"""Access counts: the one typed value in which the model predicts and the hardware measures."""

from dataclasses import dataclass, field
from typing import Literal, Self

__all__ = ["DIRECTIONS", "OPERANDS", "Access", "Counts", "Direction", "Operand"]

Operand = Literal["I", "W", "O", "B"]
Direction = Literal["read", "read_partial", "write_partial", "write"]
Key = tuple[str, Operand, Direction]

OPERANDS: tuple[Operand, ...] = ("I", "W", "O")
"""The operands that make up the traffic. ``B`` (bias) is counted too but stays outside `Counts.total_bytes`."""

DIRECTIONS: dict[Operand, tuple[Direction, ...]] = {
    "I": ("read",),
    "W": ("read",),
    "O": ("read_partial", "write_partial", "write"),
    "B": ("read",),
}


@dataclass(frozen=True, slots=True)
class Access:
    """How often one operand moved in one direction: elements, bytes, and 32-bit words (bus accesses)."""

    elements: int = 0
    bytes: int = 0
    words: int = 0

    def __add__(self, other: Self) -> "Access":
        return Access(self.elements + other.elements, self.bytes + other.bytes, self.words + other.words)


@dataclass(frozen=True)
class Counts:
    """Accesses by (level, operand, direction); what is absent is zero."""

    accesses: dict[Key, Access] = field(default_factory=dict)

    def __getitem__(self, key: Key) -> Access:
        return self.accesses.get(key, Access())

    def levels(self) -> tuple[str, ...]:
        """Memory levels that are counted, in order of first appearance."""
        return tuple(dict.fromkeys(level for level, _, _ in self.accesses)) or ("tcdm",)

    def operand_bytes(self, operand: Operand, level: str = "tcdm") -> int:
        """Bytes of one operand over all its directions."""
        return sum(self[level, operand, direction].bytes for direction in DIRECTIONS[operand])

    def total_bytes(self, level: str = "tcdm") -> int:
        """Bytes of I, W and O at one level; bias is not part of it."""
        return sum(self.operand_bytes(operand, level) for operand in OPERANDS)

    def total_words(self, level: str = "tcdm") -> int:
        """Words of I, W and O at one level; bias is not part of it."""
        return sum(self[level, o, d].words for o in OPERANDS for d in DIRECTIONS[o])

    def differences(
        self, other: Self, quantities: tuple[str, ...] = ("bytes", "words")
    ) -> list[tuple[Key, str, int, int]]:
        """Every (key, quantity, mine, theirs) in which the two differ, in a fixed order."""
        keys = dict.fromkeys([*self.accesses, *other.accesses])
        return [
            (key, quantity, getattr(self[key], quantity), getattr(other[key], quantity))
            for key in keys
            for quantity in quantities
            if getattr(self[key], quantity) != getattr(other[key], quantity)
        ]

    def as_json(self, *, elements: bool = False) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """The JSON form that every command prints: level, operand, direction, quantity; zeros are written."""
        return {
            level: {
                operand: {
                    direction: self._entry(self[level, operand, direction], elements) for direction in directions
                }
                for operand, directions in DIRECTIONS.items()
            }
            for level in self.levels()
        }

    @staticmethod
    def _entry(access: Access, elements: bool) -> dict[str, int]:
        entry = {"bytes": access.bytes, "words": access.words}
        return {"elements": access.elements, **entry} if elements else entry

    @classmethod
    def from_json(cls, data: dict[str, dict[str, dict[str, dict[str, int]]]]) -> "Counts":
        """The inverse of `as_json`."""
        return cls(
            {
                (level, operand, direction): Access(**entry)  # type: ignore[misc]
                for level, operands in data.items()
                for operand, directions in operands.items()
                for direction, entry in directions.items()
            }
        )
