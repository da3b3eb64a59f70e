"""From a 32-bit sum to an 8-bit output: bias, rounding shift, ReLU, clip to a ceiling."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Requantise"]


class Requantise(wiring.Component):
    """``v = sum + bias``; add half of ``1 << shift`` unless the shift is 0; shift right arithmetically; ReLU; clip.

    The upper bound of the clip is ``ceiling``: with ReLU, a clipped ReLU.

    Nothing wraps: the intermediate values are wide enough for every sum and bias. Combinational.

    Parameters
    ----------
    bits
        Width of the output.
    sum_bits, shift_bits
        Widths of the sum, at least 32, and of the shift.

    Members
    -------
    enable : In(1)
        The value is wanted (else it is undefined).
    sum : In(signed(sum_bits))
    bias : In(signed(32))
    shift : In(shift_bits)
    relu : In(1)
    ceiling : In(bits - 1)
    value : Out(signed(bits))
    """

    def __init__(self, *, bits: int = 8, sum_bits: int = 32, shift_bits: int = 5) -> None:
        self._bits, self._sum_bits = bits, sum_bits
        super().__init__(
            {
                "enable": In(1),
                "sum": In(signed(sum_bits)),
                "bias": In(signed(32)),
                "shift": In(shift_bits),
                "relu": In(1),
                "ceiling": In(bits - 1),
                "value": Out(signed(bits)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bits = self._bits
        # The sum is shifted right by one bit less than asked; the last bit rounds. Beside that it is seen whether a
        # bit above those wanted differs from the sign; halves below the range round to its end.
        width = self._sum_bits + 2
        total, doubled = Signal(signed(self._sum_bits + 1)), Signal(signed(width))
        low, rounded, outside, negative = Signal(bits + 1), Signal(bits), Signal(), Signal()
        beyond = Signal(width)
        m.d.comb += beyond.eq(((1 << width) - (1 << bits)) << self.shift)
        with m.If(self.enable):
            m.d.comb += [
                total.eq(self.sum + self.bias),
                doubled.eq(total << 1),
                negative.eq(total < 0),
                low.eq(doubled >> self.shift),
                outside.eq(((doubled ^ negative.replicate(width)) & beyond).any()),
                rounded.eq((low + 1) >> 1),
            ]
            with m.If(negative):
                m.d.comb += self.value.eq(Mux(self.relu, 0, Mux(outside, 1 << (bits - 1), rounded)))
            with m.Elif(outside | (low[:bits] > (self.ceiling << 1))):
                m.d.comb += self.value.eq(self.ceiling)
            with m.Else():
                m.d.comb += self.value.eq(rounded)
        return m
