"""The steps of a job where several elements are taken in a cycle."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data

from hwgen.arch.vector.shape import VectorShape
from hwgen.gateware.vector.walk import VectorWalk

__all__ = ["WideWalk", "wide_step"]


def wide_step(shape: VectorShape) -> data.StructLayout:
    """A step of several elements: which word it takes and for what, and what the step is in its window, as `STEP` has
    it; which half of the word it is about; which elements of a window it takes; by how many bytes outputs are left of
    their elements, in a circle; the places of its outputs. A strip is in its steps what a window is; of it there are
    besides whether its row begins with it, and its first and its last column."""
    return data.StructLayout(
        {
            "takes": 1,
            "refills": 1,
            "entry": 1,
            "half": 1,
            "inside": shape.elements,
            "turn": _bits(shape.outputs),
            "outputs": shape.outputs,
            **(
                {"begins": 1, "lane": _bits(shape.elements), "end": _bits(shape.elements)} if shape.has_strips else {}
            ),
            "first": 1,
            "last": 1,
            "ends_row": 1,
            "ends_plane": 1,
            "ends": 1,
        }
    )


def _bits(number: int) -> int:
    return (number - 1).bit_length()


class WideWalk(VectorWalk):
    """Walks as `VectorWalk` does, in a step several elements that are side by side in a word.

    A step of a window takes the elements of a line up to the next multiple of ``shape.elements``, one if they are
    dilated. A step of what is computed element by element makes the outputs of a row up to the next multiple of
    ``shape.outputs``, of the input's address or of the output's. So a step needs one word and makes one.

    A strip is the columns in a word, in all rows of the windows of a row of the output: a step takes a word of it.
    """

    @staticmethod
    def step_layout(shape: VectorShape) -> data.StructLayout:
        """What is known of a step."""
        return wide_step(shape)

    def _ends(self, m: Module) -> tuple[Value, Value]:
        s, shape = self.settings, self._shape
        elements, outputs = _bits(shape.elements), _bits(shape.outputs)
        self._near, self._room, self._space = Signal(), Signal(elements + 1), Signal(outputs + 1)
        self._out, self._out_row, self._out_plane = (
            Signal(outputs, name=name) for name in ("out_lane", "out_row_lane", "out_plane_lane")
        )
        self._begins = Signal()
        lane, out = self._at[:outputs], self._out
        m.d.sync += self._near.eq(s.dilation_columns == 1)
        m.d.comb += [
            self._room.eq(Mux(self._near, shape.elements - self._at[:elements], 1)),
            self._space.eq(shape.outputs - Mux(lane > out, lane, out)),
        ]
        self._in_strips = s.mode_strips if shape.has_strips else C(0)
        self._done = Mux(s.mode_elements, self._space, Mux(self._in_strips, self._room, 1))
        return self._in_strips | (self._taps <= self._room), self._columns <= self._done

    def _pace(self, m: Module) -> None:
        s, bits = self.settings, self._lane_bits
        self._taken = self._room
        self._to_tap = Mux(self._near, self._room, s.dilation_columns)
        self._to_column = Mux(s.mode_elements | self._in_strips, self._done, s.stride_columns)
        lane = Signal(bits + 1)
        m.d.comb += lane.eq(self._at[:bits] + self._space)
        self._ends_word = lane[bits]
        # The word after the one that ends here.
        self._second_word = Cat(C(0, bits), self._at[bits:] + 1) + s.second

    def _elements(self, m: Module) -> tuple[Value, list[Value]]:
        s, step, shape = self.settings, self.o_step.payload, self._shape
        elements, outputs = _bits(shape.elements), _bits(shape.outputs)
        lane, out = self._at[:elements], self._out
        before, after = Signal(signed(len(self._column) + 1)), Signal(signed(len(self._column) + 1))
        low, high, taps = (Signal(range(shape.elements + 1), name=name) for name in ("low", "high", "taps_here"))
        begin, end, left = Signal(elements + 2), Signal(elements + 2), Signal.like(self._columns)
        most = shape.elements
        m.d.comb += [
            before.eq(-self._column.as_signed()),
            after.eq(s.width - self._column.as_signed()),
            # Of the elements from the first one on: those that are left of the map, and those up to its end.
            low.eq(Mux(before < 0, 0, Mux(before > most, most, before))),
            high.eq(Mux(after < 0, 0, Mux(after > most, most, after))),
            left.eq(Mux(self._in_strips, self._columns, self._taps)),
            taps.eq(Mux(self._near, Mux(left > most, most, left), 1)),
            begin.eq(lane + low),
            end.eq(lane + Mux(taps < high, taps, high)),
        ]
        row = self._line_row < s.height
        return step.inside.any(), [
            *(step.inside[i].eq(row & (begin <= i) & (i < end)) for i in range(shape.elements)),
            step.half.eq(self._at[outputs]),
            step.turn.eq(self._at[:outputs] - out),
            *(step.outputs[i].eq((out <= i) & (self._outputs_end > i)) for i in range(shape.outputs)),
            *(self._strip(lane) if shape.has_strips else []),
        ]

    def _strip(self, lane: Value) -> list[Value]:
        """What a step tells of a strip."""
        step, last = self.o_step.payload, self._shape.elements - 1
        return [
            step.begins.eq(self._begins),
            step.lane.eq(lane),
            step.end.eq(Mux(self._last_column, lane + self._columns - 1, last)),
        ]

    @property
    def _outputs_end(self) -> Value:
        """The place after the outputs of a step."""
        s, most = self.settings, self._shape.outputs
        left = Mux(self._columns > most, most, self._columns)
        here = Mux(s.mode_elements, Mux(left < self._space, left[: len(self._space)], self._space), 1)
        return self._out + here

    def _begin(self, m: Module) -> None:
        super()._begin(m)
        m.d.sync += [one.eq(self.settings.output_base) for one in (self._out, self._out_row, self._out_plane)]
        m.d.sync += self._begins.eq(1)

    def _advance(self, m: Module) -> None:
        super()._advance(m)
        s = self.settings
        row, plane = self._out_row + s.output_pitch, self._out_plane + s.output_plane
        with m.If(self._last_tap & self._last_line):
            m.d.sync += [
                self._out.eq(Mux(self._in_strips, self._out, self._out + self._done)),
                self._begins.eq(self._last_column),
            ]
        with m.If(self._last_tap & self._last_line & self._last_column):
            m.d.sync += [self._out.eq(row), self._out_row.eq(row)]
        with m.If(self._last_tap & self._last_line & self._last_column & self._last_row):
            m.d.sync += [one.eq(plane) for one in (self._out, self._out_row, self._out_plane)]
