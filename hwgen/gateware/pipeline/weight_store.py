"""Weights, and biases or records, of a convolution stage: loaded once through a port, read one word a cycle."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hwgen.gateware.pipeline.beats import Gather
from hwgen.gateware.pipeline.pixel_memory import PixelMemory

__all__ = ["WeightStore", "connect_loads"]


class WeightStore(wiring.Component):
    """Two memories, filled one after the other: words of weights, then one word of biases for each output block.

    Parameters
    ----------
    words
        Words of weights.
    lanes
        Bytes of a word of weights.
    blocks
        Words of biases.
    bias_bytes
        Bytes of a word of biases; of a word of records, which count as biases, where sums are scaled.
    beat
        Bytes of a beat of the port.

    Members
    -------
    load : In(1)
        A pulse: the load begins.
    loading : Out(1)
        The load is running.
    i_beat : In(stream)
        Every word begins on a new beat.
    keep : Out
        Bytes of the next beat that are used.
    biases : Out(1)
        The next beat has biases.
    weight_enable, weight_address : In, weight_data : Out
    bias_enable, bias_address : In, bias_data : Out
        Data are valid in the next cycle.
    """

    def __init__(self, *, words: int, lanes: int, blocks: int, bias_bytes: int, beat: int) -> None:
        self._words, self._lanes, self._blocks = words, lanes, blocks
        self._bias_bytes, self._beat = bias_bytes, beat
        super().__init__(
            {
                "load": In(1),
                "loading": Out(1),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": Out(beat),
                "biases": Out(1),
                "weight_enable": In(1),
                "weight_address": In(max((words - 1).bit_length(), 1)),
                "weight_data": Out(8 * lanes),
                "bias_enable": In(1),
                "bias_address": In(max((blocks - 1).bit_length(), 1)),
                "bias_data": Out(8 * bias_bytes),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        bias_bytes = self._bias_bytes
        m.submodules.weights = weights = PixelMemory(width=8 * self._lanes, depth=self._words, readers=1)
        m.submodules.bias = bias = PixelMemory(width=8 * bias_bytes, depth=self._blocks, readers=1)
        m.submodules.gather = gather = Gather(channels=max(self._lanes, bias_bytes), beat=self._beat)
        # The beats of a word arrive while the word before it is written: requests run one word ahead of writes.
        requested = Signal(range(self._words + self._blocks + 1))
        written = Signal.like(requested)
        requests_bias, writes_bias, ends = Signal(), Signal(), Signal()
        full = self._words + self._blocks
        m.d.comb += [
            requests_bias.eq(requested >= self._words),
            writes_bias.eq(written >= self._words),
            gather.channels.eq(Mux(requests_bias, bias_bytes, self._lanes)),
            gather.i_beat.payload.eq(self.i_beat.payload),
            gather.i_beat.valid.eq(self.i_beat.valid & self.loading & (requested != full)),
            self.i_beat.ready.eq(gather.i_beat.ready & self.loading & (requested != full)),
            self.keep.eq(gather.keep),
            self.biases.eq(requests_bias),
            gather.o_pixel.ready.eq(1),
            weights.write_enable.eq(gather.o_pixel.valid & ~writes_bias),
            weights.write_address.eq(written),
            weights.write_data.eq(gather.o_pixel.payload),
            bias.write_enable.eq(gather.o_pixel.valid & writes_bias),
            bias.write_address.eq(written - self._words),
            bias.write_data.eq(gather.o_pixel.payload),
            ends.eq(gather.o_pixel.valid & (written == full - 1)),
            weights.read_enable_0.eq(self.weight_enable),
            weights.read_address_0.eq(self.weight_address),
            self.weight_data.eq(weights.read_data_0),
            bias.read_enable_0.eq(self.bias_enable),
            bias.read_address_0.eq(self.bias_address),
            self.bias_data.eq(bias.read_data_0),
        ]
        with m.If(self.i_beat.valid & self.i_beat.ready & gather.last):
            m.d.sync += requested.eq(requested + 1)
        with m.If(gather.o_pixel.valid):
            m.d.sync += written.eq(written + 1)
        with m.If(self.load):
            m.d.sync += [self.loading.eq(1), requested.eq(0), written.eq(0)]
        with m.Elif(ends):
            m.d.sync += self.loading.eq(0)
        return m


def connect_loads(
    m: Module, parts: Sequence[wiring.Component], words: stream.Interface, beside: tuple[Value, Value], load: Signal
) -> Signal:
    """Let parts with weight stores load one after the other from the stream ``words``, from the pulse ``load`` on.

    Returns whether the load goes on. ``beside``: ``keep`` and ``biases`` of the part that loads.
    """
    loading, start = Signal(), Value.cast(load)
    m.d.comb += loading.eq(load)
    for part in parts:
        done = Signal()
        m.d.sync += done.eq(part.loading)
        m.d.comb += part.load.eq(start)
        with m.If(part.loading):
            m.d.comb += [
                loading.eq(1),
                part.i_weights.payload.eq(words.payload),
                part.i_weights.valid.eq(words.valid),
                words.ready.eq(part.i_weights.ready),
                beside[0].eq(part.keep),
                beside[1].eq(part.biases),
            ]
        # A pulse in the cycle after the last word: the next stage begins to load, and the load goes on.
        start = done & ~part.loading
        with m.If(start):
            m.d.comb += loading.eq(1)
    return loading
