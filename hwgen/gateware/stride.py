"""Arithmetic with a stride of 1 to 4: no multiplier, no divider."""

from amaranth.hdl import Array, Const, Module, Mux, Signal, Value

__all__ = ["quotient_and_phase", "times_stride"]


def times_stride(value: Value, stride: Value) -> Value:
    """``value * stride`` for a stride of 1 to 4."""
    return Mux(stride == 1, value, Mux(stride == 2, value << 1, Mux(stride == 3, value + (value << 1), value << 2)))


def quotient_and_phase(m: Module, value: Value, stride: Value, name: str) -> tuple[Value, Value]:
    """``divmod(value, stride)`` for a value of 0 to 7 and a stride of 1 to 4, as a table."""
    quotient, phase = Signal(3, name=f"{name}_quotient"), Signal(2, name=f"{name}_phase")
    for signal, part in ((quotient, 0), (phase, 1)):
        by_stride = [Array(Const(divmod(v, s)[part], signal.shape()) for v in range(8)) for s in (1, 2, 3, 4)]
        with m.Switch(stride):
            for s, table in enumerate(by_stride, start=1):
                with m.Case(s):
                    m.d.comb += signal.eq(table[value])
    return quotient, phase
