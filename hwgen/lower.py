"""From a schedule to hardware: generation parameters and run-time registers.

The one seam between the two worlds: above it are layers and nests, below it parameters and registers. What the HWC
cannot run is refused here, with a reason.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hwgen.gateware.csr import register_map
from hwgen.gateware.params import REDUCTION, HwcParameters, ParameterError, halved_lanes, memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware, order_of
from hwgen.ir.layer import Dim
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.memory_layout import MemoryLayout, Region, Words, layout_of, row_pitch
from hwgen.model.access import allocation

__all__ = ["Program", "compile_layer", "parameters_for", "with_output_at_reduction"]

MAX_KERNEL = 11
MAX_STRIDE = 4
NARROW, WIDE = 8, 16

Range = tuple[int, int]


@dataclass(frozen=True)
class Program:
    """What runs one layer on one HWC.

    ``registers`` are (name, byte address, value), to be written in this order; then ``start`` (address, value). When
    the interrupt comes, ``status`` (address) reads `DONE` if all went well.
    """

    schedule: Schedule
    parameters: HwcParameters
    registers: tuple[tuple[str, int, int], ...]
    start: tuple[int, int]
    status: int
    layout: MemoryLayout

    DONE = 0x2

    @property
    def regions(self) -> dict[str, Region]:
        """Parts of the shared memory by name: input, weights, bias, output, partial."""
        return self.layout.regions

    def image(self, inputs: NDArray[np.signedinteger], weights: NDArray[np.int8], bias: NDArray[np.int32]) -> Words:
        """The shared memory before the run; see `MemoryLayout.image`."""
        return self.layout.image(inputs, weights, bias)

    def output(self, words: Words) -> NDArray[np.signedinteger]:
        """The output [M, E, F] that the run left in the shared memory."""
        return self.layout.output_of(words)


def parameters_for(schedule: Schedule, hardware: Hardware | None = None) -> HwcParameters:
    """The HWC that a schedule runs on: the given one, or the smallest one for this schedule.

    Raises `InputError` where the schedule does not fit the hardware.
    """
    where = schedule.layer.name
    orders = (order_of(schedule), order_of(with_output_at_reduction(schedule)))
    schedule = with_output_at_reduction(schedule)
    need = allocation(schedule)
    shape, operand_bits = _datapath(schedule, hardware)
    if hardware is not None and hardware.order is not None and hardware.order not in orders:
        raise InputError(f"{where}: nest: expected the loop order and markers of hardware {hardware.name}")
    try:
        units = memory_units(*shape, operand_bits)
    except ParameterError as error:
        raise InputError(f"{where}: {error}") from None
    buffers = {array: max(-(-need[array] // unit), 2) * unit for array, unit in zip(ARRAYS, units, strict=True)}
    if hardware is not None and hardware.buffers is not None:
        for array in ARRAYS:
            if need[array] > hardware.buffers[array]:
                raise InputError(
                    f"{where}: {array} needs {need[array]} bytes, "
                    f"hardware {hardware.name} has {hardware.buffers[array]}"
                )
        buffers = dict(hardware.buffers)
    elif hardware is not None and sum(buffers.values()) > hardware.budget:
        raise InputError(
            f"{where}: needs {sum(buffers.values())} bytes, hardware {hardware.name} has {hardware.budget}"
        )
    markers = {array: schedule.marked_loop(array) for array in ARRAYS}
    loops = tuple(loop.dim for loop in schedule.loops)
    places = {array: len(loops) if place is None else place for array, place in markers.items()}
    try:
        return HwcParameters(
            loops=loops,
            input_marker=places["I"],
            weight_marker=places["W"],
            output_marker=places["O"],
            input_bytes=buffers["I"],
            weight_bytes=buffers["W"],
            output_bytes=buffers["O"],
            lane_m=shape[0],
            lane_y=shape[1],
            lane_x=shape[2],
            operand_bits=operand_bits,
        )
    except ParameterError as error:
        raise InputError(f"{where}: {error}") from None


def with_output_at_reduction(schedule: Schedule) -> Schedule:
    """The same schedule with O's marker above a reduction loop, as the HWC has it.

    From one iteration of a loop over m, y or x to the next no output stays, so a marker above such a loop means as
    much as one right inside it. Where no reduction loop stands there, one of a single iteration does.
    """
    marked = schedule.marked_loop("O")
    if marked is None or schedule.loops[marked].dim in REDUCTION:
        return schedule
    below = schedule.loops[marked + 1 : marked + 2]
    idle = [] if below and below[0].dim in REDUCTION else [Loop("c", schedule.iteration_size(marked + 1)["c"])]
    nest: list[Loop | Marker] = []
    loops = 0
    for item in schedule.nest:
        if isinstance(item, Loop):
            nest += [item, Marker(("O",)), *idle] if loops == marked else [item]
            loops += 1
        elif rest := tuple(array for array in item.arrays if array != "O"):
            nest.append(Marker(rest))
    return schedule.model_copy(update={"nest": tuple(nest)})


def _datapath(schedule: Schedule, hardware: Hardware | None) -> tuple[tuple[int, int, int], int]:
    """Lanes along m, y, x of the HWC for 8-bit operands, and the widest operands that it computes with."""
    wide = schedule.bits.I == WIDE
    m, y, x = _shape(schedule.lanes)
    if hardware is None:
        return ((m, y, 2 * x), WIDE) if wide else ((m, y, x), NARROW)
    where, shape = schedule.layer.name, _shape(hardware.lanes)
    if hardware.operand_bits < schedule.bits.I:
        raise InputError(f"{where}: bits: hardware {hardware.name} computes with {hardware.operand_bits} bits")
    expected = halved_lanes(*shape) if wide else shape
    if (m, y, x) != expected:
        lanes = dict(zip("myx", expected, strict=True))
        raise InputError(f"{where}: lanes: expected {lanes} of hardware {hardware.name}, got {schedule.lanes}")
    return shape, hardware.operand_bits


def _shape(lanes: Mapping[Dim, int]) -> tuple[int, int, int]:
    return lanes.get("m", 1), lanes.get("y", 1), lanes.get("x", 1)


def compile_layer(
    schedule: Schedule,
    hardware: Hardware | None = None,
    *,
    shift: int = 0,
    relu: bool = False,
    ceiling: int | None = None,
    product_shift: int = 0,
) -> Program:
    """Registers and memory layout of one layer; raises `InputError` with the reason where the HWC cannot run it.

    The program's schedule has O's marker above a reduction loop, see `with_output_at_reduction`.
    """
    _check_format(schedule)
    parameters = parameters_for(schedule, hardware)
    schedule = with_output_at_reduction(schedule)
    layout = layout_of(schedule)
    highest = (1 << (schedule.bits.O - 1)) - 1
    values = _Lowering(schedule, parameters, layout).registers()
    values |= {"shift": shift, "relu": int(relu), "ceiling": highest if ceiling is None else ceiling}
    if parameters.wide:
        values |= {"wide": int(schedule.bits.I == WIDE), "product_shift": product_shift}
    elif product_shift:
        raise InputError(f"{schedule.layer.name}: product_shift: this HWC does not shift products")
    known = {register.name: register for register in register_map(parameters)}
    registers = []
    for name, register in known.items():
        if register.writable and name != "control":
            value = values.pop(name)
            if not 0 <= value < 1 << register.width:
                raise InputError(
                    f"{schedule.layer.name}: {register.meaning}: expected below {1 << register.width}, got {value}"
                )
            registers.append((name, register.address, value))
    assert not values, values
    return Program(
        schedule=schedule,
        parameters=parameters,
        registers=tuple(registers),
        start=(known["control"].address, 1),
        status=known["status"].address,
        layout=layout,
    )


def _check_format(schedule: Schedule) -> None:
    where, layer = schedule.layer.name, schedule.layer
    bits = schedule.bits
    if (bits.I, bits.W, bits.O, bits.acc) not in ((NARROW, NARROW, NARROW, 32), (WIDE, WIDE, WIDE, 32)):
        raise InputError(f"{where}: bits: the HWC computes with operands of 8 or of 16 bits, and 32-bit sums")
    if any(isinstance(item, Marker) and item.level != "local" for item in schedule.nest):
        raise InputError(f"{where}: nest: one HWC has one memory level, got a tcdm marker")
    if any(loop.over for loop in schedule.loops):
        raise InputError(f"{where}: nest: one HWC cannot spread a loop over several")
    if max(layer.kernel) > MAX_KERNEL:
        raise InputError(f"{where}: kernel: expected at most {MAX_KERNEL}, got {list(layer.kernel)}")
    if max(layer.stride) > MAX_STRIDE:
        raise InputError(f"{where}: stride: expected at most {MAX_STRIDE}, got {list(layer.stride)}")


def _cut(pieces: list[Range], step: int) -> list[Range]:
    return [(at, min(at + step, stop)) for start, stop in pieces for at in range(start, stop, step)]


class _Lowering:
    """The register values of one schedule, derived step by step."""

    def __init__(self, schedule: Schedule, parameters: HwcParameters, layout: MemoryLayout) -> None:
        self.schedule, self.parameters, self.layout = schedule, parameters, layout
        self.layer = schedule.layer
        self.loops = schedule.loops

    def registers(self) -> dict[str, int]:
        """All settings but those of the arithmetic, by register name."""
        layer = self.layer
        values = {f"extent_{dim}": extent for dim, extent in layer.extents.items()}
        values |= {f"step_{j}_{loop.dim}": loop.step for j, loop in enumerate(self.loops)}
        values |= {
            "stride_y": layer.stride[0],
            "stride_x": layer.stride[1],
            "padding_top": layer.padding[0],
            "padding_left": layer.padding[1],
            "group_outputs": layer.outputs_per_group,
            "group_inputs": layer.channels_per_group,
        }
        return values | self._input() | self._output()

    def pieces(self, dim: Dim, depth: int) -> list[Range]:
        """What the loops down to ``depth`` cut a dimension into, in program order."""
        pieces = [(0, self.layer.extents[dim])]
        for loop in self.loops[:depth]:
            if loop.dim == dim:
                pieces = _cut(pieces, loop.step)
        return pieces

    # --- input ---

    @cached_property
    def _input_depth(self) -> int:
        return min(self.parameters.input_marker + 1, len(self.loops))

    def _input(self) -> dict[str, int]:
        layer, p = self.layer, self.parameters
        pitch = row_pitch(layer.input_width, self.schedule.bits.I)
        self._check_groups()
        slides, rows_per_output = self._rows_that_stay()
        self._check_columns()
        phases = self._phases()
        element = self.schedule.bits.I // 8
        line = sum(phases) * element
        channels = max(stop - start for start, stop in self.pieces("c", self._input_depth))
        slab = max(1, line * channels)
        rows = self._most_rows()
        slabs = p.input_elements // slab
        if slabs < max(rows, 1):
            raise InputError(
                f"{layer.name}: I needs {rows * slab} bytes in lines of {line}, the memory has {p.input_elements}"
            )
        ring = p.input_elements
        values = {
            "input_base": (self.layout.input.base - layer.padding[0] * pitch) % (1 << 32),
            "input_height": layer.input_height,
            "input_width": layer.input_width,
            "input_pitch": pitch,
            "input_plane": pitch * layer.input_height,
            "input_slides": int(slides),
            "input_line": line,
            "input_slab": slab,
            "input_slabs": slabs,
            **{f"input_lane_row_{j}": j * rows_per_output * slab % ring for j in range(1, p.lane_y)},
            **{f"input_phase_{i}": sum(phases[:i]) * element for i in (1, 2, 3)},
        }
        for j in range(p.input_marker + 1, len(self.loops)):
            step = self.loops[j].step
            match self.loops[j].dim:
                case "y":
                    values[f"input_ring_step_{j}"] = step * rows_per_output * slab % ring
                    values[f"input_row_step_{j}"] = step * layer.stride[0]
                case "k":
                    values[f"input_ring_step_{j}"] = step * slab % ring
                case "c":
                    values[f"input_line_step_{j}"] = step * line
                case "x":
                    values[f"input_column_step_{j}"] = step * layer.stride[1]
                case "l":
                    values[f"input_quotient_step_{j}"] = step // layer.stride[1]
                    values[f"input_phase_step_{j}"] = step % layer.stride[1]
        return values

    def _check_groups(self) -> None:
        size = self.layer.outputs_per_group
        for start, stop in self.pieces("m", self._input_depth):
            if start // size != (stop - 1) // size:
                raise InputError(
                    f"{self.layer.name}: nest: output channels {start} to {stop - 1} of one iteration at I's marker "
                    f"cross a border between groups of {size}"
                )

    def _input_rows(self, outputs: Range, taps: Range) -> set[int]:
        """Rows of the image that a box touches."""
        stride, top = self.layer.stride[0], self.layer.padding[0]
        rows = {y * stride + k - top for y in range(*outputs) for k in range(*taps)}
        return {row for row in rows if 0 <= row < self.layer.input_height}

    def _most_rows(self) -> int:
        taps = self.pieces("k", self._input_depth)
        outputs = self.pieces("y", self._input_depth)
        return max(len(self._input_rows(y, k)) for y in outputs for k in taps)

    def _rows_that_stay(self) -> tuple[bool, int]:
        """Whether rows stay from box to box, and how many slabs an output row is from the next one."""
        depth, stride = self._input_depth, self.layer.stride[0]
        outputs, taps = self.pieces("y", depth), self.pieces("k", depth)
        one_output = all(stop - start == 1 for start, stop in outputs)
        extents = {stop - start for start, stop in taps}
        unbroken = one_output or min(extents) >= stride
        marked = self._marked_dim()
        if marked == "k" and not unbroken and self._consecutive_boxes_meet("k", self._input_rows, "y"):
            raise InputError(
                f"{self.layer.name}: nest: the kernel rows at I's marker leave gaps that the next iteration reuses; "
                f"cover at least {stride} kernel rows, or one output row"
            )
        if (
            not unbroken
            and len(extents) > 1
            and (self.parameters.lane_y > 1 or self.parameters.inside(self.parameters.input_marker, "y"))
        ):
            raise InputError(
                f"{self.layer.name}: nest: I's boxes have gaps between their rows that differ from box to box"
            )
        slides = marked == "y" or (marked == "k" and unbroken)
        return slides, stride if unbroken else min(extents)

    def _marked_dim(self) -> Dim | None:
        marker = self.parameters.input_marker
        return self.loops[marker].dim if marker < len(self.loops) else None

    def _consecutive_boxes_meet(self, moving: Dim, touched: Callable[[Range, Range], set[int]], other: Dim) -> bool:
        """Whether two consecutive iterations of the marked loop, over ``moving``, touch something in common."""
        depth = self._input_depth
        step = self.loops[self.parameters.input_marker].step
        for parent in self.pieces(moving, depth - 1):
            parts = _cut([parent], step)
            for fixed in self.pieces(other, depth):
                sets = [touched(fixed, part) for part in parts]
                if any(a & b for a, b in pairwise(sets)):
                    return True
        return False

    def _input_columns(self, outputs: Range, taps: Range) -> set[int]:
        stride, left = self.layer.stride[1], self.layer.padding[1]
        columns = {x * stride + k - left for x in range(*outputs) for k in range(*taps)}
        return {column for column in columns if 0 <= column < self.layer.input_width}

    def _check_columns(self) -> None:
        marked = self._marked_dim()
        if marked not in ("x", "l"):
            return
        meets = (
            self._consecutive_boxes_meet("x", lambda taps, outputs: self._input_columns(outputs, taps), "l")
            if marked == "x"
            else self._consecutive_boxes_meet("l", self._input_columns, "x")
        )
        if meets:
            raise InputError(
                f"{self.layer.name}: nest: I is buffered at loop {marked}, whose iterations share columns; "
                "the HWC keeps rows, not columns: move the marker"
            )

    def _phases(self) -> list[int]:
        """For each stride phase the most columns of a line that fall on it."""
        layer, depth = self.layer, self._input_depth
        stride, left = layer.stride[1], layer.padding[1]
        most = [0] * MAX_STRIDE
        for first, end in self.pieces("x", depth):
            for tap, taps_end in self.pieces("l", depth):
                corner = first * stride + tap - left
                if taps_end - tap < stride and end - first > 1:
                    outputs = end - first - max(0, -corner) // stride
                    counts = [outputs] * (taps_end - tap)
                else:
                    last = min((end - 1) * stride + taps_end - 1 - left, layer.input_width - 1)
                    columns = last - max(corner, 0) + 1
                    counts = [-(-(columns - phase) // stride) for phase in range(stride)]
                for phase, count in enumerate(counts):
                    most[phase] = max(most[phase], count)
        return most

    # --- output ---

    def _output(self) -> dict[str, int]:
        layer, p = self.layer, self.parameters
        pitch = row_pitch(layer.output_width, self.schedule.bits.O)
        depth = min(p.output_marker + 1, len(self.loops))
        over: tuple[Dim, ...] = ("m", "y", "x")
        channels, rows, columns = (
            max(self._pieces_of(dim, stop - start, depth) for start, stop in self.pieces(dim, depth)) for dim in over
        )
        values = {
            "weight_base": self.layout.weights.base,
            "output_base": self.layout.output.base,
            "output_pitch": pitch,
            "output_plane": pitch * layer.output_height,
            "partial_base": self.layout.partial.base,
            "partial_pitch": 4 * layer.output_width,
            "partial_plane": 4 * layer.output_width * layer.output_height,
            "bias_base": self.layout.bias.base,
            "output_box_vectors": channels * rows * columns,
        }
        for j in p.output_box:
            dim, within = self.loops[j].dim, {"m": rows * columns, "y": columns, "x": 1}
            if dim in within:
                values[f"output_index_step_{j}"] = self._pieces_of(dim, self.loops[j].step, j + 1) * within[dim]
        return values

    def _pieces_of(self, dim: Dim, extent: int, depth: int) -> int:
        """What the loops from ``depth`` on cut so much of a dimension into."""
        pieces = [(0, extent)]
        for loop in self.loops[depth:]:
            if loop.dim == dim:
                pieces = _cut(pieces, loop.step)
        return len(pieces)
