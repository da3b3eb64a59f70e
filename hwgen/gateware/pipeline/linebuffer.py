"""The line buffer of one feature map: a ring buffer of the pixels that its readers still need."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import LEAST_QUEUE, MapParameters
from hwgen.gateware.pipeline.pixel_memory import PixelMemory

__all__ = ["CopySettings", "LineBuffer", "OverlapFirst", "WindowPort"]


class WindowPort(wiring.Signature):
    """Access of one stage to a map: the pixel in flight, and a read port of the ring. Directions are the map's.

    Members
    -------
    active : Out(1)
        A pixel is in flight, and this reader has not released it.
    pixel : Out
        The pixel in flight, channel 0 in the lowest byte.
    line, column : Out
        Its position in the tile.
    last_line, last_column : Out(1)
        It is in the last line, or column, of the tile.
    release : In(1)
        The reader does not need the pixel in flight after this cycle.
    read_enable : In(1)
    read_offset : In
        Distance from the pixel in flight to the pixel to read, in pixels: 1 to the size of the ring.
    read_data : Out
        The pixel that was read. Valid from the next cycle to the next read.
    """

    def __init__(self, *, channels: int, pixels: int, line: int, lines: int) -> None:
        super().__init__(
            {
                "active": Out(1),
                "pixel": Out(8 * channels),
                "line": Out(lines.bit_length()),
                "column": Out(line.bit_length()),
                "last_line": Out(1),
                "last_column": Out(1),
                "release": In(1),
                "read_enable": In(1),
                "read_offset": In(max(pixels, 1).bit_length()),
                "read_data": Out(8 * channels),
            }
        )

    @classmethod
    def of(cls, source: MapParameters) -> "WindowPort":
        """The port of a map."""
        return cls(channels=source.channels, pixels=source.pixels, line=source.line, lines=source.lines)


class CopySettings(wiring.Signature):
    """Which columns of each line are copied: ``columns`` from ``first`` on."""

    def __init__(self, *, line: int) -> None:
        super().__init__({"first": Out(line.bit_length()), "columns": Out(line.bit_length())})


class LineBuffer(wiring.Component):
    """One map of a tile. Pixels arrive line by line; each is in flight until all readers have released it.

    It is then written to the ring in place of the oldest pixel. There are three kinds of readers:

    - *windows* read the pixel in flight and any pixel of the ring, and release the pixel in flight;
    - *copies* send the pixel in flight to a stream if its column is selected;
    - *taps* send selected pixels from the ring, at their own pace, through a queue. A pixel is not overwritten before
      every tap has read it.

    After a reset nothing is accepted until ``begin``.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    pixels
        Pixels of the ring. 0: no memory and no taps.
    line, lines
        The longest line, and the most lines.
    windows, copies
        Number of readers of each kind.
    taps
        Depth of each tap's queue, in pixels.

    Members
    -------
    begin : In(1)
        A tile begins, after all of the one before; the settings are valid until the next one begins.
    line, lines : In
        Columns and lines of the tile.
    i_pixel : In(stream)
    window_{n} : Out(WindowPort)
    copy_{n}, tap_{n} : In(CopySettings)
    o_copy_{n}, o_tap_{n} : Out(stream)
    finished : Out(1)
        All pixels of the tile have arrived, and every tap has read its own.
    moved : Out(1)
        The pixel in flight is released by all readers in this cycle.
    """

    def __init__(
        self,
        *,
        channels: int,
        pixels: int,
        line: int,
        lines: int,
        windows: int = 0,
        copies: int = 0,
        taps: tuple[int, ...] = (),
    ) -> None:
        assert pixels or not taps
        self._channels, self._pixels, self._windows, self._copies, self._taps = (
            channels,
            pixels,
            windows,
            copies,
            taps,
        )
        ports = {
            "begin": In(1),
            "line": In(line.bit_length()),
            "lines": In(lines.bit_length()),
            "i_pixel": In(stream.Signature(8 * channels)),
            "finished": Out(1),
            "moved": Out(1),
        }
        for n in range(windows):
            ports[f"window_{n}"] = Out(WindowPort(channels=channels, pixels=pixels, line=line, lines=lines))
        for kind, count in (("copy", copies), ("tap", len(taps))):
            for n in range(count):
                ports[f"{kind}_{n}"] = In(CopySettings(line=line))
                ports[f"o_{kind}_{n}"] = Out(stream.Signature(8 * channels))
        super().__init__(ports)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        in_flight, complete, leave = Signal(), Signal(init=1), Signal()
        pixel = Signal(8 * self._channels)
        line, column = Signal.like(self.lines), Signal.like(self.line)
        last_line, last_column = Signal(), Signal()
        m.d.comb += [
            last_line.eq(line == (self.lines - 1)[: len(line)]),
            last_column.eq(column == (self.line - 1)[: len(column)]),
            self.i_pixel.ready.eq(~complete & (~in_flight | (leave & ~(last_line & last_column)))),
            self.moved.eq(leave),
        ]
        with m.If(self.begin):
            m.d.sync += complete.eq((self.line == 0) | (self.lines == 0))
        with m.If(leave):
            m.d.sync += [in_flight.eq(0), column.eq(Mux(last_column, 0, column + 1))]
            with m.If(last_column):
                m.d.sync += line.eq(Mux(last_line, 0, line + 1))
                with m.If(last_line):
                    m.d.sync += complete.eq(1)
        with m.If(self.i_pixel.valid & self.i_pixel.ready):
            m.d.sync += [in_flight.eq(1), pixel.eq(self.i_pixel.payload)]

        stalls: list[Value] = []
        for n in range(self._windows):
            port = getattr(self, f"window_{n}")
            stalls.append(self._reader(m, in_flight, leave, port.active, port.release, f"window_{n}"))
            m.d.comb += [
                port.pixel.eq(pixel),
                port.line.eq(line),
                port.column.eq(column),
                port.last_line.eq(last_line),
                port.last_column.eq(last_column),
            ]
        for n in range(self._copies):
            columns_wanted = getattr(self, f"copy_{n}")
            output = getattr(self, f"o_copy_{n}")
            active, release = Signal(name=f"copy_{n}_active"), Signal(name=f"copy_{n}_release")
            stalls.append(self._reader(m, in_flight, leave, active, release, f"copy_{n}"))
            selected = _selected(m, column, columns_wanted, f"copy_{n}")
            m.d.comb += [
                output.payload.eq(pixel),
                output.valid.eq(active & selected),
                release.eq(active & (output.ready | ~selected)),
            ]
        backlog = self._ring(m, leave, pixel, stalls) if self._pixels else []
        m.d.comb += [
            leave.eq(in_flight & ~Cat(*stalls).any()),
            self.finished.eq(complete & Cat(*(tap_backlog == 0 for tap_backlog in backlog)).all()),
        ]
        return m

    def _reader(self, m: Module, in_flight: Value, leave: Value, active: Value, release: Value, name: str) -> Value:
        """Whether the pixel in flight waits for this reader. ``active`` is high until the reader releases it."""
        released, waits = Signal(name=f"{name}_released"), Signal(name=f"{name}_waits")
        m.d.comb += [active.eq(in_flight & ~released), waits.eq(~released & ~release)]
        with m.If(leave):
            m.d.sync += released.eq(0)
        with m.Elif(in_flight & release):
            m.d.sync += released.eq(1)
        return waits

    def _ring(self, m: Module, leave: Value, pixel: Value, stalls: list[Value]) -> list[Signal]:
        """The memory and its read ports. Returns each tap's backlog: pixels of the ring that it has not passed."""
        readers = self._windows + len(self._taps)
        m.submodules.ring = ring = PixelMemory(width=8 * self._channels, depth=self._pixels, readers=readers)
        head = Signal(range(max(self._pixels, 2)))
        m.d.comb += [ring.write_enable.eq(leave), ring.write_address.eq(head), ring.write_data.eq(pixel)]
        with m.If(leave):
            m.d.sync += head.eq(Mux(head == self._pixels - 1, 0, head + 1))
        for n in range(self._windows):
            port = getattr(self, f"window_{n}")
            slot = Signal(range(2 * self._pixels), name=f"slot_{n}")
            m.d.comb += [
                slot.eq(
                    Mux(port.read_offset > head, head + self._pixels - port.read_offset, head - port.read_offset)
                ),
                getattr(ring, f"read_enable_{n}").eq(port.read_enable),
                getattr(ring, f"read_address_{n}").eq(slot),
                port.read_data.eq(getattr(ring, f"read_data_{n}")),
            ]
        backlog = []
        for n in range(len(self._taps)):
            tap_backlog = self._tap(m, ring, n, leave, stalls)
            backlog.append(tap_backlog)
        return backlog

    def _tap(self, m: Module, ring: PixelMemory, n: int, leave: Value, stalls: list[Value]) -> Signal:
        reader, depth = self._windows + n, self._taps[n]
        columns_wanted, output = getattr(self, f"tap_{n}"), getattr(self, f"o_tap_{n}")
        backlog = Signal(range(self._pixels + 1), name=f"tap_{n}_backlog")
        tail = Signal(range(max(self._pixels, 2)), name=f"tap_{n}_tail")
        column = Signal.like(self.line, name=f"tap_{n}_column")
        credits, read = Signal(range(depth + 1), init=depth, name=f"tap_{n}_credits"), Signal(name=f"tap_{n}_read")
        selected = _selected(m, column, columns_wanted, f"tap_{n}")
        takes, passes = Signal(name=f"tap_{n}_takes"), Signal(name=f"tap_{n}_passes")
        m.submodules[f"queue_{n}"] = queue = SyncFIFO(width=8 * self._channels, depth=max(depth, LEAST_QUEUE))
        m.d.comb += [
            takes.eq((backlog != 0) & selected & (credits != 0)),
            passes.eq(takes | ((backlog != 0) & ~selected)),
            getattr(ring, f"read_enable_{reader}").eq(takes),
            getattr(ring, f"read_address_{reader}").eq(tail),
            queue.w_en.eq(read),
            queue.w_data.eq(getattr(ring, f"read_data_{reader}")),
            output.valid.eq(queue.r_rdy),
            output.payload.eq(queue.r_data),
            queue.r_en.eq(output.ready),
        ]
        m.d.sync += [
            read.eq(takes),
            credits.eq(credits - takes + (output.valid & output.ready)),
            backlog.eq(backlog + leave - passes),
        ]
        with m.If(passes):
            m.d.sync += [
                tail.eq(Mux(tail == self._pixels - 1, 0, tail + 1)),
                column.eq(Mux(column == (self.line - 1)[: len(column)], 0, column + 1)),
            ]
        full = Signal(name=f"tap_{n}_full")
        m.d.comb += full.eq((backlog == self._pixels) & ~passes)
        stalls.append(full)
        return backlog


def _selected(m: Module, column: Signal, columns_wanted: wiring.PureInterface, name: str) -> Signal:
    """Whether a column is selected."""
    selected = Signal(name=f"{name}_selected")
    m.d.comb += selected.eq(
        (column - columns_wanted.first)[: len(column)] < columns_wanted.columns
    )  # wraps before the first
    return selected


class OverlapFirst(wiring.Component):
    """Merges the pixels of each line of a tile: the overlap first, then the new pixels.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    line
        The longest line.

    Members
    -------
    line, overlap : In
        Columns of a line, and how many of them are overlap.
    i_overlap, i_new : In(stream)
    o_pixel : Out(stream)
    """

    def __init__(self, *, channels: int, line: int) -> None:
        pixels = stream.Signature(8 * channels)
        super().__init__(
            {
                "line": In(line.bit_length()),
                "overlap": In(line.bit_length()),
                "i_overlap": In(pixels),
                "i_new": In(pixels),
                "o_pixel": Out(pixels),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        column = Signal.like(self.line)
        for is_overlap, source in ((1, self.i_overlap), (0, self.i_new)):
            with m.If((column < self.overlap) == is_overlap):
                m.d.comb += [
                    self.o_pixel.payload.eq(source.payload),
                    self.o_pixel.valid.eq(source.valid),
                    source.ready.eq(self.o_pixel.ready),
                ]
        with m.If(self.o_pixel.valid & self.o_pixel.ready):
            m.d.sync += column.eq(Mux(column == (self.line - 1)[: len(column)], 0, column + 1))
        return m
