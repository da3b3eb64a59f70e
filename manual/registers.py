"""The register manuals of the three tops: every register with address, width, access and meaning."""

from collections.abc import Iterator
from dataclasses import dataclass

from hwgen.arch.registers.bank import Bank
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.errors import ClusterError, DmaError, ErrorCode, HwcError, PipelineError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.pipeline import pipeline_registers
from manual.designs import cluster, hwc, pipeline
from manual.markdown import cell, table

__all__ = ["RegisterRow", "register_page", "register_rows"]


@dataclass(frozen=True)
class RegisterRow:
    """One register as the manual shows it."""

    address: int
    name: str
    width: int
    access: str
    meaning: str


def register_rows(top: str) -> tuple[RegisterRow, ...]:
    """Every register of ``hwc``, ``cluster`` or ``pipeline``, by address."""
    return tuple(
        RegisterRow(one.address, one.name, one.width, "rw" if one.writable else "ro", one.meaning)
        for one in _bank(top)
    )


def _bank(top: str) -> Bank:
    match top:
        case "hwc":
            return hwc_registers(hwc())
        case "cluster":
            return cluster_registers(cluster())
    return pipeline_registers(pipeline())


def register_page(top: str) -> str:
    """The register manual of one top."""
    lines = [f"# Registers: {top}", "", *_heading(top), ""]
    rows = [
        [f"`0x{one.address:03x}`", f"`{one.name}`", str(one.width), one.access, cell(one.meaning)]
        for one in register_rows(top)
    ]
    lines += [*table(["Address", "Register", "Bits", "Access", "Meaning"], rows), ""]
    lines += ["## Error codes", "", *_errors(top)]
    return "\n".join([*lines, ""])


def _heading(top: str) -> Iterator[str]:
    shown = {
        "hwc": "the smallest HWC that runs `schedules/examples/fig8_conv4_2.yaml`",
        "cluster": "the cluster of `schedules/hardware/alexnet_cluster.yaml`",
        "pipeline": "a pipeline of one convolution and one sum",
    }[top]
    yield f"The registers of {shown}. Which settings there are, and how wide, depends on what the design was"
    yield "generated for: `hwgen generate` writes the map of each design as C header, SystemRDL and JSON. Addresses"
    yield "are byte offsets. A register is accessed as one word of 32 bits."


def _errors(top: str) -> Iterator[str]:
    codes: dict[str, type[ErrorCode]] = {"hwc": HwcError, "cluster": ClusterError, "pipeline": PipelineError}
    yield from ("The field `error` of `status` holds one of these codes; see [Errors](../integration.md#errors).", "")
    yield from _codes(codes[top], "Name")
    if top == "cluster":
        yield from ("", "`fault_detail` holds a code of the HWC (see its registers) or of the DMA:", "")
        yield from _codes(DmaError, "DMA error")


def _codes(codes: type[ErrorCode], title: str) -> Iterator[str]:
    return table(["Code", title, "Meaning"], [[str(one.value), f"`{one.name}`", one.meaning] for one in codes])
