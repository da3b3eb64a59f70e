"""A mover that writes: the beats of a stream become bursts to the DRAM."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline.movers import MoverParameters
from hwgen.gateware.pipeline.movers.runs import Run, run_burst_layout

__all__ = ["Packer", "Writer", "write_word_layout"]


def write_word_layout(parameters: MoverParameters) -> data.StructLayout:
    """One AXI beat: its bytes, those that are written, and whether it is the last one of its burst."""
    return data.StructLayout({"data": parameters.axi_bits, "strobe": parameters.beat_bytes, "last": 1})


class Packer(wiring.Component):
    """Joins the beats of a stream into AXI beats, run by run, and says where the bursts begin.

    Parameters
    ----------
    parameters
        Of the movers.
    beat
        Bytes of a beat of the stream, at most.

    Members
    -------
    i_run : In(stream)
    i_beat : In(stream), keep : In
        The bytes of the beat that are used: some of the lowest. No beat belongs to two runs.
    o_word : Out(stream of `write_word_layout`)
    burst : Out
        The burst that ends with this word.
    ending : Out(1)
        All beats of a run have come, and not all of its words are passed on.
    """

    def __init__(self, parameters: MoverParameters, *, beat: int) -> None:
        self.parameters, self._beat = parameters, beat
        super().__init__(
            {
                "i_run": In(stream.Signature(Run)),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": In(beat),
                "o_word": Out(stream.Signature(write_word_layout(parameters))),
                "burst": Out(run_burst_layout(parameters)),
                "ending": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, beat = self.parameters, self._beat
        width, lane, window = p.beat_bytes, (p.beat_bytes - 1).bit_length(), (p.burst_bytes - 1).bit_length()
        active, left = Signal(), Signal(32)
        held, level = Signal(8 * (width + beat)), Signal(range(width + beat + 1))
        first = Signal(lane)  # lane of the word's first byte
        address, begins = Signal(32), Signal(32)  # of the word; of the burst's first byte
        word, run = self.o_word.payload, self.i_run.payload
        full, flushes, finishes, emits = Signal(), Signal(), Signal(), Signal()
        base, rest = Signal.like(level), Signal.like(held)
        m.d.comb += [
            full.eq(level >= width),
            flushes.eq(active & (left == 0)),
            self.ending.eq(flushes),
            finishes.eq(flushes & (level <= width)),
            self.o_word.valid.eq(full | flushes),
            emits.eq(self.o_word.valid & self.o_word.ready),
            word.data.eq(held),
            word.strobe.eq(Cat((i >= first) & (i < level) for i in range(width))),
            word.last.eq(finishes | (address[lane:window] == p.burst_beats - 1)),
            self.burst.address.eq(begins),
            self.burst.length.eq(address[lane:window] - begins[lane:window]),
            self.burst.last_lane.eq(Mux(full, width - 1, level - 1)),
            self.burst.ends.eq(finishes),
            base.eq(Mux(emits, Mux(full, level - width, 0), level)),
            rest.eq(Mux(emits, held >> (8 * width), held)),
            self.i_run.ready.eq(~active | (finishes & emits)),
        ]
        self._take(m, left, base, rest, held, level)
        with m.If(emits):
            m.d.sync += [address.eq(address + width), first.eq(0)]
            with m.If(word.last):
                m.d.sync += begins.eq(address + width)
            with m.If(finishes):
                m.d.sync += active.eq(0)
        with m.If(self.i_run.valid & self.i_run.ready):
            m.d.sync += [
                active.eq(1),
                left.eq(run.bytes),
                level.eq(run.address[:lane]),
                first.eq(run.address[:lane]),
                address.eq(run.address & ~(width - 1)),
                begins.eq(run.address),
                held.eq(0),
            ]
        return m

    def _take(self, m: Module, left: Signal, base: Signal, rest: Signal, held: Signal, level: Signal) -> None:
        """Take a beat after the ``base`` bytes that stay."""
        count, comes, used = Signal(range(self._beat + 1)), Signal(), Signal(8 * self._beat)
        m.d.comb += [
            count.eq(sum(self.keep)),
            used.eq(Cat(Mux(self.keep[i], self.i_beat.payload.word_select(i, 8), 0) for i in range(self._beat))),
            self.i_beat.ready.eq((left != 0) & (base < self.parameters.beat_bytes)),
            comes.eq(self.i_beat.valid & self.i_beat.ready),
        ]
        m.d.sync += [held.eq(rest | Mux(comes, used << (base << 3), 0)), level.eq(base + Mux(comes, count, 0))]
        with m.If(comes):
            m.d.sync += left.eq(Mux(left <= count, 0, left - count))


class Writer(wiring.Component):
    """Writes the beats of a stream to runs of bytes. It asks for a burst when it has all of its words.

    Parameters
    ----------
    parameters
        Of the movers.
    beat
        Bytes of a beat of the stream, at most.

    Members
    -------
    i_run : In(stream)
    i_beat : In(stream), keep : In
        See `Packer`.
    halt : In(1)
        Ask for no further burst.
    o_burst : Out(stream)
    o_word : Out(stream of `write_word_layout`)
        The words of the bursts, in order.
    answered : In(1)
        The oldest burst without an answer is answered.
    run_written : Out(1)
        A pulse: all bursts of the oldest run without this pulse are answered.
    idle : Out(1)
        All bursts are answered, and there are no words for another one.
    settled : Out(1)
        All bursts that were asked for are answered.
    """

    def __init__(self, parameters: MoverParameters, *, beat: int) -> None:
        self.parameters, self._beat = parameters, beat
        super().__init__(
            {
                "i_run": In(stream.Signature(Run)),
                "i_beat": In(stream.Signature(8 * beat)),
                "keep": In(beat),
                "halt": In(1),
                "o_burst": Out(stream.Signature(run_burst_layout(parameters))),
                "o_word": Out(stream.Signature(write_word_layout(parameters))),
                "answered": In(1),
                "run_written": Out(1),
                "idle": Out(1),
                "settled": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        layout, packed = run_burst_layout(p), write_word_layout(p)
        m.submodules.packer = packer = Packer(p, beat=self._beat)
        m.submodules.words = words = SyncFIFO(width=packed.size, depth=p.queue)
        m.submodules.bursts = bursts = SyncFIFO(width=layout.size, depth=p.outstanding)
        m.submodules.ends = ends = SyncFIFO(width=1, depth=p.outstanding)
        connect(m, flipped(self.i_run), packer.i_run)
        connect(m, flipped(self.i_beat), packer.i_beat)
        passes, asks = Signal(), Signal()
        m.d.comb += [
            packer.keep.eq(self.keep),
            packer.o_word.ready.eq(words.w_rdy & bursts.w_rdy),
            passes.eq(packer.o_word.valid & packer.o_word.ready),
            words.w_en.eq(passes),
            words.w_data.eq(packer.o_word.payload),
            bursts.w_en.eq(passes & packer.o_word.payload.last),
            bursts.w_data.eq(packer.burst),
            self.o_burst.valid.eq(bursts.r_rdy & ends.w_rdy & ~self.halt),
            self.o_burst.payload.eq(bursts.r_data),
            asks.eq(self.o_burst.valid & self.o_burst.ready),
            bursts.r_en.eq(asks),
            ends.w_en.eq(asks),
            ends.w_data.eq(self.o_burst.payload.ends),
            ends.r_en.eq(self.answered),
            self.run_written.eq(self.answered & ends.r_data),
            self.o_word.valid.eq(words.r_rdy),
            self.o_word.payload.eq(words.r_data),
            words.r_en.eq(self.o_word.ready),
            self.settled.eq(~ends.r_rdy),
            self.idle.eq(self.settled & ~words.r_rdy & ~packer.ending),
        ]
        return m
