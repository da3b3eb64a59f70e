"""Writes the input's words into its memory, columns of one stride phase side by side."""

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value, ValueLike, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.settings import in_bytes
from hwgen.gateware.lib.stride import phase_base, quotient_and_phase, times_stride

__all__ = ["InputFill", "input_place", "is_one_phase"]


def input_place(parameters: HwcParameters) -> data.StructLayout:
    """Where a word's columns go: the byte of the ring for its first column at phase 0, its phase, and the used bytes;
    whether these are of one phase; with lanes along c, in which of their memories.

    The byte is negative where a line begins behind the word's first byte, at the beginning of the ring.
    """
    flat = (parameters.input_elements - 1).bit_length() + 1
    lanes = parameters.lanes.c
    channel_lane = {"channel_lane": (lanes - 1).bit_length()} if lanes > 1 else {}
    return data.StructLayout({"address": signed(flat), "phase": 2, "enable": 4, "single": 1, **channel_lane})


def is_one_phase(used: Value, stride: Value, wide: Value | None) -> Value:
    """Whether the used bytes of a word, of which there are some, are columns of one stride phase."""

    def any_pair(distance: int) -> Value:
        return Cat(used[b] & used[b + distance] for b in range(4 - distance)).any()

    code = stride[:2]
    several = (
        (any_pair(1) & (code != 1))
        | (any_pair(2) & ((code == 3) | (code == 0)))
        | (any_pair(3) & ((code == 2) | (code == 0)))
    )
    return ~several if wide is None else ~Mux(wide, used[:2].any() & used[2:].any() & (code != 1), several)


class _Run:
    """Bytes of a word that become consecutive elements: the first one, and which there are; the place of the word's
    first column at phase 0, and that column's phase."""

    def __init__(self, line: ShapeLike, channel_lanes: int) -> None:
        self.first, self.enable = Signal(2), Signal(WORD_BYTES)
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
    channel_lane : Out
        With lanes along c: in which of their memories.
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
                "enable": Out(WORD_BYTES),
                "data": Out(data.ArrayLayout(8, WORD_BYTES)),
                **({"channel_lane": Out(range(parameters.lanes.c))} if parameters.lanes.c > 1 else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        place = self.i_word.payload.place
        left, taken, lowest = Signal(4), Signal(4), Signal(2)
        # Of a word that has been begun: the bytes that are left.
        begun, rest = Signal(), Signal(4)
        single = is_one_phase(rest, self.stride_x, self.wide if p.wide else None)
        m.d.comb += self.i_word.ready.eq(Mux(begun, single, place.single))
        run = _Run(place.address.shape(), p.lanes.c)
        m.d.sync += run.enable.eq(0)
        # Most cycles write nothing: a simulator passes over the rest then. Whether the word has come is known late.
        with m.If(self.expected):
            m.d.comb += left.eq(Mux(begun, rest, place.enable))
            for byte in reversed(range(4)):
                with m.If(left[byte]):
                    m.d.comb += lowest.eq(byte)
            m.d.sync += [run.first.eq(lowest), run.line.eq(place.address), run.phase.eq(place.phase)]
            if p.lanes.c > 1:
                m.d.sync += run.channel_lane.eq(place.channel_lane)
            for i in range(WORD_BYTES):
                position = self._position(lowest, i)
                with m.If(position < 4):
                    m.d.comb += taken.bit_select(position[:2], 1).eq(1)
                    m.d.sync += run.enable[i].eq(self.i_word.valid & left.bit_select(position[:2], 1))
            with m.If(self.i_word.valid):
                m.d.sync += [begun.eq(~self.i_word.ready), rest.eq(left & ~taken)]
        self._write(m, *self._place(m, run))
        return m

    def _place(self, m: Module, run: _Run) -> tuple[Signal, Signal]:
        """Where a run goes, modulo the ring, two cycles later: which bytes there are, and which the first one is."""
        p, elements = self.parameters, self.parameters.input_elements
        placed = _Run(run.line.shape(), p.lanes.c)
        quotient, base = Signal(3), Signal.like(self.input_phase_1)
        enable, first = Signal(WORD_BYTES), Signal(2)
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
            element = placed.line + in_bytes(p, self, quotient) + base
            wrapped = placed.line + in_bytes(p, self, quotient) + base - elements
            m.d.sync += [
                first.eq(placed.first),
                self.address.eq(Mux(wrapped < 0, element, wrapped)),
            ]
            if p.lanes.c > 1:
                m.d.sync += self.channel_lane.eq(placed.channel_lane)
        return enable, first

    def _write(self, m: Module, enable: Signal, first: Signal) -> None:
        """The bytes of a run, of the word that is seen now."""
        with m.If(enable.any()):
            m.d.comb += self.enable.eq(enable)
            for i in range(WORD_BYTES):
                position = self._position(first, i)[:2]
                m.d.comb += self.data[i].eq(self.i_word.payload.data.word_select(position, 8))

    def _position(self, first: Value, number: int) -> Value:
        """The byte of the word that is written as so many-th, if the word is that long."""
        distance: ValueLike = times_stride(number, self.stride_x) if number else 0
        if self.parameters.wide:
            distance = Mux(self.wide, (times_stride(number // 2, self.stride_x) << 1) + number % 2, distance)
        return (first + distance)[:4]
