"""What the streams tell the sequencer about a tile that has arrived, and what the sequencer tells the datapath."""

from amaranth.hdl import signed
from amaranth.lib import data

from hwgen.arch.hwc import HwcParameters
from hwgen.gateware.hwc.widths import padding_bits, tile_bits

__all__ = [
    "LANE_REGISTER_FLAGS",
    "LaneAccesses",
    "column_shape",
    "input_token",
    "operation",
    "quotient_shape",
    "row_shape",
    "weight_address_bits",
]


class LaneAccesses(data.Struct):
    """The accesses of an HWC's local memories by its operations: each is of a vector of all lanes, in this cycle."""

    input_read: 1
    weight_read: 1
    output_read: 1
    output_written: 1


LANE_REGISTER_FLAGS = ("reads_input", "reads_weight", "takes_output", "leaves_output")


def row_shape(parameters: HwcParameters) -> object:
    """Shape of an input row or column: padding before the image makes it negative, padding after it large."""
    return signed(parameters.position_bits + 2)


column_shape = row_shape


def quotient_shape(parameters: HwcParameters) -> object:
    """Shape of a column coordinate divided by the stride, relative to the line's first column."""
    return signed(min(parameters.position_bits, max(padding_bits(parameters), tile_bits(parameters, "x"))) + 1)


def input_token(parameters: HwcParameters) -> data.StructLayout:
    """One tile of the input.

    ``ring`` is where the tile's first row (padding included) lies or would lie in the ring, in elements; ``row`` and
    ``column`` are its top left corner in the input; ``quotient`` and ``phase`` place that corner's column in a line.
    """
    return data.StructLayout(
        {
            "ring": (parameters.input_elements - 1).bit_length() + 1,
            "row": row_shape(parameters),
            "column": column_shape(parameters),
            "quotient": quotient_shape(parameters),
            "phase": 2,
        }
    )


def weight_address_bits(parameters: HwcParameters) -> int:
    """Width of the place of an operation's weights: a line of the memory, or a byte."""
    places = parameters.weight_depth if parameters.weight_lines else parameters.weight_bytes
    return (places - 1).bit_length()


def operation(parameters: HwcParameters) -> data.StructLayout:
    """One step of the datapath.

    ``compute`` multiplies and accumulates; ``load`` writes the partial sums that were fetched; ``unload`` reads a
    vector for the drain. ``fresh`` starts a sum from zero. ``input_address`` has the first element of each lane row.
    A lane in row j and column i of the lanes is used if j < ``rows``, i < ``columns``, row + j * stride is inside the
    input and column + i * stride is too; with lanes along c those below ``channels`` are. ``weight_address`` is the
    byte of the first lane's weight, or the line of all of them. ``enters`` is set where the column at the address
    goes into the window, if there is one, whether or not anything is computed. With 16-bit operands, and no lanes
    along c, a vector is half of the one at ``output_index``: the upper one where ``half`` is set.

    Where the lanes have registers, ``reads_input`` and ``reads_weight`` are set with the first operation on a vector,
    which is read for it; so is ``takes_output``, and ``leaves_output`` with the last one on a vector of sums.
    """
    return data.StructLayout(
        {
            **({"half": 1} if parameters.wide_halves else {}),
            **({"enters": 1} if parameters.column_window else {}),
            **(dict.fromkeys(LANE_REGISTER_FLAGS, 1) if parameters.lane_registers else {}),
            "compute": 1,
            "load": 1,
            "unload": 1,
            "fresh": 1,
            "input_address": data.ArrayLayout((parameters.input_elements - 1).bit_length() + 1, parameters.lanes.y),
            "row": row_shape(parameters),
            "column": column_shape(parameters),
            **({"channels": parameters.lanes.c.bit_length()} if parameters.lanes.c > 1 else {}),
            "rows": parameters.lanes.y.bit_length(),
            "columns": parameters.lanes.x.bit_length(),
            "weight_address": weight_address_bits(parameters),
            "output_index": (parameters.output_depth - 1).bit_length(),
        }
    )
