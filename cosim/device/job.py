"""One run of a device whose parts are led by programs in a DRAM: what it is asked, and what came of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cosim.device.dram import Counted, Region, Unwanted
from hwgen.arch.dram import Dram
from hwgen.arch.registers.control import Status, error_of

__all__ = ["ELSEWHERE", "Accesses", "Job", "Outcome", "Unit", "UnitOutcome"]

ELSEWHERE = "elsewhere"
"""The region of accesses that are in none."""
Span = tuple[int, int]
Accesses = Mapping[tuple[str, str, bool], tuple[int, int]]
"""Accesses of a shared memory, (words, bytes), by port, region and whether written; absent entries are zero. Those of
local memories by lanes, which are vectors, stand beside them, by operand."""


@dataclass(frozen=True)
class Unit:
    """What one unit of a device with registers of its own is given: the cluster, or one of a system.

    Members
    -------
    registers : settings by name.
    tcdm : first byte address, and the one after the last, of each region of the TCDM that accesses are counted by.
    dram : the same of the DRAM; the program is one of them.
    """

    registers: Mapping[str, int]
    tcdm: Mapping[str, Span] = field(default_factory=dict)
    dram: tuple[Region, ...] = ()


@dataclass(frozen=True)
class Job:
    """One run.

    Parameters
    ----------
    name : its name in reports.
    image : the first words of the DRAM.
    units : one for each that is started; the others stay idle.
    cycle_limit : cycles after which the run is stopped.
    random : seed of stalls and of noise in unmarked bytes; not 0.
    axi_stalls : cycles in 256 without handshake on AR, R, AW, W, B.
    tcdm_stalls : cycles in 256 in which no new request passes, for each master of each unit, or one rate for all.
    timing : of the DRAM.
    axi_error : (``read`` or ``write``, RRESP or BRESP, byte address): beats there are answered with an error.
    tcdm_error : (master, byte address): its accesses there are; of a cluster alone.
    abort_after : software aborts the programs that many cycles after the last start; 0: it does not.
    reset : reset the device first.
    reset_after : cycles from the last start to a reset of all; then no interrupt comes.
    """

    name: str
    image: NDArray[np.uint32]
    units: tuple[Unit, ...]
    cycle_limit: int
    random: int = 1
    axi_stalls: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    tcdm_stalls: int | tuple[int, ...] = 0
    timing: Dram = field(default_factory=Dram)
    axi_error: tuple[str, int, int] | None = None
    tcdm_error: tuple[str, int] | None = None
    abort_after: int = 0
    reset: bool = True
    reset_after: int | None = None

    @property
    def registers(self) -> Mapping[str, int]:
        """The settings of the only unit."""
        (unit,) = self.units
        return unit.registers

    def with_registers(self, changed: Mapping[str, int]) -> "Job":
        """The same with other settings of the only unit."""
        (unit,) = self.units
        return replace(self, units=(replace(unit, registers={**unit.registers, **changed}),))


@dataclass(frozen=True)
class UnitOutcome:
    """What one unit did.

    Members
    -------
    registers : every register, by name.
    refused : registers whose write was refused.
    cycles : from the grant of the write that starts it to its interrupt.
    tcdm : what its ports at the shared memory counted; absent entries are zero.
    dram : what was counted of it at the DRAM.
    unwanted : what was read from the DRAM that no descriptor asks for.
    waits : cycles in which the memory kept a request waiting, by master, without the stalls that the harness makes.
    stalls : what reports say of its waiting, by name.
    """

    registers: Mapping[str, int]
    refused: tuple[str, ...]
    cycles: int
    tcdm: Accesses
    dram: Counted
    unwanted: Unwanted
    waits: Mapping[str, int]
    stalls: Mapping[str, int]

    def at(self, port: str, region: str, *, written: bool = False) -> tuple[int, int]:
        """Words and bytes of one kind of accesses at the shared memory."""
        return self.tcdm.get((port, region, written), (0, 0))

    @property
    def status(self) -> int:
        """The status register."""
        return self.registers["status"]

    @property
    def error(self) -> int:
        """The error code in the status register."""
        return error_of(self.status)

    @property
    def done(self) -> bool:
        """Whether it ended without an error."""
        return self.status == Status.DONE


@dataclass(frozen=True)
class Outcome:
    """What came of a run.

    Members
    -------
    units : what each of the job's units did.
    irq : the interrupts after the run, before and after they were acknowledged, a bit for each unit.
    timed_out : the cycle limit was reached before the interrupt.
    cycles : from the first start to the last interrupt.
    memory : the contents of the DRAM; of an HWC those of its memory.
    total : what the DRAM counted of several units together, by `cosim.device.dram.COUNTERS`; empty if there is one.
    violations : breaches of the protocol, by port.
    unknown_words : how many words of the memory have unknown bits, which is possible under Icarus only.
    seconds, cpu_seconds : wall clock and processor time of the run itself.
    trace : of an HWC, (byte address, whether it is a write, be bits) of each access that the job has traced.
    """

    name: str
    units: tuple[UnitOutcome, ...]
    irq: tuple[int, int]
    timed_out: bool
    cycles: int
    memory: NDArray[np.uint32]
    violations: Mapping[str, int]
    seconds: float
    cpu_seconds: float = 0.0
    total: Mapping[str, int] = field(default_factory=dict)
    unknown_words: int = 0
    trace: NDArray[np.uint64] | None = field(default=None, repr=False)

    @property
    def only(self) -> UnitOutcome:
        """What the only unit did."""
        (unit,) = self.units
        return unit

    @property
    def done(self) -> bool:
        """Whether all ended without an error."""
        return not self.timed_out and all(unit.done for unit in self.units)
