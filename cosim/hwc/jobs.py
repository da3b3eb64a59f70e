"""One run of the hardware: what the harness is told, and what it answers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hwgen.arch import bus
from hwgen.arch.bus import WORD_BITS

__all__ = [
    "DIRECTIONS",
    "PORTS",
    "REGIONS",
    "WRITE_ANSWERS",
    "Access",
    "Job",
    "JobResult",
    "Port",
    "Region",
    "Trace",
    "WriteAnswers",
]

Port = Literal["i", "w", "o"]
Region = Literal["input", "weights", "bias", "partial", "output", "elsewhere"]
Direction = Literal["read", "write"]
WriteAnswers = Literal["all", "failing", "none"]

PORTS: tuple[Port, ...] = ("i", "w", "o")
REGIONS: tuple[Region, ...] = ("input", "weights", "bias", "partial", "output", "elsewhere")
"""In the order in which the harness knows them; ``elsewhere`` is whatever the five leave."""
DIRECTIONS: tuple[Direction, ...] = ("read", "write")
WRITE_ANSWERS: tuple[WriteAnswers, ...] = ("all", "failing", "none")
"""In the order in which the harness knows them."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Which accesses of which port to write down: numbers ``first`` up to, not including, ``end``."""

    port: Port
    first: int
    end: int


@dataclass(frozen=True)
class Job:
    """One run.

    Parameters
    ----------
    name : what reports call it; unique among the jobs of one call.
    registers : (name, byte address, value), written in this order.
    start : (byte address, value) of the write that starts the run and the cycle counter.
    status : byte address of the register that is read when the run has finished.
    acknowledge : (byte address, value) of the write that takes the interrupt back; None: the HWC is reset instead.
    regions : (byte address, size in bytes) of the regions that accesses are counted by.
    image : the memory's first words.
    cycle_limit : cycles after which the run is given up.
    random : start of the random numbers for unused read bytes, stalls and delays.
    stall_rates, delay_rates : for the ports I, W and O, in how many of 256 cycles there is no grant, no response.
    latency : least cycles from a grant to its response, 1 to 8.
    write_answers : which writes have a response: all, those that fail, or none.
    error : port and byte address whose accesses are answered with an error.
    reset : reset the HWC first; the first job of a process always does.
    reads : byte addresses of further registers to read when the run has finished.
    meanwhile : (cycles, action, byte address, value): what happens that number of cycles after the start, or after
        the previous one of these: a ``write`` to a register, an ``end`` (a write after the interrupt), a ``reset``
        (of HWC and counters).
    trace : which accesses to write down.
    ports : bits of a word of the ports I, W and O, the same for all jobs of a call.
    tells_memory : byte address of the register that is told first whether the memory answers writes; None: the HWC
        has to find out.
    """

    name: str
    registers: tuple[tuple[str, int, int], ...]
    start: tuple[int, int]
    status: int
    acknowledge: tuple[int, int] | None
    regions: Mapping[str, tuple[int, int]]
    image: np.ndarray
    cycle_limit: int
    random: int = 1
    stall_rates: tuple[int, int, int] = (0, 0, 0)
    delay_rates: tuple[int, int, int] = (0, 0, 0)
    latency: int = 1
    write_answers: WriteAnswers = "all"
    error: tuple[Port, int] | None = None
    reset: bool = False
    reads: tuple[int, ...] = ()
    meanwhile: tuple[tuple[int, Literal["write", "end", "reset"], int, int], ...] = ()
    trace: Trace | None = None
    ports: tuple[int, int, int] = (WORD_BITS, WORD_BITS, WORD_BITS)
    tells_memory: int | None = None

    def __post_init__(self) -> None:
        if self.image.dtype != np.uint32 or self.image.ndim != 1:
            raise ValueError(f"image: expected a vector of 32-bit words, got {self.image.ndim}-D {self.image.dtype}")
        if not 1 <= self.random < 1 << 32:
            raise ValueError(f"random: expected 1 to 2**32 - 1, got {self.random}")
        for rate in (*self.stall_rates, *self.delay_rates):
            if not 0 <= rate <= 240:
                raise ValueError(f"stall_rates, delay_rates: expected 0 to 240 cycles in 256, got {rate}")
        if not 1 <= self.latency <= 8:
            raise ValueError(f"latency: expected 1 to 8 cycles, got {self.latency}")
        if self.write_answers not in WRITE_ANSWERS:
            raise ValueError(f"write_answers: expected one of {', '.join(WRITE_ANSWERS)}, got {self.write_answers}")
        if unknown := set(self.regions) - set(REGIONS[:-1]):
            raise ValueError(f"regions: expected {', '.join(REGIONS[:-1])}, got {', '.join(sorted(unknown))}")

    def as_data(self) -> dict[str, Any]:
        """Plain data for the test bench, without the image."""
        registers = self.registers
        if self.tells_memory is not None:
            answers = bus.WriteAnswers.GIVEN if self.write_answers == "all" else bus.WriteAnswers.NOT_GIVEN
            registers = (("write_answers", self.tells_memory, int(answers)), *registers)
        fields = asdict(replace(self, registers=registers, image=np.empty(0, np.uint32)))
        del fields["image"]
        return fields


@dataclass(frozen=True, slots=True)
class Access:
    """Accesses on a bus: how many, and how many bytes they marked."""

    words: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class JobResult:
    """What came of a job.

    Members
    -------
    status : the status register when the run had finished.
    values : the registers in the job's ``reads``.
    refused : addresses on the configuration port that were answered with an error, in order.
    irq : the interrupt after the run, before and after it was acknowledged.
    timed_out : the cycle limit came before the interrupt.
    cycles : from the grant of the start write to the interrupt.
    accesses : by port, region and direction; what is absent is zero.
    violations : breaches of the bus protocol, by port (and ``cfg``).
    memory : the memory after the run, as many words as the image had.
    unknown_words : how many of them have unknown bits (0 in ``memory``), which is possible under Icarus only.
    seconds, cpu_seconds : wall clock and processor time from the start write to the interrupt.
    trace : (byte address, whether it is a write, be bits) of each traced access.
    """

    name: str
    status: int
    values: tuple[int, ...]
    refused: tuple[int, ...]
    irq: tuple[bool, bool]
    timed_out: bool
    cycles: int
    accesses: Mapping[tuple[Port, Region, Direction], Access]
    violations: Mapping[str, int]
    memory: np.ndarray
    unknown_words: int
    seconds: float
    cpu_seconds: float
    trace: np.ndarray | None = field(default=None, repr=False)

    def at(self, port: Port, region: Region, direction: Direction) -> Access:
        """Accesses of one kind."""
        return self.accesses.get((port, region, direction), Access())

    @classmethod
    def from_data(cls, data: dict[str, Any], memory: np.ndarray, trace: np.ndarray | None) -> "JobResult":
        """From the test bench's plain data: counters come as lists over regions and directions."""
        accesses = {
            (port, region, direction): Access(*data["counters"][port][2 * r + d])
            for port in PORTS
            for r, region in enumerate(REGIONS)
            for d, direction in enumerate(DIRECTIONS)
        }
        return cls(
            name=data["name"],
            status=data["status"],
            values=tuple(data["values"]),
            refused=tuple(data["refused"]),
            irq=(data["irq"][0], data["irq"][1]),
            timed_out=data["timed_out"],
            cycles=data["cycles"],
            accesses={key: value for key, value in accesses.items() if value != Access()},
            violations=data["violations"],
            memory=memory,
            unknown_words=data["unknown_words"],
            seconds=data["seconds"],
            cpu_seconds=data["cpu_seconds"],
            trace=trace,
        )
