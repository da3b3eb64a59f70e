"""Scaled sums of a stage: a multiplier and a shift for each output channel, which come with its bias, or for all."""

from amaranth.hdl import Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, MULTIPLIER_BITS, SCALED
from hwgen.gateware.lib.rounding import beyond
from hwgen.gateware.lib.scaling import LOW_BITS, PRODUCT_BITS, SUM_BITS, Scaling, below_half

__all__ = ["RECORD", "ChannelScaling", "delayed", "scaled_ports"]

RECORD = data.StructLayout(
    {
        "bias": signed(32),
        "multiplier": MULTIPLIER_BITS,
        "shift": CHANNEL_SHIFT_BITS,
        "twice": 1,
        "unused": 32 - MULTIPLIER_BITS - CHANNEL_SHIFT_BITS - 1,
    }
)
"""What an output channel brings along, as `hwgen.arch.requantisation.bias_records` lays it out."""


def scaled_ports() -> dict[str, wiring.Member]:
    """A port for each setting of `hwgen.arch.requantisation.SCALED`."""
    return {setting.name: In(setting.width) for setting in SCALED}


def delayed(m: Module, advance: Value, value: Value, registers: int, name: str) -> Value:
    """A value that passes a number of registers, all of which advance together."""
    for number in range(registers):
        later = Signal.like(value, name=f"{name}_{number}")
        with m.If(advance):
            m.d.sync += later.eq(value)
        value = later
    return value


class ChannelScaling(wiring.Component):
    """`Scaling`, and the registers in which the scale of a sum waits for its products.

    Members
    -------
    advance : In(1)
        Every stage takes what the one before has.
    total : In(signed(33))
    multiplier, shift, twice : In
        Of the same sum, in the same cycle.
    zero_out, low, high : In(8)
        In two's complement.
    value : Out(signed(8))
        The output, `hwgen.arch.latency.PIPELINE_SCALING` stages later.
    """

    advance: In(1)
    total: In(signed(SUM_BITS))
    multiplier: In(MULTIPLIER_BITS)
    shift: In(CHANNEL_SHIFT_BITS)
    twice: In(1)
    zero_out: In(8)
    low: In(8)
    high: In(8)
    value: Out(signed(8))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.scaling = scaling = Scaling()
        shifts = [Signal(CHANNEL_SHIFT_BITS, name=f"shift_{stage}", reset_less=True) for stage in range(2)]
        twice = Signal(reset_less=True)
        above, below = Signal(PRODUCT_BITS + 1, reset_less=True), Signal(PRODUCT_BITS, reset_less=True)
        m.d.comb += [
            scaling.advance.eq(self.advance),
            scaling.total.eq(self.total),
            scaling.multiplier.eq(self.multiplier),
            scaling.twice.eq(twice),
            scaling.shift.eq(shifts[1]),
            scaling.beyond.eq(above),
            scaling.below.eq(below),
            *(getattr(scaling, name).eq(getattr(self, name)) for name in ("zero_out", "low", "high")),
            self.value.eq(scaling.value),
        ]
        with m.If(self.advance):
            m.d.sync += [
                shifts[0].eq(self.shift),
                shifts[1].eq(shifts[0]),
                twice.eq(self.twice),
                above.eq(beyond(shifts[0], LOW_BITS, PRODUCT_BITS)),
                below.eq(below_half(shifts[0], twice)),
            ]
        return m
