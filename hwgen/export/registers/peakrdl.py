"""What is made of a register bank's SystemRDL: C headers, PeakRDL's structure, its manual, its IP-XACT component."""

import tempfile
from functools import lru_cache
from pathlib import Path

from peakrdl_cheader.c_standards import CStandard
from peakrdl_cheader.exporter import CHeaderExporter
from peakrdl_ipxact import IPXACTExporter
from peakrdl_markdown import MarkdownExporter
from systemrdl.compiler import RDLCompiler
from systemrdl.node import AddrmapNode, RegNode
from systemrdl.rdltypes.user_enum import UserEnum

from hwgen import __version__
from hwgen.arch.registers.bank import VALUE

__all__ = ["compiled", "exported_files"]


def fields_header_name(block: str) -> str:
    """The header that PeakRDL writes and that `c_header` includes."""
    return f"{block}_fields.h"


def c_header(bank: AddrmapNode) -> str:
    """Byte addresses, bits of registers with several fields, error codes.

    ``BLOCK_REGISTER`` is an address, ``BLOCK_REGISTER_VALUE`` what a constant register reads,
    ``BLOCK_REGISTER_FIELD`` the mask of a field of one bit, or a macro that takes a wider field out of the
    register's value, and ``BLOCK_ERROR_CODE`` a code.
    """
    block = bank.inst_name
    prefix = block.upper()
    lines = [f"/* Registers of {block}: byte addresses, bits, error codes. Generated, do not edit. */"]
    lines += [f"#ifndef {prefix}_REGISTERS_H", f"#define {prefix}_REGISTERS_H", ""]
    lines += [f'#include "{fields_header_name(block)}"', "", "/* Addresses. */"]
    for register in bank.registers():
        bits = max(field.high for field in register.fields()) + 1
        readable = "writable" if register.has_sw_readable else "write only"
        access = readable if register.has_sw_writable else "read only"
        lines += [f"/* {register.get_property('name')}; {bits} bits, {access} */"]
        lines += [f"#define {prefix}_{register.inst_name.upper()} 0x{register.address_offset:03x}u"]
        lines += [
            f"#define {prefix}_{register.inst_name.upper()}_VALUE 0x{field.get_property('reset'):x}u"
            for field in register.fields()
            if not field.is_hw_writable and not field.is_sw_writable
        ]
    codes: dict[str, type[UserEnum]] = {}
    for register in bank.registers():
        lines += _bits(prefix, register)
        for field in register.fields():
            encoding = field.get_property("encode")
            if encoding is not None:
                codes[encoding.type_name] = encoding
    for name, encoding in codes.items():
        lines += ["", "/* Error codes. */"]
        for code in encoding:
            lines += [f"/* {code.rdl_desc} */", f"#define {name.upper()}_{code.name} {code.value}u"]
    return "\n".join([*lines, "", "#endif", ""])


def _bits(prefix: str, register: RegNode) -> list[str]:
    """The fields of a register that has several."""
    fields = register.fields()
    if [field.inst_name for field in fields] == [VALUE]:
        return []
    lines = ["", f"/* Bits of {register.inst_name}. */"]
    for field in fields:
        name = f"{prefix}_{register.inst_name}_{field.inst_name}".upper()
        lines.append(f"/* {field.get_property('name')} */")
        if field.width == 1:
            lines.append(f"#define {name} 0x{1 << field.low:x}u")
        else:
            lines.append(f"#define {name}(value) (((value) >> {field.low}) & 0x{(1 << field.width) - 1:x}u)")
    return lines


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
            IPXACTExporter(vendor="hwgen", library=top.inst_name, version=__version__).export(top, str(file))
        case other:
            raise ValueError(f"{file.name}: nothing exports {other}")
