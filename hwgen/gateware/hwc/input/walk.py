"""The tiles of the input, one after the other: where each begins, and how large it is."""

from amaranth.hdl import C, Module, Mux, Shape, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwgen.arch.hwc import REDUCTION, HwcParameters
from hwgen.arch.registers.hwc import input_spans
from hwgen.gateware.hwc.settings import nest_of, settings_signature
from hwgen.gateware.hwc.token import column_shape, row_shape
from hwgen.gateware.hwc.widths import covered_bits, span_bits
from hwgen.gateware.lib.nest import LoopNest, SteppedValue

__all__ = ["InputWalk"]


class InputWalk(wiring.Component):
    """Walks the loops down to the one that the input is buffered at; an iteration is a tile.

    Parameters
    ----------
    parameters
        What the HWC is generated for.

    Members
    -------
    settings : In
    start : In(1)
        Go to the first tile (after a reset).
    advance : In(1)
        Go to the next tile.
    row, column : Out
        The first row and column, counted from the image's first ones; negative in the padding.
    row_span, column_span : Out
        Rows and columns from the tile's first output to its last one.
    kernel_rows, kernel_columns : Out
        Of the kernel.
    channel, channels : Out
        The first channel inside its group, and how many.
    output : Out
        The first output channel.
    goes_on : Out(1)
        The next tile is the next iteration of the marked loop, in the same execution.
    finished : Out(1)
        This is the last tile.
    """

    def __init__(self, parameters: HwcParameters) -> None:
        self.parameters = parameters
        bits = parameters.position_bits
        self._order = range(min(parameters.input_marker + 1, len(parameters.loops)))
        super().__init__(
            {
                "settings": In(settings_signature(parameters)),
                "start": In(1),
                "advance": In(1),
                "row": Out(row_shape(parameters)),
                "column": Out(column_shape(parameters)),
                "row_span": Out(span_bits(parameters, "y")),
                "column_span": Out(span_bits(parameters, "x")),
                "kernel_rows": Out(covered_bits(parameters, self._order, "k")),
                "kernel_columns": Out(covered_bits(parameters, self._order, "l")),
                "channel": Out(bits),
                "channels": Out(covered_bits(parameters, self._order, "c")),
                "output": Out(bits),
                "goes_on": Out(1),
                "finished": Out(1),
            }
        )

    def elaborate(self, _platform: object) -> Module:
        m = Module()
        p, settings = self.parameters, self.settings
        nest, sizes = nest_of(m, p, settings, self._order, REDUCTION)
        m.submodules.nest = nest
        rows = self._advances("y", "input_row_step") | self._steps("k")
        columns = self._advances("x", "input_column_step") | self._steps("l")
        bits = p.position_bits
        m.d.comb += [
            nest.start.eq(self.start),
            nest.advance.eq(self.advance),
            self.row.eq(self._begin(m, nest, "row", rows, self.row.shape(), -settings.padding_top)),
            self.column.eq(self._begin(m, nest, "column", columns, self.column.shape(), -settings.padding_left)),
            self.channel.eq(self._begin(m, nest, "channel", self._steps("c"), bits, C(0))),
            self.output.eq(self._begin(m, nest, "output", self._steps("m"), bits, C(0))),
            self.row_span.eq(self._span(nest, "y", "row")),
            self.column_span.eq(self._span(nest, "x", "column")),
            self.kernel_rows.eq(sizes["k"]),
            self.kernel_columns.eq(sizes["l"]),
            self.channels.eq(sizes["c"]),
            self.goes_on.eq(nest.turning[p.input_marker] if p.input_marker < len(p.loops) else 0),
            self.finished.eq(nest.finished),
        ]
        return m

    def _begin(
        self, m: Module, nest: LoopNest, name: str, steps: dict[int, Value], shape: Shape | int, first: Value
    ) -> Value:
        """A coordinate of the tile; the first tile's is given."""
        width = max((len(step) for step in steps.values()), default=0)
        m.submodules[name] = at = SteppedValue(
            loops=len(self._order), inner=self._order, steps=sorted(steps), shape=shape, step_bits=width
        )
        at.follow(m, nest, self.start | self.advance, nest.ended[0])
        m.d.comb += [at.base.eq(first), *(getattr(at, f"step_{j}").eq(step) for j, step in steps.items())]
        return at.value

    def _advances(self, dim: str, setting: str) -> dict[int, Value]:
        """What the loops over an output dimension advance in the input."""
        return {j: getattr(self.settings, f"{setting}_{j}") for j in self._order if self.parameters.loops[j] == dim}

    def _steps(self, dim: str) -> dict[int, Value]:
        """The steps of the loops over a dimension."""
        return {j: getattr(self.settings, f"step_{j}_{dim}") for j in self._order if self.parameters.loops[j] == dim}

    def _span(self, nest: LoopNest, dim: str, line: str) -> Value:
        """Rows or columns of the image from the first output of the tile to its last one."""
        entries = [
            getattr(self.settings, f"input_{line}_span_{i}") for i, _ in enumerate(input_spans(self.parameters, dim))
        ]
        if len(entries) == 1:
            return entries[0]
        loop = self.parameters.innermost(len(self._order))[dim]
        return Mux(nest.last[loop], nest.entry(loop, entries[1:], nest.last), entries[0])
