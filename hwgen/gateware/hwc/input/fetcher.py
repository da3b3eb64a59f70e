"""Fetches the new rows of one tile of the input after the other, one word a cycle."""

from amaranth.hdl import C, Module, Mux, Signal, Value, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.bus.tcdm import read_request, request_layout, response_signature
from hwgen.gateware.hwc.input.fetched import FetchedLine, FetchedTile, FreeElements, NextWord, RoomForWord, RowBegin
from hwgen.gateware.hwc.input.fill import input_place, is_one_phase
from hwgen.gateware.hwc.input.placed_tile import placed_tile
from hwgen.gateware.hwc.settings import bytes_in_ring, settings_signature
from hwgen.gateware.lib.stride import quotient_and_phase, residue, split, stepped
from hwgen.gateware.lib.tile_queue import WordQueue

__all__ = ["InputFetcher"]


class InputFetcher(wiring.Component):
    """Row by row, channel by channel, word by word, without a pause between any of them, nor between two tiles.

    A row of all channels is a slab of the ring. A word is asked for as soon as there is room for its elements; with
    strides, whose phases lie apart, as soon as there is room for its line. Where columns slide, each line gets its
    new ones after those that stay, in the places of what the next line had first: as soon as nobody needs that.

    Which bytes of a word are used, and whether there is room for it, is worked out a cycle ahead, for each word that
    may be the next one; room that becomes free in that cycle is noticed in the next one. Whether a word goes is known
    late: it only enables registers. What they become, even that it is the next tile's, does not depend on it.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    i_tile : In
        The next tile, from registers. Taken with the last word of the one before, if not earlier.
    free : In
        Elements that are free in the ring, those that are claimed now among them.
    alone : In(1)
        There is nothing in the ring that belongs to another tile. Where columns slide.
    spare : In
        Free elements less those that a row takes, of all tiles alike. Where columns do not slide.
    reserves : Out(1)
        Some of them are taken.
    reserve : Out
        How many.
    o_request, i_response
        To the memory port.
    expected : Out(1), o_word : Out(stream)
        A word with its `input_place`: see `WordQueue`.
    completes : Out(1)
        A tile is complete.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters, self._word = parameters, parameters.ports.input_bytes
        room = parameters.input_elements.bit_length()
        word = data.StructLayout({"data": parameters.ports.I, "place": input_place(parameters)})
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "i_tile": In(placed_tile(parameters)),
                "free": In(room),
                **({"alone": In(1)} if parameters.columns_slide else {"spare": In(signed(room + 1))}),
                "reserves": Out(1),
                "reserve": Out(room),
                "o_request": Out(stream.Signature(request_layout(parameters.ports.I))),
                "i_response": In(response_signature(parameters.ports.I)),
                "expected": Out(1),
                "o_word": Out(stream.Signature(word)),
                "completes": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings, incoming = self.parameters, self.settings, self.i_tile
        m.submodules.words = words = WordQueue(
            place=input_place(p), waits=True, ahead=p.input_words_ahead, width=p.ports.I
        )
        connect(m, flipped(self.i_response), words.i_response)
        connect(m, words.o_word, flipped(self.o_word))
        flat = (p.input_elements - 1).bit_length() + 1
        tile = FetchedTile(incoming, self._word)
        line = FetchedLine(incoming, flat, p.lanes.c, self._word)
        active, room, empty = Signal(), Signal(), Signal()
        goes, steps = Signal(), Signal()
        enable, is_last = line.enable, line.loads
        entry, request = words.i_entry, self.o_request
        m.d.comb += [
            steps.eq(~active | goes),
            incoming.ready.eq(Mux(active, goes & is_last & incoming.fetches, incoming.fetches | entry.ready)),
            entry.payload.end.eq(is_last),
            self.completes.eq(words.completes),
            self.expected.eq(words.expected),
        ]
        with m.If(active):
            m.d.comb += [
                room.eq(Mux(tile.slid, self.alone, line.fits) if p.columns_slide else line.fits),
                # Where columns have gaps, a word may have no used byte at all.
                empty.eq(enable == 0),
                goes.eq(room & entry.ready & (empty | request.ready)),
                request.valid.eq(room & entry.ready & ~empty),
                request.payload.eq(read_request(line.word_address, enable, p.ports.I)),
                entry.valid.eq(room & Mux(empty, is_last, request.ready)),
                entry.payload.word.eq(~empty),
                entry.payload.place.enable.eq(enable),
                entry.payload.place.single.eq(
                    is_one_phase(enable, settings.stride_x, settings.wide if p.wide else None)
                ),
                entry.payload.place.phase.eq(line.phase),
                entry.payload.place.address.eq(self._wrapped(tile.slot + line.at)),
            ]
            if line.channel_lane is not None:
                m.d.comb += entry.payload.place.channel_lane.eq(line.channel_lane)
        with m.Else():
            m.d.comb += entry.valid.eq(incoming.valid & ~incoming.fetches)
        m.d.comb += self.reserve.eq(
            Mux(tile.slid, 0, settings.input_slab) if p.columns_slide else settings.input_slab
        )
        self._strided = Signal()
        m.d.sync += [self._strided.eq(settings.stride_x != 1), line.fits.eq(line.need <= self.free)]
        begin = RowBegin(m, tile, incoming, settings.input_pitch, line.loads)
        self._step(m, tile, line, begin, active, steps)
        m.d.comb += self.reserves.eq(goes & line.last_word & line.last_line)
        with m.If(steps):
            with m.If(line.loads):
                m.d.sync += [active.eq(incoming.valid & incoming.fetches), tile.slot.eq(incoming.slot)]
                if p.columns_slide:
                    m.d.sync += tile.slid.eq(incoming.slid)
            with m.Elif(line.last_word & line.last_line):
                m.d.sync += tile.slot.eq(self._wrapped(tile.slot + settings.input_slab))
        with m.If(line.loads):
            self._take(m, tile, begin)
        with m.Elif(self.reserves):
            self._next_row(m, tile, begin)
        return m

    def _wrapped(self, element: Value) -> Value:
        """An element of the ring, which may lie up to once around past its end."""
        elements = self.parameters.input_elements
        return Mux(element >= elements, element - elements, element)

    def _used(
        self, m: Module, word: NextWord, tile: FetchedTile | RowBegin, name: str, *, first: bool = False
    ) -> Signal:
        """Which bytes of a word are used: of a line's first one those from the line's first used byte on."""
        used = Signal(self._word, name=f"{name}_enable")
        whole = (1 << self._word) - 1
        from_first = (C(whole, self._word) << tile.first)[: self._word] if first else whole
        m.d.comb += used.eq(from_first & Mux(word.last, ((C(2) << tile.last) - 1)[: self._word], whole))
        with m.If(tile.gaps):
            stride = self.settings.stride_x
            for b in range(self._word):
                column: Value = residue(b, stride)
                if self.parameters.wide:
                    column = Mux(self.settings.wide, residue(b // 2, stride), column)
                _, phase = quotient_and_phase(m, (word.phase + column)[:3], stride, f"{name}_{b}")
                with m.If(phase >= tile.kernel_columns):
                    m.d.comb += used[b].eq(0)
        return used

    def _goes_to(
        self, m: Module, line: FetchedLine, word: NextWord, used: Signal, name: str, room: RoomForWord
    ) -> list[Assign]:
        """It is the next word; so many elements will be free.

        The whole slab is claimed with its last word, also where the tile has fewer channels than others.
        """
        need, fits = Signal.like(line.need, name=f"{name}_need"), Signal(name=f"{name}_fits")
        by_line = word.last | self._strided
        slab, is_last = self.settings.input_slab, word.last & word.last_line
        m.d.comb += [
            need.eq(Mux(is_last, slab, Mux(by_line, word.end, word.reach))),
            fits.eq(Mux(is_last, room.slab, Mux(by_line, room.end, room.reach))),
        ]
        return [
            line.last_word.eq(word.last),
            line.last_line.eq(word.last_line),
            line.last_row.eq(word.last_row),
            line.loads.eq(word.last & word.last_line & word.last_row),
            line.phase.eq(word.phase),
            line.at.eq(word.at),
            line.end.eq(word.end),
            line.need.eq(need),
            line.fits.eq(fits),
            line.enable.eq(used),
        ]

    def _step(
        self, m: Module, tile: FetchedTile, line: FetchedLine, begin: RowBegin, active: Signal, steps: Signal
    ) -> None:
        """Step to the next word, line, row or tile."""
        settings, p = self.settings, self.parameters
        ahead, within = split(self._word, settings.stride_x)
        if p.wide:
            wide_ahead, wide_within = split(self._word // 2, settings.stride_x)
            ahead, within = Mux(settings.wide, wide_ahead, ahead), Mux(settings.wide, wide_within, within)
        columns, phase = stepped(m, line.phase, (ahead, within), settings.stride_x, "following")
        at, reach = line.at + bytes_in_ring(p, settings, columns), self._word_in_ring
        last_row = line.last_row
        word = NextWord(line.words_left == 1, line.last_line, last_row, phase, at, line.end, line.at + 2 * reach)
        line_begin, lines = self._next_begin(m, line)
        at = line_begin + tile.quotient
        next_line = NextWord(
            tile.single_word, tile.channels_left == 2, last_row, tile.phase, at, lines, line_begin + tile.reach
        )
        next_row = NextWord(
            begin.single_word,
            begin.single_channel,
            begin.last_row,
            begin.phase,
            begin.quotient,
            settings.input_line,
            begin.quotient + reach,
        )
        left = self.free - self.reserve if p.columns_slide else self.spare
        free, spare = FreeElements(self.free), FreeElements(self.free, active, left)
        slab = settings.input_slab
        room = RoomForWord(free.has(slab), free.has(word.end), free.has(word.reach))
        to_word = self._goes_to(m, line, word, self._used(m, word, tile, "word"), "word", room)
        begins = self._used(m, next_row, begin, "line", first=True)
        to_line = self._goes_to(m, line, next_line, begins, "line", self._room_for_line(line, tile, line_begin))
        room = RoomForWord(spare.has(slab), spare.has(next_row.end), spare.has(next_row.reach))
        to_row = self._goes_to(m, line, next_row, begins, "row", room)
        begin.address = self._address(m, tile, line, begin)
        with m.If(steps):
            m.d.sync += [line.word_address.eq(begin.address), line.words_left.eq(begin.words)]
            with m.If(~begin.loads & ~line.last_word):
                m.d.sync += [line.words_left.eq(line.words_left - 1), *to_word]
            with m.Elif(~begin.loads & ~line.last_line):
                m.d.sync += [tile.channels_left.eq(tile.channels_left - 1), line.address.eq(begin.address), *to_line]
                if line.channel_lane is not None:
                    m.d.sync += [line.channel_lane.eq(self._following_lane(line)), line.begin.eq(line_begin)]
            with m.Else():
                m.d.sync += [tile.channels_left.eq(begin.channels), line.address.eq(begin.address), *to_row]
                if line.channel_lane is not None:
                    m.d.sync += [line.channel_lane.eq(0), line.begin.eq(0)]
                with m.If(begin.loads & ~(self.i_tile.valid & self.i_tile.fetches)):
                    m.d.sync += line.loads.eq(1)

    @property
    def _word_in_ring(self) -> Value | int:
        """Bytes of a word that one lane along c takes."""
        whole = self._word
        return Mux(self.settings.wide, whole // 2, whole) if self.parameters.byte_planes else whole

    def _address(self, m: Module, tile: FetchedTile, line: FetchedLine, begin: RowBegin) -> Signal:
        """The address of the next word in the shared memory, by one adder for words, lines, rows and tiles."""
        address = Signal.like(line.address, name="next_address")
        before, distance = Signal.like(address), Signal.like(address)
        with m.If(begin.loads):
            m.d.comb += before.eq(self.i_tile.address)
        with m.Elif(~line.last_word):
            m.d.comb += [before.eq(line.word_address), distance.eq(self._word)]
        with m.Elif(~line.last_line):
            m.d.comb += [before.eq(line.address), distance.eq(self.settings.input_plane)]
        with m.Else():
            m.d.comb += [before.eq(tile.row_address), distance.eq(begin.distance)]
        m.d.comb += address.eq(before + distance)
        return address

    def _next_begin(self, m: Module, line: FetchedLine) -> tuple[Value, Value]:
        """Where the line of the next channel begins in the row's slab, and where it ends.

        With lanes along c the lines of as many channels lie at the same place of as many memories.
        """
        if line.channel_lane is None:
            return line.end, line.end + self.settings.input_line
        begin, end = Signal.like(line.end, name="line_begin"), Signal.like(line.end, name="line_end")
        last_lane = self._in_last_lane(line.channel_lane)
        m.d.comb += [
            begin.eq(Mux(last_lane, line.end, line.begin)),
            end.eq(Mux(last_lane, line.end + self.settings.input_line, line.end)),
        ]
        return begin, end

    def _room_for_line(self, line: FetchedLine, tile: FetchedTile, begin: Value) -> RoomForWord:
        """Whether there will be room for the first word of the next channel's line."""
        free, after = FreeElements(self.free), line.end + self.settings.input_line
        end = free.has(after)
        if line.channel_lane is not None:
            end = Mux(self._in_last_lane(line.channel_lane), end, free.has(line.end))
        return RoomForWord(free.has(self.settings.input_slab), end, FreeElements(self.free - tile.reach).has(begin))

    def _in_last_lane(self, lane: Value) -> Value:
        """Whether a lane along c is the last one of those that there are."""
        p = self.parameters
        return Mux(self.settings.wide, lane == p.wide_lanes.c - 1, lane.all()) if p.byte_planes else lane.all()

    def _following_lane(self, line: FetchedLine) -> Value:
        """The lane along c of the next channel: a power of two of them, so that all of them wrap."""
        lane = line.channel_lane
        assert lane is not None
        return Mux(self._in_last_lane(lane), 0, lane + 1) if self.parameters.byte_planes else lane + 1

    def _next_row(self, m: Module, tile: FetchedTile, begin: RowBegin) -> None:
        """What counts the rows."""
        at_gap = tile.row_gaps & Mux(tile.at_gap, tile.kernel_rows == 1, tile.run_left == 2)
        m.d.sync += [
            tile.rows_left.eq(tile.rows_left - 1),
            tile.run_left.eq(Mux(tile.at_gap, tile.kernel_rows, tile.run_left - 1)),
            tile.at_gap.eq(at_gap),
            tile.step.eq(Mux(at_gap, tile.gap, 1)),
            tile.row_address.eq(begin.address),
        ]

    def _take(self, m: Module, tile: FetchedTile, begin: RowBegin) -> None:
        """Begin with the next tile: follow what is offered while the last word of this one waits, or nothing does."""
        incoming = self.i_tile
        m.d.sync += [
            tile.channels.eq(incoming.channels),
            tile.words.eq(incoming.words),
            tile.single_word.eq(incoming.single_word),
            tile.single_channel.eq(incoming.single_channel),
            tile.first.eq(incoming.first),
            tile.last.eq(incoming.last),
            tile.quotient.eq(incoming.quotient),
            tile.reach.eq(incoming.quotient + self._word_in_ring),
            tile.phase.eq(incoming.phase),
            tile.gaps.eq(incoming.gaps),
            tile.kernel_columns.eq(incoming.kernel_columns),
            tile.row_gaps.eq(incoming.row_gaps),
            tile.kernel_rows.eq(incoming.kernel_rows),
            tile.gap.eq(incoming.gap),
            tile.rows_left.eq(incoming.rows),
            tile.run_left.eq(incoming.run),
            tile.row_address.eq(begin.address),
            tile.at_gap.eq(incoming.at_gap),
            tile.step.eq(Mux(incoming.at_gap, incoming.gap, 1)),
        ]
