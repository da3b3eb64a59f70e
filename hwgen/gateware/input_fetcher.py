"""Fetches the new rows of one box of the input after the other, one word a cycle."""

from amaranth.hdl import C, Module, Mux, Signal, Value, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.box_queue import WordQueue
from hwgen.gateware.input_fill import input_place
from hwgen.gateware.input_placer import input_box
from hwgen.gateware.params import WORD_BYTES, HwcParameters
from hwgen.gateware.settings import in_bytes, settings_signature
from hwgen.gateware.stride import quotient_and_phase, times_stride
from hwgen.gateware.tcdm import Request, read_request

__all__ = ["InputFetcher"]


class _Line:
    """The words of one channel of the row at hand; offsets count bytes of the row's slab."""

    def __init__(self, bits: int, flat: int) -> None:
        self.address, self.word_address = Signal(32), Signal(32)
        self.words_left, self.is_first = Signal(bits), Signal()
        self.end = Signal(flat)
        self.at, self.phase = Signal(signed(flat + 1)), Signal(2)


class _Box:
    """What does not change within a box, and what changes from row to row."""

    def __init__(self, bits: int, quotient: int, slot: int) -> None:
        self.channels, self.words = Signal(bits), Signal(bits)
        self.first, self.last = Signal(2), Signal(2)
        self.quotient, self.phase = Signal(signed(quotient)), Signal(2)
        self.gaps, self.kernel_columns = Signal(), Signal(2)
        self.row_gaps, self.kernel_rows = Signal(), Signal(2)
        self.rows_left, self.run_left = Signal(bits + 3), Signal(2)
        self.channels_left = Signal(bits)
        self.row_address, self.slot = Signal(32), Signal(slot)
        self.slid = Signal()


class InputFetcher(wiring.Component):
    """Row by row, channel by channel, word by word, without a pause between any of them, nor between two boxes.

    A row of all channels is a slab of the ring. A word is asked for as soon as there is room for its elements; with
    strides, whose phases lie apart, as soon as there is room for its line. Where columns slide, each line gets its
    new ones behind those that stay, in the places of what the next line had first: as soon as nobody needs that.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    i_box : In
        The next box. Taken with the last word of the one before, if not earlier.
    free : In
        Elements that are free in the ring.
    alone : In(1)
        There is nothing in the ring that belongs to another box. Where columns slide.
    claims : Out(1)
        Some of them are taken.
    claim : Out
        How many.
    o_request, i_response
        To the memory port.
    o_word : Out(stream)
        A word with its `input_place`.
    completes : Out(1)
        A box is complete.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        room = parameters.input_elements.bit_length()
        word = data.StructLayout({"data": 32, "place": input_place(parameters)})
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "i_box": In(input_box(parameters)),
                "free": In(room),
                **({"alone": In(1)} if parameters.columns_slide else {}),
                "claims": Out(1),
                "claim": Out(room),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "o_word": Out(stream.Signature(word)),
                "completes": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, bits, settings, incoming = self.parameters, self.parameters.position_bits, self.settings, self.i_box
        m.submodules.words = words = WordQueue(place=input_place(p), waits=True)
        connect(m, flipped(self.i_response), words.i_response)
        connect(m, words.o_word, flipped(self.o_word))
        box, line = _Box(bits, len(incoming.quotient), len(incoming.slot)), _Line(bits, len(settings.input_slab))
        active, room, empty = Signal(), Signal(), Signal()
        last_word, last_line, last_row, is_last = Signal(), Signal(), Signal(), Signal()
        goes, taken = Signal(), Signal()
        enable = Signal(WORD_BYTES)
        entry, request = words.i_entry, self.o_request
        m.d.comb += [
            incoming.ready.eq(Mux(active, goes & is_last & (incoming.rows != 0), (incoming.rows != 0) | entry.ready)),
            taken.eq(incoming.valid & incoming.ready),
            self.completes.eq(words.completes),
        ]
        with m.If(active):
            self._enable(m, box, line, last_word, enable)
            # The whole slab is claimed with its last word, also where the box has fewer channels than others. All
            # that may be needed is compared at once.
            fits = Mux(
                last_word & last_line,
                settings.input_slab <= self.free,
                Mux(last_word | (settings.stride_x != 1), line.end <= self.free, line.at + WORD_BYTES <= self.free),
            )
            m.d.comb += [
                last_word.eq(line.words_left == 0),
                last_line.eq(box.channels_left == 1),
                last_row.eq(box.rows_left == 1),
                is_last.eq(last_word & last_line & last_row),
                room.eq(Mux(box.slid, self.alone, fits) if p.columns_slide else fits),
                # Where columns have gaps, a word may have no used byte at all.
                empty.eq(enable == 0),
                goes.eq(room & entry.ready & (empty | request.ready)),
                request.valid.eq(room & entry.ready & ~empty),
                request.payload.eq(read_request(line.word_address, enable)),
                entry.valid.eq(room & Mux(empty, is_last, request.ready)),
                entry.payload.word.eq(~empty),
                entry.payload.end.eq(is_last),
                entry.payload.place.enable.eq(enable),
                entry.payload.place.phase.eq(line.phase),
                entry.payload.place.address.eq(self._wrapped(box.slot + line.at)),
            ]
        with m.Else():
            m.d.comb += [entry.valid.eq(taken & (incoming.rows == 0)), entry.payload.end.eq(1)]
        slab: Value = self.settings.input_slab
        if p.columns_slide:
            slab = Mux(box.slid, 0, slab)
        m.d.comb += self.claim.eq(slab)
        with m.If(goes):
            self._advance(m, box, line, last_word, last_line)
            with m.If(is_last):
                m.d.sync += active.eq(0)
        with m.If(taken):
            self._take(m, box, line)
            m.d.sync += active.eq(incoming.rows != 0)
        return m

    def _wrapped(self, element: Value) -> Value:
        """An element of the ring, which may lie up to once around behind its end."""
        elements = self.parameters.input_elements
        return Mux(element >= elements, element - elements, element)

    def _enable(self, m: Module, box: _Box, line: _Line, last_word: Signal, enable: Signal) -> None:
        """Which bytes of the word at hand are used."""
        whole = (1 << WORD_BYTES) - 1
        from_first, to_last = (C(whole, WORD_BYTES) << box.first)[:WORD_BYTES], ((C(2) << box.last) - 1)[:WORD_BYTES]
        m.d.comb += enable.eq(Mux(line.is_first, from_first, whole) & Mux(last_word, to_last, whole))
        with m.If(box.gaps):
            for b in range(WORD_BYTES):
                column = Mux(self.settings.wide, b // 2, b) if self.parameters.wide else b
                _, phase = quotient_and_phase(m, line.phase + column, self.settings.stride_x, f"enable_{b}")
                with m.If(phase >= box.kernel_columns):
                    m.d.comb += enable[b].eq(0)

    def _advance(self, m: Module, box: _Box, line: _Line, last_word: Signal, last_line: Signal) -> None:
        """To the next word, line or row."""
        settings = self.settings
        with m.If(~last_word):
            p = self.parameters
            in_word = Mux(settings.wide, WORD_BYTES // 2, WORD_BYTES) if p.wide else WORD_BYTES
            columns, phase = quotient_and_phase(m, line.phase + in_word, settings.stride_x, "following")
            m.d.sync += [
                line.word_address.eq(line.word_address + WORD_BYTES),
                line.words_left.eq(line.words_left - 1),
                line.is_first.eq(0),
                line.at.eq(line.at + in_bytes(p, settings, columns)),
                line.phase.eq(phase),
            ]
        with m.Else():
            m.d.sync += [line.words_left.eq(box.words), line.is_first.eq(1), line.phase.eq(box.phase)]
            with m.If(~last_line):
                address = line.address + settings.input_plane
                m.d.sync += [
                    box.channels_left.eq(box.channels_left - 1),
                    line.address.eq(address),
                    line.word_address.eq(address),
                    line.end.eq(line.end + settings.input_line),
                    line.at.eq(line.end + box.quotient),
                ]
            with m.Else():
                at_gap = box.row_gaps & (box.run_left == 1)
                rows = Mux(at_gap, settings.stride_y - box.kernel_rows + 1, 1)
                address = box.row_address + times_stride(settings.input_pitch, rows[:3])
                m.d.comb += self.claims.eq(1)
                m.d.sync += [
                    box.rows_left.eq(box.rows_left - 1),
                    box.run_left.eq(Mux(at_gap, box.kernel_rows, box.run_left - 1)),
                    box.row_address.eq(address),
                    box.slot.eq(self._wrapped(box.slot + settings.input_slab)),
                    *self._first_line(box, line, address),
                ]

    def _first_line(self, box: _Box, line: _Line, address: Value) -> list[Assign]:
        return [
            box.channels_left.eq(box.channels),
            line.address.eq(address),
            line.word_address.eq(address),
            line.end.eq(self.settings.input_line),
            line.at.eq(box.quotient),
        ]

    def _take(self, m: Module, box: _Box, line: _Line) -> None:
        """Begin with the next box."""
        incoming = self.i_box
        m.d.sync += [
            box.channels.eq(incoming.channels),
            box.words.eq(incoming.words),
            box.first.eq(incoming.first),
            box.last.eq(incoming.last),
            box.quotient.eq(incoming.quotient),
            box.phase.eq(incoming.phase),
            box.gaps.eq(incoming.gaps),
            box.kernel_columns.eq(incoming.kernel_columns),
            box.row_gaps.eq(incoming.row_gaps),
            box.kernel_rows.eq(incoming.kernel_rows),
            box.rows_left.eq(incoming.rows),
            box.run_left.eq(incoming.run),
            box.row_address.eq(incoming.address),
            box.slot.eq(incoming.slot),
            *([box.slid.eq(incoming.slid)] if self.parameters.columns_slide else []),
            *self._first_line(box, line, incoming.address),
            box.channels_left.eq(incoming.channels),
            line.words_left.eq(incoming.words),
            line.is_first.eq(1),
            line.at.eq(incoming.quotient),
            line.phase.eq(incoming.phase),
        ]
