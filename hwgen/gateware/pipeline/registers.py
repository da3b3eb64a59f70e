"""Registers of a pipeline: settings of a tile, start, weight load, status, watchdog."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import PipelineParameters
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.hwc.registers import Register, Status
from hwgen.gateware.hwc.settings import Setting
from hwgen.gateware.pipeline.settings import pipeline_settings, pipeline_settings_signature

__all__ = ["PipelineControl", "PipelineError", "PipelineRegisters", "pipeline_register_map"]

IDENTITY = 0x46555331
"""Reads "FUS1"."""
SETTINGS_BASE = 0x40


class PipelineError(enum.Enum, shape=8):
    """Why a tile did not start, or stopped."""

    NONE = 0
    UNKNOWN_REGISTER = 1
    READ_ONLY_REGISTER = 2
    VALUE_TOO_WIDE = 3
    WRITTEN_WHILE_BUSY = 4
    LINE = 5
    OVERLAP = 6
    WATCHDOG = 16


class PipelineControl(data.Struct):
    """Written: ``start`` begins a tile, ``load`` the weights; ``clear`` acknowledges, and forgets an error."""

    start: 1
    clear: 1
    load: 1


_FIXED = (
    Setting("identity", 32, f"reads {IDENTITY:#x}"),
    Setting("control", 3, "bit 0 starts a tile, bit 1 acknowledges the interrupt, bit 2 loads the weights"),
    Setting("status", 16, "bit 0 busy, bit 1 done, bit 2 failed, bits 15 to 8 the error code"),
    Setting("fault_address", 32, "address of the register access that failed"),
    Setting("cycles", 32, "clock cycles of the last tile or load"),
    Setting("watchdog", 32, "cycles without any movement after which a tile has failed; 0: never"),
)


def pipeline_register_map(parameters: PipelineParameters) -> tuple[Register, ...]:
    """Every register of a pipeline, by address."""
    fixed = [
        Register(4 * i, entry.name, entry.width, entry.name in ("control", "watchdog"), entry.meaning)
        for i, entry in enumerate(_FIXED)
    ]
    settings = [
        Register(SETTINGS_BASE + 4 * i, entry.name, entry.width, True, entry.meaning)
        for i, entry in enumerate(pipeline_settings(parameters))
    ]
    return (*fixed, *settings)


class PipelineRegisters(wiring.Component):
    """The configuration port of a pipeline.

    Parameters
    ----------
    parameters
        What the pipeline is generated for.

    Members
    -------
    port : In(TcdmSignature)
        Every access is granted at once and answered in the next cycle; ``r_opc`` marks a refused one.
    settings : Out
    start, load : Out(1)
        Pulses: a tile begins; the weights come.
    running : Out(1)
        A tile or a load is under way.
    ended : In(1)
        It has ended.
    moved : In(1)
        Something moved in this cycle: the watchdog begins anew.
    irq : Out(1)
        It has ended or failed; until cleared.
    """

    def __init__(self, parameters: PipelineParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(pipeline_settings_signature(parameters)),
                "start": Out(1),
                "load": Out(1),
                "running": Out(1),
                "ended": In(1),
                "moved": In(1),
                "irq": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        status, fault_address = Signal(Status), Signal(32)
        cycles, watchdog, still = Signal(32), Signal(32), Signal(32)
        error = Signal(PipelineError)
        m.d.comb += [
            status.busy.eq(self.running),
            status.error.eq(error.as_value()),
            self.irq.eq(status.done | status.failed),
        ]
        held = {entry.name: Signal(entry.width, name=entry.name) for entry in pipeline_settings(self.parameters)}
        m.d.comb += [getattr(self.settings, name).eq(value) for name, value in held.items()]
        fixed: dict[str, Value | int] = {
            "identity": IDENTITY,
            "control": 0,
            "status": status.as_value(),
            "fault_address": fault_address,
            "cycles": cycles,
        }
        control, refusal = self._accesses(m, {**held, "watchdog": watchdog}, fixed)

        unsound, begins, loads, fails = self._unsound(m), Signal(), Signal(), Signal()
        sound = (error == PipelineError.NONE) & ~self.running
        m.d.comb += [
            begins.eq(control.start & sound & (unsound == PipelineError.NONE)),
            loads.eq(control.load & sound & ~control.start),
            fails.eq(self.running & (watchdog != 0) & (still == watchdog)),
            self.start.eq(begins),
            self.load.eq(loads),
        ]
        with m.If(control.clear):
            m.d.sync += [status.done.eq(0), status.failed.eq(0), error.eq(PipelineError.NONE)]
        with m.If(begins | loads):
            m.d.sync += [self.running.eq(1), status.done.eq(0), cycles.eq(0), still.eq(0)]
        with m.Elif(self.running):
            m.d.sync += [cycles.eq(cycles + 1), still.eq(still + 1)]
            with m.If(self.moved):
                m.d.sync += still.eq(0)
        with m.If(control.start & ~begins):
            m.d.sync += status.failed.eq(1)
            with m.If(error == PipelineError.NONE):
                m.d.sync += error.eq(unsound)
        with m.If(refusal != PipelineError.NONE):
            with m.If(error == PipelineError.NONE):
                m.d.sync += [error.eq(refusal), fault_address.eq(self.port.add)]
        with m.If(self.running & self.ended):
            m.d.sync += [self.running.eq(0), status.done.eq(1)]
        with m.Elif(fails):
            m.d.sync += [self.running.eq(0), status.failed.eq(1), error.eq(PipelineError.WATCHDOG)]
        return m

    def _accesses(
        self, m: Module, writable: dict[str, Signal], fixed: dict[str, Value | int]
    ) -> tuple[data.View, Signal]:
        """What is written to control in this cycle, and why an access is refused."""
        port, registers = self.port, pipeline_register_map(self.parameters)
        readable = {**fixed, **writable}
        known, may_write, permitted, is_control = Signal(), Signal(), Signal(32), Signal()
        writes, accepted, refusal = Signal(), Signal(), Signal(PipelineError)
        m.d.comb += [port.gnt.eq(1), writes.eq(port.req & ~port.wen)]
        m.d.sync += [port.r_valid.eq(port.req), port.r_opc.eq(refusal != PipelineError.NONE)]
        with m.If(port.req):
            m.d.sync += port.r_rdata.eq(0)
            with m.Switch(port.add):
                for register in registers:
                    with m.Case(register.address):
                        m.d.comb += [
                            known.eq(1),
                            may_write.eq(register.writable),
                            permitted.eq((1 << register.width) - 1),
                            is_control.eq(register.name == "control"),
                        ]
                        m.d.sync += port.r_rdata.eq(readable[register.name])
                        if register.name in writable:
                            with m.If(accepted):
                                m.d.sync += writable[register.name].eq(port.wdata)
            with m.If(~known):
                m.d.comb += refusal.eq(PipelineError.UNKNOWN_REGISTER)
            with m.Elif(writes & ~may_write):
                m.d.comb += refusal.eq(PipelineError.READ_ONLY_REGISTER)
            with m.Elif(writes & (((port.wdata & ~permitted) != 0) | ~port.be.all())):
                m.d.comb += refusal.eq(PipelineError.VALUE_TOO_WIDE)
            with m.Elif(writes & self.running & ~(is_control & ~port.wdata[0] & ~port.wdata[2])):
                m.d.comb += refusal.eq(PipelineError.WRITTEN_WHILE_BUSY)
        m.d.comb += accepted.eq(writes & (refusal == PipelineError.NONE))
        control = Signal(PipelineControl)
        with m.If(accepted & is_control):
            m.d.comb += control.eq(port.wdata)
        return control, refusal

    def _unsound(self, m: Module) -> Signal:
        """The first reason why these settings cannot be started."""
        settings = self.settings
        unsound = Signal(PipelineError)
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
