"""Where the next tile of the input lies: its rows and columns, what of it stays in the ring, and what is new."""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import C, Cat, Module, Mux, Shape, ShapeLike, Signal, Value, ValueLike, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.input.columns import TileColumns, in_row
from hwgen.gateware.hwc.input.placed_tile import placed_tile
from hwgen.gateware.hwc.input.rows import TileRows
from hwgen.gateware.hwc.input.walk import InputWalk
from hwgen.gateware.hwc.settings import FACTOR_BITS, bytes_in_ring, in_bytes, settings_signature
from hwgen.gateware.hwc.token import input_token

__all__ = ["InputPlacer"]


class _Product:
    """One multiplier for all addresses: a state sets its factors, the state after the next has the product.

    The product by a channel's size has two parts, as multipliers have `FACTOR_BITS`; all others are ``value``.
    """

    def __init__(self, m: Module, numbers: int, sizes: int) -> None:
        self._a, self._b, self.value = Signal(numbers), Signal(sizes), Signal(32)
        self._above = Signal(32 - FACTOR_BITS)
        m.d.sync += [self.value.eq(self._a * self._b[:FACTOR_BITS]), self._above.eq(self._a * self._b[FACTOR_BITS:])]

    @property
    def whole(self) -> Value:
        """The address with both parts."""
        return self.value + (self._above << FACTOR_BITS)

    def of(self, a: Value, b: Value) -> list[Assign]:
        return [self._a.eq(a), self._b.eq(b)]


class _Address:
    """What a tile's address gets in this cycle: the base, which begins it; the first used byte's; a product."""

    def __init__(self) -> None:
        self.begins, self.adds_first, self.adds_product = Signal(), Signal(), Signal()


class _Ring:
    """Elements of the ring: where the tile's first row lies, or would lie, at first before it; where the next new row
    will be written; how many belong to the tile, and how many of the tile before do not."""

    def __init__(self, place: ShapeLike, number: ShapeLike, padding: int) -> None:
        # Before the ring lie rows that stay, and padding, of so many rows that they are told in as many bits.
        before = Shape.cast(number).width + padding + 1
        self.first, self.write, self.live = Signal(signed(before)), Signal(place), Signal(number)
        self.drop = Signal(number)
        # The product at hand is the room of the new rows.
        self.grows = Signal()


class InputPlacer(wiring.Component):
    """Walks the loops down to the marked one: nine cycles for a tile, eleven where rows or padding lie above the new
    ones, two where all of it stays.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Begin with the first tile (after a reset).
    o_tile : Out
        One tile after the other, each in registers, while the next one is placed.
    token : Out
        What the sequencer learns about it.
    drop : Out
        Elements of the tile before that it does not keep.
    overflow : Out(1)
        A tile needs more slabs than the ring has.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_tile": Out(placed_tile(parameters)),
                "token": Out(input_token(parameters)),
                "drop": Out(parameters.input_elements.bit_length()),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, bits, settings = self.parameters, self.parameters.position_bits, self.settings
        self._tile = tile = placed_tile(p).create(path=("placed",))
        token = Signal.like(self.token)
        m.submodules.rows = rows = TileRows(p)
        m.submodules.columns = columns = TileColumns(p)
        self._slid: Value | None = columns.slid if p.columns_slide else None
        m.submodules.walk = walk = InputWalk(p)
        for block in (walk, columns):
            connect(m, flipped(settings), block.settings)
        m.d.comb += [
            rows.corner.eq(walk.row),
            rows.span.eq(walk.row_span),
            rows.kernel.eq(walk.kernel_rows),
            rows.stride.eq(settings.stride_y),
            rows.height.eq(settings.input_height),
            columns.corner.eq(walk.column),
            columns.span.eq(walk.column_span),
            columns.kernel.eq(walk.kernel_columns),
        ]
        sizes = max(len(settings.input_plane), len(settings.input_pitch), len(settings.input_slab))
        product = _Product(m, bits + 2, sizes)
        ring = _Ring(tile.slot.shape(), self.drop.shape(), len(settings.padding_top))
        self._offer(m, tile, token, ring)
        # Of a line in the shared memory.
        first_byte, last_byte = Signal(bits + 4), Signal(signed(bits + 5))
        last: Value = columns.last_used
        in_word = len(tile.first)
        if p.wide:
            last = Mux(settings.wide, Cat(C(1, 1), last).as_signed(), last)
        m.d.comb += [
            token.ring.eq(ring.first),
            token.row.eq(rows.corner),
            token.column.eq(columns.corner),
            token.quotient.eq(columns.quotient),
            token.phase.eq(columns.phase),
            first_byte.eq(in_row(p, settings, in_bytes(p, settings, columns.first_used))),
            last_byte.eq(in_row(p, settings, last)),
            tile.words.eq((last_byte >> in_word) - (first_byte >> in_word)),
            tile.first.eq(first_byte),
            tile.last.eq(last_byte),
            tile.quotient.eq(bytes_in_ring(p, settings, columns.word_quotient)),
            tile.phase.eq(columns.word_phase),
            tile.gaps.eq(self._if_slid(0, columns.gaps)),
            tile.kernel_columns.eq(columns.kernel),
            tile.kernel_rows.eq(rows.kernel),
            tile.row_gaps.eq(rows.gaps),
            tile.run.eq(rows.run),
            tile.gap.eq(settings.stride_y - rows.kernel + 1),
            tile.at_gap.eq(rows.gaps & (rows.run == 1)),
            tile.fetches.eq(tile.rows != 0),
            tile.single_row.eq(tile.rows == 1),
            tile.single_channel.eq(tile.channels == 1),
            tile.single_word.eq(last_byte[in_word:] == first_byte[in_word:]),
        ]
        # Rows of padding above the ring's contents lie, in thought, before it: once around or more.
        with m.If(ring.first < 0):
            m.d.sync += ring.first.eq(ring.first + p.input_elements)
        if self._slid is not None:
            m.d.comb += tile.slid.eq(self._slid)
        stays, address = self._what_stays(m, walk), self._address(m, columns, product)
        with m.FSM(name="place"):
            self._begin(m, walk, rows, columns, ring, product, stays, address)
            self._multiply(m, rows, columns, product, ring, address)
            with m.State("Overflow"):
                m.d.comb += self.overflow.eq(1)
            with m.State("Offer"):
                self._grow(m, ring, product)
                m.d.comb += tile.valid.eq((ring.first >= 0) & columns.placed)
                with m.If(tile.valid & tile.ready):
                    m.d.comb += walk.advance.eq(1)
                    # As it is for a tile that stays.
                    m.d.sync += [tile.rows.eq(0), ring.drop.eq(0)]
                    m.next = "Begin"
                    with m.If(walk.finished):
                        m.next = "Idle"
        return m

    def _offer(
        self, m: Module, tile: wiring.PureInterface, token: "data.View[data.StructLayout]", ring: _Ring
    ) -> None:
        """A tile that is placed waits in registers to be taken; the next one is placed meanwhile."""
        offered = self.o_tile
        m.d.comb += tile.ready.eq(~offered.valid)
        with m.If(~offered.valid):
            m.d.sync += [
                *(
                    getattr(offered, name).eq(getattr(tile, name))
                    for name in offered.signature.members
                    if name != "ready"
                ),
                self.token.eq(token),
                self.drop.eq(ring.drop),
            ]
        with m.Elif(offered.ready):
            m.d.sync += offered.valid.eq(0)

    def _begin(
        self,
        m: Module,
        walk: InputWalk,
        rows: TileRows,
        columns: TileColumns,
        ring: _Ring,
        product: _Product,
        stays: tuple[Value, Value],
        address: "_Address",
    ) -> None:
        """Begin a tile: from the loops to rows, columns and the channel's address."""
        settings = self.settings
        channel, keeps = self._seek(m, walk, *stays)
        m.d.comb += self._tile.channels.eq(walk.channels)
        if self.parameters.columns_slide:
            # Kernel columns that the stride jumps over are not shared between output columns.
            over_outputs = self.parameters.loops[self.parameters.input_marker] == "x"
            shared = columns.kernel > settings.stride_x if over_outputs else 1
            m.d.comb += columns.slides.eq(keeps & shared & (ring.live != 0))
        else:
            m.d.comb += rows.keeps.eq(keeps)
        with m.State("Corner"):
            m.d.sync += product.of(channel, settings.input_plane)
            m.d.comb += [columns.prepare.eq(1), rows.begin.eq(1), address.begins.eq(1)]
            m.next = "Span"
        with m.State("Span"):
            m.d.comb += columns.begin.eq(1)
            m.next = "Count-Rows"
        with m.State("Count-Rows"):
            with m.If(~rows.counting):
                m.next = "Add-Rows"
        with m.State("Add-Rows"):
            m.d.comb += [rows.ends.eq(1), address.adds_first.eq(1)]
            m.next = "Place-Rows"

    def _seek(self, m: Module, walk: InputWalk, stays: Value, whole: Value) -> tuple[Signal, Signal]:
        """Find the group of the output channels: the tile's first channel; whether some of the tile before stays."""
        settings, bits = self.settings, self.parameters.position_bits
        group_begin, group_channel, channel = Signal(bits), Signal(bits), Signal(bits + 1)
        # Of the tile's first output channel in the group that is looked at.
        place, back = Signal(signed(bits + 1)), Signal()
        same_group, keeps = Signal(), Signal()
        m.d.comb += [place.eq(walk.output - group_begin), back.eq(place < 0)]
        m.d.sync += channel.eq(group_channel + walk.channel)
        with m.State("Idle"):
            with m.If(self.start):
                m.d.comb += walk.start.eq(1)
                m.d.sync += [group_begin.eq(0), group_channel.eq(0)]
                m.next = "Begin"
        with m.State("Begin"):
            with m.If(back | (place >= settings.group_outputs)):
                m.d.sync += [
                    group_begin.eq(_moved(group_begin, settings.group_outputs, back)),
                    group_channel.eq(_moved(group_channel, settings.group_inputs, back)),
                    same_group.eq(0),
                ]
            with m.Elif(whole & same_group):
                m.next = "Offer"
            with m.Else():
                m.d.sync += [same_group.eq(1), keeps.eq(stays & same_group)]
                m.next = "Corner"
        return channel, keeps

    def _what_stays(self, m: Module, walk: InputWalk) -> tuple[Value, Value]:
        """Whether rows or columns, and whether all of the tile before stays: only inside an execution, where only the
        marked loop turns."""
        p = self.parameters
        same_execution, nothing = Signal(), Value.cast(0)
        if p.input_marker < len(p.loops):
            with m.If(walk.advance):
                m.d.sync += same_execution.eq(walk.goes_on)
        match p.loops[p.input_marker] if p.input_marker < len(p.loops) else None:
            case "m":
                return nothing, same_execution
            case None | "c":
                return nothing, nothing
        return same_execution & self.settings.input_slides, nothing

    def _address(self, m: Module, columns: TileColumns, product: _Product) -> "_Address":
        """The address of a tile is added up, a part in a cycle, by one adder."""
        p, settings, address = self.parameters, self.settings, _Address()
        word = p.ports.input_bytes
        base = settings.input_base & ~(word - 1) if p.cluster else settings.input_base
        first = in_row(p, settings, in_bytes(p, settings, columns.first_used)) & ~(word - 1)
        with m.If(address.begins):
            m.d.sync += self._tile.address.eq(base)
        with m.Elif(address.adds_first | address.adds_product):
            m.d.sync += self._tile.address.eq(self._tile.address + Mux(address.adds_first, first, product.whole))
        return address

    def _multiply(
        self, m: Module, rows: TileRows, columns: TileColumns, product: _Product, ring: _Ring, address: "_Address"
    ) -> None:
        """Addresses in memory and in the ring, one multiplication a cycle; those by nothing are left out."""
        settings, tile = self.settings, self._tile
        write, live, slab = ring.write, ring.live, settings.input_slab
        kept, slabs, skips = Signal.like(rows.kept), Signal(len(rows.kept) + 1), Signal()
        m.d.sync += slabs.eq(tile.rows + kept)
        with m.State("Place-Rows"), self._moved(m, columns, ring) as begin:
            m.d.comb += address.adds_product.eq(1)
            m.d.sync += [
                *product.of(rows.first_new, settings.input_pitch),
                ring.first.eq(begin),
                ring.drop.eq(self._if_slid(0, live)),
                live.eq(self._if_slid(live, 0)),
                # Without columns in the image there is nothing in the ring either.
                tile.rows.eq(Mux(columns.any, rows.new, 0)),
                kept.eq(Mux(columns.any, rows.kept, 0)),
                skips.eq(rows.skipped != 0),
            ]
            m.next = "Place-Line"
        with m.State("Place-Line"):
            m.d.sync += product.of(Mux(skips, rows.skipped, tile.rows), slab)
            m.next = "Place-End"
            with m.If(skips):
                m.next = "Place-Corner"
        with m.State("Place-Corner"):
            m.d.comb += address.adds_product.eq(1)
            m.d.sync += product.of(kept, slab)
            m.next = "Place-Kept"
        with m.State("Place-Kept"):
            m.d.sync += [*product.of(tile.rows, slab), ring.first.eq(write - product.value)]
            m.next = "Place-End"
        with m.State("Place-End"):
            with m.If(~skips):
                m.d.comb += address.adds_product.eq(1)
            with m.Else():
                m.d.sync += [ring.drop.eq(ring.drop - product.value), live.eq(self._if_slid(live, product.value))]
            m.d.sync += [tile.slot.eq(write), ring.grows.eq(1)]
            m.next = "Offer"
            with m.If(slabs > settings.input_slabs):
                m.next = "Overflow"

    def _grow(self, m: Module, ring: _Ring, product: _Product) -> None:
        """The new rows take up their room in the ring, once."""
        elements = self.parameters.input_elements
        reached = Signal(len(ring.live) + 1)
        m.d.comb += reached.eq(ring.write + self._if_slid(ring.live, product.value[: len(ring.live)]))
        m.d.sync += ring.grows.eq(0)
        with m.If(ring.grows):
            m.d.sync += [
                ring.write.eq(Mux(reached >= elements, reached - elements, reached)),
                ring.live.eq(self._if_slid(ring.live, ring.live + product.value)),
            ]

    def _if_slid(self, then: ValueLike, otherwise: ValueLike) -> ValueLike:
        return otherwise if self._slid is None else Mux(self._slid, then, otherwise)

    @contextmanager
    def _moved(self, m: Module, columns: TileColumns, ring: _Ring) -> Iterator[Value]:
        """Where new rows are written. A tile that slides begins as far after the previous one as its lines do;
        nothing happens until its columns are placed, when this is known."""
        if self._slid is None:
            yield ring.write
            return
        settings, elements = self.settings, self.parameters.input_elements
        shift, moved = Signal(self.drop.shape()), Signal(len(self.drop) + 1)
        m.d.comb += [
            shift.eq(bytes_in_ring(self.parameters, settings, settings.input_shift + columns.moved)),
            moved.eq(self._tile.slot + shift),
        ]
        begin = Mux(self._slid, Mux(moved >= elements, moved - elements, moved), ring.write)
        with m.If(~self._slid | columns.placed):
            m.d.sync += ring.write.eq(begin)
            yield begin


def _moved(value: Value, by: Value, back: Value) -> Value:
    """A value moved on by a number, or ``back`` by it, modulo a power of two, with one adder."""
    carried = Cat(back, by ^ back.replicate(len(value)))
    return (Cat(C(1, 1), value) + carried)[1 : 1 + len(value)]
