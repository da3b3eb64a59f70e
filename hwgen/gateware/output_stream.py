"""The output's stream: fetches partial sums where a box resumes, drains boxes as partial sums or as final outputs."""

from collections.abc import Callable, Iterable

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.nest import LevelRegister, LoopNest
from hwgen.gateware.params import REDUCTION, HwcParameters
from hwgen.gateware.settings import settings_signature
from hwgen.gateware.tcdm import Request
from hwgen.gateware.vector_port import VectorMove, VectorPort

__all__ = ["OutputStream"]


class OutputStream(wiring.Component):
    """Walks the boxes of the output: one execution of the loop that O is buffered at, vector by vector.

    A box whose reduction began in an earlier execution is loaded first. When the sequencer has ended a box its
    vectors are read one by one, channel by channel, row by row, and written: 32-bit partial sums while reduction is
    still to come, else requantised outputs, packed into words along a row. The bias of a channel is fetched before
    its first final output.

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
    box_ends : In(1)
        The sequencer has issued the last operation of the present box (a pulse).
    loaded : Out(1)
        The partial sums of the present box are in the output memory (a pulse).
    drained : Out(1)
        The present box has left (a pulse); ``unloaded`` counts its vectors that have left already.
    access_valid, access_load, access_index, access_ready
        Operations for the datapath: load a vector or unload it.
    load_data : Out, load_done : In
    unload_data : In, unload_done : In
    finished : Out(1)
        The last box has left.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index_bits = parameters.output_depth.bit_length() + 1
        sums = data.ArrayLayout(signed(32), parameters.lanes)
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(Request)),
                "i_response": In(wiring.Signature({"valid": Out(1), "data": Out(32)})),
                "box_ends": In(1),
                "loaded": Out(1),
                "drained": Out(1),
                "unloaded": Out(self.index_bits),
                "access_valid": Out(1),
                "access_load": Out(1),
                "access_index": Out(self.index_bits),
                "access_ready": In(1),
                "load_data": Out(sums),
                "load_done": In(1),
                "unload_data": In(sums),
                "unload_done": In(1),
                "finished": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        m.submodules.port = port = VectorPort(lanes=p.lanes)
        connect(m, port.o_request, flipped(self.o_request))
        connect(m, flipped(self.i_response), port.i_response)
        nest, index = self._nest(m)
        channel, row = p.output_marker, p.output_marker + 1
        inner_x = range(p.output_marker + 2, len(nest.loops))
        reductions = [j for j in range(p.output_marker) if nest.loops[j] in REDUCTION]
        x = max((j for j, dim in enumerate(nest.loops) if dim == "x"), default=None)
        x_low = nest.lo[x] if x is not None else 0
        x_high = nest.hi[x] if x is not None else settings.extent_x

        resumes, is_final, begins_channel, ends_box, ended = (Signal() for _ in range(5))
        uses_partials = Signal()
        row_address = Signal(32)
        m.d.comb += [
            resumes.eq(~_all(nest.first[j] for j in reductions)),
            is_final.eq(_all(nest.last[j] for j in reductions)),
            begins_channel.eq(_all(nest.first[j] for j in (row, *inner_x))),
            ends_box.eq(nest.last[p.output_marker :].all()),
            port.ends_row.eq(_all(nest.last[j] for j in inner_x)),
            port.width.eq(x_high - x_low),
            port.address.eq(row_address + Mux(uses_partials, x_low << 2, x_low)),
            port.shift.eq(settings.shift),
            port.relu.eq(settings.relu),
            port.captured.eq(self.unload_data),
            self.load_data.eq(port.vector),
            self.access_index.eq(index),
        ]
        with m.If(self.box_ends):
            m.d.sync += ended.eq(1)
        product = Signal(32)
        multiplies_rows = Signal()
        factor = Mux(multiplies_rows, nest.lo[row], nest.lo[channel])
        pitch = Mux(uses_partials, settings.partial_pitch, settings.output_pitch)
        plane = Mux(uses_partials, settings.partial_plane, settings.output_plane)
        m.d.comb += product.eq(factor * Mux(multiplies_rows, pitch, plane))
        base = Mux(uses_partials, settings.partial_base, settings.output_base)
        with m.FSM(name="box"):
            with m.State("Idle"):
                with m.If(self.start):
                    m.d.comb += nest.start.eq(1)
                    m.next = "Begin-Box"
            with m.State("Begin-Box"):
                m.next = "Await-End"
                if reductions:
                    with m.If(resumes):
                        m.d.sync += uses_partials.eq(1)
                        m.next = "Place-Load"
            if reductions:
                with m.State("Place-Load"):
                    m.d.sync += row_address.eq(base + product)
                    m.next = "Load"
                self._load(m, nest, port, multiplies_rows, row_address, product, ends_box)
            with m.State("Await-End"):
                m.d.sync += uses_partials.eq(~is_final)
                with m.If(ended):
                    m.d.sync += ended.eq(0)
                    m.next = "Unload"
            with m.State("Unload"):
                m.d.comb += self.access_valid.eq(1)
                m.d.sync += row_address.eq(base + product)
                with m.If(self.access_ready):
                    m.next = "Place-Row"
            with m.State("Place-Row"):
                m.d.comb += multiplies_rows.eq(1)
                m.d.sync += row_address.eq(row_address + product)
                m.next = "Capture"
            with m.State("Capture"):
                m.d.comb += port.capture.eq(self.unload_done)
                with m.If(self.unload_done):
                    m.d.sync += self.unloaded.eq(index + 1)
                    m.next = "Store"
                    with m.If(is_final & begins_channel):
                        m.next = "Fetch-Bias"
            with m.State("Fetch-Bias"):
                m.d.comb += [
                    port.start.eq(1),
                    port.move.eq(VectorMove.FETCH_BIAS),
                    port.address.eq(settings.bias_base + (nest.lo[channel] << 2)),
                ]
                m.next = "Await-Bias"
            with m.State("Await-Bias"):
                with m.If(port.done):
                    m.next = "Store"
            with m.State("Store"):
                m.d.comb += [
                    port.start.eq(1),
                    port.move.eq(Mux(is_final, VectorMove.STORE_OUTPUTS, VectorMove.STORE_PARTIALS)),
                ]
                m.next = "Await-Store"
            with m.State("Await-Store"):
                with m.If(port.done):
                    m.d.comb += nest.advance.eq(1)
                    m.next = "Unload"
                    with m.If(ends_box):
                        m.d.comb += self.drained.eq(1)
                        m.d.sync += self.unloaded.eq(0)
                        m.next = "Begin-Box"
                        with m.If(nest.finished):
                            m.next = "Finished"
            with m.State("Finished"):
                m.d.comb += self.finished.eq(1)
        return m

    def _load(
        self,
        m: Module,
        nest: LoopNest,
        port: VectorPort,
        multiplies_rows: Signal,
        row_address: Signal,
        product: Signal,
        ends_box: Signal,
    ) -> None:
        """Fetch the partial sums of the present box, vector by vector, then go back to its first one."""
        with m.State("Load"):
            m.d.comb += multiplies_rows.eq(1)
            m.d.sync += row_address.eq(row_address + product)
            m.next = "Load-Vector"
        with m.State("Load-Vector"):
            m.d.comb += [port.start.eq(1), port.move.eq(VectorMove.LOAD_PARTIALS)]
            m.next = "Await-Vector"
        with m.State("Await-Vector"):
            with m.If(port.done):
                m.next = "Keep-Vector"
        with m.State("Keep-Vector"):
            m.d.comb += [self.access_valid.eq(1), self.access_load.eq(1)]
            with m.If(self.access_ready):
                m.next = "Await-Keeping"
        with m.State("Await-Keeping"):
            with m.If(self.load_done):
                m.next = "Place-Load"
                with m.If(ends_box):
                    m.d.comb += [nest.rewind.eq(1), self.loaded.eq(1)]
                    m.next = "Await-End"
                with m.Else():
                    m.d.comb += nest.advance.eq(1)

    def _nest(self, m: Module) -> tuple[LoopNest, Signal]:
        """The boxes' loops, then channel, row, and the columns' loops; with the vector's index in the memory."""
        p, settings = self.parameters, self.settings
        columns = [j for j in p.output_box if p.loops[j] == "x"]
        outer = p.loops[: p.output_marker]
        loops = (*outer, "m", "y", *("x" for _ in columns))
        m.submodules.nest = nest = LoopNest(loops=loops, bits=p.position_bits, rewind=p.output_marker)
        steps = [
            *(getattr(settings, f"step_{j}_{dim}") for j, dim in enumerate(outer)),
            1,
            1,
            *(getattr(settings, f"step_{j}_x") for j in columns),
        ]
        for j, (dim, step) in enumerate(zip(loops, steps, strict=True)):
            m.d.comb += [nest.extent[j].eq(getattr(settings, f"extent_{dim}")), nest.step[j].eq(step)]
        first = p.output_marker
        strides = {first: settings.output_channel_step, first + 1: settings.output_row_step}
        strides |= {first + 2 + i: getattr(settings, f"output_index_step_{j}") for i, j in enumerate(columns)}
        m.submodules.index = index = LevelRegister(
            loops=len(loops),
            inner=range(first, len(loops)),
            step={j: _adding(stride) for j, stride in strides.items()},
            shape=self.index_bits,
        )
        fresh = Signal(init=1)
        moves = Signal()
        m.d.comb += [
            moves.eq(nest.advance | nest.rewind),
            index.base.eq(0),
            index.fresh.eq(fresh),
            index.turning.eq(nest.turning),
            index.advance.eq(moves),
        ]
        with m.If(moves):
            m.d.sync += fresh.eq(nest.rewind | nest.last[first:].all())
        return nest, index.value


def _adding(stride: ValueLike) -> Callable[[Value], Value]:
    return lambda value: value + stride


def _all(flags: Iterable[Value]) -> ValueLike:
    result: ValueLike = 1
    for flag in flags:
        result = flag & result
    return result
