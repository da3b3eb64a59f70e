"""Programs that do one convolution on a processor, and what their accesses of the caches are.

Cachegrind simulates two levels, with no prefetching: 32 KB of data and a last level, here of 256 KB. Misses of data
in the first are accesses of L2, in the last level of L3. Reads and writes count alike, in lines of 64 bytes.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.papers.yang.caches import BLOCKED
from hwgen.papers.yang.halide_kernel import halide_kernel

__all__ = ["LIBRARIES", "Counts", "Program", "accesses", "blocked", "counts_in", "through_gemm"]

SOURCE = Path(__file__).parent / "convolve.c"
CACHEGRIND = ("valgrind", "--tool=cachegrind", "--I1=32768,4,64", "--D1=32768,8,64", "--LL=262144,8,64",
              "--cachegrind-out-file=/dev/null")  # fmt: skip
DEBIAN = "/usr/lib/x86_64-linux-gnu"
ONE_THREAD = {"MKL_THREADING_LAYER": "SEQUENTIAL", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Library:
    """A BLAS library: the paths at which it may be, and the environment that chooses its kernels."""

    name: str
    paths: tuple[str, ...]
    environment: dict[str, str]

    def found(self, prefix: Path) -> Path | None:
        """The first path that is there, also below the prefix of a virtual environment."""
        return next((path for one in self.paths if (path := prefix / one).exists()), None)


LIBRARIES = (
    Library("ATLAS", (f"{DEBIAN}/atlas/libblas.so.3",), {}),
    Library("MKL", ("lib/libmkl_rt.so.3", "lib/libmkl_rt.so.2"), {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2"}),
    Library("MKL, AVX2", ("lib/libmkl_rt.so.3", "lib/libmkl_rt.so.2"), {"MKL_ENABLE_INSTRUCTIONS": "AVX2"}),
    Library("OpenBLAS", (f"{DEBIAN}/openblas-serial/libblas.so.3",), {"OPENBLAS_CORETYPE": "NEHALEM"}),
)
"""ATLAS is compiled for one machine, the others choose by the processor. SSE4.2 is what the paper's Westmere has."""


@dataclass(frozen=True)
class Program:
    """A compiled program: its name, what it is called with, and its environment's additions."""

    name: str
    path: Path
    library: Path | None
    environment: dict[str, str]

    def command(self, runs: int) -> list[str]:
        """The command that runs the convolution ``runs`` times."""
        return [str(self.path), str(runs), *([] if self.library is None else [str(self.library)])]


@dataclass(frozen=True)
class Counts:
    """Counts of one convolution: accesses of L2 and of L3, lines of 64 bytes; the checksum of the output."""

    l2: int
    l3: int
    checksum: str


def blocked(schedule: Schedule, folder: Path) -> Program:
    """The Halide kernel of a schedule."""
    import halide

    halide_kernel(schedule).write_library(folder / "kernel")
    path = folder / "blocked"
    headers = Path(halide.__file__).parent / "include"
    _compile(schedule.layer, path, "-DBLOCKED", f"-I{folder}", f"-I{headers}", libraries=[str(folder / "kernel.a")])
    return Program(BLOCKED, path, None, {})


def through_gemm(layer: Layer, folder: Path, prefix: Path) -> Iterator[Program]:
    """Im2col and GEMM, with each library that is installed."""
    path = folder / "gemm"
    _compile(layer, path)
    for library in LIBRARIES:
        found = library.found(prefix)
        if found is not None:
            yield Program(library.name, path, found, library.environment)


def _compile(layer: Layer, path: Path, *options: str, libraries: Sequence[str] = ()) -> None:
    sizes = {
        "CHANNELS": layer.input_channels, "FILTERS": layer.output_channels,
        "IN_HEIGHT": layer.input_height, "IN_WIDTH": layer.input_width,
        "OUT_HEIGHT": layer.output_height, "OUT_WIDTH": layer.output_width,
        "KERNEL_HEIGHT": layer.kernel[0], "KERNEL_WIDTH": layer.kernel[1],
        "STRIDE_DOWN": layer.stride[0], "STRIDE_RIGHT": layer.stride[1],
    }  # fmt: skip
    defined = [f"-D{name}={size}" for name, size in sizes.items()]
    command = ["gcc", "-O2", "-march=nehalem", *defined, *options, str(SOURCE), *libraries, "-o", str(path)]
    subprocess.run([*command, "-ldl", "-lpthread", "-lm"], check=True)


def accesses(program: Program) -> Counts:
    """What one convolution adds: a program that does one less a program that does none."""
    (l2, l3), checksum = _simulated(program, 1)
    (l2_without, l3_without), _ = _simulated(program, 0)
    return Counts(l2 - l2_without, l3 - l3_without, checksum)


def _simulated(program: Program, runs: int) -> tuple[tuple[int, int], str]:
    environment = {**os.environ, **ONE_THREAD, **program.environment}
    command = [*CACHEGRIND, *program.command(runs)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr[-500:]}")
    return counts_in(done.stderr), done.stdout.strip()


def counts_in(summary: str) -> tuple[int, int]:
    """Misses of data in the first and in the last level, from cachegrind's summary."""
    found = [re.search(rf"\b{name}\s+misses:\s+([\d,]+)", summary) for name in ("D1", "LLd")]
    if None in found:
        raise RuntimeError(f"expected the misses of D1 and LLd in cachegrind's summary, got {summary[-500:]!r}")
    first, last = (int(match[1].replace(",", "")) for match in found if match)
    return first, last
