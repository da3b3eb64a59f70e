"""C headers of a register bank, from its compiled SystemRDL: addresses, bits and codes; and PeakRDL's structure."""

from systemrdl.node import AddrmapNode, RegNode
from systemrdl.rdltypes.user_enum import UserEnum

from hwgen.arch.registers.bank import VALUE

__all__ = ["c_header", "fields_header_name"]


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
