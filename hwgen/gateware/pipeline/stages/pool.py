"""Pooling stages: the maximum or the average of each window, or of a whole map."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, connect, flipped

from hwgen.arch.latency import PIPELINE_SCALING
from hwgen.arch.pipeline import GlobalPoolStage, MapParameters, PoolStage
from hwgen.arch.pipeline.stages.pool import AVERAGE_SHIFT_BITS, MULTIPLIER_BITS
from hwgen.arch.requantisation import CHANNEL_SHIFT_BITS, LOWEST
from hwgen.arch.requantisation import MULTIPLIER_BITS as SCALED_BITS
from hwgen.gateware.lib.requantise import Requantise, clip_ports, connected_clip
from hwgen.gateware.pipeline.blocks import channel_blocks, select_channels
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.scaled import ChannelScaling, delayed, scaled_ports
from hwgen.gateware.pipeline.stage import StageComponent
from hwgen.gateware.pipeline.window_reader import WindowReader, connect_reader, window_members

__all__ = ["GlobalPooling", "Pooling"]

_AVERAGE = {"multiplier": In(MULTIPLIER_BITS), "shift": In(AVERAGE_SHIFT_BITS), **clip_ports()}
_SCALED = {"multiplier": In(SCALED_BITS), "shift": In(CHANNEL_SHIFT_BITS), **scaled_ports()}


_OF_SUMS = ("multiplier", "shift", "zero_out", "low", "high")


def _members(stage: PoolStage | GlobalPoolStage, source: MapParameters) -> dict[str, wiring.Member]:
    """The members that all pools have."""
    return {
        **((_SCALED if stage.requantisation == "scaled" else _AVERAGE) if stage.kind == "average" else {}),
        "window": In(WindowPort.of(source)),
    }


def _scales(stage: PoolStage | GlobalPoolStage) -> bool:
    """Whether it makes scaled sums."""
    return stage.kind == "average" and stage.requantisation == "scaled"


def _averaged(
    m: Module, stage: PoolStage | GlobalPoolStage, settings: wiring.Component, total: Value, go: Value, name: str
) -> Value:
    """A sum times the multiplier, shifted with rounding and clipped."""
    if _scales(stage):
        m.submodules[f"scaling_{name}"] = scaling = ChannelScaling()
        m.d.comb += [
            scaling.advance.eq(go),
            scaling.total.eq(total),
            *(getattr(scaling, one).eq(getattr(settings, one)) for one in _OF_SUMS),
        ]
        return scaling.value
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
    """Pools windows of a map, ``lanes`` channels a cycle. A maximum ignores padding; an average counts it as zero.

    A scaled average adds elements less the zero point of the input, and passes four registers more.

    Members
    -------
    begin : In(1)
        A tile begins; the settings are valid.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map that is read.
    multiplier, shift, relu, ceiling : In
        Of an average; where it is scaled there are zero_in, zero_out, low and high for the last two.
    window : In(WindowPort)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = PoolStage
    _stage: PoolStage

    def _members(self) -> dict[str, wiring.Member]:
        return {**window_members(self._stage, self._source), **_members(self._stage, self._source)}

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage = self._stage
        collect = self._collect(m, stage.lanes)
        m.submodules.reader = reader = WindowReader.of_lanes(stage, self._source)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        connect_reader(m, self, reader, collect.go)
        go, step, complete = collect.go, reader.step, Signal()
        m.d.comb += collect.write.eq(delayed(m, go, complete, PIPELINE_SCALING if _scales(stage) else 0, "scaled"))
        with m.If(go):
            m.d.sync += complete.eq(step.valid & step.last)
        values = []
        for lane in range(stage.lanes):
            tap = reader.tap.word_select(lane, 8).as_signed()
            element = tap - self.zero_in.as_signed() if _scales(stage) else tap
            pixel = Signal(element.shape(), name=f"pixel_{lane}")
            m.d.comb += pixel.eq(Mux(step.pad, 0 if stage.kind == "average" else LOWEST, element))
            if stage.kind == "average":
                total = Signal(signed(len(pixel) + stage.taps.bit_length()), name=f"sum_{lane}")
                following: Value = Mux(step.fresh, 0, total) + pixel
                values.append(_averaged(m, stage, self, total, go, str(lane)))
            else:
                total = Signal(signed(8), name=f"maximum_{lane}")
                following = Mux(step.fresh | (pixel > total), pixel, total)
                values.append(total)
            with m.If(go & step.valid):
                m.d.sync += total.eq(following)
        m.d.comb += collect.block.eq(Cat(*values))
        return m


class GlobalPooling(StageComponent):
    """Pools all pixels of a map, ``lanes`` channels a cycle, in one accumulator for each channel.

    Members
    -------
    multiplier, shift, relu, ceiling : In
        Of an average; where it is scaled there are zero_in, zero_out, low and high for the last two.
    window : In(WindowPort)
    o_pixel : Out(stream)
    moved : Out(1)
        A step is done in this cycle.
    """

    builds = GlobalPoolStage
    _stage: GlobalPoolStage

    def _members(self) -> dict[str, wiring.Member]:
        return _members(self._stage, self._source)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage, source, window = self._stage, self._source, self.window
        blocks = source.channels // stage.lanes
        collect = self._collect(m, stage.lanes)
        connect(m, flipped(self.o_pixel), collect.o_pixel)
        average = stage.kind == "average"
        width = 8 + _scales(stage) + (source.line * source.lines).bit_length() if average else 8
        sums = [Signal(signed(width), name=f"sum_{c}", init=0 if average else LOWEST) for c in range(source.channels)]
        block, last, draining = Signal(range(max(blocks, 2))), Signal(), Signal()
        accumulating = window.active & ~draining
        m.d.comb += [
            last.eq(block == blocks - 1),
            window.release.eq(accumulating & last),
            collect.write.eq(delayed(m, collect.go, draining, stage.registers, "scaled")),
            self.moved.eq(accumulating | (draining & collect.go)),
        ]
        with m.If(accumulating | (draining & collect.go)):
            m.d.sync += block.eq(Mux(last, 0, block + 1))
        with m.If(last & accumulating & window.last_line & window.last_column):
            m.d.sync += draining.eq(1)
        with m.If(last & draining & collect.go):
            m.d.sync += draining.eq(0)

        choices = channel_blocks(source.channels, stage.lanes)
        pixels = select_channels(m, window.pixel, block, choices, "block")
        totals = Signal(width * stage.lanes)
        with m.Switch(block):
            for number, channels in enumerate(choices):
                with m.Case(number):
                    m.d.comb += totals.eq(Cat(*(sums[c] for c in channels)))
        values = []
        for lane in range(stage.lanes):
            pixel, total = pixels.word_select(lane, 8).as_signed(), totals.word_select(lane, width).as_signed()
            if _scales(stage):
                pixel = pixel - self.zero_in.as_signed()
            following = total + pixel if average else Mux(pixel > total, pixel, total)
            with m.If(accumulating), m.Switch(block):
                for number, channels in enumerate(choices):
                    with m.Case(number):
                        m.d.sync += sums[channels[lane]].eq(following)
            with m.If(draining & collect.go), m.Switch(block):
                for number, channels in enumerate(choices):
                    with m.Case(number):
                        m.d.sync += sums[channels[lane]].eq(sums[channels[lane]].init)
            values.append(_averaged(m, stage, self, total, collect.go, str(lane)) if average else total)
        m.d.comb += collect.block.eq(Cat(*values))
        return m
