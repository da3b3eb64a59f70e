"""Layers on HWCs and clusters: each command on the same set and hardware."""

from pathlib import Path
from typing import Any

from hwgen.ir.document import dump_yaml
from hwgen.studies.fuzz.bench import Answer, Bench
from hwgen.studies.fuzz.hardware import HARDWARE, hardware_data, is_hardware
from hwgen.studies.fuzz.kind import MACHINE, SET, SIMULATORS, Kind, given, judge
from hwgen.studies.fuzz.layers import LAYERS, is_layer, layer_table
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["OF_LAYERS"]

OPTIONS: dict[str, tuple[Any, ...]] = {
    "batch": (1, 2, 5),
    "objective": (None, "traffic", "balanced", "cycles"),
    "per_layer": (None, True),
    "fitted": (None, True),
    "cluster.clusters": (None, 2, 4, 5),
    "cluster.clusters.partition": (None, "KS", "OFM", "KS+OFM"),
    "simulated": SIMULATORS,
    "simulated.stalls": (None, True),
}


def _legal(case: Case) -> bool:
    wrong = case["cluster"] and (case["simulated"] == "icarus" or case["fitted"])
    wrong = wrong or (case["batch"] > 1 and not case["cluster"])  # an HWC alone runs one image
    wrong = wrong or (case["cluster.clusters"] and not _is_shared(case))
    return not wrong and len(_constants(case)) < 2 and is_layer(case) and is_hardware(case)


def _is_shared(case: Case) -> bool:
    """Whether several clusters take shares of such a layer."""
    return case["batch"] == 1 and case["requantisation"] in (None, "shift") and not case["cluster.vector"]


def _constants(case: Case) -> set[int]:
    """What each layer needs of the setting that is a constant of the hardware."""
    alike = {"stride_y": ("stride_rows", "stride_columns"), "stride_x": ("stride_columns", "stride_rows"),
             "group_outputs": ("outputs", "channels")}  # fmt: skip
    return {case[name] for name in alike[case["constants"][:-1]][: case["layers"]]} if case["constants"] else set()


def _write(case: Case, folder: Path) -> None:
    machine = hardware_data(case)
    machine |= {"constants": dict.fromkeys(machine["constants"], *_constants(case))} if case["constants"] else {}
    table = layer_table(case)
    for row in table["layers"]:
        row["batch"] = case["batch"]
    (folder / SET).write_text(dump_yaml(table), encoding="utf-8")
    (folder / MACHINE).write_text(dump_yaml(machine), encoding="utf-8")


def _ask(case: Case, bench: Bench) -> None:
    """``schedule`` -> ``predict`` -> ``generate`` -> ``cosim``."""
    known = bench("layers", SET).json["layers"]
    work = [SET, "--hardware", MACHINE, *given(case, "objective", "per_layer")]
    alone = given(case, "per_layer") if case["cluster"] else []  # those for an HWC are one by one anyway
    scheduled = bench("schedule", SET, "--hardware", MACHINE, *given(case, "objective"), *alone, "-o", "found")
    generated = bench("generate", *work, *given(case, "fitted"), "-o", "rtl")
    bench.same("refused by schedule, and by generate", scheduled.refused, generated.refused)
    if scheduled.refused:
        refused = bench("cosim", *work, "--sim", "verilator" if case["cluster"] else "icarus")
        bench.same("refused by schedule, and by cosim", scheduled.refused, refused.refused)
        return
    predicted = bench("predict", "found").json["schedules"]
    for keys, row in (
        (("layer", "macs"), [{"layer": one["name"], "macs": one["macs"]} for one in known]),
        (("layer", "file", "counts", "total_bytes", "total_with_bias"), scheduled.json["schedules"]),
    ):
        bench.same("of the set or its schedules, and of predict", *(
            [{key: one[key] for key in keys} for one in rows] for rows in (row, predicted)))  # fmt: skip
    if case["simulated"]:
        _simulate(case, bench, work, predicted)
    if case["cluster.clusters"]:
        _share_out(case, bench)


def _simulate(case: Case, bench: Bench, work: list[Any], predicted: list[Any]) -> None:
    """What was scheduled, what is scheduled anew, what was generated: the same accesses in the same cycles."""
    device, stalls = "cluster" if case["cluster"] else "hwc", bool(case["simulated.stalls"])
    how = [*given(case, "simulated.stalls"), "--seed", 3]

    def ran(*words: object, simulator: str = case["simulated"]) -> Answer:
        answer = bench("cosim", *words, *how, "--sim", simulator, failing=True)
        if answer.refused:
            bench.differs(f"schedule does what cosim refuses: {answer.refused}")
        judge(bench, answer, device, stalls=stalls)
        return answer

    of_schedules = ran("found")
    for one, two in zip(of_schedules.json["results"], predicted, strict=True):
        bench.same("counts for cosim, and for predict", _together(one["predicted"]), _together(two["counts"]))
        bench.same("cycles for cosim, and for predict", one["cycles"]["predicted"], two["cycles"])
    of_set = ran(*work)
    of_program = ran("--program", "rtl")
    if not case["fitted"]:
        bench.same("measured on the set, and on what was generated", _measured(of_set), _measured(of_program))
    if not case["cluster"]:
        other = "verilator" if case["simulated"] == "icarus" else "icarus"
        bench.same("measured in two simulators", _measured(of_schedules), _measured(ran("found", simulator=other)))


def _share_out(case: Case, bench: Bench) -> None:
    """What was scheduled, each layer on several clusters at the same time."""
    how = ["found", "--hardware", MACHINE, *given(case, "cluster.clusters", "cluster.clusters.partition")]
    generated = bench("generate", *how, "-o", "system")
    if case["simulated"]:
        stalls = given(case, "simulated.stalls")
        ran = bench("cosim", *how, *stalls, "--seed", 3, failing=True)
        bench.same("refused by generate, and by cosim", generated.refused, ran.refused)
        if not ran.refused:
            judge(bench, ran, "cluster", stalls=bool(stalls))


def _measured(answer: Answer) -> list[Any]:
    return [(one["layer"], one["measured"], one["cycles"]["measured"]) for one in answer.json["results"]]


def _together(counts: dict[str, Any]) -> dict[str, Any]:
    """Counts whose writes of O are one but at the DRAM: elsewhere partial sums share the addresses of the outputs."""
    found = {level: dict(operands) for level, operands in counts.items()}
    for level in set(found) - {"dram"}:
        ways = found[level]["O"]
        written = {unit: ways["write_partial"][unit] + number for unit, number in ways["write"].items()}
        found[level]["O"] = {"read_partial": ways["read_partial"], "written": written}
    return found


OF_LAYERS = Kind(Space(HARDWARE | LAYERS | OPTIONS, _legal), _write, _ask)
