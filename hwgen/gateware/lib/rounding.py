"""A shift to the right that rounds, in two halves around a register: a class for each way of rounding."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from amaranth.hdl import C, Cat, Const, Module, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.requantisation import HALF_UP

__all__ = ["ROUNDERS", "Rounder", "RoundingShift", "beyond", "rest_bits"]


class Rounder(ABC):
    """The hardware of one `hwgen.ir.requantisation.Rounding`.

    Members
    -------
    bits : of the sum that its second half needs, beside the low bits and the sign.
    """

    bits = 0

    def seen(self, doubled: Value, shift: Value) -> Value:
        """These bits, of the doubled sum before it is shifted."""
        return Const(0, 0)

    @abstractmethod
    def carry(self, low: Value, negative: Value, seen: Value) -> Value:
        """What is added to the low bits, the last of which is dropped then: one bit."""


class HalfUp(Rounder):
    """Halves go up."""

    def carry(self, low: Value, negative: Value, seen: Value) -> Value:
        return C(1)


ROUNDERS: Mapping[str, Rounder] = {HALF_UP: HalfUp()}
"""The hardware of each way of rounding, by its name."""


def rest_bits(bits: int, rounding: str = HALF_UP) -> int:
    """Bits of ``rest`` of a `RoundingShift` to outputs of ``bits`` bits."""
    return bits + 2 + ROUNDERS[rounding].bits


class RoundingShift(wiring.Component):
    """The first half: shifts right by one bit less than ``shift``, so that the last bit rounds. Combinational.

    Members
    -------
    enable : In(1)
        The result is used.
    sum : In(signed(sum_bits))
    shift : In(shift_bits)
    beyond : In(sum_bits + 1)
        For this shift, as `beyond` gives it.
    rest : Out(rest_bits(bits))
        Input of what clips: the low bits, the sign, whether a bit above the output differs from the sign, and what
        the way of rounding needs besides.
    """

    def __init__(self, *, bits: int = 8, sum_bits: int = 32, shift_bits: int = 5, rounding: str = HALF_UP) -> None:
        self._bits, self._width, self._rounder = bits, sum_bits + 1, ROUNDERS[rounding]
        super().__init__(
            {
                "enable": In(1),
                "sum": In(signed(sum_bits)),
                "shift": In(shift_bits),
                "beyond": In(sum_bits + 1),
                "rest": Out(rest_bits(bits, rounding)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        doubled, negative = Signal(signed(self._width)), Signal()
        low, outside = Signal(self._bits), Signal()
        with m.If(self.enable):
            m.d.comb += [
                doubled.eq(self.sum << 1),
                negative.eq(self.sum < 0),
                low.eq(doubled >> self.shift),
                outside.eq(((doubled ^ negative.replicate(self._width)) & self.beyond).any()),
                self.rest.eq(Cat(low, negative, outside, self._rounder.seen(doubled, self.shift))),
            ]
        return m


def beyond(shift: Value, bits: int, sum_bits: int) -> Value:
    """The bits of a doubled sum that are above the output after the shift."""
    width = sum_bits + 1
    return (Const((1 << width) - (1 << bits), width) << shift)[:width]
