"""Requantisation of a 32-bit sum to an 8-bit output: bias, rounding shift, ReLU, clip to a ceiling."""

from typing import Any

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.requantisation import HALF_UP, clip_settings
from hwgen.gateware.lib.rounding import ROUNDERS, RoundingShift, beyond, rest_bits

__all__ = ["Clip", "Requantise", "clip_ports", "connected_clip"]


class Requantise(wiring.Component):
    """``v = sum + bias``; shift right arithmetically, with rounding; ReLU; clip.

    The upper bound of the clip is ``ceiling``: with ReLU, a clipped ReLU.

    Nothing wraps: the intermediate values are wide enough for every sum and bias. Combinational.

    Parameters
    ----------
    bits
        Width of the output.
    sum_bits, shift_bits
        Widths of the sum, at least 32, and of the shift.
    rounding
        How the shift rounds.

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

    def __init__(self, *, bits: int = 8, sum_bits: int = 32, shift_bits: int = 5, rounding: str = HALF_UP) -> None:
        self._bits, self._sum_bits, self._rounding = bits, sum_bits, rounding
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
        m.submodules.rounding = rounding = RoundingShift(
            bits=self._bits, sum_bits=width, shift_bits=len(self.shift), rounding=self._rounding
        )
        m.submodules.clip = clip = Clip(bits=self._bits, rounding=self._rounding)
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


class Clip(wiring.Component):
    """The second half: rounds, halves below the range to its end; ReLU; clips. Combinational.

    Members
    -------
    enable : In(1)
        The value is used.
    rest : In(rest_bits(bits))
        From `RoundingShift`.
    relu : In(1)
    ceiling : In(bits - 1)
    value : Out(signed(bits))
    """

    def __init__(self, *, bits: int = 8, rounding: str = HALF_UP) -> None:
        self._bits, self._rounder = bits, ROUNDERS[rounding]
        super().__init__(
            {"enable": In(1), "rest": In(rest_bits(bits, rounding)), **clip_ports(bits), "value": Out(signed(bits))}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bits = self._bits
        # Inside the range, the sign is the most significant remaining bit.
        low, negative, outside = self.rest[: bits + 1], self.rest[bits], self.rest[bits + 1]
        rounded = Signal(bits)
        with m.If(self.enable):
            carry = self._rounder.carry(low, negative, self.rest[bits + 2 :])
            m.d.comb += rounded.eq((low + carry) >> 1)
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
