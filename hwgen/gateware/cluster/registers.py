"""The configuration port of a cluster: its register bank, the checks before a start, status and counters."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.dma import CHUNK_BYTES
from hwgen.arch.registers.cluster import EVENTS, FAULT_DETAIL, RING_SETTINGS, cluster_registers
from hwgen.arch.registers.errors import ClusterError
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.lib.register_bank import ERROR, InnerWrite, RegisterBank, layout_of, settings_signature
from hwgen.gateware.lib.run_status import RunStatus

__all__ = ["ClusterRegisters", "Fault"]


class Fault(data.Struct):
    """What went wrong: a `ClusterError`, the detail, the address of the access and that of the command."""

    error: ERROR
    detail: layout_of(FAULT_DETAIL)
    address: 32
    command: 32


class ClusterRegisters(wiring.Component):
    """The registers of a cluster: settings, start, status, counters.

    Parameters
    ----------
    parameters
        What the cluster is generated for.

    Members
    -------
    port : In(TcdmSignature)
        See `RegisterBank`.
    settings : Out
    program : In(InnerWrite)
        What the program writes: `RING_SETTINGS`.
    start : Out(1)
        A pulse: begin.
    abort : Out(1)
        A pulse: give the program up.
    quiet : In(1)
        The DMA is idle: a program may be started.
    busy : In(1)
    ended : In(1)
        A pulse: the program has ended, with ``fault``.
    fault : In(Fault)
    counting : In
        For each of `EVENTS` how much its counter grows in this cycle.
    conflicts : In
        For each master.
    irq : Out(1)
        The program has ended or was refused; until cleared.
    """

    def __init__(self, parameters: ClusterParameters) -> None:
        self.parameters = parameters
        growth = parameters.units.bit_length()
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(settings_signature(cluster_registers(parameters).held)),
                "program": In(InnerWrite()),
                "start": Out(1),
                "abort": Out(1),
                "quiet": In(1),
                "busy": In(1),
                "ended": In(1),
                "fault": In(Fault),
                "counting": In(data.ArrayLayout(growth, len(EVENTS))),
                "conflicts": In(data.ArrayLayout(32, len(parameters.masters))),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = RegisterBank(cluster_registers(self.parameters), RING_SETTINGS)
        connect(m, flipped(self.port), bank.port)
        connect(m, flipped(self.program), bank.inner)
        connect(m, bank.held, flipped(self.settings))
        m.submodules.run = run = RunStatus(ClusterError)
        fault, cycles = Signal(Fault), Signal(32)
        counters = {name: Signal(32, name=name) for name in EVENTS}
        shown: dict[str, Value] = {
            **{f"status_{field}": getattr(run.status, field) for field, _ in run.status.shape()},
            "fault_address": fault.address,
            "fault_command": fault.command,
            "fault_detail_code": fault.detail.code,
            "fault_detail_hwc": fault.detail.hwc,
            "cycles": cycles,
            **counters,
            **{f"conflicts_{name}": self.conflicts[i] for i, name in enumerate(self.parameters.masters)},
        }
        m.d.comb += [
            bank.busy.eq(self.busy),
            run.busy.eq(self.busy),
            run.ended.eq(self.ended),
            run.error.eq(self.fault.error),
            run.clear.eq(bank.pulses.control_clear),
            self.abort.eq(bank.pulses.control_abort),
            self.irq.eq(run.irq),
            *(getattr(bank.shown, name).eq(value) for name, value in shown.items()),
        ]
        with m.If(bank.refused & run.records):
            m.d.sync += fault.address.eq(bank.address)
        self._begin_and_end(m, bank, run, fault)
        self._count(m, cycles, list(counters.values()))
        return m

    def _begin_and_end(self, m: Module, bank: RegisterBank, run: RunStatus, fault: data.View) -> None:
        """A start that passes all checks; the end with what it leaves in the registers."""
        unsound, starts = Signal(ERROR), bank.pulses.control_start
        place = self.settings.program_address[: (CHUNK_BYTES - 1).bit_length()]
        with m.If((self.settings.program_words == 0) | (place != 0)):
            m.d.comb += unsound.eq(ClusterError.PROGRAM_PLACE)
        with m.Elif(~self.quiet):
            m.d.comb += unsound.eq(ClusterError.DMA_BUSY)
        m.d.comb += [
            self.start.eq(starts & (unsound == ClusterError.NONE) & ~run.blocked),
            run.begins.eq(self.start),
            run.refused.eq(bank.refused | (starts & ~self.start)),
            run.refusal.eq(Mux(bank.refused, bank.refusal, unsound)),
        ]
        with m.If(self.start):
            m.d.sync += fault.as_value().eq(0)
        with m.If(self.ended & (self.fault.error != ClusterError.NONE)):
            m.d.sync += fault.as_value().eq(self.fault.as_value())

    def _count(self, m: Module, cycles: Signal, counters: list[Signal]) -> None:
        with m.If(self.start):
            m.d.sync += [cycles.eq(0), *(counter.eq(0) for counter in counters)]
        with m.Elif(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
            for i, counter in enumerate(counters):
                with m.If(self.counting[i] != 0):
                    m.d.sync += counter.eq(counter + self.counting[i])
