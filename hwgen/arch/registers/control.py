"""Identity, control and status: what the first registers of every bank have in common."""

from enum import IntFlag

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.registers.bank import Access, Content, Field, value_register
from hwgen.arch.registers.errors import ERROR_BITS, ErrorCode

__all__ = [
    "CONTROL_ADDRESS",
    "Control",
    "Status",
    "control_register",
    "error_of",
    "identity_register",
    "status_register",
]

CONTROL_ADDRESS = WORD_BYTES
"""Address of the control register in every bank: identity, control and status are the first three registers."""
ERROR_LOW = 8


class Control(IntFlag):
    """Bits of the control register: each is a pulse."""

    START = 1
    CLEAR = 2
    LOAD = 4
    ABORT = 8
    MORE = 16


class Status(IntFlag):
    """Bits of the status register, besides the error code in bits 15 to 8."""

    BUSY = 1
    DONE = 2
    FAILED = 4
    QUEUED = 8


def error_of(status: int) -> int:
    """The error code in the value of a status register."""
    return status >> ERROR_LOW & (1 << ERROR_BITS) - 1


def identity_register(identity: int) -> Content:
    """Tells software which block it talks to."""
    letters = identity.to_bytes(4, "big").decode("ascii")
    meaning = f"Identity of the block: {identity:#x}, the letters {letters}"
    return value_register("identity", 32, meaning, Access.RO, reset=identity, constant=True)


def control_register(
    starts: str, loads: str | None = None, aborts: str | None = None, more: str | None = None, *, queues: bool = False
) -> Content:
    """Pulses that start the block and acknowledge its interrupt.

    Parameters
    ----------
    starts, loads, aborts, more : what a one in the bit does, as a sentence; without the latter three there is no such
        bit. The last one belongs to a start.
    queues : a start may be written while the block is busy, and waits for its end.
    """

    def pulse(bit: Control, meaning: str, *, while_busy: bool = False, queues: bool = False) -> Field:
        low = int(bit).bit_length() - 1
        return Field(str(bit.name).lower(), low, 1, Access.PULSE, meaning, while_busy=while_busy, queues=queues)

    acknowledges = "Acknowledges the interrupt: clears done, failed and the error code"
    fields = [pulse(Control.START, starts, queues=queues), pulse(Control.CLEAR, acknowledges, while_busy=True)]
    if loads is not None:
        fields.append(pulse(Control.LOAD, loads))
    if aborts is not None:
        fields.append(pulse(Control.ABORT, aborts, while_busy=True))
    if more is not None:
        fields.append(pulse(Control.MORE, more, queues=queues))
    return Content("control", "Starts the block and acknowledges its interrupt", tuple(fields))


def status_register(codes: type[ErrorCode], *, queues: bool | str = False) -> Content:
    """What the block does, and how its last run ended; with ``queues`` also whether a start waits, and for what."""
    meanings = {
        Status.BUSY: "The block runs",
        Status.DONE: "The last run ended without an error; until the next start or until acknowledged",
        Status.FAILED: "The last run failed or was refused; until acknowledged",
    }
    if queues:
        meanings[Status.QUEUED] = queues if isinstance(queues, str) else "A start waits for the end of the run"
    flags = (
        Field(str(bit.name).lower(), int(bit).bit_length() - 1, 1, Access.RO, meaning)
        for bit, meaning in meanings.items()
    )
    error = Field(
        "error", ERROR_LOW, ERROR_BITS, Access.RO, "The first error since the last acknowledgement", codes=codes
    )
    return Content("status", "What the block does, and how its last run ended", (*flags, error))
