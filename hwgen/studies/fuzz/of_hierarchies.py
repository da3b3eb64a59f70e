"""Layers on memories of any depth, in the model alone."""

from pathlib import Path
from typing import Any

from hwgen.ir.document import dump_yaml
from hwgen.ir.lanes import Lanes
from hwgen.studies.fuzz.bench import Bench
from hwgen.studies.fuzz.kind import SET, Kind, given
from hwgen.studies.fuzz.layers import LAYERS, is_layer, layer_table
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["OF_HIERARCHIES"]

HIERARCHY = "hierarchy.yaml"
FEATURES: dict[str, tuple[Any, ...]] = {
    "inner": (None, 256, 1024),
    "outer": (4096, 3000, 65536),
    "apart": (None, True),
    "bits": (None, 16),
    "lanes": (None, "m4", "m2c2", "k2l2", "x16"),
    "prices": (None, "flat"),
    "width": (None, 64, 256),
    "batch": (1, 2, 3),
    "objective": (None, "energy", "dram", "outer"),
    "fills": (None, True),
}


def _write(case: Case, folder: Path) -> None:
    table = layer_table(case)
    for row in table["layers"]:
        row["batch"] = case["batch"]
    sizes = {name: case[name] for name in ("outer", "inner") if case[name]}
    levels: list[dict[str, Any]] = [{"name": "dram"}]
    for name, size in sizes.items():
        levels.append({"name": name, "bytes": dict.fromkeys("IWO", size // 3) if case["apart"] else size})
    flat = {"dram": 100.0, **dict.fromkeys(sizes, 2.0), "mac": 0.5}
    data = {
        "format": 1, "kind": "hierarchy", "name": "drawn", "levels": levels,
        "energy": flat if case["prices"] else "yang_2016", "width": None if case["prices"] else case["width"],
        "bits": case["bits"] and dict.fromkeys(("I", "W", "O"), 16) | {"acc": 32},
        "lanes": case["lanes"] and Lanes.parse(case["lanes"]).as_data(),
    }  # fmt: skip
    (folder / SET).write_text(dump_yaml(table), encoding="utf-8")
    (folder / HIERARCHY).write_text(
        dump_yaml({key: value for key, value in data.items() if value is not None}), encoding="utf-8"
    )


def _ask(case: Case, bench: Bench) -> None:
    """``schedule`` -> ``predict``: both count and price alike, and nothing is below its bound."""
    found = bench("schedule", SET, "--hierarchy", HIERARCHY, *given(case, "objective", "fills"), "-o", "found")
    if found.refused:
        return
    predicted = bench("predict", "found", "--hierarchy", HIERARCHY, *given(case, "fills"))
    for one, two in zip(found.json["schedules"], predicted.json["schedules"], strict=True):
        for key in ("layer", "counts", "datapath", "energy", "buffer"):
            bench.same(f"{key} of schedule, and of predict", one[key], two[key])
        if one["gap"] is not None and one["gap"] < -1e-9:
            bench.differs(f"{one['layer']}: {-one['gap']:g} below the bound that schedule proves")


def _legal(case: Case) -> bool:
    return is_layer(case) and not (case["fills"] and case["objective"] in ("dram", "outer"))


OF_HIERARCHIES = Kind(Space(LAYERS | FEATURES, _legal), _write, _ask)
