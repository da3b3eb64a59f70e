"""The vector unit of a cluster: what one job of it is, and the widths of its settings.

The unit computes feature maps from feature maps in the TCDM, one element of a window in a cycle, or several of them.
For every output element it visits the elements of a window of the input: their sum, their maximum, or, with a second
operand, the pair of elements at the same place. The result is scaled, rounded, shifted, moved to the zero point and
clipped, and may go through a table of 256 entries. A copy is the maximum of a window of one element.
"""

from dataclasses import dataclass
from typing import Literal

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.requantisation import HIGHEST, LOWEST
from hwgen.ir.requantisation import MOST_MULTIPLIER, MOST_SHIFT

__all__ = [
    "COLUMN_BITS",
    "EXTENT_BITS",
    "IDENTITY_SCALE",
    "PAIR",
    "VECTOR_MULTIPLIER_BITS",
    "VECTOR_PORTS",
    "WINDOW_SUM_BITS",
    "VectorJob",
    "VectorMode",
]

VectorMode = Literal["add", "average", "maximum"]
VECTOR_PORTS = ("i", "o")
"""Ports to the TCDM, as wide as each other: one reads, one writes."""
EXTENT_BITS = 16
"""Bits of channels, of rows, and of what a window has of rows and columns."""
COLUMN_BITS = 20
"""Bits of columns: a map without windows may be one row."""
VECTOR_MULTIPLIER_BITS = 17
"""Bits of a multiplier without sign: that of an average of one element is 1 << 16."""
MOST_WINDOW = (1 << EXTENT_BITS) - 1
"""Elements of a window, at most."""
WINDOW_SUM_BITS = EXTENT_BITS + 9
"""Bits of the sum of a window of elements less their zero point, with its sign."""
IDENTITY_SCALE = (2, 1)
"""Multiplier and shift that leave a value as it is: (2 * v + 1) >> 1."""
PAIR = 2
"""Operands of a sum."""


@dataclass(frozen=True)
class VectorJob:
    """One start of the vector unit. Addresses are byte addresses in the TCDM of element 0 of channel 0.

    Parameters
    ----------
    mode
        What becomes of a window.
    channels, rows, columns
        Of the output.
    input, input_pitch, input_plane
        Address, bytes from row to row and from channel to channel.
    height, width
        Rows and columns of the input: elements outside are padding, which neither is a maximum nor adds to a sum.
    output, output_pitch, output_plane
        The same of the output.
    kernel, stride, dilation
        Of the window: rows, columns.
    padding
        Rows above the first row of the input, columns left of the first column, at which the first window begins;
        negative if it begins inside.
    second
        Address of the second operand of an addition, which has the pitch and the plane of the first and differs from
        its address by whole words.
    zeros
        Zero points of the operands, which are subtracted.
    multipliers, shift
        A multiplier for each operand; the shift is 1 at least.
    zero_out, low, high
        What is added to the shifted value, and what it is clipped to.
    table
        Whether outputs go through the table that the unit holds.
    table_from
        Address of a table that is read first; None: the unit keeps what it holds.
    strips
        Whether columns of a maximum are joined before windows are: see `VectorShape.check`.
    """

    mode: VectorMode
    channels: int
    rows: int
    columns: int
    input: int
    input_pitch: int
    input_plane: int
    height: int
    width: int
    output: int
    output_pitch: int
    output_plane: int
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    second: int = 0
    zeros: tuple[int, int] = (0, 0)
    multipliers: tuple[int, int] = (IDENTITY_SCALE[0], 0)
    shift: int = IDENTITY_SCALE[1]
    zero_out: int = 0
    low: int = LOWEST
    high: int = HIGHEST
    table: bool = False
    table_from: int | None = None
    strips: bool = False

    def __post_init__(self) -> None:
        for name in ("columns", "width"):
            _inside(name, getattr(self, name), 1, (1 << COLUMN_BITS) - 1)
        for name in ("channels", "rows", "height"):
            _inside(name, getattr(self, name), 1, (1 << EXTENT_BITS) - 1)
        for name in ("kernel", "stride", "dilation"):
            for value in getattr(self, name):
                _inside(name, value, 1, (1 << EXTENT_BITS) - 1)
        _inside("kernel", self.kernel[0] * self.kernel[1], 1, MOST_WINDOW)
        for value in self.padding:
            _inside("padding", value, -MOST_WINDOW, MOST_WINDOW)
        for value in self.multipliers:
            _inside("multipliers", value, 0, MOST_MULTIPLIER)
        _inside("shift", self.shift, 1, MOST_SHIFT)
        for name in ("zero_out", "low", "high"):
            _inside(name, getattr(self, name), LOWEST, HIGHEST)
        if self.mode == "add":
            if not self.by_element:
                raise ParameterError("an addition: expected as many rows and columns in as out, and no window")
            if (self.second - self.input) % WORD_BYTES:
                raise ParameterError(f"second: expected whole words from {self.input:#x}, got {self.second:#x}")
        self._check_table()

    def at(self, given: int, made: int, table_from: int | None) -> "VectorJob":
        """The same at other addresses of its input, its output and its table; a second operand is as far away."""
        one = object.__new__(VectorJob)
        one.__dict__.update(self.__dict__)
        moved = {"input": given, "output": made, "second": self.second + given - self.input, "table_from": table_from}
        one.__dict__.update(moved)
        one._check_table()
        return one

    def _check_table(self) -> None:
        if self.table_from is not None and self.table_from % WORD_BYTES:
            raise ParameterError(f"table_from: expected a multiple of {WORD_BYTES}, got {self.table_from:#x}")

    @property
    def by_element(self) -> bool:
        """Whether every output is made of the element at the same place, so that neighbours need no window."""
        window = (self.kernel, self.stride, self.padding)
        return window == ((1, 1), (1, 1), (0, 0)) and (self.rows, self.columns) == (self.height, self.width)

    @property
    def span(self) -> int:
        """Columns of the input from the first one of a row's first window to the last one of its last window."""
        return (self.columns - 1) * self.stride[1] + (self.kernel[1] - 1) * self.dilation[1] + 1

    @property
    def settings(self) -> dict[str, int]:
        """The values of the unit's settings, by the names that `Bank.signals` gives them; some are negative."""
        (down, across), (apart, beside) = self.stride, self.dilation
        top, left = self.padding
        return {
            "mode_add": self.mode == "add",
            "mode_average": self.mode == "average",
            "mode_table": self.table,
            "mode_load": self.table_from is not None,
            "mode_shift": self.shift,
            "mode_elements": self.by_element,
            "mode_strips": self.strips,
            "outputs_channels": self.channels,
            "outputs_rows": self.rows,
            "columns": self.span if self.strips else self.columns,
            "kernel_rows": self.kernel[0],
            "kernel_columns": self.kernel[1],
            "height": self.height,
            "width": self.width,
            "stride_rows": down,
            "stride_columns": across,
            "dilation_rows": apart,
            "dilation_columns": beside,
            "first_row": -top,
            "first_column": -left,
            "input_base": self.input - top * self.input_pitch - left,
            "input_line": apart * self.input_pitch,
            "input_row": down * self.input_pitch,
            "input_plane": self.input_plane,
            "second": self.second - self.input if self.mode == "add" else 0,
            "output_base": self.output,
            "output_pitch": self.output_pitch,
            "output_plane": self.output_plane,
            "table_base": self.table_from or 0,
            "zeros_first": self.zeros[0],
            "zeros_second": self.zeros[1],
            "zeros_out": self.zero_out,
            "clip_low": self.low,
            "clip_high": self.high,
            "multiplier": self.multipliers[0],
            "multiplier_2": self.multipliers[1],
        }


def _inside(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ParameterError(f"{name}: expected {least} to {most}, got {value}")
