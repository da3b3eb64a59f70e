"""All movers of a pipeline, between the streams of its stages and one AXI4 port."""

from collections.abc import Mapping

from amaranth.hdl import Cat, Module, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
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

__all__ = ["Movers"]


class Movers(wiring.Component):
    """Carries every stream of the stages from or to the DRAM, run by run as the settings say.

    The movers are reset with every start, which must not come unless ``settled``.

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
        A tile or a load starts: forget all. A cycle before ``begin`` and ``load``.
    begin, load : In(1)
        Pulses: a tile begins, and everything moves but the weights; the weights move.
    halt : In(1)
        Ask for no further burst; nor is one asked for after a fault.
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
                "begin": In(1),
                "load": In(1),
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
        self._halt = Signal()
        readers = {mover.stream: self._reader(m, mover, read_side) for mover in reads}
        writers = {mover.stream: self._writer(m, mover, write_side) for mover in writes}
        for mover in self._movers:
            self._runs(m, mover, (readers if mover.reads else writers)[mover.stream].i_run, writers)
        self._pass_orders(m, readers)
        settled = Cat(*(one.idle for one in readers.values()), *(one.settled for one in writers.values()))
        m.d.comb += [
            self.settled.eq(settled.all() & ~self.axi.arvalid & ~self.axi.awvalid),
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

    def _runs(self, m: Module, mover: Mover, target: stream.Interface, writers: Mapping[str, Writer]) -> None:
        """What says where the runs of a mover are."""
        if mover.maps:
            assert mover.order is not None
            ordered = OrderedRuns(mover.maps)
            self._add(m, f"{mover.stream}_runs", ordered)
            m.d.comb += ordered.begin.eq(self.begin)
            for number, runs in zip(mover.maps, mover.runs, strict=True):
                for name in ("address", "bytes", "pitch"):
                    m.d.comb += getattr(ordered, f"{name}_{number}").eq(getattr(self.settings, f"{runs.name}_{name}"))
            connect(m, ordered.o_run, target)
            connect(m, ordered.o_order, flipped(getattr(self, mover.order)))
            self._orders[mover.order] = ordered.i_order
            return
        (runs,) = mover.runs
        lines = LineRuns(waits=mover.after is not None)
        self._add(m, f"{mover.stream}_runs", lines)
        connect(m, lines.o_run, target)
        m.d.comb += [
            lines.begin.eq(self.load if mover.stream == "i_weights" else self.begin),
            lines.address.eq(getattr(self.settings, f"{runs.name}_address")),
            lines.bytes.eq(getattr(self.settings, f"{runs.name}_bytes")),
            lines.pitch.eq(getattr(self.settings, f"{runs.name}_pitch") if runs.pitched else 0),
            lines.lines.eq(getattr(self.settings, f"{runs.name}_lines") if runs.counted else 1),
        ]
        if mover.after is not None:
            unwritten: Value = getattr(self.settings, f"{mover.after}_bytes") == 0
            m.d.comb += [lines.permits.eq(writers[mover.after].run_written), lines.free.eq(unwritten)]

    def _pass_orders(self, m: Module, readers: Mapping[str, Reader]) -> None:
        """The map numbers that were read, to the runs that they put in order."""
        for name, target in self._orders.items():
            connect(m, readers[name].o_beat, target)
