"""Conversion between streams of beats at the ports and streams of whole pixels inside."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

__all__ = ["Gather", "Scatter", "TileSource"]


def _keep(beat: int, bytes_left: Value) -> Value:
    """The bytes of a beat that are used while ``bytes_left`` bytes of the pixel remain."""
    return Cat(*(bytes_left > i for i in range(beat)))


class Gather(wiring.Component):
    """Collects beats into pixels. The first byte is the first channel; every pixel begins on a new beat.

    Takes a beat in every cycle, also in the cycle in which a pixel is passed on.

    Parameters
    ----------
    channels
        Bytes of the largest pixel.
    beat
        Bytes of a beat.

    Members
    -------
    channels : In
        Bytes of the pixel that begins with the next beat.
    i_beat : In(stream)
    keep : Out
        The bytes of the next beat that are used.
    last : Out(1)
        The next beat is the last of its pixel.
    o_pixel : Out(stream)
    """

    def __init__(self, *, channels: int, beat: int) -> None:
        self._channels, self._beat = channels, beat
        super().__init__(
            {
                "channels": In(channels.bit_length(), init=channels),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "last": Out(1),
                "o_pixel": Out(stream.Signature(8 * channels)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beats = -(-self._channels // self._beat)
        pixel, full, partial = Signal(8 * beats * self._beat), Signal(), Signal()
        position, bytes_left = Signal(range(max(beats, 2))), Signal(self._channels.bit_length())
        remaining, last = Signal.like(bytes_left), self.last
        m.d.comb += [
            remaining.eq(Mux(partial, bytes_left, self.channels)),
            last.eq(remaining <= self._beat),
            self.keep.eq(_keep(self._beat, remaining)),
            self.i_beat.ready.eq(~full | self.o_pixel.ready),
            self.o_pixel.valid.eq(full),
            self.o_pixel.payload.eq(pixel),
        ]
        with m.If(full & self.o_pixel.ready):
            m.d.sync += full.eq(0)
        with m.If(self.i_beat.valid & self.i_beat.ready):
            m.d.sync += [
                full.eq(last),
                partial.eq(~last),
                bytes_left.eq(remaining - self._beat),
                position.eq(Mux(last, 0, position + 1)),
            ]
            with m.Switch(position):
                for number in range(beats):
                    with m.Case(number):
                        m.d.sync += pixel.word_select(number, 8 * self._beat).eq(self.i_beat.payload)
        return m


class Scatter(wiring.Component):
    """Cuts pixels into beats. The first byte is the first channel; every pixel begins on a new beat.

    Parameters
    ----------
    channels
        Bytes of the largest pixel.
    beat
        Bytes of a beat.

    Members
    -------
    channels : In
        Bytes of the pixel.
    i_pixel : In(stream)
    o_beat : Out(stream)
    keep : Out
        The bytes of the beat that are used.
    """

    def __init__(self, *, channels: int, beat: int) -> None:
        self._channels, self._beat = channels, beat
        super().__init__(
            {
                "channels": In(channels.bit_length(), init=channels),
                "i_pixel": In(stream.Signature(8 * channels)),
                "o_beat": Out(stream.Signature(8 * beat)),
                "keep": Out(beat),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        beats = -(-self._channels // self._beat)
        position, done, more = Signal(range(max(beats, 2))), Signal(self._channels.bit_length()), Signal()
        remaining = Signal(self._channels.bit_length())
        padded = Cat(self.i_pixel.payload, Const(0, 8 * (beats * self._beat - self._channels)))
        m.d.comb += [
            remaining.eq(self.channels - done),
            more.eq(remaining > self._beat),
            self.keep.eq(_keep(self._beat, remaining)),
            self.o_beat.valid.eq(self.i_pixel.valid),
            self.o_beat.payload.eq(padded.word_select(position, 8 * self._beat)),
            self.i_pixel.ready.eq(self.o_beat.ready & ~more),
        ]
        with m.If(self.o_beat.valid & self.o_beat.ready):
            m.d.sync += [position.eq(Mux(more, position + 1, 0)), done.eq(Mux(more, done + self._beat, 0))]
        return m


class TileSource(wiring.Component):
    """Reads the pixels of one tile from a stream of beats, and no beat more.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    beat
        Bytes of a beat.
    line, lines
        The longest line and the most lines.

    Members
    -------
    begin : In(1)
        A tile begins; the settings are valid.
    columns, lines : In
        Pixels of a line, and lines.
    i_beat : In(stream), keep : Out
    o_pixel : Out(stream)
    moved : Out(1)
    finished : Out(1)
        All beats of the tile have come.
    """

    def __init__(self, *, channels: int, beat: int, line: int, lines: int) -> None:
        self._channels, self._beat = channels, beat
        super().__init__(
            {
                "begin": In(1),
                "columns": In(line.bit_length()),
                "lines": In(lines.bit_length()),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "o_pixel": Out(stream.Signature(8 * channels)),
                "moved": Out(1),
                "finished": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.gather = gather = Gather(channels=self._channels, beat=self._beat)
        connect(m, flipped(self.o_pixel), gather.o_pixel)
        column, line = Signal.like(self.columns), Signal.like(self.lines)
        expected = line != 0
        m.d.comb += [
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & expected),
            self.i_beat.ready.eq(gather.i_beat.ready & expected),
            self.moved.eq(self.i_beat.valid & self.i_beat.ready),
            self.keep.eq(gather.keep),
            self.finished.eq(~expected),
        ]
        with m.If(self.begin):
            m.d.sync += line.eq(Mux(self.columns == 0, 0, self.lines))
        with m.Elif(self.moved & gather.last):
            m.d.sync += column.eq(column + 1)
            with m.If(column == (self.columns - 1)[: len(column)]):
                m.d.sync += [column.eq(0), line.eq(line - 1)]
        return m
