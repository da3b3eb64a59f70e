"""The register bank of an HWC, and how a loop nest is told to hardware that only counts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hwgen.arch.bus import WriteAnswers
from hwgen.arch.hwc import DIMS, OUTPUT_DIMS, HwcParameters
from hwgen.arch.registers.bank import (
    Access,
    Bank,
    BankBuilder,
    Content,
    Register,
    queued,
    setting,
    value_register,
    write_only,
)
from hwgen.arch.registers.control import control_register, identity_register, status_register
from hwgen.arch.registers.errors import HwcError
from hwgen.arch.requantisation import requantiser_settings

__all__ = [
    "HWC_IDENTITY",
    "KEY",
    "PLACES",
    "STALLS",
    "WATCHDOG_BITS",
    "WATCHDOG_PERIOD",
    "WRITE_ANSWERS_BITS",
    "LoopCounts",
    "address_bits",
    "hwc_registers",
    "input_spans",
    "layer_settings",
    "loop_counts",
    "same_outside",
    "setting_widths",
]


@dataclass(frozen=True)
class LoopCounts:
    """One loop, for each size that the iteration of the next outer loop over its dimension may have.

    Entry i holds where exactly the next i outer loops over the same dimension are in their last iterations. What is
    outside of all of them is the whole dimension, which counts as no loop: a loop with d others around it has d + 1
    entries.

    Members
    -------
    repeats : iterations, less one.
    rests : what the last iteration covers; every other one covers the loop's step.
    """

    repeats: tuple[int, ...]
    rests: tuple[int, ...]


def same_outside(loops: Sequence[str], index: int) -> list[int]:
    """Indices of the outer loops over the dimension of a loop, innermost first."""
    return [j for j in range(index - 1, -1, -1) if loops[j] == loops[index]]


def loop_counts(loops: Sequence[str], steps: Sequence[int], extents: Mapping[str, int]) -> list[LoopCounts]:
    """The counts of every loop of a nest, outermost first."""
    found: list[LoopCounts] = []
    for j, (dim, step) in enumerate(zip(loops, steps, strict=True)):
        outside = same_outside(loops, j)
        covered = (steps[outside[0]], *found[outside[0]].rests) if outside else (extents[dim],)
        repeats = tuple((size - 1) // step for size in covered)
        rests = tuple(size - times * step for size, times in zip(covered, repeats, strict=True))
        found.append(LoopCounts(repeats, rests))
    return found


# --- the register bank ---

HWC_IDENTITY = 0x48574331
"""Reads "HWC1"."""
WATCHDOG_PERIOD = 256
"""Cycles: the unit of the register ``watchdog``."""
WATCHDOG_BITS = 16
KEY_BITS = 16
KEY = 0x5AC3
"""Value of ``key`` after reset. A register that comes up at random, all zeros or all ones hardly holds it."""
WRITE_ANSWERS_BITS = 2
WRITE_ANSWERS_MEANING = (
    f"Whether the memory answers writes: {WriteAnswers.GIVEN} it does, "
    f"{WriteAnswers.NOT_GIVEN} it does not, or only those that fail; "
    f"{WriteAnswers.UNKNOWN}: found out with the first write after a reset"
)
WATCHDOG_MEANING = f"Periods of {WATCHDOG_PERIOD} cycles without progress after which a layer has failed; 0: no limit"
SETTINGS_BASE = 0x40
ADDRESS_BITS = 32
PLACES = ("_base", "_last")
"""How settings end that are addresses: where operands are is known when a program runs."""
STALLS = ("input", "weight", "output")
"""What the datapath waits for: register ``stall_*`` counts the cycles."""


def hwc_registers(parameters: HwcParameters) -> Bank:
    """Every register of an HWC."""
    builder = BankBuilder("hwc", "Registers of an HWC: the settings of a layer, its start, its status and counters")
    counted = [("cycles", "Clock cycles from the start to the end of the layer")]
    counted += [(f"stall_{name}", f"Cycles in which the datapath waited for the {name}") for name in STALLS]
    builder.place(
        0,
        [
            identity_register(HWC_IDENTITY),
            control_register(
                "Starts a layer",
                aborts="Stops a layer: it fails when its accesses have been answered",
                queues=parameters.second_settings,
            ),
            status_register(HwcError, queues=parameters.second_settings),
            value_register("fault_address", 32, "Byte address of the access that failed", Access.RO),
            *(value_register(name, 32, meaning, Access.RO) for name, meaning in counted),
            value_register(
                "digest",
                32,
                "Digest of what the HWC was generated for",
                Access.RO,
                reset=parameters.digest,
                constant=True,
            ),
            setting("key", KEY_BITS, "Set by reset; with any other value nothing starts and no access is made", KEY),
            *([] if parameters.cluster else _surroundings()),
        ],
    )
    settings: Iterable[Content] = _fitted(parameters, _settings(parameters))
    if not parameters.read_back:
        settings = map(write_only, settings)
    if parameters.second_settings:
        settings = map(queued, settings)
    builder.place(SETTINGS_BASE, settings)
    return builder.bank()


def _surroundings() -> Iterator[Content]:
    """What an HWC that stands alone is told once."""
    yield setting("watchdog", WATCHDOG_BITS, WATCHDOG_MEANING)
    yield setting("write_answers", WRITE_ANSWERS_BITS, WRITE_ANSWERS_MEANING)


def setting_widths(parameters: HwcParameters) -> dict[str, int]:
    """The width of every setting of a layer as the blocks have it, whether it is a register or a constant.

    Where programs need fewer bits of it, it has fewer: what is computed from it is as narrow.
    """
    bits = dict(parameters.setting_bits)
    widths = {content.name: sum(field.width for field in content.fields) for content in _settings(parameters)}
    return {name: min(bits.get(name, width), width) for name, width in widths.items()}


def address_bits(parameters: HwcParameters) -> int:
    """Width of an address on the ports to the shared memory: of the widest setting that is one; in a cluster all."""
    if parameters.cluster:
        return ADDRESS_BITS
    return max(width for name, width in setting_widths(parameters).items() if name.endswith(PLACES))


def _fitted(parameters: HwcParameters, settings: Iterable[Content]) -> Iterator[Content]:
    """The settings that are registers, as wide as the programs need them."""
    constants, bits = dict(parameters.constants), dict(parameters.setting_bits)
    for content in settings:
        if content.name in constants:
            continue
        if content.name in bits:
            (field,) = content.fields
            width = bits[content.name]
            field = replace(field, width=width, reset=field.reset & ((1 << width) - 1))
            content = replace(content, fields=(field,))
        yield content


def layer_settings(bank: Bank) -> tuple[Register, ...]:
    """The registers that the program of a layer writes, in their order."""
    return tuple(register for register in bank.held if register.address >= SETTINGS_BASE)


def _settings(parameters: HwcParameters) -> Iterator[Content]:
    """The run-time settings, in register order."""
    bits = parameters.position_bits
    yield setting("program_digest", 32, "The register digest of the HWC that the program was made for")
    for dim in DIMS:
        yield setting(f"extent_{dim}", parameters.dim_bits[dim], f"Extent of dimension {dim}")
    for j, loop in enumerate(parameters.loops):
        yield setting(f"step_{j}_{loop}", parameters.step_bits(j), f"Step of loop {j}, over {loop}")
    yield from _loop_settings(parameters)
    yield setting("stride_y", 3, "Vertical stride, 1 to 4")
    yield setting("stride_x", 3, "Horizontal stride, 1 to 4; of columns that pass through a window 1")
    if parameters.column_window:
        meaning = "Columns of the kernel that lanes along c do; with 1 they do channels"
        yield setting("window", parameters.lanes.c.bit_length(), meaning, 1)
        yield setting("window_stride", 3, "Horizontal stride of the window, 1 to 4; without one 1", 1)
        innermost = len(parameters.loops) - 1
        outside = same_outside(parameters.loops, innermost)
        for i in range(len(outside) + 1):
            meaning = f"Columns that loop {innermost} goes over, or its iterations, less one{_where(outside, i)}"
            yield setting(f"columns_{i}", bits + 1, meaning)
    yield setting("padding_top", bits, "Padded rows above the input")
    yield setting("padding_left", bits, "Padded columns left of the input")
    yield setting("group_outputs", bits, "Output channels of one group")
    yield setting("group_inputs", bits, "Input channels from one group to the next")
    if parameters.wide:
        yield setting("wide", 1, "Operands have 16 bits, on half of the lanes; else 8 bits")
        yield setting("product_shift", 5, "Bits that each product is shifted right before it is added")
    yield from _input_settings(parameters)
    yield from _output_settings(parameters)
    if parameters.cluster:
        yield from _cluster_settings()


def _loop_settings(parameters: HwcParameters) -> Iterator[Content]:
    """What the loops count: see `hwgen.arch.registers.hwc.LoopCounts`."""
    for j, loop in enumerate(parameters.loops):
        outside = same_outside(parameters.loops, j)
        for i in range(len(outside) + 1):
            where = _where(outside, i)
            yield setting(f"repeats_{j}_{i}", parameters.dim_bits[loop], f"Iterations of loop {j}, less one{where}")
            if j in parameters.size_bits:
                meaning = f"What the last iteration of loop {j} covers{where}"
                yield setting(f"rest_{j}_{i}", parameters.size_bits[j], meaning)


def _where(outside: list[int], entry: int) -> str:
    """The iterations of the outer loops over the same dimension in which an entry holds."""
    lasts = [f"the last iteration of loop {j}" for j in outside[:entry]]
    others = [f"another than the last one of loop {j}" for j in outside[entry : entry + 1]]
    return f", in {' and '.join([*lasts, *others])}" if outside else ""


def input_spans(parameters: HwcParameters, dim: str) -> Iterator[tuple[str, int | None]]:
    """The sizes that tiles of the input may have along a dimension of the output: for which tiles, and the entry of
    the innermost loop's rests; None: its step, or, without a loop, the extent."""
    loop = parameters.innermost(parameters.input_marker + 1).get(dim)
    if loop is None:
        yield "", None
        return
    yield f", in another iteration than the last one of loop {loop}", None
    outside = same_outside(parameters.loops, loop)
    for i in range(len(outside) + 1):
        yield f", in the last iteration of loop {loop}{_where(outside, i)}", i


def _input_settings(parameters: HwcParameters) -> Iterator[Content]:
    bits, flat = parameters.position_bits, (parameters.input_elements - 1).bit_length() + 1
    inside = parameters.inside
    marker = parameters.input_marker
    yield setting("input_base", ADDRESS_BITS, "Byte address of the input")
    yield setting("input_height", bits, "Rows of the input")
    yield setting("input_width", bits, "Columns of the input")
    yield setting("input_pitch", bits, "Bytes from row to row")
    yield setting("input_plane", ADDRESS_BITS - 4, "Bytes from channel to channel")
    yield setting("input_slides", 1, "Rows or columns are reused from one iteration of the marked loop to the next")
    yield setting("input_line", flat, "Bytes of one row of one channel in the input memory")
    yield setting("input_slab", flat, "Bytes of one slab: one row of all channels of a tile")
    yield setting("input_slabs", flat, "Slabs that the input memory holds")
    for j in range(1, parameters.lanes.y):
        yield setting(f"input_lane_row_{j}", flat, f"Bytes from lane row 0 to lane row {j}, modulo the memory")
    for p in (1, 2, 3):
        yield setting(f"input_phase_{p}", flat, f"Byte of a line at which the columns of stride phase {p} begin")
    if parameters.columns_slide:
        yield setting("input_shift", bits, "Columns of each stride phase by which an iteration advances")
    for j in inside(marker, "yk"):
        yield setting(f"input_ring_step_{j}", flat, f"Bytes that loop {j} advances, modulo the memory")
    for j in inside(marker, "c"):
        yield setting(f"input_line_step_{j}", flat, f"Bytes that loop {j} advances inside a slab")
    # Padded rows and columns count, too.
    for dim, line in (("y", "row"), ("x", "column")):
        for i, (which, _) in enumerate(input_spans(parameters, dim)):
            meaning = f"Input {line}s from the first output {line} of a tile to its last one{which}"
            yield setting(f"input_{line}_span_{i}", bits + 1, meaning)
        for j, loop in enumerate(parameters.loops):
            if loop == dim:
                yield setting(f"input_{line}_step_{j}", bits + 1, f"Input {line}s that loop {j} advances")
    for j in inside(marker, "l"):
        yield setting(f"input_quotient_step_{j}", parameters.dim_bits["l"], f"Step of loop {j} divided by stride_x")
        yield setting(f"input_phase_step_{j}", 2, f"Step of loop {j} modulo stride_x")


def _output_settings(parameters: HwcParameters) -> Iterator[Content]:
    bits, index = parameters.position_bits, parameters.output_index_bits
    yield setting("weight_base", ADDRESS_BITS, "Byte address of the packed weights")
    yield setting("output_base", ADDRESS_BITS, "Byte address of the output")
    yield setting("output_pitch", bits, "Bytes from row to row")
    yield setting("output_plane", ADDRESS_BITS - 4, "Bytes from channel to channel")
    yield setting("partial_base", ADDRESS_BITS, "Byte address of the partial sums")
    yield setting("partial_pitch", bits + 2, "Bytes from row to row of the partial sums")
    yield setting("partial_plane", ADDRESS_BITS - 4, "Bytes from channel to channel of the partial sums")
    biases = "biases, each with its channel's multiplier and shift" if parameters.scaled else "biases, 32 bits each"
    yield setting("bias_base", ADDRESS_BITS, f"Byte address of the {biases}")
    if not parameters.cluster:
        yield setting("write_base", ADDRESS_BITS, "First byte that may be written: outputs and partial sums")
        yield setting("write_last", ADDRESS_BITS, "Last byte that may be written", (1 << ADDRESS_BITS) - 1)
    if parameters.bias_loops:
        loops = ", ".join(map(str, parameters.bias_loops))
        meaning = (
            f"Biases are kept from one iteration to the next: a bit, from bit 0 on, for each of the loops {loops}"
        )
        yield setting("bias_stays", len(parameters.bias_loops), meaning)
    for one in requantiser_settings(parameters.requantisation, parameters.operand_bits):
        yield setting(*one)
    yield setting("output_box_vectors", index, "Vectors of the largest tile in the output memory")
    for j in parameters.output_tile_loops:
        if parameters.loops[j] in OUTPUT_DIMS:
            yield setting(f"output_index_step_{j}", index, f"Vectors that loop {j} advances")


def _cluster_settings() -> Iterator[Content]:
    """Settings of an HWC in a cluster."""
    yield setting("first_part", 1, "Sums start from zero; else from partial sums in memory")
    yield setting("last_part", 1, "Sums become outputs; else they are written back as partial sums")
    for port, operand in (("i", "input"), ("w", "weights"), ("o", "output")):
        yield setting(f"ring_{port}_end", ADDRESS_BITS, f"Byte address after the ring buffer of the {operand}")
        wraps = "an address from its end on is reduced by it"
        yield setting(f"ring_{port}_size", ADDRESS_BITS, f"Bytes of the ring buffer of the {operand}: {wraps}")
