"""Stands in for what a sweep's steps do: cheap, and each beginning is written down.

``HWGEN_TEST_JOURNAL`` names the file. The layer's name says what happens to its simulation: ``slow`` takes longer
than one may, ``long...`` some seconds, ``crash`` ends its process, ``killer`` ends its
starter the first time, ``differs`` finds other counts. No HWC fits the device that is synthesised for.
"""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.model.nest.one_level import predict
from hwgen.studies.engine.attempt import Step, Tell
from hwgen.studies.regress.hwc import Row
from hwgen.studies.regress.plans import Configuration, Entry, Plan
from hwgen.studies.regress.published_nests import hwce
from hwgen.tools.toolchain import ToolError

__all__ = ["configurations", "layers_named", "perform"]

SECONDS = 0.1
LONG_SECONDS = 8.0


def layers_named(*names: str) -> tuple[Layer, ...]:
    """Layers that differ in their channels."""
    return tuple(
        Layer(
            name=name, input_channels=2 + index, output_channels=3, input_height=6, input_width=6, output_height=4,
            output_width=4, kernel=(3, 3),
        )
        for index, name in enumerate(names)
    )  # fmt: skip


def configurations(*budgets: int) -> tuple[Configuration, ...]:
    """An engine of each size."""
    return tuple(Configuration("hwce", budget) for budget in budgets)


def perform(step: Step, tell: Tell) -> dict[str, Any]:
    """Do a step."""
    journal = Path(os.environ["HWGEN_TEST_JOURNAL"])
    with journal.open("a", encoding="utf-8") as file:
        file.write(f"{step.kind} {step.key}\n")
    time.sleep(SECONDS)
    match step.kind:
        case "plan":
            return _plan(*step.arguments).as_data()
        case "simulate":
            return _simulate(step.arguments[0], journal)
        case "synthesise":
            raise ToolError("synthesis: nextpnr failed: no room")
        case _:
            return {}


def _plan(layers: tuple[Layer, ...], configuration: Configuration) -> Plan:
    if configuration.budget < 64:
        raise InputError(f"nothing fits {configuration.budget} bytes")
    schedules = [hwce(layer, lanes=Lanes(x=16)) for layer in layers]
    optima = {layer.name: 1000 for layer in layers}
    return Plan(configuration, tuple(Entry(schedule, None) for schedule in schedules), {}, optima)


def _simulate(row: Row, journal: Path) -> dict[str, Any]:
    counts = predict(row.entry.schedule).counts.as_json()
    passed = row.layer != "differs"
    match row.layer:
        case "slow":
            time.sleep(1000)
        case name if name.startswith("long"):
            time.sleep(LONG_SECONDS)
        case "crash":
            sys.stderr.write("out of luck\n")
            os._exit(3)
        case "killer":
            mark = journal.with_suffix(".killed")
            if not mark.exists():
                mark.touch()
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(1000)
    if not passed:
        counts["tcdm"]["I"]["read"]["bytes"] += 4
    return {
        "measured": counts,
        "equal": passed,
        "output_exact": True,
        "passed": passed,
        "failures": [] if passed else ["I read at tcdm: 4 bytes more"],
        "cycles": {"measured": 1000},
        "stalls": {"measured": {"input": 1, "weight": 2, "output": 3}},
        "utilisation": 0.5,
    }
