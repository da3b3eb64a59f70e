"""The read sequencer: walks the whole nest, one lane vector a cycle, and says where its operands lie."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import OUTPUT_DIMS, REDUCTION, HwcParameters
from hwgen.gateware.hwc.settings import in_bytes, output_capacity, settings_signature
from hwgen.gateware.hwc.token import column_shape, input_token, operation, quotient_shape, row_shape
from hwgen.gateware.lib.nest import LevelRegister, LoopNest
from hwgen.gateware.lib.stride import phase_base

__all__ = ["Sequencer"]

Step = Callable[[Value], Value]


class Sequencer(wiring.Component):
    """One operation a cycle as long as the boxes it needs have arrived.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    i_input, i_weight : In(stream)
        Tokens of boxes that have arrived; taken with the first operation that uses the box.
    release_input, release_weight : Out(1)
        The box in use has been used for the last time.
    output_loaded : In(1)
        The partial sums of one more box of the output have been fetched (a pulse).
    output_ends : Out(1)
        The last operation on the present box of the output is on its way (a pulse).
    output_drained : In(1)
        The box that ended last has left (a pulse).
    output_unloaded : In
        Vectors of that box that have left already.
    access_valid, access_load, access_index : In
        An operation of the output stream, served before computing: load a vector of partial sums, or unload one.
    o_operation : Out(operation)
        Valid where one of ``compute``, ``load``, ``unload`` is set.
    overflow : Out(1)
        A box of the output needs more vectors than the memory has.
    finished : Out(1)
        Every operation has been issued.
    stall_input, stall_weight, stall_output : Out(1)
        Nothing was issued in this cycle, and why.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index_bits = parameters.output_index_bits
        weight_bits = max(1, (parameters.weight_depth - 1).bit_length())
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "i_input": In(stream.Signature(input_token(parameters))),
                "i_weight": In(stream.Signature(weight_bits)),
                "release_input": Out(1),
                "release_weight": Out(1),
                "output_loaded": In(1),
                "output_ends": Out(1),
                "output_drained": In(1),
                "output_unloaded": In(self.index_bits),
                "access_valid": In(1),
                "access_load": In(1),
                "access_index": In(self.index_bits),
                "o_operation": Out(operation(parameters)),
                "overflow": Out(1),
                "finished": Out(1),
                "stall_input": Out(1),
                "stall_weight": Out(1),
                "stall_output": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.nest = nest = LoopNest(loops=p.loops, bits=p.position_bits)
        ranges = nest.follow(m, self.settings)
        active = Signal()
        fire = Signal()
        m.d.comb += nest.advance.eq(fire | self.start)
        with m.If(self.start):
            m.d.sync += active.eq(1)
        with m.Elif(fire & nest.finished):
            m.d.sync += [active.eq(0), self.finished.eq(1)]

        def fresh_and_ending(first_inner: int, name: str) -> tuple[Signal, Value, Value]:
            """Whether this operation is the first, and the last, of what the loops from ``first_inner`` on do. The
            former is told twice: the many values that begin anew have it from a register of their own."""
            fresh, goes_on = Signal(name=f"{name}_fresh", init=1), Signal(name=f"{name}_goes_on")
            ends = nest.ended[first_inner]
            with m.If(fire):
                m.d.sync += [fresh.eq(ends), goes_on.eq(~ends)]
            return fresh, ~goes_on, ends

        input_fresh, input_begins, input_ends = fresh_and_ending(self._inside(p.input_marker), "input")
        weight_fresh, weight_begins, weight_ends = fresh_and_ending(self._inside(p.weight_marker), "weight")
        output_ends = nest.ended[p.output_marker]

        output_index, may_start, fresh_sum = self._output(m, nest, active, fire, output_ends)
        waits_input = input_fresh & ~self.i_input.valid
        waits_weight = weight_fresh & ~self.i_weight.valid
        can_go = Signal()
        m.d.comb += [
            can_go.eq(active & ~waits_input & ~waits_weight & may_start),
            fire.eq(can_go & ~self.access_valid),
            self.i_input.ready.eq(fire & input_fresh),
            self.i_weight.ready.eq(fire & weight_fresh),
            self.release_input.eq(fire & input_ends),
            self.release_weight.eq(fire & weight_ends),
            self.output_ends.eq(fire & output_ends),
            self.stall_input.eq(active & waits_input),
            self.stall_weight.eq(active & ~waits_input & waits_weight),
            self.stall_output.eq(active & ~waits_input & ~waits_weight & ~fire),
        ]
        lane_rows, row, column = self._input(m, nest, fire, input_begins)
        in_line = None if p.weight_lines else in_bytes(p, self.settings, Value.cast(ranges.size["m"]))
        weight_address = self._weight(m, nest, fire, weight_begins, in_line)
        operation_ = self.o_operation
        output_place = Mux(self.access_valid, self.access_index, output_index)
        m.d.sync += [
            operation_.compute.eq(fire),
            operation_.load.eq(self.access_valid & self.access_load),
            operation_.unload.eq(self.access_valid & ~self.access_load),
            operation_.fresh.eq(fresh_sum),
            *(operation_.input_address[j].eq(address) for j, address in enumerate(lane_rows)),
            operation_.row.eq(row),
            operation_.column.eq(column),
            operation_.rows.eq(ranges.size["y"]),
            operation_.columns.eq(ranges.size["x"]),
            operation_.weight_address.eq(weight_address),
            *([operation_.channels.eq(ranges.size["c"])] if p.lanes.c > 1 else []),
            operation_.output_index.eq(output_place),
        ]
        if p.wide:
            with m.If(self.settings.wide):
                m.d.sync += [operation_.output_index.eq(output_place >> 1), operation_.half.eq(output_place[0])]
        return m

    def _output(
        self, m: Module, nest: LoopNest, active: Signal, fire: Signal, ends: Value
    ) -> tuple[Value, Signal, Signal]:
        """The vector's place in the memory; whether it may be touched; whether its sum starts from zero."""
        p = self.parameters
        steps = {
            j: _adding(getattr(self.settings, f"output_index_step_{j}"))
            for j in p.output_tile_loops
            if p.loops[j] in OUTPUT_DIMS
        }
        m.submodules.output_index = register = LevelRegister(
            loops=len(p.loops), inner=p.output_tile_loops, step=steps, shape=self.index_bits, from_zero=True
        )
        self._follow(m, register, nest, fire, nest.ended[p.output_marker], None)
        outer = [j for j in range(p.output_marker) if p.loops[j] in REDUCTION]
        inner = [j for j in p.output_tile_loops if p.loops[j] in REDUCTION]
        resumes, first_touch = Signal(), Signal()
        begins = _all(nest.first, outer)
        if p.cluster:
            begins = begins & self.settings.first_part
        m.d.comb += resumes.eq(~begins)
        with m.If(nest.advance):
            m.d.sync += first_touch.eq(_all([nest.will_be_first(j) for j in range(len(p.loops))], inner))
        # The box that ended last, as long as its vectors are on their way out; boxes whose partial sums have come in.
        # A vector takes the place of one that has left: a box begins where the one before it ends, around the memory.
        vectors, capacity = self.settings.output_box_vectors, output_capacity(p, self.settings)
        draining, loaded = Signal(), Signal(2)
        m.d.sync += loaded.eq(loaded + self.output_loaded - (self.output_ends & resumes))
        with m.If(self.output_ends):
            m.d.sync += draining.eq(1)
        with m.Elif(self.output_drained):
            m.d.sync += draining.eq(0)
        # Vectors of the present box for which there is room beside those that are left of that one. What is compared
        # with it is known a cycle later.
        may_start, waits, room = Signal(), Signal(), Signal(signed(self.index_bits + 2))
        fits, exceeds = Signal(), Signal()
        m.d.comb += room.eq(self.output_unloaded + capacity - vectors)
        m.d.sync += [
            fits.eq(Mux(fire, register.following < room, register.value < room)),
            exceeds.eq(Mux(fire, register.following >= capacity, register.value >= capacity)),
        ]
        with m.If(resumes):
            m.d.comb += waits.eq(loaded == 0)
        with m.Elif(first_touch & draining):
            m.d.comb += waits.eq(~fits)
        m.d.comb += may_start.eq(~waits & ~(draining & ends))
        with m.If(first_touch & exceeds):
            m.d.comb += [may_start.eq(0), self.overflow.eq(active)]
        fresh_sum, base, place = Signal(), Signal(self.index_bits), Signal(self.index_bits)
        m.d.comb += [
            fresh_sum.eq(first_touch & ~resumes),
            place.eq(_modulo(base + register.value, capacity)),
        ]
        with m.If(self.output_ends):
            m.d.sync += base.eq(_modulo(base + vectors, capacity))
        return place, may_start, fresh_sum

    def _input(self, m: Module, nest: LoopNest, fire: Signal, fresh: Value) -> tuple[list[Value], Value, Value]:
        """Address of the first element of each lane row in the input ring; row and column of lane 0 in the image."""
        p, settings, token = self.parameters, self.settings, self.i_input.payload
        count, marker = len(p.loops), p.input_marker
        inner = range(marker + 1, count)

        def ring_step(j: int) -> Step:
            return lambda value: self._in_ring(getattr(settings, f"input_ring_step_{j}"), value)

        def phase_step(j: int) -> Step:
            def step(value: Value) -> Value:
                phase = value[:2] + getattr(settings, f"input_phase_step_{j}")
                wraps = phase >= settings.stride_x
                quotient = value[2:] + getattr(settings, f"input_quotient_step_{j}") + wraps
                shape = quotient_shape(p)
                return _pack(Mux(wraps, phase - settings.stride_x, phase)[:2], quotient, shape.width)

            return step

        def quotient_step(j: int) -> Step:
            def step(value: Value) -> Value:
                return _pack(value[:2], value[2:] + getattr(settings, f"step_{j}_x"), quotient_shape(p).width)

            return step

        of = p.inside
        quotient_bits = quotient_shape(p).width
        registers = {
            "ring": ({j: ring_step(j) for j in of(marker, "yk")}, token.ring.shape(), token.ring),
            "line": (
                {j: _adding(getattr(settings, f"input_line_step_{j}")) for j in of(marker, "c")},
                token.ring.shape(),
                None,
            ),
            "place": (
                {j: phase_step(j) for j in of(marker, "l")} | {j: quotient_step(j) for j in of(marker, "x")},
                quotient_bits + 2,
                _pack(token.phase, token.quotient, quotient_bits),
            ),
            "row": (
                {j: _adding(getattr(settings, f"input_row_step_{j}")) for j in of(marker, "y")}
                | {j: _adding(getattr(settings, f"step_{j}_k")) for j in of(marker, "k")},
                row_shape(p),
                token.row,
            ),
            "column": (
                {j: _adding(getattr(settings, f"input_column_step_{j}")) for j in of(marker, "x")}
                | {j: _adding(getattr(settings, f"step_{j}_l")) for j in of(marker, "l")},
                column_shape(p),
                token.column,
            ),
        }
        values = {}
        for name, (steps, shape, base) in registers.items():
            register = LevelRegister(loops=count, inner=inner, step=steps, shape=shape, from_zero=base is None)
            m.submodules[f"input_{name}"] = register
            begins = nest.ended[self._inside(marker)] if base is None else fresh
            self._follow(m, register, nest, fire, begins, base)
            values[name] = register.value
        phase, quotient = values["place"][:2], values["place"][2:].as_signed()
        column = in_bytes(p, settings, quotient) + phase_base(settings, phase)
        lane_rows = [self._in_ring(values["ring"], values["line"], column)]
        for j in range(1, p.lanes.y):
            slab = Signal(token.ring.shape(), name=f"slab_{j}")
            m.d.comb += slab.eq(self._in_ring(getattr(settings, f"input_lane_row_{j}"), values["ring"]))
            lane_rows.append(self._in_ring(slab, values["line"], column))
        return lane_rows, values["row"], values["column"]

    def _inside(self, marker: int) -> int:
        """The first loop inside the marked one; without a marker there is none."""
        return min(marker + 1, len(self.parameters.loops))

    def _in_ring(self, *parts: Value) -> Value:
        """The sum of the parts as an element of the input's ring: it may lie up to once around behind its end.

        The ring is the memory. The sum, and what it is less once around, are added up side by side.
        """
        inside = sum(parts[1:], start=parts[0])
        behind = sum(parts[1:], start=parts[0] - self.parameters.input_elements)
        return Mux(behind < 0, inside, behind)[: self.i_input.payload.ring.shape().width]

    def _weight(self, m: Module, nest: LoopNest, fire: Signal, fresh: Value, used: Value | None) -> Value:
        """The line of an operation's weights, or, densely packed, the byte of the first lane's weight.

        Tiles are packed in the order of first use, so the place counts on: by a line, or by the bytes ``used``.
        """
        p = self.parameters
        places = p.weight_depth if used is None else p.weight_bytes
        bits = (places - 1).bit_length() + 1
        held_base, held_offset = Signal(self.i_weight.payload.shape()), Signal(bits)
        base, offset = Signal.like(held_base), Signal(bits)
        m.d.comb += [base.eq(Mux(fresh, self.i_weight.payload, held_base)), offset.eq(Mux(fresh, 0, held_offset))]
        inner = range(p.weight_marker + 1, len(p.loops))
        begins = {j: Signal(bits, name=f"weight_begin_{j}") for j in inner if p.loops[j] in "yx"}
        following = Signal(bits)
        m.d.comb += following.eq(offset + (1 if used is None else used))
        for j, begin in begins.items():
            with m.If(nest.turning[j]):
                m.d.comb += following.eq(Mux(fresh, 0, begin))
        with m.If(fire):
            m.d.sync += [held_base.eq(base), held_offset.eq(following)]
            for j, begin in begins.items():
                with m.If(nest.turning[p.weight_marker + 1 : j].any()):
                    m.d.sync += begin.eq(following)
                with m.Elif(fresh):
                    m.d.sync += begin.eq(0)
        address = Signal(bits)
        m.d.comb += address.eq((base if used is None else base << 2) + offset)
        return Mux(address >= places, address - places, address)

    @staticmethod
    def _follow(
        m: Module, register: LevelRegister, nest: LoopNest, fire: Signal, fresh: Value, base: ValueLike | None
    ) -> None:
        if base is not None:
            m.d.comb += register.base.eq(base)
        m.d.comb += [
            register.fresh.eq(fresh),
            register.turning.eq(nest.turning),
            register.advance.eq(fire),
        ]


def _adding(step: Value) -> Step:
    return lambda value: value + step


def _modulo(value: Value, depth: Value | int) -> Value:
    return Mux(value >= depth, value - depth, value)


def _all(flags: Value | Sequence[Value], indices: list[int]) -> Value | int:
    result: Value | int = 1
    for j in indices:
        result = flags[j] & result
    return result


def _pack(phase: Value, quotient: Value, bits: int) -> Value:
    return Cat(phase[:2], quotient[:bits])
