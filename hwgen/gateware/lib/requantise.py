"""Requantisation of a 32-bit sum to an 8-bit output: bias, rounding shift, ReLU, clip to a ceiling."""

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.requantisation import clip_settings

__all__ = ["Clip", "Requantise", "RoundingShift", "beyond", "clip_ports", "connected_clip"]


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
        The value is used (otherwise it is undefined).
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
                **clip_ports(bits),
                "value": Out(signed(bits)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        width = self._sum_bits + 1
        m.submodules.rounding = rounding = RoundingShift(bits=self._bits, sum_bits=width, shift_bits=len(self.shift))
        m.submodules.clip = clip = Clip(bits=self._bits)
        m.d.comb += rounding.beyond.eq(beyond(self.shift, self._bits, width))
        with m.If(self.enable):
            m.d.comb += rounding.sum.eq(self.sum + self.bias)
        m.d.comb += [
            rounding.enable.eq(self.enable),
            rounding.shift.eq(self.shift),
            clip.enable.eq(self.enable),
            clip.rest.eq(rounding.rest),
            *connected_clip(clip, self),
            self.value.eq(clip.value),
        ]
        return m


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
    rest : Out(bits + 2)
        Input of `Clip`: the low bits, the sign, and whether a bit above the output differs from the sign.
    """

    def __init__(self, *, bits: int = 8, sum_bits: int = 32, shift_bits: int = 5) -> None:
        self._bits, self._width = bits, sum_bits + 1
        super().__init__(
            {
                "enable": In(1),
                "sum": In(signed(sum_bits)),
                "shift": In(shift_bits),
                "beyond": In(sum_bits + 1),
                "rest": Out(bits + 2),
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
                self.rest.eq(Cat(low, negative, outside)),
            ]
        return m


class Clip(wiring.Component):
    """The second half: rounds, halves below the range to its end; ReLU; clips. Combinational.

    Members
    -------
    enable : In(1)
        The value is used.
    rest : In(bits + 2)
        From `RoundingShift`.
    relu : In(1)
    ceiling : In(bits - 1)
    value : Out(signed(bits))
    """

    def __init__(self, *, bits: int = 8) -> None:
        self._bits = bits
        super().__init__(
            {
                "enable": In(1),
                "rest": In(bits + 2),
                **clip_ports(bits),
                "value": Out(signed(bits)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bits = self._bits
        # Inside the range, the sign is the most significant remaining bit.
        low, negative, outside = self.rest[: bits + 1], self.rest[bits], self.rest[bits + 1]
        rounded = Signal(bits)
        with m.If(self.enable):
            m.d.comb += rounded.eq((low + 1) >> 1)
            with m.If(negative):
                m.d.comb += self.value.eq(Mux(self.relu, 0, Mux(outside, 1 << (bits - 1), rounded)))
            with m.Elif(outside | (low[:bits] > (self.ceiling << 1))):
                m.d.comb += self.value.eq(self.ceiling)
            with m.Else():
                m.d.comb += self.value.eq(rounded)
        return m


def clip_ports(bits: int = 8) -> dict[str, wiring.Member]:
    """A port for each setting of the clip of outputs of ``bits`` bits."""
    return {setting.name: In(setting.width) for setting in clip_settings(bits)}


def connected_clip(unit: object, settings: object) -> list[Any]:
    """The assignments that give a unit's clip the settings of the same names."""
    return [getattr(unit, setting.name).eq(getattr(settings, setting.name)) for setting in clip_settings()]


def beyond(shift: Value, bits: int, sum_bits: int) -> Value:
    """The bits of a doubled sum that are above the output after the shift."""
    width = sum_bits + 1
    return (Const((1 << width) - (1 << bits), width) << shift)[:width]
