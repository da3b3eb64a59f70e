"""The weights' stream of a datapath with lanes along c: lines in fetch order, kept in a ring of lines."""

from collections.abc import Callable
from functools import partial

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import WEIGHT_DIMS, HwcParameters
from hwgen.arch.weights import WeightLines
from hwgen.gateware.bus.tcdm import read_request, request_layout, response_signature
from hwgen.gateware.hwc.settings import nest_of, settings_signature
from hwgen.gateware.hwc.token import weight_address_bits
from hwgen.gateware.lib.nest import LoopNest
from hwgen.gateware.lib.tile_queue import TileQueue, WordQueue

__all__ = ["LineWeightStream"]

IN_LUTS = {"ram_style": "distributed"}
"""Attributes of a memory that is made of LUTs, whatever synthesis would take for it."""


class LineWeightStream(wiring.Component):
    """Fetch, keep, and free the weights, line by line: `hwgen.arch.weights` has what a line is.

    It walks the loops down to the marked one, and those over weights inside it, a line at a time. Lines lie in memory
    in the order in which they are first fetched, so the address only ever counts on, and goes back where a loop over
    output rows or columns outside the marked one starts its next iteration. Where the marked loop is such a loop, its
    tile stays; the lines of it are passed over, one a cycle.

    Parameters
    ----------
    parameters
        What the HWC is generated for, with lanes along c.

    Members
    -------
    settings : In
    start : In(1)
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        The first line of a tile that is completely in the ring. Taken at its first use.
    release : In(1)
        The tile in use has been used for the last time.
    read_address : In
        Of a line in the ring.
    read_data : Out
        Its weights, one cycle later: channel lane by channel lane, those of the lanes along m side by side; with
        operands of 16 bits half as many lanes, and two bytes each.
    reads : In(1)
        Set with an address; else ``read_data`` stays. If `HwcParameters.lane_registers`.
    overflow : Out(1)
        A tile is larger than the ring.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        assert parameters.weight_lines
        self.parameters, self._lines = parameters, parameters.weight_lines
        # Of weights of 16 bits.
        word, wide = parameters.ports.weight_bytes, parameters.byte_planes
        self._wide_lines = WeightLines.of(parameters.wide_lanes, 16, word) if wide else None
        self.index = max(1, (parameters.weight_depth - 1).bit_length())
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(request_layout(parameters.ports.W))),
                "i_response": In(response_signature(parameters.ports.W)),
                "o_token": Out(stream.Signature(self.index)),
                "release": In(1),
                "read_address": In(weight_address_bits(parameters)),
                "read_data": Out(data.ArrayLayout(8, parameters.weight_reads)),
                **({"reads": In(1)} if parameters.lane_registers else {}),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.tiles = tiles = TileQueue(token=self.index, capacity=p.weight_depth)
        place = data.StructLayout({"word": range(self._words), "ends_line": 1})
        m.submodules.words = words = WordQueue(place=place, waits=False, ahead=p.weight_words_ahead, width=p.ports.W)
        connect(m, flipped(self.i_response), words.i_response)
        connect(m, tiles.o_token, flipped(self.o_token))
        m.d.comb += [tiles.release.eq(self.release), tiles.completes.eq(words.completes)]
        self._hold(m, words)
        self._fetch(m, tiles, words)
        return m

    @property
    def _in_word(self) -> int:
        """Bits of a byte's place in a word."""
        return (self._lines.word - 1).bit_length()

    @property
    def _words(self) -> int:
        """Words of the port that a full line has."""
        return max(1, self._lines.stored // self._lines.word)

    def _fetch(self, m: Module, tiles: TileQueue, words: WordQueue) -> None:
        """A word a cycle. With the last one of a tile the next tile is pushed, if it can be."""
        p, entry, request = self.parameters, words.i_entry, self.o_request
        marked = p.weight_marker < len(p.loops)
        nest, outputs, channels = self._walk(m)
        ends_tile = nest.ended[p.weight_marker + 1 if marked else len(nest.loops)]
        stays = marked and p.loops[p.weight_marker] in "yx"
        again = nest.turning[p.weight_marker] if stays else Value.cast(0)
        # There is a line; it is fetched, not passed over; its tile has been pushed.
        on, fetches, pushed = Signal(), Signal(init=1), Signal()
        goes, advance, pushes_next, taken = Signal(), Signal(), Signal(), Signal()
        word, ahead, enable, ends_line = self._word(m, outputs, channels, goes)
        address = self._address(m, nest, Mux(fetches, ahead, 0), moves=goes | advance, ends_line=ends_line | ~fetches)
        m.d.comb += [
            request.valid.eq(on & fetches & pushed & (tiles.free != 0) & entry.ready),
            request.payload.eq(read_request(address << self._in_word, enable, p.ports.W)),
            goes.eq(request.valid & request.ready),
            pushes_next.eq(goes & ends_line & ends_tile & ~nest.finished & ~again),
            taken.eq(tiles.i_tile.valid & tiles.i_tile.ready),
            advance.eq(Mux(fetches, goes & ends_line, on & (pushed | taken))),
            nest.start.eq(self.start),
            nest.advance.eq(advance),
            entry.valid.eq(goes | (on & ~pushed & ~fetches & tiles.i_tile.ready)),
            entry.payload.word.eq(fetches),
            entry.payload.end.eq(~fetches | (ends_line & ends_tile)),
            entry.payload.place.ends_line.eq(ends_line),
            entry.payload.place.word.eq(word),
            tiles.i_tile.valid.eq((on & ~pushed & (fetches | entry.ready)) | pushes_next),
            tiles.reserves.eq(goes & ends_line),
            tiles.reserve.eq(1),
        ]
        with m.If(self.start):
            m.d.sync += on.eq(1)
        with m.Elif(advance & nest.finished):
            m.d.sync += on.eq(0)
        with m.If(advance & ends_tile):
            m.d.sync += [fetches.eq(~again), pushed.eq(pushes_next & taken)]
        with m.Elif(taken):
            m.d.sync += pushed.eq(1)
        self._count(m, tiles, fetches, pushes_next, ends_tile)
        m.d.comb += self.overflow.eq(on & fetches & pushed & (self._live == p.weight_depth))

    def _walk(self, m: Module) -> tuple[LoopNest, Value, Value]:
        """The nest of lines; output and input channels of the present one."""
        p = self.parameters
        inner = [j for j in range(p.weight_marker + 1, len(p.loops)) if p.loops[j] in WEIGHT_DIMS]
        order = [*range(min(p.weight_marker + 1, len(p.loops))), *inner]
        nest, sizes = nest_of(m, p, self.settings, order, ("m", "c"))
        m.submodules.nest = nest
        return nest, sizes["m"], sizes["c"]

    def _word(self, m: Module, outputs: Value, channels: Value, goes: Signal) -> tuple[Value, Value, Signal, Signal]:
        """The present word of the line: its number in a full line, how many words further the next one is that is
        fetched, its used bytes, whether it is the last one.

        Words without used bytes are left out: those of output channels that do not exist.
        """
        part, lane = self._place()
        enable, ends_lane, ends_line = Signal(self._lines.word), Signal(), Signal()

        def used(lines: WeightLines, byte: int) -> Value:
            channel = byte // lines.pitch if lines.word_lanes > 1 else 0
            there = lane * lines.word_lanes + channel < channels
            if lines.word_lanes > 1:
                return there & (lines.first_of(byte % lines.pitch) < outputs)
            return there & (part * lines.word_weights + lines.first_of(byte) < outputs)

        for byte in range(self._lines.word):
            m.d.comb += enable[byte].eq(self._by_width(partial(used, byte=byte)))
        m.d.comb += [
            ends_lane.eq(self._by_width(lambda lines: (part + 1) * lines.word_weights >= outputs)),
            ends_line.eq(
                ends_lane & self._by_width(lambda lines: lane * lines.word_lanes + lines.word_lanes >= channels)
            ),
        ]
        with m.If(goes):
            m.d.sync += part.eq(Mux(ends_lane, 0, part + 1))
            with m.If(ends_lane):
                m.d.sync += lane.eq(Mux(ends_line, 0, lane + 1))
        ahead = Mux(ends_lane, self._by_width(lambda lines: lines.lane_words - part), 1)
        return self._by_width(lambda lines: lane * lines.lane_words + part), ahead, enable, ends_line

    def _place(self) -> tuple[Signal, Signal]:
        """The present word of a channel lane, and that lane, or the first of those that share the word."""
        every = [lines for lines in (self._lines, self._wide_lines) if lines]
        lanes = [max(1, lines.channels // lines.word_lanes) for lines in every]
        part, lane = Signal(range(max(lines.lane_words for lines in every))), Signal(range(max(lanes)))
        return part, lane

    def _by_width(self, of: Callable[[WeightLines], Value]) -> Value:
        """What lines of weights of 16 bits have, or those of 8 bits."""
        narrow = of(self._lines)
        return Mux(self.settings.wide, of(self._wide_lines), narrow) if self._wide_lines else narrow

    def _address(self, m: Module, nest: LoopNest, ahead: Value, *, moves: Value, ends_line: Value) -> Signal:
        """The present word in memory, counted in words: lines lie side by side, so it goes on by ``ahead`` at the end
        of a line, too, unless the lines from another one on come again. Where those begin is noted a cycle later, as
        that a line ends is known late."""
        base = self.settings.weight_base[self._in_word :]
        address, following = Signal.like(base, name="word_address"), Signal.like(base)
        m.d.comb += following.eq(address + ahead)
        for loops in self._repeating(nest):
            noted, begin = (Signal.like(base, name=f"{name}_{loops[0]}") for name in ("noted", "begin"))
            begins = Signal(name=f"begins_{loops[0]}")
            m.d.comb += begin.eq(Mux(begins, address, noted))
            with m.If(ends_line & Cat(nest.turning[j] for j in loops).any()):
                m.d.comb += following.eq(begin)
            m.d.sync += [noted.eq(begin), begins.eq(self.start | (moves & ends_line & nest.ended[loops[0]]))]
        with m.If(self.start):
            m.d.sync += address.eq(base)
        with m.Elif(moves):
            m.d.sync += address.eq(following)
        return address

    def _repeating(self, nest: LoopNest) -> list[list[int]]:
        """The loops in whose next iterations the same lines come again; those side by side together: their lines
        begin where those of the outermost of them do."""
        groups: list[list[int]] = []
        for j, dim in enumerate(nest.loops):
            if dim not in "yx" or j == self.parameters.weight_marker:
                continue
            if groups and groups[-1][-1] == j - 1:
                groups[-1].append(j)
            else:
                groups.append([j])
        return groups

    def _count(self, m: Module, tiles: TileQueue, fetches: Signal, pushes_next: Signal, ends_tile: Value) -> None:
        """Lines of the tile at hand, of the one before, and where a tile begins in the ring."""
        depth = self.parameters.weight_depth
        line, following, first = Signal(self.index), Signal(self.index), Signal(self.index)
        self._live = live = Signal(tiles.free.shape())
        whole = Signal.like(live)
        m.d.comb += [
            following.eq(Mux(line == depth - 1, 0, line + 1)),
            tiles.i_tile.payload.token.eq(Mux(pushes_next, following, Mux(fetches, line, first))),
            tiles.i_tile.payload.drop.eq(Mux(pushes_next, live + 1, Mux(fetches, whole, 0))),
        ]
        with m.If(tiles.reserves):
            m.d.sync += [line.eq(following), live.eq(Mux(ends_tile, 0, live + 1)), whole.eq(live + 1)]
            with m.If(live == 0):
                m.d.sync += first.eq(line)

    def _hold(self, m: Module, words: WordQueue) -> None:
        """The ring: words in, lines out."""
        p = self.parameters
        style = IN_LUTS if p.weights_in_luts else {}
        m.submodules.memory = memory = Memory(
            shape=8 * self._lines.stored, depth=p.weight_depth, init=[], attrs=style
        )
        # A word may be longer than the line that it holds.
        held = 8 * min(self._lines.word, self._lines.stored)
        write, read = memory.write_port(granularity=held), memory.read_port()
        word = words.o_word
        if p.lane_registers:
            m.d.comb += read.en.eq(self.reads)
        m.d.comb += [
            word.ready.eq(1),
            write.data.eq(word.payload.data[:held].replicate(self._words)),
            read.addr.eq(self.read_address),
            self.read_data.eq(read.data),
        ]
        with m.If(word.valid):
            m.d.comb += write.en.eq(C(1, self._words) << word.payload.place.word)
            with m.If(word.payload.place.ends_line):
                m.d.sync += write.addr.eq(Mux(write.addr == p.weight_depth - 1, 0, write.addr + 1))
