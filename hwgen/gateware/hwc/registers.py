"""Registers of an HWC: addresses come from one builder, for the hardware, the C header and the documentation."""

from collections.abc import Iterable
from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import DIMS, HwcParameters
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.hwc.settings import Setting, settings_of, settings_signature

__all__ = ["Control", "ControlRegisters", "ErrorCode", "Register", "Status", "register_map"]

IDENTITY = 0x48574331
"""Reads "HWC1"."""


class ErrorCode(enum.Enum, shape=8):
    """Why the HWC did not start, or stopped."""

    NONE = 0
    UNKNOWN_REGISTER = 1
    READ_ONLY_REGISTER = 2
    VALUE_TOO_WIDE = 3
    WRITTEN_WHILE_BUSY = 4
    EXTENT = 5
    STEP = 6
    STRIDE = 7
    INPUT_RING = 8
    GROUP = 9
    INPUT_OVERFLOW = 16
    WEIGHT_OVERFLOW = 17
    OUTPUT_OVERFLOW = 18
    INPUT_BUS = 32
    WEIGHT_BUS = 33
    OUTPUT_BUS = 34
    HALTED = 48


class Control(data.Struct):
    """Written: ``start`` begins a layer; ``clear`` acknowledges the interrupt and forgets an error."""

    start: 1
    clear: 1


class Status(data.Struct):
    """Read: ``done`` and ``failed`` stay until cleared; ``error`` is an `ErrorCode`."""

    busy: 1
    done: 1
    failed: 1
    reserved: 5
    error: ErrorCode


@dataclass(frozen=True)
class Register:
    """One register: byte address, name, width in bits, whether it can be written, and what it means."""

    address: int
    name: str
    width: int
    writable: bool
    meaning: str


@dataclass(frozen=True)
class _Check:
    """A setting that must be at least ``least`` and at most ``most``, else a start is refused with ``code``."""

    code: ErrorCode
    name: str
    least: int
    most: int | None = None

    def against(self, value: Value) -> Value:
        """Whether it would be wrong."""
        too_large = value > self.most if self.most is not None else Value.cast(0)
        return (value == 0) | too_large if self.least else Value.cast(too_large)


_FIXED = (
    Setting("identity", 32, f"reads {IDENTITY:#x}"),
    Setting("control", 2, "bit 0 starts a layer, bit 1 acknowledges the interrupt and clears the error"),
    Setting("status", 16, "bit 0 busy, bit 1 done, bit 2 failed, bits 15 to 8 the error code"),
    Setting("fault_address", 32, "address of the access that failed"),
    Setting("cycles", 32, "clock cycles from the start to the end of the layer"),
    Setting("stall_input", 32, "cycles in which the datapath waited for the input"),
    Setting("stall_weight", 32, "cycles in which the datapath waited for weights"),
    Setting("stall_output", 32, "cycles in which the datapath waited for the output"),
)
SETTINGS_BASE = 0x40


def register_map(parameters: HwcParameters) -> tuple[Register, ...]:
    """Every register of an HWC, by address."""
    fixed = [
        Register(4 * i, entry.name, entry.width, entry.name == "control", entry.meaning)
        for i, entry in enumerate(_FIXED)
    ]
    settings = [
        Register(SETTINGS_BASE + 4 * i, entry.name, entry.width, True, entry.meaning)
        for i, entry in enumerate(settings_of(parameters))
    ]
    return (*fixed, *settings)


class ControlRegisters(wiring.Component):
    """The configuration port: settings, start, status, counters, and the checks that stand before a start.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    port : In(TcdmSignature)
        Every access is granted at once and answered in the next cycle; ``r_opc`` marks a refused one.
    settings : Out
    start : Out(1)
        A pulse: all settings are sound, begin.
    busy : In(1)
    ended : In(1)
        A pulse: the layer has ended, with ``error`` (an `ErrorCode`) and the ``error_address`` that goes with it.
    error, error_address : In
    counting : In(3)
        Stalls of input, weight, output in this cycle.
    irq : Out(1)
        The layer has ended or was refused; until cleared.
    state : Out(Status), fault : Out(32)
        In a cluster: what the registers ``status`` and ``fault_address`` read.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(settings_signature(parameters)),
                "start": Out(1),
                "busy": In(1),
                "ended": In(1),
                "error": In(ErrorCode),
                "error_address": In(32),
                "counting": In(3),
                "irq": Out(1),
                **({"state": Out(Status), "fault": Out(32)} if parameters.cluster else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        registers = {register.name: register for register in register_map(self.parameters)}
        status = Signal(Status)
        fault_address = Signal(32)
        cycles = Signal(32)
        stalls = [Signal(32, name=f"stalls_{name}") for name in ("input", "weight", "output")]
        m.d.comb += [status.busy.eq(self.busy), self.irq.eq(status.done | status.failed)]
        if self.parameters.cluster:
            m.d.comb += [self.state.eq(status), self.fault.eq(fault_address)]
        readable: dict[str, Value | int] = {
            "identity": IDENTITY,
            "control": 0,
            "status": status.as_value(),
            "fault_address": fault_address,
            "cycles": cycles,
            "stall_input": stalls[0],
            "stall_weight": stalls[1],
            "stall_output": stalls[2],
        }

        held = {setting.name: Signal(setting.width, name=setting.name) for setting in settings_of(self.parameters)}
        readable |= held
        m.d.comb += [getattr(self.settings, name).eq(value) for name, value in held.items()]
        # The address decides what may be written; a write that nothing speaks against is accepted.
        known, writable, permitted = Signal(), Signal(), Signal(32)
        is_control = self.port.add == registers["control"].address
        writes, accepted = Signal(), Signal()
        refusal = Signal(ErrorCode)
        m.d.comb += [self.port.gnt.eq(1), writes.eq(self.port.req & ~self.port.wen)]
        m.d.sync += [self.port.r_valid.eq(self.port.req), self.port.r_opc.eq(refusal != ErrorCode.NONE)]
        with m.If(self.port.req):
            m.d.sync += self.port.r_rdata.eq(0)
            with m.Switch(self.port.add):
                for register in registers.values():
                    with m.Case(register.address):
                        m.d.comb += [
                            known.eq(1),
                            writable.eq(register.writable),
                            permitted.eq((1 << register.width) - 1),
                        ]
                        m.d.sync += self.port.r_rdata.eq(readable[register.name])
            with m.If(~known):
                m.d.comb += refusal.eq(ErrorCode.UNKNOWN_REGISTER)
            with m.Elif(writes & ~writable):
                m.d.comb += refusal.eq(ErrorCode.READ_ONLY_REGISTER)
            with m.Elif(writes & (((self.port.wdata & ~permitted) != 0) | ~self.port.be.all())):
                m.d.comb += refusal.eq(ErrorCode.VALUE_TOO_WIDE)
            with m.Elif(writes & self.busy & ~(is_control & ~self.port.wdata[0])):
                m.d.comb += refusal.eq(ErrorCode.WRITTEN_WHILE_BUSY)
        m.d.comb += accepted.eq(writes & (refusal == ErrorCode.NONE))
        # Whether a value can be started with is told as it is written: a start has no time for it.
        checks = [
            (check, Signal(init=check.least > 0, name=f"{check.name}_is_no_{check.code.name.lower()}"))
            for check in self._checks()
        ]
        for name, value in held.items():
            with m.If(accepted), m.If(self.port.add[:12] == registers[name].address):
                m.d.sync += value.eq(self.port.wdata)
                for check, wrong in checks:
                    if check.name == name:
                        m.d.sync += wrong.eq(check.against(self.port.wdata[: len(value)]))
        control = Control(self.port.wdata[: Control.as_shape().size])
        starts, clears = Signal(), Signal()
        m.d.comb += [
            starts.eq(accepted & is_control & control.start),
            clears.eq(accepted & is_control & control.clear),
        ]

        # There is an error: so that a start needs not look at its code.
        blocked = Signal()
        unsound, begins = Signal(ErrorCode), Signal()
        for check, wrong in reversed(checks):
            with m.If(wrong):
                m.d.comb += unsound.eq(check.code)
        m.d.comb += begins.eq(starts & ~Cat(wrong for _, wrong in checks).any() & ~blocked)
        m.d.comb += self.start.eq(begins)
        with m.If(clears):
            m.d.sync += [status.done.eq(0), status.failed.eq(0), status.error.eq(ErrorCode.NONE), blocked.eq(0)]
        with m.If(begins):
            m.d.sync += [status.done.eq(0), cycles.eq(0), fault_address.eq(0)]
            m.d.sync += [counter.eq(0) for counter in stalls]
        with m.Elif(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
            m.d.sync += [counter.eq(counter + self.counting[i]) for i, counter in enumerate(stalls)]
        with m.If(starts & ~begins):
            m.d.sync += status.failed.eq(1)
            with m.If(~blocked):
                m.d.sync += [status.error.eq(unsound), blocked.eq(1)]
        with m.If(refusal != ErrorCode.NONE):
            with m.If(~blocked):
                m.d.sync += [status.error.eq(refusal), fault_address.eq(self.port.add), blocked.eq(1)]
        with m.If(self.ended):
            m.d.sync += [status.done.eq(self.error == ErrorCode.NONE), status.failed.eq(self.error != ErrorCode.NONE)]
            with m.If(self.error != ErrorCode.NONE):
                m.d.sync += [status.error.eq(self.error), fault_address.eq(self.error_address), blocked.eq(1)]
        return m

    def _checks(self) -> list["_Check"]:
        """What is wrong with settings that cannot be started; of several reasons the first one counts."""
        p = self.parameters
        innermost = {dim: j for j, dim in enumerate(p.loops)}
        checks = [_Check(ErrorCode.EXTENT, f"extent_{dim}", 1) for dim in DIMS]
        checks += [_Check(ErrorCode.STEP, f"step_{j}_{dim}", 1) for j, dim in enumerate(p.loops)]
        for dim in DIMS:
            left = f"step_{innermost[dim]}_{dim}" if dim in innermost else f"extent_{dim}"
            checks.append(_Check(ErrorCode.STEP, left, 0, p.lanes.along(dim)))
        return [
            *checks,
            *(_Check(ErrorCode.STRIDE, f"stride_{axis}", 1, 4) for axis in "yx"),
            *(_Check(ErrorCode.EXTENT, name, 1) for name in ("input_height", "input_width")),
            _Check(ErrorCode.GROUP, "group_outputs", 1),
            _Check(ErrorCode.INPUT_RING, "input_slabs", 1),
            _Check(ErrorCode.INPUT_RING, "input_slab", 1, p.input_elements),
        ]


def register_addresses(registers: Iterable[Register]) -> dict[str, int]:
    """Byte address by name."""
    return {register.name: register.address for register in registers}
