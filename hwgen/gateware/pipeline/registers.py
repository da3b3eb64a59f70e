"""The configuration port of a pipeline: its register bank, start of tiles and weight loads, status, watchdog.

A run has one tile or several: its first start comes while nothing runs, and every start but the last says that
another tile follows. A start and the settings of its tile may be written while the tiles before it run.
"""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.registers.errors import PipelineError
from hwgen.arch.registers.pipeline import pipeline_registers, tile_settings
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.lib.register_bank import ERROR, RegisterBank, settings_signature
from hwgen.gateware.lib.run_status import RunStatus

__all__ = ["PipelineRegisters"]


class PipelineRegisters(wiring.Component):
    """The registers of a pipeline: settings of a tile, start, status, watchdog.

    Parameters
    ----------
    parameters
        What the pipeline is generated for.

    Members
    -------
    port : In(TcdmSignature)
        See `RegisterBank`.
    settings : Out
    start, load : Out(1)
        Pulses: there is another tile to begin; the weights come.
    first : Out(1)
        The start in this cycle is the first one of its run.
    waits : In(1)
        A part of the pipeline has yet to take the settings of the last start.
    running : Out(1)
        A run of tiles or a load is under way.
    ended : In(1)
        All tiles that were started, or the load, have ended.
    moved : In(1)
        Something moved in this cycle: the watchdog begins anew.
    settled : In(1)
        No burst of the movers is unanswered: a tile or a load may start.
    fault : In(ERROR)
        Why what runs has failed; `PipelineError.NONE` if it has not.
    irq : Out(1)
        It has ended or failed; until cleared.
    """

    def __init__(self, parameters: PipelineParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(settings_signature(tile_settings(pipeline_registers(parameters)))),
                "start": Out(1),
                "load": Out(1),
                "first": Out(1),
                "waits": In(1),
                "running": Out(1),
                "ended": In(1),
                "moved": In(1),
                "settled": In(1, init=1),
                "fault": In(ERROR),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = RegisterBank(pipeline_registers(self.parameters))
        connect(m, flipped(self.port), bank.port)
        m.submodules.run = run = RunStatus(PipelineError)
        fault_address, cycles, still = Signal(32), Signal(32), Signal(32)
        watchdog, control = bank.held.watchdog, bank.pulses
        follows, loading = Signal(), Signal()
        m.d.comb += [
            bank.busy.eq(self.running),
            bank.full.eq(self.waits | loading),
            bank.shown.status_queued.eq(self.waits),
            run.busy.eq(self.running),
            run.clear.eq(control.control_clear),
            self.irq.eq(run.irq),
            *(
                getattr(bank.shown, f"status_{field}").eq(getattr(run.status, field))
                for field, _ in run.status.shape()
            ),
            bank.shown.fault_address.eq(fault_address),
            bank.shown.cycles.eq(cycles),
            *(getattr(self.settings, name).eq(getattr(bank.held, name)) for name in self.settings.signature.members),
        ]
        unsound, starts, begins, loads = self._unsound(m), Signal(), Signal(), Signal()
        fails, faults, ends = Signal(), Signal(), Signal()
        idle = ~run.blocked & ~self.running
        m.d.comb += [
            starts.eq(control.control_start & ~run.blocked & (unsound == PipelineError.NONE)),
            begins.eq(starts & ~self.running),
            loads.eq(control.control_load & idle & ~control.control_start & self.settled),
            ends.eq(self.running & self.ended & ~follows & ~self.start & (self.fault == PipelineError.NONE)),
            faults.eq(self.running & self.settled & (self.fault != PipelineError.NONE)),
            fails.eq(self.running & (watchdog != 0) & (still == watchdog)),
            self.start.eq(starts),
            self.first.eq(begins),
            self.load.eq(loads),
            run.begins.eq(begins | loads),
            run.refused.eq(bank.refused | (control.control_start & ~starts) | (control.control_load & ~self.settled)),
            run.refusal.eq(Mux(bank.refused, bank.refusal, unsound)),
            run.ended.eq(ends | faults | fails),
            run.error.eq(Mux(ends, PipelineError.NONE, Mux(faults, self.fault, PipelineError.WATCHDOG))),
        ]
        with m.If(control.control_start | loads):
            m.d.sync += [follows.eq(starts & control.control_more), loading.eq(loads)]
        with m.If(begins | loads):
            m.d.sync += [self.running.eq(1), cycles.eq(0), still.eq(0)]
        with m.Elif(self.running):
            m.d.sync += [cycles.eq(cycles + 1), still.eq(still + 1)]
            with m.If(self.moved):
                m.d.sync += still.eq(0)
        with m.If(bank.refused & run.records):
            m.d.sync += fault_address.eq(bank.address)
        with m.If(ends | faults | fails):
            m.d.sync += [self.running.eq(0), loading.eq(0)]
        return m

    def _unsound(self, m: Module) -> Signal:
        """The first reason why these settings cannot be started."""
        settings = self.settings
        unsound = Signal(ERROR)
        for number, one in reversed(list(enumerate(self.parameters.maps))):
            line, lines = getattr(settings, f"map{number}_line"), getattr(settings, f"map{number}_lines")
            for kind, most in (("overlap", one.overlap_in), ("saved", one.overlap_out)):
                if most:
                    columns = getattr(settings, f"map{number}_{kind}")
                    with m.If((columns > most) | (columns > line)):
                        m.d.comb += unsound.eq(PipelineError.OVERLAP)
            with m.If((line > one.line) | (lines > one.lines)):
                m.d.comb += unsound.eq(PipelineError.LINE)
        return unsound
