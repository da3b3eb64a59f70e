"""Runs of contiguous bytes in the DRAM, which a stream carries one after the other, and their bursts."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline.maps import MOST_LINE
from hwgen.arch.pipeline.movers import ORDERS_AHEAD, MoverParameters
from hwgen.gateware.pipeline.overlap_port import MAP_BITS

__all__ = ["BurstCutter", "LineRuns", "OrderedRuns", "Run", "run_burst_layout"]


class Run(data.Struct):
    """Contiguous bytes: the address of the first, and their number."""

    address: 32
    bytes: 32


def run_burst_layout(parameters: MoverParameters) -> data.StructLayout:
    """A burst of a run: address of its first byte, beats less one, lane of its last byte, whether the run ends."""
    lane = (parameters.beat_bytes - 1).bit_length()
    return data.StructLayout({"address": 32, "length": 8, "last_lane": lane, "ends": 1})


class LineRuns(wiring.Component):
    """The runs of a tile of a map: as many as there are lines, ``pitch`` bytes apart.

    Parameters
    ----------
    waits
        Every run waits until ``permits`` has been set once more.

    Members
    -------
    begin : In(1)
        The settings are valid.
    address, bytes, pitch, lines : In
    permits, free : In(1)
        See ``waits``; while ``free`` is set no run waits.
    o_run : Out(stream)
    """

    def __init__(self, *, waits: bool = False) -> None:
        self._waits = waits
        super().__init__(
            {
                "begin": In(1),
                "address": In(32),
                "bytes": In(32),
                "pitch": In(32),
                "lines": In(MOST_LINE.bit_length()),
                "permits": In(1),
                "free": In(1),
                "o_run": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        address, left, permitted = Signal(32), Signal.like(self.lines), Signal.like(self.lines)
        goes = self.o_run.valid & self.o_run.ready
        m.d.comb += [
            self.o_run.valid.eq((left != 0) & (((permitted != 0) | self.free) if self._waits else 1)),
            self.o_run.payload.address.eq(address),
            self.o_run.payload.bytes.eq(self.bytes),
        ]
        if self._waits:
            m.d.sync += permitted.eq(permitted + self.permits - (goes & ~self.free))
        with m.If(self.begin):
            m.d.sync += [address.eq(self.address), left.eq(Mux(self.bytes == 0, 0, self.lines))]
        with m.Elif(goes):
            m.d.sync += [address.eq(address + self.pitch), left.eq(left - 1)]
        return m


class OrderedRuns(wiring.Component):
    """The runs of the maps that share the overlap port, in the order of a stream of map numbers.

    The numbers are passed on to the port, which may use them later.

    Parameters
    ----------
    maps
        The numbers of these maps.

    Members
    -------
    begin : In(1)
        The settings are valid.
    address_{map}, bytes_{map}, pitch_{map} : In
    i_order, o_order : In, Out(stream)
    o_run : Out(stream)
    """

    def __init__(self, maps: tuple[int, ...]) -> None:
        self._maps = maps
        settings = {f"{name}_{number}": In(32) for number in maps for name in ("address", "bytes", "pitch")}
        order = stream.Signature(MAP_BITS)
        super().__init__(
            {
                "begin": In(1),
                **settings,
                "i_order": In(order),
                "o_order": Out(order),
                "o_run": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.known = known = SyncFIFO(width=MAP_BITS, depth=ORDERS_AHEAD)
        goes = Signal()
        m.d.comb += [
            self.o_run.valid.eq(self.i_order.valid & known.w_rdy),
            goes.eq(self.o_run.valid & self.o_run.ready),
            self.i_order.ready.eq(goes),
            known.w_en.eq(goes),
            known.w_data.eq(self.i_order.payload),
            self.o_order.valid.eq(known.r_rdy),
            self.o_order.payload.eq(known.r_data),
            known.r_en.eq(self.o_order.ready),
        ]
        for number in self._maps:
            address = Signal(32, name=f"next_{number}")
            chosen = self.i_order.payload == number
            with m.If(chosen):
                m.d.comb += [
                    self.o_run.payload.address.eq(address),
                    self.o_run.payload.bytes.eq(getattr(self, f"bytes_{number}")),
                ]
            with m.If(self.begin):
                m.d.sync += address.eq(getattr(self, f"address_{number}"))
            with m.Elif(goes & chosen):
                m.d.sync += address.eq(address + getattr(self, f"pitch_{number}"))
        return m


class BurstCutter(wiring.Component):
    """Cuts runs into bursts at multiples of ``burst_bytes``; one burst a cycle, also where one run follows another.

    Parameters
    ----------
    parameters
        Of the movers.

    Members
    -------
    i_run : In(stream)
    o_burst : Out(stream)
    """

    def __init__(self, parameters: MoverParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "i_run": In(stream.Signature(Run)),
                "o_burst": Out(stream.Signature(run_burst_layout(parameters))),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        window, lane = (p.burst_bytes - 1).bit_length(), (p.beat_bytes - 1).bit_length()
        address, left, room, size = Signal(32), Signal(32), Signal(window + 1), Signal(window + 1)
        last = Signal(window + 1)
        burst = self.o_burst.payload
        goes = self.o_burst.valid & self.o_burst.ready
        m.d.comb += [
            room.eq(p.burst_bytes - address[:window]),
            burst.ends.eq(left <= room),
            size.eq(Mux(burst.ends, left, room)),
            last.eq(address[:window] + size - 1),
            burst.address.eq(address),
            burst.length.eq(last[lane:] - address[lane:window]),
            burst.last_lane.eq(last),
            self.o_burst.valid.eq(left != 0),
            self.i_run.ready.eq((left == 0) | (goes & burst.ends)),
        ]
        with m.If(goes):
            m.d.sync += [address.eq(address + size), left.eq(left - size)]
        with m.If(self.i_run.valid & self.i_run.ready):
            m.d.sync += [address.eq(self.i_run.payload.address), left.eq(self.i_run.payload.bytes)]
        return m
