"""The overlap port of a pipeline: columns of earlier tiles in, columns for later tiles out, in a given order."""

from collections.abc import Mapping

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.gateware.pipeline.beats import Gather, Scatter

__all__ = ["MAP_BITS", "OverlapIn", "OverlapOut"]

MAP_BITS = 8

Widths = Mapping[int, tuple[int, int]]


def _counts(widths: Widths) -> dict[str, wiring.Member]:
    found: dict[str, wiring.Member] = {}
    for number, (columns, lines) in widths.items():
        found |= {f"columns_{number}": In(columns), f"lines_{number}": In(lines)}
    return found


class _Turns(wiring.Component):
    """Whose turn it is: each number of the order stands for one line of a map, which has so many pixels.

    No more numbers are taken than the tile has lines.

    Parameters
    ----------
    widths
        For each map the widths of the counts of its columns and its lines.

    Members
    -------
    begin : In(1)
        Settings are valid: a tile begins.
    i_order : In(stream)
        Numbers of maps.
    columns_{map}, lines_{map} : In
        Pixels of a line that pass, and the lines of the tile.
    valid : Out(1)
        It is the turn of ``map``.
    map : Out
    passed : In(1)
        A pixel of the line is done.
    """

    def __init__(self, widths: Widths) -> None:
        self._maps = tuple(widths)
        self._width = max(columns for columns, _ in widths.values())
        super().__init__(
            {
                "begin": In(1),
                "i_order": In(stream.Signature(MAP_BITS)),
                "valid": Out(1),
                "map": Out(MAP_BITS),
                "passed": In(1),
                **_counts(widths),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        left, last, due = Signal(self._width), Signal(), Signal()
        takes = Signal()
        m.d.comb += [
            last.eq(self.passed & (left == 1)),
            self.i_order.ready.eq((~self.valid | last) & due),
            takes.eq(self.i_order.valid & self.i_order.ready),
        ]
        with m.If(self.passed):
            m.d.sync += left.eq(left - 1)
            with m.If(last):
                m.d.sync += self.valid.eq(0)
        with m.If(takes):
            m.d.sync += [self.valid.eq(1), self.map.eq(self.i_order.payload)]
        for number in self._maps:
            columns, lines = getattr(self, f"columns_{number}"), getattr(self, f"lines_{number}")
            to_come = Signal.like(lines, name=f"to_come_{number}")
            with m.If(self.begin):
                m.d.sync += to_come.eq(Mux(columns == 0, 0, lines))
            with m.Elif(self.i_order.payload == number):
                m.d.comb += due.eq(to_come != 0)
                with m.If(takes):
                    m.d.sync += [left.eq(columns), to_come.eq(to_come - 1)]
        return m


def _turns(m: Module, port: "OverlapIn | OverlapOut", widths: Widths) -> _Turns:
    """The turns of a port, which sees its order and its counts."""
    m.submodules.turns = turns = _Turns(widths)
    connect(m, turns.i_order, flipped(port.i_order))
    m.d.comb += turns.begin.eq(port.begin)
    for name in _counts(widths):
        m.d.comb += getattr(turns, name).eq(getattr(port, name))
    return turns


class OverlapIn(wiring.Component):
    """Hands the pixels that come through the port to the maps whose turn it is.

    Parameters
    ----------
    channels
        For each map that has overlap columns, its channels.
    widths
        Widths of their counts of columns and lines.
    beat
        Bytes of a beat.

    Members
    -------
    i_order : In(stream)
        Numbers of maps, one for each line of its overlap.
    i_beat : In(stream)
    keep : Out
        Bytes of the next beat that are used.
    begin : In(1)
        Settings are valid: a tile begins.
    columns_{map}, lines_{map} : In
        Overlap columns of a line, and lines.
    o_pixel_{map} : Out(stream)
    moved : Out(1)
    """

    def __init__(self, *, channels: Mapping[int, int], widths: Widths, beat: int) -> None:
        self._channels, self._widths, self._beat = channels, widths, beat
        super().__init__(
            {
                "i_order": In(stream.Signature(MAP_BITS)),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "begin": In(1),
                **_counts(widths),
                **{f"o_pixel_{number}": Out(stream.Signature(8 * each)) for number, each in channels.items()},
                "moved": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turns = _turns(m, self, self._widths)
        m.submodules.gather = gather = Gather(channels=max(self._channels.values()), beat=self._beat)
        beats = Signal()
        # A pixel is on its way to its map while the first beat of the next one may come already.
        target, pixel = Signal(MAP_BITS), gather.o_pixel
        m.d.comb += [
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & turns.valid),
            self.i_beat.ready.eq(gather.i_beat.ready & turns.valid),
            beats.eq(self.i_beat.valid & self.i_beat.ready),
            self.keep.eq(gather.keep),
            turns.passed.eq(beats & gather.last),
            self.moved.eq(beats),
        ]
        with m.If(turns.passed):
            m.d.sync += target.eq(turns.map)
        for number, each in self._channels.items():
            output = getattr(self, f"o_pixel_{number}")
            m.d.comb += output.payload.eq(pixel.payload[: 8 * each])
            with m.If(turns.map == number):
                m.d.comb += gather.channels.eq(each)
            with m.If(target == number):
                m.d.comb += [output.valid.eq(pixel.valid), pixel.ready.eq(output.ready)]
        return m


class OverlapOut(wiring.Component):
    """Sends the pixels of the maps whose turn it is through the port.

    Parameters
    ----------
    channels
        For each map that has columns for later tiles, its channels.
    widths
        Widths of their counts of columns and lines.
    beat
        Bytes of a beat.

    Members
    -------
    i_order : In(stream)
        Numbers of maps, one for each line that goes out.
    begin : In(1)
        Settings are valid: a tile begins.
    columns_{map}, lines_{map} : In
        Columns of a line that go out, and lines.
    i_pixel_{map} : In(stream)
    o_beat : Out(stream)
    keep : Out
        Bytes of the beat that are used.
    moved : Out(1)
    """

    def __init__(self, *, channels: Mapping[int, int], widths: Widths, beat: int) -> None:
        self._channels, self._widths, self._beat = channels, widths, beat
        super().__init__(
            {
                "i_order": In(stream.Signature(MAP_BITS)),
                "begin": In(1),
                **_counts(widths),
                **{f"i_pixel_{number}": In(stream.Signature(8 * each)) for number, each in channels.items()},
                "o_beat": Out(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "moved": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turns = _turns(m, self, self._widths)
        m.submodules.scatter = scatter = Scatter(channels=max(self._channels.values()), beat=self._beat)
        connect(m, flipped(self.o_beat), scatter.o_beat)
        valid: Value = Signal()
        m.d.comb += [
            self.keep.eq(scatter.keep),
            scatter.i_pixel.valid.eq(valid & turns.valid),
            turns.passed.eq(scatter.i_pixel.valid & scatter.i_pixel.ready),
            self.moved.eq(self.o_beat.valid & self.o_beat.ready),
        ]
        for number, each in self._channels.items():
            pixel = getattr(self, f"i_pixel_{number}")
            with m.If(turns.map == number):
                m.d.comb += [
                    valid.eq(pixel.valid),
                    scatter.channels.eq(each),
                    scatter.i_pixel.payload.eq(pixel.payload),
                    pixel.ready.eq(scatter.i_pixel.ready & turns.valid),
                ]
        return m
