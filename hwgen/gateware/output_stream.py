"""The output's stream: fetches partial sums where a box resumes, drains boxes as partial sums or as final outputs."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.output_walk import OutputWalk
from hwgen.gateware.params import REDUCTION, HwcParameters
from hwgen.gateware.settings import output_capacity, settings_signature
from hwgen.gateware.tcdm import Request
from hwgen.gateware.vector_port import VectorMove, VectorPort

__all__ = ["OutputStream"]

BOXES_AHEAD = 2
"""Boxes between the one that is drained and the one that is loaded, at most."""


class OutputStream(wiring.Component):
    """Walks the boxes of the output: one execution of the loop that O is buffered at, vector by vector.

    Two walks share one vector port. The drain reads the vectors of a box that the sequencer has ended one by one, and
    writes them: 32-bit partial sums while reduction is still to come, else requantised outputs, packed into words
    along a row. The biases of the channels at hand are fetched before their first final output. Where the reduction
    of a box began in an earlier execution, its partial sums are loaded, ahead of the drain as far as the memory has
    room: they are needed sooner, and so go first.

    A vector is asked for while the one before is still being written. If it comes too early, because the port stalls,
    it is asked for again.

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
        The sequencer has issued the last operation of the present box (a pulse); not again before ``drained``.
    loaded : Out(1)
        The partial sums of one more box are in the output memory (a pulse).
    drained : Out(1)
        The box that ended has left the output memory (a pulse); ``unloaded`` counts its vectors that have left.
    access_valid, access_load, access_index, access_ready
        Operations for the datapath: load a vector or unload it; ``access_index`` is its place in the memory.
    load_data : Out, load_done : In
    unload_data : In, unload_done : In
    finished : Out(1)
        The last box has been written.
    move : Out(VectorMove)
        In a cluster: what the request belongs to.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.index_bits = parameters.output_index_bits
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
                **({"move": Out(VectorMove)} if parameters.cluster else {}),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        m.submodules.port = port = VectorPort(p)
        connect(m, port.o_request, flipped(self.o_request))
        connect(m, flipped(self.i_response), port.i_response)
        m.submodules.drain = drain = OutputWalk(p)
        connect(m, flipped(settings), drain.settings)
        started, unloading, live = Signal(), Signal(), Signal(init=1)
        with m.If(self.start):
            m.d.sync += [started.eq(1), live.eq(0)]
        m.d.comb += drain.live.eq(live)
        if p.wide:
            m.d.comb += port.wide.eq(settings.wide)
        if p.cluster:
            m.d.comb += self.move.eq(port.moves)
        m.d.comb += [
            drain.start.eq(self.start),
            drain.partial.eq(~drain.is_final),
            port.output_pitch.eq(settings.output_pitch),
            port.output_plane.eq(settings.output_plane),
            port.partial_pitch.eq(settings.partial_pitch),
            port.partial_plane.eq(settings.partial_plane),
            port.shift.eq(settings.shift),
            port.relu.eq(settings.relu),
            port.ceiling.eq(settings.ceiling),
            port.captured.eq(self.unload_data),
            port.kept.eq(self.load_done),
            self.load_data.eq(port.vector),
        ]
        m.d.sync += self.finished.eq(started & ~drain.valid & ~port.busy)
        # What the port begins with is chosen by what is known early in a cycle, whether or not it begins: the vector
        # that is awaited, else one to load, else biases. That it begins is known late.
        m.d.comb += [
            port.move.eq(VectorMove.FETCH_BIAS),
            port.address.eq(settings.bias_base + (drain.channel << 2)),
            port.channels.eq(1),
            port.rows.eq(1),
            port.columns.eq(drain.channels),
        ]
        wants_load: Value = Signal(name="no_load")
        if p.cluster or any(dim in REDUCTION for dim in p.loops[: p.output_marker]):
            wants_load = self._load(m, port, drain, unloading)
        self._drain(m, port, drain, unloading, live, wants_load)
        return m

    def _drain(
        self, m: Module, port: VectorPort, drain: OutputWalk, unloading: Signal, live: Signal, wants_load: Value
    ) -> None:
        """Ask for the next vector of a box that has ended; store it when it comes and the port is free."""
        ended, has_biases, may_bias, asks = Signal(), Signal(), Signal(), Signal()
        needs_biases = drain.is_final & ~has_biases
        with m.If(self.box_ends):
            m.d.sync += ended.eq(1)
        m.d.comb += [
            asks.eq(drain.valid & ended & ~unloading & port.ending & ~needs_biases & ~wants_load),
            may_bias.eq(drain.valid & needs_biases & ~unloading & port.free & ~wants_load),
        ]
        with m.If(asks & ~self.access_load):
            m.d.comb += [self.access_valid.eq(1), self.access_index.eq(drain.place)]
            with m.If(self.access_ready):
                m.d.sync += [unloading.eq(1), live.eq(1)]
        with m.If(may_bias):
            # From here on they are there whenever the port is free.
            m.d.sync += has_biases.eq(1)
            m.d.comb += port.start.eq(1)
        with m.If(unloading):
            m.d.comb += [
                port.move.eq(Mux(drain.is_final, VectorMove.STORE_OUTPUTS, VectorMove.STORE_PARTIALS)),
                port.address.eq(drain.address),
                port.channels.eq(drain.channels),
                port.rows.eq(drain.rows),
                port.columns.eq(drain.columns),
                port.ends_row.eq(drain.ends_row),
            ]
        with m.If(self.unload_done):
            m.d.sync += [unloading.eq(0), live.eq(0)]
            with m.If(port.free & drain.placed):
                m.d.comb += [
                    port.capture.eq(1),
                    port.start.eq(1),
                    drain.advance.eq(1),
                    self.drained.eq(drain.ends_box),
                ]
                m.d.sync += self.unloaded.eq(drain.index + 1)
                with m.If(drain.ends_channels):
                    m.d.sync += has_biases.eq(0)
                with m.If(drain.ends_box):
                    m.d.sync += [self.unloaded.eq(0), ended.eq(0)]

    def _load(self, m: Module, port: VectorPort, drain: OutputWalk, unloading: Signal) -> Value:
        """Load the partial sums of the next box that resumes; whether a vector of it is to be loaded now."""
        p, settings = self.parameters, self.settings
        m.submodules.load = load = OutputWalk(p)
        connect(m, flipped(settings), load.settings)
        ahead = Signal(range(BOXES_AHEAD + 2))
        has_room, revisits, wants, begins, keeping, ends_box = (Signal() for _ in range(6))
        place = Signal(self.index_bits)
        box, last_box = Signal(len(Cat(*load.box))), Signal(len(Cat(*load.box)))
        offset = (
            load.index
            + Mux(ahead[0], settings.output_box_vectors, 0)
            + (Mux(ahead[1], settings.output_box_vectors, 0) << 1)
        )
        # What is loaded must have been written: the same box must not be waiting for its drain.
        with m.If(load.valid & load.resumes):
            m.d.comb += [
                has_room.eq(offset < output_capacity(p, settings) + self.unloaded),
                revisits.eq(((ahead != 0) & (box == Cat(*drain.box))) | (ahead[1] & (box == last_box))),
                wants.eq(load.placed & has_room & ~revisits & (ahead <= BOXES_AHEAD)),
            ]
        m.d.comb += [
            box.eq(Cat(*load.box)),
            load.start.eq(self.start),
            load.partial.eq(1),
            begins.eq(wants & port.free & ~unloading),
            load.advance.eq(begins | (load.valid & ~load.resumes & (ahead <= BOXES_AHEAD))),
        ]
        m.d.sync += ahead.eq(ahead + (load.advance & load.ends_box) - self.drained)
        with m.If(load.advance & load.ends_box):
            m.d.sync += last_box.eq(box)
        with m.If(wants):
            m.d.comb += [
                port.move.eq(VectorMove.LOAD_PARTIALS),
                port.address.eq(load.address),
                port.channels.eq(load.channels),
                port.rows.eq(load.rows),
                port.columns.eq(load.columns),
            ]
        with m.If(begins):
            m.d.comb += port.start.eq(1)
            m.d.sync += [place.eq(load.place), ends_box.eq(load.ends_box)]
        # Asked to be kept before it is complete; if it was not in time, once more.
        with m.If(port.loading & ~keeping):
            m.d.comb += [self.access_valid.eq(1), self.access_load.eq(1), self.access_index.eq(place)]
            with m.If(self.access_ready):
                m.d.sync += keeping.eq(1)
        with m.If(self.load_done):
            m.d.sync += keeping.eq(0)
            m.d.comb += self.loaded.eq(port.done & ends_box)
        return wants
