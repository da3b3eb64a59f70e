"""Whole networks in the RTL, as ``hwgen run MODEL --seed 1`` has them: no hardware is named.

They are the four networks of MLPerf Tiny and the nine of the package ``onnx``, in their published shapes, with random
weights, quantised. Every layer runs in the RTL of the built-in cluster that is taken then. Marks, for each network:
every output of a layer is that of the integer reference and every count that is measured is the predicted one; the
reference agrees with ONNX Runtime; cycles are off by at most `MOST_CYCLES_OFF`.

They run side by side; the large ones take long. What was run is kept in `FOLDER`, from which a later call
goes on. ``--few`` : the networks of MLPerf Tiny.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import hwgen
from benchmarks.bench_networks import quantise
from benchmarks.kept import leave
from examples.light import MODELS
from examples.mlperf_tiny.networks import NETWORKS, quantised_network
from hwgen.api.network_runs import NetworkRun
from hwgen.ir.document import write_atomically
from hwgen.tools.machine import processors
from hwgen.tools.side_by_side import as_they_come

OPTIONS = ("--few",)
SEED = 1
MOST_CYCLES_OFF = 0.01
FOLDER = Path("build") / "bench_network_runs"
COLUMNS = ("network", "nodes", "host", "programs", "macs", "predicted_cycles", "cycles", "utilisation",
           "dram_bytes", "exact", "equal", "passed", "seconds")  # fmt: skip


def main() -> bool:
    """Run all networks."""
    return _run_all([*NETWORKS, *(path.stem for path in sorted(MODELS.glob("*.onnx")))])


def few() -> bool:
    """Run the networks of MLPerf Tiny."""
    return _run_all(list(NETWORKS))


def _run_all(names: list[str]) -> bool:
    FOLDER.mkdir(parents=True, exist_ok=True)
    waiting = iter(names)

    def calls() -> tuple[str] | None:
        name = next(waiting, None)
        return None if name is None else (name,)

    rows: dict[str, dict[str, Any]] = {}
    for (name,), row in as_they_come(_kept, calls, processors()):
        rows[name] = row
        off = row["cycles"] / row["predicted_cycles"] - 1
        print(
            f"  {name}: {row['nodes']} nodes in {row['programs']} programs, {row['macs'] / 1e6:,.1f} M MACs, "
            f"{row['cycles']:,} cycles, {row['predicted_cycles']:,} predicted ({100 * off:+.2f} %), utilisation "
            f"{row['utilisation']:.3f}, {row['dram_bytes']:,} bytes at the DRAM; outputs "
            f"{'exact' if row['exact'] else 'NOT EXACT'}, counts {'as predicted' if row['equal'] else 'NOT EQUAL'}; "
            f"host: {row['host'] or 'nothing'}; {row['seconds']:.0f} s: {'met' if _met(row) else 'MISSED'}",
            flush=True,
        )
    leave("network_runs", COLUMNS, [[_cell(rows[name][column]) for column in COLUMNS] for name in names])
    return all(map(_met, rows.values()))


def _cell(value: object) -> object:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _met(row: dict[str, Any]) -> bool:
    off = abs(row["cycles"] / row["predicted_cycles"] - 1)
    return bool(row["exact"] and row["equal"] and row["passed"] and off <= MOST_CYCLES_OFF)


def _kept(name: str) -> dict[str, Any]:
    """What a network's run came to: from its file, or by running it."""
    file = FOLDER / f"{name}.json"
    if not file.exists():
        write_atomically(file, json.dumps(_ran(name, _model(name))))
    row: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return row


def _model(name: str) -> Path:
    """The quantised model's file, which is made if it is not there."""
    model = FOLDER / f"{name}.onnx"
    if model.exists():
        return model
    if name in NETWORKS:
        return quantised_network(name, SEED, model)
    with TemporaryDirectory(dir=FOLDER) as folder:
        made, _ = quantise(MODELS / f"{name}.onnx", Path(folder), np.random.default_rng(SEED))
        return made.rename(model)


def _ran(name: str, model: Path) -> dict[str, Any]:
    started = time.perf_counter()
    run = hwgen.run(model, None, seed=SEED)
    predicted, measured = run.both_cycles
    moved = sum(one["total_with_bias"] for one in run.document()["layers"])
    return {
        "network": name, "nodes": len(run.ran), "host": " ".join(_host(run)), "programs": len(run.programs),
        "macs": run.macs, "predicted_cycles": predicted, "cycles": measured, "utilisation": round(run.utilisation, 4),
        "dram_bytes": moved + sum(one.measured.bytes for one in run.programs), "exact": run.exact, "equal": run.equal,
        "passed": run.passed, "seconds": round(time.perf_counter() - started),
    }  # fmt: skip


def _host(run: NetworkRun) -> Iterator[str]:
    """The operators that the host ran."""
    names = {*run.host}
    yield from sorted({node.label for node in run.graph.nodes if node.name in names})
