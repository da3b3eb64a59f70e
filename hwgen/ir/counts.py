"""Access counts: the one typed value in which the model predicts and the hardware measures."""

from dataclasses import dataclass, field
from typing import Literal, Self

from hwgen.ir.level import BUSES, TCDM

__all__ = [
    "DIRECTIONS",
    "OPERANDS",
    "Access",
    "Counts",
    "Direction",
    "Key",
    "Operand",
    "directions_at",
    "quantities_at",
]

Operand = Literal["I", "W", "O", "B", "P"]
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
"""What is counted at `tcdm`, and by the DMA's ports there (`tcdm_dma`)."""

_WITHOUT_BIASES: dict[Operand, tuple[Direction, ...]] = {operand: DIRECTIONS[operand] for operand in OPERANDS}
_WITH_PROGRAMS: dict[Operand, tuple[Direction, ...]] = {**DIRECTIONS, "P": ("read",)}


def directions_at(level: str) -> dict[Operand, tuple[Direction, ...]]:
    """What is counted at a memory level; where programs are fetched from, those too, as operand ``P``."""
    bus = BUSES[level]
    return _WITH_PROGRAMS if bus.programs else DIRECTIONS if bus.biases else _WITHOUT_BIASES


def quantities_at(level: str) -> tuple[str, ...]:
    """The quantities that depend on the level, in the order of the JSON form; elements are known everywhere."""
    return BUSES[level].quantities


@dataclass(frozen=True, slots=True)
class Access:
    """How often one operand moved in one direction: elements and bytes; at `tcdm` words, at `dram` the others.

    Members
    -------
    words : 32-bit bus accesses.
    beats, axi_bursts : transfers and address handshakes on AXI.
    blocks : 128-byte DRAM bursts touched, run by run.
    jumps : runs that do not begin where the last one of their stream ended.
    row_misses : blocks that found another row open in their bank.
    """

    elements: int = 0
    bytes: int = 0
    words: int = 0
    beats: int = 0
    axi_bursts: int = 0
    blocks: int = 0
    jumps: int = 0
    row_misses: int = 0

    def __add__(self, other: Self) -> "Access":
        return Access(
            self.elements + other.elements,
            self.bytes + other.bytes,
            self.words + other.words,
            self.beats + other.beats,
            self.axi_bursts + other.axi_bursts,
            self.blocks + other.blocks,
            self.jumps + other.jumps,
            self.row_misses + other.row_misses,
        )


@dataclass(frozen=True)
class Counts:
    """Accesses by (level, operand, direction); what is absent is zero."""

    accesses: dict[Key, Access] = field(default_factory=dict)

    def __getitem__(self, key: Key) -> Access:
        return self.accesses.get(key, Access())

    def levels(self) -> tuple[str, ...]:
        """Memory levels that are counted, in order of first appearance."""
        return tuple(dict.fromkeys(level for level, _, _ in self.accesses)) or (TCDM.name,)

    def operand_bytes(self, operand: Operand, level: str = TCDM.name) -> int:
        """Bytes of one operand over all its directions."""
        return sum(self[level, operand, direction].bytes for direction in DIRECTIONS[operand])

    def total_bytes(self, level: str = TCDM.name) -> int:
        """Bytes of I, W and O at one level; bias is not part of it."""
        return sum(self.operand_bytes(operand, level) for operand in OPERANDS)

    def total_with_bias(self, level: str = TCDM.name) -> int:
        """Bytes of I, W, O and of the bias at one level."""
        return self.total_bytes(level) + self.operand_bytes("B", level)

    def total_words(self) -> int:
        """Words of I, W and O at the TCDM; bias is not part of it."""
        return sum(self[TCDM.name, o, d].words for o in OPERANDS for d in DIRECTIONS[o])

    def __add__(self, other: Self) -> "Counts":
        keys = dict.fromkeys([*self.accesses, *other.accesses])
        return Counts({key: self[key] + other[key] for key in keys})

    def at(self, level: str) -> "Counts":
        """What is counted at one level."""
        return Counts({key: access for key, access in self.accesses.items() if key[0] == level})

    def differences(self, other: Self, quantities: tuple[str, ...] | None = None) -> list[tuple[Key, str, int, int]]:
        """Every (key, quantity, mine, theirs) in which the two differ, in a fixed order.

        Without ``quantities`` those of each level's JSON form.
        """
        keys = dict.fromkeys([*self.accesses, *other.accesses])
        return [
            (key, quantity, getattr(self[key], quantity), getattr(other[key], quantity))
            for key in keys
            for quantity in quantities or quantities_at(key[0])
            if getattr(self[key], quantity) != getattr(other[key], quantity)
        ]

    def as_json(self, *, elements: bool = False) -> dict[str, dict[str, dict[str, dict[str, int]]]]:
        """The JSON form that every command prints: level, operand, direction, quantity; zeros are written."""
        return {
            level: {
                operand: {
                    direction: self._entry(level, self[level, operand, direction], elements)
                    for direction in directions
                }
                for operand, directions in directions_at(level).items()
            }
            for level in self.levels()
        }

    @staticmethod
    def _entry(level: str, access: Access, elements: bool) -> dict[str, int]:
        entry = {quantity: getattr(access, quantity) for quantity in quantities_at(level)}
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
