"""``hwgen`` as a user calls it, what must hold of every run, and the record of an example in ``results/examples``."""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "HARDWARE",
    "RESULTS",
    "Record",
    "chosen_hardware",
    "depth_first",
    "dram_bytes",
    "hwgen",
    "judge",
    "on_a_cluster",
]

RESULTS = Path("results") / "examples"
HARDWARE = Path(__file__).resolve().parents[1] / "schedules" / "hardware"
"""The built-in hardware."""
CYCLES = 0.05
"""The part by which a layer's cycles may differ from the predicted ones."""
EQUAL = 0.999
"""The part of elements that must be ONNX Runtime's, or LiteRT's."""


class Record:
    """What an example printed: lines, and marks that were met or missed. It is written to the example's folder."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = RESULTS / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.figures: dict[str, Any] = {}
        self._lines: list[str] = []
        self._missed = False
        self._started = time.monotonic(), time.process_time()
        self.say(f"{name}:")

    def say(self, line: str) -> None:
        """Print a line."""
        self._lines.append(line)
        print(line, flush=True)

    def mark(self, line: str, met: bool) -> None:
        """Print a line with whether it is as it must be."""
        self._missed |= not met
        self.say(f"  {line}: {'met' if met else 'MISSED'}")

    def close(self) -> int:
        """Write ``record.txt`` and ``figures.json``; the exit status: 1 if a mark was missed."""
        self.say(f"  {time.monotonic() - self._started[0]:.0f} s; results in {self.folder}")
        (self.folder / "record.txt").write_text("\n".join(self._lines) + "\n", encoding="utf-8")
        (self.folder / "figures.json").write_text(json.dumps(self.figures, indent=1) + "\n", encoding="utf-8")
        return int(self._missed)


def chosen_hardware(usual: str) -> Path:
    """The hardware file of the command's option ``--hardware``, or the usual one of `HARDWARE`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hardware", type=Path, default=HARDWARE / usual, metavar="FILE", help="an HWC or a cluster")
    given: Path = parser.parse_args().hardware
    return given


def hwgen(*arguments: object) -> dict[str, Any]:
    """What a command of hwgen prints with ``--json``; its notes and its progress go to standard error.

    Exits where the command refuses its input. Where something differs, which is status 1, the document says what.
    """
    program = Path(sys.executable).with_name("hwgen")
    command = [str(program), *map(str, arguments)]
    print("$ hwgen", *command[1:], file=sys.stderr, flush=True)
    done = subprocess.run([*command, "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        raise SystemExit(done.returncode or 1)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def judge(record: Record, run: dict[str, Any]) -> None:
    """Mark what must hold of a document of ``hwgen run``, and say what it took."""
    layers, programs = run["layers"], run.get("programs", [])
    far = _judge_counts(record, run)
    there = run["onnxruntime"] or run["litert"]
    runtime = "ONNX Runtime" if run["onnxruntime"] else "LiteRT"
    record.mark(
        f"{there['equal']:.4%} of all elements are {runtime}'s (from {EQUAL:.1%} on), largest difference "
        f"{there['largest_difference']} (up to 1)",
        there["equal"] >= EQUAL and there["largest_difference"] <= 1,
    )
    cycles, macs = run["cycles"], sum(one["macs"] for one in layers)
    moved, place = sum(one["total_with_bias"] for one in layers), "DRAM" if programs else "memory"
    record.say(
        f"  {cycles['measured']:,} cycles ({cycles['predicted']:,} predicted), {macs / 1e6:,.1f} M MACs, utilisation "
        f"{run['utilisation']:.3f}, {moved:,} bytes at the {place}, {run['energy']['measured'] / 1e6:,.1f} uJ; "
        f"{len(run['host'])} nodes on the host"
    )
    if programs:
        room = run["dram"]
        record.say(
            f"  {len(programs)} programs; utilisation over the layers alone {_busy(run):.3f}; feature maps take "
            f"{room['peak']:,} bytes of the DRAM at most, at least {room['bound']:,}"
        )
    record.figures["run"] = {
        "cycles": cycles, "macs": macs, "utilisation": run["utilisation"], "bytes": moved, "energy_pj": run["energy"],
        "layers": len(layers), "programs": len(programs), "host": run["host"], "onnxruntime": there,
        "largest_cycles_difference": far, "dram": run.get("dram"),
    }  # fmt: skip


def on_a_cluster(record: Record, name: str, file: str, command: list[Any], outputs: Mapping[str, NDArray]) -> int:
    """Run it on a cluster of `HARDWARE`, too, and mark what must hold; its bytes at the DRAM.

    Parameters
    ----------
    name : of the run's folder and of its figures.
    command : of hwgen, without hardware and folder.
    outputs : what must come of it.
    """
    folder = record.folder / name
    run = hwgen(*command, "--hardware", HARDWARE / file, "-o", folder)
    record.say(f"  {name}, on {file}:")
    far, cycles, moved = _judge_counts(record, run), run["cycles"], dram_bytes(run)
    same = all(np.array_equal(np.load(folder / run["outputs"][one]), array) for one, array in outputs.items())
    record.mark("outputs are those of the first run", same)
    stay = run["resident"].values()
    record.say(
        f"  {cycles['measured']:,} cycles ({cycles['predicted']:,} predicted), utilisation {run['utilisation']:.3f}, "
        f"{moved:,} bytes at the DRAM; {len(run['programs'])} programs, {len(run['host'])} nodes on the host; "
        f"{len(stay)} maps stay in the TCDM, {sum(not one['stored'] for one in stay)} of them there alone"
    )
    record.figures[name] = {"cycles": cycles, "dram_bytes": moved, "utilisation": run["utilisation"],
                            "largest_cycles_difference": far, "programs": len(run["programs"])}  # fmt: skip
    return moved


def depth_first(record: Record, command: list[Any], outputs: Mapping[str, NDArray]) -> None:
    """Run it on depth-first pipelines, too, and mark what must hold. ``command``, ``outputs``: see `on_a_cluster`."""
    folder = record.folder / "depth_first"
    run = hwgen(*command, "--depth-first", "-o", folder)
    stacks, cycles = run["stacks"], run["cycles"]
    record.say("  depth-first:")
    record.mark("every element that the pipelines leave is the integer reference's", run["exact"])
    wrong = [line for one in stacks for line in one["failures"]]
    record.mark(f"every access of {len(stacks)} runs of stacks is predicted", not wrong)
    far = max(_wrong(one) for one in stacks)
    record.mark(
        f"cycles of a run differ by at most {far:.2%} from the prediction (up to {CYCLES:.0%})", far <= CYCLES
    )
    same = all(np.array_equal(np.load(folder / run["outputs"][one]), array) for one, array in outputs.items())
    record.mark("outputs are those of the first run", same)
    record.say(
        f"  {cycles['measured']:,} cycles ({cycles['predicted']:,} predicted), utilisation {run['utilisation']:.3f}, "
        f"{run['bytes']:,} bytes at the DRAM beside the weights; {len(run['host'])} nodes on the host"
    )
    record.figures["depth_first"] = {"cycles": cycles, "bytes": run["bytes"], "utilisation": run["utilisation"],
                                     "largest_cycles_difference": far, "runs": len(stacks)}  # fmt: skip


def _judge_counts(record: Record, run: dict[str, Any]) -> float:
    """Mark what must hold of elements, accesses and cycles; by which part a layer's cycles are wrong at most."""
    layers, programs = run["layers"], run.get("programs", [])
    unequal = [one for one in layers if not one["equal"] or one["failures"]]
    record.mark(f"{len(layers)} layers in the RTL: every element is the integer reference's", run["exact"])
    record.mark(
        f"every access of {len(layers) - len(unequal)} of {len(layers)} layers is predicted"
        + (f", and of {sum(one['passed'] for one in programs)} of {len(programs)} programs" if programs else ""),
        not unequal and all(one["passed"] for one in programs),
    )
    each = with_those_beside(layers)
    far = max(_wrong(one) for one in each)
    record.mark(
        f"cycles of a layer differ by at most {far:.2%} from the prediction (up to {CYCLES:.0%})", far <= CYCLES
    )
    for one in each:
        if _wrong(one) > CYCLES:
            cycles = one["cycles"]
            record.say(f"    {one['node']}: {cycles['measured']:,} cycles ({cycles['predicted']:,} predicted)")
    if programs:
        far_off = max(_wrong(one) for one in programs)
        record.mark(f"cycles of a program by at most {far_off:.2%} (up to {CYCLES:.0%})", far_off <= CYCLES)
    return far


def with_those_beside(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nodes and cycles of layers, each with those of the node that runs beside it.

    How much of such a node is left when the layer ends depends on how long that took.
    """
    found: list[dict[str, Any]] = []
    for one in layers:
        if one.get("beside") is None:
            found.append({"node": one["node"], "cycles": dict(one["cycles"])})
        else:
            for key in ("predicted", "measured"):
                found[-1]["cycles"][key] += one["cycles"][key]
    return found


def _wrong(ran: dict[str, Any]) -> float:
    """The part by which the cycles of a layer or of a program differ from the predicted ones."""
    cycles = ran["cycles"]
    return abs(float(cycles["measured"] / cycles["predicted"]) - 1)


def dram_bytes(run: dict[str, Any]) -> int:
    """What a cluster moved at the DRAM: operands of all layers, and the programs."""
    layers = sum(one["total_with_bias"] for one in run["layers"])
    return int(layers + sum(one["measured"]["bytes"] for one in run["programs"]))


def _busy(run: dict[str, Any]) -> float:
    """The utilisation of the multipliers while layers run, without what is between them."""
    cycles = [one["cycles"]["measured"] for one in run["layers"]]
    useful = sum(one["utilisation"] * took for one, took in zip(run["layers"], cycles, strict=True))
    return float(useful / sum(cycles))
