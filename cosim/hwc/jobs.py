"""One run of an HWC: what the harness is told."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from hwgen.arch import bus
from hwgen.arch.bus import WORD_BITS

__all__ = ["PORTS", "REGIONS", "WRITE_ANSWERS", "Job", "Port", "Trace"]

Port = Literal["i", "w", "o"]
Region = Literal["input", "weights", "bias", "partial", "output", "elsewhere"]
WriteAnswers = Literal["all", "failing", "none"]

PORTS: tuple[Port, ...] = ("i", "w", "o")
REGIONS: tuple[Region, ...] = ("input", "weights", "bias", "partial", "output", "elsewhere")
"""Regions in the order in which the harness knows them; ``elsewhere`` is whatever the five leave."""
WRITE_ANSWERS: tuple[WriteAnswers, ...] = ("all", "failing", "none")
"""Ways of answering writes, in the order in which the harness knows them."""


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
    reads : byte addresses, by name, of further registers to read when the run has finished.
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
    reads: Mapping[str, int] = field(default_factory=dict)
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
        return {**fields, "reads": list(self.reads.values())}
