"""Pixel shuffle: the channels of a pixel become a square of pixels."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline import ShuffleStage
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.pixel_memory import PixelMemory
from hwgen.gateware.pipeline.stage import StageComponent

__all__ = ["Shuffle"]


class Shuffle(StageComponent):
    """Each input line makes ``factor`` output lines.

    The pixels of the first output line are sent as the input pixels arrive. The channels of the other lines are
    stored in a memory until the input line is complete, and then sent line by line. No input is taken meanwhile.

    An output pixel takes one cycle, also at the ends of a line where the tile does not use it. The first read of the
    memory takes one cycle more.

    Members
    -------
    first_column, columns : In
        Output columns of the tile, counted from the first output column of the line.
    map_line : In
        Columns of a line of the map that is read.
    window : In(WindowPort)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    idle : Out(1)
        All lines of the squares of the pixels that it has released are sent.
    """

    builds = ShuffleStage
    _stage: ShuffleStage

    def _members(self) -> dict[str, wiring.Member]:
        width = (self._source.line * self._stage.factor).bit_length()
        return {
            "first_column": In(width),
            "columns": In(width),
            "map_line": In(self._source.line.bit_length()),
            "window": In(WindowPort.of(self._source)),
            "idle": Out(1),
        }

    def _channels(self, p: int, q: int) -> list[int]:
        """The channels of the sub-pixel in line p, column q of a square."""
        f = self._stage.factor
        return [c * f * f + (q * f + p if self._stage.transposed else p * f + q) for c in range(self._made.channels)]

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        f, window, channels = self._stage.factor, self.window, self._made.channels
        waiting_bits = 8 * channels * f  # of one output line of an input pixel
        m.submodules.memory = memory = PixelMemory(width=waiting_bits * (f - 1), depth=self._stage.line, readers=1)
        m.submodules.queue = queue = SyncFIFO(width=8 * channels, depth=self._made.queue)
        # Line p and column q of the squares that are sent.
        p, q = Signal(range(f)), Signal(range(f))
        column, replaying, fetching = Signal.like(self.map_line), Signal(), Signal()
        position = Signal.like(self.columns)
        selected, steps, last_q, last_column = Signal(), Signal(), Signal(), Signal()
        sub_pixels = [Cat(*(window.pixel[8 * c : 8 * c + 8] for c in self._channels(0, q_))) for q_ in range(f)]
        rest = Cat(
            *(
                window.pixel[8 * c : 8 * c + 8]
                for p_ in range(1, f)
                for q_ in range(f)
                for c in self._channels(p_, q_)
            )
        )
        m.d.comb += [
            replaying.eq(p != 0),
            selected.eq((position - self.first_column)[: len(position)] < self.columns),  # wraps before the first
            steps.eq((replaying | window.active) & ~fetching & (queue.w_rdy | ~selected)),
            last_q.eq(q == f - 1),
            last_column.eq(Mux(replaying, column == (self.map_line - 1)[: len(column)], window.last_column)),
            window.release.eq(steps & last_q & ~replaying),
            memory.write_enable.eq(window.release),
            memory.write_address.eq(window.column),
            memory.write_data.eq(rest),
            queue.w_en.eq(steps & selected),
            queue.w_data.eq(Mux(replaying, self._replayed(m, memory.read_data_0, p, q), _choose(m, sub_pixels, q))),
            self.o_pixel.valid.eq(queue.r_rdy),
            self.o_pixel.payload.eq(queue.r_data),
            queue.r_en.eq(self.o_pixel.ready),
            self.moved.eq(steps),
            self.idle.eq(~replaying & ~fetching),
        ]
        next_column = Signal.like(column)
        m.d.comb += next_column.eq(Mux(last_column, 0, column + 1))
        with m.If(steps):
            m.d.sync += [q.eq(Mux(last_q, 0, q + 1)), position.eq(position + 1)]
            with m.If(last_q):
                m.d.sync += column.eq(next_column)
                with m.If(last_column):
                    m.d.sync += [p.eq(Mux(p == f - 1, 0, p + 1)), position.eq(0), fetching.eq(~replaying)]
                m.d.comb += [memory.read_enable_0.eq(replaying), memory.read_address_0.eq(next_column)]
        with m.If(fetching):
            m.d.comb += memory.read_enable_0.eq(1)
            m.d.sync += fetching.eq(0)
        return m

    def _replayed(self, m: Module, waited: Value, p: Signal, q: Signal) -> Signal:
        """The sub-pixel in line p, from 1, and column q of a word of the memory."""
        f, width = self._stage.factor, 8 * self._made.channels
        chosen = Signal(width, name="replayed")
        with m.Switch(Cat(q, p)):
            for p_ in range(1, f):
                for q_ in range(f):
                    with m.Case(p_ << len(q) | q_):
                        m.d.comb += chosen.eq(waited.word_select((p_ - 1) * f + q_, width))
        return chosen


def _choose(m: Module, values: list[Value], index: Signal) -> Signal:
    chosen = Signal(len(values[0]), name="sub_pixel")
    with m.Switch(index):
        for number, value in enumerate(values):
            with m.Case(number):
                m.d.comb += chosen.eq(value)
    return chosen
