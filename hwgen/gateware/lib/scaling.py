"""Requantisation of a 33-bit sum to an 8-bit output by a multiplier and a shift: the arithmetic of quantised
networks."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, HALF_UP, MULTIPLIER_BITS
from hwgen.gateware.lib.rounding import ROUNDERS, RoundingShift, rest_bits

__all__ = ["LOW_BITS", "PRODUCT_BITS", "STAGE_BITS", "SUM_BITS", "Scaling", "ZeroClip", "below_half"]

SUM_BITS = 33
"""Bits of a sum with its bias."""
PRODUCT_BITS = SUM_BITS + MULTIPLIER_BITS
LOW_BITS = 9
"""Bits that are kept of a shifted product, one of them below the output's: with its sign the distance of any two
outputs, which a zero point may be."""
STAGE_BITS = 2 * MULTIPLIER_BITS + SUM_BITS + PRODUCT_BITS + rest_bits(LOW_BITS) + 1 + 8
"""Bits of the registers after the stages: two products, their sum, what is left of it and where its half
goes, the output."""


class Scaling(wiring.Component):
    """``v = total * multiplier >> shift``, rounded; then ``clip(v + zero_out, low, high)``.

    Four stages, a register after each: two products, of the lower and the upper half of the sum; their sum; the
    shift; the clip. All of them advance together. Nothing wraps.

    Parameters
    ----------
    rounding
        How the shift rounds.

    Members
    -------
    advance : In(1)
        Every stage takes what the one before has.
    total : In(signed(33))
    multiplier : In(16), without sign
    twice : In(1)
        The product rounds twice (`hwgen.ir.requantisation.Scale`); a stage later than ``total``.
    shift : In(6)
        At most 47, two stages later than ``total``.
    beyond : In(50)
        For this shift, as `hwgen.gateware.lib.rounding.beyond` gives it.
    below : In(49)
        For this shift and ``twice``, as `below_half` gives it.
    zero_out, low, high : In(8)
        In two's complement.
    product : Out(signed(49))
        Two stages later; with a multiplier of 1 it is the sum. What rounds twice has 2**15 added.
    value : Out(signed(8))
        The output, four stages later.
    """

    advance: In(1)
    total: In(signed(SUM_BITS))
    multiplier: In(MULTIPLIER_BITS)
    twice: In(1)
    shift: In(CHANNEL_SHIFT_BITS)
    beyond: In(PRODUCT_BITS + 1)
    below: In(PRODUCT_BITS)
    zero_out: In(8)
    low: In(8)
    high: In(8)
    product: Out(signed(PRODUCT_BITS))
    value: Out(signed(8))

    def __init__(self, *, rounding: str = HALF_UP) -> None:
        self._rounding = rounding
        super().__init__()

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        half, bit = MULTIPLIER_BITS, MULTIPLIER_BITS - 1
        lower, upper = Signal(2 * half, reset_less=True), Signal(signed(SUM_BITS), reset_less=True)
        rest = Signal(rest_bits(LOW_BITS, self._rounding), reset_less=True)
        down = Signal(reset_less=True)
        m.submodules.rounding = rounding = RoundingShift(
            bits=LOW_BITS, sum_bits=PRODUCT_BITS, shift_bits=CHANNEL_SHIFT_BITS, rounding=self._rounding
        )
        m.submodules.clip = clip = ZeroClip(rounding=self._rounding)
        m.d.comb += [
            rounding.enable.eq(1),
            rounding.sum.eq(self.product),
            rounding.shift.eq(self.shift),
            rounding.beyond.eq(self.beyond),
            clip.rest.eq(rest),
            clip.down.eq(down),
            clip.zero_out.eq(self.zero_out),
            clip.low.eq(self.low),
            clip.high.eq(self.high),
        ]
        with m.If(self.advance):
            m.d.sync += [
                lower.eq(self.total[:half] * self.multiplier),
                upper.eq(self.total[half:].as_signed() * self.multiplier),
                # The lowest bits need no adder; what rounds is added where the upper half has no bit.
                self.product.eq(Cat(lower[:bit], (Cat(self.twice, upper).as_signed() + lower[bit:])[: SUM_BITS + 1])),
                rest.eq(rounding.rest),
                down.eq((self.product < 0) & ~(self.product[half:] & self.below[half:]).any()),
                self.value.eq(clip.value),
            ]
        return m


def below_half(shift: Value, twice: Value) -> Value:
    """The bits of a product that decide where a half of a negative one goes: those below the highest that is dropped.

    All bits if it does not round twice: one of them is set in every negative product, and its halves go up.
    """
    ones = Const((1 << (PRODUCT_BITS + 1)) - 1, PRODUCT_BITS + 1)
    return ~(ones << shift)[1 : PRODUCT_BITS + 1] | (~twice).replicate(PRODUCT_BITS)


class ZeroClip(wiring.Component):
    """Rounds, adds the zero point, clips. Combinational.

    Members
    -------
    rest : In(rest_bits(LOW_BITS))
        From `RoundingShift`.
    down : In(1)
        A half goes down.
    zero_out, low, high : In(8)
        In two's complement.
    value : Out(signed(8))
    """

    def __init__(self, *, rounding: str = HALF_UP) -> None:
        self._rounder = ROUNDERS[rounding]
        rest = In(rest_bits(LOW_BITS, rounding))
        super().__init__(
            {"rest": rest, "down": In(1), "zero_out": In(8), "low": In(8), "high": In(8), "value": Out(signed(8))}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        doubled, negative = self.rest[: LOW_BITS + 1].as_signed(), self.rest[LOW_BITS]
        outside, seen = self.rest[LOW_BITS + 1], self.rest[LOW_BITS + 2 :]
        value, below, above = Signal(signed(LOW_BITS + 2)), Signal(), Signal()
        carry = self._rounder.carry(doubled, negative, seen) & ~self.down
        m.d.comb += [
            # What rounds and the zero point are added at once.
            value.eq((doubled + Cat(carry, self.zero_out).as_signed()) >> 1),
            below.eq(Mux(outside, negative, value < self.low.as_signed())),
            above.eq(Mux(outside, ~negative, value > self.high.as_signed())),
            self.value.eq(Mux(below, self.low, Mux(above, self.high, value[:8]))),
        ]
        return m
