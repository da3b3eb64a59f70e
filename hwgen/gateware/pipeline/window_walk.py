"""The walk of windows over a map: which windows the pixel in flight completes, and the steps of each."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.pipeline.stage import Pair, window_settings
from hwgen.gateware.pipeline.linebuffer import WindowPort

__all__ = ["WindowSettings", "WindowWalk", "step_layout"]


class WindowSettings(wiring.Signature):
    """The outputs of a stage in a tile.

    Members
    -------
    lines, columns : Out
        Outputs in the tile.
    first_line, first_column : Out
        Position of the last tap of the first output: kernel - 1 - padding; for columns, counted from the first
        column of the tile's line.
    """

    def __init__(self, *, line: int, lines: int, kernel: Pair) -> None:
        super().__init__(
            {setting.name: Out(setting.width) for setting in window_settings(line=line, lines=lines, kernel=kernel)}
        )


def step_layout(*, steps: int, outer: int, inner: int) -> data.StructLayout:
    """One step of a window: one tap and one block of channels.

    ``valid``: there is a step. ``newest``: the tap is the pixel in flight. ``pad``: the tap is padding. With neither,
    the tap is in the ring. ``fresh``, ``last``: first and last step of a sum. ``final``: last step of an output
    pixel. ``step``: number of the step in its window. ``outer``, ``inner``: blocks of output and of input channels.
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
    """Issues the steps of every window, one a cycle, while the pixel that completes the window is in flight.

    A window whose last lines or columns are padding is completed by the last pixel before the padding. Steps are
    ordered by outer block, kernel line, kernel column, inner block. A pixel that completes no window takes one cycle.
    With the last pixel in flight, each line of windows takes one cycle more for every line of padding below the map.

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
        A tile begins; the settings are valid.
    settings : In(WindowSettings)
    map_line : In
        Columns of a line of the map in this tile.
    window : In(WindowPort)
        ``read_enable`` and ``read_offset`` are driven here.
    go : In(1)
        The stage accepts a step in this cycle.
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
        kernel_lines, kernel_columns = self._kernel
        # The next output: position of its last tap, outputs left in its line, and lines of outputs left.
        line = Signal(range(self._lines + kernel_lines + self._stride[0]))
        column = Signal(range(self._line + kernel_columns + self._stride[1]))
        columns, lines = Signal.like(settings.columns), Signal.like(settings.lines)
        shifted = Signal(range(max(kernel_lines, 2)))  # lines of padding below the map that the offsets include
        lines_below = Signal.like(line)
        last_pixel, any_left, same_line, fires, shifts = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            last_pixel.eq(window.last_line & window.last_column),
            any_left.eq((lines != 0) & (columns != 0)),
            lines_below.eq(line - window.line),
            same_line.eq(line == window.line),
            fires.eq(
                window.active
                & any_left
                & (
                    (same_line & ((column == window.column) | window.last_column))
                    | (last_pixel & (line >= window.line))
                )
            ),
            shifts.eq(fires & (lines_below != shifted)),
        ]
        ends = self._steps_of_a_window(m, line, column, fires & ~shifts, shifts, shifted)
        more = Signal()
        m.d.comb += [
            more.eq(Mux(columns == 1, last_pixel & (lines != 1), window.last_column)),
            window.release.eq(window.active & self.go & Mux(fires, ends & ~more, 1)),
        ]
        with m.If(self.begin):
            m.d.sync += [
                line.eq(settings.first_line),
                column.eq(settings.first_column),
                columns.eq(settings.columns),
                lines.eq(settings.lines),
                shifted.eq(0),
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
        with m.If(shifts & self.go):
            m.d.sync += shifted.eq(shifted + 1)
        return m

    def _steps_of_a_window(
        self, m: Module, line: Signal, column: Signal, runs: Signal, shifts: Signal, shifted: Signal
    ) -> Signal:
        """The steps of one window. Returns whether this step is its last."""
        window, step = self.window, self.step
        kernel_lines, kernel_columns = self._kernel
        kernel_line, kernel_column = Signal(range(max(kernel_lines, 2))), Signal(range(max(kernel_columns, 2)))
        outer, inner, step_number = Signal.like(step.outer), Signal.like(step.inner), Signal.like(step.step)
        last_kernel_line, last_kernel_column = Signal(), Signal()
        last_inner, last_outer = Signal(), Signal()
        m.d.comb += [
            last_kernel_line.eq(kernel_line == kernel_lines - 1),
            last_kernel_column.eq(kernel_column == kernel_columns - 1),
            last_inner.eq(inner == self._inner - 1),
            last_outer.eq(outer == self._outer - 1),
        ]
        # Distance of the tap's line from the line in flight: in lines, and in pixels of the ring.
        first_line_offset = Signal(signed((kernel_lines * self._line).bit_length() + 2))
        line_offset = Signal.like(first_line_offset)
        lines_back = Signal(signed(kernel_lines.bit_length() + 2))
        tap_column = Signal(signed((self._line + kernel_columns).bit_length() + 2))
        offset = Signal(signed(len(line_offset) + 1))
        padding = Signal()
        m.d.comb += [
            lines_back.eq(kernel_lines - 1 - shifted - kernel_line),
            tap_column.eq(column + kernel_column - (kernel_columns - 1)),
            offset.eq(line_offset + window.column - tap_column),
            padding.eq(
                (lines_back < 0) | (lines_back > window.line) | (tap_column < 0) | (tap_column >= self.map_line)
            ),
            step.valid.eq(runs),
            step.pad.eq(padding),
            step.newest.eq((lines_back == 0) & (tap_column == window.column)),
            step.fresh.eq((kernel_line == 0) & (kernel_column == 0) & (inner == 0)),
            step.last.eq(last_kernel_line & last_kernel_column & last_inner),
            step.final.eq(step.last & last_outer),
            step.step.eq(step_number),
            step.outer.eq(outer),
            step.inner.eq(inner),
            window.read_enable.eq(runs & self.go & ~padding & ~step.newest),
            window.read_offset.eq(offset),
        ]
        ends = Signal()
        m.d.comb += ends.eq(runs & step.final)
        with m.If(self.begin):
            m.d.sync += [
                first_line_offset.eq(self.map_line * (kernel_lines - 1)),
                line_offset.eq(self.map_line * (kernel_lines - 1)),
            ]
        with m.Elif(shifts & self.go):
            m.d.sync += [
                first_line_offset.eq(first_line_offset - self.map_line),
                line_offset.eq(first_line_offset - self.map_line),
            ]
        with m.Elif(runs & self.go):
            m.d.sync += [step_number.eq(Mux(step.final, 0, step_number + 1)), inner.eq(Mux(last_inner, 0, inner + 1))]
            with m.If(last_inner):
                m.d.sync += kernel_column.eq(Mux(last_kernel_column, 0, kernel_column + 1))
                with m.If(last_kernel_column):
                    m.d.sync += [
                        kernel_line.eq(Mux(last_kernel_line, 0, kernel_line + 1)),
                        line_offset.eq(Mux(last_kernel_line, first_line_offset, line_offset - self.map_line)),
                    ]
                    with m.If(last_kernel_line):
                        m.d.sync += outer.eq(Mux(last_outer, 0, outer + 1))
        return ends
