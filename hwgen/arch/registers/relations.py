"""What the derived settings of an HWC have to do with each other: a program in which they disagree is refused.

The hardware checks what takes little of it; all of this is checked wherever a program is made or read.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from hwgen.arch.hwc import DIMS, HwcParameters
from hwgen.arch.registers.hwc import loop_counts

__all__ = ["contradictions", "misplaced"]

STRIDES = range(1, 5)


def contradictions(parameters: HwcParameters, values: Mapping[str, int]) -> Iterator[str]:
    """Settings that disagree, each as "name: expected ..., got ...", for all settings of a layer by name."""
    line, slab = values["input_line"], values["input_slab"]
    ring = parameters.input_elements
    phases = [values[f"input_phase_{phase}"] for phase in (1, 2, 3)]
    if [*phases, line] != sorted([*phases, line]):
        yield f"input_phase_1 to input_phase_3: expected ascending bytes up to input_line, {line}, got {phases}"
    if slab < 1 or slab % max(line, 1):
        yield f"input_slab: expected a multiple of input_line, {line}, got {slab}"
    slabs, most = values["input_slabs"], ring // max(slab, 1)
    if not 1 <= slabs <= most:
        yield f"input_slabs: expected 1 to {most} of {slab} bytes in {ring}, got {slabs}"
    yield from _steps(parameters, values)
    yield from _rings(parameters, values)
    for j in parameters.output_tile_loops:
        name = f"output_index_step_{j}"
        if values.get(name, 0) > values["output_box_vectors"]:
            yield f"{name}: expected at most output_box_vectors, {values['output_box_vectors']}, got {values[name]}"
    yield from misplaced(parameters, values)


def misplaced(parameters: HwcParameters, values: Mapping[str, int]) -> Iterator[str]:
    """Addresses among the settings that disagree with the hardware or with each other; see `contradictions`."""
    for name, word in parameters.word_addresses.items():
        if values[name] % word:
            yield f"{name}: expected a multiple of {word}, got {values[name]}"
    if values.get("write_base", 0) > values.get("write_last", 0):
        yield f"write_last: expected from write_base, {values['write_base']}, on, got {values['write_last']}"


def _steps(parameters: HwcParameters, values: Mapping[str, int]) -> Iterator[str]:
    """Steps in other units than those of the loop."""
    inside = parameters.inside
    stride_y, stride_x = values["stride_y"], values["stride_x"]
    expected = _counts(parameters, values)
    window = parameters.column_window and values["window"] > 1
    innermost = len(parameters.loops) - 1
    if parameters.column_window:
        yield from _window(values, parameters.lanes.c) if window else ()
        expected |= _columns_passed(expected, values, innermost)
    lanes = parameters.wide_lanes if values.get("wide") else parameters.lanes
    for j, dim in enumerate(parameters.loops):
        step = values[f"step_{j}_{dim}"]
        if j in inside(parameters.input_marker, "c"):
            expected[f"input_line_step_{j}"] = lanes.vectors("c", step) * values["input_line"]
        if dim == "y":
            expected[f"input_row_step_{j}"] = step * stride_y
        if dim == "x":
            strides = values["window_stride"] if window and j != innermost else 1
            expected[f"input_column_step_{j}"] = step * stride_x * strides
        if j in inside(parameters.input_marker, "l"):
            expected[f"input_quotient_step_{j}"] = step // max(stride_x, 1)
            expected[f"input_phase_step_{j}"] = step % max(stride_x, 1)
    for name, value in expected.items():
        if values[name] != value:
            yield f"{name}: expected {value}, got {values[name]}"


def _window(values: Mapping[str, int], lanes: int) -> Iterator[str]:
    """What a window asks of other settings."""
    for name, most in (("window", lanes), ("window_stride", STRIDES[-1])):
        if not 1 <= values[name] <= most:
            yield f"{name}: expected 1 to {most}, got {values[name]}"
    for name, expected in (("stride_x", 1), ("extent_l", values["window"])):
        if values[name] != expected:
            yield f"{name}: expected {expected} where columns pass through a window, got {values[name]}"


def _columns_passed(expected: Mapping[str, int], values: Mapping[str, int], innermost: int) -> dict[str, int]:
    """The counts of the innermost loop, which goes over columns of the input."""
    return {
        name.replace(f"repeats_{innermost}", "columns"): outputs * values["window_stride"] + values["window"] - 1
        for name, outputs in expected.items()
        if name.startswith(f"repeats_{innermost}_")
    }


def _counts(parameters: HwcParameters, values: Mapping[str, int]) -> dict[str, int]:
    """What the loops count, as extents and steps have it."""
    loops = tuple(parameters.loops)
    steps = tuple(max(values[f"step_{j}_{dim}"], 1) for j, dim in enumerate(loops))
    return dict(_expected(loops, tuple(parameters.size_bits), steps, tuple(values[f"extent_{dim}"] for dim in DIMS)))


@lru_cache(maxsize=1 << 12)
def _expected(
    loops: tuple[str, ...], sized: tuple[int, ...], steps: tuple[int, ...], extents: tuple[int, ...]
) -> dict[str, int]:
    """`_counts`; a program has many tiles of few shapes."""
    counts = loop_counts(loops, steps, dict(zip(DIMS, extents, strict=True)))
    expected: dict[str, int] = {}
    for j, one in enumerate(counts):
        expected |= {f"repeats_{j}_{i}": repeats for i, repeats in enumerate(one.repeats)}
        if j in sized:
            expected |= {f"rest_{j}_{i}": rest for i, rest in enumerate(one.rests)}
    return expected


def _rings(parameters: HwcParameters, values: Mapping[str, int]) -> Iterator[str]:
    """Steps in the ring of slabs: consecutive output rows are some slabs apart, the same for all loops and lanes."""
    slab, ring = values["input_slab"], parameters.input_elements
    kernel: dict[str, int] = {}
    outputs = {f"input_lane_row_{j}": j for j in range(1, parameters.lanes.y)}
    for j in parameters.inside(parameters.input_marker, "yk"):
        steps = kernel if parameters.loops[j] == "k" else outputs
        steps[f"input_ring_step_{j}"] = values[f"step_{j}_{parameters.loops[j]}"]
    for name, rows in kernel.items():
        if values[name] != rows * slab % ring:
            yield f"{name}: expected {rows * slab % ring}, got {values[name]}"
    apart = [all(values[name] == rows * by * slab % ring for name, rows in outputs.items()) for by in STRIDES]
    if not any(apart):
        given = ", ".join(f"{name} {values[name]}" for name in outputs)
        yield f"input_ring_step and input_lane_row: expected rows of whole slabs of {slab} bytes, got {given}"
