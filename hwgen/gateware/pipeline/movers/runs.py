"""Runs of contiguous bytes in the DRAM, which a stream carries one after the other, and their bursts."""

from collections.abc import Collection

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline.maps import MOST_LINE
from hwgen.arch.pipeline.movers import ORDERS_AHEAD, MoverParameters
from hwgen.gateware.pipeline.overlap_port import MAP_BITS

LINES_BITS = MOST_LINE.bit_length()

__all__ = ["BurstCutter", "LineRuns", "OrderedRuns", "Run", "run_burst_layout"]


class Run(data.Struct):
    """Contiguous bytes: the address of the first, and their number."""

    address: 32
    bytes: 32


def run_burst_layout(parameters: MoverParameters) -> data.StructLayout:
    """A burst of a run: address of its first byte, beats less one, lane of its last byte, whether the run ends."""
    lane = (parameters.beat_bytes - 1).bit_length()
    return data.StructLayout({"address": 32, "length": 8, "last_lane": lane, "ends": 1})


class _Lead(wiring.Component):
    """The lines by which the writer of a map is ahead of its reader, line by line and tile by tile.

    A tile without runs counts as all of its lines, as soon as all that was written before is in the DRAM. Of two
    streams in the same tile the one that reads is later; one that reads what the tile before has written may be
    ahead by a tile less a line.

    Parameters
    ----------
    tile_before
        Lines are read that the tile before has written.

    Members
    -------
    lines : In
        Of a tile.
    asked, written : In(1)
        Pulses: the next line is to be written; it is in the DRAM.
    left_out, passed_over : In(1)
        Pulses: a tile begins in which nothing is written, or nothing is read.
    begins : In(1)
        A pulse: what reads begins a tile.
    reads : In(1)
        A pulse: it reads the next line.
    ready : Out(1)
        The next line is in the DRAM.
    """

    def __init__(self, *, tile_before: bool) -> None:
        self._tile_before = tile_before
        pulses = ("asked", "written", "left_out", "begins", "passed_over", "reads")
        super().__init__({"lines": In(LINES_BITS), **{name: In(1) for name in pulses}, "ready": Out(1)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        lead, first = Signal(signed(LINES_BITS + 3)), Signal(init=1)
        # What writes is a tile ahead of what reads at most: two tiles may be left out until all lines are written.
        unwritten, empty, passes = Signal(LINES_BITS + 1), Signal(range(4)), Signal()
        gained = Mux(passes, self.lines, 0)
        if self._tile_before:
            gained += Mux(self.begins & first, self.lines, 0)
        m.d.comb += [passes.eq((empty != 0) & (unwritten == 0)), self.ready.eq(lead > 0)]
        m.d.sync += [
            unwritten.eq(unwritten + self.asked - self.written),
            empty.eq(empty + self.left_out - passes),
            lead.eq(lead + self.written - self.reads + gained - Mux(self.passed_over, self.lines, 0)),
        ]
        with m.If(self.begins):
            m.d.sync += first.eq(0)
        return m


class LineRuns(wiring.Component):
    """The runs of a tile of a map: as many as there are lines, ``pitch`` bytes apart.

    Parameters
    ----------
    waits
        Every run waits until the same line of the tile is ``written``.

    Members
    -------
    begin : In(1)
        A tile begins, after the last run of the one before: the settings are valid in this cycle.
    address, bytes, pitch, lines : In
    asked, written, left_out : In(1)
        See ``waits`` and `_Lead`.
    done : Out(1)
        There are no further runs in the tile.
    empty : Out(1)
        A pulse: a tile without runs begins.
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
                "lines": In(LINES_BITS),
                "asked": In(1),
                "written": In(1),
                "left_out": In(1),
                "done": Out(1),
                "empty": Out(1),
                "o_run": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        address, size, pitch, left = Signal(32), Signal(32), Signal(32), Signal.like(self.lines)
        ready, goes = Signal(), self.o_run.valid & self.o_run.ready
        m.d.comb += [
            self.o_run.valid.eq((left != 0) & ready),
            self.o_run.payload.address.eq(address),
            self.o_run.payload.bytes.eq(size),
            self.done.eq(left == 0),
            self.empty.eq(self.begin & (self.bytes == 0)),
        ]
        m.d.comb += ready.eq(1)
        if self._waits:
            m.submodules.lead = lead = _Lead(tile_before=False)
            m.d.comb += [
                lead.lines.eq(self.lines),
                lead.asked.eq(self.asked),
                lead.written.eq(self.written),
                lead.left_out.eq(self.left_out),
                lead.begins.eq(self.begin),
                lead.passed_over.eq(self.empty),
                lead.reads.eq(goes),
                ready.eq(lead.ready),
            ]
        with m.If(self.begin):
            m.d.sync += [
                address.eq(self.address),
                size.eq(self.bytes),
                pitch.eq(self.pitch),
                left.eq(Mux(self.bytes == 0, 0, self.lines)),
            ]
        with m.Elif(goes):
            m.d.sync += [address.eq(address + pitch), left.eq(left - 1)]
        return m


class OrderedRuns(wiring.Component):
    """The runs of the maps that share the overlap port, in the order of a stream of map numbers.

    Every map begins its tiles by itself. A number waits until its map has begun a tile of which runs are left. The
    numbers are passed on to the port, which may use them later.

    Parameters
    ----------
    maps
        The numbers of these maps.
    waits
        Those of which every run waits until the same line of the tile before is ``written``.

    Members
    -------
    begin_{map} : In(1)
        The map begins a tile, after the last run of the one before: its settings are valid in this cycle.
    address_{map}, bytes_{map}, pitch_{map}, lines_{map} : In
    asked_{map}, written_{map}, left_out_{map} : In(1)
        See ``waits`` and `_Lead`.
    done_{map} : Out(1)
        There are no further runs of the map in the tile.
    empty_{map} : Out(1)
        A pulse: a tile without runs of the map begins.
    i_order, o_order : In, Out(stream)
    o_run : Out(stream)
    """

    def __init__(self, maps: tuple[int, ...], waits: Collection[int] = ()) -> None:
        self._maps, self._waits = maps, frozenset(waits)
        widths = {"address": In(32), "bytes": In(32), "pitch": In(32), "lines": In(LINES_BITS), "begin": In(1),
                  "asked": In(1), "written": In(1), "left_out": In(1), "done": Out(1), "empty": Out(1)}  # fmt: skip
        order = stream.Signature(MAP_BITS)
        super().__init__(
            {
                **{f"{name}_{number}": member for number in maps for name, member in widths.items()},
                "i_order": In(order),
                "o_order": Out(order),
                "o_run": Out(stream.Signature(Run)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.known = known = SyncFIFO(width=MAP_BITS, depth=ORDERS_AHEAD)
        goes, expected = Signal(), Signal()
        m.d.comb += [
            self.o_run.valid.eq(self.i_order.valid & known.w_rdy & expected),
            goes.eq(self.o_run.valid & self.o_run.ready),
            self.i_order.ready.eq(goes),
            known.w_en.eq(goes),
            known.w_data.eq(self.i_order.payload),
            self.o_order.valid.eq(known.r_rdy),
            self.o_order.payload.eq(known.r_data),
            known.r_en.eq(self.o_order.ready),
        ]
        for number in self._maps:
            self._map(m, number, goes, expected)
        return m

    def _map(self, m: Module, number: int, goes: Signal, expected: Signal) -> None:
        """The next run of a map."""

        def port(name: str) -> Signal:
            found: Signal = getattr(self, f"{name}_{number}")
            return found

        address, size, pitch = (Signal(32, name=f"{name}_of_{number}") for name in ("address", "bytes", "pitch"))
        left = Signal(LINES_BITS, name=f"left_{number}")
        chosen, ready = self.i_order.payload == number, Signal(name=f"ready_{number}")
        m.d.comb += [ready.eq(1), port("done").eq(left == 0), port("empty").eq(port("begin") & (port("bytes") == 0))]
        if number in self._waits:
            m.submodules[f"lead_{number}"] = lead = _Lead(tile_before=True)
            m.d.comb += [
                lead.lines.eq(port("lines")),
                lead.asked.eq(port("asked")),
                lead.written.eq(port("written")),
                lead.left_out.eq(port("left_out")),
                lead.begins.eq(port("begin")),
                lead.passed_over.eq(port("empty")),
                lead.reads.eq(goes & chosen),
                ready.eq(lead.ready),
            ]
        with m.If(chosen):
            m.d.comb += [
                expected.eq((left != 0) & ready),
                self.o_run.payload.address.eq(address),
                self.o_run.payload.bytes.eq(size),
            ]
        with m.If(port("begin")):
            m.d.sync += [
                address.eq(port("address")),
                size.eq(port("bytes")),
                pitch.eq(port("pitch")),
                left.eq(Mux(port("bytes") == 0, 0, port("lines"))),
            ]
        with m.Elif(goes & chosen):
            m.d.sync += [address.eq(address + pitch), left.eq(left - 1)]


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
            {"i_run": In(stream.Signature(Run)), "o_burst": Out(stream.Signature(run_burst_layout(parameters)))}
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
