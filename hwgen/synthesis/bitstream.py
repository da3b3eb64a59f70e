"""Bitstreams for boards with an ECP5: Yosys, nextpnr with the pads, ecppack; what a design takes and reaches."""

import base64
import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from hwgen.arch.boards import Board
from hwgen.export.board.top import TOP
from hwgen.ir.document import json_text, write_atomically
from hwgen.synthesis.cells import Area, area_of
from hwgen.synthesis.ecp5 import versions
from hwgen.synthesis.tool_run import Device, ToolRun
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import kept_text, locked_entry
from hwgen.tools.toolchain import ToolError, cache_room

__all__ = ["Bitstream", "make_bitstream"]

Tell = Callable[[str], None]
PACKAGES = {"BG": "CABGA", "MG": "CSFBGA"}
"""Packages as nextpnr names them, by the letters of the order code."""
FORMAT = 2
SECONDS = 7200.0
"""Time after which a tool is given up."""


@dataclass(frozen=True)
class Bitstream:
    """What came of a design.

    Members
    -------
    content : the bitstream; None where the design was not placed.
    area : its cells.
    clock_mhz : the highest clock; None where it was not placed.
    log : what nextpnr said; empty where it was not placed.
    seconds : that it took.
    """

    content: bytes | None
    area: Area
    clock_mhz: float | None
    log: str
    seconds: float

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        content = None if self.content is None else base64.b64encode(self.content).decode()
        return {**asdict(self), "content": content}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `as_data`."""
        content = None if data["content"] is None else base64.b64decode(data["content"])
        return cls(**{**data, "content": content, "area": Area(**data["area"])})


def make_bitstream(
    verilog: str,
    pads: str,
    board: Board,
    mhz: float,
    *,
    failed: Path | None = None,
    seconds: float = SECONDS,
    tell: Tell = lambda stage: None,
) -> Bitstream:
    """Make the bitstream of a design with the top `TOP`, unless it was made before; `ToolError` where a tool fails.

    A design that takes more than the FPGA has is not placed.

    Parameters
    ----------
    pads : the constraints of nextpnr, as an LPF file has them.
    mhz : the clock that is asked for.
    failed : where what a tool said is left if it fails; the error names the file.
    seconds : after which a tool is given up.
    tell : called with the name of each stage before it begins.
    """
    package = PACKAGES[board.package[:2]] + board.package[2:]
    device = Device(size=board.size, package=package, speed=board.speed, wanted_mhz=mhz)
    key = digest_of([FORMAT, "bitstream", verilog, pads, asdict(device), asdict(board), versions()])
    file = cache_room("synthesis") / f"{key}.json"

    def make() -> str:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            run = ToolRun(Path(name), TOP, device, seconds, tell)
            try:
                made = _made(run, verilog, pads, board)
            except ToolError as error:
                raise ToolError(f"{error}{_left(Path(name), failed)}") from None
        return json_text(replace(made, seconds=round(time.perf_counter() - began, 1)).as_data())

    with locked_entry(file):
        return Bitstream.from_data(json.loads(kept_text(file, make)))


def _made(run: ToolRun, verilog: str, pads: str, board: Board) -> Bitstream:
    area, fpga = area_of(run.cells(verilog)), board.fpga
    if area.lut4_equivalents > fpga.luts or area.block_rams > fpga.brams or area.dsps > fpga.dsps:
        return Bitstream(None, area, None, "", 0)
    report = run.on_pads(pads)
    clock = round(min(one["achieved"] for one in report["fmax"].values()), 2)
    log = (run.folder / "nextpnr.log").read_text(encoding="utf-8", errors="replace")
    return Bitstream((run.folder / "board.bit").read_bytes(), area, clock, log, 0)


def _left(folder: Path, to: Path | None) -> str:
    """The log of the last tool, left in a folder: what is to be added to an error."""
    logs = sorted(folder.glob("*.log"), key=lambda one: one.stat().st_mtime)
    if to is None or not logs:
        return ""
    write_atomically(to / logs[-1].name, logs[-1].read_bytes())
    return f" (all it said: {to / logs[-1].name})"
