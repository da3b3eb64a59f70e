"""Reads the taps of windows, block by block, from the ring or from the pixel in flight."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hwgen.arch.pipeline import MapParameters, WindowStage
from hwgen.gateware.pipeline.blocks import channel_blocks, select_channels
from hwgen.gateware.pipeline.linebuffer import WindowPort
from hwgen.gateware.pipeline.window_walk import WindowSettings, WindowWalk, step_layout

__all__ = ["WindowReader", "connect_reader", "window_members"]


def window_members(stage: WindowStage, source: MapParameters) -> dict[str, wiring.Member]:
    """The members that describe a tile to a reader of windows: ``begin``, ``settings``, ``map_line``."""
    return {
        "begin": In(1),
        "settings": In(WindowSettings(line=source.line, lines=source.lines, kernel=stage.kernel)),
        "map_line": In(source.line.bit_length()),
    }


def connect_reader(m: Module, stage: wiring.Component, reader: "WindowReader", go: Value) -> None:
    """Connect the reader of a stage to the stage's tile and map. It steps when ``go`` is high."""
    connect(m, reader.window, flipped(stage.window))
    connect(m, reader.settings, flipped(stage.settings))
    m.d.comb += [
        reader.begin.eq(stage.begin),
        reader.map_line.eq(stage.map_line),
        reader.go.eq(go),
        stage.moved.eq(go & reader.issue.valid),
    ]


class WindowReader(wiring.Component):
    """Walks the windows of a map. In every cycle with ``go`` it reads a block of channels of one tap.

    Parameters
    ----------
    stage
        Kernel and stride.
    source
        The map that is read.
    outer, inner
        Blocks of output channels and of input channels.
    choices
        The channels of an input block: for each inner block, or for each pair (outer, inner).

    Members
    -------
    begin, settings, map_line, go
        See `WindowWalk`.
    window : In(WindowPort)
    issue : Out(step_layout)
        The step whose tap is read in this cycle.
    step : Out(step_layout)
        The step before it, whose tap is in ``tap``.
    tap : Out
        The first channel in the lowest byte; undefined for padding.
    """

    def __init__(
        self, *, stage: WindowStage, source: MapParameters, outer: int, inner: int, choices: Sequence[tuple[int, ...]]
    ) -> None:
        self._stage, self._source, self._outer, self._inner = stage, source, outer, inner
        self._choices = tuple(choices)
        layout = step_layout(steps=stage.taps * outer * inner, outer=outer, inner=inner)
        super().__init__(
            {
                **window_members(stage, source),
                "window": In(WindowPort.of(source)),
                "go": In(1),
                "issue": Out(layout),
                "step": Out(layout),
                "tap": Out(8 * len(self._choices[0])),
            }
        )

    @classmethod
    def of_lanes(cls, stage: WindowStage, source: MapParameters) -> "WindowReader":
        """The reader of a stage that makes each block of ``stage.lanes`` channels of the same one of its map."""
        choices = channel_blocks(source.channels, stage.lanes)
        return cls(stage=stage, source=source, outer=len(choices), inner=1, choices=choices)

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        stage, source, choices = self._stage, self._source, self._choices
        m.submodules.walk = walk = WindowWalk(
            channels=source.channels, pixels=source.pixels, line=source.line, lines=source.lines,
            kernel=stage.kernel, stride=stage.stride, outer=self._outer, inner=self._inner,
        )  # fmt: skip
        connect(m, walk.window, flipped(self.window))
        connect(m, walk.settings, flipped(self.settings))
        m.d.comb += [
            walk.begin.eq(self.begin),
            walk.map_line.eq(self.map_line),
            walk.go.eq(self.go),
            self.issue.eq(walk.step),
        ]
        paired = len(choices) == self._outer * self._inner
        index = self.issue.outer * self._inner + self.issue.inner if paired else self.issue.inner
        flying, then = Signal(len(self.tap)), Signal(range(max(len(choices), 2)))
        in_flight = select_channels(m, self.window.pixel, index, choices, "in_flight")
        with m.If(self.go):
            m.d.sync += [self.step.eq(self.issue), then.eq(index)]
            with m.If(self.issue.newest):
                m.d.sync += flying.eq(in_flight)
        if source.pixels:
            in_ring = select_channels(m, self.window.read_data, then, choices, "in_ring")
            m.d.comb += self.tap.eq(Mux(self.step.newest, flying, in_ring))
        else:
            m.d.comb += self.tap.eq(flying)
        return m
