"""Walking a loop nest: the odometer, and values that follow its loops."""

from collections.abc import Callable, Sequence
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

    Parameters
    ----------
    loops
        Dimension of each loop, outermost first.
    bits
        Width of a coordinate.
    rewind
        Index of the first loop that ``rewind`` sets back to its beginning.

    Members
    -------
    extent : In(bits), one per loop
        Extent of the loop's dimension (ignored where an outer loop over the same dimension exists).
    step : In(bits), one per loop
        At most that of the next outer loop over the same dimension.
    start : In(1)
        Go to the first iteration.
    advance : In(1)
        Go to the next iteration; after the last one the position is undefined.
    rewind : In(1)
        Set the loops from ``rewind`` on back to their first iteration.
    live : In(1)
        It may move in this cycle: set whenever it does, but known early in the cycle.
    lo, hi : Out(bits), one per loop
        Range that the current iteration covers.
    first, last : Out(len(loops))
        Loop j is in its first, its last iteration.
    turning : Out(len(loops))
        One-hot: the loop that ``advance`` would step (all inner ones start again); zero in the last iteration.
    finished : Out(1)
        This is the last iteration of all.
    """

    def __init__(self, *, loops: Sequence[str], bits: int, rewind: int | None = None) -> None:
        self.loops = tuple(loops)
        self._bits = bits
        self._rewind = len(self.loops) if rewind is None else rewind
        count = len(self.loops)
        super().__init__(
            {
                "extent": In(bits).array(count),
                "step": In(bits).array(count),
                "start": In(1),
                "advance": In(1),
                "rewind": In(1),
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

    def parent(self, index: int) -> int | None:
        """Index of the next outer loop over the same dimension."""
        outer = [j for j in range(index) if self.loops[j] == self.loops[index]]
        return outer[-1] if outer else None

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count, bits = len(self.loops), self._bits
        m.d.comb += self.finished.eq(self.last.all())
        for j in range(count):
            m.d.comb += self.turning[j].eq(~self.last[j] & self.last[j + 1 :].all())
        # A simulator passes over the rest while nothing can move. Whether it does move is known late in the cycle.
        moves = self.start | self.advance | self.rewind
        next_lo = [Signal(bits, name=f"next_lo_{j}") for j in range(count)]
        next_hi = [Signal(bits, name=f"next_hi_{j}") for j in range(count)]
        ends = [Signal(bits, name=f"end_{j}") for j in range(count)]
        moved = [Signal(name=f"moved_{j}") for j in range(count)]
        for j in range(count):
            parent = self.parent(j)
            restart, within = Signal(name=f"restart_{j}"), Signal(name=f"within_{j}")
            reach = Signal(bits + 1, name=f"reach_{j}")
            # A loop that begins again with its parent ends where the parent does, at the latest, but its step is at
            # most the parent's: the parent's own end will do, and its ``next_hi`` need not be waited for.
            begin: Value = Value.cast(0) if parent is None else next_lo[parent]
            end: Value = self.extent[j] if parent is None else Mux(moved[parent], ends[parent], self.hi[parent])
            only = 0 if parent is None else moved[parent] & (self.step[j] >= self.step[parent])
            with m.If(self.live):
                m.d.comb += [
                    restart.eq(self.start | Mux(self.rewind, j >= self._rewind, self.turning[:j].any())),
                    moved[j].eq(restart | (self.turning[j] & ~self.rewind)),
                    next_lo[j].eq(Mux(restart, begin, Mux(self.turning[j] & ~self.rewind, self.hi[j], self.lo[j]))),
                    reach.eq(next_lo[j] + self.step[j]),
                    ends[j].eq(end),
                    within.eq(reach < ends[j]),
                    next_hi[j].eq(Mux(within, reach, ends[j])),
                ]
            with m.If(moves):
                m.d.sync += [
                    self.lo[j].eq(next_lo[j]),
                    self.hi[j].eq(next_hi[j]),
                    self.last[j].eq(~within | only),
                ]
                with m.If(restart):
                    m.d.sync += self.first[j].eq(1)
                with m.Elif(self.turning[j] & ~self.rewind):
                    m.d.sync += self.first[j].eq(0)
        return m


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
