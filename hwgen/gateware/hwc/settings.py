"""The run-time settings of an HWC: one list from which registers, addresses, header and documentation follow."""

from dataclasses import dataclass

from amaranth.hdl import Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from hwgen.arch.hwc import DIMS, OUTPUT_DIMS, HwcParameters

__all__ = ["Setting", "in_bytes", "in_ring", "output_capacity", "settings_of", "settings_signature"]

ADDRESS_BITS = 32


@dataclass(frozen=True)
class Setting:
    """One run-time value: its name, its width in bits, and what it means."""

    name: str
    width: int
    meaning: str


def settings_of(parameters: HwcParameters) -> tuple[Setting, ...]:
    """Every run-time setting of an HWC, in register order."""
    bits = parameters.position_bits
    settings = [Setting(f"extent_{dim}", bits, f"extent of dimension {dim}") for dim in DIMS]
    settings += [
        Setting(f"step_{j}_{dim}", bits, f"step of loop {j}, over {dim}") for j, dim in enumerate(parameters.loops)
    ]
    settings += [
        Setting("stride_y", 3, "vertical stride, 1 to 4"),
        Setting("stride_x", 3, "horizontal stride, 1 to 4"),
        Setting("padding_top", bits, "padded rows above the input"),
        Setting("padding_left", bits, "padded columns left of the input"),
        Setting("group_outputs", bits, "output channels of one group"),
        Setting("group_inputs", bits, "input channels of one group"),
    ]
    if parameters.wide:
        settings += [
            Setting("wide", 1, "operands have 16 bits, on half of the lanes; else 8"),
            Setting("product_shift", 5, "bits that each product is shifted right before it is added"),
        ]
    shared = _cluster_settings() if parameters.cluster else []
    return (*settings, *_input_settings(parameters), *_output_settings(parameters), *shared)


def _cluster_settings() -> list[Setting]:
    """Of an HWC in a cluster."""
    settings = [
        Setting("first_part", 1, "sums start from zero; else from partial sums in memory"),
        Setting("last_part", 1, "sums become outputs; else they stay partial sums"),
    ]
    for port, operand in (("i", "input"), ("w", "weights"), ("o", "output")):
        settings += [
            Setting(f"ring_{port}_end", ADDRESS_BITS, f"byte address behind the ring that the {operand} lies in"),
            Setting(
                f"ring_{port}_size",
                ADDRESS_BITS,
                "its size in bytes: what lies behind its end goes on so much before",
            ),
        ]
    return settings


def in_ring(settings: wiring.PureInterface, port: str, address: Value) -> Value:
    """Where an access really goes: addresses behind a ring's end, at most once around, go on at its beginning."""
    end, size = getattr(settings, f"ring_{port}_end"), getattr(settings, f"ring_{port}_size")
    return Mux(address < end, address, address - size)[:ADDRESS_BITS]


def in_bytes(parameters: HwcParameters, settings: wiring.PureInterface, elements: Value) -> Value:
    """So many elements in bytes: twice as many where they have 16 bits."""
    return Mux(settings.wide, elements << 1, elements) if parameters.wide else elements


def _input_settings(parameters: HwcParameters) -> list[Setting]:
    bits, flat = parameters.position_bits, (parameters.input_elements - 1).bit_length() + 1
    inside = parameters.inside
    marker = parameters.input_marker
    settings = [
        Setting("input_base", ADDRESS_BITS, "byte address of the input, less padding_top rows"),
        Setting("input_height", bits, "rows of the input"),
        Setting("input_width", bits, "columns of the input"),
        Setting("input_pitch", bits, "bytes from row to row"),
        Setting("input_plane", ADDRESS_BITS - 4, "bytes from channel to channel"),
        Setting("input_slides", 1, "rows or columns stay from one iteration of the marked loop to the next"),
        Setting("input_line", flat, "bytes of one row of one channel in the input memory"),
        Setting("input_slab", flat, "bytes of one row of all channels of a box"),
        Setting("input_slabs", flat, "slabs that the input memory holds"),
        *(
            Setting(f"input_lane_row_{j}", flat, f"bytes from lane row 0 to lane row {j}, modulo the memory")
            for j in range(1, parameters.lanes.y)
        ),
        *(Setting(f"input_phase_{p}", flat, f"where columns of stride phase {p} begin in a line") for p in (1, 2, 3)),
    ]
    if parameters.columns_slide:
        settings.append(Setting("input_shift", bits, "columns of each stride phase that an iteration moves along"))
    for j in inside(marker, "yk"):
        settings.append(Setting(f"input_ring_step_{j}", flat, f"bytes that loop {j} advances, modulo the memory"))
    for j in inside(marker, "c"):
        settings.append(Setting(f"input_line_step_{j}", flat, f"bytes that loop {j} advances inside a slab"))
    for j in inside(marker, "y"):
        settings.append(Setting(f"input_row_step_{j}", bits, f"input rows that loop {j} advances"))
    for j in inside(marker, "x"):
        settings.append(Setting(f"input_column_step_{j}", bits, f"input columns that loop {j} advances"))
    for j in inside(marker, "l"):
        settings.append(Setting(f"input_quotient_step_{j}", bits, f"step of loop {j} divided by stride_x"))
        settings.append(Setting(f"input_phase_step_{j}", 2, f"step of loop {j} modulo stride_x"))
    return settings


def _output_settings(parameters: HwcParameters) -> list[Setting]:
    bits, index = parameters.position_bits, parameters.output_index_bits
    settings = [
        Setting("weight_base", ADDRESS_BITS, "byte address of the packed weights"),
        Setting("output_base", ADDRESS_BITS, "byte address of the output"),
        Setting("output_pitch", bits, "bytes from row to row"),
        Setting("output_plane", ADDRESS_BITS - 4, "bytes from channel to channel"),
        Setting("partial_base", ADDRESS_BITS, "byte address of the partial sums"),
        Setting("partial_pitch", bits + 2, "bytes from row to row"),
        Setting("partial_plane", ADDRESS_BITS - 4, "bytes from channel to channel"),
        Setting("bias_base", ADDRESS_BITS, "byte address of the biases, 32 bits each"),
        Setting("shift", 5, "bits that the sum is shifted right, with rounding"),
        Setting("relu", 1, "negative outputs become zero"),
        Setting(
            "ceiling", parameters.operand_bits - 1, "the largest output there is, or the bound of a clipped ReLU"
        ),
        Setting("output_box_vectors", index, "vectors of the largest box in the output memory"),
    ]
    for j in parameters.output_box:
        if parameters.loops[j] in OUTPUT_DIMS:
            settings.append(Setting(f"output_index_step_{j}", index, f"vectors that loop {j} advances"))
    return settings


def output_capacity(parameters: HwcParameters, settings: wiring.PureInterface) -> Value | int:
    """Vectors that the output memory holds: with 16-bit operands each takes half of a line."""
    depth = parameters.output_depth
    return Mux(settings.wide, 2 * depth, depth) if parameters.wide else depth


def settings_signature(parameters: HwcParameters) -> wiring.Signature:
    """The settings as ports, one each, seen from the registers that hold them."""
    return wiring.Signature({setting.name: Out(setting.width) for setting in settings_of(parameters)})
