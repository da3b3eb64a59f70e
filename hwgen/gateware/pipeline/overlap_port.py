"""The overlap port of a pipeline, which the maps share line by line, in an order that the program gives.

Columns of earlier tiles come in, columns for later tiles go out.
"""

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
        found |= {f"begin_{number}": In(1), f"columns_{number}": In(columns), f"lines_{number}": In(lines)}
    return found


class _Turns(wiring.Component):
    """Arbiter of the port: grants it to the maps in the order of a stream of map numbers, a line of pixels at a time.

    Every map begins its tiles by itself. A number waits until its map has begun a tile of which lines are left.

    Parameters
    ----------
    widths
        For each map the width of its column count and of its line count, in bits.

    Members
    -------
    i_order : In(stream)
        Map numbers.
    begin_{map} : In(1)
        The map begins a tile; its settings are valid until it begins the next one.
    columns_{map}, lines_{map} : In
        Pixels of a line that cross the port, and lines of the tile.
    idle_{map} : Out(1)
        The last line of the map's tile has been granted the port.
    valid : Out(1)
        ``map`` is granted the port.
    map : Out
    passed : In(1)
        A pixel of its line has crossed the port.
    """

    def __init__(self, widths: Widths) -> None:
        self._maps = tuple(widths)
        self._width = max(columns for columns, _ in widths.values())
        super().__init__(
            {
                "i_order": In(stream.Signature(MAP_BITS)),
                "valid": Out(1),
                "map": Out(MAP_BITS),
                "passed": In(1),
                **_counts(widths),
                **{f"idle_{number}": Out(1) for number in widths},
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        pixels_left, last, expected = Signal(self._width), Signal(), Signal()
        takes = Signal()
        m.d.comb += [
            last.eq(self.passed & (pixels_left == 1)),
            self.i_order.ready.eq((~self.valid | last) & expected),
            takes.eq(self.i_order.valid & self.i_order.ready),
        ]
        with m.If(self.passed):
            m.d.sync += pixels_left.eq(pixels_left - 1)
            with m.If(last):
                m.d.sync += self.valid.eq(0)
        with m.If(takes):
            m.d.sync += [self.valid.eq(1), self.map.eq(self.i_order.payload)]
        for number in self._maps:
            columns, lines = getattr(self, f"columns_{number}"), getattr(self, f"lines_{number}")
            lines_left = Signal.like(lines, name=f"lines_left_{number}")
            m.d.comb += getattr(self, f"idle_{number}").eq(lines_left == 0)
            with m.If(getattr(self, f"begin_{number}")):
                m.d.sync += lines_left.eq(Mux(columns == 0, 0, lines))
            with m.Elif(self.i_order.payload == number):
                m.d.comb += expected.eq(lines_left != 0)
                with m.If(takes):
                    m.d.sync += [pixels_left.eq(columns), lines_left.eq(lines_left - 1)]
        return m


def _turns(m: Module, port: "OverlapIn | OverlapOut", widths: Widths) -> _Turns:
    """The arbiter of a port, with the port's order and counts."""
    m.submodules.turns = turns = _Turns(widths)
    connect(m, turns.i_order, flipped(port.i_order))
    for name in _counts(widths):
        m.d.comb += getattr(turns, name).eq(getattr(port, name))
    return turns


class OverlapIn(wiring.Component):
    """Distributes the pixels that come through the port to the maps.

    Parameters
    ----------
    channels
        Channels of each map that has overlap columns.
    widths
        Widths of their column and line counts, in bits.
    beat
        Bytes of a beat.

    Members
    -------
    i_order : In(stream)
        Map numbers, one for each line of a map's overlap.
    i_beat : In(stream)
    keep : Out
        Bytes of the next beat that are used.
    begin_{map} : In(1)
        The map begins a tile; its settings are valid until it begins the next one.
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
                **_counts(widths),
                **{f"o_pixel_{number}": Out(stream.Signature(8 * each)) for number, each in channels.items()},
                "moved": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        turns = _turns(m, self, self._widths)
        m.submodules.gather = gather = Gather(channels=max(self._channels.values()), beat=self._beat)
        beat_taken = Signal()
        # The first beat of the next pixel may arrive while a pixel waits for its map: it keeps its own target.
        target, pixel = Signal(MAP_BITS), gather.o_pixel
        m.d.comb += [
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & turns.valid),
            self.i_beat.ready.eq(gather.i_beat.ready & turns.valid),
            beat_taken.eq(self.i_beat.valid & self.i_beat.ready),
            self.keep.eq(gather.keep),
            turns.passed.eq(beat_taken & gather.last),
            self.moved.eq(beat_taken),
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
    """Sends the pixels of the maps through the port.

    Parameters
    ----------
    channels
        Channels of each map that saves columns for later tiles.
    widths
        Widths of their column and line counts, in bits.
    beat
        Bytes of a beat.

    Members
    -------
    i_order : In(stream)
        Map numbers, one for each line that a map saves.
    begin_{map} : In(1)
        The map begins a tile; its settings are valid until it begins the next one.
    columns_{map}, lines_{map} : In
        Saved columns of a line, and lines.
    idle_{map} : Out(1)
        The last line of the map's tile has been granted the port.
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
                **_counts(widths),
                **{f"idle_{number}": Out(1) for number in widths},
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
            m.d.comb += getattr(self, f"idle_{number}").eq(getattr(turns, f"idle_{number}"))
            pixel = getattr(self, f"i_pixel_{number}")
            with m.If(turns.map == number):
                m.d.comb += [
                    valid.eq(pixel.valid),
                    scatter.channels.eq(each),
                    scatter.i_pixel.payload.eq(pixel.payload),
                    pixel.ready.eq(scatter.i_pixel.ready & turns.valid),
                ]
        return m
