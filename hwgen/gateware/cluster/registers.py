"""Registers of a cluster, from one builder for the hardware, the C header and the documentation; and their port."""

from dataclasses import dataclass

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.cluster import ClusterParameters
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.hwc.registers import Control, Register
from hwgen.gateware.hwc.settings import Setting

__all__ = [
    "COUNTERS",
    "ClusterError",
    "ClusterRegisters",
    "ClusterStatus",
    "Fault",
    "cluster_register_map",
    "cluster_settings",
]

IDENTITY = 0x434C5531
"""Reads "CLU1"."""
PROGRAM_ALIGNMENT = 128
WATCHDOG = 1 << 16
COUNTERS_BASE, SETTINGS_BASE, CONFLICTS_BASE = 0x40, 0x80, 0x100


class ClusterError(enum.Enum, shape=8):
    """Why the cluster did not start, or stopped."""

    NONE = 0
    UNKNOWN_REGISTER = 1
    READ_ONLY_REGISTER = 2
    VALUE_TOO_WIDE = 3
    WRITTEN_WHILE_BUSY = 4
    PROGRAM_PLACE = 5
    DMA_BUSY = 6
    ILLEGAL_COMMAND = 16
    PROGRAM_WITHOUT_END = 17
    TOO_MANY_TOKENS = 18
    WATCHDOG = 19
    HWC = 32
    LOAD = 33
    STORE = 34
    PROGRAM = 35


class ClusterStatus(data.Struct):
    """Read: ``done`` and ``failed`` stay until cleared; ``error`` is a `ClusterError`."""

    busy: 1
    done: 1
    failed: 1
    reserved: 5
    error: ClusterError


class Fault(data.Struct):
    """What went wrong: the codes, the address of the access and of the command that it belongs to."""

    error: ClusterError
    detail: 16
    address: 32
    command: 32


_FIXED = (
    Setting("identity", 32, f"reads {IDENTITY:#x}"),
    Setting("control", 2, "bit 0 starts the program, bit 1 acknowledges the interrupt and clears the error"),
    Setting("status", 16, "bit 0 busy, bit 1 done, bit 2 failed, bits 15 to 8 the error code"),
    Setting("fault_address", 32, "address of what failed: a register, an access to DRAM or TCDM"),
    Setting("fault_command", 32, "DRAM byte address of the command that failed"),
    Setting("fault_detail", 16, "bits 7 to 0 the error code of the HWC or the DMA, bits 15 to 8 the HWC"),
    Setting("cycles", 32, "clock cycles from the start to the end of the program"),
)
COUNTERS = (
    Setting("busy_load", 32, "cycles in which the DMA loads"),
    Setting("busy_compute", 32, "cycles in which some HWC works"),
    Setting("busy_store", 32, "cycles in which the DMA stores"),
    Setting("busy_hwcs", 32, "cycles in which an HWC works, of all of them together"),
    Setting("wait_load_for_compute", 32, "cycles in which a load waits for a token of the compute queue"),
    Setting("wait_load_for_store", 32, "cycles in which a load waits for a token of the store queue"),
    Setting("wait_compute_for_load", 32, "cycles in which the compute queue waits for a token of the load queue"),
    Setting("wait_compute_for_store", 32, "cycles in which the compute queue waits for a token of the store queue"),
    Setting("wait_store_for_load", 32, "cycles in which a store waits for a token of the load queue"),
    Setting("wait_store_for_compute", 32, "cycles in which a store waits for a token of the compute queue"),
    Setting("wait_hwcs", 32, "cycles in which the compute queue waits for HWCs to end"),
    Setting("wait_queue", 32, "cycles in which a command waits for room in its queue"),
)
"""Events that are counted while a program runs."""


def cluster_settings(parameters: ClusterParameters) -> tuple[Setting, ...]:
    """Every run-time setting of a cluster, in register order."""
    inside = parameters.dma.tcdm_address_bits + 1
    settings = [
        Setting("program_address", 32, f"DRAM byte address of the program, a multiple of {PROGRAM_ALIGNMENT}"),
        Setting("program_words", 30, "words of the program"),
        Setting("watchdog", 32, "cycles without any progress after which the program is given up; 0: never"),
        Setting("dram_base", 32, "first DRAM byte that may be touched"),
        Setting("dram_end", 32, "the byte behind the last one"),
        Setting("tcdm_base", inside, "first TCDM byte that the DMA may touch"),
        Setting("tcdm_end", inside, "the byte behind the last one"),
    ]
    for ring, operand in (("i", "input"), ("w", "weights"), ("o", "output")):
        settings += [
            Setting(f"ring_{ring}_end", inside, f"TCDM byte address behind the ring of the {operand}"),
            Setting(f"ring_{ring}_size", inside, "its size in bytes"),
        ]
    return tuple(settings)


def cluster_register_map(parameters: ClusterParameters) -> tuple[Register, ...]:
    """Every register of a cluster, by address."""

    def placed(base: int, entries: tuple[Setting, ...], writable: bool) -> list[Register]:
        return [
            Register(base + 4 * i, entry.name, entry.width, writable or entry.name == "control", entry.meaning)
            for i, entry in enumerate(entries)
        ]

    conflicts = tuple(
        Setting(f"conflicts_{master}", 32, "cycles in which this port waited for another one's access to its bank")
        for master in parameters.masters
    )
    return (
        *placed(0, _FIXED, False),
        *placed(COUNTERS_BASE, COUNTERS, False),
        *placed(SETTINGS_BASE, cluster_settings(parameters), True),
        *placed(CONFLICTS_BASE, conflicts, False),
    )


@dataclass(frozen=True)
class _Access:
    """An access to the port, as the address has decoded it."""

    known: Signal
    writable: Signal
    permitted: Signal


class ClusterRegisters(wiring.Component):
    """The configuration port: settings, start, status, counters.

    Parameters
    ----------
    parameters
        What the cluster is generated for.

    Members
    -------
    port : In(TcdmSignature)
        Every access is granted at once and answered in the next cycle; ``r_opc`` marks a refused one.
    settings : Out
    start : Out(1)
        A pulse: begin.
    quiet : In(1)
        The DMA rests: a program may be started.
    busy : In(1)
    ended : In(1)
        A pulse: the program has ended, with ``fault``.
    fault : In(Fault)
    counting : In
        For each of `COUNTERS` how much it grows in this cycle.
    conflicts : In
        For each master.
    irq : Out(1)
        The program has ended or was refused; until cleared.
    """

    def __init__(self, parameters: ClusterParameters) -> None:
        self.parameters = parameters
        settings = {entry.name: Out(entry.width) for entry in cluster_settings(parameters)}
        growth = parameters.hwcs.bit_length()
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(wiring.Signature(settings)),
                "start": Out(1),
                "quiet": In(1),
                "busy": In(1),
                "ended": In(1),
                "fault": In(Fault),
                "counting": In(data.ArrayLayout(growth, len(COUNTERS))),
                "conflicts": In(data.ArrayLayout(32, len(parameters.masters))),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        registers = {register.name: register for register in cluster_register_map(self.parameters)}
        status, fault, cycles = Signal(ClusterStatus), Signal(Fault), Signal(32)
        counters = {entry.name: Signal(32, name=entry.name) for entry in COUNTERS}
        held = {
            entry.name: Signal(entry.width, name=entry.name, init=WATCHDOG if entry.name == "watchdog" else 0)
            for entry in cluster_settings(self.parameters)
        }
        m.d.comb += [status.busy.eq(self.busy), self.irq.eq(status.done | status.failed)]
        m.d.comb += [getattr(self.settings, name).eq(value) for name, value in held.items()]
        readable: dict[str, Value | int] = {
            "identity": IDENTITY,
            "control": 0,
            "status": status.as_value(),
            "fault_address": fault.address,
            "fault_command": fault.command,
            "fault_detail": fault.detail,
            "cycles": cycles,
            **counters,
            **held,
            **{f"conflicts_{name}": self.conflicts[i] for i, name in enumerate(self.parameters.masters)},
        }
        access = self._decode(m, registers, readable)
        writes, accepted, refusal = Signal(), Signal(), Signal(ClusterError)
        is_control = self.port.add == registers["control"].address
        m.d.comb += [self.port.gnt.eq(1), writes.eq(self.port.req & ~self.port.wen)]
        m.d.sync += [self.port.r_valid.eq(self.port.req), self.port.r_opc.eq(refusal != ClusterError.NONE)]
        with m.If(self.port.req):
            with m.If(~access.known):
                m.d.comb += refusal.eq(ClusterError.UNKNOWN_REGISTER)
            with m.Elif(writes & ~access.writable):
                m.d.comb += refusal.eq(ClusterError.READ_ONLY_REGISTER)
            with m.Elif(writes & (((self.port.wdata & ~access.permitted) != 0) | ~self.port.be.all())):
                m.d.comb += refusal.eq(ClusterError.VALUE_TOO_WIDE)
            with m.Elif(writes & self.busy & ~(is_control & ~self.port.wdata[0])):
                m.d.comb += refusal.eq(ClusterError.WRITTEN_WHILE_BUSY)
        m.d.comb += accepted.eq(writes & (refusal == ClusterError.NONE))
        with m.If(accepted):
            for name, value in held.items():
                with m.If(self.port.add == registers[name].address):
                    m.d.sync += value.eq(self.port.wdata)
        starts, clears = Signal(), Signal()
        control = Control(self.port.wdata[: Control.as_shape().size])
        m.d.comb += [
            starts.eq(accepted & is_control & control.start),
            clears.eq(accepted & is_control & control.clear),
        ]
        with m.If(refusal != ClusterError.NONE), m.If(status.error == ClusterError.NONE):
            m.d.sync += [status.error.eq(refusal), fault.address.eq(self.port.add)]
        self._begin_and_end(m, starts, clears, held, status, fault)
        self._count(m, cycles, list(counters.values()))
        return m

    def _decode(self, m: Module, registers: dict[str, Register], readable: dict[str, Value | int]) -> _Access:
        """What the address names, and the answer to a read of it."""
        access = _Access(Signal(name="known"), Signal(name="writable"), Signal(32, name="permitted"))
        with m.If(self.port.req):
            m.d.sync += self.port.r_rdata.eq(0)
            with m.Switch(self.port.add):
                for register in registers.values():
                    with m.Case(register.address):
                        m.d.comb += [
                            access.known.eq(1),
                            access.writable.eq(register.writable),
                            access.permitted.eq((1 << register.width) - 1),
                        ]
                        m.d.sync += self.port.r_rdata.eq(readable[register.name])
        return access

    def _begin_and_end(
        self,
        m: Module,
        starts: Signal,
        clears: Signal,
        held: dict[str, Signal],
        status: data.View,
        fault: data.View,
    ) -> None:
        """A start that nothing speaks against; the end with what it leaves in the registers."""
        unsound = Signal(ClusterError)
        place = held["program_address"][: (PROGRAM_ALIGNMENT - 1).bit_length()]
        with m.If((held["program_words"] == 0) | (place != 0)):
            m.d.comb += unsound.eq(ClusterError.PROGRAM_PLACE)
        with m.Elif(~self.quiet):
            m.d.comb += unsound.eq(ClusterError.DMA_BUSY)
        m.d.comb += self.start.eq(starts & (unsound == ClusterError.NONE) & (status.error == ClusterError.NONE))
        with m.If(clears):
            m.d.sync += [status.done.eq(0), status.failed.eq(0), status.error.eq(ClusterError.NONE)]
        with m.If(self.start):
            m.d.sync += [status.done.eq(0), fault.as_value().eq(0)]
        with m.Elif(starts):
            m.d.sync += status.failed.eq(1)
            with m.If(status.error == ClusterError.NONE):
                m.d.sync += status.error.eq(unsound)
        with m.If(self.ended):
            failed = self.fault.error != ClusterError.NONE
            m.d.sync += [status.done.eq(~failed), status.failed.eq(failed)]
            with m.If(failed):
                m.d.sync += [status.error.eq(self.fault.error), fault.as_value().eq(self.fault.as_value())]

    def _count(self, m: Module, cycles: Signal, counters: list[Signal]) -> None:
        with m.If(self.start):
            m.d.sync += [cycles.eq(0), *(counter.eq(0) for counter in counters)]
        with m.Elif(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
            for i, counter in enumerate(counters):
                with m.If(self.counting[i] != 0):
                    m.d.sync += counter.eq(counter + self.counting[i])
