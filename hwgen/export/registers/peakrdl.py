"""What the SystemRDL compiler and PeakRDL make of a register bank: C headers, manual, IP-XACT component."""

import tempfile
from functools import lru_cache
from pathlib import Path

from peakrdl_cheader.c_standards import CStandard
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_markdown import MarkdownExporter
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode

from hwgen.export.package import CORE_VERSION
from hwgen.export.registers.c_header import c_header, fields_header_name

__all__ = ["compiled", "exported_files"]


def exported_files(bank: str, text: str) -> dict[str, str]:
    """The files of the bank of this name that are made from its SystemRDL text, by file name."""
    name = f"{bank}_registers"
    return {
        f"{name}.h": c_header(compiled(text)),
        fields_header_name(bank): _exported(text, fields_header_name(bank)),
        f"{name}.md": _exported(text, f"{name}.md"),
        f"{name}.xml": _exported(text, f"{name}.xml"),
    }


@lru_cache(maxsize=16)
def compiled(text: str) -> AddrmapNode:
    """The address map of a SystemRDL text; raises the compiler's error if it is none."""
    with tempfile.TemporaryDirectory(prefix="hwgen-") as folder:
        file = Path(folder) / "bank.rdl"
        file.write_text(text, encoding="utf-8")
        compiler = RDLCompiler()
        compiler.compile_file(str(file))
        return compiler.elaborate().top


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
            CHeaderExporter().export(top, str(file), std=CStandard.gnu99)
        case ".md":
            MarkdownExporter().export(top, str(file))
        case ".xml":
            IPXACTExporter(vendor="hwgen", library=top.inst_name, version=CORE_VERSION).export(top, str(file))
        case other:
            raise ValueError(f"{file.name}: nothing exports {other}")
