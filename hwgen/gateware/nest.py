"""Walking a loop nest: the odometer, and values that follow its loops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.params import DIMS

__all__ = ["LevelRegister", "LoopNest", "Ranges"]


@dataclass(frozen=True)
class Ranges:
    """The part of each dimension that an iteration covers, from ``low`` to below ``high``, and its ``size``."""

    low: dict[str, ValueLike]
    high: dict[str, ValueLike]
    size: dict[str, ValueLike]


class LoopNest(wiring.Component):
    """The iterations of a loop nest, one after the other, edge iterations clipped.

    Loop j covers ``[lo[j], hi[j])`` of its dimension inside the range of the next outer loop over the same dimension,
    or inside ``[0, extent)``.

    Where every loop goes next is worked out ahead, from registers alone, for each loop that might turn; what it
    begins with inside an outer loop's iteration is remembered. Which one turns is a register, too: that the nest
    advances, which is known late in a cycle, only enables the registers. Extents and steps stand still from the cycle
    before it starts.

    Parameters
    ----------
    loops
        Dimension of each loop, outermost first.
    bits
        Width of a coordinate.

    Members
    -------
    extent : In(bits), one per loop
        Extent of the loop's dimension (ignored where an outer loop over the same dimension exists).
    step : In(bits), one per loop
        At most that of the next outer loop over the same dimension.
    start : In(1)
        Go to the first iteration (after a reset).
    advance : In(1)
        Go to the next iteration; after the last one the position is undefined.
    live : In(1)
        It may move in this cycle: set whenever it does, but known early in the cycle, best by a register. If it is
        seldom set, a simulator gains by it.
    lo, hi, size : Out(bits), one per loop
        Range that the current iteration covers, and how much that is.
    first, last : Out(len(loops))
        Loop j is in its first, its last iteration.
    turning : Out(len(loops))
        One-hot: the loop that ``advance`` would step (all inner ones start again); zero in the last iteration.
    finished : Out(1)
        This is the last iteration of all.
    """

    def __init__(self, *, loops: Sequence[str], bits: int) -> None:
        self.loops = tuple(loops)
        self._bits = bits
        count = len(self.loops)
        super().__init__(
            {
                "extent": In(bits).array(count),
                "step": In(bits).array(count),
                "start": In(1),
                "advance": In(1),
                "live": In(1, init=1),
                "lo": Out(bits).array(count),
                "hi": Out(bits).array(count),
                "size": Out(bits).array(count),
                "first": Out(count),
                "last": Out(count),
                "turning": Out(count),
                "finished": Out(1),
            }
        )

    def follow(self, m: Module, settings: wiring.PureInterface) -> "Ranges":
        """Take extents and steps of the first loops from the settings; the ranges that an iteration covers."""
        low: dict[str, ValueLike] = dict.fromkeys(DIMS, 0)
        high: dict[str, ValueLike] = {dim: getattr(settings, f"extent_{dim}") for dim in DIMS}
        size = dict(high)
        for j, dim in enumerate(self.loops):
            m.d.comb += [
                self.extent[j].eq(getattr(settings, f"extent_{dim}")),
                self.step[j].eq(getattr(settings, f"step_{j}_{dim}")),
            ]
            low[dim], high[dim], size[dim] = self.lo[j], self.hi[j], self.size[j]
        return Ranges(low, high, size)

    def chain(self, index: int) -> list[int]:
        """Indices of a loop and of all outer loops over the same dimension, from the inside."""
        return [j for j in range(index, -1, -1) if self.loops[j] == self.loops[index]]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self.loops)
        # Of the outer range, what lies behind the present iteration; right for every loop that may turn.
        self._left = [Signal(self._bits, name=f"left_{j}", reset_less=True) for j in range(count)]
        self._moves = Signal()
        # All loops from so many on are in their last iteration: one outside them turns. So it is after a reset, too.
        self._ended, self._begins = Signal(count + 1, init=-1), Signal(init=1)
        m.d.comb += [self._moves.eq(self.start | self.advance), self.finished.eq(self._ended[0])]
        following = [self._following(m, j) for j in range(count)]
        lasts, ended = Signal(count), Signal(count + 1)
        with m.If(self.live):
            m.d.comb += [
                lasts.eq(Cat(part.last for part in following)),
                ended.eq(Cat(lasts[j:].all() for j in range(count + 1))),
            ]
        with m.If(self._moves):
            m.d.sync += [
                self.last.eq(lasts),
                self._ended.eq(ended),
                self.turning.eq(ended[1:] & ~lasts),
                self._begins.eq(0),
            ]
            for j, part in enumerate(following):
                m.d.sync += [
                    self.lo[j].eq(part.low),
                    self.hi[j].eq(part.high),
                    self.size[j].eq(part.size),
                    self._left[j].eq(part.left),
                    self.first[j].eq(Mux(self._ended[j + 1], self._ended[j], self.first[j])),
                ]
        return m

    def _following(self, m: Module, index: int) -> "_Part":
        """What a loop covers in the next iteration.

        If the loop or an outer one over the same dimension turns, it begins where that one ends. If a loop turns that
        is not over its dimension, it begins again with the next outer loop over the same dimension; all that it does
        then is remembered since that one has moved. If only inner loops turn, it stays.
        """
        chain = self.chain(index)
        whole, only = self._whole(m, index, chain)
        # Each if all loops from so many on have ended, unless one further down holds.
        choices = [
            (len(self.loops), _Part(*(of[index] for of in (self.lo, self.hi, self.size, self._left, self.last))))
        ]
        remembered = []
        for place, turns in enumerate(chain):
            choices.append((turns + 1, self._behind(m, chain, place, only)))
            if place + 1 == len(chain):
                choices.append((turns, whole))
            elif chain[place + 1] + 1 < turns:
                outer = chain[place + 1]
                again = _Part.registers(self._bits, f"again_{index}_{turns}", low=self.lo[outer])
                choices.append((turns, again))
                remembered.append((outer, again))
        following = _Part.registers(self._bits, f"next_{index}")
        with m.If(self.live):
            m.d.comb += [
                value.eq(self._last_of([(ends, getattr(part, name)) for ends, part in choices]))
                for name, value in following.values().items()
            ]
        for outer, again in remembered:
            with m.If(self._moves & self._ended[outer + 1]):
                m.d.sync += [
                    value.eq(getattr(following, name)) for name, value in again.values().items() if name != "low"
                ]
        return following

    def _last_of(self, choices: Sequence[tuple[int, Value]]) -> Value:
        """The value of the last one of the choices that holds; where one does, all before it do."""
        if len(choices) == 1:
            return choices[0][1]
        half = len(choices) // 2
        return Mux(self._ended[choices[half][0]], self._last_of(choices[half:]), self._last_of(choices[:half]))

    def _whole(self, m: Module, index: int, chain: list[int]) -> tuple["_Part", Value]:
        """How a loop begins in its dimension's whole extent, and whether its step is all that the next outer loop's
        is: decided by the settings before the nest starts."""
        extent, step = self.extent[chain[-1]], self.step[index]
        part = _Part.registers(self._bits, f"whole_{index}", low=C(0))
        only = Signal(name=f"only_{index}", reset_less=True)
        around, is_only = extent, Value.cast(0)
        if len(chain) > 1:
            outer = self.step[chain[1]]
            around, is_only = Mux(outer < extent, outer, extent), step >= outer
        ends = Value.cast(step >= extent)
        with m.If(self._begins):
            m.d.sync += [
                part.size.eq(Mux(ends, extent, step)),
                part.left.eq(around - step),
                part.last.eq(ends | is_only),
                only.eq(is_only),
            ]
        m.d.comb += part.high.eq(part.size)
        return part, only

    def _behind(self, m: Module, chain: list[int], place: int, only: Value) -> "_Part":
        """Behind the iteration of a loop that turns: the loop itself, or one inside it over the same dimension.

        It ends where the next outer one of the loop that turns does, at the latest: its step is at most that of the
        loops between, whose own ends need not be waited for. That is one comparison, with what is left there.
        """
        index, turns, bits = chain[0], chain[place], self._bits
        step, left = self.step[index], self._left[turns]
        end = self.hi[chain[place + 1]] if place + 1 < len(chain) else self.extent[turns]
        part = _Part.registers(bits, f"behind_{index}_{turns}", low=self.hi[turns])
        with m.If(self.live):
            within = Signal(name=f"within_{index}_{turns}")
            m.d.comb += [
                within.eq(step < left),
                part.high.eq(Mux(within, (self.hi[turns] + step)[:bits], end)),
                part.size.eq(Mux(within, step, left)),
                part.left.eq(left - step),
                part.last.eq(~within),
            ]
            if place:
                outer = self.step[chain[1]]
                with m.If(outer < left):
                    m.d.comb += part.left.eq(outer - step)
                m.d.comb += part.last.eq(~within | only)
        return part


@dataclass(frozen=True)
class _Part:
    """What a loop covers: its range, how large that is, what is left behind it, and whether it is the last one."""

    low: Value
    high: Value
    size: Value
    left: Value
    last: Value

    @classmethod
    def registers(cls, bits: int, name: str, low: Value | None = None) -> "_Part":
        """Signals for all of it."""
        widths = {"low": bits, "high": bits, "size": bits, "left": bits, "last": 1}
        signals = {of: Signal(width, name=f"{name}_{of}", reset_less=True) for of, width in widths.items()}
        return cls(**(signals if low is None else {**signals, "low": low}))

    def values(self) -> dict[str, Value]:
        """By their names."""
        return {of.name: getattr(self, of.name) for of in fields(self)}


class LevelRegister(wiring.Component):
    """A value that each of some loops changes and that every inner loop starts again from.

    Parameters
    ----------
    loops
        Loops of the nest.
    inner
        Indices of the loops inside the iteration for which ``base`` is given, outermost first.
    step
        For each loop that changes the value: a function from the value to the stepped value.
    shape
        Shape of the value.
    from_zero
        The value at the beginning is always 0; it is known early in a cycle then.

    Members
    -------
    base : In(shape)
        The value at the beginning, taken while ``fresh`` is set. Not ``from_zero``.
    fresh : In(1)
        This iteration is the first one with the present ``base``; ``from_zero``: the next iteration is the first one.
    turning : In(1), one per loop of the nest
        As `LoopNest.turning`.
    advance : In(1)
    value : Out(shape)
        The value of the current iteration.
    """

    def __init__(
        self,
        *,
        loops: int,
        inner: Sequence[int],
        step: dict[int, Callable[[Value], Value]],
        shape: Shape | int,
        from_zero: bool = False,
    ) -> None:
        self._inner, self._step, self._shape = tuple(inner), dict(step), Shape.cast(shape)
        self._from_zero = from_zero
        super().__init__(
            {
                **({} if from_zero else {"base": In(self._shape)}),
                "fresh": In(1),
                "turning": In(loops),
                "advance": In(1),
                "value": Out(self._shape),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        outer: Value = Value.cast(0)
        if not self._from_zero:
            outer = self._level(m, "base", lambda held: held)
        after: list[tuple[int, Value]] = []
        for j in self._inner:
            if j in self._step:
                stepped = Signal(self._shape, name=f"stepped_{j}")
                after.append((j, stepped))
                outer = self._level(m, str(j), lambda level: self._following(level, after))
                m.d.comb += stepped.eq(self._step[j](outer))
            else:
                after.append((j, outer))
        m.d.comb += self.value.eq(outer)
        return m

    def _level(self, m: Module, name: str, following: Callable[[Value], Value]) -> Value:
        """The value that the loops inside begin with."""
        kept = Signal(self._shape, name=f"level_{name}")
        if self._from_zero:
            with m.If(self.advance):
                m.d.sync += kept.eq(Mux(self.fresh, 0, following(kept)))
            return kept
        level = Signal(self._shape, name=f"current_{name}")
        m.d.comb += level.eq(Mux(self.fresh, self.base, kept))
        with m.If(self.advance):
            m.d.sync += kept.eq(following(level))
        return level

    def _following(self, level: Value, after: list[tuple[int, Value]]) -> Value:
        for turning, value in after:
            level = Mux(self.turning[turning], value, level)
        return level
