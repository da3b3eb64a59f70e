"""The steps of a job: which element of which window comes in each cycle, and which word has to be read for it."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.registers.vector import vector_registers
from hwgen.arch.vector.shape import NARROW, VectorShape
from hwgen.gateware.bus.tcdm import read_request, request_layout
from hwgen.gateware.lib.register_bank import settings_signature

__all__ = ["STEP", "VectorWalk"]

STEP = data.StructLayout(
    {
        "takes": 1,
        "refills": 1,
        "entry": 1,
        "lane": 2,
        "inside": 1,
        "first": 1,
        "last": 1,
        "ends_row": 1,
        "ends_plane": 1,
        "ends": 1,
    }
)
"""A step: a word is taken for the element, or for the next elements of the second operand, or as entries of the
table; the element's byte in the word; whether it is no padding; whether it is the first and the last one of its
window, and this the last one of its row, of its channel, of all."""
LANE_BITS = (WORD_BYTES - 1).bit_length()


class VectorWalk(wiring.Component):
    """Walks channels, rows and columns of the output, and in each window its rows and columns: a step in a cycle.

    A word is requested with the step that takes it, unless the step before has it. Words of the second operand are
    requested with the last element of the word before, where nothing else is; otherwise, and for the first word of a
    row, there is a step of its own.

    Parameters
    ----------
    address_bits
        Of a byte address in the TCDM.
    shape
        How wide the unit is.

    Members
    -------
    settings : In
    start : In(1)
    o_step : Out(stream of `step_layout`)
    o_request : Out(stream of Request)
        Accepted in the same cycle as the step that it is for.
    """

    def __init__(self, address_bits: int, shape: VectorShape = NARROW) -> None:
        self._bits, self._shape = address_bits, shape
        self._lane_bits = (shape.word_bytes - 1).bit_length()
        bank = vector_registers(address_bits, shape)
        super().__init__(
            {
                "settings": In(settings_signature(bank.held)),
                "start": In(1),
                "o_step": Out(stream.Signature(self.step_layout(shape))),
                "o_request": Out(stream.Signature(request_layout(8 * shape.word_bytes))),
            }
        )

    @staticmethod
    def step_layout(shape: VectorShape) -> data.StructLayout:
        """What is known of a step."""
        return STEP

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        s, step = self.settings, self.o_step.payload
        self._place(m)
        self._pace(m)
        works, asks, goes, address = Signal(), Signal(), Signal(), Signal(self._bits)
        entries = Signal(range(self._shape.table_words))
        m.d.comb += [
            self.o_request.valid.eq(works & asks & self.o_step.ready),
            self.o_step.valid.eq(works & (~asks | self.o_request.ready)),
            goes.eq(self.o_step.valid & self.o_step.ready),
            self.o_request.payload.eq(self._read(address)),
        ]
        with m.FSM(name="walk"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.sync += entries.eq(0)
                    m.next = "Begin"
            with m.State("Begin"):
                self._begin(m)
                m.next = "Walk"
                with m.If(s.mode_load):
                    m.next = "Table"
                with m.Elif(s.mode_add):
                    m.next = "Refill"
            with m.State("Table"):
                m.d.comb += [works.eq(1), asks.eq(1), step.entry.eq(1)]
                m.d.comb += address.eq(s.table_base + (entries << self._lane_bits))
                with m.If(goes):
                    m.d.sync += entries.eq(entries + 1)
                    with m.If(entries == self._shape.table_words - 1):
                        m.next = "Walk"
                        with m.If(s.mode_add):
                            m.next = "Refill"
            with m.State("Refill"):
                m.d.comb += [works.eq(1), asks.eq(1), step.refills.eq(1), address.eq(self._at + s.second)]
                with m.If(goes):
                    m.next = "Walk"
            with m.State("Walk"):
                takes, needs = Signal(), Signal()
                inside, elements = self._elements(m)
                m.d.comb += [
                    works.eq(1),
                    takes.eq(inside & (self._fresh | (self._at[self._lane_bits :] != self._held))),
                    needs.eq(s.mode_add & self._ends_word & ~self._last_column),
                    asks.eq(takes | needs),
                    address.eq(Mux(takes, self._at, self._second_word)),
                    step.takes.eq(takes),
                    step.refills.eq(needs & ~takes),
                    *elements,
                    step.first.eq(self._first),
                    step.last.eq(self._last_tap & self._last_line),
                    step.ends_row.eq(step.last & self._last_column),
                    step.ends_plane.eq(step.ends_row & self._last_row),
                    step.ends.eq(step.ends_plane & (self._channels == 1)),
                ]
                with m.If(goes):
                    with m.If(takes):
                        m.d.sync += self._held.eq(self._at[self._lane_bits :])
                    ends_line = self._last_tap & (~self._one_line | step.ends_row)
                    m.d.sync += [self._fresh.eq(ends_line | (self._fresh & ~takes)), self._first.eq(step.last)]
                    self._advance(m)
                    with m.If(step.ends):
                        m.next = "Idle"
                    with m.Elif((takes & needs) | (s.mode_add & step.ends_row)):
                        m.next = "Refill"
        return m

    def _read(self, address: Signal) -> Value:
        """The request of the word at an address."""
        word = Cat(C(0, self._lane_bits), address[self._lane_bits :])
        return read_request(word, ~C(0, self._shape.word_bytes), 8 * self._shape.word_bytes)

    def _elements(self, m: Module) -> tuple[Value, list[Value]]:
        """Whether the step has an element that is no padding, and what tells its taker which ones it has."""
        s, step = self.settings, self.o_step.payload
        inside = (self._line_row < s.height) & (self._column < s.width)
        return step.inside, [step.lane.eq(self._at), step.inside.eq(inside)]

    def _pace(self, m: Module) -> None:
        """How far a step goes: taps and columns that it does, what follows in the line and in the row; and when the
        next word of the second operand is needed, and which."""
        s = self.settings
        self._taken, self._done = 1, 1
        self._to_tap, self._to_column = s.dilation_columns, s.stride_columns
        self._ends_word = self._at[:LANE_BITS] == WORD_BYTES - 1
        self._second_word = self._at + s.second + 1

    def _ends(self, m: Module) -> tuple[Value, Value]:
        """Whether the step is the last one of its line of the window, and of the row of the output."""
        return self._taps == 1, self._columns == 1

    def _place(self, m: Module) -> None:
        """Where the walk is: what is left of each loop; addresses and places of the element, of its line, of its
        window, of the first windows of its row and of its channel."""
        s = self.settings
        self._channels, self._rows = Signal.like(s.outputs_channels), Signal.like(s.outputs_rows)
        self._columns = Signal.like(s.columns)
        self._lines, self._taps = Signal.like(s.kernel_rows), Signal.like(s.kernel_columns)
        names = ("at", "line", "window", "row", "plane")
        self._at, self._line, self._window, self._row, self._plane = (
            Signal(self._bits, name=f"{name}_address") for name in names
        )
        self._line_row, self._row_row = Signal.like(s.first_row), Signal.like(s.first_row)
        self._column, self._window_column = Signal.like(s.first_column), Signal.like(s.first_column)
        self._held, self._fresh, self._first = Signal(self._bits - self._lane_bits), Signal(), Signal()
        self._last_tap, self._last_line, self._one_line = Signal(), Signal(), Signal()
        self._last_column, self._last_row = Signal(), Signal()
        ends_line, ends_row = self._ends(m)
        m.d.comb += [
            self._last_tap.eq(ends_line),
            self._last_line.eq(self._lines == 1),
            self._one_line.eq(s.kernel_rows == 1),
            self._last_column.eq(ends_row),
            self._last_row.eq(self._rows == 1),
        ]

    def _begin(self, m: Module) -> None:
        s = self.settings
        m.d.sync += [
            self._channels.eq(s.outputs_channels),
            self._rows.eq(s.outputs_rows),
            self._columns.eq(s.columns),
            self._lines.eq(s.kernel_rows),
            self._taps.eq(s.kernel_columns),
            *(one.eq(s.input_base) for one in (self._at, self._line, self._window, self._row, self._plane)),
            *(one.eq(s.first_row) for one in (self._line_row, self._row_row)),
            *(one.eq(s.first_column) for one in (self._column, self._window_column)),
            self._fresh.eq(1),
            self._first.eq(1),
        ]

    def _advance(self, m: Module) -> None:
        """Step to the next element: the innermost loop that has not ended goes on, those inside begin again."""
        s = self.settings
        line, window = self._line + s.input_line, self._window + self._to_column
        row, plane = self._row + s.input_row, self._plane + s.input_plane
        row_row, column = self._row_row + s.stride_rows, self._window_column + self._to_column
        m.d.sync += [self._taps.eq(self._taps - self._taken), self._at.eq(self._at + self._to_tap)]
        m.d.sync += self._column.eq(self._column + self._to_tap)
        with m.If(self._last_tap):
            m.d.sync += [
                self._taps.eq(s.kernel_columns),
                self._lines.eq(self._lines - 1),
                self._column.eq(self._window_column),
                self._line_row.eq(self._line_row + s.dilation_rows),
                *_to(line, self._at, self._line),
            ]
        with m.If(self._last_tap & self._last_line):
            m.d.sync += [
                self._lines.eq(s.kernel_rows),
                self._columns.eq(self._columns - self._done),
                self._line_row.eq(self._row_row),
                *_to(column, self._column, self._window_column),
                *_to(window, self._at, self._line, self._window),
            ]
        with m.If(self._last_tap & self._last_line & self._last_column):
            m.d.sync += [
                self._columns.eq(s.columns),
                self._rows.eq(self._rows - 1),
                *_to(s.first_column, self._column, self._window_column),
                *_to(row_row, self._line_row, self._row_row),
                *_to(row, self._at, self._line, self._window, self._row),
            ]
        with m.If(self._last_tap & self._last_line & self._last_column & self._last_row):
            m.d.sync += [
                self._rows.eq(s.outputs_rows),
                self._channels.eq(self._channels - 1),
                *_to(s.first_row, self._line_row, self._row_row),
                *_to(plane, self._at, self._line, self._window, self._row, self._plane),
            ]


def _to(value: Value, *places: Signal) -> list[Value]:
    return [place.eq(value) for place in places]
