"""The input's stream: fetches what is new in each iteration of the marked loop and keeps the box in a ring."""

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.hdl._ast import Assign
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.box_queue import BoxQueue
from hwgen.gateware.byte_memory import ByteMemory
from hwgen.gateware.input_fill import InputFill, input_place
from hwgen.gateware.nest import LoopNest, Ranges
from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.stride import quotient_and_phase, times_stride
from hwgen.gateware.tcdm import Request, read_request
from hwgen.gateware.token import input_token

__all__ = ["InputStream"]


class _Box:
    """Registers that describe the box at hand; rows and columns count from the padding's edge."""

    def __init__(self, bits: int, flat: int) -> None:
        self.corner_row = Signal(bits + 3)
        self.last_row = Signal(bits + 3)
        self.column = Signal(bits + 3)
        self.last_column = Signal(bits + 3)
        self.kernel_rows, self.kernel_columns = Signal(bits), Signal(bits)
        self.channels = Signal(bits)
        self.several_columns = Signal()
        # Columns of the image, and the place of the first word's first byte in a line.
        self.first_used = Signal(bits + 3)
        self.last_used = Signal(signed(bits + 4))
        self.word_quotient, self.word_phase = Signal(signed(4)), Signal(signed(4))
        # Where the corner lies or would lie in a line, and its row in the ring.
        self.quotient, self.phase = Signal(signed(bits + 1)), Signal(2)
        self.clip = Signal(bits)
        self.ring = Signal(flat)
        # Slabs that are in the ring already, and all that have been claimed.
        self.kept, self.live = Signal(flat), Signal(flat)


class _Row:
    """The row at hand: its number, its address, its phase where rows have gaps, and the first row not in the ring."""

    def __init__(self, bits: int) -> None:
        self.number = Signal(bits + 3)
        self.address = Signal(32)
        self.gap_phase = Signal(2)
        self.next_new = Signal(bits + 3)
        self.is_new, self.is_gap, self.is_past = Signal(), Signal(), Signal()


class _Line:
    """The words of one channel of the row at hand."""

    def __init__(self, bits: int, flat: int) -> None:
        self.channel = Signal(bits)
        self.address, self.word_address = Signal(32), Signal(32)
        self.slot = Signal(flat)
        self.word = Signal(bits + 1)
        self.quotient, self.phase = Signal(signed(bits + 1)), Signal(2)
        self.enable = Signal(4)


class _Product:
    """One multiplier for all addresses: what it multiplies depends on the state."""

    def __init__(self, m: Module, bits_a: int, bits_b: int) -> None:
        self._a, self._b, self.value = Signal(bits_a), Signal(bits_b), Signal(32)
        m.d.comb += self.value.eq(self._a * self._b)

    def of(self, a: Value, b: Value) -> list[Assign]:
        return [self._a.eq(a), self._b.eq(b)]


class InputStream(wiring.Component):
    """Fetch, keep, and free the input.

    Walks the loops down to the marked one. Of each iteration it fetches the rows that the one before did not have
    (all of them where nothing stays), channel by channel, and writes them to the ring as slabs: one row of all
    channels of the box. Padding and gaps between rows or columns take no room.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Begin with the first box (after a reset).
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        A box that is completely in the ring. Taken at its first use.
    release : In(1)
        The box in use has been used for the last time.
    read_address : In, one per lane along y; read_data : Out
        For each of them as many consecutive elements as there are lanes along x, one cycle later.
    overflow : Out(1)
        A box needs more slabs than the ring has.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.flat = (parameters.input_elements - 1).bit_length() + 1
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "o_token": Out(stream.Signature(input_token(parameters))),
                "release": In(1),
                "read_address": In(data.ArrayLayout(self.flat, parameters.lane_y)),
                "read_data": Out(data.ArrayLayout(8, parameters.lane_y * parameters.lane_x)),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, bits, flat = self.parameters, self.parameters.position_bits, self.flat
        m.submodules.fill = fill = InputFill(p)
        m.submodules.boxes = boxes = BoxQueue(token=input_token(p), entry=input_place(p), room=flat)
        connect(m, boxes.o_word, fill.i_word)
        connect(m, flipped(self.i_response), boxes.i_response)
        connect(m, boxes.o_token, flipped(self.o_token))
        m.d.comb += [
            boxes.release.eq(self.release),
            fill.stride_x.eq(self.settings.stride_x),
            *(getattr(fill, f"input_phase_{i}").eq(getattr(self.settings, f"input_phase_{i}")) for i in (1, 2, 3)),
        ]
        self._hold(m, fill)
        m.submodules.nest = nest = LoopNest(loops=p.loops[: p.input_marker + 1], bits=bits)
        ranges = nest.follow(m, self.settings)

        box, row, line = _Box(bits, flat), _Row(bits), _Line(bits, flat)
        write_slab = Signal(flat)
        no_columns = (box.last_used < 0) | (box.last_used < box.first_used)
        token = boxes.i_box.payload.token
        m.d.comb += [
            token.ring.eq(box.ring),
            token.row.eq(box.corner_row - self.settings.padding_top),
            token.column.eq(box.column - self.settings.padding_left),
            token.quotient.eq(box.quotient),
            token.phase.eq(box.phase),
            boxes.i_box.payload.drop.eq(box.live - box.kept),
        ]
        self._judge_row(m, box, row)
        stays = self._what_stays(m, nest)
        following = self._enable(m, box, line)
        product = _Product(m, bits + 3, 28)
        with m.FSM(name="fetch"):
            self._place(m, nest, ranges, product, stays, box, row, write_slab)
            self._place_columns(m, box, no_columns)
            self._skip_rows(m, box, row)
            with m.State("Announce"):
                m.d.comb += boxes.i_box.valid.eq(1)
                with m.If(boxes.i_box.ready):
                    m.d.sync += box.live.eq(box.kept)
                    m.next = "Next-Row"
                    with m.If(no_columns):
                        m.next = "End-Box"
            self._fetch_rows(m, boxes, box, row, line, following, write_slab)
            with m.State("End-Box"):
                m.d.comb += [boxes.i_entry.payload.end.eq(1), boxes.i_entry.valid.eq(1)]
                with m.If(boxes.i_entry.ready):
                    m.d.comb += nest.advance.eq(1)
                    m.next = "Seek-Group"
                    with m.If(nest.finished):
                        m.next = "Idle"
        return m

    def _hold(self, m: Module, fill: InputFill) -> None:
        """The ring, as often as there are lanes along y: each reads a row of its own."""
        p = self.parameters
        for copy in range(p.lane_y):
            memory = ByteMemory(depth=p.input_depth, banks=p.input_banks, lanes=p.lane_x)
            m.submodules[f"memory_{copy}"] = memory
            m.d.comb += [
                memory.write_address.eq(fill.address),
                memory.write_enable.eq(fill.enable),
                memory.write_data.eq(fill.data),
                memory.read_address.eq(self.read_address[copy]),
            ]
            for lane in range(p.lane_x):
                m.d.comb += self.read_data[copy * p.lane_x + lane].eq(memory.read_data[lane])

    def _place(
        self,
        m: Module,
        nest: LoopNest,
        ranges: Ranges,
        product: _Product,
        stays: Value,
        box: _Box,
        row: _Row,
        write_slab: Signal,
    ) -> None:
        """From the ranges of the loops to rows, columns and addresses, one multiplication a cycle."""
        settings, bits = self.settings, self.parameters.position_bits
        low, high = ranges.low, ranges.high
        group_begin, group_end, group_channel = Signal(bits), Signal(bits + 1), Signal(bits)
        with m.State("Idle"):
            with m.If(self.start):
                m.d.comb += nest.start.eq(1)
                m.d.sync += [group_begin.eq(0), group_end.eq(settings.group_outputs), group_channel.eq(0)]
                m.next = "Seek-Group"
        with m.State("Seek-Group"):
            with m.If(low["m"] >= group_end):
                m.d.sync += [
                    group_begin.eq(group_end),
                    group_end.eq(group_end + settings.group_outputs),
                    group_channel.eq(group_channel + settings.group_inputs),
                    row.next_new.eq(0),
                ]
            with m.Elif(low["m"] < group_begin):
                m.d.sync += [
                    group_begin.eq(group_begin - settings.group_outputs),
                    group_end.eq(group_begin),
                    group_channel.eq(group_channel - settings.group_inputs),
                    row.next_new.eq(0),
                ]
            with m.Else():
                m.next = "Place-Channel"
        with m.State("Place-Channel"):
            m.d.comb += product.of(group_channel + low["c"], settings.input_plane)
            m.d.sync += [
                row.number.eq(times_stride(low["y"], settings.stride_y) + low["k"]),
                row.address.eq(settings.input_base + product.value),
                row.gap_phase.eq(0),
                box.column.eq(times_stride(low["x"], settings.stride_x) + low["l"]),
                box.last_row.eq(times_stride((high["y"] - 1)[:bits], settings.stride_y) + (high["k"] - 1)[:bits]),
                box.last_column.eq(times_stride((high["x"] - 1)[:bits], settings.stride_x) + (high["l"] - 1)[:bits]),
                box.kernel_rows.eq(high["k"] - low["k"]),
                box.kernel_columns.eq(high["l"] - low["l"]),
                box.several_columns.eq(high["x"] - low["x"] != 1),
                box.channels.eq(high["c"] - low["c"]),
                box.kept.eq(0),
                box.ring.eq(write_slab),
            ]
            with m.If(~stays):
                m.d.sync += row.next_new.eq(0)
            m.next = "Place-Row"
        left, beyond = settings.padding_left, settings.padding_left + settings.input_width
        with m.State("Place-Row"):
            m.d.comb += product.of(row.number, settings.input_pitch)
            m.d.sync += [
                row.address.eq(row.address + product.value),
                box.corner_row.eq(row.number),
                box.first_used.eq(Mux(box.column > left, box.column - left, 0)),
                box.clip.eq(Mux(box.column > left, 0, left - box.column)),
                box.last_used.eq(Mux(box.last_column >= beyond, beyond - 1, box.last_column) - left),
                box.quotient.eq(0),
                box.word_quotient.eq(0),
            ]
            m.next = "Place-Column"

    def _what_stays(self, m: Module, nest: LoopNest) -> Value:
        """Whether rows of the box before may stay: only inside an execution, where only the marked loop turns."""
        p = self.parameters
        same_execution = Signal()
        if p.input_marker < len(p.loops):
            with m.If(nest.advance):
                m.d.sync += same_execution.eq(nest.turning[p.input_marker])
        match p.loops[p.input_marker] if p.input_marker < len(p.loops) else None:
            case "m":
                return same_execution
            case "y" | "k":
                return same_execution & self.settings.input_slides
        return Value.cast(0)

    def _place_columns(self, m: Module, box: _Box, no_columns: Value) -> None:
        """Where a line begins: at its first column inside the image, or, where columns have gaps, at the first output
        column that uses any."""
        stride = self.settings.stride_x
        with m.State("Place-Column"):
            with m.If(box.clip >= stride):
                m.d.sync += [box.clip.eq(box.clip - stride), box.quotient.eq(box.quotient - 1)]
            with m.Else():
                m.next = "Place-Word"
                with m.If(self._columns_gap(box)):
                    m.d.sync += [box.phase.eq(0), box.word_phase.eq(box.clip[:2] - box.first_used[:2])]
                with m.Else():
                    m.d.sync += [box.phase.eq(0), box.word_phase.eq(-box.first_used[:2])]
                    with m.If(box.clip != 0):
                        m.d.sync += [box.phase.eq(stride - box.clip), box.quotient.eq(box.quotient - 1)]
        with m.State("Place-Word"):
            # The first word's first byte may lie left of the line's first column.
            with m.If(box.word_phase < 0):
                m.d.sync += [box.word_phase.eq(box.word_phase + stride), box.word_quotient.eq(box.word_quotient - 1)]
            with m.Elif(no_columns):
                m.next = "Announce"
            with m.Else():
                m.next = "Skip-Rows"

    def _columns_gap(self, box: _Box) -> Value:
        return (box.kernel_columns < self.settings.stride_x) & box.several_columns

    def _judge_row(self, m: Module, box: _Box, row: _Row) -> None:
        """What the row at hand is."""
        settings = self.settings
        m.d.comb += [
            row.is_gap.eq((box.kernel_rows < settings.stride_y) & (row.gap_phase >= box.kernel_rows)),
            row.is_new.eq((row.number >= settings.padding_top) & (row.number >= row.next_new) & ~row.is_gap),
            row.is_past.eq(
                (row.number > box.last_row) | (row.number >= settings.padding_top + settings.input_height)
            ),
        ]

    def _to_next_row(self, row: _Row) -> list[Assign]:
        return [
            row.number.eq(row.number + 1),
            row.address.eq(row.address + self.settings.input_pitch),
            row.gap_phase.eq(Mux(row.gap_phase + 1 == self.settings.stride_y, 0, row.gap_phase + 1)),
        ]

    def _skip_rows(self, m: Module, box: _Box, row: _Row) -> None:
        """Over the rows above the first new one: each lies a slab before the place where that one will be written."""
        slab, ring = self.settings.input_slab, self.settings.input_ring
        with m.State("Skip-Rows"):
            with m.If(row.is_past | row.is_new):
                m.next = "Announce"
            with m.Else():
                m.d.sync += self._to_next_row(row)
                with m.If(~row.is_gap):
                    m.d.sync += box.ring.eq(Mux(box.ring >= slab, box.ring - slab, box.ring + ring - slab))
                    with m.If(row.number >= self.settings.padding_top):
                        m.d.sync += box.kept.eq(box.kept + 1)

    def _fetch_rows(
        self,
        m: Module,
        boxes: BoxQueue,
        box: _Box,
        row: _Row,
        line: _Line,
        following: tuple[Signal, Signal],
        write_slab: Signal,
    ) -> None:
        """The new rows: a slab of the ring each, a line for each channel."""
        settings = self.settings
        with m.State("Next-Row"):
            with m.If(row.is_past):
                m.next = "End-Box"
            with m.Elif(~row.is_new):
                m.d.sync += self._to_next_row(row)
            with m.Elif(box.live == settings.input_slabs):
                m.d.comb += self.overflow.eq(1)
            with m.Elif(boxes.used != settings.input_slabs):
                m.d.comb += boxes.claim.eq(1)
                m.d.sync += [
                    box.live.eq(box.live + 1),
                    line.channel.eq(0),
                    *self._to_line(box, line, write_slab, row.address + (box.first_used & ~3)),
                ]
                m.next = "Fetch-Line"
        entry, request = boxes.i_entry, self.o_request
        with m.State("Fetch-Line"):
            m.d.comb += [
                entry.payload.place.enable.eq(line.enable),
                entry.payload.place.phase.eq(line.phase),
                entry.payload.place.address.eq(line.slot + line.quotient),
                entry.valid.eq((line.enable != 0) & request.ready),
                request.valid.eq((line.enable != 0) & entry.ready),
                request.payload.eq(read_request(line.word_address, line.enable)),
            ]
            with m.If((line.enable == 0) | (request.ready & entry.ready)):
                m.d.sync += [
                    line.word.eq(line.word + 1),
                    line.word_address.eq(line.word_address + 4),
                    line.quotient.eq(line.quotient + following[0]),
                    line.phase.eq(following[1]),
                ]
                with m.If(line.word == box.last_used[2:]):
                    m.d.sync += [
                        line.channel.eq(line.channel + 1),
                        *self._to_line(
                            box, line, line.slot + settings.input_line, line.address + settings.input_plane
                        ),
                    ]
                    with m.If(line.channel + 1 == box.channels):
                        after = write_slab + settings.input_slab
                        m.d.sync += [
                            *self._to_next_row(row),
                            row.next_new.eq(row.number + 1),
                            write_slab.eq(Mux(after == settings.input_ring, 0, after)),
                        ]
                        m.next = "Next-Row"

    @staticmethod
    def _to_line(box: _Box, line: _Line, slot: Value, address: Value) -> list[Assign]:
        return [
            line.slot.eq(slot),
            line.address.eq(address),
            line.word_address.eq(address),
            line.word.eq(box.first_used >> 2),
            line.quotient.eq(box.word_quotient),
            line.phase.eq(box.word_phase),
        ]

    def _enable(self, m: Module, box: _Box, line: _Line) -> tuple[Signal, Signal]:
        """Which bytes of the word at hand are used; and quotient and phase that the next word advances to."""
        stride = self.settings.stride_x
        gap = self._columns_gap(box)
        for b in range(4):
            _, phase = quotient_and_phase(m, line.phase + b, stride, f"enable_{b}")
            column = Signal(box.first_used.shape().width + 1, name=f"column_{b}")
            m.d.comb += [
                column.eq((line.word << 2) + b),
                line.enable[b].eq(
                    (column >= box.first_used) & (column <= box.last_used) & ~(gap & (phase >= box.kernel_columns))
                ),
            ]
        return quotient_and_phase(m, line.phase + 4, stride, "following")
