"""When a part of a pipeline goes on with the next tile."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.pipeline.registers import PipelineRegisters

__all__ = ["OwnSettings", "TileTurn"]


class TileTurn(wiring.Component):
    """Lets a part of a pipeline begin a tile when it has done with the one before, whatever other parts do.

    Members
    -------
    start : In(1)
        A pulse: there is another tile, whose settings the registers hold until no part ``waits``.
    first : In(1)
        With ``start``: nothing runs, and the part is reset in this cycle.
    forget : In(1)
        Nothing runs: no tile is left to begin.
    done : In(1)
        The part has done with its tile.
    takes : Out(1)
        A pulse: the part's own settings become those of the registers.
    begin : Out(1)
        A pulse in the cycle after ``takes``. The registers still hold the settings in this cycle.
    waits : Out(1)
        The part has yet to begin the tile that was started last.
    """

    start: In(1)
    first: In(1)
    forget: In(1)
    done: In(1)
    takes: Out(1)
    begin: Out(1)
    waits: Out(1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        waits, ready = Signal(), Signal()
        m.d.comb += [
            ready.eq(self.done & ~self.begin),
            self.takes.eq((self.start & (self.first | ready)) | (waits & ready)),
            self.waits.eq(waits),
        ]
        m.d.sync += [self.begin.eq(self.takes), waits.eq((self.start | (waits & ~self.forget)) & ~self.takes)]
        return m


class OwnSettings:
    """The settings that parts of a pipeline take from its registers for themselves, tile by tile.

    Members
    -------
    waits, begins : of all parts: see `TileTurn`.
    """

    def __init__(self, m: Module, registers: PipelineRegisters) -> None:
        self._m, self._registers = m, registers
        self._taken: dict[str, Signal] = {}
        self.waits: list[Value] = []
        self.begins: list[Value] = []

    def turn(self, name: str) -> TileTurn:
        """Add what says when a part begins the next tile."""
        turn, registers = TileTurn(), self._registers
        self._m.submodules[name] = turn
        self._m.d.comb += [
            turn.start.eq(registers.start),
            turn.first.eq(registers.first),
            turn.forget.eq(~registers.running),
        ]
        self.waits.append(turn.waits)
        self.begins.append(turn.begin)
        return turn

    def of(self, turn: TileTurn, part: str, name: str) -> Signal:
        """A setting of the tile that a part is in."""
        if (key := f"{part}_{name}") not in self._taken:
            given: Signal = getattr(self._registers.settings, name)
            self._taken[key] = own = Signal(len(given), name=key)
            with self._m.If(turn.takes):
                self._m.d.sync += own.eq(given)
        return self._taken[key]
