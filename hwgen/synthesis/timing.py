"""The clock and the critical path of nextpnr's report."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from hwgen.synthesis.surroundings import INPUTS, OUTPUTS
from hwgen.tools.toolchain import ToolError

__all__ = ["CriticalPath", "Timing", "signal_of", "timing_of"]


@dataclass(frozen=True)
class CriticalPath:
    """The longest path of a kind: its two registers, and its nanoseconds in cells and in wires."""

    start: str
    end: str
    logic_ns: float
    routing_ns: float
    through: tuple[str, ...] = ()

    @property
    def ns(self) -> float:
        """Nanoseconds of the whole."""
        return self.logic_ns + self.routing_ns

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`."""
        return cls(**{**data, "through": tuple(data["through"])})


@dataclass(frozen=True)
class Timing:
    """What nextpnr's report says of a design that is `surrounded` by registers.

    Members
    -------
    clock_mhz : the highest clock, from register to register.
    critical : the path that limits it.
    from_inputs, to_outputs, across : the longest path from an input to a register, from a register to an output,
        and from an input to an output; None without such a path.
    """

    clock_mhz: float
    critical: CriticalPath
    from_inputs: CriticalPath | None = None
    to_outputs: CriticalPath | None = None
    across: CriticalPath | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`."""
        paths = {
            name: None if data[name] is None else CriticalPath.from_data(data[name])
            for name in ("from_inputs", "to_outputs", "across")
        }
        return cls(data["clock_mhz"], CriticalPath.from_data(data["critical"]), **paths)


def timing_of(report: Mapping[str, Any]) -> Timing:
    """Clock and longest paths of nextpnr's report."""
    clocks = [name for name in report["fmax"] if not name.endswith((INPUTS, OUTPUTS))]
    if len(clocks) != 1:
        raise ToolError(f"synthesis: expected one clock, nextpnr found {len(clocks)}")
    paths = {(_edge(path["from"]), _edge(path["to"])): path["path"] for path in reversed(report["critical_paths"])}

    def longest(start: str, end: str) -> CriticalPath | None:
        return _critical(paths[start, end]) if (start, end) in paths else None

    critical = longest("clk", "clk")
    if critical is None:
        raise ToolError("synthesis: nextpnr's report has no path between registers")
    return Timing(
        round(report["fmax"][clocks[0]]["achieved"], 2),
        critical,
        from_inputs=longest(INPUTS, "clk"),
        to_outputs=longest("clk", OUTPUTS),
        across=longest(INPUTS, OUTPUTS),
    )


def _edge(event: str) -> str:
    """The clock of one end of a path, without what nextpnr adds to its name; the design's is ``clk``."""
    if not event.startswith("posedge"):
        return event
    return next((outside for outside in (INPUTS, OUTPUTS) if event.endswith(outside)), "clk")


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
