"""The ring of one feature map: the pixels that its readers still need while the newest one is in flight."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import MapParameters
from hwgen.gateware.pipeline.pixel_memory import PixelMemory

__all__ = ["CopySettings", "LineBuffer", "OverlapFirst", "WindowPort"]


class WindowPort(wiring.Signature):
    """What a reader of windows sees of a map, from the map's side.

    Members
    -------
    active : Out(1)
        A pixel is in flight that this reader has not released.
    pixel : Out
        The pixel in flight, channel 0 in the lowest byte.
    line, column : Out
        Where it lies in the tile.
    last_line, last_column : Out(1)
    release : In(1)
        The reader needs the pixel in flight no more after this cycle.
    read_enable : In(1)
    read_offset : In
        Reads the pixel that came so many before the one in flight: 1 to as many as the ring holds.
    read_data : Out
        From the next cycle on, until the next read.
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
    """One map of a tile: pixels come line by line, each is in flight until all readers are done with it.

    Then it goes into the ring, in place of the oldest. Three kinds of readers:

    - *windows* look at the pixel in flight and at any in the ring, and release the one in flight when they are done;
    - *copies* pass the pixel in flight on, if its column is wanted;
    - *taps* do so from the ring, at their own pace: the ring does not overwrite what a tap has not passed on yet.
      They end in a queue of their own, the pipeline FIFO.

    After a reset and until ``begin`` nothing is accepted.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    pixels
        Pixels that the ring holds. 0: no memory, and no taps.
    line, lines
        The longest line, and the most lines.
    windows, copies
        How many of them.
    taps
        For each tap the depth of its queue.

    Members
    -------
    begin : In(1)
        Settings are valid: a tile begins.
    line, lines : In
        Columns and lines of the tile.
    i_pixel : In(stream)
    window_{n} : Out(WindowPort)
    copy_{n}, tap_{n} : In(CopySettings)
    o_copy_{n}, o_tap_{n} : Out(stream)
    finished : Out(1)
        All pixels of the tile came and were passed on.
    moved : Out(1)
        A pixel leaves the place in flight.
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
        present, over, leave = Signal(), Signal(init=1), Signal()
        pixel = Signal(8 * self._channels)
        line, column = Signal.like(self.lines), Signal.like(self.line)
        last_line, last_column = Signal(), Signal()
        m.d.comb += [
            last_line.eq(line == (self.lines - 1)[: len(line)]),
            last_column.eq(column == (self.line - 1)[: len(column)]),
            self.i_pixel.ready.eq(~over & (~present | (leave & ~(last_line & last_column)))),
            self.moved.eq(leave),
        ]
        with m.If(self.begin):
            m.d.sync += over.eq((self.line == 0) | (self.lines == 0))
        with m.If(leave):
            m.d.sync += [present.eq(0), column.eq(Mux(last_column, 0, column + 1))]
            with m.If(last_column):
                m.d.sync += line.eq(line + 1)
                with m.If(last_line):
                    m.d.sync += over.eq(1)
        with m.If(self.i_pixel.valid & self.i_pixel.ready):
            m.d.sync += [present.eq(1), pixel.eq(self.i_pixel.payload)]

        waits_for: list[Value] = []
        for n in range(self._windows):
            port = getattr(self, f"window_{n}")
            waits_for.append(self._reader(m, present, leave, port.active, port.release, f"window_{n}"))
            m.d.comb += [
                port.pixel.eq(pixel),
                port.line.eq(line),
                port.column.eq(column),
                port.last_line.eq(last_line),
                port.last_column.eq(last_column),
            ]
        for n in range(self._copies):
            wanted = getattr(self, f"copy_{n}")
            output = getattr(self, f"o_copy_{n}")
            active, release = Signal(name=f"copy_{n}_active"), Signal(name=f"copy_{n}_release")
            waits_for.append(self._reader(m, present, leave, active, release, f"copy_{n}"))
            inside = _inside(m, column, wanted, f"copy_{n}")
            m.d.comb += [
                output.payload.eq(pixel),
                output.valid.eq(active & inside),
                release.eq(active & (output.ready | ~inside)),
            ]
        behind = self._ring(m, leave, pixel, waits_for) if self._pixels else []
        m.d.comb += [
            leave.eq(present & ~Cat(*waits_for).any()),
            self.finished.eq(over & Cat(*(left == 0 for left in behind)).all()),
        ]
        return m

    def _reader(self, m: Module, present: Value, leave: Value, active: Value, release: Value, name: str) -> Value:
        """Whether a reader of the pixel in flight is still to release it; it is active until then."""
        held, waits = Signal(name=f"{name}_held"), Signal(name=f"{name}_waits")
        m.d.comb += [active.eq(present & ~held), waits.eq(~held & ~release)]
        with m.If(leave):
            m.d.sync += held.eq(0)
        with m.Elif(present & release):
            m.d.sync += held.eq(1)
        return waits

    def _ring(self, m: Module, leave: Value, pixel: Value, waits_for: list[Value]) -> list[Signal]:
        """The memory and its readers; pixels that each tap is behind the newest in the ring."""
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
        behind = []
        for n in range(len(self._taps)):
            left = self._tap(m, ring, n, leave, waits_for)
            behind.append(left)
        return behind

    def _tap(self, m: Module, ring: PixelMemory, n: int, leave: Value, waits_for: list[Value]) -> Signal:
        reader, depth = self._windows + n, self._taps[n]
        wanted, output = getattr(self, f"tap_{n}"), getattr(self, f"o_tap_{n}")
        behind = Signal(range(self._pixels + 1), name=f"tap_{n}_behind")
        tail = Signal(range(max(self._pixels, 2)), name=f"tap_{n}_tail")
        column = Signal.like(self.line, name=f"tap_{n}_column")
        room, read = Signal(range(depth + 1), init=depth, name=f"tap_{n}_room"), Signal(name=f"tap_{n}_read")
        inside = _inside(m, column, wanted, f"tap_{n}")
        takes, passes = Signal(name=f"tap_{n}_takes"), Signal(name=f"tap_{n}_passes")
        m.submodules[f"queue_{n}"] = queue = SyncFIFO(width=8 * self._channels, depth=max(depth, 2))
        m.d.comb += [
            takes.eq((behind != 0) & inside & (room != 0)),
            passes.eq(takes | ((behind != 0) & ~inside)),
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
            room.eq(room - takes + (output.valid & output.ready)),
            behind.eq(behind + leave - passes),
        ]
        with m.If(passes):
            m.d.sync += [
                tail.eq(Mux(tail == self._pixels - 1, 0, tail + 1)),
                column.eq(Mux(column == (self.line - 1)[: len(column)], 0, column + 1)),
            ]
        full = Signal(name=f"tap_{n}_full")
        m.d.comb += full.eq((behind == self._pixels) & ~passes)
        waits_for.append(full)
        return behind


def _inside(m: Module, column: Signal, wanted: wiring.PureInterface, name: str) -> Signal:
    """Whether a column is one of the wanted."""
    inside = Signal(name=f"{name}_inside")
    m.d.comb += inside.eq((column - wanted.first)[: len(column)] < wanted.columns)  # before the first: wraps
    return inside


class OverlapFirst(wiring.Component):
    """The pixels of each line of a tile: first those of the overlap, then the new ones.

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
