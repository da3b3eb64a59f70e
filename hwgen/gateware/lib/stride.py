"""Arithmetic with a stride of 1 to 4, encoded in two bits: no multiplier, no divider."""

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike

__all__ = ["divided", "phase_base", "quotient_and_phase", "residue", "split", "stepped", "times_stride"]


def times_stride(value: ValueLike, stride: Value) -> Value:
    """``value * stride`` for a stride of 1 to 4."""
    code = stride[:2]
    return Mux(code == 1, value, Mux(code == 2, value << 1, Mux(code == 3, value + (value << 1), value << 2)))


def divided(value: Value, stride: Value) -> Value:
    """``value // stride`` for a value below 2 ** 17 and a stride of 1 to 4."""
    code, third = stride[:2], (value * 43691) >> 17
    return Mux(code == 1, value, Mux(code == 2, value >> 1, Mux(code == 3, third, value >> 2)))


def quotient_and_phase(m: Module, value: Value, stride: Value, name: str) -> tuple[Signal, Signal]:
    """``divmod(value, stride)`` for a value of 0 to 255 and a stride of 1 to 4."""
    width = len(value)
    quotient, phase = Signal(width, name=f"{name}_quotient"), Signal(2, name=f"{name}_phase")
    code, thirds = stride[:2], (value >= 3) + (value >= 6) if width <= 3 else (value * 171) >> 9
    m.d.comb += [
        quotient.eq(Mux(code == 1, value, Mux(code == 2, value >> 1, Mux(code == 3, thirds, value >> 2)))),
        phase.eq(
            Mux(code == 1, 0, Mux(code == 2, value & 1, Mux(code == 3, value - thirds - (thirds << 1), value & 3)))
        ),
    ]
    return quotient, phase


def stepped(m: Module, phase: Value, by: tuple[Value, Value], stride: Value, name: str) -> tuple[Signal, Signal]:
    """``divmod(phase + columns, stride)`` for a phase below the stride and ``by``, the `split` of the columns."""
    ahead, within = by
    quotient, following = Signal(len(ahead) + 1, name=f"{name}_quotient"), Signal(2, name=f"{name}_phase")
    reached = Signal(3, name=f"{name}_reached")
    wraps = reached >= stride
    m.d.comb += [
        reached.eq(phase + within),
        following.eq(Mux(wraps, reached - stride, reached)),
        quotient.eq(ahead + wraps),
    ]
    return quotient, following


def split(number: int, stride: Value) -> tuple[Value, Value]:
    """``divmod(number, stride)`` for a stride of 1 to 4."""
    code, (whole, half, third, fourth) = stride[:2], (number // by for by in (1, 2, 3, 4))
    return Mux(code == 1, whole, Mux(code == 2, half, Mux(code == 3, third, fourth))), Value.cast(
        residue(number, stride)
    )


def residue(number: int, stride: Value) -> Value:
    """``number % stride`` for a stride of 1 to 4."""
    code, (by_two, by_three, by_four) = stride[:2], (number % of for of in (2, 3, 4))
    return Mux(code == 1, 0, Mux(code == 2, by_two, Mux(code == 3, by_three, by_four)))


def phase_base(settings: Value, phase: Value) -> Value:
    """The offset of the columns of a stride phase in a line of the input memory."""
    upper = Mux(phase[0], settings.input_phase_3, settings.input_phase_2)
    return Mux(phase[1], upper, Mux(phase[0], settings.input_phase_1, 0))
