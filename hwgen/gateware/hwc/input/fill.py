"""Writes the input's words into its memory, columns of one stride phase side by side."""

from collections.abc import Callable
from itertools import combinations

from amaranth.hdl import C, Cat, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.settings import bytes_in_ring
from hwgen.gateware.lib.stride import phase_base, quotient_and_phase, residue

__all__ = ["InputFill", "input_place", "is_one_phase"]


def input_place(parameters: HwcParameters) -> data.StructLayout:
    """Where a word's columns go: the byte of the ring for its first column at phase 0, its phase, and the used bytes;
    whether these are of one phase; with lanes along c, in which of their memories.

    The byte is negative where a line begins after the word's first byte, at the beginning of the ring.
    """
    flat = (parameters.input_elements - 1).bit_length() + 1
    lanes = parameters.lanes.c
    channel_lane = {"channel_lane": (lanes - 1).bit_length()} if lanes > 1 else {}
    return data.StructLayout(
        {"address": signed(flat), "phase": 2, "enable": parameters.ports.input_bytes, "single": 1, **channel_lane}
    )


def is_one_phase(used: Value, stride: Value, wide: Value | None) -> Value:
    """Whether the used bytes of a word, of which there are some, are columns of one stride phase."""

    def of_several(columns: list[Value], number: int) -> Value:
        phases = [Cat(columns[phase::number]).any() for phase in range(number)]
        return Cat(one & other for one, other in combinations(phases, 2)).any()

    def several(columns: list[Value]) -> Value:
        code = stride[:2]
        by_stride = [of_several(columns, number) for number in (2, 3, 4)]
        return Mux(code == 1, 0, Mux(code == 2, by_stride[0], Mux(code == 3, by_stride[1], by_stride[2])))

    bytes_ = list(used)
    if wide is None:
        return ~several(bytes_)
    halves = [used[b : b + 2].any() for b in range(0, len(used), 2)]
    return ~Mux(wide, several(halves), several(bytes_))


class _Run:
    """Bytes of a word that become consecutive elements: the first one, and which there are; the place of the word's
    first column at phase 0, and that column's phase."""

    def __init__(self, line: ShapeLike, channel_lanes: int, word: int) -> None:
        self.first, self.enable = Signal(range(word)), Signal(word)
        self.channel_lane = Signal(range(max(channel_lanes, 2)))
        self.line, self.phase = Signal(line), Signal(2)


class InputFill(wiring.Component):
    """Takes as many cycles for a word as it has stride phases: the columns of one phase are consecutive elements.

    Where they go takes three cycles; they are written in the fourth one.

    Members
    -------
    stride_x, input_phase_1, input_phase_2, input_phase_3, wide : In
        The settings of these names; the last one where there is one.
    expected : In(1)
        ``i_word.payload.place`` is right, whether or not the word has come.
    i_word : In(stream)
        A word with its `input_place`; its data follow three cycles after it was seen.
    address, enable, data : Out
        To the memory: consecutive elements from ``address``.
    upper : Out
        To the memories of odd lanes along c, where 16-bit operands take two lanes: the upper bytes of such elements,
        of which ``data`` has the lower ones; else as ``data``.
    channel_lane : Out
        With lanes along c: in which of their memories.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        flat = (parameters.input_elements - 1).bit_length() + 1
        self._word = parameters.ports.input_bytes
        word = data.StructLayout({"data": parameters.ports.I, "place": input_place(parameters)})
        super().__init__(
            {
                "stride_x": In(3),
                **({"wide": In(1)} if parameters.wide else {}),
                **{f"input_phase_{i}": In(flat) for i in (1, 2, 3)},
                "expected": In(1),
                "i_word": In(stream.Signature(word)),
                "address": Out(flat),
                "enable": Out(self._word),
                "data": Out(data.ArrayLayout(8, self._word)),
                **({"upper": Out(data.ArrayLayout(8, self._word))} if parameters.byte_planes else {}),
                **({"channel_lane": Out(range(parameters.lanes.c))} if parameters.lanes.c > 1 else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        place = self.i_word.payload.place
        left, taken, lowest = Signal(self._word), Signal(self._word), Signal(range(self._word))
        # Of a word that has been begun: the bytes that are left.
        begun, rest = Signal(), Signal(self._word)
        single = is_one_phase(rest, self.stride_x, self.wide if p.wide else None)
        m.d.comb += self.i_word.ready.eq(Mux(begun, single, place.single))
        run = _Run(place.address.shape(), p.lanes.c, self._word)
        m.d.sync += run.enable.eq(0)
        # Most cycles write nothing: a simulator passes over the rest then. Whether the word has come is known late.
        with m.If(self.expected):
            m.d.comb += left.eq(Mux(begun, rest, place.enable))
            for byte in reversed(range(self._word)):
                with m.If(left[byte]):
                    m.d.comb += lowest.eq(byte)
            m.d.sync += [run.first.eq(lowest), run.line.eq(place.address), run.phase.eq(place.phase)]
            if p.lanes.c > 1:
                m.d.sync += run.channel_lane.eq(place.channel_lane)
            column = Mux(self.wide, lowest >> 1, lowest) if p.wide else lowest
            _, phase = quotient_and_phase(m, column, self.stride_x, "lowest")
            m.d.comb += taken.eq(Cat(self._phase_of(byte) == phase for byte in range(self._word)))
            m.d.sync += run.enable.eq(Mux(self.i_word.valid, self._picked(left, 1, lowest), 0))
            with m.If(self.i_word.valid):
                m.d.sync += [begun.eq(~self.i_word.ready), rest.eq(left & ~taken)]
        self._write(m, *self._place(m, run))
        return m

    def _place(self, m: Module, run: _Run) -> tuple[Signal, Signal]:
        """Where a run goes, modulo the ring, two cycles later: which bytes there are, and which the first one is."""
        p, elements = self.parameters, self.parameters.input_elements
        placed = _Run(run.line.shape(), p.lanes.c, self._word)
        quotient, base = Signal(range(self._word + 4)), Signal.like(self.input_phase_1)
        enable, first = Signal(self._word), Signal(range(self._word))
        m.d.sync += [placed.enable.eq(run.enable), enable.eq(placed.enable)]
        with m.If(run.enable.any()):
            column = Mux(self.wide, run.first >> 1, run.first) if p.wide else run.first
            columns, phase = quotient_and_phase(m, run.phase + column, self.stride_x, "first")
            m.d.sync += [
                placed.first.eq(run.first),
                placed.line.eq(run.line),
                quotient.eq(columns),
                base.eq(phase_base(self, phase)),
            ]
            if p.lanes.c > 1:
                m.d.sync += placed.channel_lane.eq(run.channel_lane)
        with m.If(placed.enable.any()):
            element = placed.line + bytes_in_ring(p, self, quotient) + base
            wrapped = placed.line + bytes_in_ring(p, self, quotient) + base - elements
            m.d.sync += [first.eq(placed.first), self.address.eq(Mux(wrapped < 0, element, wrapped))]
            if p.lanes.c > 1:
                m.d.sync += self.channel_lane.eq(placed.channel_lane)
        return enable, first

    def _write(self, m: Module, enable: Signal, first: Signal) -> None:
        """The bytes of a run, of the word that is seen now."""
        with m.If(enable.any()):
            m.d.comb += self.enable.eq(enable)
            m.d.comb += self.data.eq(self._picked(self.i_word.payload.data, 8, first))
            if self.parameters.byte_planes:
                m.d.comb += self.upper.eq(self._picked(self.i_word.payload.data, 8, first, upper=True))

    def _phase_of(self, byte: int) -> Value:
        """The phase of a byte's column, counted from the word's first column, whose phase is taken to be 0."""
        narrow = residue(byte, self.stride_x)
        return Mux(self.wide, residue(byte // 2, self.stride_x), narrow) if self.parameters.wide else narrow

    def _picked(self, word: Value, bits: int, first: Value, *, upper: bool = False) -> Value:
        """A run of a word's fields, from that of the byte ``first`` on. Each byte has a field of ``bits`` bits.

        Where 16-bit operands take two lanes along c, that of their lower bytes alone, or of their ``upper`` ones.
        """
        shifted = word >> first if bits == 1 else word >> Cat(C(0, (bits - 1).bit_length()), first)
        code, wide = self.stride_x[:2], self.parameters.wide

        def chosen(apart: Callable[[int], int]) -> Value:
            parts = []
            for i in range(self._word):
                place = apart(i)
                parts.append(shifted.word_select(place, bits) if place < self._word else C(0, bits))
            return Cat(parts)

        def narrow(stride: int) -> Value:
            return chosen(lambda i: i * stride)

        def halves(stride: int) -> Value:
            if self.parameters.byte_planes:
                return chosen(lambda i: 2 * i * stride + upper)
            return chosen(lambda i: i // 2 * 2 * stride + i % 2)

        by_stride = [Mux(self.wide, halves(s), narrow(s)) if wide else narrow(s) for s in (1, 2, 3, 4)]
        return Mux(code == 1, by_stride[0], Mux(code == 2, by_stride[1], Mux(code == 3, by_stride[2], by_stride[3])))
