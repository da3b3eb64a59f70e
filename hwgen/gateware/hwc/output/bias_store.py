"""Biases that stay in the HWC for later tiles."""

from amaranth.hdl import C, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import PORT_ISSUE, REQUEST_TO_ANSWER

__all__ = ["BiasStore"]


class BiasStore(wiring.Component):
    """A small memory of biases, or of records: each one's place is its channel modulo the size.

    It answers as late as the shared memory would that grants every request at once. So a bias that is kept costs no
    access, and the output's stream takes the same time with it and without.

    Parameters
    ----------
    parameters
        What the HWC is generated for; with at least two biases.

    Members
    -------
    start : In(1)
        What follows are biases of consecutive channels from ``channel`` on, word by word.
    channel : In
    write : In(1)
        Keep ``data`` as the next bias.
    data : In(32)
    read : In(1)
        The next bias is wanted: a step of the port asks for it.
    answers : Out(1), answer : Out(32)
        It has come.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self._words = parameters.record_words * parameters.bias_words
        super().__init__(
            {
                "start": In(1),
                "channel": In(parameters.position_bits),
                "write": In(1),
                "data": In(32),
                "read": In(1),
                "answers": Out(1),
                "answer": Out(32),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=32, depth=self._words, init=[])
        write, read = memory.write_port(), memory.read_port()
        place, asked = Signal(range(self._words)), Signal(PORT_ISSUE + self.parameters.scaling + REQUEST_TO_ANSWER)
        m.d.comb += [
            write.en.eq(self.write),
            write.addr.eq(place),
            write.data.eq(self.data),
            read.en.eq(asked[-2]),
            read.addr.eq(place),
            self.answers.eq(asked[-1]),
            self.answer.eq(read.data),
        ]
        m.d.sync += asked.eq(Cat(self.read, asked[:-1]))
        with m.If(self.start):
            m.d.sync += place.eq(Cat(C(0, self.parameters.record_words - 1), self.channel))
        with m.Elif(self.write | asked[-2]):
            m.d.sync += place.eq(place + 1)
        return m
