"""A fact of `hwgen.arch` is not typed a second time in gateware, model, lower or cosim, and no constant is twice.

Names and values come from `hwgen.arch` itself: a constant, a field or a register that is added there is looked for,
too. The papers' hardware in `hwgen.papers` is not ours. A test bench that runs in the simulator, a module
``tb_...``, checks the standard from outside and may import nothing. Both are left out.
"""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum
from pathlib import Path

import pytest

import hwgen.arch
from hwgen.arch import bus, commands, descriptor, dma, dram, latency, layout
from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import ConvStage, MapParameters, PipelineParameters
from hwgen.arch.registers import control, errors
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.arch.registers.hwc import hwc_registers
from hwgen.arch.registers.pipeline import pipeline_registers

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("hwgen/gateware", "hwgen/model", "hwgen/lower", "cosim")


def constants() -> dict[str, int | float]:
    """The numbers among the module-level constants of arch, by name."""
    found: dict[str, int | float] = {}
    for info in pkgutil.walk_packages(hwgen.arch.__path__, "hwgen.arch."):
        for name, value in vars(importlib.import_module(info.name)).items():
            if name.isupper() and isinstance(value, int | float) and not isinstance(value, Enum):
                found[name] = value
    return found


def numbers(*modules: object) -> set[int]:
    """The integers among the constants of modules."""
    return {
        value for module in modules for name, value in vars(module).items() if name.isupper() and type(value) is int
    }


def register_facts() -> dict[str, set[int]]:
    """Of every register its address, of every field its lowest bit and its mask, of every bit of control and status
    its value: by name in capitals."""
    hwc = HwcParameters(("m", "x", "c"), 2, 2, 2, 256, 64, 128, cluster=True)
    maps = (MapParameters(4, 9, 8, 8, source=True), MapParameters(4, 0, 8, 8, written=True))
    pipeline = PipelineParameters(maps, (ConvStage(0, 1, (1, 1), (1, 1)),))
    found: dict[str, set[int]] = defaultdict(set)
    for bank in (hwc_registers(hwc), cluster_registers(ClusterParameters(hwc)), pipeline_registers(pipeline)):
        for register in bank:
            found[register.name.upper()].add(register.address)
            for field in register.fields:
                found[field.name.upper()] |= {field.low, field.mask}
    for bit in (*control.Control, *control.Status):
        found[str(bit.name)].add(int(bit))
    return found


CONSTANTS = constants()
DRAM_DEFAULTS = {dram.Dram().row_bytes, dram.Dram().banks}

# What a name says, and the values that are facts under such a name.
MEANINGS: tuple[tuple[str, str, set[int]], ...] = (
    ("word", r"WORD|^BYTES$|(SUM|BIAS)_BYTES", {bus.WORD_BYTES, bus.WORD_BITS, bus.SUM_BYTES}),
    ("burst", r"BURST|BEATS|PAGE|WINDOW", {bus.BURST_BEATS, bus.PAGE_BYTES}),
    ("DRAM", r"BLOCK|CHUNK|ROW_BYTES|BANKS|TICKS", {dram.BLOCK_BYTES, dram.TICKS, *DRAM_DEFAULTS}),
    ("layout", r"ALIGN|LEAST_RING", {layout.ALIGNMENT, layout.STREAM_ALIGNMENT, layout.LEAST_RING, dma.CHUNK_BYTES}),
    ("descriptor", r"(PACKED|SCATTERED)_|DESCRIPTOR", numbers(descriptor)),
    ("command", r"TOKENS|PAYLOAD|MAX_HWCS", numbers(commands)),
    ("latency or depth", r"LATENCY|AHEAD|QUEUE|DEPTH|UNDER_WAY|REGISTERS|CAPTURE|LEAD$", numbers(latency, dma)),
)
REGISTERS = register_facts()

# A class that has at least that number of these members holds the same facts once more.
TABLES: tuple[tuple[str, set[str], int], ...] = (
    ("the DRAM", set(dram.Dram.model_fields), 2),
    ("the DMA's parameters", {field.name for field in fields(dma.DmaParameters)}, 2),
    ("the descriptor's fields", {entry.name for entry in descriptor.FIELDS}, 4),
    ("the opcodes", {member.name for member in commands.Opcode}, 3),
    ("the operand tags", {member.name for member in descriptor.OperandTag}, 5),
    ("the bits of control", {str(member.name) for member in control.Control}, 2),
    ("the bits of status", {str(member.name) for member in control.Status}, 2),
    *(
        (f"the codes of {kind.__name__}", {member.name for member in kind}, 4)
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, Enum) and len(kind)
    ),
)


TOGETHER = (
    *(f"hwgen/{room}" for room in ("ir", "arch", "golden", "gateware", "model", "lower", "export", "studies/sweep")),
    "cosim",
)
"""Where a constant of one name and one value is one fact."""
APART = {"SETTINGS_BASE", "PERIOD"}
"""No fact that several have together: each device has its own map of registers, each bench its own clock."""
HARNESS = ROOT / "cosim" / "harness"
IN_VERILOG = {
    r"\b(parameter|localparam)\b.*\b\w*(IdBits|Queue)\s*=\s*[1-9]": "a width of AXI IDs, or the depth of a queue",
    r"\[[\s\d]+:\s*0\s*\][^;/=(\]]*\b(aw|ar|b|r)id\b": "the width of an AXI ID",
    r"(\b|_)(aw|ar|b|r)id\s*\[(\s*\d+\s*:|[^\]]*\+:\s*\d)": "a part of an AXI ID",
}
"""Of the harness, which gets its facts as parameters."""
ID_IN_PYTHON = re.compile(r"""["'](aw|ar|b|r)?id["']: *\d""")


def modules(rooms: Iterable[str] = ROOMS) -> Iterator[tuple[str, str]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if ".tb_" not in name and not name.startswith("hwgen.papers."):
                yield name, path.read_text(encoding="utf-8")


def typed(node: ast.expr | None) -> bool:
    """Whether an expression is made of literals alone, and has a number in it."""
    if node is None:
        return False
    kinds = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.JoinedStr)
    parts = list(ast.walk(node))
    return not any(isinstance(part, kinds) for part in parts) and any(number(part) is not None for part in parts)


def number(node: ast.AST) -> int | None:
    """The integer that a literal is."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[int, str, ast.expr | None]]:
    """Line, name and value of the assignments of a module or class; value None: only annotated."""
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id, node.value
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]  # type: ignore[attr-defined]
                yield from ((node.lineno, name.id, value) for name, value in pairs if isinstance(name, ast.Name))


def violations(module: str, source: str) -> list[str]:
    tree = ast.parse(source)
    found = [*_constants(tree.body)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found += _constants(node.body)
            found += _tables(node)
        found += _expressions(node)
    return [f"{module}:{line}: {text}" for line, text in sorted(set(found))]


def _constants(body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
    """Constants that have the name of a fact, or its meaning and its value, and are typed."""
    for line, name, value in assigned(body):
        bare = name.lstrip("_")
        if not bare.isupper() or value is None or not typed(value):
            continue
        values = {found for part in ast.walk(value) if (found := number(part)) is not None}
        if isinstance(value, ast.BinOp):
            values = {eval(compile(ast.Expression(value), "", "eval"), {"__builtins__": {}})}
        if bare in CONSTANTS:
            yield line, f"{name} is typed again"
        elif values & REGISTERS.get(re.sub(r"_(ADDRESS|BIT|MASK|OFFSET)$", "", bare), set()):
            yield line, f"{name}: a register or a bit of one is typed again"
        for kind, pattern, facts in MEANINGS:
            if re.search(pattern, bare) and values & facts:
                yield line, f"{name}: a {kind} is typed again"


def _tables(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    names = {name for _, name, _ in assigned(node.body)}
    for what, members, most in TABLES:
        if len(names & members) >= most:
            yield node.lineno, f"class {node.name} has {what} again"


def _expressions(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Facts that are typed where they are used."""
    match node:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), right=ast.Constant(value=value)) if type(value) is int:
            facts = {bus.WORD_BYTES: "a word's bytes", dram.BLOCK_BYTES: "a block's bytes", bus.PAGE_BYTES: "a page"}
            if value in facts:
                yield node.lineno, f"{facts[value]} as a number"
        case ast.Call(func=ast.Name(id="min"), args=arguments) if any(
            number(one) in (bus.PAGE_BYTES, bus.BURST_BEATS) for one in arguments
        ):
            yield node.lineno, "the limit of a burst as a number"
        case ast.Call(func=ast.Name(id="round"), args=[ast.BinOp(op=ast.Mult(), left=left, right=right)]) if (
            dram.TICKS in (number(left), number(right))
        ):
            yield node.lineno, "the DRAM's units of time as a number"
        case ast.Call(func=ast.Name(id="SyncFIFO" | "SyncFIFOBuffered"), keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "depth" and number(keyword.value) is not None:
                    yield node.lineno, "the depth of a queue as a number"
        case ast.Call(func=ast.Attribute(attr="transfer" | "read_register" | "write_register"), args=[first, *_]) if (
            number(first) is not None
        ):
            yield node.lineno, "the address of a register as a number"
        case ast.Compare(left=left, comparators=[right]) if number(right):
            if "status" in ast.unparse(left).lower():
                yield node.lineno, "a bit of the status register as a number"
        case ast.BinOp(op=ast.BitAnd(), left=left, right=right) if number(right):
            if "status" in ast.unparse(left).lower():
                yield node.lineno, "a bit of the status register as a number"


def twice(sources: Iterable[tuple[str, str]]) -> list[str]:
    """Constants of one name and one value in several modules: numbers, and several of anything."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module, source in sources:
        for line, name, value in assigned(ast.parse(source).body):
            bare = name.lstrip("_")
            if value is None or not bare.isupper() or bare in APART:
                continue
            several = isinstance(value, ast.Tuple | ast.List | ast.Dict) and not module.startswith("cosim.")
            named = any(isinstance(part, ast.Name | ast.Attribute | ast.Call) for part in ast.walk(value))
            if typed(value) or (several and not named):
                found[bare, ast.unparse(value)].append(f"{module}:{line}")
    return [f"{name}: {' and '.join(places)}" for (name, _), places in found.items() if len(places) > 1]


def in_harness(source: str) -> list[str]:
    """Facts that the Verilog of the harness has as numbers."""
    return [
        f"{number}: {what}"
        for number, line in enumerate(source.splitlines(), 1)
        for pattern, what in IN_VERILOG.items()
        if re.search(pattern, line)
    ]


def test_no_fact_is_typed_again() -> None:
    assert [line for name, source in modules() for line in violations(name, source)] == []


def test_no_constant_is_typed_twice() -> None:
    assert twice(modules(TOGETHER)) == []


def test_the_harness_types_no_width_of_an_id_and_no_depth_of_a_queue() -> None:
    files = sorted(HARNESS.rglob("*.sv"))
    assert len(files) > 10
    assert {str(path): found for path in files if (found := in_harness(path.read_text(encoding="utf-8")))} == {}
    assert [name for name, source in modules(["cosim"]) if ID_IN_PYTHON.search(source)] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("QUEUE_WORDS = 64", "_QUEUE_WORDS: int = 64"),
        ("FORMAT, KIND = 5, 'a'", "FORMAT = 5"),
        ("ADDED = ('a', 'b')", "ADDED = ('a', 'b')"),
        ("DEPTHS = {'a': 64}", "DEPTHS = {'a': 64}"),
    ],
)
def test_a_second_typing_is_found(one: str, other: str) -> None:
    name = one.split(" ")[0].strip(",")
    assert twice([("hwgen.a", one), ("hwgen.b", f"\n{other}")]) == [f"{name}: hwgen.a:1 and hwgen.b:2"]
    assert twice([("hwgen.a", one), ("hwgen.b", f"from hwgen.a import {name}")]) == []


@pytest.mark.parametrize(
    "line",
    [
        "    parameter int IdBits = 2,",
        "  localparam int MasterIdBits = 2;",
        "  localparam int Queue = 16;",
        "    parameter int DramQueue = 15,",
        "  wire [1:0] awid, awburst;",
        "    input wire [           1:0] arid,",
        "          .id(arid[1:0]),",
        "          .awid(dut.of_axi__awid[2*c+:2]),".replace("of_axi__awid", "awid"),
    ],
)
def test_a_number_in_the_harness_is_found(line: str) -> None:
    assert in_harness(line)


def test_what_the_harness_is_given_passes() -> None:
    given = "parameter int IdBits = 0,\ninput wire [IdBits-1:0] awid,\nwire [1:0] awburst;\n.id(arid[IdBits-1:0])"
    assert in_harness(given) == []
    assert ID_IN_PYTHON.search('{"bid": 1}')
    assert not ID_IN_PYTHON.search('{"bid": ids}')


def test_there_are_facts_of_every_kind() -> None:
    assert {"WORD_BYTES", "BURST_BEATS", "BLOCK_BYTES", "PACKED_WORDS", "ALIGNMENT", "CAPTURE"} <= set(CONSTANTS)
    assert {"CONTROL", "STATUS", "DONE", "WATCHDOG", "EXTENT_M"} <= set(REGISTERS)
    assert all(values for _, _, values in MEANINGS)
    assert all(len(members) >= most for _, members, most in TABLES)
    assert len(list(modules())) > 100


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("WORD_BYTES = 4", "1: WORD_BYTES is typed again"),
        ("_PACKED_WORDS, OTHER = 8, 1", "1: _PACKED_WORDS is typed again"),
        ("WORD = 4", "1: WORD: a word is typed again"),
        ("BYTES = 1 << 2", "1: BYTES: a word is typed again"),
        ("MAX_BEATS = 256", "1: MAX_BEATS: a burst is typed again"),
        ("PAGE: int = 4096", "1: PAGE: a burst is typed again"),
        ("class A:\n    BLOCK = 128", "2: BLOCK: a DRAM is typed again"),
        ("PROGRAM_ALIGNMENT = 2 * 64", "1: PROGRAM_ALIGNMENT: a layout is typed again"),
        ("BOXES_AHEAD = 2", "1: BOXES_AHEAD: a latency or depth is typed again"),
        ("DRAM_LATENCY = 15", "1: DRAM_LATENCY: a latency or depth is typed again"),
        ("CAPTURE = 3", "1: CAPTURE is typed again"),
        ("TOKENS_HELD = 255", "1: TOKENS_HELD: a command is typed again"),
        ("STATUS = 0x8", "1: STATUS: a register or a bit of one is typed again"),
        ("DONE_BIT = 1 << 1", "1: DONE_BIT: a register or a bit of one is typed again"),
        ("class Flags(IntFlag):\n    DONE = 2", "2: DONE: a register or a bit of one is typed again"),
        ("class Timing:\n    latency: int = 0\n    row_bytes: int", "1: class Timing has the DRAM again"),
        (
            "class Dma(NamedTuple):\n    outstanding: int\n    beats_ahead: int",
            "1: class Dma has the DMA's parameters again",
        ),
        (
            "class Move:\n    length: int\n    dram_address: int\n    count_1: int\n    count_2: int = 1",
            "1: class Move has the descriptor's fields again",
        ),
        ("class Kind:\n    MOVE = 1\n    JOIN = 2\n    SYNC = 3", "1: class Kind has the opcodes again"),
        ("class Bits:\n    BUSY: int\n    FAILED: int", "1: class Bits has the bits of status again"),
        ("def f(size):\n    return -(-size // 4) * 4", "2: a word's bytes as a number"),
        ("first = address % 4096", "1: a page as a number"),
        ("block = address // 128", "1: a block's bytes as a number"),
        ("window = min(4096, 256 * beat)", "1: the limit of a burst as a number"),
        ("rate = round(256 * block_cycles)", "1: the DRAM's units of time as a number"),
        ("queue = SyncFIFO(width=8, depth=16)", "1: the depth of a queue as a number"),
        ("model.transfer(0x4, 1)", "1: the address of a register as a number"),
        ("ok = outcome.status == 2", "1: a bit of the status register as a number"),
        ("ok = registers['status'] & 0x2", "1: a bit of the status register as a number"),
    ],
)
def test_the_check_can_fail(source: str, line: str) -> None:
    assert f"module:{line}" in violations("module", source)


@pytest.mark.parametrize(
    "source",
    [
        "WRITES = WORD_BYTES",
        "WORD = bus.WORD_BYTES",
        "MOST_JOBS = 1 << 24",
        "NATIVE_CYCLES = 1 << 23",
        "class StreamId(Enum):\n    LOAD = 0\n    STORE = 1",
        "WATCHDOG = 1 << 20",
        "class Fetch:\n    latency: float\n    beats: int",
        "queue = SyncFIFO(width=8, depth=LINES_AHEAD)",
        "ok = outcome.status == Status.DONE",
        "half = size // 2",
        "@lru_cache(maxsize=4096)\ndef f(): ...",
    ],
)
def test_what_is_no_fact_passes(source: str) -> None:
    assert violations("module", source) == []
