"""Walking a loop nest: the odometer, and values that follow its loops."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Shape, Signal, Value, ValueLike
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.params import DIMS

__all__ = ["LevelRegister", "LoopNest", "Ranges"]


@dataclass(frozen=True)
class Ranges:
    """The part of each dimension that an iteration covers, from ``low`` to below ``high``."""

    low: dict[str, ValueLike]
    high: dict[str, ValueLike]


class LoopNest(wiring.Component):
    """The iterations of a loop nest, one after the other, edge iterations clipped.

    Loop j covers ``[lo[j], hi[j])`` of its dimension inside the range of the next outer loop over the same dimension,
    or inside ``[0, extent)``.

    Where every loop goes next is worked out ahead, from registers alone, for each loop that might turn; what it
    begins with inside an outer loop's iteration is remembered. Which one turns is a register, too: that the nest
    advances, which is known late in a cycle, only enables the registers.

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
    lo, hi : Out(bits), one per loop
        Range that the current iteration covers.
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
        for j, dim in enumerate(self.loops):
            m.d.comb += [
                self.extent[j].eq(getattr(settings, f"extent_{dim}")),
                self.step[j].eq(getattr(settings, f"step_{j}_{dim}")),
            ]
            low[dim], high[dim] = self.lo[j], self.hi[j]
        return Ranges(low, high)

    def chain(self, index: int) -> list[int]:
        """Indices of a loop and of all outer loops over the same dimension, from the inside."""
        return [j for j in range(index, -1, -1) if self.loops[j] == self.loops[index]]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self.loops)
        # As after a reset: loops without an outer one over the same dimension go on from nothing to their first part.
        self._begins = Signal(init=1)
        self._goes_on = Signal(count, init=sum(1 << j for j in range(count) if len(self.chain(j)) == 1))
        following = [self._following(m, j) for j in range(count)]
        lasts, turning, moved = Signal(count), Signal(count), Signal(count)
        m.d.comb += self.finished.eq(self.last.all())
        with m.If(self.live):
            for j, (_, _, last) in enumerate(following):
                m.d.comb += [
                    moved[j].eq(self._begins | self.turning[: j + 1].any()),
                    lasts[j].eq(Mux(moved[j], last, self.last[j])),
                ]
            for j in range(count):
                m.d.comb += turning[j].eq(~lasts[j] & lasts[j + 1 :].all())
        with m.If(self.start | self.advance):
            m.d.sync += [self.last.eq(lasts), self.turning.eq(turning), self._goes_on.eq(turning), self._begins.eq(0)]
            for j, (low, high, _) in enumerate(following):
                with m.If(moved[j]):
                    m.d.sync += [self.lo[j].eq(low), self.hi[j].eq(high)]
                    m.d.sync += self.first[j].eq(~self.turning[j])
        return m

    def _following(self, m: Module, index: int) -> tuple[Signal, Signal, Signal]:
        """Where a loop is in the next iteration: its range, and whether that is its last one.

        If the loop or an outer one over the same dimension turns, it begins where that one ends. It ends where the
        next outer one of that does, at the latest: its step is at most that of the loops between, whose own ends need
        not be waited for. If a loop turns that is not over its dimension, it begins again with the next outer loop
        over the same dimension; all that it does then is remembered since that one has moved.
        """
        bits, chain, step = self._bits, self.chain(index), self.step[index]
        low, high = Signal(bits, name=f"next_lo_{index}"), Signal(bits, name=f"next_hi_{index}")
        last = Signal(name=f"next_last_{index}")
        only = step >= self.step[chain[1]] if len(chain) > 1 else Value.cast(0)
        choices: list[tuple[Value, Value, Value, Value]] = []
        for place, turns in enumerate(chain):
            outer = chain[place + 1] if place + 1 < len(chain) else None
            name = f"{index}_{turns}"
            begin, end = Signal(bits, name=f"begin_{name}"), Signal(bits, name=f"end_{name}")
            reach, within = Signal(bits + 1, name=f"reach_{name}"), Signal(name=f"within_{name}")
            again_high, again_last = Signal(bits, name=f"again_hi_{name}"), Signal(name=f"again_last_{name}")
            if outer is None:
                # As at the very beginning.
                ends, restarts = self.extent[turns], Value.cast(0)
                again = self.turning[:turns].any()
                with m.If(again):
                    whole = Value.cast(step >= ends)
                    m.d.comb += [again_high.eq(Mux(whole, ends, step)), again_last.eq(whole | only)]
            else:
                ends, restarts = self.hi[outer], self.lo[outer]
                again = self.turning[outer + 1 : turns].any()
                with m.If((self.start | self.advance) & (self._begins | self.turning[: outer + 1].any())):
                    m.d.sync += [again_high.eq(high), again_last.eq(last)]
            with m.If(self.live):
                m.d.comb += [begin.eq(self.hi[turns]), end.eq(ends), reach.eq(begin + step), within.eq(reach < end)]
            choices += [
                (self._goes_on[turns], begin, Mux(within, reach[:bits], end), ~within | (only if place else 0)),
                (again, restarts, again_high, again_last),
            ]
        with m.If(self.live):
            m.d.comb += [
                low.eq(_either((when, begins) for when, begins, _, _ in choices)),
                high.eq(_either((when, ends) for when, _, ends, _ in choices)),
                last.eq(_either((when, is_last) for when, _, _, is_last in choices)),
            ]
        return low, high, last


def _either(choices: Iterable[tuple[Value, Value]]) -> Value:
    """The value of which the condition is set: of one at most, else nothing."""
    result: Value = Value.cast(0)
    for when, value in choices:
        result = result | Mux(when, value, 0)
    return result


class LevelRegister(wiring.Component):
    """A value that each of some loops changes and that every inner loop starts again from.

    Parameters
    ----------
    inner
        Indices of the loops inside the iteration for which ``base`` is given, outermost first.
    step
        For each loop that changes the value: a function from the value to the stepped value.
    shape
        Shape of the value.

    Members
    -------
    base : In(shape)
        The value at the beginning, taken while ``fresh`` is set.
    fresh : In(1)
        This iteration is the first one with the present ``base``.
    turning : In(1), one per loop of the nest
        As `LoopNest.turning`.
    advance : In(1)
    value : Out(shape)
        The value of the current iteration.
    """

    def __init__(
        self, *, loops: int, inner: Sequence[int], step: dict[int, Callable[[Value], Value]], shape: Shape | int
    ) -> None:
        self._inner, self._step, self._shape = tuple(inner), dict(step), Shape.cast(shape)
        super().__init__(
            {
                "base": In(self._shape),
                "fresh": In(1),
                "turning": In(loops),
                "advance": In(1),
                "value": Out(self._shape),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        held = Signal(self._shape)
        current = Signal(self._shape, name="current_base")
        m.d.comb += current.eq(Mux(self.fresh, self.base, held))
        with m.If(self.advance):
            m.d.sync += held.eq(current)
        after: list[tuple[int, Value]] = []
        outer: Value = current
        for j in self._inner:
            if j in self._step:
                kept = Signal(self._shape, name=f"level_{j}")
                level = Signal(self._shape, name=f"current_{j}")
                stepped = Signal(self._shape, name=f"stepped_{j}")
                m.d.comb += [level.eq(Mux(self.fresh, self.base, kept)), stepped.eq(self._step[j](level))]
                after.append((j, stepped))
                following: Value = level
                for turning, value in after:
                    following = Mux(self.turning[turning], value, following)
                with m.If(self.advance):
                    m.d.sync += kept.eq(following)
                outer = level
            else:
                after.append((j, outer))
        m.d.comb += self.value.eq(outer)
        return m
