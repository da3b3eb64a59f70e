"""The clock and the critical path of nextpnr's report."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwgen.tools.toolchain import ToolError

__all__ = ["CriticalPath", "signal_of", "timing_of"]


@dataclass(frozen=True)
class CriticalPath:
    """The critical path: its two registers, and its nanoseconds in cells and in wires."""

    start: str
    end: str
    logic_ns: float
    routing_ns: float
    through: tuple[str, ...] = ()

    @property
    def ns(self) -> float:
        """Of the whole."""
        return self.logic_ns + self.routing_ns


def timing_of(report: Mapping[str, Any]) -> tuple[float, CriticalPath]:
    """Clock and critical path of nextpnr's report."""
    clocks = report["fmax"]
    if len(clocks) != 1:
        raise ToolError(f"synthesis: expected one clock, nextpnr found {len(clocks)}")
    ((_, clock),) = clocks.items()
    for path in report["critical_paths"]:
        if path["from"].startswith("posedge") and path["to"].startswith("posedge"):
            return round(clock["achieved"], 2), _critical(path["path"])
    raise ToolError("synthesis: nextpnr's report has no path between registers")


def _critical(parts: Sequence[Mapping[str, Any]]) -> CriticalPath:
    spent = {
        kind: sum(p["delay"] for p in parts if (p["type"] == "routing") is routed)
        for kind, routed in (("logic", False), ("routing", True))
    }
    cells = [signal_of(part["from"]["cell"]) for part in parts] + [signal_of(parts[-1]["to"]["cell"])]
    through = tuple(dict.fromkeys(cell for cell in cells if cell not in (cells[0], cells[-1])))
    return CriticalPath(cells[0], cells[-1], round(spent["logic"], 2), round(spent["routing"], 2), through)


def signal_of(cell: str) -> str:
    """The signal that a cell's name tells of: what Yosys and nextpnr append to it is left out."""
    return (
        re.split(r"_(?:TRELLIS|LUT4|CCU2C|PFUMX|L6MUX21|MULT18X18D|DP16KD|PDPW16KD)(?=_|\b|\d)|\$", cell)[0] or cell
    )
