"""Assembly of pixels from blocks of channels, followed by a queue."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

__all__ = ["Collect"]


class Collect(wiring.Component):
    """Assembles pixels from their blocks, in order, and passes each on after its last block.

    Parameters
    ----------
    channels
        Bytes of a pixel.
    lanes
        Bytes of a block: a divisor of ``channels``.
    depth
        Pixels of the queue after the assembly.

    Members
    -------
    write : In(1)
        ``block`` is the next block of the pixel. Ignored while ``go`` is low.
    block : In
    go : Out(1)
        A block can be accepted. Low is back-pressure: the stage stalls.
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
        position = Signal(range(max(self._blocks, 2)))
        last = Signal()
        m.d.comb += [
            last.eq(position == self._blocks - 1),
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
            m.d.sync += [full.eq(last), position.eq(Mux(last, 0, position + 1))]
            with m.Switch(position):
                for block in range(self._blocks):
                    with m.Case(block):
                        m.d.sync += pixel[8 * self._lanes * block : 8 * self._lanes * (block + 1)].eq(self.block)
        return m
