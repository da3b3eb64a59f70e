"""Counts accesses of L2 and L3 of five layers, blocked and through GEMM, and prints them beside the paper's claims.

``python -m benchmarks.cpu [FOLDER]`` (``results/cpu``). Schedules in the folder are taken as they are. What is
counted is written to ``accesses.csv`` there, from which ``hwgen paper yang-2016`` draws Fig. 3 and 4.
The exit status is 1 if two outputs of a layer differ, 2 if a tool is missing.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.cpu.predicted import LINE, predicted_lines
from benchmarks.cpu.programs import LIBRARIES, accesses, blocked, through_gemm
from hwgen.ir.document import write_atomically
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy, load_hierarchy
from hwgen.ir.schedule import load_schedule, save_schedule
from hwgen.papers.claims import claims_table
from hwgen.papers.documents import csv_text
from hwgen.papers.yang.caches import CacheRow, cache_claims, measured_layers
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hierarchy.batch import HierarchyRequest, search_on_hierarchy

HERE = Path(__file__).parent
SETTING = """\
Caches of 32 KB, 256 KB and 12 MB, simulated by cachegrind (no prefetching); float32, SSE4.2 but for the column AVX2.
model: full lines that the hierarchy's model has for the schedule, on half of each cache, for which it was searched.
blocked: Halide from the schedule of least energy whose tiles fit in whole lines; others: im2col and GEMM, like Caffe.
Accesses are lines of 64 bytes, reads and writes. Blocked rows and planes are padded; `share`: of the layer's work."""


def missing_tools() -> list[str]:
    """What must be installed, and how; libraries are optional."""
    tools = {"valgrind": "apt install valgrind", "gcc": "apt install gcc"}
    found = [f"{tool} ({how})" for tool, how in tools.items() if shutil.which(tool) is None]
    return found + ([] if find_spec("halide") else ["the Python package halide (pip install 'hwgen[cpu]')"])


def find_schedules(folder: Path, layers: list[Layer], hierarchy: Hierarchy) -> None:
    """Search those that the folder does not have."""
    wanted = [layer for layer in layers if not (folder / f"{layer.name}.yaml").exists()]
    if not wanted:
        return
    print(f"searching {len(wanted)} schedules (minutes)", file=sys.stderr, flush=True)

    def told(layer: Layer) -> None:
        print(f"found a schedule of {layer.name}", file=sys.stderr, flush=True)

    for found in search_on_hierarchy(wanted, HierarchyRequest(hierarchy, line=LINE), progress=told):
        save_schedule(found.schedule, folder / f"{found.schedule.layer.name}.yaml", [])


def counted(layer: Layer, file: Path, full: Layer, hierarchy: Hierarchy) -> tuple[list[CacheRow], bool]:
    """All programs of one layer, each printed when it is counted, below what the model has for the schedule.

    Also whether all outputs are the same.
    """
    schedule, share = load_schedule(file), layer.macs / full.macs
    l2, l3 = (round(predicted_lines(schedule, hierarchy, within)) for within in ("l1", "l2"))
    print(f"{layer.name:8}{100 * share:8.3f} %  {'model':12}{l2:14,}{l3:14,}")
    rows: list[CacheRow] = []
    checksums: list[str] = []
    with TemporaryDirectory() as name:
        folder = Path(name)
        for program in [blocked(schedule, folder), *through_gemm(layer, folder, Path(sys.prefix))]:
            found = accesses(program)
            rows.append(CacheRow(layer.name, program.name, share, found.l2, found.l3))
            checksums.append(found.checksum)
            times = f"{found.l2 / rows[0].l2:8.2f}{found.l3 / rows[0].l3:8.2f}"
            same = "same output" if found.checksum == checksums[0] else "OTHER OUTPUT"
            print(f"{layer.name:8}{100 * share:8.3f} %  {program.name:12}{found.l2:14,}{found.l3:14,}{times}  {same}",
                  flush=True)  # fmt: skip
    return rows, len(set(checksums)) == 1


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
    hierarchy, found = load_hierarchy(HERE / "caches.yaml"), folder / "schedules"
    find_schedules(found, layers, hierarchy)
    print(SETTING)
    print(f"{'layer':8}{'share':>10}  {'program':12}{'L2':>14}{'L3':>14}{'times':>8}{'times':>8}", flush=True)
    every = [counted(one, found / f"{one.name}.yaml", full[one.name], hierarchy) for one in layers]
    rows = [row for of_layer, _ in every for row in of_layer]
    print("", *claims_table(cache_claims(measured_layers(rows, str(folder)))), sep="\n")
    same = all(equal for _, equal in every)
    if same:
        write_atomically(folder / "accesses.csv", csv_text(rows))
    print("", "All outputs are equal." if same else "OUTPUTS DIFFER.", sep="\n")
    return 0 if same else 1


if __name__ == "__main__":
    raise SystemExit(main())
