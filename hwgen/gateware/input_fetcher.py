"""Fetches the new rows of one box of the input after the other, one word a cycle."""

from dataclasses import dataclass

from amaranth.hdl import C, Module, Mux, Signal, Value, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.box_queue import WordQueue
from hwgen.gateware.input_fill import input_place, is_one_phase
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
        self.words_left = Signal(bits)
        self.end = Signal(flat)
        self.at, self.phase = Signal(signed(flat + 1)), Signal(2)
        # It is the last word of the line, the last line of the row, the last row of the box.
        self.last_word, self.last_line, self.last_row = Signal(), Signal(), Signal()
        # Its used bytes; elements of the ring that it needs, and whether they are free.
        self.enable, self.need, self.fits = Signal(WORD_BYTES), Signal(signed(flat + 2)), Signal()


@dataclass(frozen=True)
class _Word:
    """A word that may be the next one: what there is to know about it before it is known whether it is."""

    first: bool
    last: Value
    last_line: Value
    phase: Value
    at: Value
    end: Value


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

    Which bytes of a word are used, and whether there is room for it, is worked out a cycle ahead, for each word that
    may be the next one.

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
        Elements that will be free in the ring in the next cycle, if none is taken now.
    alone : In(1)
        There is nothing in the ring that belongs to another box. Where columns slide.
    claims : Out(1)
        Some of them are taken.
    claim : Out
        How many.
    o_request, i_response
        To the memory port.
    expected : Out(1), o_word : Out(stream)
        A word with its `input_place`: see `WordQueue`.
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
                "expected": Out(1),
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
        is_last, goes, taken = Signal(), Signal(), Signal()
        enable = line.enable
        entry, request = words.i_entry, self.o_request
        m.d.comb += [
            incoming.ready.eq(Mux(active, goes & is_last & (incoming.rows != 0), (incoming.rows != 0) | entry.ready)),
            taken.eq(incoming.valid & incoming.ready),
            self.completes.eq(words.completes),
            self.expected.eq(words.expected),
        ]
        with m.If(active):
            m.d.comb += [
                is_last.eq(line.last_word & line.last_line & line.last_row),
                room.eq(Mux(box.slid, self.alone, line.fits) if p.columns_slide else line.fits),
                # Where columns have gaps, a word may have no used byte at all.
                empty.eq(enable == 0),
                goes.eq(room & entry.ready & (empty | request.ready)),
                request.valid.eq(room & entry.ready & ~empty),
                request.payload.eq(read_request(line.word_address, enable)),
                entry.valid.eq(room & Mux(empty, is_last, request.ready)),
                entry.payload.word.eq(~empty),
                entry.payload.end.eq(is_last),
                entry.payload.place.enable.eq(enable),
                entry.payload.place.single.eq(
                    is_one_phase(enable, settings.stride_x, settings.wide if p.wide else None)
                ),
                entry.payload.place.phase.eq(line.phase),
                entry.payload.place.address.eq(self._wrapped(box.slot + line.at)),
            ]
        with m.Else():
            m.d.comb += [entry.valid.eq(taken & (incoming.rows == 0)), entry.payload.end.eq(1)]
        slab: Value = self.settings.input_slab
        if p.columns_slide:
            slab = Mux(box.slid, 0, slab)
        m.d.comb += self.claim.eq(slab)
        m.d.sync += line.fits.eq(line.need <= self.free)
        with m.If(goes):
            self._advance(m, box, line)
            with m.If(is_last):
                m.d.sync += active.eq(0)
        self._take(m, box, line, taken, active)
        with m.If(taken):
            m.d.sync += active.eq(incoming.rows != 0)
        return m

    def _wrapped(self, element: Value) -> Value:
        """An element of the ring, which may lie up to once around behind its end."""
        elements = self.parameters.input_elements
        return Mux(element >= elements, element - elements, element)

    def _used(self, m: Module, word: _Word, box: _Box | wiring.PureInterface, name: str) -> Signal:
        """Which bytes of a word of a box are used."""
        used = Signal(WORD_BYTES, name=f"{name}_enable")
        whole = (1 << WORD_BYTES) - 1
        first = (C(whole, WORD_BYTES) << box.first)[:WORD_BYTES] if word.first else whole
        m.d.comb += used.eq(first & Mux(word.last, ((C(2) << box.last) - 1)[:WORD_BYTES], whole))
        with m.If(box.gaps):
            for b in range(WORD_BYTES):
                column = Mux(self.settings.wide, b // 2, b) if self.parameters.wide else b
                _, phase = quotient_and_phase(m, word.phase + column, self.settings.stride_x, f"{name}_{b}")
                with m.If(phase >= box.kernel_columns):
                    m.d.comb += used[b].eq(0)
        return used

    def _need(self, m: Module, word: _Word, name: str, claimed: Value | None = None) -> tuple[Signal, Signal]:
        """Elements that must be free for a word, and whether they will be; of those now free, some may be claimed.

        The whole slab is claimed with its last word, also where the box has fewer channels than others.
        """
        need = Signal(signed(len(self.settings.input_slab) + 2), name=f"{name}_need")
        fits = Signal(name=f"{name}_fits")
        by_line = word.last | (self.settings.stride_x != 1)
        slab = self.settings.input_slab
        taken = Value.cast(0) if claimed is None else claimed
        m.d.comb += [
            need.eq(Mux(word.last & word.last_line, slab, Mux(by_line, word.end, word.at + WORD_BYTES))),
            fits.eq(
                Mux(
                    word.last & word.last_line,
                    slab + taken <= self.free,
                    Mux(by_line, word.end + taken <= self.free, word.at + WORD_BYTES + taken <= self.free),
                )
            ),
        ]
        return need, fits

    def _advance(self, m: Module, box: _Box, line: _Line) -> None:
        """To the next word, line or row."""
        settings, p = self.settings, self.parameters
        in_word = Mux(settings.wide, WORD_BYTES // 2, WORD_BYTES) if p.wide else WORD_BYTES
        columns, phase = quotient_and_phase(m, line.phase + in_word, settings.stride_x, "following")
        at = line.at + in_bytes(p, settings, columns)
        one = box.words == 0
        word = _Word(False, line.words_left == 1, line.last_line, phase, at, line.end)
        next_line = _Word(
            True, one, box.channels_left == 2, box.phase, line.end + box.quotient, line.end + settings.input_line
        )
        next_row = _Word(True, one, box.channels == 1, box.phase, box.quotient, settings.input_line)
        begins = self._used(m, next_row, box, "line")
        with m.If(~line.last_word):
            m.d.sync += [
                line.word_address.eq(line.word_address + WORD_BYTES),
                line.words_left.eq(line.words_left - 1),
                line.enable.eq(self._used(m, word, box, "word")),
                *self._goes_to(line, word, *self._need(m, word, "word")),
            ]
        with m.Else():
            m.d.sync += [line.words_left.eq(box.words), line.enable.eq(begins)]
            with m.If(~line.last_line):
                address = line.address + settings.input_plane
                m.d.sync += [
                    box.channels_left.eq(box.channels_left - 1),
                    line.address.eq(address),
                    line.word_address.eq(address),
                    *self._goes_to(line, next_line, *self._need(m, next_line, "line")),
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
                    box.channels_left.eq(box.channels),
                    line.address.eq(address),
                    line.word_address.eq(address),
                    line.last_row.eq(box.rows_left == 2),
                    *self._goes_to(line, next_row, *self._need(m, next_row, "row", self.claim)),
                ]

    @staticmethod
    def _goes_to(line: _Line, word: _Word, need: Signal, fits: Signal) -> list[Assign]:
        """It is the next word."""
        return [
            line.last_word.eq(word.last),
            line.last_line.eq(word.last_line),
            line.phase.eq(word.phase),
            line.at.eq(word.at),
            line.end.eq(word.end),
            line.need.eq(need),
            line.fits.eq(fits),
        ]

    def _take(self, m: Module, box: _Box, line: _Line, taken: Signal, active: Signal) -> None:
        """Begin with the next box, at the last word of the one before or later."""
        incoming = self.i_box
        end = self.settings.input_line
        word = _Word(True, incoming.words == 0, incoming.channels == 1, incoming.phase, incoming.quotient, end)
        used = self._used(m, word, incoming, "box")
        need, fits = self._need(m, word, "box", Mux(active, self.claim, 0))
        with m.If(taken):
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
                box.channels_left.eq(incoming.channels),
                line.address.eq(incoming.address),
                line.word_address.eq(incoming.address),
                line.words_left.eq(incoming.words),
                line.last_row.eq(incoming.rows == 1),
                line.enable.eq(used),
                *self._goes_to(line, word, need, fits),
            ]
