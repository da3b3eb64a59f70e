"""The configuration port of a vector unit: its register bank, the check before a start, its status."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.registers.control import status_register
from hwgen.arch.registers.errors import VectorError
from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.lib.register_bank import ERROR, RegisterBank, layout_of, settings_signature
from hwgen.gateware.lib.run_status import RunStatus

__all__ = ["STATUS", "VectorRegisters"]

STATUS = layout_of(status_register(VectorError))
"""The status register."""
EXTENTS = ("outputs_channels", "outputs_rows", "columns", "kernel_rows", "kernel_columns")


class VectorRegisters(wiring.Component):
    """The registers of a vector unit.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    shape
        How wide the unit is.

    Members
    -------
    port : In(TcdmSignature)
        See `RegisterBank`.
    settings : Out
    start : Out(1)
        A pulse: begin.
    busy : In(1)
    ended : In(1)
        A pulse: the job has ended, with ``error`` (a `VectorError`) and the ``error_address`` that goes with it.
    error, error_address : In
    state : Out(STATUS), fault : Out(32)
        What the registers ``status`` and ``fault_address`` read.
    """

    def __init__(self, address_bits: int, shape: VectorShape = NARROW) -> None:
        self._bank = vector_registers(address_bits, shape)
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(settings_signature(self._bank.held)),
                "start": Out(1),
                "busy": In(1),
                "ended": In(1),
                "error": In(ERROR),
                "error_address": In(32),
                "state": Out(STATUS),
                "fault": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = RegisterBank(self._bank)
        m.submodules.run = run = RunStatus(VectorError)
        connect(m, flipped(self.port), bank.port)
        connect(m, bank.held, flipped(self.settings))
        empty, cycles, starts = Signal(), Signal(32), bank.pulses.control_start
        # A program writes settings long before it starts.
        m.d.sync += empty.eq(Cat(getattr(self.settings, name) == 0 for name in EXTENTS).any())
        m.d.comb += [
            bank.busy.eq(self.busy),
            run.busy.eq(self.busy),
            run.ended.eq(self.ended),
            run.error.eq(self.error),
            run.clear.eq(bank.pulses.control_clear),
            self.start.eq(starts & ~empty & ~run.blocked),
            run.begins.eq(self.start),
            run.refused.eq(bank.refused | (starts & ~self.start)),
            run.refusal.eq(Mux(bank.refused, bank.refusal, Mux(empty, VectorError.EXTENT, VectorError.NONE))),
            self.state.eq(run.status),
            *(getattr(bank.shown, f"status_{field}").eq(getattr(run.status, field)) for field, _ in STATUS),
            bank.shown.fault_address.eq(self.fault),
            bank.shown.cycles.eq(cycles),
        ]
        with m.If(self.start):
            m.d.sync += [cycles.eq(0), self.fault.eq(0)]
        with m.Elif(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
        with m.If(bank.refused & run.records):
            m.d.sync += self.fault.eq(bank.address)
        with m.If(self.ended & (self.error != VectorError.NONE)):
            m.d.sync += self.fault.eq(self.error_address)
        return m
