"""The datapath: lanes that multiply and accumulate; it knows neither layer nor schedule."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from hwgen.gateware.params import HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.stride import times_stride
from hwgen.gateware.token import operation

__all__ = ["Datapath"]


class Datapath(wiring.Component):
    """Four stages: address the operands, gate and multiply, add to the sum, write it back.

    An operation reads its sum while the one before writes; the memory's read is transparent, so a chain of operations
    on one vector needs no pause. What an ``unload`` reads appears three cycles after the operation.

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
    weight_address : Out, weight_data : In
        To the weight stream's memory, one cycle of latency.
    load_data : In
        The vector that a ``load`` operation writes; held until `loaded`.
    loaded : Out(1)
    unload_data : Out
        The vector that an ``unload`` operation read, while ``unloaded`` is set.
    unloaded : Out(1)
    busy : Out(1)
        Operations are under way.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        lanes = parameters.lanes
        layout = operation(parameters)
        sums = data.ArrayLayout(signed(32), lanes)
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "i_operation": In(layout),
                "input_address": Out(layout["input_address"].shape),
                "input_data": In(data.ArrayLayout(8, parameters.lane_y * parameters.lane_x)),
                "weight_address": Out(layout["weight_address"].shape),
                "weight_data": In(data.ArrayLayout(8, parameters.lane_m)),
                "load_data": In(sums),
                "loaded": Out(1),
                "unload_data": Out(sums),
                "unloaded": Out(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        layout = operation(p)

        # Address: the memories of the streams answer in the next cycle.
        op = self.i_operation
        across = p.lane_y * p.lane_x
        used = Signal(across)
        rows_inside, columns_inside = Signal(p.lane_y), Signal(p.lane_x)
        for j in range(p.lane_y):
            row = Signal(op.row.shape(), name=f"row_{j}")
            m.d.comb += [
                row.eq(op.row + times_stride(j, settings.stride_y)),
                rows_inside[j].eq((j < op.rows) & (row >= 0) & (row < settings.input_height)),
            ]
        for i in range(p.lane_x):
            column = Signal(op.column.shape(), name=f"column_{i}")
            m.d.comb += [
                column.eq(op.column + times_stride(i, settings.stride_x)),
                columns_inside[i].eq((i < op.columns) & (column >= 0) & (column < settings.input_width)),
            ]
        for j in range(p.lane_y):
            m.d.comb += used[j * p.lane_x : (j + 1) * p.lane_x].eq(Mux(rows_inside[j], columns_inside, 0))
        m.d.comb += [
            self.input_address.eq(op.input_address),
            self.weight_address.eq(op.weight_address),
        ]

        # Multiply: lanes on padding or beyond the edge count nothing; all channels of the lanes see the same pixels.
        multiply, multiply_used = Signal(layout), Signal(across)
        m.d.sync += [multiply.eq(op), multiply_used.eq(used)]
        pixels = [Signal(signed(8), name=f"pixel_{n}") for n in range(across)]
        for n, pixel in enumerate(pixels):
            m.d.comb += pixel.eq(Mux(multiply_used[n], self.input_data[n], 0))
        products = [Signal(signed(16), name=f"product_{lane}") for lane in range(p.lanes)]
        for lane in range(p.lanes):
            m.d.sync += products[lane].eq(pixels[lane % across] * self.weight_data[lane // across].as_signed())

        # Accumulate: the sum was addressed one stage earlier.
        m.submodules.memory = memory = Memory(shape=32 * p.lanes, depth=p.output_depth, init=[])
        write = memory.write_port()
        read = memory.read_port(transparent_for=(write,))
        accumulate = Signal(layout)
        m.d.sync += accumulate.eq(multiply)
        m.d.comb += [
            read.addr.eq(multiply.output_index),
            write.addr.eq(accumulate.output_index),
            write.en.eq(accumulate.compute | accumulate.load),
            self.loaded.eq(accumulate.load),
            self.unloaded.eq(accumulate.unload),
            self.unload_data.as_value().eq(read.data),
        ]
        for lane in range(p.lanes):
            before = Signal(signed(32), name=f"before_{lane}")
            after = Signal(signed(32), name=f"after_{lane}")
            m.d.comb += [
                before.eq(Mux(accumulate.fresh, 0, read.data.word_select(lane, 32))),
                after.eq(before + products[lane]),
                write.data.word_select(lane, 32).eq(Mux(accumulate.load, self.load_data[lane], after)),
            ]
        pending = [stage.compute | stage.load | stage.unload for stage in (op, multiply, accumulate)]
        m.d.comb += self.busy.eq(pending[0] | pending[1] | pending[2])
        return m
