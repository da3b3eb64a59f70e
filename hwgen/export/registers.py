"""The files that describe a register bank to software and to other tools; all but the JSON come from SystemRDL."""

import json
import tempfile
from functools import lru_cache
from pathlib import Path

from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_markdown import MarkdownExporter
from systemrdl.node import AddrmapNode

from hwgen.arch.registers.bank import Bank
from hwgen.export.c_header import c_header, fields_header_name
from hwgen.export.package import CORE_VERSION
from hwgen.export.rdl import compiled, system_rdl

__all__ = ["register_files"]


def register_files(bank: Bank) -> dict[str, str]:
    """The register map as JSON, SystemRDL, C headers, manual in Markdown and IP-XACT component, by file name."""
    name = f"{bank.name}_registers"
    text = system_rdl(bank)
    top = compiled(text)
    return {
        f"{name}.json": _listed(bank),
        f"{name}.rdl": text,
        f"{name}.h": c_header(top),
        fields_header_name(bank.name): _exported(text, fields_header_name(bank.name)),
        f"{name}.md": _exported(text, f"{name}.md"),
        f"{name}.xml": _exported(text, f"{name}.xml"),
    }


def _listed(bank: Bank) -> str:
    """The register map in JSON."""
    registers = [
        {
            "address": register.address,
            "name": register.name,
            "width": register.width,
            "writable": register.writable,
            "meaning": register.meaning,
            "reset": register.reset,
            "fields": [
                {
                    "name": field.name,
                    "low": field.low,
                    "width": field.width,
                    "access": field.access,
                    "reset": field.reset,
                    "meaning": field.meaning,
                }
                for field in register.fields
            ],
        }
        for register in bank
    ]
    return json.dumps(registers, indent=2) + "\n"


@lru_cache(maxsize=64)
def _exported(text: str, name: str) -> str:
    """What PeakRDL makes of a SystemRDL text, by the name of the file that it is for."""
    top = compiled(text)
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        file = Path(folder) / name
        _export(top, file)
        return file.read_text(encoding="utf-8")


def _export(top: AddrmapNode, file: Path) -> None:
    match file.suffix:
        case ".h":
            CHeaderExporter().export(top, str(file))
        case ".md":
            MarkdownExporter().export(top, str(file))
        case ".xml":
            IPXACTExporter(vendor="hwgen", library=top.inst_name, version=CORE_VERSION).export(top, str(file))
        case other:
            raise ValueError(f"{file.name}: nothing exports {other}")
