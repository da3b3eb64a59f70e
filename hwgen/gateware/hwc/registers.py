"""The configuration port of an HWC: its register bank, the checks before a start, status and counters."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import DIMS, HwcParameters
from hwgen.arch.registers.control import status_register
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.registers.hwc import KEY, STALLS, WATCHDOG_BITS, WRITE_ANSWERS_BITS, hwc_registers
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.hwc.settings import settings_signature
from hwgen.gateware.lib.register_bank import ERROR, RegisterBank, layout_of
from hwgen.gateware.lib.run_status import RunStatus

__all__ = ["STATUS", "ControlRegisters"]

STATUS = layout_of(status_register(HwcError))
"""The status register."""


@dataclass(frozen=True)
class _Check:
    """A setting that must be at least ``least`` and at most ``most``, else a start is refused with ``code``.

    ``least`` is 0, 1, or what ``most`` is: then there is one value only.
    """

    code: HwcError
    name: str
    least: int
    most: int | None = None

    def against(self, value: Value) -> Value:
        """Whether the value is wrong."""
        if self.least == self.most:
            return value != self.most
        most = (1 << len(value)) - 1 if self.most is None else self.most
        too_large = value > most if most < (1 << len(value)) - 1 else Value.cast(0)
        return (value == 0) | too_large if self.least else Value.cast(too_large)


class ControlRegisters(wiring.Component):
    """The registers of an HWC: settings, start, status, counters, and the checks of the settings before a start.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    port : In(TcdmSignature)
        See `RegisterBank`.
    settings : Out
    start : Out(1)
        A pulse: all settings are sound, begin.
    locked : Out(1)
        The key is not what reset sets: nothing may move.
    busy : In(1)
    ended : In(1)
        A pulse: the layer has ended, with ``error`` (an `HwcError`) and the ``error_address`` that goes with it.
    gives_up : In(1)
        A pulse: it has failed with ``error``, but an access is still without an answer.
    error, error_address : In
    abort : Out(1)
        A pulse: software wanted the layer to stop in the cycle before.
    watchdog : Out
        Periods that the watchdog waits, unless in a cluster.
    write_answers : Out
        What the memory is said to be, unless in a cluster.
    counting : In(3)
        For each of `STALLS`: it stalls the datapath in this cycle.
    irq : Out(1)
        The layer has ended or was refused; until cleared.
    state : Out(STATUS), fault : Out(32)
        In a cluster: what the registers ``status`` and ``fault_address`` read.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "port": In(TcdmSignature()),
                "settings": Out(settings_signature(parameters)),
                "start": Out(1),
                "locked": Out(1),
                "busy": In(1),
                "ended": In(1),
                "gives_up": In(1),
                "abort": Out(1),
                **({} if parameters.cluster else self._surroundings()),
                "error": In(ERROR),
                "error_address": In(32),
                "counting": In(len(STALLS)),
                "irq": Out(1),
                **({"state": Out(STATUS), "fault": Out(32)} if parameters.cluster else {}),
            }
        )

    @staticmethod
    def _surroundings() -> dict[str, wiring.Member]:
        return {"watchdog": Out(WATCHDOG_BITS), "write_answers": Out(WRITE_ANSWERS_BITS)}

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.bank = bank = RegisterBank(hwc_registers(self.parameters))
        m.submodules.run = run = RunStatus(HwcError)
        connect(m, flipped(self.port), bank.port)
        locked = Signal()
        m.d.comb += [
            locked.eq(bank.held.key != KEY),
            bank.busy.eq(self.busy),
            run.busy.eq(self.busy),
            run.ended.eq(self.ended),
            run.error.eq(self.error),
            run.gives_up.eq(self.gives_up),
            run.clear.eq(bank.pulses.control_clear),
            self.irq.eq(run.irq),
            *(getattr(bank.shown, f"status_{field}").eq(getattr(run.status, field)) for field, _ in STATUS),
        ]
        m.d.sync += [self.locked.eq(locked), self.abort.eq(bank.pulses.control_abort)]
        unsound, accepts = Signal(ERROR), Signal()
        wrong = self._judge(m, bank, locked, unsound)
        m.d.comb += [
            accepts.eq(bank.pulses.control_start & ~wrong & ~run.blocked),
            run.refused.eq(bank.refused | (bank.pulses.control_start & ~accepts)),
            run.refusal.eq(Mux(bank.refused, bank.refusal, unsound)),
        ]
        if self.parameters.second_settings:
            self._queue(m, bank, run, accepts)
        else:
            m.d.comb += [self.start.eq(accepts), run.begins.eq(accepts)]
            m.d.comb += [value.eq(getattr(bank.held, name)) for name, value in self._each_setting()]
        m.d.comb += [getattr(self.settings, name).eq(value) for name, value in self.parameters.constants]
        fault_address = self._count(m, bank, run)
        if not self.parameters.cluster:
            m.d.comb += [getattr(self, name).eq(getattr(bank.held, name)) for name in self._surroundings()]
        else:
            m.d.comb += [self.state.eq(run.status), self.fault.eq(fault_address)]
        return m

    def _each_setting(self) -> list[tuple[str, Signal]]:
        """The settings that are registers."""
        constants = dict(self.parameters.constants)
        names = (name for name in self.settings.signature.members if name not in constants)
        return [(name, getattr(self.settings, name)) for name in names]

    def _judge(self, m: Module, bank: RegisterBank, locked: Signal, unsound: Signal) -> Value:
        """Whether the settings cannot be started, and the first reason.

        Whether a setting is sound is computed when it is written: a start has no time for it.
        """
        constants = dict(self.parameters.constants)
        checks = [
            (check, Signal(init=check.least > 0, name=f"{check.name}_is_no_{check.code.name.lower()}"))
            for check in self._checks()
            if check.name not in constants
        ]
        for check, wrong in checks:
            with m.If(getattr(bank.written, check.name)):
                value = bank.data[: len(getattr(bank.held, check.name))]
                m.d.sync += wrong.eq(check.against(value))
        for check, wrong in reversed(checks):
            with m.If(wrong):
                m.d.comb += unsound.eq(check.code)
        with m.If(locked):
            m.d.comb += unsound.eq(HwcError.LOCKED)
        return locked | Cat(wrong for _, wrong in checks).any()

    def _queue(self, m: Module, bank: RegisterBank, run: RunStatus, accepts: Signal) -> None:
        """The settings of the run beside those that are written, which they follow while nothing runs.

        A start while a layer runs waits for its end. Should the layer fail, the start is forgotten. The engine needs
        the settings in the cycle of the start, so a start right after another write waits for a cycle.
        """
        waits, begins, fresh = Signal(), Signal(), Signal()
        m.d.sync += fresh.eq(bank.writes)
        m.d.comb += [
            bank.full.eq(waits),
            bank.shown.status_queued.eq(waits),
            begins.eq(~self.busy & ((accepts & ~fresh) | (waits & ~run.blocked))),
            self.start.eq(begins),
            # The end of the layer before may not have been acknowledged yet.
            run.begins.eq(accepts & ~self.busy),
        ]
        m.d.sync += waits.eq((accepts & (self.busy | fresh)) | (waits & self.busy & ~self.abort))
        with m.If(~self.busy | self.ended):
            m.d.sync += [value.eq(getattr(bank.held, name)) for name, value in self._each_setting()]

    def _count(self, m: Module, bank: RegisterBank, run: RunStatus) -> Signal:
        """Counters of cycles, and the address that goes with an error."""
        address, cycles = Signal(32, name="fault_address"), Signal(32)
        stalls = [Signal(32, name=f"stalls_{name}") for name in STALLS]
        m.d.comb += [
            bank.shown.fault_address.eq(address),
            bank.shown.cycles.eq(cycles),
            *(getattr(bank.shown, f"stall_{name}").eq(counter) for name, counter in zip(STALLS, stalls, strict=True)),
        ]
        with m.If(self.start):
            m.d.sync += [cycles.eq(0), *(counter.eq(0) for counter in stalls)]
        with m.Elif(self.busy):
            m.d.sync += cycles.eq(cycles + 1)
            m.d.sync += [counter.eq(counter + self.counting[i]) for i, counter in enumerate(stalls)]
        with m.If(self.start):
            m.d.sync += address.eq(0)
        with m.If(bank.refused & run.records):
            m.d.sync += address.eq(bank.address)
        with m.If((self.ended & (self.error != HwcError.NONE)) | self.gives_up):
            m.d.sync += address.eq(self.error_address)
        return address

    def _checks(self) -> list[_Check]:
        """What is wrong with settings that cannot be started; of several reasons the first one counts."""
        p = self.parameters
        innermost = {dim: j for j, dim in enumerate(p.loops)}
        checks = [_Check(HwcError.EXTENT, f"extent_{dim}", 1) for dim in DIMS]
        checks += [_Check(HwcError.STEP, f"step_{j}_{dim}", 1) for j, dim in enumerate(p.loops)]
        for dim in DIMS:
            left = f"step_{innermost[dim]}_{dim}" if dim in innermost else f"extent_{dim}"
            # Columns of the kernel in a window are one iteration.
            most = p.lanes.c if p.column_window and dim == "l" else p.lanes.along(dim)
            checks.append(_Check(HwcError.STEP, left, 0, most))
        return [
            _Check(HwcError.OTHER_HWC, "program_digest", p.digest, p.digest),
            *checks,
            *(_Check(HwcError.STRIDE, f"stride_{axis}", 1, 4) for axis in "yx"),
            *([_Check(HwcError.STEP, "window", 1, p.lanes.c)] if p.column_window else []),
            *([_Check(HwcError.STRIDE, "window_stride", 1, 4)] if p.column_window else []),
            *(_Check(HwcError.EXTENT, name, 1) for name in ("input_height", "input_width")),
            _Check(HwcError.GROUP, "group_outputs", 1),
            _Check(HwcError.INPUT_RING, "input_slabs", 1),
            _Check(HwcError.INPUT_RING, "input_slab", 1, p.input_elements),
            *(_Check(HwcError.CONTRADICTION, name, 0, p.input_elements - 1) for name in self._in_ring()),
        ]

    def _in_ring(self) -> list[str]:
        """Settings that are distances in the input memory, modulo its size."""
        p = self.parameters
        steps = [f"input_ring_step_{j}" for j in p.inside(p.input_marker, "yk")]
        return [*steps, *(f"input_lane_row_{j}" for j in range(1, p.lanes.y))]
