"""The weights' stream: packed tiles in fetch order, kept in a ring of words of the port."""

from amaranth.hdl import C, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import WEIGHT_DIMS, HwcParameters
from hwgen.gateware.bus.tcdm import read_request, request_layout, response_signature
from hwgen.gateware.hwc.settings import in_bytes, nest_of, settings_signature
from hwgen.gateware.lib.byte_memory import BankWrites, ByteMemory
from hwgen.gateware.lib.nest import LoopNest
from hwgen.gateware.lib.tile_queue import TileQueue, WordQueue

__all__ = ["WeightStream"]


class _Tile:
    """The next tile: whether it is fetched, where from, and how large it is in a number of bits."""

    def __init__(self, base: Value, words: int, in_word: int) -> None:
        self.fetches = Signal(init=1)
        self.address = Signal.like(base, name="address")
        self.words, self.fits = Signal(words), Signal()
        # Bytes of the last word; 0: all of them.
        self.rest = Signal(in_word)


class WeightStream(wiring.Component):
    """Fetch, keep, and free the weights.

    A tile is what one iteration of the marked loop uses, in the order of its first use, starting on a word. Tiles lie
    in memory in the order in which they are first fetched, so the address only ever counts on, and goes back where a
    loop over output rows or columns starts its next iteration. While one tile is fetched, the next one is placed.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        The first word of a tile that is completely in the ring. Taken at its first use.
    release : In(1)
        The tile in use has been used for the last time.
    read_address : In
        Of a byte in the ring.
    read_data : Out
        As many consecutive bytes from there as the lanes along m use, one cycle later.
    reads : In(1)
        Set with an address; else ``read_data`` stays. If `HwcParameters.lane_registers`.
    overflow : Out(1)
        A tile is larger than the ring.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self._port = parameters.ports.weight_bytes
        # Bits of a byte's place in a word.
        self._in_word = (self._port - 1).bit_length()
        self.index = max(1, (parameters.weight_depth - 1).bit_length())
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(request_layout(parameters.ports.W))),
                "i_response": In(response_signature(parameters.ports.W)),
                "o_token": Out(stream.Signature(self.index)),
                "release": In(1),
                "read_address": In((parameters.weight_bytes - 1).bit_length()),
                "read_data": Out(data.ArrayLayout(8, parameters.weight_reads)),
                **({"reads": In(1)} if parameters.lane_registers else {}),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.tiles = tiles = TileQueue(token=self.index, capacity=p.weight_depth)
        m.submodules.words = words = WordQueue(place=None, waits=False, ahead=p.weight_words_ahead, width=p.ports.W)
        connect(m, flipped(self.i_response), words.i_response)
        connect(m, tiles.o_token, flipped(self.o_token))
        m.d.comb += [tiles.release.eq(self.release), tiles.completes.eq(words.completes)]
        self._hold(m, words)
        order = range(min(p.weight_marker + 1, len(p.loops)))
        nest, sizes = nest_of(m, p, self.settings, order, WEIGHT_DIMS)
        m.submodules.nest = nest
        tile = _Tile(self.settings.weight_base, p.weight_bytes.bit_length() - 1, self._in_word)
        offered, taken = Signal(), Signal()
        self._place(m, nest, sizes, tile, offered, taken)
        self._announce(m, tiles, tile)
        self._fetch(m, tiles, words, tile, offered, taken)
        return m

    def _place(
        self, m: Module, nest: LoopNest, sizes: dict[str, Value], tile: _Tile, offered: Signal, taken: Signal
    ) -> None:
        """The size of each tile: a product. Only factors that changed since the last tile are multiplied again."""
        p = self.parameters
        self._address(m, nest, tile)
        # The dimension whose loops turn most often comes last.
        innermost = {dim: max((j for j, of in enumerate(nest.loops) if of == dim), default=-1) for dim in WEIGHT_DIMS}
        dims = sorted(WEIGHT_DIMS, key=lambda dim: innermost[dim])
        # A size beyond these bits becomes the largest number in them, which is more than the memory has bytes.
        size_bits = p.weight_bytes.bit_length()
        products: list[Signal] = [Signal(size_bits, name=f"size_{dim}") for dim in dims[:-1]]
        # That a tile is too large is found out while it is offered: the layer ends before much of it has come.
        m.d.sync += tile.fits.eq(tile.words <= p.weight_depth)
        with m.FSM(name="place"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.next = "Size-0"
            for i, dim in enumerate(dims):
                with m.State(f"Size-{i}"):
                    exact = in_bytes(p, self.settings, sizes[dim]) if i == 0 else products[i - 1] * sizes[dim]
                    value = _at_most(exact, size_bits)
                    if i < len(dims) - 1:
                        m.d.sync += products[i].eq(value)
                        m.next = f"Size-{i + 1}"
                    else:
                        m.d.sync += [tile.words.eq((value + self._port - 1) >> self._in_word), tile.rest.eq(value)]
                        m.next = "Offer"
            with m.State("Offer"):
                m.d.comb += offered.eq(1)
                with m.If(taken):
                    m.next = "Advance"
            # In a cycle of its own: that a tile is taken depends on the memory's port.
            with m.State("Advance"):
                m.d.comb += [nest.advance.eq(1), self.overflow.eq(tile.fetches & ~tile.fits)]
                m.next = "Offer"
                # The loop that turns sets every loop inside it back: their dimensions change too.
                for i, dim in reversed(list(enumerate(dims))):
                    if innermost[dim] >= 0:
                        with m.If(nest.ended[innermost[dim] + 1]):
                            m.next = f"Size-{i}"
                with m.If(nest.finished):
                    m.next = "Idle"

    def _address(self, m: Module, nest: LoopNest, tile: _Tile) -> None:
        """Whether the present iteration fetches its tile, and where from.

        A loop over output rows or columns uses the same weights again: the address goes back to where the loop's
        execution began. The marked loop itself, if it is such a loop, holds its tile and fetches nothing again.
        """
        p = self.parameters
        holds = p.weight_marker < len(p.loops) and p.loops[p.weight_marker] in "yx"
        begins = {
            j: Signal.like(tile.address, name=f"begin_{j}")
            for j, dim in enumerate(nest.loops)
            if dim in "yx" and j != p.weight_marker
        }
        with m.If(nest.start):
            m.d.sync += tile.address.eq(self.settings.weight_base)
            m.d.sync += [begin.eq(self.settings.weight_base) for begin in begins.values()]
        with m.Elif(nest.advance):
            following = Signal.like(tile.address)
            m.d.comb += following.eq(Mux(tile.fetches, tile.address + (tile.words << self._in_word), tile.address))
            for j, begin in begins.items():
                with m.If(nest.turning[j]):
                    m.d.comb += following.eq(begin)
            m.d.sync += [tile.address.eq(following), tile.fetches.eq(~nest.turning[p.weight_marker] if holds else 1)]
            for j, begin in begins.items():
                with m.If(nest.ended[j]):
                    m.d.sync += begin.eq(following)

    def _announce(self, m: Module, tiles: TileQueue, tile: _Tile) -> None:
        """Words are written one after the other; a tile that is held begins where it was written."""
        depth = self.parameters.weight_depth
        write_word, tile_word, live = Signal(self.index), Signal(self.index), Signal(depth.bit_length())
        m.d.comb += [
            tiles.i_tile.payload.token.eq(Mux(tile.fetches, write_word, tile_word)),
            tiles.i_tile.payload.drop.eq(Mux(tile.fetches, live, 0)),
        ]
        with m.If(tiles.i_tile.valid & tiles.i_tile.ready & tile.fetches):
            reached = Signal(self.index + 1)
            m.d.comb += reached.eq(write_word + tile.words)
            m.d.sync += [
                tile_word.eq(write_word),
                live.eq(tile.words),
                write_word.eq(Mux(reached >= depth, reached - depth, reached)),
            ]

    def _fetch(
        self, m: Module, tiles: TileQueue, words: WordQueue, tile: _Tile, offered: Signal, taken: Signal
    ) -> None:
        """A word a cycle; with the last one of a tile the next tile is taken."""
        entry, request, whole = words.i_entry, self.o_request, (1 << self._port) - 1
        address, words_left = Signal.like(tile.address), Signal(tiles.free.shape())
        last_enable = Signal(self._port)
        active, is_last, goes, takes = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            active.eq(words_left != 0),
            is_last.eq(words_left == 1),
            goes.eq(active & (tiles.free != 0) & entry.ready & request.ready),
            takes.eq(Mux(active, goes & is_last & tile.fetches, tile.fetches | entry.ready)),
            tiles.i_tile.valid.eq(offered & takes),
            taken.eq(tiles.i_tile.valid & tiles.i_tile.ready),
            tiles.reserves.eq(goes),
            tiles.reserve.eq(1),
            request.valid.eq(active & (tiles.free != 0) & entry.ready),
            request.payload.eq(read_request(address, Mux(is_last, last_enable, whole), self.parameters.ports.W)),
            entry.valid.eq(goes | (~active & taken & ~tile.fetches)),
            entry.payload.word.eq(active),
            entry.payload.end.eq(~active | is_last),
        ]
        with m.If(goes):
            m.d.sync += [address.eq(address + self._port), words_left.eq(words_left - 1)]
        with m.If(taken & tile.fetches):
            m.d.sync += [
                address.eq(tile.address),
                words_left.eq(tile.words),
                last_enable.eq(Mux(tile.rest == 0, whole, (C(1, self._port) << tile.rest) - 1)),
            ]

    def _hold(self, m: Module, words: WordQueue) -> None:
        """The ring: words in, bytes out."""
        p = self.parameters
        depth = p.weight_bytes // p.weight_banks
        m.submodules.memory = memory = ByteMemory(
            depth=depth, banks=p.weight_banks, lanes=p.weight_reads, block_ram=p.block_ram, gated=p.lane_registers
        )
        if p.lane_registers:
            m.d.comb += memory.reads.eq(self.reads)
        m.submodules.writes = writes = BankWrites(depth=depth, banks=p.weight_banks, writes=self._port, aligned=True)
        place = Signal(self.index)
        m.d.comb += [
            words.o_word.ready.eq(1),
            writes.enable.eq(words.o_word.valid.replicate(self._port)),
            writes.address.eq(place << self._in_word),
            writes.data.eq(words.o_word.payload.data),
            memory.i_banks.eq(writes.o_banks),
            memory.read_address.eq(self.read_address),
            self.read_data.eq(memory.read_data),
        ]
        with m.If(words.o_word.valid):
            m.d.sync += place.eq(Mux(place == p.weight_depth - 1, 0, place + 1))


def _at_most(number: Value, bits: int) -> Value:
    """A number in so many bits; the largest one that they hold if it is larger."""
    return number if len(number) <= bits else number[:bits] | number[bits:].any().replicate(bits)
