"""Counts accesses of L2 and L3 of five layers, blocked and through GEMM, and prints them beside the paper's claims.

``python -m benchmarks.cpu [FOLDER]`` (``results/cpu``). Schedules in the folder are taken as they are.
The exit status is 1 if two outputs of a layer differ, 2 if a tool is missing.
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cpu.claims import Measured, cache_claims
from benchmarks.cpu.predicted import predicted_lines
from benchmarks.cpu.programs import LIBRARIES, accesses, blocked, through_gemm
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy, load_hierarchy
from hwgen.ir.network import load_layer_set
from hwgen.ir.schedule import load_schedule
from hwgen.report.claims import claims_table

HERE = Path(__file__).parent
SETTING = """\
Caches of 32 KB, 256 KB and 12 MB, simulated by cachegrind (no prefetching); float32, SSE4.2 but for the column AVX2.
model: full lines that the hierarchy's model has for the schedule, on half of each cache, for which it was searched.
blocked: Halide from the schedule that `hwgen schedule --hierarchy` found; others: im2col and GEMM, as Caffe does it.
Accesses are lines of 64 bytes, reads and writes. Blocked rows and planes are padded; `share`: of the layer's work."""


def missing_tools() -> list[str]:
    """What must be installed, and how; libraries are optional."""
    tools = {"valgrind": "apt install valgrind", "gcc": "apt install gcc"}
    found = [f"{tool} ({how})" for tool, how in tools.items() if shutil.which(tool) is None]
    return found + ([] if find_spec("halide") else ["the Python package halide (pip install 'hwgen[cpu]')"])


def find_schedules(folder: Path, layers: list[Layer]) -> None:
    """Search, unless the folder has a schedule of each layer."""
    if all((folder / f"{layer.name}.yaml").exists() for layer in layers):
        return
    print("searching schedules (minutes)", file=sys.stderr, flush=True)
    arguments = ["schedule", HERE / "slices.yaml", "--hierarchy", HERE / "caches.yaml", "-o", folder]
    program = "import sys; from hwgen.cli.main import main; sys.exit(main())"
    subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=True)


def measured(layer: Layer, file: Path, full: Layer, hierarchy: Hierarchy) -> Measured:
    """All programs of one layer, each printed when it is counted, below what the model has for the schedule."""
    schedule, share = load_schedule(file), layer.macs / full.macs
    l2, l3 = (round(predicted_lines(schedule, hierarchy, within)) for within in ("l1", "l2"))
    print(f"{layer.name:8}{100 * share:8.3f} %  {'model':12}{l2:14,}{l3:14,}")
    counts = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        programs = [blocked(schedule, folder)]
        programs += through_gemm(layer, folder, Path(sys.prefix))
        for program in programs:
            found = counts[program.name] = accesses(program)
            first = counts["blocked"]
            times = f"{found.l2 / first.l2:8.2f}{found.l3 / first.l3:8.2f}"
            figures = f"{found.l2:14,}{found.l3:14,}{times}"
            same = "same output" if found.checksum == first.checksum else "OTHER OUTPUT"
            print(f"{layer.name:8}{100 * share:8.3f} %  {program.name:12}{figures}  {same}", flush=True)
    return Measured(layer.name, share, counts)


def main() -> int:
    """Everything; the exit status."""
    if missing := missing_tools():
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    for library in LIBRARIES:
        if library.found(Path(sys.prefix)) is None:
            print(f"{library.name} is not installed: LEFT OUT", file=sys.stderr)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results/cpu")
    layers = list(load_layer_set(str(HERE / "slices.yaml")).convolutions())
    full = {layer.name: layer for layer in load_layer_set("yang_2016").convolutions()}
    find_schedules(folder / "schedules", layers)
    print(SETTING)
    print(f"{'layer':8}{'share':>10}  {'program':12}{'L2':>14}{'L3':>14}{'times':>8}{'times':>8}", flush=True)
    hierarchy, found = load_hierarchy(HERE / "caches.yaml"), folder / "schedules"
    rows = [measured(one, found / f"{one.name}.yaml", full[one.name], hierarchy) for one in layers]
    print("", *claims_table(cache_claims(rows)), sep="\n")
    same = all(len({found.checksum for found in row.counts.values()}) == 1 for row in rows)
    print("", "All outputs are equal." if same else "OUTPUTS DIFFER.", sep="\n")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
