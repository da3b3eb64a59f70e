"""Small quantised networks: layer by layer on HWCs and clusters, depth-first, and both one after the other."""

from pathlib import Path
from typing import Any

from hwgen.ir.document import dump_yaml
from hwgen.studies.fuzz.bench import Bench
from hwgen.studies.fuzz.hardware import HARDWARE, hardware_data, is_hardware
from hwgen.studies.fuzz.kind import MACHINE, MODEL, SIMULATORS, Kind, given, judge, judge_cycles, judge_results
from hwgen.studies.fuzz.models import NODES, Chain
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["CHAINS", "DEPTH_FIRST", "NETWORK", "OF_NETWORKS", "write_model"]

WHOLE = "1MiB"
"""More than any of these networks needs."""
NETWORK: dict[str, tuple[Any, ...]] = {
    "rows": (6, 1, 3, 11),
    "columns": (5, 1, 2, 8, 19),
    "maps": (1, 2, 3, 8),
    "node0": tuple(NODES)[:9],
    **{f"node{number}": (None, *NODES) for number in range(1, 5)},
    "signed": (None, True),
    "symmetric": (None, True),
    "per_channel": (None, True),
}
"""Features of a network: its input, its nodes, of which the first is a convolution, how it is quantised."""


def write_model(case: Case, folder: Path) -> None:
    """Write the network of a case."""
    shape = case["maps"], case["rows"], case["columns"]
    settings = {name: bool(case[name]) for name in ("signed", "symmetric", "per_channel")}
    chain = Chain(shape, **settings, seed=1)
    for number in range(5):
        if case[f"node{number}"]:
            chain.grow(case[f"node{number}"])
    chain.write(folder / MODEL)


# --- on HWCs and clusters ---


def _legal(case: Case) -> bool:
    return not (case["cluster"] and case["simulated"] == "icarus") and is_hardware(case)


def _write(case: Case, folder: Path) -> None:
    write_model(case, folder)
    (folder / MACHINE).write_text(dump_yaml(hardware_data(case)), encoding="utf-8")


def _ask(case: Case, bench: Bench) -> None:
    """``network``, ``predict`` -> ``generate``, ``run``: the same nodes and cycles, and the reference's outputs."""
    work = (MODEL, "--hardware", MACHINE)
    how = [*work, *(given(case, "cluster.resident", "cluster.clusters") if case["cluster"] else ())]
    known = bench("network", *work, "--seed", 1, failing=True)
    if not known.refused and (known.status or (known.json["onnxruntime"] or {"holds": True})["holds"] is False):
        bench.differs("the reference is not what ONNX Runtime computes")
    predicted = bench("predict", *how)
    if case["cluster"]:
        generated = bench("generate", *how, "-o", "rtl")
        bench.same("refused by predict, and by generate", predicted.refused, generated.refused)
    if not case["simulated"] and not predicted.refused:
        return
    ran = bench("run", *how, "--seed", 1, "-o", "out", "--sim", case["simulated"] or "verilator", failing=True)
    bench.same("refused by predict, and by run", predicted.refused, ran.refused)
    if ran.refused:
        return
    (one,) = predicted.json["networks"]
    bench.same("nodes of the host for predict, and for run", sorted(one["host"]), sorted(ran.json["host"]))
    bench.same("cycles for run, and for predict", ran.json["cycles"]["predicted"], one["cycles"])
    judge(bench, ran, "cluster", stalls=True)
    judge_cycles(bench, ran.json["cycles"], "cluster" if case["cluster"] else "hwc")
    if not ran.json["exact"]:
        bench.differs("outputs are not those of the reference, and no failure is named")


SCALED: dict[str, tuple[Any, ...]] = {
    "requantisation": ("scaled",),
    "constants": (None,),
    **{name: HARDWARE[name][1:] for name in ("lanes", "order", "buffers")},
}
"""Hardware that a quantised network may have."""
ON_HARDWARE: dict[str, tuple[Any, ...]] = {
    "cluster.resident": (None, True),
    "cluster.clusters": (None, 2, 4),
    "simulated": SIMULATORS,
}
OF_NETWORKS = Kind(Space(HARDWARE | NETWORK | SCALED | ON_HARDWARE, _legal), _write, _ask)


# --- depth-first ---


def _ask_stacks(case: Case, bench: Bench) -> None:
    """``depth-first`` -> ``predict`` -> ``generate``, ``cosim``; and ``run --depth-first``."""
    memory, how = given(case, "memory"), given(case, "macs", "dram")
    solved = bench(
        "depth-first", MODEL, *(memory or ["--memory", WHOLE]), "--requantisation", "scaled", "-o", "found"
    )
    predicted = bench("predict", MODEL, "--depth-first", *memory, *how)
    if case["simulated"]:
        sim = ("--sim", case["simulated"])
        ran = bench("run", MODEL, "--depth-first", *memory, *how, "--seed", 1, "-o", "out", *sim, failing=True)
        bench.same("refused by predict, and by run", predicted.refused, ran.refused)
        if not ran.refused:
            judge(bench, ran, "stack")
            bench.same("cycles for run, and for predict", ran.json["cycles"]["predicted"], predicted.json["cycles"])
    if solved.refused:
        return
    of_file = bench("predict", "found", *how)
    generated = bench("generate", "found", *given(case, "macs"), "-o", "rtl")
    bench.same("refused by predict, and by generate", of_file.refused, generated.refused)
    if case["simulated"] and not of_file.refused:
        stalls = given(case, "simulated.stalls")
        simulated = bench("cosim", "found", *how, *stalls, *sim, failing=True)
        judge(bench, simulated, "stack", stalls=bool(stalls))
        cycles = sum(one["cycles"]["predicted"] for one in simulated.json["results"])
        bench.same("cycles for predict, and for cosim", of_file.json["cycles"], cycles)


STACKS: dict[str, tuple[Any, ...]] = {
    "memory": (None, 3000, 600, 200),
    "macs": (None, 7, 23),
    "dram": (None, "cluster_ddr3"),
    "simulated": SIMULATORS,
    "simulated.stalls": (None, True),
}
DEPTH_FIRST = Kind(Space(NETWORK | STACKS, lambda case: True), write_model, _ask_stacks)


# --- depth-first, what follows on a cluster ---


def _ask_chains(case: Case, bench: Bench) -> None:
    """``predict --depth-first`` -> ``run --depth-first``: the same stacks, and the same layers on the cluster."""
    how = [MODEL, "--depth-first", *given(case, "memory", "macs"), "--hardware", MACHINE]
    predicted = bench("predict", *how)
    if not case["simulated"]:
        return
    ran = bench("run", *how, "--seed", 1, "-o", "out", failing=True)
    bench.same("refused by predict, and by run", predicted.refused, ran.refused)
    if ran.refused:
        return
    judge(bench, ran, "stack")
    bench.same("cycles of stacks for run, and for predict", ran.json["cycles"]["predicted"], predicted.json["cycles"])
    known, rest = predicted.json.get("rest"), ran.json.get("rest")
    bench.same("whether a cluster runs, for run and for predict", bool(rest), bool(known and known["nodes"]))
    if rest:
        judge_results(bench, rest["layers"], "cluster", stalls=True)
        judge_cycles(bench, rest["cycles"], "cluster")
        bench.same("cycles of the cluster for run, and for predict", rest["cycles"]["predicted"], known["cycles"])
    if not ran.json["exact"]:
        bench.differs("outputs are not those of the reference, and no failure is named")


CHAINED: dict[str, tuple[Any, ...]] = {
    "cluster": (True,),
    "memory": (None, 3000, 600),
    "macs": (None, 7),
    "simulated": (None, "verilator"),
}
CHAINS = Kind(Space(HARDWARE | NETWORK | SCALED | CHAINED, is_hardware), _write, _ask_chains)
