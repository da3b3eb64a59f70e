"""Hardware that is found: the points of a sweep, and the cluster that is chosen for a network."""

from pathlib import Path
from typing import Any

from hwgen.studies.fuzz.bench import Bench
from hwgen.studies.fuzz.kind import MODEL, SET, Kind, given
from hwgen.studies.fuzz.layers import LAYERS, is_layer
from hwgen.studies.fuzz.of_networks import NETWORK, write_model
from hwgen.studies.fuzz.of_sets import write_set
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["OF_CHOICES", "OF_SWEEPS"]

SWEPT: dict[str, tuple[Any, ...]] = {
    "lanes": ("x4", "m4", "m2x2", "m2c2", "y2x4", "m4c4", "auto"),
    "buffer": ("512", "1KiB,2KiB"),
    "objective": (None, "traffic", "balanced,cycles"),
    "per_layer": (None, True),
    "hwce": (None, True),
    "clustered": (None, 1, 2),
    "clustered.tcdm": ("8KiB", "4KiB,32KiB"),
}


def _is_sweep(case: Case) -> bool:
    return is_layer(case) and not (
        case["clustered"] and (case["hwce"] or case["per_layer"] or case["lanes"] == "auto")
    )


def _sweep(case: Case, bench: Bench) -> None:
    """``sweep``, which keeps its rows -> ``predict`` of its schedules, ``report``."""
    cluster = ["--cluster", case["clustered"], *given(case, "clustered.tcdm")] if case["clustered"] else []
    how = given(case, "lanes", "buffer", "objective", "per_layer", "hwce")
    asked = ("sweep", SET, *how, *cluster, "--no-sim", "-j", 1, "-o", "swept")
    swept = bench(*asked, failing=True)
    if swept.refused:
        return
    again = bench(*asked, failing=True)
    bench.same("rows that were kept", swept.json["results"], again.json["results"])
    for row in swept.json["results"]:
        if row["status"] == "predicted":
            place = Path("swept", row["schedule"])
            found = bench("predict", place.parent).json["schedules"]
            (one,) = (one for one in found if one["file"] == str(place))
            total = row["dram_total_bytes_predicted" if case["clustered"] else "total_bytes_predicted"]
            bench.same("bytes for sweep, and for predict", total, one["total_bytes"])
            bench.same("cycles for sweep, and for predict", row["cycles_predicted"], one["cycles"])
        elif row["status"] not in ("infeasible", "left out"):
            bench.differs(f"{row['layer']}: {row['status']}: {row['reason']}")


CHOSEN: dict[str, tuple[Any, ...]] = {
    "fps": (None, 30, 30000),
    "mhz": (None, 40),
    "luts": (None, 60000, 25000),
    "dsps": (None, 40),
    "brams": (None, 60),
    "energy": (None, 0.5),
    "dram": (None, "cluster_ddr3"),
}


def _choose(case: Case, bench: Bench) -> None:
    """``choose`` -> ``predict``: what is chosen takes what its plan says, and is within the budget."""
    asked = ("choose", MODEL, *given(case, *CHOSEN), "--minutes", 0.001, "--no-confirm", "-o", "out")
    chosen = bench(*asked, failing=True)
    if chosen.refused or chosen.json["best"] is None:
        return
    best = chosen.json["best"]
    predicted = bench("predict", MODEL, "--hardware", best["file"], "--resident", *given(case, "mhz"))
    (one,) = predicted.json["networks"]
    for key in ("cycles", "bytes", "energy", "luts", *([] if case["mhz"] else ["mhz"])):
        bench.same(f"{key} for choose, and for predict", best[key], one[key])
    if not chosen.status:
        for key in ("luts", "dsps", "brams"):
            if case[key] and best[key] > case[key]:
                bench.differs(f"{best[key]} {key}, above {case[key]}, chosen")


OF_SWEEPS = Kind(Space(LAYERS | SWEPT, _is_sweep), write_set, _sweep)
OF_CHOICES = Kind(
    Space(NETWORK | CHOSEN, lambda case: any(case[name] for name in ("fps", "luts"))), write_model, _choose
)
