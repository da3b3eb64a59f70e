"""Layers without a hardware file: the pure model, and HWCs that are found for them."""

from pathlib import Path
from typing import Any

from hwgen.ir.document import dump_yaml
from hwgen.studies.fuzz.bench import Bench
from hwgen.studies.fuzz.kind import SET, Kind, given, judge
from hwgen.studies.fuzz.layers import LAYERS, is_layer, layer_table
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["OF_SETS", "write_set"]

OPTIONS: dict[str, tuple[Any, ...]] = {
    "buffer": ("512", "1KiB", "100", "256,4KiB"),
    "objective": (None, "traffic", "with-bias", "words", "cycles", "balanced"),
    "traffic_slack": (None, 0.0, 0.5),
    "shared": (None, True),
    "shared.multipliers": (None, 4, 64),
    "shared.simulated": (None, "icarus"),
    "min_utilisation": (None, 0.05, 0.5),
}


def write_set(case: Case, folder: Path) -> None:
    """Write the layers of a case."""
    (folder / SET).write_text(dump_yaml(layer_table(case)), encoding="utf-8")


def _legal(case: Case) -> bool:
    """Whether the options go together, as their texts say."""
    if case["min_utilisation"] is not None and (case["objective"] or "," in case["buffer"]):
        return False
    if case["objective"] not in ((None, "traffic", "balanced") if case["shared"] else OPTIONS["objective"][:-1]):
        return False
    slack = case["traffic_slack"] is None or (case["shared"] and case["objective"] == "balanced")
    return bool(slack and is_layer(case))


def _ask(case: Case, bench: Bench) -> None:
    """``schedule`` -> ``predict``; with one HWC for all -> ``generate``, ``cosim``, which find the same one."""
    how = given(case, "buffer", "objective", "traffic_slack", "shared", "shared.multipliers", "min_utilisation")
    found = bench("schedule", SET, *how, "-o", "found")
    if found.refused:
        return
    predicted = bench("predict", "found").json["schedules"]
    rows = {one["file"]: one for one in predicted}
    bench.same("files", sorted(rows), sorted(one["file"] for one in found.json["schedules"]))
    for one in found.json["schedules"]:
        for key in ("layer", "counts", "total_bytes", "total_with_bias"):
            bench.same(f"{key} of schedule, and of predict", one[key], rows[one["file"]][key])
    if not case["shared"] or case["min_utilisation"] is not None:
        return
    machines = found.json["hardware"]
    if "," in case["buffer"] or case["shared.multipliers"] or case["traffic_slack"] is not None:
        return
    work = (SET, *given(case, "buffer", "objective"))
    bench("generate", *work, "-o", "rtl")
    if case["shared.simulated"]:
        ran = bench("cosim", *work, "--sim", "icarus", "--save-schedules", "kept", failing=True)
        judge(bench, ran, "hwc")
        for one in ran.json["results"]:
            file = f"found/{one['layer']}.yaml"
            bench.same("cycles for predict, and for cosim", rows[file]["cycles"], one["cycles"]["predicted"])
        again = bench("predict", "kept").json["schedules"]
        bench.same("of schedules that were found, and that cosim found", *(
            [one | {"file": ""} for one in some] for some in (predicted, again)))  # fmt: skip
    bench.same("name of the HWC", machines["name"], "shared")


OF_SETS = Kind(Space(LAYERS | OPTIONS, _legal), write_set, _ask)
