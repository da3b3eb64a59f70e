"""From blocks of channels to whole pixels, and a short queue behind."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["Collect"]


class Collect(wiring.Component):
    """Puts the blocks of a pixel side by side, in order, and hands the pixel on when the last one came.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    lanes
        Bytes of a block: a divisor.
    depth
        Pixels of the queue.

    Members
    -------
    write : In(1)
        ``block`` is the next block of the pixel; only while ``go``.
    block : In
    go : Out(1)
        There is room. What feeds this stops in every other cycle.
    o_pixel : Out(stream)
    """

    def __init__(self, *, channels: int, lanes: int, depth: int) -> None:
        self._blocks, self._lanes, self._channels, self._depth = channels // lanes, lanes, channels, depth
        super().__init__(
            {"write": In(1), "block": In(8 * lanes), "go": Out(1), "o_pixel": Out(stream.Signature(8 * channels))}
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = SyncFIFO(width=8 * self._channels, depth=self._depth)
        pixel, full = Signal(8 * self._channels), Signal()
        place = Signal(range(max(self._blocks, 2)))
        last = Signal()
        m.d.comb += [
            last.eq(place == self._blocks - 1),
            self.go.eq(~full | queue.w_rdy),
            queue.w_en.eq(full),
            queue.w_data.eq(pixel),
            self.o_pixel.valid.eq(queue.r_rdy),
            self.o_pixel.payload.eq(queue.r_data),
            queue.r_en.eq(self.o_pixel.ready),
        ]
        with m.If(full & queue.w_rdy):
            m.d.sync += full.eq(0)
        with m.If(self.write & self.go):
            m.d.sync += [full.eq(last), place.eq(Mux(last, 0, place + 1))]
            with m.Switch(place):
                for block in range(self._blocks):
                    with m.Case(block):
                        m.d.sync += pixel[8 * self._lanes * block : 8 * self._lanes * (block + 1)].eq(self.block)
        return m
