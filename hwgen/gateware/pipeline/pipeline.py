"""The depth-first pipeline: the stages of a stack, joined by streams of pixels, run tile by tile.

Tiles overlap. Each map goes on with the next tile when all of its readers have done with this one, and takes the
settings of that tile for itself and them: the maps before it may be in that tile already, those after it still in the
last. Streams between maps are in order, and each map takes as many pixels from them as its tile has.
"""

from dataclasses import dataclass, field

from amaranth.hdl import Cat, Const, Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import LEAST_QUEUE, OUTPUT_QUEUE, Operand, PipelineParameters
from hwgen.arch.pipeline.movers import id_bits
from hwgen.gateware.bus.axi import AxiSignature
from hwgen.gateware.bus.tcdm import TcdmSignature
from hwgen.gateware.pipeline.beats import Scatter, TileSource
from hwgen.gateware.pipeline.linebuffer import LineBuffer, OverlapFirst
from hwgen.gateware.pipeline.movers.movers import Movers
from hwgen.gateware.pipeline.overlap_port import OverlapIn, OverlapOut
from hwgen.gateware.pipeline.ports import connect_pixels, connect_queue, stream_members
from hwgen.gateware.pipeline.registers import PipelineRegisters
from hwgen.gateware.pipeline.stage import StageComponent, stage_component
from hwgen.gateware.pipeline.turn import OwnSettings, TileTurn
from hwgen.gateware.pipeline.weight_store import connect_loads

__all__ = ["Pipeline"]


class Pipeline(wiring.Component):
    """A pipeline for one stack: line buffers for its maps, and the stages between them.

    Byte streams carry pixels in scan order, channels innermost; every pixel begins on a new beat. Beside each stream
    ``*_keep`` marks the bytes of the beat that are used. It is an output on input streams, too, like the byte enables
    of a read.

    With movers these streams are inside, and an AXI4 port takes their place.

    Parameters
    ----------
    parameters
        What it is generated for.

    Members
    -------
    cfg : In(TcdmSignature)
        Registers, see `pipeline_registers`.
    irq : Out(1)
        A run of tiles or a weight load has ended or failed. High until cleared.
    i_weights : In(stream)
        For each convolution in order: words of weights ``[output block][tap][input block]``, of output lanes times
        input lanes bytes, then words of biases; where sums are scaled, of records
        (`hwgen.arch.requantisation.bias_records`). For each lookup its tables. Every word begins on a new beat.
    weights_bias : Out(1)
        The next beat has biases, records or tables.
    i_map{m} : In(stream)
        New columns of each line of a source in the tile.
    o_map{m} : Out(stream)
        New columns of each line of a map that is written.
    i_skip{s}_{o} : In(stream)
        Operand o of stage s through DRAM: the join's new columns.
    i_overlap, o_overlap : streams
        Overlap columns, line by line in the order of ``i_overlap_in_order`` and ``i_overlap_out_order``: streams of
        map numbers, one for each line of that map's overlap.
    axi : Out(AxiSignature)
        With movers, instead of all streams. Each mover has an ID of its own, even for reads and odd for writes; the
        user signals tell its number and the unused bytes of the last beat.
    """

    def __init__(self, parameters: PipelineParameters) -> None:
        self.parameters = parameters
        ports = stream_members(parameters)
        if parameters.movers is not None:
            ports = {"axi": Out(AxiSignature(parameters.movers.axi_bits, id_bits(parameters)))}
        super().__init__({"cfg": In(TcdmSignature()), "irq": Out(1), **ports})

    def elaborate(self, _platform: object) -> Module:
        return _Assembly(self).module


@dataclass(frozen=True)
class _Branch:
    """Columns of a map that are copied to a stream.

    Members
    -------
    name : of the stream: ``output``, ``saved`` or ``operand{stage}_{place}``.
    first, columns : which columns of each line.
    queue : pixels of the queue after the copy.
    from_ring : copied from the ring, at its own pace; else from the pixel in flight.
    """

    name: str
    first: Value
    columns: Value
    queue: int
    from_ring: bool = False


@dataclass
class _Assembly:
    """One elaboration of a pipeline.

    Members
    -------
    moved : of all parts: something moved in this cycle. The watchdog needs them.
    unfinished : of all parts: the tile is not finished.
    turns : of the maps.
    done : for each map, what has to be done with a tile before the next one begins.
    loads : the stages that load weights, in order.
    made : for each map the stream of its new pixels.
    branches : the streams of copied columns, by map and name: output, saved columns, operands of joins.
    overlap : for each map with overlap the input of its queue after the overlap port.
    """

    top: Pipeline
    module: Module = field(default_factory=Module)
    moved: list[Value] = field(default_factory=list)
    unfinished: list[Value] = field(default_factory=list)
    turns: list[TileTurn] = field(default_factory=list)
    done: list[list[Value]] = field(default_factory=list)
    loads: list[StageComponent] = field(default_factory=list)
    made: dict[int, stream.Interface] = field(default_factory=dict)
    branches: dict[tuple[int, str], stream.Interface] = field(default_factory=dict)
    overlap: dict[int, stream.Interface] = field(default_factory=dict)

    def __post_init__(self) -> None:
        m, p = self.module, self.top.parameters
        m.submodules.registers = self.registers = registers = PipelineRegisters(p)
        self.settings, self.own = registers.settings, OwnSettings(m, registers)
        connect(m, registers.port, flipped(self.top.cfg))
        load, loading = Signal(), Signal()
        m.d.sync += load.eq(registers.load)
        self.movers = self._movers(load) if p.movers is not None else None
        self.turns = [self.own.turn(f"map{number}_turn") for number in range(len(p.maps))]
        self.done = [[] for _ in p.maps]
        self.buffers = [self._buffer(number) for number in range(len(p.maps))]
        for number in range(len(p.stages)):
            self._stage(number)
        for number in range(len(p.maps)):
            self._map(number)
        self._overlap()
        self._weights(load, loading)
        for turn, done in zip(self.turns, self.done, strict=True):
            m.d.comb += turn.done.eq(Cat(*done).all())
        m.d.comb += [
            registers.moved.eq(Cat(*self.moved).any()),
            registers.waits.eq(Cat(*self.own.waits).any()),
            registers.ended.eq(~Cat(*self.own.begins, *self.own.waits, loading, *self.unfinished).any()),
            self.top.irq.eq(registers.irq),
        ]

    def _movers(self, load: Signal) -> Movers:
        """Add the movers, whose faults end the tile, and which end it when all is written."""
        m, top, registers = self.module, self.top, self.registers
        m.submodules.movers = movers = Movers(top.parameters, stream_members(top.parameters))
        connect(m, movers.axi, flipped(top.axi))
        m.d.comb += [
            *(getattr(movers.settings, name).eq(self._setting(name)) for name in movers.settings.signature.members),
            movers.restart.eq(registers.first | registers.load),
            movers.start.eq(registers.start),
            movers.first.eq(registers.first),
            movers.load.eq(load),
            movers.halt.eq(~registers.running),
            registers.settled.eq(movers.settled),
            registers.fault.eq(movers.fault),
        ]
        self.moved.append(movers.moved)
        self.unfinished.append(~movers.idle)
        self.own.waits.append(movers.waits)
        return movers

    def _stream(self, name: str) -> wiring.PureInterface:
        """A stream at the pipeline's border, or at the movers, seen from the stages."""
        return flipped(getattr(self.top, name)) if self.movers is None else getattr(self.movers, name)

    def _beside(self, name: str) -> Value:
        """A signal beside a stream."""
        return getattr(self.top if self.movers is None else self.movers, name)

    def _setting(self, name: str) -> Value:
        """A register: that of the tile that was started last."""
        return getattr(self.settings, name)

    def _of_map(self, number: int, name: str) -> Signal:
        """A setting of the tile that a map is in."""
        return self.own.of(self.turns[number], f"map{number}", name)

    def _add(self, name: str, part: Elaboratable) -> None:
        """Add a part that is reset when a run or a weight load starts, so that a failed tile leaves no state."""
        self.module.submodules[name] = ResetInserter(self.registers.first | self.registers.load)(part)

    # --- maps ---

    def _copied(self, number: int) -> list[_Branch]:
        """The streams of copied columns of a map."""
        p, name = self.top.parameters, f"map{number}"
        one, line = p.maps[number], self._of_map(number, f"{name}_line")
        found: list[_Branch] = []
        if one.written:
            overlap = self._of_map(number, f"{name}_overlap") if one.overlap_in else Const(0)
            found.append(_Branch("output", overlap, (line - overlap)[: len(line)], OUTPUT_QUEUE))
        if one.overlap_out:
            saved = self._of_map(number, f"{name}_saved")
            found.append(_Branch("saved", (line - saved)[: len(line)], saved, one.overlap_out))
        for index, place in p.join_readers(number):
            columns, first = (self._of_map(number, f"stage{index}_{one}") for one in ("columns", f"first_{place}"))
            queue = p.operand(index, place).queue
            found.append(_Branch(f"operand{index}_{place}", first, columns, queue, from_ring=one.pixels > 0))
        return found

    def _buffer(self, number: int) -> LineBuffer:
        """The line buffer of a map, with the streams of its copied columns."""
        m, one = self.module, self.top.parameters.maps[number]
        copied = self._copied(number)
        taps, copies = ([branch for branch in copied if branch.from_ring == ring] for ring in (True, False))
        buffer = LineBuffer(
            channels=one.channels,
            pixels=one.pixels,
            line=one.line,
            lines=one.lines,
            windows=len(self.top.parameters.window_readers(number)),
            copies=len(copies),
            taps=tuple(branch.queue for branch in taps),
        )
        self._add(f"map{number}", buffer)
        for kind, branches in (("copy", copies), ("tap", taps)):
            for n, branch in enumerate(branches):
                port = getattr(buffer, f"{kind}_{n}")
                m.d.comb += [port.first.eq(branch.first), port.columns.eq(branch.columns)]
        m.d.comb += [
            buffer.begin.eq(self.turns[number].begin),
            buffer.line.eq(self._of_map(number, f"map{number}_line")),
            buffer.lines.eq(self._of_map(number, f"map{number}_lines")),
        ]
        self.moved.append(buffer.moved)
        self.done[number].append(buffer.finished)
        self.unfinished.append(~buffer.finished)
        for n, branch in enumerate(copies):
            copy = getattr(buffer, f"o_copy_{n}")
            self.branches[number, branch.name] = self._queued(f"map{number}_{branch.name}", copy, branch.queue)
        for n, branch in enumerate(taps):
            self.branches[number, branch.name] = getattr(buffer, f"o_tap_{n}")
        return buffer

    def _queued(self, name: str, source: stream.Interface, depth: int) -> stream.Interface:
        """Add a queue of pixels after a stream. Returns its output."""
        queue = SyncFIFO(width=len(source.payload), depth=max(depth, LEAST_QUEUE))
        self._add(f"{name}_queue", queue)
        return connect_queue(self.module, source, queue)

    def _map(self, number: int) -> None:
        """Connect the input of a map's line buffer, and its output stream."""
        m, one, name = self.module, self.top.parameters.maps[number], f"map{number}"
        line, lines = (self._of_map(number, f"{name}_{setting}") for setting in ("line", "lines"))
        overlap = self._of_map(number, f"{name}_overlap") if one.overlap_in else 0
        if one.source:
            source = self._source(f"i_{name}", number, one.beat, f"{name}_source")
            m.d.comb += [
                source.begin.eq(self.turns[number].begin),
                source.columns.eq((line - overlap)[: len(line)]),
                source.lines.eq(lines),
            ]
            self.made[number] = self.branches[number, f"{name}_source"]
        new = self.made[number]
        if one.overlap_in:
            first = OverlapFirst(channels=one.channels, line=one.line)
            self._add(f"{name}_overlap", first)
            m.d.comb += [first.line.eq(line), first.overlap.eq(overlap)]
            connect_pixels(m, new, first.i_new)
            self.overlap[number] = stream.Signature(8 * one.channels).create()
            kept = self._queued(f"{name}_overlap_in", self.overlap[number], one.overlap_in)
            connect_pixels(m, kept, first.i_overlap)
            new = first.o_pixel
        connect_pixels(m, new, self.buffers[number].i_pixel)
        if one.written:
            scatter = Scatter(channels=one.channels, beat=one.beat)
            self._add(f"{name}_output", scatter)
            output = self.branches[number, "output"]
            connect_pixels(m, output, scatter.i_pixel)
            self.unfinished.append(output.valid)
            self._send(f"o_{name}", scatter)

    def _source(self, port: str, number: int, beat: int, name: str) -> TileSource:
        """Connect an input stream that carries pixels of a map."""
        m, one = self.module, self.top.parameters.maps[number]
        source = TileSource(channels=one.channels, beat=beat, line=one.line, lines=one.lines)
        self._add(name, source)
        connect(m, source.i_beat, self._stream(port))
        m.d.comb += self._beside(f"{port}_keep").eq(source.keep)
        self.moved.append(source.moved)
        self.branches[number, name] = source.o_pixel
        return source

    def _send(self, port: str, scatter: Scatter | OverlapOut) -> None:
        """Connect an output stream."""
        output = self._stream(port)
        connect(self.module, scatter.o_beat, output)
        self.module.d.comb += self._beside(f"{port}_keep").eq(scatter.keep)
        self.moved.append(output.valid & output.ready)

    # --- stages ---

    def _stage(self, number: int) -> None:
        """Add a stage, and connect the members that it has: windows, operands, settings."""
        m, p, name = self.module, self.top.parameters, f"stage{number}"
        stage, part = p.stages[number], stage_component(p, number)
        members = part.signature.members
        for read in stage.window_reads:
            place = p.window_readers(read).index(number)
            connect(m, part.window, getattr(self.buffers[read], f"window_{place}"))
            if "map_line" in members:
                m.d.comb += part.map_line.eq(self._of_map(read, f"map{read}_line"))
            if "idle" in members:
                self.done[read].append(part.idle)
        self._add(name, part)
        for place, operand in enumerate(stage.pixel_operands):
            connect_pixels(m, self._operand(number, place, operand), getattr(part, f"i_pixel_{place}"))
        if "settings" in members:
            (read,) = stage.window_reads
            m.d.comb += part.begin.eq(self.turns[read].begin)
            for member in part.settings.signature.members:
                m.d.comb += getattr(part.settings, member).eq(self._of_map(read, f"{name}_{member}"))
        for setting in stage.settings(p.maps):
            if setting.name in members:
                given = f"{name}_{setting.name}"
                value = self._setting(given) if setting.lasting else self._of_map(stage.window_reads[0], given)
                m.d.comb += getattr(part, setting.name).eq(value)
        if stage.loads_weights:
            self.loads.append(part)
        self.made[stage.makes] = part.o_pixel
        self.moved.append(part.moved)

    def _operand(self, number: int, place: int, operand: Operand) -> stream.Interface:
        """The pixels of an operand: from a tap of the ring, or from DRAM."""
        name = f"operand{number}_{place}"
        if not operand.through_dram:
            return self.branches[operand.reads, name]
        made = self.top.parameters.stages[number].makes
        turn, source = (
            self.own.turn(f"{name}_turn"),
            self._source(f"i_skip{number}_{place}", operand.reads, operand.beat, name),
        )
        self.module.d.comb += [
            turn.done.eq(source.finished),
            source.begin.eq(turn.begin),
            source.columns.eq(self.own.of(turn, name, f"stage{number}_columns")),
            source.lines.eq(self.own.of(turn, name, f"map{made}_lines")),
        ]
        return self._queued(f"stage{number}_skip_{place}", self.branches[operand.reads, name], operand.queue)

    # --- ports that maps or stages share ---

    def _overlap(self) -> None:
        """Add the overlap port, in each direction in which a map has overlap."""
        m, top, maps = self.module, self.top, self.top.parameters.maps
        for kind in ("in", "out"):
            chosen = {n: one for n, one in enumerate(maps) if getattr(one, f"overlap_{kind}")}
            if not chosen:
                continue
            port = (OverlapIn if kind == "in" else OverlapOut)(
                channels={n: one.channels for n, one in chosen.items()},
                widths={n: (one.line.bit_length(), one.lines.bit_length()) for n, one in chosen.items()},
                beat=top.parameters.overlap_beat,
            )
            self._add(f"overlap_{kind}", port)
            connect(m, port.i_order, self._stream(f"i_overlap_{kind}_order"))
            for number in chosen:
                columns = self._of_map(number, f"map{number}_{'overlap' if kind == 'in' else 'saved'}")
                m.d.comb += [
                    getattr(port, f"begin_{number}").eq(self.turns[number].begin),
                    getattr(port, f"columns_{number}").eq(columns),
                    getattr(port, f"lines_{number}").eq(self._of_map(number, f"map{number}_lines")),
                ]
                if kind == "in":
                    connect_pixels(m, getattr(port, f"o_pixel_{number}"), self.overlap[number])
                else:
                    saved = self.branches[number, "saved"]
                    connect_pixels(m, saved, getattr(port, f"i_pixel_{number}"))
                    self.unfinished.append(saved.valid)
                    self.done[number].append(getattr(port, f"idle_{number}"))
            if kind == "in":
                connect(m, port.i_beat, self._stream("i_overlap"))
                m.d.comb += self._beside("i_overlap_keep").eq(port.keep)
                self.moved.append(port.moved)
            else:
                self._send("o_overlap", port)

    def _weights(self, load: Signal, loading: Signal) -> None:
        """Connect the weight port: the stages load one after the other."""
        if not self.loads:
            self.module.d.comb += loading.eq(load)
            return
        words = self._stream("i_weights")
        beside = (self._beside("i_weights_keep"), self._beside("weights_bias"))
        self.module.d.comb += loading.eq(connect_loads(self.module, self.loads, words, beside, load))
        self.moved.append(words.valid & words.ready)
