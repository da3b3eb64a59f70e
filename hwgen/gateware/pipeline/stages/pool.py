"""Pooling stages: the largest or the average of each window, or of a whole map."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import GlobalPoolStage, MapParameters, PipelineParameters, PoolStage
from hwgen.arch.pipeline.stages.pool import AVERAGE_SHIFT_BITS, MULTIPLIER_BITS
from hwgen.gateware.lib.requantise import Requantise, clip_ports, connected_clip
from hwgen.gateware.pipeline.blocks import select_channels
from hwgen.gateware.pipeline.collect import Collect
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.stage import StageComponent
from hwgen.gateware.pipeline.window_reader import WindowReader, connect_reader, window_members

__all__ = ["GlobalPooling", "Pooling"]

LOWEST = -128

_AVERAGE = {"multiplier": In(MULTIPLIER_BITS), "shift": In(AVERAGE_SHIFT_BITS), **clip_ports()}


def _members(stage: PoolStage | GlobalPoolStage, source: MapParameters) -> dict[str, wiring.Member]:
    """What any pool of a map has."""
    return {
        **(_AVERAGE if stage.kind == "average" else {}),
        "window": In(WindowPort.of(source)),
        "o_pixel": Out(stream.Signature(8 * source.channels)),
        "moved": Out(1),
    }


def _averaged(m: Module, settings: wiring.Component, total: Value, name: str) -> Value:
    """A sum times the multiplier, shifted with rounding, clipped."""
    product = Signal(signed(max(len(total) + MULTIPLIER_BITS, 32)), name=f"product_{name}")
    m.submodules[f"requantise_{name}"] = unit = Requantise(sum_bits=len(product), shift_bits=AVERAGE_SHIFT_BITS)
    m.d.comb += [
        product.eq(total * settings.multiplier),
        unit.enable.eq(1),
        unit.sum.eq(product),
        unit.shift.eq(settings.shift),
        *connected_clip(unit, settings),
    ]
    return unit.value


class Pooling(StageComponent):
    """Windows of a map, ``lanes`` channels a cycle. Padding is left out of the largest; in the average it is zero.

    Parameters
    ----------
    stage
        The pool.
    source, made
        The maps that it reads and makes.

    Members
    -------
    begin : In(1)
        Settings are valid: a tile begins.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map that is read.
    multiplier, shift, relu, ceiling : In
        Of an average.
    window : In(WindowPort)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done.
    """

    builds = PoolStage

    @classmethod
    def of(cls, parameters: PipelineParameters, number: int) -> "Pooling":
        """The hardware of a pipeline's stage."""
        stage = parameters.stages[number]
        assert isinstance(stage, PoolStage)
        return cls(stage=stage, source=parameters.maps[stage.reads], made=parameters.maps[stage.makes])

    def __init__(self, *, stage: PoolStage, source: MapParameters, made: MapParameters) -> None:
        self._stage, self._source, self._made = stage, source, made
        super().__init__({**window_members(stage, source), **_members(stage, source)})

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage, source = self._stage, self._source
        blocks = source.channels // stage.lanes
        m.submodules.collect = collect = Collect(channels=source.channels, lanes=stage.lanes, depth=self._made.queue)
        m.submodules.reader = reader = WindowReader(
            stage=stage,
            source=source,
            outer=blocks,
            inner=1,
            choices=[tuple(range(block * stage.lanes, (block + 1) * stage.lanes)) for block in range(blocks)],
        )
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        connect_reader(m, self, reader, collect.go)
        go, step, whole = collect.go, reader.step, Signal()
        m.d.comb += collect.write.eq(whole)
        with m.If(go):
            m.d.sync += whole.eq(step.valid & step.last)
        values = []
        for lane in range(stage.lanes):
            pixel = Signal(signed(8), name=f"pixel_{lane}")
            m.d.comb += pixel.eq(
                Mux(step.pad, 0 if stage.kind == "average" else LOWEST, reader.tap.word_select(lane, 8))
            )
            if stage.kind == "average":
                total = Signal(signed(8 + stage.taps.bit_length()), name=f"sum_{lane}")
                after: Value = Mux(step.fresh, 0, total) + pixel
                values.append(_averaged(m, self, total, str(lane)))
            else:
                total = Signal(signed(8), name=f"largest_{lane}")
                after = Mux(step.fresh | (pixel > total), pixel, total)
                values.append(total)
            with m.If(go & step.valid):
                m.d.sync += total.eq(after)
        m.d.comb += collect.block.eq(Cat(*values))
        return m


class GlobalPooling(StageComponent):
    """All pixels of a map into one, ``lanes`` channels a cycle, in an accumulator for each channel.

    Parameters
    ----------
    stage
        The pool.
    source, made
        The maps that it reads and makes.

    Members
    -------
    multiplier, shift, relu, ceiling : In
        Of an average.
    window : In(WindowPort)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done.
    """

    builds = GlobalPoolStage

    @classmethod
    def of(cls, parameters: PipelineParameters, number: int) -> "GlobalPooling":
        """The hardware of a pipeline's stage."""
        stage = parameters.stages[number]
        assert isinstance(stage, GlobalPoolStage)
        return cls(stage=stage, source=parameters.maps[stage.reads], made=parameters.maps[stage.makes])

    def __init__(self, *, stage: GlobalPoolStage, source: MapParameters, made: MapParameters) -> None:
        self._stage, self._source, self._made = stage, source, made
        super().__init__(_members(stage, source))

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage, source, window = self._stage, self._source, self.window
        blocks = source.channels // stage.lanes
        m.submodules.collect = collect = Collect(channels=source.channels, lanes=stage.lanes, depth=self._made.queue)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        average = stage.kind == "average"
        width = 8 + (source.line * source.lines).bit_length() if average else 8
        sums = [Signal(signed(width), name=f"sum_{c}", init=0 if average else LOWEST) for c in range(source.channels)]
        block, last, drains = Signal(range(max(blocks, 2))), Signal(), Signal()
        adds = window.active & ~drains
        m.d.comb += [
            last.eq(block == blocks - 1),
            window.release.eq(adds & last),
            collect.write.eq(drains),
            self.moved.eq(adds | (drains & collect.go)),
        ]
        with m.If(adds | (drains & collect.go)):
            m.d.sync += block.eq(Mux(last, 0, block + 1))
        with m.If(last & adds & window.last_line & window.last_column):
            m.d.sync += drains.eq(1)
        with m.If(last & drains & collect.go):
            m.d.sync += drains.eq(0)

        choices = [tuple(range(b * stage.lanes, (b + 1) * stage.lanes)) for b in range(blocks)]
        pixels = select_channels(m, window.pixel, block, choices, "block")
        totals = Signal(width * stage.lanes)
        with m.Switch(block):
            for number, channels in enumerate(choices):
                with m.Case(number):
                    m.d.comb += totals.eq(Cat(*(sums[c] for c in channels)))
        values = []
        for lane in range(stage.lanes):
            pixel, total = pixels.word_select(lane, 8).as_signed(), totals.word_select(lane, width).as_signed()
            after = total + pixel if average else Mux(pixel > total, pixel, total)
            with m.If(adds), m.Switch(block):
                for number, channels in enumerate(choices):
                    with m.Case(number):
                        m.d.sync += sums[channels[lane]].eq(after)
            values.append(_averaged(m, self, total, str(lane)) if average else total)
        m.d.comb += collect.block.eq(Cat(*values))
        return m
