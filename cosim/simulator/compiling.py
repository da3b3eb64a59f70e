"""Compilation from Verilog to Verilator's executable without make: two translation units, beside a runtime that is
compiled once.

Verilator writes some ten C++ files for a design, and its makefile compiles, besides them, two precompiled headers and
the runtime library, each time anew: two thirds of the time of a build. Here the files that run in every cycle are one
unit and those that run once are another, which is not optimised; the runtime's parts are objects that all builds
link. Without optimisation there is one unit. For short runs the runtime's headers are precompiled, half of what the
compiler then reads. A library, which clusters are, has the modules that Verilator keeps as instances in a unit of
their own.
"""

import hashlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import cocotb_tools.config

from hwgen.tools.kept import kept_folder, kept_folders
from hwgen.tools.processes import started, stop
from hwgen.tools.toolchain import cache_room, environment, fingerprint, verilator_root

__all__ = ["UNOPTIMISED", "CommandFailed", "compile_bench", "compile_library", "compile_model", "verilate"]

DEFINES = ["-DVERILATOR=1", *(f"-DVM_{what}=0" for what in ("COVERAGE", "SC", "TIMING", "TRACE", "TRACE_FST",
                                                             "TRACE_VCD", "TRACE_SAIF"))]  # fmt: skip
SHARED_FLAGS = ["-fPIC", "-fno-gnu-unique"]
RUNTIME_FLAGS = ["-O1", *SHARED_FLAGS]
"""What a model does in every cycle is in its own files; -O2 takes a third longer to compile the runtime."""
LIBRARY_FLAGS = ["-shared", "-Wl,-Bsymbolic"]
"""Models that are loaded into one process must not share what the compiler would keep once for all libraries."""
UNOPTIMISED = ["-O0", *SHARED_FLAGS]
NO_COLLECTION = ["--param", "ggc-min-heapsize=1000000"]
"""The compiler collects no garbage below a GB, of which it takes half: after precompiled headers it saves a sixth."""
LARGE_PAGES = "glibc.malloc.hugetlb=1"
"""Verilator's trees on pages of 2 MB, where the system offers them: a tenth of its time."""
HEADERS = "runtime.h"
OBJECT = "part.o"
RUNTIME_HEADERS = ("verilated.h", "verilated_dpi.h", "verilated_vpi.h", "verilated_sym_props.h")


class CommandFailed(Exception):
    """A tool ended with an error; what it said is in the log."""


def verilate(folder: Path, top: str, arguments: Sequence[str], log: Path, *, vpi: bool = True) -> None:
    """Have Verilator write the C++ files of a model ``Vtop`` into a folder, with a VPI unless it is not wanted."""
    access = ["--vpi", "--public-flat-rw"] if vpi else []
    command = ["verilator", "-cc", *access, "--prefix", "Vtop", "-Mdir", str(folder)]
    command += ["--top-module", top, "--timescale", "1ns/1ps", *arguments]
    _run([command], log, {"GLIBC_TUNABLES": LARGE_PAGES})


def compile_model(
    folder: Path, executable: str, flags: Sequence[str], more: Sequence[Path], log: Path, *, main: Path | None = None
) -> None:
    """Compile what Verilator wrote into a folder, with cocotb's main or another one.

    Parameters
    ----------
    executable : its name in the folder.
    flags : the compiler's, for what runs in every cycle.
    more : further C++ files for the same unit.
    main : the file with the main function, instead of cocotb's.
    """
    files = sorted(folder.glob("*.cpp"))
    bench = main is None
    main = main or cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    slow = [file for file in files if "__Slow" in file.name]
    units = {"often": ([*(file for file in files if file not in slow), *more, main], list(flags))}
    if flags == UNOPTIMISED:
        units["often"][0].extend(slow)
    else:
        units["once"] = (slow, UNOPTIMISED)
    runtime = _runtime(_runtime_sources(folder), log)
    commands = []
    for name, (sources, optimisation) in units.items():
        unit = _unit(folder / f"{name}.cc", sources)
        command = [*_compiler(), *_headers(optimisation, log), f"-I{folder}", *optimisation]
        commands.append([*command, "-c", str(unit), "-o", f"{unit}.o"])
    _run(commands, log)
    profile = [flag for flag in flags if flag.startswith("-fprofile")]
    linker = ["g++", "-rdynamic", *profile, *(str(folder / f"{name}.cc.o") for name in units), *runtime]
    _run([[*linker, *(_cocotb() if bench else []), "-pthread", "-o", str(folder / executable)]], log)


def compile_library(folder: Path, flags: Sequence[str], more: Sequence[Path], log: Path) -> Path:
    """Compile what Verilator wrote into a folder, and further C++ files, to a library to be loaded; its path.

    What runs in every cycle is two units, so that two processors share the work: modules that are instances of their
    own, and the rest with ``more``.
    """
    library = folder / "model.so"
    files = sorted(folder.glob("*.cpp"))
    slow = [file for file in files if "__Slow" in file.name]
    rest = [file for file in files if file not in slow]
    modules = [file for file in rest if re.match(r"Vtop_(?!_)", file.name)]
    units = {
        "modules": (modules, list(flags)),
        "rest": ([*(file for file in rest if file not in modules), *more], list(flags)),
        "once": (slow, UNOPTIMISED),
    }
    runtime = _runtime(_runtime_sources(folder), log)
    commands, objects = [], []
    for name, (sources, optimisation) in units.items():
        if not sources:
            continue
        unit = _unit(folder / f"{name}.cc", sources)
        objects.append(f"{unit}.o")
        command = [*_compiler(), *_headers(optimisation, log), f"-I{folder}", *optimisation, *SHARED_FLAGS]
        commands.append([*command, "-c", str(unit), "-o", objects[-1]])
    _run(commands, log)
    _run([["g++", *LIBRARY_FLAGS, *objects, *runtime, "-pthread", "-o", str(library)]], log)
    return library


def compile_bench(folder: Path, library: Path, executable: str, more: Sequence[Path], log: Path) -> None:
    """Compile cocotb's main, and link it with the objects of a library that `compile_library` made.

    Parameters
    ----------
    folder : where the executable goes.
    library : the folder of the library.
    executable : its name.
    more : further C++ files.
    """
    main = cocotb_tools.config.share_dir / "lib" / "verilator" / "verilator.cpp"
    unit = _unit(folder / "bench.cc", [*more, main])
    compiled = [*_compiler(), *_headers(UNOPTIMISED, log), f"-I{library}", *UNOPTIMISED]
    _run([[*compiled, "-c", str(unit), "-o", f"{unit}.o"]], log)
    objects = [f"{unit}.o", *map(str, sorted(library.glob("*.cc.o"))), *_runtime(_runtime_sources(library), log)]
    _run([["g++", "-rdynamic", *objects, *_cocotb(), "-pthread", "-o", str(folder / executable)]], log)


def _cocotb() -> list[str]:
    """Linker options for what cocotb needs of a simulator."""
    libraries = cocotb_tools.config.libs_dir
    return [f"-Wl,-rpath,{libraries}", f"-L{libraries}", "-lcocotbvpi_verilator"]


def _compiler() -> list[str]:
    include = verilator_root() / "include"
    return ["g++", f"-I{include}", f"-I{include / 'vltstd'}", *DEFINES, *NO_COLLECTION]


def _unit(file: Path, sources: Sequence[Path]) -> Path:
    """A file that includes all of the sources."""
    file.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    return file


def _headers(flags: Sequence[str], log: Path) -> list[str]:
    """The options with which the compiler begins with the runtime's headers, precompiled unless they are there.

    None if it optimises for speed: reading headers is then little of its work.
    """
    if not {"-O0", "-Og"} & {*flags}:
        return []
    options = [*flags, *(flag for flag in SHARED_FLAGS if flag not in flags)]
    key = " ".join([fingerprint("verilator"), str(verilator_root()), *DEFINES, *options])

    def make(fresh: Path) -> None:
        header = fresh / HEADERS
        header.write_text("".join(f'#include "{file}"\n' for file in RUNTIME_HEADERS), encoding="utf-8")
        _run([[*_compiler(), *options, "-x", "c++-header", str(header), "-o", f"{header}.gch"]], log)

    digest = hashlib.sha256(key.encode()).hexdigest()[:24]
    return ["-include", str(kept_folder(cache_room("runtime") / f"headers-{digest}", make) / HEADERS)]


def _runtime_sources(folder: Path) -> list[Path]:
    """The parts of Verilator's runtime that a model needs, as the makefile beside it lists them."""
    names: list[str] = []
    listing = False
    for line in (folder / "Vtop_classes.mk").read_text(encoding="utf-8").splitlines():
        if listing and line.strip():
            names.append(line.strip(" \\"))
        listing = line.startswith("VM_GLOBAL_") or (listing and bool(line.strip()))
    return [verilator_root() / "include" / f"{name}.cpp" for name in names]


def _runtime(sources: Sequence[Path], log: Path) -> list[str]:
    """The runtime's parts, compiled unless they are there: each is kept by itself, as not every model needs all."""
    room = cache_room("runtime")
    flags = " ".join([fingerprint("verilator"), *DEFINES, *RUNTIME_FLAGS])
    parts = {
        room / f"{source.stem}-{hashlib.sha256(f'{flags} {source}'.encode()).hexdigest()[:24]}": source
        for source in sorted(sources)
    }

    def make(fresh: Mapping[Path, Path]) -> None:
        compile_ = [*_compiler(), *RUNTIME_FLAGS, "-c"]
        _run([[*compile_, str(parts[part]), "-o", str(folder / OBJECT)] for part, folder in fresh.items()], log)

    kept_folders(list(parts), make)
    return [str(part / OBJECT) for part in parts]


def _run(commands: Sequence[Sequence[str]], log: Path, variables: Mapping[str, str] = MappingProxyType({})) -> None:
    """Run commands side by side, their output into the log; `CommandFailed` if one fails.

    ``variables`` : of their environment, unless the user has set them.
    """
    processes: list[subprocess.Popen[bytes]] = []
    surroundings = {**variables, **environment("verilator")}
    with log.open("ab") as file:
        try:
            for command in commands:
                file.write((" ".join(command) + "\n").encode())
                file.flush()
                processes.append(started(command, surroundings, output=file))
            failed = [command for command, process in zip(commands, processes, strict=True) if process.wait()]
        finally:
            for process in processes:
                stop(process)
    if failed:
        raise CommandFailed(failed[0][0])
