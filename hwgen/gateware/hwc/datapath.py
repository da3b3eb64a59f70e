"""The datapath: lanes that multiply and accumulate; it knows neither layer nor schedule."""

import itertools
from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, ReadPort, WritePort
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.lanes import spreads, tree_levels
from hwgen.gateware.hwc.settings import settings_signature
from hwgen.gateware.hwc.token import LaneAccesses, operation
from hwgen.gateware.lib.stride import times_stride

__all__ = ["Datapath"]


class Datapath(wiring.Component):
    """Three stages: address the operands and the sum, gate and multiply, add and write back. With lanes along c the
    products of channels are added in stages of their own, between the last two, and operands of many multipliers have
    a stage on the way to them.

    An operation's sum comes from the memory while its products are made; if it is the one that the operation before
    makes, it is taken from there, and the memory's read is transparent to the one before that: a chain of operations
    on one vector needs no pause. What an ``unload`` reads appears `HwcParameters.capture` cycles after the operation.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    i_operation : In(operation)
    input_address : Out, input_data : In
        To the input stream's memory, one cycle of latency.
    input_inside : Out
        A bit for each lane along y, with the address: it reads no padding. If the memory answers what that reads as.
    weight_address : Out, weight_data : In
        To the weight stream's memory, one cycle of latency.
    load_data : In
        The vector that a ``load`` operation writes; held until `loaded`. With 16-bit operands, the first half of it
        is the half vector; so it is with ``unload_data``.
    loaded : Out(1)
    unload_data : Out
        The vector that an ``unload`` operation read, while ``unloaded`` is set.
    unloaded : Out(1)
    busy : Out(1)
        Operations are under way.
    lane_accesses : Out(LaneAccesses)
        The accesses of the local memories that operations make, if `HwcParameters.lane_registers`.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        lanes = parameters.lanes
        layout = operation(parameters)
        sums = data.ArrayLayout(signed(32), lanes.sums)
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "i_operation": In(layout),
                "input_address": Out(layout["input_address"].shape),
                **({"input_inside": Out(lanes.y)} if parameters.pads_before else {}),
                "input_data": In(data.ArrayLayout(8, lanes.y * lanes.c * parameters.input_reads)),
                "weight_address": Out(layout["weight_address"].shape),
                "weight_data": In(data.ArrayLayout(8, parameters.weight_reads)),
                "load_data": In(sums),
                "loaded": Out(1),
                "unload_data": Out(sums),
                "unloaded": Out(1),
                "busy": Out(1),
                **({"lane_accesses": Out(LaneAccesses)} if parameters.lane_registers else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        layout = operation(p)

        # Address: the memories of the streams answer in the next cycle.
        op = self.i_operation
        across = p.lanes.y * p.lanes.x
        used = Signal(across)
        rows_inside, columns_inside = Signal(p.lanes.y), Signal(p.lanes.x)
        for j in range(p.lanes.y):
            row, below = Signal(op.row.shape(), name=f"row_{j}"), Signal(range(4 * p.lanes.y), name=f"below_{j}")
            m.d.sync += below.eq(times_stride(j, settings.stride_y))
            m.d.comb += [
                row.eq(op.row + below),
                rows_inside[j].eq((j < op.rows) & (row >= 0) & (row < settings.input_height)),
            ]
        for i in range(p.lanes.x):
            column, beside = (
                Signal(op.column.shape(), name=f"column_{i}"),
                Signal(range(4 * p.lanes.x), name=f"beside_{i}"),
            )
            m.d.sync += beside.eq(times_stride(i, settings.stride_x))
            m.d.comb += [
                column.eq(op.column + beside),
                columns_inside[i].eq((i < op.columns) & (column >= 0) & (column < settings.input_width)),
            ]
        for j in range(p.lanes.y):
            m.d.comb += used[j * p.lanes.x : (j + 1) * p.lanes.x].eq(Mux(rows_inside[j], columns_inside, 0))
        m.d.comb += [self.input_address.eq(op.input_address), self.weight_address.eq(op.weight_address)]
        if p.pads_before:
            m.d.comb += self.input_inside.eq(used)

        # Multiply: lanes on padding or beyond the edge count what padding reads as; all channels of the lanes see the
        # same pixels.
        multiply, multiply_used = Signal(layout), Signal(across)
        m.d.sync += [multiply.eq(op), multiply_used.eq(used)]
        # The operation whose sum is addressed, the next stage, and what that one adds in the stage after it.
        asked, before_last, stages = op, multiply, [op, multiply]
        if p.lanes.c == 1:
            products = self._multiply(m, multiply_used)
        else:
            for level in range(spreads(p.lanes) + tree_levels(p.lanes)):
                asked, before_last = before_last, Signal(layout, name=f"adds_{level}")
                m.d.sync += before_last.eq(asked)
                stages.append(before_last)
            counted = multiply_used if spreads(p.lanes) else used
            enters = multiply.enters if p.column_window else Value.cast(0)
            products = self._sums(m, stages[int(spreads(p.lanes))].channels, counted, multiply_used, enters)

        # Accumulate: the sum stands in a register of its own.
        m.submodules.memory = memory = Memory(shape=32 * p.lanes.sums, depth=p.output_depth, init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=(write,))
        accumulate, chains = Signal(layout), Signal()
        m.d.sync += [
            accumulate.eq(before_last),
            chains.eq((asked.output_index == before_last.output_index) & (before_last.compute | before_last.load)),
        ]
        m.d.comb += [
            read.addr.eq(asked.output_index),
            write.addr.eq(accumulate.output_index),
            write.en.eq(accumulate.compute | accumulate.load),
            self.loaded.eq(accumulate.load),
            self.unloaded.eq(accumulate.unload),
        ]
        found = read.data
        if p.lane_registers:
            found = self._gate(m, asked, before_last, accumulate, read, write)
        befores = [Signal(signed(32), name=f"before_{lane}", reset_less=True) for lane in range(p.lanes.sums)]
        for lane, before in enumerate(befores):
            begins = before_last.compute & before_last.fresh
            if p.wide_halves:
                begins &= ~settings.wide | (before_last.half == lane % 2)
            latest = Mux(chains, write.data.word_select(lane, 32), found.word_select(lane, 32))
            m.d.sync += before.eq(Mux(begins, 0, latest))
        afters: list[Value] = []
        unloads: list[Value] = list(befores)
        for lane, before in enumerate(befores):
            after = Signal(signed(32), name=f"after_{lane}")
            m.d.comb += after.eq(self._or_loaded(accumulate, lane, before + products[lane]))
            afters.append(after)
        if p.wide_halves:
            # Eight sums: those of one half of the vector change, the others stay.
            for lane in range(0, p.lanes.product, 2):
                before = Signal(signed(32), name=f"half_before_{lane}")
                after = Signal(signed(32), name=f"half_after_{lane}")
                m.d.comb += [
                    before.eq(Mux(accumulate.half, befores[lane + 1], befores[lane])),
                    after.eq(self._or_loaded(accumulate, lane // 2, before + products[lane])),
                ]
                unloads[lane // 2] = Mux(settings.wide, before, unloads[lane // 2])
                for half in range(2):
                    kept = Mux(accumulate.half == half, after, befores[lane + half])
                    afters[lane + half] = Mux(settings.wide, kept, afters[lane + half])
        for lane in range(p.lanes.sums):
            m.d.comb += [write.data.word_select(lane, 32).eq(afters[lane]), self.unload_data[lane].eq(unloads[lane])]
        stages.append(accumulate)
        m.d.comb += self.busy.eq(Cat(stage.compute | stage.load | stage.unload for stage in stages).any())
        return m

    def _gate(
        self, m: Module, asked: Value, before_last: Value, accumulate: Value, read: ReadPort, write: WritePort
    ) -> Value:
        """Read sums, and write them, only where operations on another vector begin and end, and not with each one. In
        between they are in a register, as an operation need not follow the one before at once. Returns what one goes
        on from that does not."""
        op, accesses = self.i_operation, self.lane_accesses
        m.d.comb += [
            accesses.input_read.eq(op.reads_input),
            accesses.weight_read.eq(op.reads_weight),
            accesses.output_read.eq(asked.compute & asked.takes_output & ~asked.fresh),
            accesses.output_written.eq(accumulate.compute & accumulate.leaves_output),
            read.en.eq(accesses.output_read | asked.unload),
            write.en.eq(accesses.output_written | accumulate.load),
        ]
        if not self.parameters.holds_sums:
            return read.data
        held = Signal(len(write.data), name="held_sums", reset_less=True)
        with m.If(accumulate.compute):
            m.d.sync += held.eq(write.data)
        return Mux(before_last.compute & ~before_last.takes_output, held, read.data)

    def _or_loaded(self, accumulate: Value, lane: int, total: Value) -> Value:
        """What is written: the sum of a lane, or one that was fetched, where sums are."""
        return Mux(accumulate.load, self.load_data[lane], total) if self.parameters.loads_sums else total

    def _multiply(self, m: Module, used: Value) -> list[Value]:
        """The products of all lanes. With 16-bit operands those of the even lanes, shifted: of their 32 bits the
        register of the odd lane beside holds the upper half."""
        p, wide = self.parameters, self.settings.wide if self.parameters.wide else None
        across = p.lanes.y * p.lanes.x
        pixels = [Signal(signed(8), name=f"pixel_{n}") for n in range(across)]
        for n, pixel in enumerate(pixels):
            row, column = divmod(n, p.lanes.x)
            m.d.comb += pixel.eq(self._or_padding(used[n], self.input_data[row * p.input_reads + column]))
        weights = [self.weight_data[channel].as_signed() for channel in range(p.lanes.m)]
        held = [Signal(signed(16), name=f"product_{lane}") for lane in range(p.lanes.product)]
        narrow = [pixels[lane % across] * weights[lane // across] for lane in range(p.lanes.product)]
        if wide is None:
            m.d.sync += [product.eq(value) for product, value in zip(held, narrow, strict=True)]
            return list(held)
        for lane in range(0, p.lanes.product, 2):
            shifted = self._shifted_product(m, used, lane, pixels[lane % across], weights[lane // across])
            m.d.sync += [held[lane].eq(shifted), held[lane + 1].eq(Mux(wide, shifted[16:], narrow[lane + 1]))]
        pairs = [Mux(wide, Cat(held[n], held[n + 1]).as_signed(), held[n]) for n in range(0, p.lanes.product, 2)]
        return [held[lane] if lane % 2 else pairs[lane // 2] for lane in range(p.lanes.product)]

    def _or_padding(self, inside: Value, operand: Value) -> Value:
        """An input, or what padding reads as."""
        if self.parameters.pads_before:
            return operand
        return Mux(inside, operand, self.settings.zero_in if self.parameters.scaled else 0)

    def _sums(self, m: Module, channels: Value, used: Value, inside: Value, enters: Value) -> list[Value]:
        """The sum over the lanes along c of the products of each lane along m, y and x, by a tree of adders.

        Parameters
        ----------
        channels : lanes along c that count, in the cycle before their products are made.
        used : lanes along y and x that do.
        inside : the same, in the cycle in which the operands are there.
        enters : the operands go into the window, in that cycle.
        """
        p = self.parameters
        across = p.lanes.y * p.lanes.x
        products: dict[tuple[int, int], list[Value]] = {}
        weights = [self._spread(m, self._weight(i), f"weight_{i}") for i in range(p.lanes.c * p.lanes.m)]
        window, passes = self._window(m, inside, enters) if p.column_window else None, Signal(name="columns_pass")
        if window is not None:  # told early: the multipliers have no time for the comparison
            m.d.sync += passes.eq(self.settings.window != 1)
        for c, n in itertools.product(range(p.lanes.c), range(across)):
            operand, counted = self._pixel(c, n), self._counted(c, channels)
            # Of a pair of lanes the first one has the product of 16-bit operands.
            takes_two = p.byte_planes and c % 2 == 0
            if p.scaled or p.column_window:
                operand = self._or_padding(inside[n], operand)
            else:
                counted = used[n] & counted
            if window is None:
                pixels = [self._spread(m, operand, f"pixel_{c}_{n}")] * p.lanes.m
            else:
                pixels = [
                    self._spread(m, self._in_window(window, passes, operand, c, output), f"pixel_{c}_{output}")
                    for output in range(p.lanes.m)
                ]
            counts = Signal(name=f"counts_{c}_{n}")
            m.d.sync += counts.eq(counted)
            for output in range(p.lanes.m):
                # The multiplier is the longest part of the way: what counts nothing is cleared after it.
                name = f"product_{c}_{output * across + n}"
                product = Signal(signed(32 if takes_two else 16), name=name, reset_less=True)
                m.d.sync += product.eq(pixels[output] * weights[c * p.lanes.m + output])
                with m.If(~counts):
                    m.d.sync += product.eq(0)
                added = product >> self.settings.product_shift if takes_two else product
                products.setdefault((output, n), []).append(added)
        sums = []
        for (output, n), values in sorted(products.items()):
            sums.append(_tree(m, values, f"channels_{output * across + n}"))
        return sums

    def _window(self, m: Module, inside: Value, enters: Value) -> list[list[Value]]:
        """The last columns of each channel that has a lane along c, the one at hand first."""
        p = self.parameters
        window: list[list[Value]] = []
        for c in range(p.lanes.c):
            columns: list[Value] = [self._or_padding(inside[0], self._pixel(c, 0))]
            for back in range(1, p.lanes.c):
                held = Signal(8, name=f"window_{c}_{back}", reset_less=True)
                with m.If(enters):
                    m.d.sync += held.eq(columns[-1])
                columns.append(held)
            window.append(columns)
        return window

    @staticmethod
    def _in_window(window: list[list[Value]], passes: Signal, operand: Value, c: int, output: int) -> Value:
        """The input of a lane along c, as it is for all lanes along m, or of one of these from its own window."""
        return Mux(passes, window[output][c], operand) if output < len(window) else operand

    def _pixel(self, c: int, n: int) -> Value:
        """The input of a lane along c and one along y and x: of 16 bits with the upper byte from the lane beside."""
        p = self.parameters
        row, column = divmod(n, p.lanes.x)
        lower, upper = (
            self.input_data[(row * p.lanes.c + lane) * p.input_reads + column]
            for lane in (c, min(c + 1, p.lanes.c - 1))
        )
        return self._of_either_width(c, lower, lower, upper)

    def _weight(self, place: int) -> Value:
        """The weight at a place of a line: of 16 bits from two places of it."""
        c, output = divmod(place, self.parameters.lanes.m)
        first = min(place + output, len(self.weight_data) - 2)
        return self._of_either_width(c, self.weight_data[place], self.weight_data[first], self.weight_data[first + 1])

    def _of_either_width(self, c: int, narrow: Value, lower: Value, upper: Value) -> Value:
        """An operand of a lane along c: the first lane of a pair has one of 16 bits, too."""
        if not self.parameters.byte_planes or c % 2:
            return narrow
        return Mux(self.settings.wide, Cat(lower, upper).as_signed(), narrow.as_signed())

    def _counted(self, c: int, channels: Value) -> Value:
        """Whether a lane along c counts: with 16-bit operands the first one of a pair does for both."""
        if not self.parameters.byte_planes:
            return c < channels
        return Mux(self.settings.wide, 0 if c % 2 else c // 2 < channels, c < channels)

    def _spread(self, m: Module, operand: Value, name: str) -> Value:
        """An operand as its multipliers have it: of many, in a register."""
        if not spreads(self.parameters.lanes):
            return operand.as_signed()
        held = Signal(signed(len(operand)), name=name, reset_less=True)
        m.d.sync += held.eq(operand)
        return held

    def _shifted_product(self, m: Module, used: Value, lane: int, pixel: Signal, weight: Value) -> Signal:
        """The product of an even lane, with one multiplier for operands of both widths."""
        p, wide = self.parameters, self.settings.wide
        wide_rows, wide_columns = p.wide_lanes.y, p.wide_lanes.x
        channel, place = divmod(lane // 2, wide_rows * wide_columns)
        row, column = divmod(place, wide_columns)
        first = row * p.input_reads + 2 * column
        wide_pixel, wide_weight = Signal(signed(16), name=f"wide_pixel_{lane}"), Signal(signed(16))
        product, shifted = (
            Signal(signed(32), name=f"exact_product_{lane}"),
            Signal(signed(32), name=f"shifted_{lane}"),
        )
        m.d.comb += [
            wide_pixel.eq(
                Mux(used[row * p.lanes.x + column], Cat(self.input_data[first], self.input_data[first + 1]), 0)
            ),
            wide_weight.eq(Cat(self.weight_data[2 * channel], self.weight_data[2 * channel + 1])),
            product.eq(Mux(wide, wide_pixel, pixel).as_signed() * Mux(wide, wide_weight, weight).as_signed()),
            shifted.eq(product >> self.settings.product_shift),
        ]
        return shifted


def _tree(m: Module, values: Sequence[Value], name: str) -> Value:
    """The sum of signed values, added in pairs, with a register after each adder; it wraps at 32 bits.

    Of adders in a row synthesis makes one of many operands, out of LUTs, which is more than twice as large as the
    adders with their carry chains.
    """
    while len(values) > 1:
        pairs = list(zip(values[::2], values[1::2], strict=True))
        shape = signed(min(32, len(values[0]) + 1))
        sums = [Signal(shape, name=f"{name}_of_{len(pairs)}_{i}", reset_less=True) for i in range(len(pairs))]
        m.d.sync += [held.eq(left + right) for held, (left, right) in zip(sums, pairs, strict=True)]
        values = sums
    return values[0]
