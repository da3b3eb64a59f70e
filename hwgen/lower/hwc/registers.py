"""The values of an HWC's run-time registers, derived from a schedule and the places of its tensors."""

from dataclasses import dataclass
from functools import cached_property

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.layout import MemoryLayout, row_pitch, sum_pitch
from hwgen.arch.registers.hwc import LoopCounts, input_spans, loop_counts
from hwgen.ir.document import InputError
from hwgen.ir.layer import MAX_KERNEL, OUTPUT_DIMS, Dim, Layer
from hwgen.ir.schedule import Schedule
from hwgen.model.hwc.input_tiles import Range, lines_touched, pieces_of, tiles_overlap
from hwgen.model.nest.biases import bias_depth

__all__ = ["Placement", "RegisterValues", "bias_registers", "check_group_distance"]

PHASES = 4


@dataclass(frozen=True)
class Placement:
    """The places of a layer's tensors in the shared memory: byte addresses, and bytes from row to row and from
    channel to channel."""

    input_base: int
    input_pitch: int
    input_plane: int
    weight_base: int
    bias_base: int
    output_base: int
    output_pitch: int
    output_plane: int
    partial_base: int
    partial_pitch: int
    partial_plane: int

    @classmethod
    def of(cls, layout: MemoryLayout) -> "Placement":
        """The regions of one layer, dense but for rows that begin on words."""
        layer, bits = layout.schedule.layer, layout.schedule.bits
        ports = layout.schedule.ports
        sum_row = sum_pitch(layer.output_width, ports)
        in_row = row_pitch(layer.input_width, bits.I, ports)
        out_row = row_pitch(layer.output_width, bits.O, ports)
        return cls(
            input_base=layout.input.base,
            input_pitch=in_row,
            input_plane=in_row * layer.input_height,
            weight_base=layout.weights.base,
            bias_base=layout.bias.base,
            output_base=layout.output.base,
            output_pitch=out_row,
            output_plane=out_row * layer.output_height,
            partial_base=layout.partial.base,
            partial_pitch=sum_row,
            partial_plane=sum_row * layer.output_height,
        )


def bias_registers(parameters: HwcParameters, depth: int) -> dict[str, int]:
    """The register that says where biases stay: within the part of the nest inside ``depth`` loops."""
    stays = sum((j >= depth) << i for i, j in enumerate(parameters.bias_loops))
    return {"bias_stays": stays} if parameters.bias_loops else {}


def check_group_distance(layer: Layer, distance: int, parameters: HwcParameters) -> None:
    """Raise `InputError` where the first channel of the last group, so many from group to group, has no position."""
    last, most = (layer.groups - 1) * distance, 1 << parameters.position_bits
    if last >= most:
        raise InputError(
            f"{layer.name}: groups: expected the input channels before the last one below {most}, got {last}"
        )


class RegisterValues:
    """The register values of one schedule, derived step by step."""

    def __init__(self, schedule: Schedule, parameters: HwcParameters, placement: Placement) -> None:
        self.schedule, self.parameters, self.placement = schedule, parameters, placement
        self.layer = schedule.layer
        self.loops = schedule.loops

    def registers(self) -> dict[str, int]:
        """All settings but those of the arithmetic, by register name."""
        layer = self.layer
        values = {"program_digest": self.parameters.digest}
        values |= {f"extent_{dim}": extent for dim, extent in layer.extents.items()}
        values |= {f"step_{j}_{loop.dim}": loop.step for j, loop in enumerate(self.loops)}
        values |= self._counts()
        values |= {
            "stride_y": layer.stride[0],
            "stride_x": self._column_stride,
            "padding_top": layer.padding[0],
            "padding_left": layer.padding[1],
            "group_outputs": layer.outputs_per_group,
            "group_inputs": layer.channels_per_group,
        }
        return values | self._window() | self._input() | self._output()

    @property
    def _column_stride(self) -> int:
        """Columns of the input from one iteration of the innermost loop over x to the next."""
        return 1 if self.layer.form.column_window else self.layer.stride[1]

    def _window(self) -> dict[str, int]:
        """Columns that pass through a window: the innermost loop is over them, and the kernel's are one iteration."""
        layer = self.layer
        if not self.parameters.column_window:
            return {}
        outputs = self._loop_counts[-1].repeats
        counts = {f"columns_{i}": layer.columns_passed(repeats + 1) - 1 for i, repeats in enumerate(outputs)}
        if not layer.form.column_window:
            return {"window": 1, "window_stride": 1, **counts}
        columns = layer.kernel[1]
        steps = {f"step_{j}_l": columns for j, loop in enumerate(self.loops) if loop.dim == "l"}
        return {"extent_l": columns, "window": columns, "window_stride": layer.stride[1], **counts, **steps}

    @cached_property
    def _loop_counts(self) -> list[LoopCounts]:
        extents = dict[str, int](self.layer.extents.items())
        return loop_counts([loop.dim for loop in self.loops], [loop.step for loop in self.loops], extents)

    def _counts(self) -> dict[str, int]:
        """What the loops count, and the sizes of their last iterations that the hardware wants."""
        values: dict[str, int] = {}
        for j, counts in enumerate(self._loop_counts):
            values |= {f"repeats_{j}_{i}": repeats for i, repeats in enumerate(counts.repeats)}
            if j in self.parameters.size_bits:
                values |= {f"rest_{j}_{i}": rest for i, rest in enumerate(counts.rests)}
        return values

    def pieces(self, dim: Dim, depth: int) -> list[Range]:
        """What the loops down to ``depth`` cut a dimension into, in program order."""
        return pieces_of(self.layer.extents[dim], self.loops[:depth], dim)

    # --- input ---

    @cached_property
    def _input_depth(self) -> int:
        return min(self.parameters.input_marker + 1, len(self.loops))

    def _input(self) -> dict[str, int]:
        layer, p, at = self.layer, self.parameters, self.placement
        self._check_groups()
        slides, rows_per_output = self._rows_that_stay()
        shift = self._columns_that_stay()
        phases = self._phases(aligned=shift is not None)
        # In the memory of a lane along c.
        element, channel_lanes = 1 if p.byte_planes else self.schedule.bits.I // 8, self.schedule.lanes.c
        line = sum(phases) * element
        channels = max(stop - start for start, stop in self.pieces("c", self._input_depth))
        slab = max(1, line * -(-channels // channel_lanes))
        rows = self._most_rows()
        slabs = p.input_elements // slab
        if slabs < max(rows, 1):
            raise InputError(
                f"{layer.name}: I needs {rows * slab} bytes in lines of {line}, the memory has {p.input_elements}"
            )
        ring = p.input_elements
        values = {
            "input_base": at.input_base,
            "input_height": layer.input_height,
            "input_width": layer.input_width,
            "input_pitch": at.input_pitch,
            "input_plane": at.input_plane,
            "input_slides": int(slides or shift is not None),
            **({"input_shift": shift or 0} if p.columns_slide else {}),
            "input_line": line,
            "input_slab": slab,
            "input_slabs": slabs,
            **{f"input_lane_row_{j}": j * rows_per_output * slab % ring for j in range(1, p.lanes.y)},
            **{f"input_phase_{i}": sum(phases[:i]) * element for i in (1, 2, 3)},
        }
        values |= self._advances("y", "row", layer.stride[0]) | self._advances("x", "column", layer.stride[1])
        if layer.form.column_window:
            values[f"input_column_step_{len(self.loops) - 1}"] = 1
        for j in range(p.input_marker + 1, len(self.loops)):
            step = self.loops[j].step
            match self.loops[j].dim:
                case "y":
                    values[f"input_ring_step_{j}"] = step * rows_per_output * slab % ring
                case "k":
                    values[f"input_ring_step_{j}"] = step * slab % ring
                case "c":
                    values[f"input_line_step_{j}"] = self._channel_lines(j) * line
                case "l":
                    step += layer.columns_beside
                    values[f"input_quotient_step_{j}"] = step // self._column_stride
                    values[f"input_phase_step_{j}"] = step % self._column_stride
        return values

    def _channel_lines(self, loop: int) -> int:
        """Lines of a slab by which a loop over c advances: lanes along c share one."""
        step, lanes = self.loops[loop].step, self.schedule.lanes.c
        if step % lanes and any(stop - start > step for start, stop in self.pieces("c", loop)):
            raise InputError(
                f"{self.layer.name}: nest: loop {loop} over c advances {step} channels inside a tile of I; "
                f"expected a multiple of the {lanes} lanes along c"
            )
        return -(-step // lanes)

    def _advances(self, dim: Dim, line: str, stride: int) -> dict[str, int]:
        """Along one axis of the input: how far loops advance, and what tiles of each size span."""
        bits, reach = (
            self.parameters.position_bits,
            (self.layer.extents[dim] + self.parameters.lanes.along(dim)) * stride,
        )
        if reach + MAX_KERNEL > 1 << (bits + 1):
            where = f"{self.layer.name}: {line}s of the input with their padding"
            raise InputError(f"{where}: expected below {(1 << (bits + 1)) - MAX_KERNEL}, got {reach}")
        marked = self.parameters.innermost(self.parameters.input_marker + 1).get(dim)
        values = {
            f"input_{line}_step_{j}": loop.step * stride for j, loop in enumerate(self.loops) if loop.dim == dim
        }
        for i, (_, entry) in enumerate(input_spans(self.parameters, dim)):
            if marked is None:
                size = self.layer.extents[dim]
            else:
                size = self.loops[marked].step if entry is None else self._loop_counts[marked].rests[entry]
            values[f"input_{line}_span_{i}"] = (size - 1) * stride
        return values

    def _check_groups(self) -> None:
        size = self.layer.outputs_per_group
        for start, stop in self.pieces("m", self._input_depth):
            if start // size != (stop - 1) // size:
                raise InputError(
                    f"{self.layer.name}: nest: output channels {start} to {stop - 1} of one iteration at I's marker "
                    f"cross a border between groups of {size}"
                )
        check_group_distance(self.layer, self.layer.channels_per_group, self.parameters)

    def _most_rows(self) -> int:
        taps = self.pieces("k", self._input_depth)
        outputs = self.pieces("y", self._input_depth)
        return max(len(lines_touched(self.layer, 0, y, k)) for y in outputs for k in taps)

    def _rows_that_stay(self) -> tuple[bool, int]:
        """Whether rows are reused from tile to tile, and the distance of consecutive output rows in slabs."""
        depth, stride = self._input_depth, self.layer.stride[0]
        outputs, taps = self.pieces("y", depth), self.pieces("k", depth)
        one_output = all(stop - start == 1 for start, stop in outputs)
        extents = {stop - start for start, stop in taps}
        unbroken = one_output or min(extents) >= stride
        marked = self._marked_dim()
        if marked == "k" and not unbroken and tiles_overlap(self.layer, self.loops, self.parameters.input_marker):
            raise InputError(
                f"{self.layer.name}: nest: the kernel rows at I's marker leave gaps that the next iteration reuses; "
                f"cover at least {stride} kernel rows, or one output row"
            )
        if (
            not unbroken
            and len(extents) > 1
            and (self.parameters.lanes.y > 1 or self.parameters.inside(self.parameters.input_marker, "y"))
        ):
            raise InputError(
                f"{self.layer.name}: nest: I's tiles have gaps between their rows that differ from tile to tile"
            )
        slides = marked == "y" or (marked == "k" and unbroken)
        return slides, stride if unbroken else min(extents)

    def _marked_dim(self) -> Dim | None:
        marker = self.parameters.input_marker
        return self.loops[marker].dim if marker < len(self.loops) else None

    def _columns_that_stay(self) -> int | None:
        """Columns of each stride phase by which a line moves from tile to tile; None if no columns are reused."""
        marked = self._marked_dim()
        if marked not in ("x", "l") or not tiles_overlap(self.layer, self.loops, self.parameters.input_marker):
            return None
        step, stride = self.loops[self.parameters.input_marker].step, self.layer.stride[1]
        if marked == "x":
            return step
        if step % stride:
            raise InputError(
                f"{self.layer.name}: nest: iterations of loop l, at which I is buffered, share columns and are "
                f"{step} apart; expected a multiple of the stride, {stride}"
            )
        return step // stride

    def _phases(self, *, aligned: bool) -> list[int]:
        """The most columns of a line that fall on each stride phase.

        A line begins at its first column inside the image, or, where columns have gaps or lines are ``aligned``, at
        the first column of the first output that uses any.
        """
        layer, depth = self.layer, self._input_depth
        stride, left = self._column_stride, layer.padding[1]
        outputs_of, taps_of = self.pieces("x", depth), self.pieces("l", depth)
        if layer.form.column_window:  # every column that passes by counts as an output
            outputs_of = [(first * layer.stride[1], (end - 1) * layer.stride[1] + 1) for first, end in outputs_of]
            taps_of = [(tap, end + layer.columns_beside) for tap, end in taps_of]
        most = [0] * PHASES
        for first, end in outputs_of:
            for tap, taps_end in taps_of:
                corner = first * stride + tap - left
                if taps_end - tap < stride and end - first > 1 and not (aligned and self._marked_dim() == "l"):
                    outputs = end - first - max(0, -corner) // stride
                    counts = [outputs] * (taps_end - tap)
                else:
                    last = min((end - 1) * stride + taps_end - 1 - left, layer.input_width - 1)
                    begin = corner + max(0, -corner) // stride * stride if aligned else max(corner, 0)
                    counts = [-(-(last + 1 - begin - phase) // stride) for phase in range(stride)]
                for phase, count in enumerate(counts):
                    most[phase] = max(most[phase], count)
        return most

    # --- output ---

    def _output(self) -> dict[str, int]:
        p, at = self.parameters, self.placement
        depth = min(p.output_marker + 1, len(self.loops))
        channels, rows, columns = (
            max(self._pieces_of(dim, stop - start, depth) for start, stop in self.pieces(dim, depth))
            for dim in OUTPUT_DIMS
        )
        values = {
            "weight_base": at.weight_base,
            "output_base": at.output_base,
            "output_pitch": at.output_pitch,
            "output_plane": at.output_plane,
            "partial_base": at.partial_base,
            "partial_pitch": at.partial_pitch,
            "partial_plane": at.partial_plane,
            "bias_base": at.bias_base,
            "output_box_vectors": channels * rows * columns,
            **bias_registers(p, bias_depth(self.schedule)),
        }
        for j in p.output_tile_loops:
            dim, within = self.loops[j].dim, {"m": rows * columns, "y": columns, "x": 1}
            if dim in within:
                values[f"output_index_step_{j}"] = self._pieces_of(dim, self.loops[j].step, j + 1) * within[dim]
        return values

    def _pieces_of(self, dim: Dim, extent: int, depth: int) -> int:
        """What the loops from ``depth`` on cut so much of a dimension into."""
        return len(pieces_of(extent, self.loops[depth:], dim))
