"""What is generated of a register bank says what the bank says: SystemRDL, C headers, manual, IP-XACT, JSON."""

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from systemrdl.node import AddrmapNode, FieldNode
from systemrdl.rdltypes import AccessType, OnWriteType

from hwgen.arch.registers.bank import Access, Bank, Field, Register
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.pipeline import pipeline_registers
from hwgen.export.registers.files import register_files, system_rdl
from hwgen.export.registers.peakrdl import compiled
from tests.export.generated_files import written
from tests.export.test_cluster import PARAMETERS as CLUSTER
from tests.export.test_pipeline import every_kind
from tests.gateware.lib.test_register_bank import sample

HARDWARE = {
    Access.RW: AccessType.r,
    Access.WO: AccessType.r,
    Access.RO: AccessType.w,
    Access.W1C: AccessType.w,
    Access.PULSE: AccessType.r,
}
IPXACT = "{http://www.accellera.org/XMLSchema/IPXACT/1685-2014}"


@cache
def bank_named(name: str) -> Bank:
    """Made when a test begins: to lower a pipeline takes a kernel, which may have to be compiled."""
    match name:
        case "hwc":
            return hwc_registers(CLUSTER.hwc)
        case "cluster":
            return cluster_registers(CLUSTER)
        case "pipeline":
            return pipeline_registers(every_kind()[0])
    return sample()


@pytest.fixture(params=["hwc", "cluster", "pipeline", "sample"])
def bank(request: pytest.FixtureRequest) -> Bank:
    return bank_named(request.param)


def fields_of(bank: Bank, top: AddrmapNode) -> Iterator[tuple[Register, Field, FieldNode]]:
    """The bank's fields, each with what the compiler has made of it."""
    registers = list(top.registers())
    assert [node.inst_name for node in registers] == [register.name for register in bank]
    for register, node in zip(bank, registers, strict=True):
        assert node.address_offset == register.address
        assert node.get_property("name") == register.meaning
        for field, inner in zip(register.fields, node.fields(), strict=True):
            yield register, field, inner


def test_the_compiled_rdl_has_every_field_with_its_bits_access_and_reset(bank: Bank) -> None:
    for _, field, node in fields_of(bank, compiled(system_rdl(bank))):
        assert (node.inst_name, node.low, node.width) == (field.name, field.low, field.width)
        assert node.get_property("reset") == field.reset
        assert node.get_property("name") == field.meaning
        assert node.is_sw_readable == (field.access is not Access.WO)
        assert node.is_sw_writable == field.writable
        assert (node.get_property("onwrite") is OnWriteType.woclr) == (field.access is Access.W1C)
        assert node.get_property("singlepulse") == (field.access is Access.PULSE)
        hardware = AccessType.na if field.constant else HARDWARE[field.access]
        assert node.get_property("hw") is hardware
        codes = node.get_property("encode")
        told = None if codes is None else [(code.name, code.value, code.rdl_desc) for code in codes]
        assert told == (
            None if field.codes is None else [(one.name, one.value, f"{one.meaning}.") for one in field.codes]
        )


def test_the_json_lists_registers_and_fields(bank: Bank) -> None:
    listed = json.loads(register_files(bank)[f"{bank.name}_registers.json"])
    assert [(one["name"], one["address"], one["width"], one["writable"], one["reset"]) for one in listed] == [
        (one.name, one.address, one.width, one.writable, one.reset) for one in bank
    ]
    assert [len(one["fields"]) for one in listed] == [len(one.fields) for one in bank]


def test_the_ipxact_component_has_every_field(bank: Bank) -> None:
    root = ElementTree.fromstring(register_files(bank)[f"{bank.name}_registers.xml"])
    found = [
        (one.findtext(f"{IPXACT}name"), int(str(one.findtext(f"{IPXACT}addressOffset"))[2:], 16), [
            (field.findtext(f"{IPXACT}name"), int(str(field.findtext(f"{IPXACT}bitOffset"))),
             int(str(field.findtext(f".//{IPXACT}value"))[2:], 16))
            for field in one.iter(f"{IPXACT}field")
        ])
        for one in root.iter(f"{IPXACT}register")
    ]  # fmt: skip
    assert found == [
        (one.name, one.address, [(field.name, field.low, field.reset) for field in one.fields]) for one in bank
    ]


def test_the_manual_has_every_field(bank: Bank) -> None:
    sections = re.split(r"\n### (\w+) register\n", register_files(bank)[f"{bank.name}_registers.md"])
    assert sections[1::2] == [register.name for register in bank]
    for register, text in zip(bank, sections[2::2], strict=True):
        rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")
        ]
        assert [row[1] for row in rows[2:]] == [field.name for field in register.fields]
        assert [int(row[3], 16) for row in rows[2:]] == [field.reset for field in register.fields]
        assert [row[4] for row in rows[2:]] == [field.meaning for field in register.fields]


def test_a_c_program_sees_the_addresses_bits_and_codes_of_the_bank(bank: Bank, tmp_path: Path) -> None:
    written(tmp_path, register_files(bank))
    prefix = bank.name.upper()
    claims = []
    for register in bank:
        name = f"{prefix}_{register.name}".upper()
        claims += [f"{name} == {register.address}", f"offsetof({bank.name}_t, {register.name}) == {register.address}"]
        for field in register.fields:
            of = f"{prefix}__{register.name}__{field.name}".upper()
            claims += [f"{of}_bm == {field.mask}u", f"{of}_bp == {field.low}", f"{of}_reset == {field.reset}u"]
            if len(register.fields) > 1:
                taken = f"{name}_{field.name.upper()}"
                claims.append(f"{taken} == {field.mask}u" if field.width == 1 else f"{taken}({field.mask}u) == "
                              f"{(1 << field.width) - 1}u")  # fmt: skip
            for code in field.codes or ():
                claims.append(f"{prefix}_ERROR_{code.name} == {code.value}")
    source = tmp_path / "uses.c"
    asserted = "\n".join(f'_Static_assert({claim}, "{claim}");' for claim in claims)
    source.write_text(f'#include <stddef.h>\n#include "{bank.name}_registers.h"\n{asserted}\n', encoding="utf-8")
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", str(source)], check=True)


@pytest.mark.parametrize(
    ("bank", "names"),
    [
        ("hwc", ["HWC_CONTROL_START 0x1u", "HWC_CONTROL_CLEAR 0x2u", "HWC_STATUS_DONE 0x2u", "HWC_ERROR_STEP 6u"]),
        ("cluster", ["CLUSTER_STATUS_FAILED 0x4u", "CLUSTER_ERROR_WATCHDOG 19u", "CLUSTER_WATCHDOG 0x088u"]),
        ("pipeline", ["PIPELINE_CONTROL_LOAD 0x4u", "PIPELINE_STATUS_BUSY 0x1u", "PIPELINE_ERROR_WATCHDOG 16u"]),
    ],
    indirect=["bank"],
    ids=["hwc", "cluster", "pipeline"],
)
def test_names_that_software_uses_are_kept(bank: Bank, names: list[str]) -> None:
    header = register_files(bank)[f"{bank.name}_registers.h"]
    for name in names:
        assert f"\n#define {name}\n" in header
    assert f"\n#define {bank.name.upper()}_STATUS_ERROR(value) (((value) >> 8) & 0xffu)\n" in header
