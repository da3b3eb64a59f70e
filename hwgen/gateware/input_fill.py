"""Writes the input's words into its memory, columns of one stride phase side by side."""

from amaranth.hdl import Module, Mux, Signal, ValueLike, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.byte_memory import WRITES
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import in_bytes
from hwgen.gateware.stride import phase_base, quotient_and_phase, times_stride

__all__ = ["InputFill", "input_place"]


def input_place(parameters: HwcParameters) -> data.StructLayout:
    """Where a word's columns go: the byte of the ring for its first column at phase 0, its phase, and the used bytes.

    The byte is negative where a line begins behind the word's first byte, at the beginning of the ring.
    """
    flat = (parameters.input_elements - 1).bit_length() + 1
    return data.StructLayout({"address": signed(flat), "phase": 2, "enable": 4})


class InputFill(wiring.Component):
    """Takes as many cycles for a word as it has stride phases: the columns of one phase are consecutive elements.

    Members
    -------
    stride_x, input_phase_1, input_phase_2, input_phase_3, wide : In
        The settings of these names; the last one where there is one.
    i_word : In(stream)
        A word with its `input_place`.
    address, enable, data : Out
        To the memory: consecutive elements from ``address``.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        flat = (parameters.input_elements - 1).bit_length() + 1
        word = data.StructLayout({"data": 32, "place": input_place(parameters)})
        super().__init__(
            {
                "stride_x": In(3),
                **({"wide": In(1)} if parameters.wide else {}),
                **{f"input_phase_{i}": In(flat) for i in (1, 2, 3)},
                "i_word": In(stream.Signature(word)),
                "address": Out(flat),
                "enable": Out(WRITES),
                "data": Out(data.ArrayLayout(8, WRITES)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, elements = self.parameters, self.parameters.input_elements
        place, word = self.i_word.payload.place, self.i_word.payload.data
        written, left, taken, lowest = Signal(4), Signal(4), Signal(4), Signal(2)
        m.d.comb += self.i_word.ready.eq((left & ~taken) == 0)
        # Most cycles write nothing: a simulator passes over the rest then.
        with m.If(self.i_word.valid):
            m.d.comb += left.eq(place.enable & ~written)
            for byte in reversed(range(4)):
                with m.If(left[byte]):
                    m.d.comb += lowest.eq(byte)
            column = Mux(self.wide, lowest >> 1, lowest) if p.wide else lowest
            quotient, phase = quotient_and_phase(m, place.phase + column, self.stride_x, "byte")
            element = Signal(signed(len(self.address) + 1))
            m.d.comb += [
                element.eq(place.address + in_bytes(p, self, quotient) + phase_base(self, phase)),
                self.address.eq(Mux(element >= elements, element - elements, element)),
            ]
            for i in range(WRITES):
                position = Signal(4, name=f"position_{i}")
                distance: ValueLike = times_stride(i, self.stride_x) if i else 0
                if p.wide:
                    distance = Mux(self.wide, (times_stride(i // 2, self.stride_x) << 1) + i % 2, distance)
                m.d.comb += position.eq(lowest + distance)
                with m.If(position < 4):
                    m.d.comb += [
                        self.enable[i].eq(left.bit_select(position[:2], 1)),
                        self.data[i].eq(word.word_select(position[:2], 8)),
                        taken.bit_select(position[:2], 1).eq(1),
                    ]
            m.d.sync += written.eq(Mux(self.i_word.ready, 0, written | taken))
        return m
