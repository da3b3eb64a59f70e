"""A kind of case: what it is drawn from, its files, the commands that are asked, and what they have to agree in."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hwgen.studies.fuzz.bench import Answer, Bench
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["MACHINE", "MODEL", "SET", "SIMULATORS", "Kind", "given", "judge", "judge_cycles", "judge_results"]

SET, MODEL, MACHINE = "set.yaml", "model.onnx", "hardware.yaml"
SIMULATORS = (None, "icarus", "verilator")
WITHIN = {"hwc": (0.01, 12), "cluster": (0.03, 60), "stack": (0.02, 12)}
"""Share, and cycles of a short run, by which predictions may be off: waits at banks of a cluster are estimates."""


@dataclass(frozen=True)
class Kind:
    """A kind of case.

    Members
    -------
    space : what cases are drawn from.
    write : puts the files of a case into a folder.
    ask : runs the commands on them and compares what they say.
    """

    space: Space
    write: Callable[[Case, Path], None]
    ask: Callable[[Case, Bench], None]


def given(case: Case, *names: str) -> list[Any]:
    """Options of a command; of a feature that is part of another one the last word of its name."""
    found: list[Any] = []
    for name in names:
        if case[name] is not None:
            option = f"--{name.rpartition('.')[2].replace('_', '-')}"
            found += [option] if case[name] is True else [option, case[name]]
    return found


def judge(bench: Bench, answer: Answer, device: str, *, stalls: bool = False) -> None:
    """Counts and outputs of what the last command has simulated are as predicted, and cycles where nothing stalls."""
    results = next(answer.json[key] for key in ("stacks", "results", "layers") if key in answer.json)
    judge_results(bench, results, device, stalls=stalls)
    if answer.status:
        bench.differs("exit status 1, and no failure is named")


def judge_results(bench: Bench, results: list[Any], device: str, *, stalls: bool = False) -> None:
    """The same of results that the last command has simulated."""
    for one in results:
        if not (one["equal"] and one["output_exact"]) or one["failures"]:
            bench.differs("; ".join(one["failures"]) or "not equal, or not exact, and no failure is named")
        bench.same("predicted and measured", one["predicted"], one["measured"])
        if not stalls:
            judge_cycles(bench, one["cycles"], device)


def judge_cycles(bench: Bench, cycles: dict[str, int], device: str) -> None:
    """Measured cycles are near the predicted ones."""
    share, few = WITHIN[device]
    if abs(cycles["predicted"] - cycles["measured"]) > max(share * cycles["measured"], few):
        bench.differs(f"{cycles['predicted']} cycles predicted, {cycles['measured']} measured")
