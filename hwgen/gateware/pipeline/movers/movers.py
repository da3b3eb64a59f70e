"""All movers of a pipeline, between the streams of its stages and one AXI4 port."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import PipelineParameters
from hwgen.arch.pipeline.movers import Mover, id_bits, movers_of
from hwgen.arch.registers.errors import PipelineError
from hwgen.arch.registers.pipeline import mover_registers
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.lib.register_bank import ERROR, settings_signature
from hwgen.gateware.pipeline.movers.bus import ReadSide, WriteSide
from hwgen.gateware.pipeline.movers.reader import Reader
from hwgen.gateware.pipeline.movers.runs import LineRuns, OrderedRuns
from hwgen.gateware.pipeline.movers.writer import Writer
from hwgen.gateware.pipeline.overlap_port import MAP_BITS
from hwgen.gateware.pipeline.turn import TileTurn

__all__ = ["Movers"]


class Movers(wiring.Component):
    """Carries every stream of the stages from or to the DRAM, run by run as the settings say.

    The movers are reset with the first start of a run, which must not come unless ``settled``. Each goes on with the
    next tile when it has asked for all runs of this one.

    Parameters
    ----------
    parameters
        What the pipeline is generated for.
    streams
        The streams of the stages, as ports of the stages.

    Members
    -------
    {stream}
        The other side of each of ``streams``.
    settings : In
        Registers of the movers.
    restart : In(1)
        A run or a load starts: forget all. A cycle before ``load``.
    start, first : In(1)
        See `TileTurn`; in a tile everything moves but the weights.
    load : In(1)
        A pulse: the weights move.
    waits : Out(1)
        A mover has yet to take the settings of the tile that was started last.
    halt : In(1)
        Nothing runs: ask for no further burst; nor is one asked for after a fault.
    axi : Out(AxiSignature)
    idle : Out(1)
        Everything that was written is in the DRAM, and nothing that was asked for is still to come.
    settled : Out(1)
        No burst is unanswered.
    fault : Out(ERROR)
        Why the movers stopped, until ``restart``; `PipelineError.NONE` if they have not.
    moved : Out(1)
        Something moved at the AXI port.
    """

    def __init__(self, parameters: PipelineParameters, streams: Mapping[str, wiring.Member]) -> None:
        assert parameters.movers is not None
        self.parameters, self._movers = parameters, movers_of(parameters)
        self._id_bits = id_bits(parameters)
        super().__init__(
            {
                **{name: member.flip() for name, member in streams.items()},
                "settings": In(settings_signature(mover_registers(parameters))),
                "restart": In(1),
                "start": In(1),
                "first": In(1),
                "load": In(1),
                "waits": Out(1),
                "halt": In(1),
                "axi": Out(AxiSignature(parameters.movers.axi_bits, self._id_bits)),
                "idle": Out(1),
                "settled": Out(1),
                "fault": Out(ERROR),
                "moved": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p = self.parameters.movers
        assert p is not None
        reads, writes = ([mover for mover in self._movers if mover.reads == way] for way in (True, False))
        m.submodules.read_side = read_side = ReadSide(p, reads, id_bits=self._id_bits)
        m.submodules.write_side = write_side = WriteSide(p, writes, id_bits=self._id_bits)
        for side in (read_side, write_side):
            for name, member in AxiSignature(p.axi_bits, self._id_bits).members.items():
                if name in side.signature.members:
                    ours, theirs = getattr(self.axi, name), getattr(side, name)
                    m.d.comb += ours.eq(theirs) if member.flow is Out else theirs.eq(ours)
        self._orders: dict[str, stream.Interface] = {}
        self._runs_of: dict[str, LineRuns | OrderedRuns] = {}
        self._turns: list[TileTurn] = []
        self._halt = Signal()
        readers = {mover.stream: self._reader(m, mover, read_side) for mover in reads}
        writers = {mover.stream: self._writer(m, mover, write_side) for mover in writes}
        for mover in self._movers:
            self._runs(m, mover, (readers if mover.reads else writers)[mover.stream].i_run)
        self._pass_orders(m, readers)
        self._in_step(m, writers)
        settled = Cat(*(one.idle for one in readers.values()), *(one.settled for one in writers.values()))
        m.d.comb += [
            self.settled.eq(settled.all() & ~self.axi.arvalid & ~self.axi.awvalid),
            self.waits.eq(Cat(turn.waits for turn in self._turns).any()),
            self.idle.eq(self.settled & Cat(one.idle for one in writers.values()).all()),
            self.moved.eq(read_side.moved | write_side.moved),
            self._halt.eq(self.halt | (self.fault != PipelineError.NONE)),
        ]
        with m.If(self.restart):
            m.d.sync += self.fault.eq(PipelineError.NONE)
        with m.Elif(self.fault == PipelineError.NONE):
            with m.If(read_side.fault):
                m.d.sync += self.fault.eq(PipelineError.READ_BUS)
            with m.Elif(write_side.fault):
                m.d.sync += self.fault.eq(PipelineError.WRITE_BUS)
        return m

    def _add(self, m: Module, name: str, part: wiring.Component) -> None:
        m.submodules[name] = ResetInserter(self.restart)(part)

    def _reader(self, m: Module, mover: Mover, side: ReadSide) -> Reader:
        """A mover that reads, at its side of the bus, and at its stream unless that is an order."""
        assert self.parameters.movers is not None
        part = Reader(self.parameters.movers, beat=mover.beat)
        self._add(m, mover.stream, part)
        connect(m, part.o_burst, getattr(side, f"i_burst_{mover.number}"))
        m.d.comb += [
            part.halt.eq(self._halt),
            part.answered.eq(getattr(side, f"answered_{mover.number}")),
            part.data.eq(side.data),
            part.ends.eq(side.ends),
            part.keep.eq(getattr(self, f"{mover.stream}_keep", ~0)),
        ]
        if not mover.stream.endswith("_order"):
            connect(m, part.o_beat, flipped(getattr(self, mover.stream)))
        return part

    def _writer(self, m: Module, mover: Mover, side: WriteSide) -> Writer:
        """A mover that writes, between its stream and its side of the bus."""
        assert self.parameters.movers is not None
        part = Writer(self.parameters.movers, beat=mover.beat)
        self._add(m, mover.stream, part)
        connect(m, flipped(getattr(self, mover.stream)), part.i_beat)
        connect(m, part.o_burst, getattr(side, f"i_burst_{mover.number}"))
        connect(m, part.o_word, getattr(side, f"i_word_{mover.number}"))
        m.d.comb += [
            part.keep.eq(getattr(self, f"{mover.stream}_keep")),
            part.halt.eq(self._halt),
            part.answered.eq(getattr(side, f"answered_{mover.number}")),
        ]
        return part

    def _turn(self, m: Module, name: str, done: Value) -> Signal:
        """What says when a mover begins the next tile: see `TileTurn`."""
        m.submodules[f"{name}_turn"] = turn = TileTurn()
        m.d.comb += [
            turn.start.eq(self.start),
            turn.first.eq(self.first),
            turn.forget.eq(self.halt),
            turn.done.eq(done),
        ]
        self._turns.append(turn)
        return turn.begin

    def _runs(self, m: Module, mover: Mover, target: stream.Interface) -> None:
        """What says where the runs of a mover are."""
        if mover.maps:
            assert mover.order is not None
            ordered = OrderedRuns(mover.maps, [number for number in mover.maps if number in mover.follows])
            self._add(m, f"{mover.stream}_runs", ordered)
            self._runs_of[mover.stream] = ordered
            for number, runs in zip(mover.maps, mover.runs, strict=True):
                begin = self._turn(m, f"{mover.stream}_{number}", getattr(ordered, f"done_{number}"))
                m.d.comb += getattr(ordered, f"begin_{number}").eq(begin)
                for name in ("address", "bytes", "pitch", "lines"):
                    m.d.comb += getattr(ordered, f"{name}_{number}").eq(getattr(self.settings, f"{runs.name}_{name}"))
            connect(m, ordered.o_run, target)
            connect(m, ordered.o_order, flipped(getattr(self, mover.order)))
            self._orders[mover.order] = ordered.i_order
            return
        (runs,) = mover.runs
        lines = LineRuns(waits=mover.after is not None)
        self._add(m, f"{mover.stream}_runs", lines)
        self._runs_of[mover.stream] = lines
        connect(m, lines.o_run, target)
        m.d.comb += [
            lines.begin.eq(self.load if mover.stream == "i_weights" else self._turn(m, mover.stream, lines.done)),
            lines.address.eq(getattr(self.settings, f"{runs.name}_address")),
            lines.bytes.eq(getattr(self.settings, f"{runs.name}_bytes")),
            lines.pitch.eq(getattr(self.settings, f"{runs.name}_pitch") if runs.pitched else 0),
            lines.lines.eq(getattr(self.settings, f"{runs.name}_lines") if runs.counted else 1),
        ]

    def _in_step(self, m: Module, writers: Mapping[str, Writer]) -> None:
        """Tell those that read what others write which lines are in the DRAM."""
        saved = self._runs_of.get("o_overlap")
        if isinstance(saved, OrderedRuns):
            # A run is open from where it is begun to its last answer: in the packer, or with a burst in either queue.
            assert self.parameters.movers is not None
            m.submodules.saved_maps = maps = ResetInserter(self.restart)(
                SyncFIFO(width=MAP_BITS, depth=2 * self.parameters.movers.outstanding + 2)
            )
            m.d.comb += [
                maps.w_en.eq(saved.o_run.valid & saved.o_run.ready),
                maps.w_data.eq(saved.i_order.payload),
                maps.r_en.eq(writers["o_overlap"].run_written),
            ]
        for mover in self._movers:
            runs = self._runs_of[mover.stream]
            if mover.after is not None:
                target = self._runs_of[mover.after]
                m.d.comb += [
                    runs.asked.eq(target.o_run.valid & target.o_run.ready),
                    runs.written.eq(writers[mover.after].run_written),
                    runs.left_out.eq(target.empty),
                ]
            for number, writer in mover.follows.items():
                target = self._runs_of[writer]
                asked, written = target.o_run.valid & target.o_run.ready, writers[writer].run_written
                empty = getattr(target, f"empty_{number}" if writer == "o_overlap" else "empty")
                if writer == "o_overlap":
                    asked &= target.i_order.payload == number
                    written &= maps.r_data == number
                m.d.comb += [
                    getattr(runs, f"asked_{number}").eq(asked),
                    getattr(runs, f"written_{number}").eq(written),
                    getattr(runs, f"left_out_{number}").eq(empty),
                ]

    def _pass_orders(self, m: Module, readers: Mapping[str, Reader]) -> None:
        """The map numbers that were read, to the runs that they put in order."""
        for name, target in self._orders.items():
            connect(m, readers[name].o_beat, target)
