"""Where the next box of the input lies: its rows and columns, what of it stays in the ring, and what is new."""

from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value, ValueLike, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.input_columns import Columns, in_row
from hwgen.gateware.nest import LoopNest, Ranges
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import in_bytes, settings_signature
from hwgen.gateware.stride import times_stride
from hwgen.gateware.token import input_token

__all__ = ["InputPlacer", "input_box"]


def input_box(parameters: HwcParameters) -> wiring.Signature:
    """A box, seen from the placer; a stream's handshake without its payload in one piece.

    Members
    -------
    valid : Out(1), ready : In(1)
    rows, channels : Out
        New rows (there may be none), and channels.
    words, first, last : Out
        Words of a line, less one; first used byte of its first, last used byte of its last word.
    quotient, phase : Out
        Place of the first word's first byte in a line; the quotient is negative where the line begins behind it.
    slid : Out(1)
        The new columns lie behind others that stay. Where columns slide.
    gaps, kernel_columns : Out
        Whether only so many columns of each stride are used.
    run, kernel_rows, row_gaps : Out
        New rows before the next gap between rows, rows between two gaps, and whether there are gaps.
    address : Out(32)
        Of the first word of the first new row.
    slot : Out
        Element of the ring at which the first new row begins.
    """
    bits, ring = parameters.position_bits, parameters.input_elements
    slides = parameters.columns_slide
    return wiring.Signature(
        {
            "valid": Out(1),
            "ready": In(1),
            "rows": Out(bits + 3),
            "channels": Out(bits),
            "words": Out(bits),
            "first": Out(2),
            "last": Out(2),
            "quotient": Out(signed(ring.bit_length() + 1 if slides else 3)),
            **({"slid": Out(1)} if slides else {}),
            "phase": Out(2),
            "gaps": Out(1),
            "kernel_columns": Out(2),
            "run": Out(2),
            "kernel_rows": Out(2),
            "row_gaps": Out(1),
            "address": Out(32),
            "slot": Out((ring - 1).bit_length()),
        }
    )


class _Product:
    """One multiplier for all addresses: what it multiplies depends on the state; the next state has the product."""

    def __init__(self, m: Module, bits_a: int, bits_b: int) -> None:
        self._a, self._b, self.value = Signal(bits_a), Signal(bits_b), Signal(32)
        self._wanted = Signal()
        with m.If(self._wanted):
            m.d.sync += self.value.eq(self._a * self._b)

    def of(self, a: Value, b: Value) -> list[Assign]:
        return [self._a.eq(a), self._b.eq(b), self._wanted.eq(1)]


class _Rows:
    """Rows of the box; they count from the padding's edge."""

    def __init__(self, bits: int) -> None:
        # The box's first and last row, and the rows at hand: all of them, or those up to a gap.
        self.corner, self.last, self.at = Signal(bits + 3), Signal(bits + 3), Signal(bits + 3)
        self.span, self.kernel = Signal(bits + 3), Signal(bits)
        # The first row behind the last box that is still in the ring, or in the image; the first one below it.
        self.next_new, self.bottom = Signal(bits + 3), Signal(bits + 3)
        # Rows above the first new one, those of them that lie in the ring, new ones, and the first new one.
        self.skipped, self.kept, self.new = Signal(bits + 3), Signal(bits + 3), Signal(bits + 3)
        self.first_new = Signal(bits + 3)


class _Ring:
    """Elements of the ring: where the box's first row lies, or would lie, at first before it; where the next new row
    will be written; and how many belong to the box."""

    def __init__(self, place: ShapeLike, number: ShapeLike) -> None:
        self.first, self.write, self.live = Signal(signed(33)), Signal(place), Signal(number)
        # The product at hand is the room of the new rows.
        self.grows = Signal()


class InputPlacer(wiring.Component):
    """Walks the loops down to the marked one: five cycles for a box, six where rows or columns stay, two where all of
    it does.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Begin with the first box (after a reset).
    o_box : Out
        One box after the other.
    token : Out
        What the sequencer learns about it.
    drop : Out
        Elements of the box before that it does not keep.
    overflow : Out(1)
        A box needs more slabs than the ring has.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_box": Out(input_box(parameters)),
                "token": Out(input_token(parameters)),
                "drop": Out(parameters.input_elements.bit_length()),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, bits, box, settings = self.parameters, self.parameters.position_bits, self.o_box, self.settings
        m.submodules.nest = nest = LoopNest(loops=p.loops[: p.input_marker + 1], bits=bits)
        ranges = nest.follow(m, settings)
        rows, columns, product = _Rows(bits), Columns(p), _Product(m, bits + 3, 28)
        self._slide, self._channel = columns.slide, Signal(bits + 1)
        ring = _Ring(box.slot.shape(), self.drop.shape())
        # Of a line in the shared memory.
        first_byte, last_byte = Signal(bits + 4), Signal(signed(bits + 5))
        m.d.comb += [
            self.token.ring.eq(ring.first),
            self.token.row.eq(rows.corner - settings.padding_top),
            self.token.column.eq(columns.corner - settings.padding_left),
            self.token.quotient.eq(columns.quotient),
            self.token.phase.eq(columns.phase),
            first_byte.eq(in_row(p, settings, in_bytes(p, settings, columns.first_used))),
            last_byte.eq(in_row(p, settings, in_bytes(p, settings, columns.last_used + 1) - 1)),
            box.words.eq((last_byte >> 2) - (first_byte >> 2)),
            box.first.eq(first_byte),
            box.last.eq(last_byte),
            box.quotient.eq(in_bytes(p, settings, columns.word_quotient)),
            box.phase.eq(columns.word_phase),
            box.gaps.eq(self._if_slid(0, (columns.kernel < settings.stride_x) & columns.several)),
            box.kernel_columns.eq(columns.kernel),
            box.kernel_rows.eq(rows.kernel),
            box.row_gaps.eq(rows.kernel < settings.stride_y),
        ]
        # Rows of padding above the ring's contents lie, in thought, before it: once around or more.
        with m.If(ring.first < 0):
            m.d.sync += ring.first.eq(ring.first + p.input_elements)
        if self._slide is not None:
            m.d.comb += box.slid.eq(self._slide.slid)
        stays, whole = self._what_stays(m, nest)
        with m.FSM(name="place"):
            self._begin(m, nest, ranges, rows, columns, ring, product, stays, whole)
            self._count_rows(m, rows, columns, product)
            self._multiply(m, rows, columns, product, ring)
            with m.State("Overflow"):
                m.d.comb += self.overflow.eq(1)
            with m.State("Offer"):
                self._grow(m, ring, product)
                m.d.comb += box.valid.eq((ring.first >= 0) & columns.placed)
                with m.If(box.valid & box.ready):
                    m.d.comb += nest.advance.eq(1)
                    # As it is for a box that stays.
                    m.d.sync += [box.rows.eq(0), self.drop.eq(0)]
                    m.next = "Begin"
                    with m.If(nest.finished):
                        m.next = "Idle"
        columns.place(m, p, settings, box.gaps)
        return m

    def _begin(
        self,
        m: Module,
        nest: LoopNest,
        ranges: Ranges,
        rows: _Rows,
        columns: Columns,
        ring: _Ring,
        product: _Product,
        stays: Value,
        whole: Value,
    ) -> None:
        """Find the group of the output channels; then from loops to rows, columns and the channel's address."""
        p, settings, bits = self.parameters, self.settings, self.parameters.position_bits
        low, high = ranges.low, ranges.high
        marked = p.loops[p.input_marker] if p.input_marker < len(p.loops) else None
        group_begin, group_end, group_channel = Signal(bits), Signal(bits + 1), Signal(bits)
        same_group = Signal()
        with m.State("Idle"):
            with m.If(self.start):
                m.d.comb += nest.start.eq(1)
                m.d.sync += [group_begin.eq(0), group_end.eq(settings.group_outputs), group_channel.eq(0)]
                m.next = "Begin"
        with m.State("Begin"):
            with m.If(low["m"] >= group_end):
                m.d.sync += [
                    group_begin.eq(group_end),
                    group_end.eq(group_end + settings.group_outputs),
                    group_channel.eq(group_channel + settings.group_inputs),
                    same_group.eq(0),
                ]
            with m.Elif(low["m"] < group_begin):
                m.d.sync += [
                    group_begin.eq(group_begin - settings.group_outputs),
                    group_end.eq(group_begin),
                    group_channel.eq(group_channel - settings.group_inputs),
                    same_group.eq(0),
                ]
            with m.Elif(whole & same_group):
                m.next = "Offer"
            with m.Else():
                corner_row = times_stride(low["y"], settings.stride_y) + low["k"]
                last_row = times_stride((high["y"] - 1)[:bits], settings.stride_y) + (high["k"] - 1)[:bits]
                kernel_rows = high["k"] - low["k"]
                m.d.sync += [
                    self._channel.eq(group_channel + low["c"]),
                    self.o_box.channels.eq(high["c"] - low["c"]),
                    rows.corner.eq(corner_row),
                    rows.at.eq(corner_row),
                    rows.last.eq(last_row),
                    rows.kernel.eq(kernel_rows),
                    rows.span.eq(Mux(kernel_rows < settings.stride_y, kernel_rows, last_row + 1 - corner_row)),
                    rows.bottom.eq(settings.padding_top + settings.input_height),
                    rows.skipped.eq(0),
                    rows.kept.eq(0),
                    rows.new.eq(0),
                    columns.corner.eq(times_stride(low["x"], settings.stride_x) + low["l"]),
                    columns.last.eq(times_stride((high["x"] - 1)[:bits], settings.stride_x) + (high["l"] - 1)[:bits]),
                    columns.kernel.eq(high["l"] - low["l"]),
                    columns.several.eq(high["x"] - low["x"] != 1),
                    columns.placed.eq(0),
                    same_group.eq(1),
                ]
                if self._slide is None:
                    with m.If(~(stays & same_group)):
                        m.d.sync += rows.next_new.eq(settings.padding_top)
                else:
                    m.d.sync += rows.next_new.eq(settings.padding_top)
                    # Kernel columns that the stride jumps over are not shared between output columns.
                    shared = high["l"] - low["l"] > settings.stride_x if marked == "x" else 1
                    m.d.sync += [
                        self._slide.slid.eq(stays & same_group & shared & (ring.live != 0)),
                        self._slide.behind.eq(columns.last_used + 1),
                        self._slide.quotient.eq(columns.quotient),
                    ]
                m.next = "Count-Rows"

    def _what_stays(self, m: Module, nest: LoopNest) -> tuple[Value, Value]:
        """Whether rows or columns, and whether all of the box before stays: only inside an execution, where only the
        marked loop turns."""
        p = self.parameters
        same_execution, nothing = Signal(), Value.cast(0)
        if p.input_marker < len(p.loops):
            with m.If(nest.advance):
                m.d.sync += same_execution.eq(nest.turning[p.input_marker])
        match p.loops[p.input_marker] if p.input_marker < len(p.loops) else None:
            case "m":
                return nothing, same_execution
            case None | "c":
                return nothing, nothing
        return same_execution & self.settings.input_slides, nothing

    def _count_rows(self, m: Module, rows: _Rows, columns: Columns, product: _Product) -> None:
        """All rows at once, or, where they have gaps, the rows of one output row a cycle."""
        settings, bits = self.settings, self.parameters.position_bits
        top, left = settings.padding_top, settings.padding_left
        right = left + settings.input_width

        def above(row: Value, name: str) -> Signal:
            """How many of the rows at hand lie above a row."""
            distance, count = Signal(signed(bits + 4), name=f"to_{name}"), Signal(bits + 3, name=f"above_{name}")
            m.d.comb += [
                distance.eq(row - rows.at),
                count.eq(Mux(distance < 0, 0, Mux(distance > rows.span, rows.span, distance))),
            ]
            return count

        with m.State("Count-Rows"):
            above_image = above(top, "image")
            above_new = above(rows.next_new, "new")
            above_bottom = above(rows.bottom, "bottom")
            first_used = Mux(columns.corner > left, columns.corner - left, 0)
            if self._slide is not None:
                fresh = Signal(columns.first_used.shape())
                m.d.comb += fresh.eq(
                    Mux(self._slide.slid & (self._slide.behind > first_used), self._slide.behind, first_used)
                )
                m.d.sync += self._slide.kept.eq(fresh - first_used)
                first_used = fresh
            m.d.comb += product.of(self._channel, settings.input_plane)
            m.d.sync += [
                rows.skipped.eq(rows.skipped + above_new),
                rows.kept.eq(rows.kept + above_new - above_image),
                rows.new.eq(rows.new + above_bottom - above_new),
                rows.at.eq(rows.at + settings.stride_y),
                columns.first_used.eq(first_used),
                columns.clip.eq(Mux(columns.corner > left, 0, left - columns.corner)),
                columns.last_used.eq(Mux(columns.last >= right, right - 1, columns.last) - left),
            ]
            with m.If(rows.new == 0):
                m.d.sync += [rows.first_new.eq(rows.at + above_new), self.o_box.run.eq(rows.kernel - above_new)]
            with m.If(rows.at + rows.span > rows.last):
                m.d.comb += columns.begin.eq(1)
                if self._slide is None:
                    below = Mux(rows.last < top, top, (rows.last + 1)[: len(rows.last)])
                    m.d.sync += rows.next_new.eq(Mux(rows.last >= rows.bottom, rows.bottom, below))
                m.next = "Place-Rows"

    def _multiply(self, m: Module, rows: _Rows, columns: Columns, product: _Product, ring: _Ring) -> None:
        """Addresses in memory and in the ring, one multiplication a cycle; those by nothing are left out."""
        p, settings, box = self.parameters, self.settings, self.o_box
        write, live = ring.write, ring.live
        kept = Signal.like(rows.kept)
        with m.State("Place-Rows"), self._moved(m, columns, ring) as begin:
            m.d.comb += product.of(rows.first_new, settings.input_pitch)
            base = settings.input_base & ~3 if p.cluster else settings.input_base
            first = in_row(p, settings, in_bytes(p, settings, columns.first_used))
            m.d.sync += [
                box.address.eq(base + product.value + (first & ~3)),
                ring.first.eq(begin),
                self.drop.eq(self._if_slid(0, live)),
                live.eq(self._if_slid(live, 0)),
            ]
            # Without columns in the image there is nothing in the ring either.
            with m.If((columns.last_used >= 0) & (columns.last_used >= columns.first_used)):
                m.d.sync += [box.rows.eq(rows.new), kept.eq(rows.kept)]
            with m.Else():
                m.d.sync += [box.rows.eq(0), kept.eq(0)]
            m.next = "Place-Corner"
            with m.If(rows.skipped == 0):
                m.next = "Place-End"
        with m.State("Place-Corner"):
            m.d.comb += product.of(rows.skipped, settings.input_slab)
            m.d.sync += box.address.eq(box.address + product.value)
            m.next = "Place-End"
            with m.If((kept != rows.skipped) & (kept != 0)):
                m.next = "Place-Kept"
        with m.State("Place-Kept"):
            m.d.comb += product.of(kept, settings.input_slab)
            m.d.sync += ring.first.eq(self._corner(write, product))
            m.next = "Place-End"
        with m.State("Place-End"):
            m.d.comb += product.of(box.rows, settings.input_slab)
            with m.If(rows.skipped == 0):
                m.d.sync += box.address.eq(box.address + product.value)
            with m.Elif((kept == rows.skipped) | (kept == 0)):
                m.d.sync += ring.first.eq(self._corner(write, product))
            with m.If((rows.skipped != 0) & (kept != 0)):
                m.d.sync += [self.drop.eq(self.drop - product.value), live.eq(product.value)]
            m.d.sync += [box.slot.eq(write), ring.grows.eq(1)]
            m.next = "Offer"
            with m.If(box.rows + kept > settings.input_slabs):
                m.next = "Overflow"

    def _corner(self, write: Value, product: _Product) -> Value:
        """Where the box's first row lies in the ring, so much before the first new one."""
        before = Value.cast(write - product.value)
        return Mux(before < 0, write + self.parameters.input_elements - product.value, before)

    def _grow(self, m: Module, ring: _Ring, product: _Product) -> None:
        """The new rows take up their room in the ring, once."""
        elements = self.parameters.input_elements
        reached = Signal(33)
        m.d.comb += reached.eq(ring.write + self._if_slid(ring.live, product.value))
        m.d.sync += ring.grows.eq(0)
        with m.If(ring.grows):
            m.d.sync += [
                ring.write.eq(Mux(reached >= elements, reached - elements, reached)),
                ring.live.eq(self._if_slid(ring.live, ring.live + product.value)),
            ]

    def _if_slid(self, then: ValueLike, otherwise: ValueLike) -> ValueLike:
        return otherwise if self._slide is None else Mux(self._slide.slid, then, otherwise)

    @contextmanager
    def _moved(self, m: Module, columns: Columns, ring: _Ring) -> Iterator[Value]:
        """Where new rows are written. A box that slides begins as far behind the one before as its lines do, which is
        known when its columns are placed; nothing happens until then."""
        if self._slide is None:
            yield ring.write
            return
        settings, elements, slide = self.settings, self.parameters.input_elements, self._slide
        shift, moved = Signal(self.drop.shape()), Signal(len(self.drop) + 1)
        m.d.comb += [
            shift.eq(in_bytes(self.parameters, settings, settings.input_shift + slide.quotient - columns.quotient)),
            moved.eq(self.o_box.slot + shift),
        ]
        begin = Mux(slide.slid, Mux(moved >= elements, moved - elements, moved), ring.write)
        with m.If(~slide.slid | columns.placed):
            m.d.sync += ring.write.eq(begin)
            yield begin
