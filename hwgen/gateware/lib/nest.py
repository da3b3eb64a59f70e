"""Loop nests: the counters of all loops, and values that are stepped by the loops."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import DIMS

__all__ = ["LevelRegister", "LoopNest", "Ranges"]


@dataclass(frozen=True)
class Ranges:
    """The range of a dimension that an iteration covers: ``low`` (inclusive), ``high`` (exclusive), ``size``."""

    low: dict[str, ValueLike]
    high: dict[str, ValueLike]
    size: dict[str, ValueLike]


class LoopNest(wiring.Component):
    """Steps through the iterations of a loop nest; edge iterations are clipped.

    Loop j covers ``[lo[j], hi[j])`` of its dimension inside the range of the next outer loop over the same dimension,
    or inside ``[0, extent)``.

    The next range of every loop is computed in advance, from registers alone, for each loop that may turn; the first
    range inside an iteration of an outer loop is kept in a register. Which loop turns is a register, too. ``advance``
    is on the critical path, so it drives only register enables. Extents and steps must be constant from the cycle
    before ``start``.

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
        Go to the first iteration. Only after a reset.
    advance : In(1)
        Go to the next iteration; after a reset or the last one to the first one.
    lo, hi, size : Out(bits), one per loop
        Range that the current iteration covers, and its size.
    first, last : Out(len(loops))
        Loop j is in its first iteration; in its last iteration.
    turning : Out(len(loops))
        One-hot: the loop that ``advance`` steps (all inner loops restart); zero in the last iteration.
    ended : Out(len(loops) + 1)
        All loops from j on are in their last iteration, so a loop outside of them turns. Also set after a reset.
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
                "lo": Out(bits).array(count),
                "hi": Out(bits).array(count),
                "size": Out(bits).array(count),
                "first": Out(count),
                "last": Out(count),
                "turning": Out(count),
                "ended": Out(count + 1, init=-1),
                "finished": Out(1),
            }
        )

    def follow(self, m: Module, settings: wiring.PureInterface) -> "Ranges":
        """Connect extents and steps to the settings. Returns the ranges that an iteration covers."""
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
        """Indices of a loop and of all outer loops over the same dimension, innermost first."""
        return [j for j in range(index, -1, -1) if self.loops[j] == self.loops[index]]

    def _same_inside(self, index: int) -> list[int]:
        """Indices of a loop and of all inner loops over the same dimension."""
        return [j for j in range(index, len(self.loops)) if self.loops[j] == self.loops[index]]

    def will_be_first(self, index: int) -> Value:
        """Whether the next iteration is the first one of a loop."""
        return Mux(self.ended[index + 1], self.ended[index], self.first[index])

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self.loops)
        # The rest of the outer range after the current iteration; correct for every loop that may turn.
        self._left = [Signal(self._bits, name=f"left_{j}", reset_less=True) for j in range(count)]
        # For the loop and each inner loop over its dimension: whether it covers all of the rest if this loop turns.
        self._fills = [
            {i: Signal(name=f"fills_{j}_{i}", reset_less=True) for i in self._same_inside(j)} for j in range(count)
        ]
        self._moves = Signal()
        self._begins = Signal(init=1)
        self._sums: dict[tuple[int, int], Signal] = {}
        m.d.comb += [self._moves.eq(self.start | self.advance), self.finished.eq(self.ended[0])]
        following = [self._following(m, j) for j in range(count)]
        lasts, ended = Signal(count), Signal(count + 1)
        m.d.comb += [
            # If only inner loops turn, a loop keeps its iteration.
            lasts.eq(Cat(Mux(self.ended[j + 1], part.last, self.last[j]) for j, part in enumerate(following))),
            ended.eq(Cat(lasts[j:].all() for j in range(count + 1))),
        ]
        with m.If(self._moves):
            m.d.sync += [
                self.last.eq(lasts),
                self.ended.eq(ended),
                self.turning.eq(ended[1:] & ~lasts),
                self._begins.eq(0),
            ]
            for j, part in enumerate(following):
                with m.If(self.ended[j + 1]):
                    m.d.sync += [
                        self.lo[j].eq(part.low),
                        self.hi[j].eq(part.high),
                        self.size[j].eq(part.size),
                        self._left[j].eq(part.left),
                        self.first[j].eq(self.ended[j]),
                        *(fills.eq(part.fills[i]) for i, fills in self._fills[j].items()),
                    ]
        return m

    def _following(self, m: Module, index: int) -> "_Part":
        """The range of a loop in the next iteration, if it or an outer loop turns.

        If the loop or an outer loop over the same dimension turns, the range starts where that loop's range ends. If
        a loop over another dimension turns, it restarts at the start of the next outer loop over the same dimension;
        this range was registered when that loop moved.
        """
        chain = self.chain(index)
        whole, only = self._whole(m, index, chain)
        # Each choice holds if all loops from its number on have ended; the last choice that holds is taken.
        choices: list[tuple[int, _Part]] = []
        remembered: list[tuple[int, _Part]] = []
        for place, turns in enumerate(chain):
            choices.append((turns + 1, self._behind(m, chain, place, only)))
            if place + 1 == len(chain):
                choices.append((turns, whole))
            elif chain[place + 1] + 1 < turns:
                outer = chain[place + 1]
                again = self._part(f"again_{index}_{turns}", index, low=self.lo[outer])
                choices.append((turns, again))
                remembered.append((outer, again))
        following = self._part(f"next_{index}", index)
        m.d.comb += [
            value.eq(self._last_of([(ends, part.values()[name]) for ends, part in choices]))
            for name, value in following.values().items()
        ]
        for outer, again in remembered:
            with m.If(self._moves & self.ended[outer + 1]):
                m.d.sync += [
                    value.eq(following.values()[name]) for name, value in again.values().items() if name != "low"
                ]
        return following

    def _part(self, name: str, index: int, low: Value | None = None) -> "_Part":
        """Signals for the range of a loop."""
        widths = {"low": self._bits, "high": self._bits, "size": self._bits, "left": self._bits, "last": 1}
        signals = {of: Signal(width, name=f"{name}_{of}", reset_less=True) for of, width in widths.items()}
        fills = {j: Signal(name=f"{name}_fills_{j}", reset_less=True) for j in self._same_inside(index)}
        return _Part(**(signals if low is None else {**signals, "low": low}), fills=fills)

    def _last_of(self, choices: Sequence[tuple[int, Value]]) -> Value:
        """The value of the last choice that holds. If a choice holds, all before it hold."""
        if len(choices) == 1:
            return choices[0][1]
        half = len(choices) // 2
        return Mux(self.ended[choices[half][0]], self._last_of(choices[half:]), self._last_of(choices[:half]))

    def _whole(self, m: Module, index: int, chain: list[int]) -> tuple["_Part", Value]:
        """The first range of a loop in its whole dimension; whether its step is that of the next outer loop.

        Both follow from the settings before the nest starts.
        """
        extent, step = self.extent[chain[-1]], self.step[index]
        part = self._part(f"whole_{index}", index, low=C(0))
        only = Signal(name=f"only_{index}", reset_less=True)
        around, is_only = extent, Value.cast(0)
        if len(chain) > 1:
            outer = self.step[chain[1]]
            around, is_only = Mux(_below(outer, extent), outer, extent), ~_below(step, outer)
        ends, left = ~_below(step, extent), (around - step)[: self._bits]
        for j in part.fills:
            self._sums[index, j] = Signal(self._bits + 1, name=f"sum_{index}_{j}", reset_less=True)
        with m.If(self._begins):
            m.d.sync += [
                *(fills.eq(~_below(self.step[j], left)) for j, fills in part.fills.items()),
                *(self._sums[index, j].eq(step + self.step[j]) for j in part.fills),
                part.size.eq(Mux(ends, extent, step)),
                part.left.eq(left),
                part.last.eq(ends | is_only),
                only.eq(is_only),
            ]
        m.d.comb += part.high.eq(part.size)
        return part, only

    def _behind(self, m: Module, chain: list[int], place: int, only: Value) -> "_Part":
        """The range after the iteration of a loop that turns: its own, or that of an inner loop over its dimension.

        It ends at the end of the next outer loop of the loop that turns, at the latest. Its step is at most that of
        the loops between, so their ends do not limit it. Whether it does was registered when that loop moved.
        """
        index, turns, bits = chain[0], chain[place], self._bits
        step, left, fills = self.step[index], self._left[turns], self._fills[turns][index]
        end = self.hi[chain[place + 1]] if place + 1 < len(chain) else self.extent[turns]
        part = self._part(f"behind_{index}_{turns}", index, low=self.hi[turns])
        m.d.comb += [
            part.high.eq(Mux(fills, end, (self.hi[turns] + step)[:bits])),
            part.size.eq(Mux(fills, left, step)),
            part.left.eq(left - step),
            part.last.eq(fills),
            *(of.eq(~_below(self._sums[index, j], left)) for j, of in part.fills.items()),
        ]
        if place:
            # The next outer loop moves as well.
            outer = self.step[chain[1]]
            m.d.comb += part.last.eq(fills | only)
            with m.If(_below(outer, left)):
                m.d.comb += [
                    part.left.eq(outer - step),
                    *(of.eq(~_below(self._sums[index, j], outer)) for j, of in part.fills.items()),
                ]
        return part


def _below(value: Value, limit: Value) -> Value:
    """Whether an unsigned value is less than another, by the sign of the difference.

    If it were written as a comparison, Yosys would share the opposite difference where that exists, and add a
    bit-by-bit comparison for equality.
    """
    return (value - limit)[max(len(value), len(limit))]


@dataclass(frozen=True)
class _Part:
    """The range of a loop, its size, the rest of the outer range after it, and whether it is the last one.

    ``fills``: for the loop and each inner loop over its dimension, whether its step is at least ``left``.
    """

    low: Value
    high: Value
    size: Value
    left: Value
    last: Value
    fills: dict[int, Value]

    def values(self) -> dict[str, Value]:
        """All of its signals, by name."""
        single = {of.name: getattr(self, of.name) for of in fields(self) if of.name != "fills"}
        return {**single, **{f"fills_{j}": value for j, value in self.fills.items()}}


class LevelRegister(wiring.Component):
    """A value that is stepped by some loops; every inner loop restarts from the value of the outer ones.

    Parameters
    ----------
    loops
        Loops of the nest.
    inner
        Indices of the loops inside the iteration for which ``base`` is given, outermost first.
    step
        For each loop that steps the value: a function from the value to the stepped value.
    shape
        Shape of the value.
    from_zero
        The initial value is always 0, which shortens the critical path.

    Members
    -------
    base : In(shape)
        The initial value, loaded while ``fresh`` is set. Not if ``from_zero``.
    fresh : In(1)
        This iteration is the first with the current ``base``; if ``from_zero``, the next iteration is the first.
    turning : In(1), one per loop of the nest
        As `LoopNest.turning`.
    advance : In(1)
    value : Out(shape)
        The value of the current iteration.
    following : Out(shape)
        The value of the next iteration. Only if ``from_zero``.
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
                **({"following": Out(self._shape)} if from_zero else {"base": In(self._shape)}),
                "fresh": In(1),
                "turning": In(loops),
                "advance": In(1),
                "value": Out(self._shape),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        outer: Value = Value.cast(0)
        self._becomes = outer
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
        if self._from_zero:
            m.d.comb += self.following.eq(self._becomes)
        return m

    def _level(self, m: Module, name: str, following: Callable[[Value], Value]) -> Value:
        """The value that the inner loops restart from."""
        kept = Signal(self._shape, name=f"level_{name}")
        if self._from_zero:
            becomes = Signal(self._shape, name=f"following_{name}")
            m.d.comb += becomes.eq(Mux(self.fresh, 0, following(kept)))
            with m.If(self.advance):
                m.d.sync += kept.eq(becomes)
            self._becomes = becomes
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
