"""The register bank of the vector unit of a cluster."""

from collections.abc import Iterator

from hwgen.arch.registers.bank import Access, Bank, BankBuilder, Content, Field, setting, value_register, write_only
from hwgen.arch.registers.control import control_register, identity_register, status_register
from hwgen.arch.registers.errors import VectorError
from hwgen.arch.vector.job import COLUMN_BITS, EXTENT_BITS, VECTOR_MULTIPLIER_BITS, VectorJob
from hwgen.arch.vector.shape import NARROW, VectorShape

__all__ = ["VECTOR_IDENTITY", "job_values", "vector_registers"]

VECTOR_IDENTITY = 0x56454331
"""Reads "VEC1"."""
SETTINGS_BASE = 0x40
SHIFT_BITS = 6
ELEMENTS = ("elements", 1, "No window, stride or padding: several neighbours of a row are computed in a cycle")
"""A field of the mode where the unit takes several elements in a cycle."""
STRIPS = ("strips", 1, "Windows in strips; the columns are then those of the input")
"""The same where it takes all of a word."""


def vector_registers(address_bits: int, shape: VectorShape = NARROW) -> Bank:
    """Every register of a vector unit in a TCDM whose byte addresses have so many bits."""
    builder = BankBuilder("vector", "Registers of a vector unit: the settings of a job, its start, its status")
    builder.place(
        0,
        [
            identity_register(VECTOR_IDENTITY),
            control_register("Starts a job"),
            status_register(VectorError),
            value_register("fault_address", 32, "Byte address of the access that failed", Access.RO),
            value_register("cycles", 32, "Clock cycles from the start to the end of the job", Access.RO),
        ],
    )
    builder.place(SETTINGS_BASE, map(write_only, _settings(address_bits, shape)))
    return builder.bank()


def job_values(bank: Bank, job: VectorJob) -> dict[str, int]:
    """The words of the registers that a program writes for a job, by name."""
    values = job.settings
    return {
        register: sum((values[name] << low) & mask for name, low, mask in signals)
        for register, signals in bank.written
    }


def _settings(address_bits: int, shape: VectorShape) -> Iterator[Content]:
    """The run-time settings, in register order."""
    yield _fields(
        "mode",
        "What becomes of a window",
        ("add", 1, "The sum with the second operand; neither this nor average: the maximum"),
        ("average", 1, "The sum over the window"),
        ("table", 1, "Outputs go through the table"),
        ("load", 1, "The table is read from table_base first"),
        ("shift", SHIFT_BITS, "Bits that the scaled value is shifted right, with rounding; at least 1"),
        *([ELEMENTS] if shape.wide else []),
        *([STRIPS] if shape.has_strips else []),
    )
    yield _fields(
        "outputs", "Extents of the output", ("channels", EXTENT_BITS, "Channels"), ("rows", EXTENT_BITS, "Rows")
    )
    yield setting("columns", COLUMN_BITS, "Columns of the output")
    yield _pair("kernel", "Extents of a window")
    yield setting("height", EXTENT_BITS, "Rows of the input; beyond them is padding")
    yield setting("width", COLUMN_BITS, "Columns of the input; beyond them is padding")
    yield _pair("stride", "From window to window")
    yield _pair("dilation", "From element to element of a window")
    yield setting("first_row", EXTENT_BITS + 1, "Row of the input at which the first window begins; two's complement")
    yield setting("first_column", COLUMN_BITS + 1, "Column at which the first window begins; two's complement")
    yield setting("input_base", address_bits, "TCDM byte address of the first element of the first window")
    yield setting("input_line", address_bits, "Bytes from row to row of a window")
    yield setting("input_row", address_bits, "Bytes from window to window of the next row of the output")
    yield setting("input_plane", address_bits, "Bytes from channel to channel of the input")
    yield setting("second", address_bits, "Bytes from an element of the first operand to that of the second")
    yield setting("output_base", address_bits, "TCDM byte address of the first element of the output")
    yield setting("output_pitch", address_bits, "Bytes from row to row of the output")
    yield setting("output_plane", address_bits, "Bytes from channel to channel of the output")
    yield setting("table_base", address_bits, "TCDM byte address of the table")
    yield _fields(
        "zeros",
        "Zero points in two's complement",
        ("first", 8, "Of the input, which is subtracted"),
        ("second", 8, "Of the second operand, which is subtracted"),
        ("out", 8, "Of the output, which is added"),
    )
    yield _fields(
        "clip", "Bounds of the output in two's complement", ("low", 8, "Least output"), ("high", 8, "Largest output")
    )
    yield setting("multiplier", VECTOR_MULTIPLIER_BITS, "Multiplier of the window's value")
    yield setting("multiplier_2", VECTOR_MULTIPLIER_BITS, "Multiplier of the second operand")


def _pair(name: str, meaning: str) -> Content:
    return _fields(name, meaning, ("rows", EXTENT_BITS, "Along rows"), ("columns", EXTENT_BITS, "Along columns"))


def _fields(name: str, meaning: str, *entries: tuple[str, int, str]) -> Content:
    """A register of several values, side by side from bit 0 up."""
    fields, low = [], 0
    for field, width, means in entries:
        fields.append(Field(field, low, width, Access.RW, means))
        low += width
    return Content(name, meaning, tuple(fields))
