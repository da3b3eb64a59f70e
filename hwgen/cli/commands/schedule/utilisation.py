"""Schedules under a demand on utilisation: what ``hwgen schedule --min-utilisation`` prints and writes."""

import re
from collections.abc import Mapping
from pathlib import Path

from hwgen.api.arguments import size_text
from hwgen.api.schedule_files import clear_earlier, save_beside, schedule_files
from hwgen.arch.hwc import check_lanes
from hwgen.arch.parameter_error import ParameterError
from hwgen.cli.console import note, print_json, print_table
from hwgen.cli.coverage import tell_activations
from hwgen.ir.coverage import Coverage
from hwgen.ir.document import InputError
from hwgen.ir.hardware import MULTIPLIERS
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.schedule import save_schedule
from hwgen.model.nest.one_level import predict
from hwgen.search.hwc.layer_fronts import Choice
from hwgen.search.hwc.utilisation import Plan, plan_per_layer, plan_shared

__all__ = ["lanes_of", "print_plan"]

DEFAULT_RATIO = 1.2


def lanes_of(text: str | None, multipliers: int | None = None) -> Lanes | None:
    """The shape, of ``multipliers`` if they are given, that ``auto``, ``m8x2`` or ``{m: 8, x: 2}`` stands for;
    None for any."""
    if text in (None, "auto"):
        return None
    try:
        lanes = Lanes.parse(re.sub(r"[{}:,\s]", "", str(text)))
        check_lanes(lanes)
        if multipliers in (None, lanes.product):
            return lanes
    except (ValueError, ParameterError):
        pass
    raise InputError(
        f"--lanes: expected auto, or {multipliers or '4 to 256'} lanes in powers of two over {', '.join(LANE_DIMS)} "
        f"such as m8x2 or {{m: 8, x: 2}}, got {str(text)[:40]!r}"
    )


def print_plan(
    coverage: Coverage,
    sizes: list[int],
    min_utilisation: float,
    *,
    max_ratio: float | None,
    lanes: str | None,
    multipliers: int | None,
    one_for_all: bool,
    output: Path | None,
    store: Path | None,
    jobs: int,
    as_json: bool,
) -> None:
    """Search, write the files (schedules in a folder for each HWC, beside its hardware file) and print."""
    if len(sizes) != 1:
        raise InputError("--min-utilisation: expected one buffer size")
    shape = lanes_of(lanes, multipliers)
    if not 0 <= min_utilisation <= 1:
        raise InputError(f"--min-utilisation: expected 0 to 1, got {min_utilisation:g}")
    note(f"searching {'one HWC' if one_for_all else 'HWCs'} of {sizes[0]} bytes for {len(coverage.layers)} layers")
    search = plan_shared if one_for_all else plan_per_layer
    ratio = DEFAULT_RATIO if max_ratio is None else max_ratio
    plan = search(
        coverage.layers,
        sizes[0],
        min_utilisation,
        ratio,
        lanes=shape,
        multipliers=multipliers or MULTIPLIERS,
        store=store,
        jobs=jobs,
    )
    names = schedule_files(coverage.layers)
    files = [_save(choice, plan, min_utilisation, output, names) for choice in plan.choices]
    if output is not None:
        beside = [save_beside(hardware, output / hardware.name) for hardware in plan.hardware]
        clear_earlier(output, [*(path for path in files if path is not None), *beside])
    if as_json:
        print_json(
            {
                "schedules": [_as_json(choice, path) for choice, path in zip(plan.choices, files, strict=True)],
                "hardware": [hardware.as_data() for hardware in plan.hardware],
                "total_bytes": plan.total_bytes,
                "ratio": round(plan.ratio, 6),
                "utilisation": round(plan.utilisation, 6),
                "left_out": coverage.as_json(),
            }
        )
        return
    rows = [
        [
            choice.schedule.layer.name,
            choice.hardware.name,
            str(choice.hardware.lanes),
            choice.total_bytes,
            choice.cycles,
            choice.utilisation,
        ]
        for choice in plan.choices
    ]
    columns = ["layer", "hardware", "lanes", "bytes", "cycles (estimated)", "utilisation (estimated)"]
    print_table(f"Schedules of little traffic for busy lanes, {size_text(sizes[0])}", columns, rows)
    print_table(
        "All layers", ["HWCs", "bytes", "/ without hardware", "mean utilisation (estimated)"],
        [[len(plan.hardware), plan.total_bytes, plan.ratio, plan.utilisation]],
    )  # fmt: skip
    tell_activations(coverage)


def _save(
    choice: Choice, plan: Plan, min_utilisation: float, output: Path | None, names: Mapping[str, str]
) -> Path | None:
    if output is None:
        return None
    hardware = choice.hardware
    path = output / hardware.name / names[choice.schedule.layer.name]
    layers = len(plan.choices)
    remarks = [
        f"For {hardware.name} ({hardware.name}.hardware.yaml in this folder), lanes {hardware.lanes}:",
        f"{choice.total_bytes} bytes, estimated utilisation {choice.utilisation:.3f}",
        f"(at least {min_utilisation:g} in the mean over {layers} layers).",
    ]
    save_schedule(choice.schedule, path, remarks)
    return path


def _as_json(choice: Choice, path: Path | None) -> dict[str, object]:
    prediction = predict(choice.schedule)
    return {
        "layer": choice.schedule.layer.name,
        "buffer_bytes": choice.hardware.budget,
        "file": None if path is None else str(path),
        "hardware": choice.hardware.name,
        "counts": prediction.counts.as_json(),
        "total_bytes": choice.total_bytes,
        "total_with_bias": prediction.total_with_bias,
        "need": {operand: prediction.allocation[operand] for operand in ("I", "W", "O")},
        "cycles": round(choice.cycles),
        "utilisation": round(choice.utilisation, 6),
    }
