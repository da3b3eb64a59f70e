"""Area of a design in the cells of a standard-cell library, by block, and the clock of its logic.

Yosys maps the flattened design: flip-flops, and memories as arrays of them; logic by its abc. Memories that the
caller names, the shared memory of a cluster, stay as they are: they are told with their size. What was found for a
text, a library and a version of Yosys is kept.

*Clock* is the longest path between two flip-flops: from the clock to the output of the first, through the logic, and
the time before the clock that the second wants; each cell drives `hwgen.synthesis.liberty.FAN_OUT` times its own
input. There are no wires and no clock tree in it, and no trees of buffers where a net has many readers.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from hwgen.ir.document import json_text
from hwgen.synthesis.cells import block_of
from hwgen.synthesis.ecp5 import DEFAULT_SECONDS, versions
from hwgen.synthesis.liberty import Library
from hwgen.synthesis.tool_run import DEVICE, ToolRun
from hwgen.tools.cache import digest_of
from hwgen.tools.kept import kept_text, locked_entry
from hwgen.tools.toolchain import ToolError, cache_room

__all__ = ["CellArea", "LongestPath", "Mapped", "Memory", "mapped_to_cells"]

Tell = Callable[[str], None]
FORMAT = 1
"""Version of the results, as that of `hwgen.synthesis.ecp5`."""


@dataclass(frozen=True)
class CellArea:
    """Cells of a library.

    Members
    -------
    um2 : their area; nothing between them.
    cells : their number.
    flip_flops : those among them.
    leakage_mw : power that they take at rest.
    """

    um2: float = 0.0
    cells: int = 0
    flip_flops: int = 0
    leakage_mw: float = 0.0

    def __add__(self, other: Self) -> "CellArea":
        return CellArea(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def times(self, number: int) -> "CellArea":
        """A number of them."""
        return CellArea(*(number * getattr(self, one.name) for one in fields(self)))


@dataclass(frozen=True)
class Memory:
    """A memory of a design: its words and their bits, and whether they are flip-flops in the area."""

    name: str
    words: int
    bits: int
    as_registers: bool

    @property
    def size(self) -> int:
        """All its bits."""
        return self.words * self.bits


@dataclass(frozen=True)
class LongestPath:
    """The longest path between flip-flops: both, its nanoseconds, and the cells of logic on it."""

    start: str
    end: str
    ns: float
    levels: int


@dataclass(frozen=True)
class Mapped:
    """A design in the cells of a library.

    Members
    -------
    blocks : by the instances in the design; the top's own are in the block of no name.
    memories : those that are written.
    critical : the longest path; None where the library has no delays, or the design no path.
    """

    blocks: Mapping[str, CellArea]
    memories: tuple[Memory, ...]
    critical: LongestPath | None = None
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> CellArea:
        """All blocks."""
        return sum(self.blocks.values(), CellArea())

    def as_data(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> "Mapped":
        """The inverse of `as_data`."""
        critical = data["critical"]
        return cls(
            {name: CellArea(**one) for name, one in data["blocks"].items()},
            tuple(Memory(**one) for one in data["memories"]),
            None if critical is None else LongestPath(**critical),
            data["tools"],
        )


def mapped_to_cells(
    verilog: str,
    top: str,
    library: Library,
    *,
    blackboxes: tuple[str, ...] = (),
    left: str = "",
    seconds: float = DEFAULT_SECONDS,
    tell: Tell = lambda stage: None,
) -> Mapped:
    """A design in the cells of a library, unless it is known; raises `ToolError` where Yosys refuses.

    Parameters
    ----------
    verilog, top : the design's text and the name of its top module.
    blackboxes : modules that are left out.
    left : how the names of memories begin that are no flip-flops; none where it is empty.
    seconds : after which Yosys is given up.
    tell : called with the name of each stage before it begins.
    """
    tools = {name: one for name, one in versions().items() if "yosys" in name}
    key = digest_of([FORMAT, "standard cells", verilog, top, blackboxes, left, library.text, tools])
    file = cache_room("synthesis") / f"{key}.json"

    def make() -> str:
        with tempfile.TemporaryDirectory(prefix="hwgen-") as name:
            run = ToolRun(Path(name), top, DEVICE, seconds, tell, blackboxes)
            memories, cells = run.standard_cells(verilog, library.text, left)
        found = Mapped(
            _blocks(cells, library), tuple(_memories(memories, left)), longest_path(cells, library), tools
        )  # fmt: skip
        return json_text(found.as_data())

    with locked_entry(file):
        return Mapped.from_data(json.loads(kept_text(file, make)))


def _blocks(cells: Mapping[str, Any], library: Library) -> dict[str, CellArea]:
    found: dict[str, CellArea] = {}
    for name, cell in cells.items():
        kind = cell["type"]
        if kind == "$scopeinfo" or kind.startswith("$mem"):
            continue
        if kind not in library.cells:
            raise ToolError(f"synthesis: {name}: {library.name} has no cell for a {kind}")
        one, block = library.cells[kind], block_of(name)
        found[block] = found.get(block, CellArea()) + CellArea(one.area, 1, int(one.flip_flop), one.leakage)
    return {block: found[block] for block in sorted(found)}


def _memories(cells: Mapping[str, Any], left: str) -> Iterable[Memory]:
    """The memories among some cells; those that nothing writes are tables of constants, which become logic."""
    for name, cell in sorted(cells.items()):
        if cell["type"].startswith("$mem") and int(cell["parameters"].get("WR_PORTS", "1"), 2):
            words, bits = (int(cell["parameters"][key], 2) for key in ("SIZE", "WIDTH"))
            yield Memory(name, words, bits, not (left and name.startswith(left)))


def longest_path(cells: Mapping[str, Any], library: Library) -> LongestPath | None:
    """The longest path between two flip-flops; None where there is none, or the library has no delays."""
    delays = library.delays
    arrivals: dict[int, tuple[float, str, int]] = {}
    drivers: dict[int, list[tuple[int, float]]] = {}
    ends: list[tuple[str, int, float]] = []
    for name, cell in cells.items():
        one = library.cells.get(cell["type"])
        if one is None:
            continue
        pins = {pin: bits[0] for pin, bits in cell["connections"].items() if bits and isinstance(bits[0], int)}
        for (start, end), ns in delays.get(one.name, {}).items():
            if end not in pins:
                continue
            if one.flip_flop:
                arrivals[pins[end]] = max(arrivals.get(pins[end], (0.0, "", 0)), (ns, name, 0))
            elif start in pins:
                drivers.setdefault(pins[end], []).append((pins[start], ns))
        ends += [(name, pins[pin], library.setup(one, pin)) for pin in one.setups if pin in pins]
    _propagate(arrivals, drivers)
    reached = [(arrivals[bit][0] + setup, name, bit) for name, bit, setup in ends if bit in arrivals]
    if not reached:
        return None
    ns, name, bit = max(reached)
    _, start, levels = arrivals[bit]
    return LongestPath(_signal(start, library), _signal(name, library), round(ns, 3), levels)


def _propagate(arrivals: dict[int, tuple[float, str, int]], drivers: Mapping[int, list[tuple[int, float]]]) -> None:
    """When each net is there, of those that flip-flops reach: nanoseconds, the flip-flop, cells on the way."""
    done = set(arrivals)
    for net in drivers:
        waiting = [net]
        while waiting:
            here = waiting[-1]
            if here in done:
                waiting.pop()
                continue
            before = [bit for bit, _ in drivers.get(here, ()) if bit not in done and bit not in waiting[-1:]]
            if before:
                waiting += before
                continue
            waiting.pop()
            done.add(here)
            of_all = [(arrivals[bit], ns) for bit, ns in drivers.get(here, ()) if bit in arrivals]
            if of_all:
                arrivals[here] = max((ns + own, start, levels + 1) for (ns, start, levels), own in of_all)


def _signal(cell: str, library: Library) -> str:
    """The signal that a cell's name tells of: those of cells are appended to it."""
    return re.split(rf"_(?:{'|'.join(map(re.escape, library.cells))})_", cell)[0]
