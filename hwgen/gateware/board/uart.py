"""A serial line of 8 data bits without parity: what receives bytes, and what sends them."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from hwgen.arch.serial import DIVISOR_BITS

__all__ = ["UartReceiver", "UartTransmitter"]

DATA_BITS = 8


class UartReceiver(wiring.Component):
    """A receiver: each bit is sampled in its middle. Bytes are not kept, so whoever takes them is always ready.

    Members
    -------
    divisor : In
        Cycles of a bit, at least 4; constant while a byte comes.
    line : In(1)
        From the pad; 1 at rest. It is brought into the clock domain here.
    o_byte : Out(stream), always ready
    broken : Out(1)
        A pulse: there was a 0 where a stop bit belongs, as in a break. The byte is dropped.
    """

    divisor: In(DIVISOR_BITS)
    line: In(1)
    o_byte: Out(stream.Signature(DATA_BITS, always_ready=True))
    broken: Out(1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchronise = FFSynchronizer(self.line, line, init=1)
        left = Signal(DIVISOR_BITS)
        number = Signal(range(DATA_BITS))
        bits = Signal(DATA_BITS)
        m.d.comb += self.o_byte.payload.eq(bits)
        m.d.sync += left.eq(left - 1)
        with m.FSM():
            with m.State("Idle"):
                m.d.sync += [left.eq((self.divisor >> 1) - 1), number.eq(0)]
                with m.If(~line):
                    m.next = "Start"
            with m.State("Start"), m.If(left == 0):
                m.d.sync += left.eq(self.divisor - 1)
                with m.If(line):
                    m.next = "Idle"
                with m.Else():
                    m.next = "Data"
            with m.State("Data"), m.If(left == 0):
                m.d.sync += [left.eq(self.divisor - 1), bits.eq(Cat(bits[1:], line)), number.eq(number + 1)]
                with m.If(number == DATA_BITS - 1):
                    m.next = "Stop"
            with m.State("Stop"), m.If(left == 0):
                m.d.comb += [self.o_byte.valid.eq(line), self.broken.eq(~line)]
                with m.If(line):
                    m.next = "Idle"
                with m.Else():
                    m.next = "Break"
            with m.State("Break"), m.If(line):
                m.next = "Idle"
        return m


class UartTransmitter(wiring.Component):
    """A transmitter of one byte after the other.

    Members
    -------
    divisor : In
        Cycles of a bit, at least 1; constant while a byte is sent.
    i_byte : In(stream)
    line : Out(1)
        To the pad; 1 at rest.
    """

    divisor: In(DIVISOR_BITS)
    i_byte: In(stream.Signature(DATA_BITS))
    line: Out(1, init=1)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        left = Signal(DIVISOR_BITS)
        # Start bit, data and stop bit. The line is the lowest one; ones follow the last.
        frame = Signal(DATA_BITS + 2, init=~0)
        number = Signal(range(DATA_BITS + 3))
        m.d.comb += [self.line.eq(frame[0]), self.i_byte.ready.eq(number == 0)]
        with m.If(number == 0):
            m.d.sync += left.eq(self.divisor - 1)
            with m.If(self.i_byte.valid):
                m.d.sync += [frame.eq(Cat(0, self.i_byte.payload, 1)), number.eq(DATA_BITS + 2)]
        with m.Elif(left == 0):
            m.d.sync += [left.eq(self.divisor - 1), frame.eq(Cat(frame[1:], 1)), number.eq(number - 1)]
        with m.Else():
            m.d.sync += left.eq(left - 1)
        return m
