"""Loop nests: the counters of all loops, and values that are stepped by the loops."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.registers.hwc import same_outside

__all__ = ["LevelRegister", "LoopNest", "SteppedValue"]

NOTHING: Mapping[int, int] = MappingProxyType({})


class LoopNest(wiring.Component):
    """Steps through the iterations of a loop nest: one counter for each loop.

    A loop's counter is reloaded when a loop outside of it turns. How many iterations follow depends on which outer
    loops over the same dimension are in their last iterations then; so does the size of the last iteration. Both come
    from `hwgen.arch.registers.hwc`: nothing is divided or clipped.

    ``advance`` is on the critical path, so it drives only register enables. Counts and sizes must be constant from
    the cycle before ``start`` on.

    Parameters
    ----------
    loops
        Dimension of each loop, outermost first.
    bits
        Width of a count, for each loop.
    sized
        Indices of the loops whose size is wanted, and the width of that.

    Members
    -------
    repeats_{j} : In(bits), one for each entry of the loop's `LoopCounts`
    step_{j} : In
        What an iteration of a sized loop covers that is not the last one.
    rest_{j} : In, one for each entry of the loop's `LoopCounts`
        What its last iteration covers.
    size_{j} : Out
        What the current iteration of a sized loop covers.
    start : In(1)
        Go to the first iteration. Only after a reset.
    advance : In(1)
        Go to the next iteration; after a reset or the last one to the first one.
    first, last : Out(len(loops))
        Loop j is in its first iteration; in its last iteration.
    turning : Out(len(loops))
        One-hot: the loop that ``advance`` steps (all inner loops restart); zero in the last iteration.
    ended : Out(len(loops) + 1)
        All loops from j on are in their last iteration, so a loop outside of them turns. Also set after a reset.
    finished : Out(1)
        This is the last iteration of all.
    """

    def __init__(self, *, loops: Sequence[str], bits: Sequence[int], sized: Mapping[int, int] = NOTHING) -> None:
        # Who asks for sizes may name them as a set, whose order differs from run to run: the Verilog must not.
        self.loops, self._bits, self._sized = tuple(loops), tuple(bits), dict(sorted(sized.items()))
        count = len(self.loops)
        ports: dict[str, wiring.Member] = {}
        for j in range(count):
            entries = 1 + len(same_outside(self.loops, j))
            ports[f"repeats_{j}"] = In(bits[j]).array(entries)
            if j in self._sized:
                ports |= {
                    f"step_{j}": In(sized[j]),
                    f"rest_{j}": In(sized[j]).array(entries),
                    f"size_{j}": Out(sized[j]),
                }
        super().__init__(
            {
                **ports,
                "start": In(1),
                "advance": In(1),
                "first": Out(count),
                "last": Out(count),
                "turning": Out(count),
                "ended": Out(count + 1, init=-1),
                "finished": Out(1),
            }
        )

    def repeats(self, index: int) -> Sequence[Value]:
        """The port ``repeats_{index}``."""
        ports: Sequence[Value] = getattr(self, f"repeats_{index}")
        return ports

    def will_be_first(self, index: int) -> Value:
        """Whether the next iteration is the first one of a loop."""
        return Mux(self.ended[index + 1], self.ended[index], self.first[index])

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        count = len(self.loops)
        moves, lasts, ended = Signal(), Signal(count), Signal(count + 1)
        for j in range(count):
            # Iterations after the present one, less one: -1 in the last one, to which the count of the next execution
            # is added. So the counter is an adder alone, of what a cell before it chooses.
            bits = self._bits[j]
            left, following = Signal(bits + 1, name=f"left_{j}", init=-1), Signal(bits + 1, name=f"following_{j}")
            added = Signal(bits + 1, name=f"added_{j}")
            goes_on = (~self.ended[j]).replicate(bits + 1)
            m.d.comb += [
                added.eq(self.entry(j, self.repeats(j), lasts) | goes_on),
                following.eq(left + added),
                # If only inner loops turn, a loop keeps its iteration.
                lasts[j].eq(Mux(self.ended[j + 1], self._becomes_last(m, j, following, moves, lasts), left[-1])),
                self.last[j].eq(left[-1]),
            ]
            with m.If(moves & self.ended[j + 1]):
                m.d.sync += [left.eq(following), self.first[j].eq(self.ended[j])]
        for j in self._sized:
            rest = self.entry(j, getattr(self, f"rest_{j}"), self.last)
            m.d.comb += getattr(self, f"size_{j}").eq(Mux(self.last[j], rest, getattr(self, f"step_{j}")))
        m.d.comb += [
            moves.eq(self.start | self.advance),
            ended.eq(Cat(lasts[j:].all() for j in range(count + 1))),
            self.finished.eq(self.ended[0]),
        ]
        with m.If(moves):
            m.d.sync += [self.ended.eq(ended), self.turning.eq(ended[1:] & ~lasts)]
        return m

    def _becomes_last(self, m: Module, index: int, following: Signal, moves: Value, lasts: Value) -> Value:
        """Whether a loop that turns or starts again is in its last iteration then.

        Where the counts of inner loops depend on it, it is known before this loop's counter is added up.
        """
        if self.loops[index] not in self.loops[index + 1 :]:
            return following[-1]
        nearly, repeats = Signal(name=f"nearly_last_{index}"), self.repeats(index)
        alone = [Signal(name=f"alone_{index}_{i}", reset_less=True) for i in range(len(repeats))]
        m.d.sync += [one.eq(number == 0) for one, number in zip(alone, repeats, strict=True)]
        with m.If(moves & self.ended[index + 1]):
            m.d.sync += nearly.eq(following == 0)
        return Mux(self.ended[index], self.entry(index, alone, lasts), nearly)

    def entry(self, index: int, entries: Sequence[Value], lasts: Value) -> Value:
        """The entry of a loop that holds if the loops with these flags are in their last iterations."""
        outside = same_outside(self.loops, index)
        chosen = entries[len(outside)]
        for i in reversed(range(len(outside))):
            chosen = Mux(lasts[outside[i]], chosen, entries[i])
        return chosen


class SteppedValue(wiring.Component):
    """A value to which some loops add; every inner loop restarts from the value of the outer ones.

    There is one adder: the loop that turns selects what it adds, and what to.

    Parameters
    ----------
    loops
        Loops of the nest.
    inner
        Indices of the loops inside the iteration that begins with ``base``, outermost first.
    steps
        Indices of the loops that add, among these.
    shape
        Shape of the value.
    step_bits
        Width of what is added.

    Members
    -------
    base : In(shape)
        The initial value.
    fresh : In(1)
        The next iteration begins with ``base``; a loop outside of ``inner`` turns, or none.
    step_{j} : In(step_bits), for each of ``steps``
    turning, ended : In
        As `LoopNest`'s.
    advance : In(1)
    value : Out(shape)
        The value of the current iteration.
    following : Out(shape)
        The value of the next iteration.
    level_{j} : Out(shape), for each of ``steps``
        The value with which the current iteration of the loop began.
    """

    def __init__(
        self, *, loops: int, inner: Sequence[int], steps: Sequence[int], shape: Shape | int, step_bits: int
    ) -> None:
        self._inner, self._steps, self._shape = tuple(inner), tuple(steps), Shape.cast(shape)
        self._step_bits = step_bits
        super().__init__(
            {
                "base": In(self._shape),
                "fresh": In(1),
                **{f"step_{j}": In(step_bits) for j in self._steps},
                "turning": In(loops),
                "ended": In(loops + 1),
                "advance": In(1),
                "value": Out(self._shape),
                "following": Out(self._shape),
                **{f"level_{j}": Out(self._shape) for j in self._steps},
            }
        )

    def follow(self, m: Module, nest: LoopNest, advance: Value, fresh: Value) -> None:
        """Connect it to its nest; ``advance`` also where that starts."""
        m.d.comb += [
            self.turning.eq(nest.turning),
            self.ended.eq(nest.ended),
            self.advance.eq(advance),
            self.fresh.eq(fresh),
        ]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        levels = {j: getattr(self, f"level_{j}") for j in self._steps}
        # Where each loop goes on from: the value of the innermost loop that adds, of it and those around it.
        goes_on: dict[int, Value] = dict.fromkeys(self._steps, Value.cast(0))
        begins: Value = self.fresh
        around = None
        for j in self._inner:
            around = j if j in levels else around
            if around is None:
                begins = begins | self.turning[j]
            else:
                goes_on[around] = goes_on[around] | self.turning[j]
        held, added = _gated(self.base, begins), Value.cast(0)
        for j in self._steps:
            held = held | _gated(levels[j], goes_on[j])
            added = added | _gated(getattr(self, f"step_{j}"), self.turning[j])
        m.d.comb += [
            self.following.eq(held + added),
            self.value.eq(levels[self._steps[-1]] if self._steps else self.base),
        ]
        for j, level in levels.items():
            with m.If(self.advance & self.ended[j + 1]):
                m.d.sync += level.eq(self.following)
        return m


def _gated(value: Value, gate: Value) -> Value:
    """The bits of a value, or zero."""
    return value.as_unsigned() & gate.replicate(len(value))


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

    Members
    -------
    base : In(shape)
        The initial value, loaded while ``fresh`` is set.
    fresh : In(1)
        This iteration is the first with the current ``base``.
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
        """The value that the inner loops restart from."""
        kept = Signal(self._shape, name=f"level_{name}")
        level = Signal(self._shape, name=f"current_{name}")
        m.d.comb += level.eq(Mux(self.fresh, self.base, kept))
        with m.If(self.advance):
            m.d.sync += kept.eq(following(level))
        return level

    def _following(self, level: Value, after: list[tuple[int, Value]]) -> Value:
        for turning, value in after:
            level = Mux(self.turning[turning], value, level)
        return level
