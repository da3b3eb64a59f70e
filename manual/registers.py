"""The register manuals of the three tops and of the vector unit: every register and field, and the error codes."""

from collections.abc import Iterable, Iterator

from hwgen.arch.registers.bank import VALUE, Access, Bank, Field, Register
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.errors import DmaError, ErrorCode
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.arch.registers.vector import vector_registers
from manual.designs import cluster, hwc, pipeline
from manual.markdown import cell, table

__all__ = ["WITH_REGISTERS", "bank_of", "register_page"]

WITH_REGISTERS = ("hwc", "cluster", "pipeline", "vector")
_SHOWN = {
    "hwc": "the smallest HWC that runs `schedules/examples/fig8_conv4_2.yaml`",
    "cluster": "the cluster of `schedules/alexnet_cluster/alexnet_cluster.hardware.yaml`",
    "pipeline": "a pipeline of one convolution and one sum",
    "vector": "the vector unit of a cluster of that size; only the program of the cluster writes them",
}
_ACCESS = {
    Access.RW: "holds the value that was written last",
    Access.WO: "holds the value that was written last; reads 0",
    Access.RO: "shows a value of the hardware; a write is refused",
    Access.W1C: "writing a one to a bit clears it",
    Access.PULSE: "writing a one acts once; reads 0",
}


def bank_of(top: str) -> Bank:
    """The registers of one of `WITH_REGISTERS`."""
    match top:
        case "hwc":
            return hwc_registers(hwc())
        case "cluster":
            return cluster_registers(cluster())
        case "vector":
            return vector_registers(cluster().dma.tcdm_address_bits)
    return pipeline_registers(pipeline())


def register_page(top: str) -> str:
    """The register manual of one top."""
    bank = bank_of(top)
    text = f"""\
# Registers: {top}

Here you look up a register that your software writes or reads: address, fields, access, error codes.
{cell(bank.meaning)}. Shown are the registers of {_SHOWN[top]}. Which settings there are, and how wide they are,
depends on what the design was generated for. `hwgen generate` writes the map of each design as C header, SystemRDL,
IP-XACT and JSON, and its manual in Markdown.

Addresses are byte offsets. An access is one word of 32 bits. Bits that no field has read 0, and a write of
ones to them is refused.
"""
    lines = [text, *table(["Access", "Meaning"], [[f"`{one}`", _ACCESS[one]] for one in Access]), ""]
    lines += ["## Register map", "", *_map(bank), ""]
    several = [register for register in bank if register.fields[0].name != VALUE]
    for register in several:
        lines += [f"### {register.name} {{ #{register.name} }}", "", *_fields(register), ""]
    if top == "hwc":
        lines += ["### In a cluster", "", *_more_in_a_cluster(bank), ""]
    lines += ["## Error codes", "", *_errors(bank), ""]
    return "\n".join(lines)


def _map(registers: Iterable[Register]) -> Iterator[str]:
    return table(["Offset", "Register", "Bits", "Access", "Reset", "Meaning"], [_row(one) for one in registers])


def _row(register: Register) -> list[str]:
    whole = register.fields[0].name == VALUE
    name = f"`{register.name}`" if whole else f"[`{register.name}`](#{register.name})"
    access = ", ".join(dict.fromkeys(f"`{field.access}`" for field in register.fields))
    reset = sum(field.reset << field.low for field in register.fields)
    return [f"`0x{register.address:03x}`", name, str(register.width), access, f"`{reset:#x}`", cell(register.meaning)]


def _fields(register: Register) -> Iterator[str]:
    return table(["Bits", "Field", "Access", "Reset", "Meaning"], [_field_row(field) for field in register.fields])


def _field_row(field: Field) -> list[str]:
    high = field.low + field.width - 1
    bits = f"{high}:{field.low}" if field.width > 1 else str(field.low)
    meaning = cell(field.meaning) + ("; see [Error codes](#error-codes)" if field.codes else "")
    return [bits, f"`{field.name}`", f"`{field.access}`", f"`{field.reset:#x}`", meaning]


def _more_in_a_cluster(alone: Bank) -> list[str]:
    more = [one for one in hwc_registers(cluster().hwc) if one.name not in alone.by_name]
    text = "An HWC of the cluster that is shown in this manual has these registers beside those above, and only the"
    return [text, "program of the cluster writes them:", "", *_map(more)]


def _errors(bank: Bank) -> Iterator[str]:
    codes = next(field.codes for register in bank for field in register.fields if field.codes)
    yield from ("What the field `error` of `status` holds. See [Errors](../integration.md#errors).", "")
    yield from _codes(codes)
    if bank.name == "cluster":
        units = "[the HWC](hwc.md#error-codes), of [the vector unit](vector.md#error-codes) or of the DMA:"
        yield from ("", f"`fault_detail` holds an error code of {units}", "")
        yield from _codes(DmaError)


def _codes(codes: type[ErrorCode]) -> Iterator[str]:
    return table(["Code", "Name", "Meaning"], [[str(int(one)), f"`{one.name}`", cell(one.meaning)] for one in codes])
