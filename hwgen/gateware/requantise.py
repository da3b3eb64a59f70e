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
        lowest = -(1 << (self._bits - 1))
        # The sum is shifted right by one bit less than asked; the last bit rounds.
        total = Signal(signed(self._sum_bits + 1))
        doubled = Signal(signed(self._sum_bits + 2))
        rounded = Signal(signed(self._sum_bits + 2))
        with m.If(self.enable):
            m.d.comb += [
                total.eq(self.sum + self.bias),
                doubled.eq((total << 1) >> self.shift),
                rounded.eq(Mux(self.shift == 0, total, (doubled + 1) >> 1)),
            ]
            with m.If((rounded < 0) & self.relu):
                m.d.comb += self.value.eq(0)
            with m.Elif(rounded < lowest):
                m.d.comb += self.value.eq(lowest)
            with m.Elif(rounded > self.ceiling):
                m.d.comb += self.value.eq(self.ceiling)
            with m.Else():
                m.d.comb += self.value.eq(rounded)
        return m
