"""Scatters the bytes of a run over the TCDM: weights are dense in DRAM, and in fetch order in the TCDM."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.dma import DmaParameters
from hwgen.gateware.dma.descriptor_front import way_layout
from hwgen.gateware.dma.settings import wrapped
from hwgen.gateware.dma.walk import LENGTH_BITS
from hwgen.gateware.dma.write import write_layout

__all__ = ["Scatterer"]


class Scatterer(wiring.Component):
    """Writes each byte of a run to an address of its own, `DmaParameters.scattered_bytes` a cycle out of one beat.

    Parameters
    ----------
    parameters
        What the DMA is generated for.

    Members
    -------
    i_run : In(stream)
        ``source`` (offset of the first byte in its beat), ``tcdm``, ``length``, ``last``; ``joins``: the
        next run starts at the next byte of the same beat.
    way : In
        Constant from the cycle in which a run is accepted until its end.
    i_unit : In(stream)
        Beats.
    o_line : Out(stream of `write_layout`)
    busy : Out(1)
    """

    def __init__(self, parameters: DmaParameters) -> None:
        self.parameters = parameters
        self._low = (parameters.beat_bytes - 1).bit_length()
        run = data.StructLayout(
            {"source": self._low, "tcdm": parameters.tcdm_address_bits, "length": LENGTH_BITS, "joins": 1, "last": 1}
        )
        super().__init__(
            {
                "i_run": In(stream.Signature(run)),
                "way": In(way_layout(parameters, scatters=True)),
                "i_unit": In(stream.Signature(parameters.axi_bits)),
                "o_line": Out(stream.Signature(write_layout(parameters))),
                "busy": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, run, way = self.parameters, self.i_run.payload, self.way
        at, row, position = (
            Signal(p.tcdm_address_bits, name="at"),
            Signal(p.tcdm_address_bits, name="row"),
            Signal(LENGTH_BITS, name="position"),
        )
        left, lane = Signal(LENGTH_BITS), Signal(self._low)
        joins, ends_descriptor = Signal(), Signal()
        count = Signal(range(p.scattered_bytes + 1))
        steps, ends, leaves_beat = Signal(), Signal(), Signal()
        place: tuple[Value, Value, Value] = (at, row, position)
        after = []
        for k in range(p.scattered_bytes):
            word = self.o_line.payload.words[k]
            byte = self.i_unit.payload.word_select((lane + k)[: self._low], 8)
            fits = Signal(name=f"fits_{k}")
            m.d.comb += [
                fits.eq((left > k) & (lane + k < p.beat_bytes)),
                word.address.eq(place[0]),
                word.enable.eq(fits << place[0][:2]),
                word.data.eq(byte.replicate(4)),
            ]
            with m.If(fits):
                m.d.comb += count.eq(k + 1)
            place = self._next(m, place, way, k)
            after.append(place)
        m.d.comb += [
            self.o_line.valid.eq(self.busy & self.i_unit.valid),
            self.o_line.payload.last.eq(ends_descriptor & (left == count)),
            steps.eq(self.o_line.valid & self.o_line.ready),
            ends.eq(steps & (left == count)),
            leaves_beat.eq(((left == count) & ~joins) | (lane + count == p.beat_bytes)),
            self.i_unit.ready.eq(self.busy & self.o_line.ready & leaves_beat),
            self.i_run.ready.eq(~self.busy | ends),
        ]
        with m.If(steps):
            m.d.sync += [left.eq(left - count), lane.eq(lane + count)]
            with m.Switch(count):
                for k, (next_at, next_row, next_position) in enumerate(after):
                    with m.Case(k + 1):
                        m.d.sync += [at.eq(next_at), row.eq(next_row), position.eq(next_position)]
        with m.If(self.i_run.ready):
            m.d.sync += self.busy.eq(self.i_run.valid)
            with m.If(self.i_run.valid):
                m.d.sync += [
                    at.eq(run.tcdm),
                    row.eq(run.tcdm),
                    position.eq(1),
                    left.eq(run.length),
                    lane.eq(run.source),
                    joins.eq(run.joins),
                    ends_descriptor.eq(run.last),
                ]
        return m

    def _next(
        self, m: Module, place: tuple[Value, Value, Value], way: data.View, k: int
    ) -> tuple[Value, Value, Value]:
        """The next byte: its address, the address of the first byte of its fold, its index in the fold."""
        at, row, position = place
        bits = self.parameters.tcdm_address_bits
        next_at, next_row, next_position = (
            Signal(bits, name=f"at_{k}"),
            Signal(bits, name=f"row_{k}"),
            Signal(LENGTH_BITS, name=f"position_{k}"),
        )
        folds = position == way.fold
        base = Mux(folds, row, at)
        step = Mux(folds, way.slow_stride, way.fast_stride)
        m.d.comb += [
            next_at.eq(wrapped(m, base + step, way.ring_end, way.ring_size, f"byte_{k}")),
            next_row.eq(Mux(folds, next_at, row)),
            next_position.eq(Mux(folds, 1, position + 1)),
        ]
        return next_at, next_row, next_position
