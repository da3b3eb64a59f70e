"""Files that describe a register bank to software and to other tools: SystemRDL and JSON; all else from SystemRDL."""

import json

from hwgen.arch.bus import WORD_BITS
from hwgen.arch.registers.bank import Access, Bank, Field
from hwgen.arch.registers.errors import ErrorCode
from hwgen.export.conversion import kept
from hwgen.ir.document import json_text

__all__ = ["register_files", "system_rdl"]


_ACCESS = {
    Access.RW: "sw = rw; hw = r;",
    Access.WO: "sw = w; hw = r;",
    Access.RO: "sw = r; hw = w;",
    Access.W1C: "sw = rw; onwrite = woclr; hw = w;",
    Access.PULSE: "sw = rw; singlepulse; hw = r;",
}
"""A pulse may be read; it reads 0."""
_CONSTANT = "sw = r; hw = na;"


def system_rdl(bank: Bank) -> str:
    """The bank as an address map; enumerations of its error codes before it."""
    codes = {field.codes: None for register in bank for field in register.fields if field.codes is not None}
    lines = ["// Generated, do not edit.", ""]
    for one in codes:
        lines += [*_enumeration(bank, one), ""]
    lines += [f"addrmap {bank.name} {{", f'  name = "{bank.name}";', f'  desc = "{bank.meaning}.";']
    lines += [f"  default regwidth = {WORD_BITS};", f"  default accesswidth = {WORD_BITS};"]
    for register in bank:
        lines += ["", "  reg {", f'    name = "{register.meaning}";']
        lines += [f"    {_field(bank, field)}" for field in register.fields]
        lines += [f"  }} {register.name} @ 0x{register.address:03x};"]
    return "\n".join([*lines, "};", ""])


def _field(bank: Bank, field: Field) -> str:
    access = _CONSTANT if field.constant else _ACCESS[field.access]
    encoding = f" encode = {_type_name(bank)};" if field.codes is not None else ""
    bits = f"{field.name}[{field.low + field.width - 1}:{field.low}] = {field.width}'h{field.reset:x}"
    return f'field {{ name = "{field.meaning}"; {access}{encoding} }} {bits};'


def _enumeration(bank: Bank, codes: type[ErrorCode]) -> list[str]:
    return [
        f"enum {_type_name(bank)} {{",
        *(f'  {code.name} = {code.value} {{ desc = "{code.meaning}."; }};' for code in codes),
        "};",
    ]


def _type_name(bank: Bank) -> str:
    return f"{bank.name}_error"


def register_files(bank: Bank) -> dict[str, str]:
    """The register map as JSON, SystemRDL, C headers, manual in Markdown and IP-XACT component, by file name."""
    name, text = f"{bank.name}_registers", system_rdl(bank)

    def exported() -> str:
        from hwgen.export.registers.peakrdl import exported_files  # takes long to import

        return json_text(exported_files(bank.name, text))

    more: dict[str, str] = json.loads(kept(["registers", text], exported, suffix=".json"))
    return {f"{name}.json": _listed(bank), f"{name}.rdl": text, **more}


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
    return json_text(registers, indent=2)
