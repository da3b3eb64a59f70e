"""The input's stream: fetches what is new in each iteration of the marked loop and keeps the tile in a ring."""

from itertools import product

from amaranth.hdl import Module, Mux, Signal, ValueLike
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.lanes import spreads
from hwgen.gateware.bus.tcdm import request_layout, response_signature
from hwgen.gateware.hwc.input.fetcher import InputFetcher
from hwgen.gateware.hwc.input.fill import InputFill
from hwgen.gateware.hwc.input.placer import InputPlacer
from hwgen.gateware.hwc.settings import settings_signature
from hwgen.gateware.hwc.token import input_token
from hwgen.gateware.lib.byte_memory import BankWrites, ByteMemory
from hwgen.gateware.lib.tile_queue import TileQueue

__all__ = ["InputStream"]


class InputStream(wiring.Component):
    """Fetch, keep, and free the input.

    Of each iteration of the marked loop it fetches the rows, or the columns, that the one before did not have (all of
    them where nothing stays), channel by channel, and writes them to the ring as slabs: one row of all channels of
    the tile. Padding and gaps between rows or columns take no room. The ring is the whole memory; a slab goes on at
    the memory's beginning where it reaches the end. While one tile is fetched, the next one is placed.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Begin with the first tile (after a reset).
    o_request, i_response
        To the memory port.
    o_token : Out(stream)
        A tile that is completely in the ring. Taken at its first use.
    release : In(1)
        The tile in use has been used for the last time.
    read_address : In, one per lane along y; read_data : Out
        For each of them, and each lane along c, as many consecutive elements as there are lanes along x, one cycle
        later.
    read_inside : In
        A bit for each lane along y: where it is clear, what padding reads as is read. If `HwcParameters.pads_before`.
    reads : In(1)
        Set with addresses; else ``read_data`` stays. If `HwcParameters.lane_registers`.
    overflow : Out(1)
        A tile needs more slabs than the ring has.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        self.flat = (parameters.input_elements - 1).bit_length() + 1
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "o_request": Out(stream.Signature(request_layout(parameters.ports.I))),
                "i_response": In(response_signature(parameters.ports.I)),
                "o_token": Out(stream.Signature(input_token(parameters))),
                "release": In(1),
                "read_address": In(data.ArrayLayout(self.flat, parameters.lanes.y)),
                "read_data": Out(
                    data.ArrayLayout(8, parameters.lanes.y * parameters.lanes.c * parameters.input_reads)
                ),
                **({"read_inside": In(parameters.lanes.y)} if parameters.pads_before else {}),
                **({"reads": In(1)} if parameters.lane_registers else {}),
                "overflow": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        m.submodules.placer = placer = InputPlacer(p)
        m.submodules.fetcher = fetcher = InputFetcher(p)
        m.submodules.fill = fill = InputFill(p)
        m.submodules.tiles = tiles = TileQueue(
            token=input_token(p),
            capacity=p.input_elements,
            tells_alone=p.columns_slide,
            tells_spare=not p.columns_slide,
        )
        connect(m, flipped(self.settings), placer.settings, fetcher.settings)
        connect(m, fetcher.o_request, flipped(self.o_request))
        connect(m, flipped(self.i_response), fetcher.i_response)
        connect(m, fetcher.o_word, fill.i_word)
        m.d.comb += fill.expected.eq(fetcher.expected)
        # A tile is announced when it has been taken: its registers still have it, the next one comes later. It is
        # complete when its last word will be in the ring at the first use.
        completes = Signal()
        m.d.sync += [
            tiles.i_tile.valid.eq(placer.o_tile.valid & placer.o_tile.ready),
            completes.eq(fetcher.completes),
            tiles.completes.eq(completes),
        ]
        connect(m, tiles.o_token, flipped(self.o_token))
        for name in placer.o_tile.signature.members:
            if name not in ("valid", "ready"):
                m.d.comb += getattr(fetcher.i_tile, name).eq(getattr(placer.o_tile, name))
        if p.columns_slide:
            m.d.comb += fetcher.alone.eq(tiles.alone)
        else:
            m.d.comb += fetcher.spare.eq(tiles.spare)
        if p.wide:
            m.d.comb += fill.wide.eq(self.settings.wide)
        m.d.comb += [
            placer.start.eq(self.start),
            self.overflow.eq(placer.overflow),
            tiles.i_tile.payload.token.eq(placer.token),
            tiles.i_tile.payload.drop.eq(placer.drop),
            fetcher.i_tile.valid.eq(placer.o_tile.valid & tiles.i_tile.ready),
            placer.o_tile.ready.eq(fetcher.i_tile.ready & tiles.i_tile.ready),
            tiles.reserves.eq(fetcher.reserves),
            tiles.reserve.eq(fetcher.reserve),
            fetcher.free.eq(tiles.free),
            tiles.release.eq(self.release),
            fill.stride_x.eq(self.settings.stride_x),
            *(getattr(fill, f"input_phase_{i}").eq(getattr(self.settings, f"input_phase_{i}")) for i in (1, 2, 3)),
        ]
        self._hold(m, fill)
        return m

    def _hold(self, m: Module, fill: InputFill) -> None:
        """The ring, as often as there are lanes along y: each reads a row of its own. Of each, lanes along c have a
        memory each: lane j holds channels j, j + lanes, j + 2 lanes and so on of a tile. With 16-bit operands a pair
        of them does, the first one the lower bytes, the second one the upper bytes."""
        p = self.parameters
        # All are written alike, but for the lane along c: so the bytes are brought to their banks once.
        m.submodules.writes = writes = BankWrites(
            depth=p.input_depth, banks=p.input_banks, writes=p.ports.input_bytes
        )
        m.d.comb += [writes.address.eq(fill.address), writes.enable.eq(fill.enable), writes.data.eq(fill.data)]
        of_lane = [writes]
        if p.byte_planes:
            m.submodules.upper_writes = upper = BankWrites(
                depth=p.input_depth, banks=p.input_banks, writes=p.ports.input_bytes
            )
            m.d.comb += [upper.address.eq(fill.address), upper.enable.eq(fill.enable), upper.data.eq(fill.upper)]
            of_lane.append(upper)
        for copy, channel_lane in product(range(p.lanes.y), range(p.lanes.c)):
            memory = ByteMemory(
                depth=p.input_depth,
                banks=p.input_banks,
                lanes=p.input_reads,
                block_ram=p.block_ram,
                # The datapath has a register for them then.
                rotates_late=spreads(p.lanes),
                fills=p.pads_before,
                gated=p.lane_registers,
            )
            number = copy * p.lanes.c + channel_lane
            m.submodules[f"memory_{number}"] = memory
            m.d.comb += [
                memory.i_banks.eq(of_lane[channel_lane % len(of_lane)].o_banks),
                memory.chosen.eq(self._chosen(fill, channel_lane)),
                memory.read_address.eq(self.read_address[copy]),
            ]
            if p.lane_registers:
                m.d.comb += memory.reads.eq(self.reads)
            if p.pads_before:
                padding = self.settings.zero_in if p.scaled else 0
                m.d.comb += [memory.inside.eq(self.read_inside[copy]), memory.outside.eq(padding)]
            for byte in range(p.input_reads):
                m.d.comb += self.read_data[number * p.input_reads + byte].eq(memory.read_data[byte])

    def _chosen(self, fill: InputFill, channel_lane: int) -> ValueLike:
        """Whether the memory of a lane along c is written."""
        p = self.parameters
        if p.lanes.c == 1:
            return 1
        narrow = fill.channel_lane == channel_lane
        return Mux(fill.wide, fill.channel_lane == channel_lane // 2, narrow) if p.byte_planes else narrow
