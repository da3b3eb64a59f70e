"""Writes the input's words into its memory, columns of one stride phase side by side."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.byte_memory import WRITES
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import in_bytes
from hwgen.gateware.stride import phase_base, quotient_and_phase, times_stride

__all__ = ["InputFill", "input_place", "is_one_phase"]


def input_place(parameters: HwcParameters) -> data.StructLayout:
    """Where a word's columns go: the byte of the ring for its first column at phase 0, its phase, and the used bytes;
    whether these are of one phase.

    The byte is negative where a line begins behind the word's first byte, at the beginning of the ring.
    """
    flat = (parameters.input_elements - 1).bit_length() + 1
    return data.StructLayout({"address": signed(flat), "phase": 2, "enable": 4, "single": 1})


def is_one_phase(used: Value, stride: Value, wide: Value | None) -> Value:
    """Whether the used bytes of a word, of which there are some, are columns of one stride phase."""

    def any_pair(distance: int) -> Value:
        return Cat(used[b] & used[b + distance] for b in range(4 - distance)).any()

    several = (
        (any_pair(1) & (stride != 1))
        | (any_pair(2) & ((stride == 3) | (stride == 4)))
        | (any_pair(3) & ((stride == 2) | (stride == 4)))
    )
    return ~several if wide is None else ~Mux(wide, used[:2].any() & used[2:].any() & (stride != 1), several)


class InputFill(wiring.Component):
    """Takes as many cycles for a word as it has stride phases: the columns of one phase are consecutive elements.

    They are written a cycle after they have been worked out. That is in time: between the cycle in which a box is
    known to be complete and the one in which it is read lies another one.

    Members
    -------
    stride_x, input_phase_1, input_phase_2, input_phase_3, wide : In
        The settings of these names; the last one where there is one.
    expected : In(1)
        ``i_word.payload.place`` is right, whether or not the word has come.
    i_word : In(stream)
        A word with its `input_place`; its data follow a cycle after it was seen.
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
                "expected": In(1),
                "i_word": In(stream.Signature(word)),
                "address": Out(flat),
                "enable": Out(WRITES),
                "data": Out(data.ArrayLayout(8, WRITES)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, elements = self.parameters, self.parameters.input_elements
        place = self.i_word.payload.place
        left, taken, lowest = Signal(4), Signal(4), Signal(2)
        # Of a word that has been begun: the bytes that are left.
        begun, rest = Signal(), Signal(4)
        # What is written in the next cycle: from which byte of the word on, which bytes, and where to.
        first, enable, element = Signal(2), Signal(WRITES), Signal(signed(len(self.address) + 1))
        single = is_one_phase(rest, self.stride_x, self.wide if p.wide else None)
        m.d.comb += self.i_word.ready.eq(Mux(begun, single, place.single))
        m.d.sync += enable.eq(0)
        # Most cycles write nothing: a simulator passes over the rest then. Whether the word has come is known late.
        with m.If(self.expected):
            m.d.comb += left.eq(Mux(begun, rest, place.enable))
            for byte in reversed(range(4)):
                with m.If(left[byte]):
                    m.d.comb += lowest.eq(byte)
            m.d.sync += first.eq(lowest)
            for byte in reversed(range(4)):
                # Where it goes if it is the lowest one, which is known later than that.
                column = Mux(self.wide, byte >> 1, byte) if p.wide else byte
                quotient, phase = quotient_and_phase(m, place.phase + column, self.stride_x, f"byte_{byte}")
                with m.If(left[byte] & ~left[:byte].any()):
                    m.d.sync += element.eq(place.address + in_bytes(p, self, quotient) + phase_base(self, phase))
            for i in range(WRITES):
                position = self._position(lowest, i)
                with m.If(position < 4):
                    m.d.comb += taken.bit_select(position[:2], 1).eq(1)
                    m.d.sync += enable[i].eq(self.i_word.valid & left.bit_select(position[:2], 1))
            with m.If(self.i_word.valid):
                m.d.sync += [begun.eq(~self.i_word.ready), rest.eq(left & ~taken)]
        with m.If(enable.any()):
            m.d.comb += [
                self.enable.eq(enable),
                self.address.eq(Mux(element >= elements, element - elements, element)),
                *(
                    self.data[i].eq(self.i_word.payload.data.word_select(self._position(first, i)[:2], 8))
                    for i in range(WRITES)
                ),
            ]
        return m

    def _position(self, first: Value, number: int) -> Value:
        """The byte of the word that is written as so many-th, if the word is that long."""
        distance: ValueLike = times_stride(number, self.stride_x) if number else 0
        if self.parameters.wide:
            distance = Mux(self.wide, (times_stride(number // 2, self.stride_x) << 1) + number % 2, distance)
        return (first + distance)[:4]
