"""Realigns a run of bytes: from beats of the AXI bus to lines of the TCDM, or from lines to beats."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.parameter_error import ParameterError

__all__ = ["ByteAligner", "aligned_layout"]


def aligned_layout(unit_bytes: int) -> data.StructLayout:
    """A unit of bytes: byte enables of the run, flags for the run's first and last unit, and the run's ``joins``."""
    return data.StructLayout({"data": 8 * unit_bytes, "enable": unit_bytes, "first": 1, "last": 1, "joins": 1})


class ByteAligner(wiring.Component):
    """Shifts the bytes of a run from their offset in the source units (beats or lines) to that in the target units.

    The run starts at byte ``source`` of its first source unit and at byte ``target`` of its first target unit.
    Throughput is one unit a cycle. If ``target < source``, the first source unit takes an extra cycle. If
    ``target > source``, the last target unit may need no further source unit. There is no gap between runs.

    Parameters
    ----------
    unit_bytes
        A power of two.
    length_bits
        Width of a run's length.

    Members
    -------
    i_run : In(stream)
        ``source``, ``target``, ``length`` in bytes. ``keeps``: the next run starts in its last source unit.
        ``joins``: the next run continues in its last target unit.
    i_unit : In(stream)
    wants : Out(1)
        A source unit is needed in this cycle, whether or not ``i_unit`` is accepted.
    o_unit : Out(stream of `aligned_layout`)
    busy : Out(1)
        A run is in progress.
    """

    def __init__(self, unit_bytes: int, length_bits: int) -> None:
        if unit_bytes < 2 or unit_bytes & (unit_bytes - 1):
            raise ParameterError(f"unit_bytes: expected a power of two from 2 on, got {unit_bytes}")
        self._length = length_bits
        self._bytes, self._low = unit_bytes, unit_bytes.bit_length() - 1
        run = data.StructLayout(
            {"source": self._low, "target": self._low, "length": length_bits, "keeps": 1, "joins": 1}
        )
        super().__init__(
            {
                "i_run": In(stream.Signature(run)),
                "i_unit": In(stream.Signature(8 * unit_bytes)),
                "o_unit": Out(stream.Signature(aligned_layout(unit_bytes))),
                "wants": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        run, given = self.i_run.payload, self.o_unit.payload
        to_take, to_give = Signal(self._length), Signal(self._length)
        turn, head, tail = Signal(self._low), Signal(self._low), Signal(self._low)
        first, primes, keeps, joins = Signal(), Signal(), Signal(), Signal()
        held, turned = Signal(8 * self._bytes), Signal(8 * self._bytes)
        comes, gives, steps, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            turned.eq(_rotated(self.i_unit.payload, turn, self._bytes)),
            comes.eq(self.i_unit.valid | (to_take == 0)),
            given.data.eq(
                Cat(
                    Mux(turn <= lane, turned.word_select(lane, 8), held.word_select(lane, 8))
                    for lane in range(self._bytes)
                )
            ),
            given.first.eq(first),
            given.last.eq(to_give == 1),
            given.enable.eq(
                Cat(
                    (~first | (head <= lane)) & (~given.last | (tail == 0) | (lane < tail))
                    for lane in range(self._bytes)
                )
            ),
            self.o_unit.valid.eq(self.busy & ~primes & comes),
            gives.eq(self.o_unit.valid & self.o_unit.ready),
            steps.eq(Mux(primes, self.i_unit.valid, gives)),
            given.joins.eq(given.last & joins),
            self.wants.eq(self.busy & (to_take != 0) & (primes | self.o_unit.ready)),
            self.i_unit.ready.eq(self.wants & ~(keeps & (to_take == 1))),
            ends.eq(gives & given.last),
            self.i_run.ready.eq(~self.busy | ends),
        ]
        with m.If(steps):
            m.d.sync += [held.eq(turned), primes.eq(0)]
            with m.If(to_take != 0):
                m.d.sync += to_take.eq(to_take - 1)
        with m.If(gives):
            m.d.sync += [to_give.eq(to_give - 1), first.eq(0)]
        with m.If(self.i_run.ready):
            m.d.sync += self.busy.eq(self.i_run.valid)
            with m.If(self.i_run.valid):
                m.d.sync += [
                    to_take.eq((run.source + run.length + self._bytes - 1) >> self._low),
                    to_give.eq((run.target + run.length + self._bytes - 1) >> self._low),
                    turn.eq(run.target - run.source),
                    head.eq(run.target),
                    tail.eq(run.target + run.length),
                    first.eq(1),
                    keeps.eq(run.keeps),
                    joins.eq(run.joins),
                    primes.eq(run.target < run.source),
                ]
        return m


def _rotated(value: Value, count: Value, unit_bytes: int) -> Value:
    """Rotate: byte b moves to lane (b + count) mod ``unit_bytes``."""
    for bit in range(unit_bytes.bit_length() - 1):
        amount = 8 << bit
        value = Mux(count[bit], value.rotate_left(amount), value)
    return value
