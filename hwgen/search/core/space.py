"""The space of schedules of one layer as tables: what every state of every axis costs for every tile step."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import memory_units
from hwgen.arch.lanes import datapath
from hwgen.arch.requantisation import record_bytes
from hwgen.arch.weights import WeightLines
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import NARROW_PORTS, ONE_LANE, Lanes, Ports
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.requantisation import RequantisationForm
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits
from hwgen.search.core.axes import KERNEL, PAIR_STATES, Channels, Ranges, Window, channels, ranges, window
from hwgen.search.core.orders import TILED, LoopSet
from hwgen.search.core.settings import ANY, Settings

__all__ = [
    "IMPOSSIBLE",
    "Lines",
    "Scale",
    "Tables",
    "Target",
    "gathered",
    "runnable",
    "steps_allowed",
    "sum_words",
    "tables",
]

Floats = NDArray[np.float64]
LARGEST_MAP = 8192
"""Most rows and columns of the output: the time to fill the tables grows with the square, here to half a minute."""
IMPOSSIBLE, NOTHING = 1e40, 1e-12
"""Need of what the hardware cannot run: more than any buffer, and finite, so that products of it compare. Rows
or columns needed where all is padding: so few that the memory's least size holds them, and more than none, beside
which nothing would be impossible."""


@dataclass(frozen=True)
class Target:
    """What schedules are for: the pure model (exact needs, no lanes), or hardware with its allocation and its rules.

    Members
    -------
    lanes : what one innermost iteration covers.
    hardware : whether needs are allocations and only what the hardware runs counts.
    bias_words : biases that the hardware keeps.
    ports : widths of its ports.
    requantisation : what it does with sums.
    lane_registers : whether its lanes have registers.
    operand_bits : width of operands, of which ``lanes`` are the lanes.
    settings : what the hardware has of settings.
    """

    lanes: Lanes = ONE_LANE
    hardware: bool = False
    bias_words: int = 0
    ports: Ports = NARROW_PORTS
    requantisation: RequantisationForm = "shift"
    lane_registers: bool = False
    operand_bits: int = 8
    settings: Settings = ANY

    @classmethod
    def of(cls, hardware: Hardware | None) -> "Target":
        """The target of a search; the hardware's lanes are not free."""
        if hardware is None:
            return cls()
        return cls(
            hardware.shape,
            True,
            hardware.bias_words,
            hardware.ports,
            hardware.requantisation,
            hardware.lane_registers,
            settings=Settings.of(hardware),
        )

    @property
    def lane_dims(self) -> frozenset[Dim]:
        """Dimensions with more than one lane."""
        return frozenset(self.lanes.dims)

    @property
    def lines(self) -> WeightLines | None:
        """How the hardware has weights in lines; None where they are packed densely, and for the pure model."""
        return WeightLines.of(self.lanes, self.operand_bits, self.ports.weight_bytes) if self.hardware else None

    @property
    def units(self) -> tuple[int, int, int]:
        """Multiples, in bytes, in which the I, W and O memories come."""
        return memory_units(datapath(self.lanes, self.operand_bits), ports=self.ports) if self.hardware else (1, 1, 1)

    def with_operands(self, bits: Bits) -> "Target":
        """The same for operands of these widths."""
        return self if self.operand_bits == bits.W else replace(self, operand_bits=bits.W)

    @property
    def least(self) -> tuple[int, int, int]:
        """Smallest I, W and O memories, in bytes: the hardware's are at least two deep."""
        return tuple(2 * unit for unit in self.units) if self.hardware else (0, 0, 0)  # type: ignore[return-value]


class Scale(NamedTuple):
    """What the tables' factors are multiplied with.

    Bytes of I = ``i_bytes * m_fetched * y_fetched * x_fetched``; of W = ``w_bytes * y_cuts * x_cuts``; of O =
    ``o_bytes + o_partial_bytes * (rounds - 1)``, where rounds = ``c_cuts``, times the kernel's extents where O
    returns for each iteration of k or l; of biases, where none is kept, = ``b_bytes * y_cuts * x_cuts`` in the state
    of O. Words are those of each operand's port: of I = ``i_lines * m_fetched * y_fetched * x_words``; of W its bytes
    and what every tile lacks to a full word, by ``w_word``, or where weights are packed in lines ``w_lines *
    m_lines`` for each time they are read; of O = ``o_rows * x_output_words + o_partial_rows * x_sum_words * (rounds -
    1)``. Innermost iterations = ``taps`` times the cuts by the inner loops of m, y and x. Needs are products, by
    bytes an element (``i_element``: of all copies that the hardware keeps).
    """

    i_bytes: float
    i_lines: float
    i_element: float
    w_bytes: float
    w_element: float
    o_bytes: float
    o_rows: float
    o_partial_bytes: float
    o_partial_rows: float
    o_element: float
    taps: float
    k_size: float
    l_size: float
    w_word: float
    w_lines: float
    b_bytes: float


class Lines(NamedTuple):
    """Tables of rows or columns: fetched and their words, in all; the most that one iteration needs."""

    fetched: Floats
    words: Floats
    need: Floats


class Tables(NamedTuple):
    """One layer: factors of traffic and need, [state, step of the dimension's tile loop]; step 0 is unused.

    ``units``, ``least``, ``caps``: granularity, least and greatest size of the I, W and O memories, in
    bytes. ``m_lines`` [step]: words of all lines, as far as they depend on m (see `_line_words`).
    """

    scale: Scale
    units: Floats
    least: Floats
    caps: Floats
    m_fetched: Floats
    m_groups: Floats
    m_sizes: Floats
    m_sums: Floats
    m_cuts: Floats
    m_residues: Floats
    m_lines: Floats
    c_sizes: Floats
    c_cuts: Floats
    c_residues: Floats
    y_fetched: Floats
    y_rows: Floats
    y_cuts: Floats
    y_sums: Floats
    x_fetched: Floats
    x_words: Floats
    x_columns: Floats
    x_cuts: Floats
    x_sums: Floats
    x_output_words: Floats
    x_sum_words: Floats


def tables(layer: Layer, bits: Bits, target: Target, caps: Mapping[ArrayName, int] | None = None) -> Tables:
    """The tables of one layer; ``caps`` are given sizes of the three memories. Raises `InputError` for a huge map."""
    sizes = layer.extents
    for key, extent in (("output_height", sizes["y"]), ("output_width", sizes["x"])):
        if extent > LARGEST_MAP:
            raise InputError(f"{layer.name}: {key}: expected at most {LARGEST_MAP} for a search, got {extent}")
    width, ports = bits.I // 8, target.ports
    rows = window(
        sizes["y"], sizes["k"], layer.stride[0], layer.padding[0], layer.input_height, width, target.lanes.y
    )
    columns = window(
        sizes["x"], sizes["l"] + layer.columns_beside, layer.stride[1], layer.padding[1], layer.input_width, width,
        target.lanes.x,
        ports.input_bytes,
    )  # fmt: skip
    groups = channels(sizes["m"], layer.groups, target.lanes.m)
    needs = (rows.need, columns.need, groups.need)
    if target.hardware:
        needs = runnable(layer, rows, columns, groups)
    return gathered(
        layer,
        bits,
        target,
        caps,
        groups=Channels(groups.fetched, needs[2]),
        rows=Lines(rows.fetched, rows.words, needs[0]),
        columns=Lines(columns.fetched, columns.words, needs[1]),
        m=ranges(sizes["m"], target.lanes.m, word=ports.weight_bytes),
        c=ranges(sizes["c"], target.lanes.c, word=ports.weight_bytes),
        y=ranges(sizes["y"], target.lanes.y),
        x=ranges(
            sizes["x"], target.lanes.x, bits.O // 8, word=ports.output_bytes, sum_width=WORD_BYTES * sum_words(bits)
        ),
    )


def gathered(
    layer: Layer,
    bits: Bits,
    target: Target,
    caps: Mapping[ArrayName, int] | None,
    *,
    groups: Channels,
    rows: Lines,
    columns: Lines,
    m: Ranges,
    c: Ranges,
    y: Ranges,
    x: Ranges,
) -> Tables:
    """The tables of what the four axes cost."""
    target = target.with_operands(bits)
    sums = [m.largest, y.largest, x.largest]
    if target.hardware:
        sums = [p.vectors * target.lanes.along(dim) for p, dim in ((m, "m"), (y, "y"), (x, "x"))]
    outputs, inputs = m.largest, c.largest
    if target.lines:
        # Of whole lines, and of one memory for each lane along c.
        outputs, inputs = m.vectors * target.lanes.m, c.vectors * target.lanes.c
    return Tables(
        scale=scale_of(layer, bits, target),
        units=np.array(target.units, dtype=np.float64),
        least=np.array(target.least, dtype=np.float64),
        caps=np.array([caps[array] if caps else IMPOSSIBLE for array in ARRAYS], dtype=np.float64),
        m_fetched=groups.fetched,
        m_groups=groups.need,
        m_sizes=outputs,
        m_sums=sums[0],
        m_cuts=m.number,
        m_residues=m.residues,
        m_lines=_line_words(m, layer.extents["m"], target),
        c_sizes=inputs,
        c_cuts=c.number,
        c_residues=c.residues,
        y_fetched=rows.fetched,
        y_rows=rows.need,
        y_cuts=y.number,
        y_sums=sums[1],
        x_fetched=columns.fetched,
        x_words=columns.words,
        x_columns=columns.need,
        x_cuts=_passed(x, layer),
        x_sums=sums[2],
        x_output_words=x.words,
        x_sum_words=x.sum_words[2],
    )


def _passed(x: Ranges, layer: Layer) -> Floats:
    """Numbers of ranges of x; of the innermost loop's the iterations, where columns pass through a window."""
    if not layer.form.column_window:
        return x.number
    stride, columns = layer.stride[1], layer.kernel[1]
    return np.stack([x.number[0], x.number[1], stride * x.number[2] + (columns - stride) * x.number[1]])


def sum_words(bits: Bits) -> int:
    """Words of 32 bits that a partial sum takes."""
    return -(-(bits.acc // 8) // WORD_BYTES)


def scale_of(layer: Layer, bits: Bits, target: Target) -> Scale:
    """The scale of a layer's tables."""
    target = target.with_operands(bits)
    width, partial, sizes = bits.I // 8, bits.acc // 8, layer.extents
    scale = Scale(
        i_bytes=width * layer.channels_per_group,
        i_lines=layer.channels_per_group,
        i_element=width * (target.lanes.y if target.hardware else 1),
        w_bytes=bits.bytes_of("W", layer.weight_elements),
        w_element=bits.W / 8 if target.lines is None else target.lines.stored / (target.lanes.m * target.lanes.c),
        o_bytes=bits.bytes_of("O", layer.output_elements),
        o_rows=layer.output_channels * layer.output_height,
        o_partial_bytes=2 * partial * layer.output_elements,
        o_partial_rows=2 * layer.output_channels * layer.output_height,
        o_element=partial,
        taps=target.lanes.vectors("c", sizes["c"]) * sizes["k"] * sizes["l"],
        k_size=sizes["k"],
        l_size=sizes["l"],
        w_word=target.ports.weight_bytes,
        w_lines=0 if target.lines is None else _lines(target.lines, sizes["c"]) * sizes["k"] * sizes["l"],
        b_bytes=record_bytes(target.requantisation) * layer.output_channels,
    )
    return Scale(*(float(value) for value in scale))


def _lines(lines: WeightLines, channels: int) -> int:
    """Words of the lines of all input channels, for each of the words that `_line_words` counts."""
    if lines.pitch >= lines.word:
        return channels
    whole, rest = divmod(channels, lines.channels)
    return (whole * lines.packed(lines.channels) + lines.packed(rest)) // lines.word


def _line_words(m: Ranges, extent: int, target: Target) -> Floats:
    """Words of one channel lane of all lines, [step]; the number of lines, where channel lanes share words.

    Tiles of c are multiples of the lanes, so that words depend on the steps of m alone.
    """
    if target.lines is None or target.lines.pitch < target.lines.word:
        return m.number[2]
    each = target.lines.word_weights
    missing = np.array([-residue % each for residue in range(target.lines.word)], np.float64)
    words: Floats = (extent + m.residues[2] @ missing) / each
    return words


def runnable(layer: Layer, rows: Window, columns: Window, groups: Channels) -> tuple[Floats, Floats, Floats]:
    """Needs of rows, columns and groups, with what is not wanted on hardware made `IMPOSSIBLE`.

    The hardware slides rows (a slide along k over several output rows only where consecutive ones share nothing or
    the stride is 1), and no tile may cross a border between groups. Columns it slides too, but fetches nothing ahead
    then: lanes would stall for every tile.
    """
    row_need, column_need = np.maximum(rows.need, NOTHING), np.maximum(columns.stored, NOTHING)
    for state, (_, slide) in enumerate(PAIR_STATES):
        if slide == KERNEL and layer.stride[0] > 1:
            row_need[state, (rows.outputs[state] > 1) & (rows.shared[state] > 0)] = IMPOSSIBLE
        if slide:
            column_need[state, columns.shared[state] > 0] = IMPOSSIBLE
    return row_need, column_need, np.where(groups.need > 1, IMPOSSIBLE, groups.need)


def steps_allowed(layer: Layer, target: Target, loop_set: LoopSet | None) -> dict[Dim, NDArray[np.bool_]]:
    """Which steps each tile loop may take, [step]; step 0 never.

    With lanes along c, tiles of c are multiples of them: a channel's place in a tile says which lane has it. Of
    hardware that is fitted to some steps, only these are allowed.
    """
    allowed: dict[Dim, NDArray[np.bool_]] = {}
    for dim in TILED:
        extent, lane = layer.extents[dim], target.lanes.along(dim)
        steps = np.arange(extent + 1)
        usable = steps >= 1
        if loop_set is not None and dim in loop_set.stepped:
            usable &= steps <= lane
        elif loop_set is not None and dim in loop_set.whole:
            usable &= steps == extent
        if dim == "c" and target.lines:
            usable &= (steps % lane == 0) | (steps == extent)
        if loop_set is not None:
            choices = [loop_set.steps(dim, step, extent, lane) for step in np.maximum(steps, 1).tolist()]
            usable &= target.settings.steps(loop_set.dims, dim, extent, choices)
        allowed[dim] = usable
    return allowed
