"""The walk of a window over a map: which windows are complete with the pixel in flight, and all steps of each."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline.stage import Pair, window_settings
from hwgen.gateware.pipeline.linebuffer import WindowPort

__all__ = ["WindowSettings", "WindowWalk", "step_layout"]


class WindowSettings(wiring.Signature):
    """The windows of a tile.

    Members
    -------
    lines, columns : Out
        Outputs in the tile.
    first_line, first_column : Out
        Where the first output has its last input: kernel - 1 - padding, columns less where the tile's line begins.
    """

    def __init__(self, *, line: int, lines: int, kernel: Pair) -> None:
        super().__init__(
            {setting.name: Out(setting.width) for setting in window_settings(line=line, lines=lines, kernel=kernel)}
        )


def step_layout(*, steps: int, outer: int, inner: int) -> data.StructLayout:
    """One step of a window: a tap, and the blocks of channels.

    ``valid``: there is one. ``newest``: the tap is the pixel in flight, ``pad``: it is padding, else it is in the
    ring. ``fresh`` and ``last``: the first and last step of a sum; ``final``: of the whole output pixel.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "newest": 1,
            "pad": 1,
            "fresh": 1,
            "last": 1,
            "final": 1,
            "step": max((steps - 1).bit_length(), 1),
            "outer": max((outer - 1).bit_length(), 1),
            "inner": max((inner - 1).bit_length(), 1),
        }
    )


class WindowWalk(wiring.Component):
    """Goes over the map's pixels as they come and does the windows that each completes, a step a cycle.

    A window whose last lines or columns are padding is done with the last pixel before them. The order of steps is
    outer block, line of the kernel, column of the kernel, inner block. A pixel that completes no window takes a
    cycle. Behind the last pixel a line of windows below the map takes a cycle more for each line that it is lower.

    Parameters
    ----------
    channels, pixels, line, lines
        Of the map that is read.
    kernel, stride
        Across and along.
    outer, inner
        Blocks.

    Members
    -------
    begin : In(1)
        Settings are valid: a tile begins.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map in this tile.
    window : In(WindowPort)
        ``read_enable`` and ``read_offset`` are driven here.
    go : In(1)
        What follows takes a step in this cycle.
    step : Out(step_layout)
    """

    def __init__(
        self,
        *,
        channels: int,
        pixels: int,
        line: int,
        lines: int,
        kernel: Pair,
        stride: Pair,
        outer: int = 1,
        inner: int = 1,
    ) -> None:
        self._kernel, self._stride, self._outer, self._inner = kernel, stride, outer, inner
        self._pixels, self._line, self._lines = pixels, line, lines
        self._steps = kernel[0] * kernel[1] * outer * inner
        super().__init__(
            {
                "begin": In(1),
                "settings": In(WindowSettings(line=line, lines=lines, kernel=kernel)),
                "map_line": In(line.bit_length()),
                "window": In(WindowPort(channels=channels, pixels=pixels, line=line, lines=lines)),
                "go": In(1),
                "step": Out(step_layout(steps=self._steps, outer=outer, inner=inner)),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        settings, window = self.settings, self.window
        high, wide = self._kernel
        # The next output: where its last tap lies, and how many outputs and lines of them are to come.
        line = Signal(range(self._lines + high + self._stride[0]))
        column = Signal(range(self._line + wide + self._stride[1]))
        columns, lines = Signal.like(settings.columns), Signal.like(settings.lines)
        lowered = Signal(range(max(high, 2)))  # lines below the map's last that the offsets account for
        below = Signal.like(line)
        tail, some, same_line, fires, sinks = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            tail.eq(window.last_line & window.last_column),
            some.eq((lines != 0) & (columns != 0)),
            below.eq(line - window.line),
            same_line.eq(line == window.line),
            fires.eq(
                window.active
                & some
                & ((same_line & ((column == window.column) | window.last_column)) | (tail & (line >= window.line)))
            ),
            sinks.eq(fires & (below != lowered)),
        ]
        ends = self._steps_of_a_window(m, line, column, fires & ~sinks, sinks, lowered)
        more = Signal()
        m.d.comb += [
            more.eq(Mux(columns == 1, tail & (lines != 1), window.last_column)),
            window.release.eq(window.active & self.go & Mux(fires, ends & ~more, 1)),
        ]
        with m.If(self.begin):
            m.d.sync += [
                line.eq(settings.first_line),
                column.eq(settings.first_column),
                columns.eq(settings.columns),
                lines.eq(settings.lines),
            ]
        with m.Elif(ends & self.go):
            m.d.sync += [columns.eq(columns - 1), column.eq(column + self._stride[1])]
            with m.If(columns == 1):
                m.d.sync += [
                    columns.eq(settings.columns),
                    column.eq(settings.first_column),
                    lines.eq(lines - 1),
                    line.eq(line + self._stride[0]),
                ]
        with m.If(sinks & self.go):
            m.d.sync += lowered.eq(lowered + 1)
        return m

    def _steps_of_a_window(
        self, m: Module, line: Signal, column: Signal, runs: Signal, sinks: Signal, lowered: Signal
    ) -> Signal:
        """The steps of one window; whether this is its last."""
        window, step = self.window, self.step
        high, wide = self._kernel
        k, across = Signal(range(max(high, 2))), Signal(range(max(wide, 2)))
        outer, inner, number = Signal.like(step.outer), Signal.like(step.inner), Signal.like(step.step)
        last_k, last_across = Signal(), Signal()
        last_inner, last_outer = Signal(), Signal()
        m.d.comb += [
            last_k.eq(k == high - 1),
            last_across.eq(across == wide - 1),
            last_inner.eq(inner == self._inner - 1),
            last_outer.eq(outer == self._outer - 1),
        ]
        # Lines back from the one in flight, and what that is in pixels of the ring.
        top_row = Signal(signed((high * self._line).bit_length() + 2))
        row = Signal.like(top_row)
        back = Signal(signed(high.bit_length() + 2))
        tap_column = Signal(signed((self._line + wide).bit_length() + 2))
        offset = Signal(signed(len(row) + 1))
        outside = Signal()
        m.d.comb += [
            back.eq(high - 1 - lowered - k),
            tap_column.eq(column + across - (wide - 1)),
            offset.eq(row + window.column - tap_column),
            outside.eq((back < 0) | (back > window.line) | (tap_column < 0) | (tap_column >= self.map_line)),
            step.valid.eq(runs),
            step.pad.eq(outside),
            step.newest.eq((back == 0) & (tap_column == window.column)),
            step.fresh.eq((k == 0) & (across == 0) & (inner == 0)),
            step.last.eq(last_k & last_across & last_inner),
            step.final.eq(step.last & last_outer),
            step.step.eq(number),
            step.outer.eq(outer),
            step.inner.eq(inner),
            window.read_enable.eq(runs & self.go & ~outside & ~step.newest),
            window.read_offset.eq(offset),
        ]
        ends = Signal()
        m.d.comb += ends.eq(runs & step.final)
        with m.If(self.begin):
            m.d.sync += [top_row.eq(self.map_line * (high - 1)), row.eq(self.map_line * (high - 1))]
        with m.Elif(sinks & self.go):
            m.d.sync += [top_row.eq(top_row - self.map_line), row.eq(top_row - self.map_line)]
        with m.Elif(runs & self.go):
            m.d.sync += [number.eq(Mux(step.final, 0, number + 1)), inner.eq(Mux(last_inner, 0, inner + 1))]
            with m.If(last_inner):
                m.d.sync += across.eq(Mux(last_across, 0, across + 1))
                with m.If(last_across):
                    m.d.sync += [k.eq(Mux(last_k, 0, k + 1)), row.eq(Mux(last_k, top_row, row - self.map_line))]
                    with m.If(last_k):
                        m.d.sync += outer.eq(Mux(last_outer, 0, outer + 1))
        return ends
