"""The read sequencer: walks the whole nest, one lane vector a cycle, and says where its operands lie."""

from collections.abc import Callable, Sequence

from amaranth.hdl import Cat, Module, Mux, Shape, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import OUTPUT_DIMS, REDUCTION, HwcParameters
from hwgen.gateware.hwc.settings import bytes_in_ring, in_bytes, nest_of, output_capacity, settings_signature
from hwgen.gateware.hwc.token import input_token, operation, quotient_shape
from hwgen.gateware.hwc.widths import tile_bits
from hwgen.gateware.lib.nest import LevelRegister, LoopNest, SteppedValue
from hwgen.gateware.lib.stride import phase_base

__all__ = ["Sequencer"]

Step = Callable[[Value], Value]
FreshAndEnding = Callable[[int, str], tuple[Signal, Value, Value]]


class Sequencer(wiring.Component):
    """One operation a cycle as long as the tiles it needs have arrived.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
    i_input, i_weight : In(stream)
        Tokens of tiles that have arrived; taken with the first operation that uses the tile.
    release_input, release_weight : Out(1)
        The tile in use has been used for the last time.
    output_loaded : In(1)
        The partial sums of one more tile of the output have been fetched (a pulse).
    output_ends : Out(1)
        The last operation on the present tile of the output is on its way (a pulse).
    output_drained : In(1)
        The tile that ended last has left (a pulse).
    output_unloaded : In
        Vectors of that tile that have left already.
    access_valid, access_load, access_index : In
        An operation of the output stream, served before computing: load a vector of partial sums, or unload one.
    o_operation : Out(operation)
        Valid where one of ``compute``, ``load``, ``unload`` is set.
    overflow : Out(1)
        A tile of the output needs more vectors than the memory has.
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
        nest, sizes = nest_of(m, p, self.settings, range(len(p.loops)), p.lane_dims, of_columns=True)
        m.submodules.nest = nest
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

        fills = self._fills_window(m, nest, fire)
        output_index, may_start, fresh_sum = self._output(m, nest, active, fire, output_ends, fills)
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
        in_line = None if p.weight_lines else in_bytes(p, self.settings, sizes["m"])
        weight_address = self._weight(m, nest, fire, weight_begins, in_line)
        operation_ = self.o_operation
        output_place = Mux(self.access_valid, self.access_index, output_index)
        m.d.sync += [
            operation_.compute.eq(fire & ~fills if p.column_window else fire),
            *([operation_.enters.eq(fire)] if p.column_window else []),
            operation_.load.eq(self.access_valid & self.access_load),
            operation_.unload.eq(self.access_valid & ~self.access_load),
            operation_.fresh.eq(fresh_sum),
            *(operation_.input_address[j].eq(address) for j, address in enumerate(lane_rows)),
            operation_.row.eq(row),
            operation_.column.eq(column),
            operation_.rows.eq(sizes["y"]),
            operation_.columns.eq(sizes["x"]),
            operation_.weight_address.eq(weight_address),
            *([operation_.channels.eq(sizes["c"])] if p.lanes.c > 1 else []),
            operation_.output_index.eq(output_place),
        ]
        if p.lane_registers:
            self._stay(m, fire, fresh_and_ending)
        if p.wide_halves:
            with m.If(self.settings.wide):
                m.d.sync += [operation_.output_index.eq(output_place >> 1), operation_.half.eq(output_place[0])]
        return m

    def _stay(self, m: Module, fire: Signal, fresh_and_ending: FreshAndEnding) -> None:
        """What begins and ends to stay in the registers of the lanes with an operation."""
        depths = self.parameters.register_depths
        begins, ends = {}, {}
        for array, depth in depths.items():
            _, begins[array], ends[array] = fresh_and_ending(depth, f"vector_{array.lower()}")
        m.d.sync += [
            self.o_operation.reads_input.eq(fire & begins["I"]),
            self.o_operation.reads_weight.eq(fire & begins["W"]),
            self.o_operation.takes_output.eq(begins["O"]),
            self.o_operation.leaves_output.eq(ends["O"]),
        ]

    def _fills_window(self, m: Module, nest: LoopNest, fire: Signal) -> Value:
        """Whether an operation only brings a column to the window, of which the next output needs more.

        The innermost loop goes over the columns of the input then: its first output needs as many as the window has,
        the others as many as the stride.
        """
        p, settings = self.parameters, self.settings
        if not p.column_window:
            return Value.cast(0)
        missing, fills = Signal(max(len(settings.window), len(settings.window_stride))), Signal()
        m.d.comb += fills.eq(missing != 0)
        with m.If(self.start | (fire & nest.ended[len(p.loops) - 1])):
            m.d.sync += missing.eq(settings.window - 1)
        with m.Elif(fire):
            m.d.sync += missing.eq(Mux(fills, missing, settings.window_stride) - 1)
        return fills

    def _output(
        self, m: Module, nest: LoopNest, active: Signal, fire: Signal, ends: Value, fills: Value
    ) -> tuple[Value, Signal, Signal]:
        """The vector's place in the memory; whether it may be touched; whether its sum starts from zero."""
        p = self.parameters
        steps = {
            j: getattr(self.settings, f"output_index_step_{j}")
            for j in p.output_tile_loops
            if p.loops[j] in OUTPUT_DIMS
        }
        if p.column_window:
            innermost = len(p.loops) - 1
            steps[innermost] = Mux(fills, 0, steps[innermost])
        register = self._stepped(m, "output_index", nest, fire, p.output_marker, steps, self.index_bits)
        outer = [j for j in range(p.output_marker) if p.loops[j] in REDUCTION]
        inner = [j for j in p.output_tile_loops if p.loops[j] in REDUCTION]
        resumes, first_touch = Signal(), Signal()
        begins = _all(nest.first, outer)
        if p.cluster:
            begins = begins & self.settings.first_part
        m.d.comb += resumes.eq(~begins)
        with m.If(nest.advance):
            m.d.sync += first_touch.eq(_all([nest.will_be_first(j) for j in range(len(p.loops))], inner))
        # The tile that ended last, as long as its vectors are being drained; tiles whose partial sums are loaded. A
        # vector takes the place of one that was drained: a tile begins where the previous one ends, modulo the depth.
        vectors, capacity = self.settings.output_box_vectors, output_capacity(p, self.settings)
        draining, loaded = Signal(), Signal(2)
        m.d.sync += loaded.eq(loaded + self.output_loaded - (self.output_ends & resumes))
        with m.If(self.output_ends):
            m.d.sync += draining.eq(1)
        with m.Elif(self.output_drained):
            m.d.sync += draining.eq(0)
        # Vectors of the present tile for which there is room beside those that are left of that one. What is compared
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
        m.d.comb += [fresh_sum.eq(first_touch & ~resumes), place.eq(_modulo(base + register.value, capacity))]
        with m.If(self.output_ends):
            m.d.sync += base.eq(_modulo(base + vectors, capacity))
        return place, may_start, fresh_sum

    def _input(self, m: Module, nest: LoopNest, fire: Signal, fresh: Value) -> tuple[list[Value], Value, Value]:
        """Address of the first element of each lane row in the input ring; row and column of lane 0 in the image."""
        p, settings, token = self.parameters, self.settings, self.i_input.payload
        of, marker = p.inside, p.input_marker
        inside = self._inside(marker)
        line = self._stepped(
            *(m, "input_line", nest, fire, inside),
            {j: getattr(settings, f"input_line_step_{j}") for j in of(marker, "c")},
            token.ring.shape(),
        )
        corner = []
        for name, out, tap, base in (("row", "y", "k", token.row), ("column", "x", "l", token.column)):
            steps = {j: getattr(settings, f"input_{name}_step_{j}") for j in of(marker, out)}
            steps |= {j: getattr(settings, f"step_{j}_{tap}") for j in of(marker, tap)}
            moved = self._stepped(m, f"input_{name}", nest, fire, inside, steps, tile_bits(p, out))
            held, begin = Signal.like(base, name=f"held_{name}"), Signal.like(base, name=f"begin_{name}")
            m.d.comb += begin.eq(Mux(fresh, base, held))
            m.d.sync += held.eq(begin)
            corner.append(begin + moved.value)
        ring = self._level(m, "input_ring", nest, fire, fresh, token.ring, self._ring_steps())
        place = self._level(
            *(m, "input_place", nest, fire, fresh),
            _pack(token.phase, token.quotient, quotient_shape(p).width),
            self._place_steps(),
        )
        phase, quotient = place[:2], place[2:].as_signed()
        column = bytes_in_ring(p, settings, quotient) + phase_base(settings, phase)
        lane_rows = [self._in_ring(ring, line.value, column)]
        for j in range(1, p.lanes.y):
            slab = Signal(token.ring.shape(), name=f"slab_{j}")
            m.d.comb += slab.eq(self._in_ring(getattr(settings, f"input_lane_row_{j}"), ring))
            lane_rows.append(self._in_ring(slab, line.value, column))
        return lane_rows, corner[0], corner[1]

    def _ring_steps(self) -> dict[int, Step]:
        """How loops move along the ring."""

        def step(j: int) -> Step:
            return lambda value: self._in_ring(getattr(self.settings, f"input_ring_step_{j}"), value)

        return {j: step(j) for j in self.parameters.inside(self.parameters.input_marker, "yk")}

    def _place_steps(self) -> dict[int, Step]:
        """How loops move along a line: phase and quotient of a column."""
        p, settings = self.parameters, self.settings
        bits = quotient_shape(p).width

        def phase_step(j: int) -> Step:
            def step(value: Value) -> Value:
                phase = value[:2] + getattr(settings, f"input_phase_step_{j}")
                wraps = phase >= settings.stride_x
                quotient = value[2:] + getattr(settings, f"input_quotient_step_{j}") + wraps
                return _pack(Mux(wraps, phase - settings.stride_x, phase)[:2], quotient, bits)

            return step

        def quotient_step(j: int) -> Step:
            return lambda value: _pack(value[:2], value[2:] + getattr(settings, f"step_{j}_x"), bits)

        return {j: phase_step(j) for j in p.inside(p.input_marker, "l")} | {
            j: quotient_step(j) for j in p.inside(p.input_marker, "x")
        }

    def _level(
        self, m: Module, name: str, nest: LoopNest, fire: Signal, fresh: Value, base: Value, steps: dict[int, Step]
    ) -> Value:
        """A value that begins with each tile of the input."""
        p = self.parameters
        m.submodules[name] = register = LevelRegister(
            loops=len(p.loops), inner=range(p.input_marker + 1, len(p.loops)), step=steps, shape=base.shape()
        )
        m.d.comb += [
            register.base.eq(base),
            register.fresh.eq(fresh),
            register.turning.eq(nest.turning),
            register.advance.eq(fire),
        ]
        return register.value

    def _stepped(
        self,
        m: Module,
        name: str,
        nest: LoopNest,
        fire: Signal,
        first: int,
        steps: dict[int, Value],
        shape: Shape | int,
    ) -> SteppedValue:
        """A value that begins with zero where the loops from ``first`` on do."""
        count = len(self.parameters.loops)
        shape, step_bits = Shape.cast(shape), max((len(step) for step in steps.values()), default=0)
        m.submodules[name] = stepped = SteppedValue(
            loops=count, inner=range(first, count), steps=sorted(steps), shape=shape, step_bits=step_bits
        )
        m.d.comb += [getattr(stepped, f"step_{j}").eq(step) for j, step in steps.items()]
        stepped.follow(m, nest, fire, nest.ended[first])
        return stepped

    def _inside(self, marker: int) -> int:
        """The first loop inside the marked one; without a marker there is none."""
        return min(marker + 1, len(self.parameters.loops))

    def _in_ring(self, *parts: Value) -> Value:
        """The sum of the parts as an element of the input's ring: it may lie up to once around past its end.

        The ring is the memory. The sum, and what it is less once around, are added up side by side.
        """
        inside = sum(parts[1:], start=parts[0])
        after = sum(parts[1:], start=parts[0] - self.parameters.input_elements)
        return Mux(after < 0, inside, after)[: self.i_input.payload.ring.shape().width]

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
        m.d.comb += address.eq((base if used is None else base << (p.ports.weight_bytes - 1).bit_length()) + offset)
        return Mux(address >= places, address - places, address)


def _modulo(value: Value, depth: Value | int) -> Value:
    return Mux(value >= depth, value - depth, value)


def _all(flags: Value | Sequence[Value], indices: list[int]) -> Value | int:
    result: Value | int = 1
    for j in indices:
        result = flags[j] & result
    return result


def _pack(phase: Value, quotient: Value, bits: int) -> Value:
    return Cat(phase[:2], quotient[:bits])
