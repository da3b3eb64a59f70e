"""Between streams of narrow beats, as they leave the chip, and streams of whole pixels."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

__all__ = ["Gather", "Scatter", "TileSource"]


def _keep(beat: int, left: Value) -> Value:
    """The bytes of a beat that are used when so many are left."""
    return Cat(*(left > i for i in range(beat)))


class Gather(wiring.Component):
    """Beats become pixels: the first byte is the first channel, every pixel begins on a new beat.

    Takes a beat in every cycle, also while a pixel is handed on.

    Parameters
    ----------
    channels
        Bytes of the largest pixel.
    beat
        Bytes of a beat.

    Members
    -------
    channels : In
        Bytes of the pixel that begins.
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
        pixel, full, part = Signal(8 * beats * self._beat), Signal(), Signal()
        place, left = Signal(range(max(beats, 2))), Signal(self._channels.bit_length())
        to_come, last = Signal.like(left), self.last
        m.d.comb += [
            to_come.eq(Mux(part, left, self.channels)),
            last.eq(to_come <= self._beat),
            self.keep.eq(_keep(self._beat, to_come)),
            self.i_beat.ready.eq(~full | self.o_pixel.ready),
            self.o_pixel.valid.eq(full),
            self.o_pixel.payload.eq(pixel),
        ]
        with m.If(full & self.o_pixel.ready):
            m.d.sync += full.eq(0)
        with m.If(self.i_beat.valid & self.i_beat.ready):
            m.d.sync += [
                full.eq(last),
                part.eq(~last),
                left.eq(to_come - self._beat),
                place.eq(Mux(last, 0, place + 1)),
            ]
            with m.Switch(place):
                for number in range(beats):
                    with m.Case(number):
                        m.d.sync += pixel.word_select(number, 8 * self._beat).eq(self.i_beat.payload)
        return m


class Scatter(wiring.Component):
    """Pixels become beats: the first byte is the first channel, every pixel begins on a new beat.

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
        place, done, left = Signal(range(max(beats, 2))), Signal(self._channels.bit_length()), Signal()
        to_come = Signal(self._channels.bit_length())
        padded = Cat(self.i_pixel.payload, Const(0, 8 * (beats * self._beat - self._channels)))
        m.d.comb += [
            to_come.eq(self.channels - done),
            left.eq(to_come > self._beat),
            self.keep.eq(_keep(self._beat, to_come)),
            self.o_beat.valid.eq(self.i_pixel.valid),
            self.o_beat.payload.eq(padded.word_select(place, 8 * self._beat)),
            self.i_pixel.ready.eq(self.o_beat.ready & ~left),
        ]
        with m.If(self.o_beat.valid & self.o_beat.ready):
            m.d.sync += [place.eq(Mux(left, place + 1, 0)), done.eq(Mux(left, done + self._beat, 0))]
        return m


class TileSource(wiring.Component):
    """The pixels of one tile out of a stream of beats: no more are taken than the tile has.

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
        Settings are valid: a tile begins.
    columns, lines : In
        Pixels of a line, and lines.
    i_beat : In(stream), keep : Out
    o_pixel : Out(stream)
    moved : Out(1)
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
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.gather = gather = Gather(channels=self._channels, beat=self._beat)
        connect(m, flipped(self.o_pixel), gather.o_pixel)
        column, line = Signal.like(self.columns), Signal.like(self.lines)
        open_ = line != 0
        m.d.comb += [
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & open_),
            self.i_beat.ready.eq(gather.i_beat.ready & open_),
            self.moved.eq(self.i_beat.valid & self.i_beat.ready),
            self.keep.eq(gather.keep),
        ]
        with m.If(self.begin):
            # Without columns there is nothing to take, not even when the next tile's columns are written.
            m.d.sync += line.eq(Mux(self.columns == 0, 0, self.lines))
        with m.Elif(self.moved & gather.last):
            m.d.sync += column.eq(column + 1)
            with m.If(column == (self.columns - 1)[: len(column)]):
                m.d.sync += [column.eq(0), line.eq(line - 1)]
        return m
