"""A register bank as plain values: fields with access and reset value, registers, and the builder of addresses."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from hwgen.arch.bus import WORD_BITS, WORD_BYTES
from hwgen.arch.registers.errors import ErrorCode

__all__ = ["HELD", "VALUE", "Access", "Bank", "BankBuilder", "Content", "Field",
           "Register", "queued", "setting", "value_register", "write_only"]  # fmt: skip

VALUE = "value"
"""Name of the field of a register that has only one."""


class Access(StrEnum):
    """How software sees a field."""

    RW = "rw"
    """Holds the value that was written last."""
    WO = "wo"
    """The same, but reads zero: the value costs no place in the multiplexer of what is read."""
    RO = "ro"
    """Shows a value of the hardware; a write is refused."""
    W1C = "w1c"
    """Bits that the hardware sets; writing a one to a bit clears it."""
    PULSE = "pulse"
    """Writing a one acts once, in the cycle of the write; reads zero."""


HELD = (Access.RW, Access.WO)
"""Fields that hold what software wrote last."""


@dataclass(frozen=True)
class Field:
    """Some bits of a register.

    Parameters
    ----------
    name, low, width
        Bits ``low`` to ``low + width - 1``.
    access
        How software sees it; a pulse is one bit.
    meaning
        One sentence without a full stop.
    reset
        Value after reset.
    constant
        A read-only field that always reads its reset value.
    while_busy
        A pulse that may be written while the block is busy.
    queues
        A pulse, or a value, that may be written while the block is busy, but not while a start waits for its end.
    codes
        The values that it takes, if they have names.
    """

    name: str
    low: int
    width: int
    access: Access
    meaning: str
    reset: int = 0
    constant: bool = False
    while_busy: bool = False
    queues: bool = False
    codes: type[ErrorCode] | None = None

    def __post_init__(self) -> None:
        if self.low < 0 or self.width < 1 or self.low + self.width > WORD_BITS:
            raise ValueError(f"{self.name}: expected bits inside a register of {WORD_BITS}")
        if not 0 <= self.reset < 1 << self.width:
            raise ValueError(f"{self.name}: reset: expected below {1 << self.width}, got {self.reset}")
        if self.access is Access.PULSE and (self.width, self.reset) != (1, 0):
            raise ValueError(f"{self.name}: a pulse has one bit and reads 0")
        if self.access is Access.W1C and self.reset:
            raise ValueError(f"{self.name}: bits that the hardware sets are 0 after reset")
        if self.constant and self.access is not Access.RO:
            raise ValueError(f"{self.name}: a constant is read only")
        if self.while_busy and self.access is not Access.PULSE:
            raise ValueError(f"{self.name}: only a pulse may be written while the block is busy")
        if self.queues and (self.while_busy or not self.writable):
            raise ValueError(f"{self.name}: what queues is written, but not always")

    @property
    def mask(self) -> int:
        """Ones in its bits of the register."""
        return ((1 << self.width) - 1) << self.low

    @property
    def writable(self) -> bool:
        """Whether a write to it has an effect."""
        return self.access is not Access.RO

    def of(self, word: int) -> int:
        """Its value in a word of the register."""
        return (word & self.mask) >> self.low


@dataclass(frozen=True)
class Content:
    """A register without its address: name, one sentence without a full stop, and fields from the lowest bit up."""

    name: str
    meaning: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        bit = 0
        for field in self.fields:
            if field.low < bit:
                raise ValueError(f"{self.name}: {field.name}: expected from bit {bit} on, got {field.low}")
            bit = field.low + field.width
        if not self.fields:
            raise ValueError(f"{self.name}: expected at least one field")

    @property
    def width(self) -> int:
        """Bits from 0 to the highest one of a field."""
        return self.fields[-1].low + self.fields[-1].width

    @property
    def writable(self) -> bool:
        """Whether any field is."""
        return any(field.writable for field in self.fields)

    @property
    def written_mask(self) -> int:
        """Bits in which a one may be written."""
        return sum(field.mask for field in self.fields if field.writable)

    @property
    def held(self) -> bool:
        """Whether it holds values that software writes."""
        return any(field.access in HELD for field in self.fields)

    @property
    def idle(self) -> bool:
        """Whether it holds values that cannot be written while the block is busy."""
        return any(field.access in HELD and not field.queues for field in self.fields)

    @property
    def idle_mask(self) -> int:
        """Pulses that cannot be written while the block is busy."""
        waits = (field for field in self.fields if not (field.while_busy or field.queues))
        return sum(field.mask for field in waits if field.access is Access.PULSE)

    @property
    def queues(self) -> bool:
        """Whether it holds values that cannot be written while a start waits."""
        return any(field.access in HELD and field.queues for field in self.fields)

    @property
    def queue_mask(self) -> int:
        """Pulses that cannot be written while a start waits."""
        return sum(field.mask for field in self.fields if field.access is Access.PULSE and field.queues)

    @property
    def reset(self) -> int:
        """Its value after reset."""
        return sum(field.reset << field.low for field in self.fields)

    def field(self, name: str = VALUE) -> Field:
        """A field by its name."""
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True)
class Register(Content):
    """A register at a byte address."""

    address: int

    def signals(self, *access: Access) -> Iterator[tuple[str, Field]]:
        """Its fields of some kinds of access, each with the name of its signal: `Bank.signals`."""
        for field in self.fields:
            if field.access in access and not field.constant:
                yield self.name if field.name == VALUE else f"{self.name}_{field.name}", field


@dataclass(frozen=True)
class Bank:
    """All registers of a block.

    Parameters
    ----------
    name
        Of the block: the prefix of everything that is generated for it.
    meaning
        One sentence without a full stop.
    registers
        By address, which are multiples of `WORD_BYTES`.
    """

    name: str
    meaning: str
    registers: tuple[Register, ...]

    def __post_init__(self) -> None:
        if not self.registers:
            raise ValueError(f"{self.name}: expected at least one register")
        names = [name for register in self.registers for name, _ in register.signals(*Access)]
        names += [register.name for register in self.registers if register.fields[0].name != VALUE]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two registers or fields of one name")
        addresses = [register.address for register in self.registers]
        if addresses != sorted(set(addresses)) or any(address % WORD_BYTES for address in addresses):
            raise ValueError(f"{self.name}: expected ascending addresses of whole words")

    def __iter__(self) -> Iterator[Register]:
        return iter(self.registers)

    def __getitem__(self, name: str) -> Register:
        """A register by its name."""
        return self.by_name[name]

    @property
    def by_name(self) -> dict[str, Register]:
        """Registers by name."""
        return {register.name: register for register in self.registers}

    @property
    def addresses(self) -> dict[str, int]:
        """Byte addresses by name."""
        return {register.name: register.address for register in self.registers}

    @cached_property
    def held(self) -> tuple[Register, ...]:
        """The registers that hold values of software."""
        return tuple(register for register in self.registers if register.held)

    @cached_property
    def written(self) -> tuple[tuple[str, tuple[tuple[str, int, int], ...]], ...]:
        """These by name, each with its fields that are only written: name of the signal, lowest bit, mask."""
        return tuple(
            (one.name, tuple((name, field.low, field.mask) for name, field in one.signals(Access.WO)))
            for one in self.held
        )

    def signals(self, *access: Access) -> Iterator[tuple[str, Field]]:
        """The fields of some kinds of access, each with the name of its signal in the hardware.

        A register with one field `VALUE` names its signal; else it is ``register_field``. Constants have none.
        """
        for register in self.registers:
            yield from register.signals(*access)


class BankBuilder:
    """Gives registers their addresses, word after word."""

    def __init__(self, name: str, meaning: str) -> None:
        self._name, self._meaning = name, meaning
        self._registers: list[Register] = []

    def place(self, base: int, contents: Iterable[Content]) -> None:
        """Add registers at consecutive words from a byte address on."""
        for number, one in enumerate(contents):
            address = base + WORD_BYTES * number
            self._registers.append(Register(one.name, one.meaning, one.fields, address))

    def bank(self) -> Bank:
        """All of them."""
        return Bank(self._name, self._meaning, tuple(self._registers))


def value_register(
    name: str, width: int, meaning: str, access: Access, *, reset: int = 0, constant: bool = False
) -> Content:
    """A register of one field, from bit 0 up."""
    return Content(name, meaning, (Field(VALUE, 0, width, access, meaning, reset, constant),))


def setting(name: str, width: int, meaning: str, reset: int = 0) -> Content:
    """A run-time setting: a register that holds one value."""
    return value_register(name, width, meaning, Access.RW, reset=reset)


def write_only(content: Content) -> Content:
    """The same register, but what software writes to it cannot be read."""
    fields = (replace(field, access=Access.WO) if field.access is Access.RW else field for field in content.fields)
    return replace(content, fields=tuple(fields))


def queued(content: Content) -> Content:
    """The same register, but software may write it while the block is busy, for the run that comes next."""
    fields = (replace(field, queues=field.access in HELD) for field in content.fields)
    return replace(content, fields=tuple(fields))
