"""A mover that reads: bursts from the DRAM become the beats of a stream."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline.movers import MoverParameters
from hwgen.gateware.pipeline.movers.runs import BurstCutter, Run, run_burst_layout

__all__ = ["Reader", "Unpacker", "read_word_layout"]


def read_word_layout(parameters: MoverParameters) -> data.StructLayout:
    """One AXI beat: its bytes, and the first and the last lane that are used."""
    lane = (parameters.beat_bytes - 1).bit_length()
    return data.StructLayout({"data": parameters.axi_bits, "first": lane, "last": lane})


class Unpacker(wiring.Component):
    """Joins the used bytes of AXI beats, and cuts them into the beats of a stream.

    ``keep`` says how many bytes the next beat takes: those from the lowest on. It may change while ``ready`` is low,
    and ``valid`` with it.

    Parameters
    ----------
    parameters
        Of the movers.
    beat
        Bytes of a beat of the stream, at most.

    Members
    -------
    i_word : In(stream of `read_word_layout`)
    o_beat : Out(stream)
    keep : In
    """

    def __init__(self, parameters: MoverParameters, *, beat: int) -> None:
        self.parameters, self._beat = parameters, beat
        super().__init__(
            {
                "i_word": In(stream.Signature(read_word_layout(parameters))),
                "o_beat": Out(stream.Signature(8 * beat)),
                "keep": In(beat),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        width, beat = self.parameters.beat_bytes, self._beat
        held, level = Signal(8 * (width + beat)), Signal(range(width + beat + 1))
        taken, rest, remaining = Signal(range(beat + 1)), Signal.like(held), Signal.like(level)
        word, comes = self.i_word.payload, self.i_word.valid & self.i_word.ready
        used, count = Signal(self.parameters.axi_bits), Signal(range(width + 1))
        wanted = Signal(range(beat + 1))
        m.d.comb += [
            wanted.eq(sum(self.keep)),
            self.o_beat.valid.eq(level >= wanted),
            self.o_beat.payload.eq(held),
            taken.eq(Mux(self.o_beat.valid & self.o_beat.ready, wanted, 0)),
            rest.eq(held >> (taken << 3)),
            remaining.eq(level - taken),
            self.i_word.ready.eq(level <= beat),
            count.eq(word.last - word.first + 1),
            # Lane 0 is never after the last one: no comparison with 0, which lint takes for a mistake.
            used.eq(
                Cat(
                    word.data.word_select(0, 8),
                    (Mux(lane <= word.last, word.data.word_select(lane, 8), 0) for lane in range(1, width)),
                )
                >> (word.first << 3)
            ),
        ]
        m.d.sync += [
            held.eq(rest | Mux(comes, used << (remaining << 3), 0)),
            level.eq(remaining + Mux(comes, count, 0)),
        ]
        return m


class Reader(wiring.Component):
    """Reads runs of bytes and passes them on as the beats of a stream.

    It asks for a burst only where there is room for all of it, so that no answer waits for it.

    Parameters
    ----------
    parameters
        Of the movers.
    beat
        Bytes of a beat of the stream, at most.

    Members
    -------
    i_run : In(stream)
    halt : In(1)
        Ask for no further burst.
    o_burst : Out(stream)
    answered : In(1), data : In, ends : In(1)
        A beat of the mover's bursts, and whether it is the last one of its burst.
    o_beat : Out(stream), keep : In
        See `Unpacker`.
    idle : Out(1)
        All bursts are answered.
    """

    def __init__(self, parameters: MoverParameters, *, beat: int) -> None:
        self.parameters, self._beat = parameters, beat
        super().__init__(
            {
                "i_run": In(stream.Signature(Run)),
                "halt": In(1),
                "o_burst": Out(stream.Signature(run_burst_layout(parameters))),
                "answered": In(1),
                "data": In(parameters.axi_bits),
                "ends": In(1),
                "o_beat": Out(stream.Signature(8 * beat)),
                "keep": In(beat),
                "idle": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters
        lane = (p.beat_bytes - 1).bit_length()
        m.submodules.cutter = cutter = BurstCutter(p)
        m.submodules.words = words = SyncFIFO(width=p.axi_bits + 1, depth=p.queue)
        m.submodules.lanes = lanes = SyncFIFO(width=2 * lane, depth=p.outstanding)
        m.submodules.unpacker = unpacker = Unpacker(p, beat=self._beat)
        connect(m, flipped(self.i_run), cutter.i_run)
        connect(m, unpacker.o_beat, flipped(self.o_beat))
        reserved, unanswered = Signal(range(p.queue + 1)), Signal(range(p.outstanding + 1))
        room, asks, passes = Signal(), Signal(), Signal()
        first, ends, within = Signal(lane), Signal(), Signal()
        burst, word = cutter.o_burst.payload, unpacker.i_word.payload
        m.d.comb += [
            room.eq((reserved <= p.queue - p.burst_beats) & lanes.w_rdy & ~self.halt),
            self.o_burst.valid.eq(cutter.o_burst.valid & room),
            self.o_burst.payload.eq(burst),
            cutter.o_burst.ready.eq(self.o_burst.ready & room),
            asks.eq(self.o_burst.valid & self.o_burst.ready),
            lanes.w_en.eq(asks),
            lanes.w_data.eq(Cat(burst.address[:lane], burst.last_lane)),
            words.w_en.eq(self.answered),
            words.w_data.eq(Cat(self.data, self.ends)),
            self.idle.eq(unanswered == 0),
            ends.eq(words.r_data[-1]),
            first.eq(Mux(within, 0, lanes.r_data[:lane])),
            word.data.eq(words.r_data[:-1]),
            word.first.eq(first),
            word.last.eq(Mux(ends, lanes.r_data[lane:], p.beat_bytes - 1)),
            unpacker.i_word.valid.eq(words.r_rdy),
            unpacker.keep.eq(self.keep),
            passes.eq(words.r_rdy & unpacker.i_word.ready),
            words.r_en.eq(passes),
            lanes.r_en.eq(passes & ends),
        ]
        m.d.sync += [
            reserved.eq(reserved + Mux(asks, burst.length + 1, 0) - passes),
            unanswered.eq(unanswered + asks - (self.answered & self.ends)),
        ]
        with m.If(passes):
            m.d.sync += within.eq(~ends)
        return m
