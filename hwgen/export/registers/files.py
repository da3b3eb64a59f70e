"""The files that describe a register bank to software and to other tools; all but the JSON come from SystemRDL."""

from hwgen.arch.registers.bank import Bank
from hwgen.export.registers.rdl import system_rdl
from hwgen.ir.document import json_text

__all__ = ["register_files"]


def register_files(bank: Bank) -> dict[str, str]:
    """The register map as JSON, SystemRDL, C headers, manual in Markdown and IP-XACT component, by file name."""
    from hwgen.export.registers.peakrdl import (
        exported_files,  # takes long to import, and most who import this write no files
    )

    name, text = f"{bank.name}_registers", system_rdl(bank)
    return {f"{name}.json": _listed(bank), f"{name}.rdl": text, **exported_files(bank.name, text)}


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
