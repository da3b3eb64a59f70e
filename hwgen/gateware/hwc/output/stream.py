"""The output's stream: loads the partial sums of tiles that resume; drains tiles as partial sums or final outputs."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.latency import TILES_LOADED_AHEAD
from hwgen.gateware.bus.tcdm import request_layout, response_signature
from hwgen.gateware.hwc.output.address import RowAddress
from hwgen.gateware.hwc.output.drain import DrainedVectors
from hwgen.gateware.hwc.output.vector_port import VectorMove, VectorPort
from hwgen.gateware.hwc.output.walk import OutputWalk
from hwgen.gateware.hwc.output.wide_words import WideWords
from hwgen.gateware.hwc.settings import output_capacity, settings_signature

__all__ = ["OutputStream"]


class OutputStream(wiring.Component):
    """Walks the tiles of the output: one execution of the loop that O is buffered at, vector by vector.

    Two walks share one vector port. The drain reads the vectors of a tile that the sequencer has ended, one by one,
    and writes them: 32-bit partial sums while reduction is still to come, else requantised outputs, packed into words
    along a row. The biases of the channels at hand are fetched before their first final output, or read from the
    store of those that are kept. Where the reduction of a tile began in an earlier execution, its partial sums are
    loaded, ahead of the drain as far as the memory has room: they are needed sooner, and so go first.

    A vector is asked for while the one before is still being written, or, where the datapath has more stages than a
    vector takes cycles to be written, is still on its way. If it comes too early, because the port stalls, it is
    asked for again.

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
    tile_ends : In(1)
        The sequencer has issued the last operation of the present tile (a pulse); not again before ``drained``.
    loaded : Out(1)
        The partial sums of one more tile are in the output memory (a pulse).
    drained : Out(1)
        The tile that ended has left the output memory (a pulse); ``unloaded`` counts its vectors that have left.
    access_valid, access_load, access_index : Out
        Operations for the datapath: load a vector or unload it; ``access_index`` is its place in the memory. They
        stand in registers and are made at once.
    load_data : Out, load_done : In
    unload_data : In, unload_done : In
    finished : Out(1)
        The last tile has been written.
    move : Out(VectorMove)
        In a cluster: what the request belongs to.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = p = parameters
        self.index_bits = parameters.output_index_bits
        sums = data.ArrayLayout(signed(32), parameters.lanes.sums)
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(request_layout(p.ports.O))),
                "i_response": In(response_signature(p.ports.O)),
                "tile_ends": In(1),
                "loaded": Out(1),
                "drained": Out(1),
                "unloaded": Out(self.index_bits),
                "access_valid": Out(1),
                "access_load": Out(1),
                "access_index": Out(self.index_bits),
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
        move = port.i_move
        if p.ports.O == WORD_BITS:
            connect(m, port.o_request, flipped(self.o_request))
            connect(m, flipped(self.i_response), port.i_response)
        else:
            m.submodules.wide = wide = WideWords(p)
            m.d.comb += wide.place.eq(port.place)
            connect(m, port.o_request, wide.i_request)
            connect(m, wide.o_response, port.i_response)
            connect(m, wide.o_request, flipped(self.o_request))
            connect(m, flipped(self.i_response), wide.i_response)
        m.submodules.drain = drain = DrainedVectors(p)
        for block in (port, drain):
            connect(m, flipped(settings), block.settings)
        started, unloading = Signal(), Signal()
        with m.If(drain.moves):
            m.d.sync += started.eq(1)
        if p.cluster:
            m.d.comb += self.move.eq(port.moves)
        m.d.comb += [
            drain.start.eq(self.start),
            port.captured.as_value().eq(self.unload_data.as_value()),
            port.kept.eq(self.load_done),
            move.tail.eq(drain.tail),
            move.overflows.eq(drain.overflows),
            move.ends_row.eq(drain.ends_row),
            move.kept.eq(~drain.needs_fetch),
            move.channel.eq(drain.channel),
            self.load_data.as_value().eq(port.vector.as_value()),
        ]
        m.d.sync += self.finished.eq(started & ~drain.valid & ~port.busy)
        # What the port begins with is chosen by what is known early in a cycle, whether or not it begins: the vector
        # that is awaited, else one to load, else biases. That it begins is known late.
        m.d.comb += [
            move.kind.eq(VectorMove.FETCH_BIAS),
            move.address.eq(drain.bias_address),
            move.rows.eq(1),
            move.columns.eq(1),
            move.beats.eq(1),
            move.steps.eq(drain.channels << 1 if p.record_words > 1 else drain.channels),
        ]
        wants_load: Value = Signal(name="no_load")
        keeps: Value = Signal(name="no_keep")
        if p.loads_sums:
            wants_load, keeps = self._load(m, port, drain, unloading)
        self._drain(m, port, drain, unloading, wants_load, keeps)
        return m

    def _drain(
        self, m: Module, port: VectorPort, drain: DrainedVectors, unloading: Signal, wants_load: Value, keeps: Value
    ) -> None:
        """Ask for the next vector of a tile that has ended; store it when it comes and the port is free."""
        p, move = self.parameters, port.i_move
        ended, has_biases, asks, may_bias, follows, comes, taken = (Signal() for _ in range(7))
        # The vector's register with its hundreds of bits hangs on ``unload_done``: so the same is told the other way
        # round, which Yosys does not make one register of.
        waits = Signal(p.capture, init=-1)
        needs_biases = drain.is_final & ~has_biases
        ahead, early, lost = self._ask_early(m, port, drain, unloading, follows, keeps, waits)
        # What is asked for in the next cycle: the present vector, or, when that one has just come, the one after it.
        m.d.comb += [
            asks.eq(drain.valid & ~unloading & port.ending & ~needs_biases & ~wants_load & ~keeps),
            follows.eq(
                drain.next_valid
                & ~drain.ends_tile
                & ~(drain.next_is_final & drain.ends_channels)
                & (p.overlaps | (move.steps <= p.capture + 1))
                & ~wants_load
            ),
            port.arriving.eq(self.unload_done),
            taken.eq(~waits[-1] & port.takes),
            comes.eq((asks & (ended | self.tile_ends)) | (taken & follows & ~ahead) | early),
            may_bias.eq(drain.valid & needs_biases & ~drain.moves & ~unloading & port.free & ~wants_load),
        ]
        m.d.sync += [
            self.access_valid.eq(keeps | comes),
            self.access_load.eq(keeps),
            unloading.eq(comes | (unloading & waits[-1]) | (ahead & taken)),
            waits.eq(Cat(~self.access_valid | self.access_load, waits[:-1]) | lost.replicate(p.capture)),
        ]
        with m.If(~keeps):
            m.d.sync += self.access_index.eq(Mux(unloading, drain.next_place, drain.place))
        with m.If(self.tile_ends):
            m.d.sync += ended.eq(1)
        with m.If(may_bias):
            # From here on they are there whenever the port is free.
            m.d.sync += has_biases.eq(1)
            m.d.comb += port.start.eq(1)
        with m.If(unloading):
            m.d.comb += [
                move.kind.eq(Mux(drain.is_final, VectorMove.STORE_OUTPUTS, VectorMove.STORE_PARTIALS)),
                move.address.eq(drain.address),
                move.rows.eq(drain.rows),
                move.columns.eq(drain.columns),
                move.beats.eq(drain.beats),
                move.steps.eq(drain.steps),
            ]
        with m.If(taken):
            m.d.comb += [port.start.eq(1), drain.taken.eq(1), self.drained.eq(drain.ends_tile)]
            m.d.sync += self.unloaded.eq(drain.index_after)
            with m.If(drain.ends_channels):
                m.d.sync += has_biases.eq(0)
            with m.If(drain.ends_tile):
                m.d.sync += [self.unloaded.eq(0), ended.eq(0)]

    def _ask_early(
        self,
        m: Module,
        port: VectorPort,
        drain: DrainedVectors,
        unloading: Signal,
        follows: Value,
        keeps: Value,
        waits: Signal,
    ) -> tuple[Value, Value, Value]:
        """Ask for the next vector while the present one is under way, so that it comes when that one is stored.

        Returns whether it is under way, whether it is asked for now, and whether it is lost: where the present one is
        not taken, both are asked for again.
        """
        p = self.parameters
        if not p.overlaps:
            return C(0), C(0), C(0)
        ahead, early, lost = Signal(), Signal(), Signal()
        # Clear where the present vector was asked for less than `vectors_apart` cycles ago.
        since = Cat(~self.access_valid | self.access_load, waits[: p.vectors_apart - 2])
        m.d.comb += [
            early.eq(unloading & ~ahead & waits[-1] & since.all() & follows & ~drain.moves & ~keeps),
            lost.eq(~waits[-1] & ~port.takes),
        ]
        m.d.sync += ahead.eq(early | (ahead & waits[-1]))
        return ahead, early, lost

    def _load(self, m: Module, port: VectorPort, drain: DrainedVectors, unloading: Signal) -> tuple[Value, Value]:
        """Load the partial sums of the next tile that resumes. Returns whether a vector of it is to be loaded now,
        and whether one is to be kept from the next cycle on.

        That one begins to be loaded is known late in a cycle: only the index in the tile changes with it, the walk
        and the row's address a cycle later. Whether the next one is wanted is found a cycle before it may begin. So
        in the cycle after a begin it is found of the vector that has begun; then the port takes nothing and ends
        nothing. What comes with another row or tile has the time that the row's address takes.
        """
        p, settings, move = self.parameters, self.settings, port.i_move
        m.submodules.load = load = OutputWalk(p)
        m.submodules.load_address = row_address = RowAddress(p)
        for block in (load, row_address):
            connect(m, flipped(settings), block.settings)
        ahead = Signal(range(TILES_LOADED_AHEAD + 2))
        wants, begins, begun, skips, moved, keeping, keeps, ends_tile = (Signal() for _ in range(8))
        place = Signal(self.index_bits)
        lines, steps = Signal(range(p.vector_lanes.product + 1)), Signal(range(p.vector_lanes.product + 1))
        # What is loaded must have been written: the same tile must not be waiting for its drain.
        has_room, revisits = self._room(m, load, drain, ahead), self._revisits(m, load, ahead)
        m.d.sync += wants.eq(load.valid & load.resumes & row_address.will_be_placed & has_room & ~revisits)
        m.d.comb += [
            begins.eq(wants & port.free & ~unloading),
            skips.eq(load.valid & ~load.resumes & (ahead <= TILES_LOADED_AHEAD)),
            load.start.eq(self.start),
            load.advance.eq(begun | skips),
            load.index_advance.eq(begins | skips),
            row_address.moves.eq((begun & load.leaves_row) | moved),
            row_address.partial.eq(1),
            row_address.channel.eq(Mux(begun, load.next_channel, load.channel)),
            row_address.row.eq(load.row),
        ]
        m.d.sync += [begun.eq(begins), moved.eq(self.start | (skips & load.leaves_row))]
        # They are there when the vector may be loaded, also where it is in the same row as the one before.
        m.d.sync += [lines.eq(load.channels * load.rows), steps.eq(lines * load.columns)]
        m.d.sync += ahead.eq(ahead + (load.advance & load.ends_tile) - self.drained)
        with m.If(wants):
            m.d.comb += [
                move.kind.eq(VectorMove.LOAD_PARTIALS),
                move.address.eq(row_address.address + (load.column << 2)),
                move.rows.eq(load.rows),
                move.columns.eq(load.columns),
                move.beats.eq(load.columns),
                move.steps.eq(steps),
            ]
        with m.If(begins):
            m.d.comb += port.start.eq(1)
            m.d.sync += [place.eq(load.place), ends_tile.eq(load.ends_tile)]
        # Asked to be kept before it is complete; if it was not in time, once more.
        m.d.comb += keeps.eq(port.loading & ~keeping)
        with m.If(keeps):
            m.d.sync += [keeping.eq(1), self.access_index.eq(place)]
        with m.If(self.load_done):
            m.d.sync += keeping.eq(0)
            m.d.comb += self.loaded.eq(port.done & ends_tile)
        return wants, keeps

    def _room(self, m: Module, load: OutputWalk, drain: DrainedVectors, ahead: Signal) -> Value:
        """Whether the memory has room for the vector to load, in the next cycle.

        That a vector leaves is known late in a cycle, so it only chooses between two comparisons: what will be free
        then is computed while the vector waits. The tiles ahead, and what has left, are those of the cycle before.
        """
        settings, capacity = self.settings, output_capacity(self.parameters, self.settings)
        of_tile = settings.output_box_vectors
        of_tiles = Signal(len(of_tile) + 2, name="boxes")
        limit, limit_after = Signal(self.index_bits + 2), Signal(self.index_bits + 2)
        offset = Signal(max(len(of_tiles), self.index_bits) + 1)
        m.d.sync += [
            of_tiles.eq(Mux(ahead[0], of_tile, 0) + (Mux(ahead[1], of_tile, 0) << 1)),
            limit.eq(capacity + self.unloaded),
            # With the last vector of a tile all of that tile is free, which then counts no more as one ahead.
            limit_after.eq(capacity + Mux(drain.ends_tile, of_tile, drain.index_after)),
        ]
        m.d.comb += offset.eq(load.index + of_tiles)
        return Mux(drain.taken | drain.moves, offset < limit_after, offset < limit)

    def _revisits(self, m: Module, load: OutputWalk, ahead: Signal) -> Value:
        """Whether the tile to load is one that will not have been drained in the next cycle, or too far ahead."""
        tile = Cat(*load.tile)
        last, before_last = Signal(len(tile), name="last_tile"), Signal(len(tile), name="tile_before_last")
        is_last, is_before_last = Signal(), Signal()
        with m.If(load.advance & load.ends_tile):
            m.d.sync += [last.eq(tile), before_last.eq(last)]
        m.d.sync += [is_last.eq(tile == last), is_before_last.eq(tile == before_last)]
        now = ((ahead != 0) & is_last) | (ahead[1] & is_before_last) | (ahead > TILES_LOADED_AHEAD)
        drained = (ahead[1] & is_last) | ((ahead > TILES_LOADED_AHEAD) & is_before_last)
        return Mux(self.drained, drained, now)
