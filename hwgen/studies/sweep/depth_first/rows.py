"""The rows of depth-first points, from the records of the steps."""

from collections.abc import Iterator, Mapping
from typing import Any

from hwgen.studies.sweep.depth_first.request import DepthFirstQuestion
from hwgen.studies.sweep.depth_first.steps import StackJob
from hwgen.studies.sweep.rows import Cells, completed, status_of
from hwgen.studies.sweep.tables.pipelines import AT_DRAM, FRONTS, KINDS_OF_TRAFFIC, PIPELINES

__all__ = ["front_rows", "no_stack_row", "stack_row"]


def front_rows(question: DepthFirstQuestion, points: list[Mapping[str, Any]]) -> list[Cells]:
    """The rows of the network's front."""
    return [completed({**question.of_network, **point}, FRONTS) for point in points]


def no_stack_row(asked: Mapping[str, Any], status: str, reason: str, point: str) -> Cells:
    """The row of a point without a solution, with the reason."""
    return completed({**asked, "status": status, "reason": reason, "point": point}, PIPELINES)


def stack_row(
    job: StackJob,
    *,
    point: str,
    asked: Mapping[str, Any],
    file: str,
    predicted: Mapping[str, Any] | None,
    simulated: Mapping[str, Any] | None,
    area: Mapping[str, Any] | None = None,
    reason: str = "",
    refused: bool = False,
    pending: bool = False,
) -> Cells:
    """One row.

    Parameters
    ----------
    asked : the cells that say what was asked for.
    file : of the solution.
    predicted, simulated : what the model and the run say; None: not known, or not asked for.
    area : the cells of its synthesis.
    reason : why something is missing that was asked for.
    refused : whether no pipeline runs the stack.
    pending : whether some of it is still to come.
    """
    entry = job.solution["stacks"][job.number]
    cells: Cells = {
        **asked,
        "point": point,
        "stack": job.name,
        "number": job.number + 1,
        "stacks": len(job.solution["stacks"]),
        "tiles": entry["factor"],
        "weights": job.solution["weights"],
        "on_chip_bytes": job.solution["memory"],
        "stack_bytes": entry["memory"],
        "rings": ", ".join(f"{ring['map']} {ring['channels'] * ring['pixels']}" for ring in entry["rings"]),
        "through_dram": ", ".join(" to ".join(edge) for edge in entry.get("through_dram", ())) or None,
        "solution": file,
    }
    if predicted is not None:
        cells |= dict(_predicted(predicted, job.multipliers))
    wrong: list[str] = []
    if simulated is not None:
        cells |= dict(_measured(simulated))
        wrong = _failures(predicted, simulated)
        cells["equal"] = simulated["equal"] and not (predicted and _different(predicted, simulated))
    cells["status"] = "infeasible" if refused else status_of(simulated, reason, wrong, pending=pending)
    cells["reason"] = reason or "; ".join(wrong)
    return completed({**cells, **(area or {})}, PIPELINES)


def _failures(predicted: Mapping[str, Any] | None, simulated: Mapping[str, Any]) -> list[str]:
    """What is wrong with a run, a line each, whatever its record says of itself."""
    lines = list(simulated["failures"]) or ([] if simulated["passed"] else ["failed"])
    if predicted is None or lines:
        return lines
    lines = [f"{kind}: {got} bytes, predicted {said}" for kind, said, got in _different(predicted, simulated)]
    lines += [] if simulated["equal"] else ["a count is not the predicted one"]
    return lines + ([] if simulated["output_exact"] else ["output: not that of the reference"])


def _different(predicted: Mapping[str, Any], simulated: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The kinds of traffic that are not as predicted, each with both numbers of bytes."""
    pairs = ((kind, predicted["traffic"][kind], simulated["measured"][kind]) for kind in KINDS_OF_TRAFFIC)
    return [(kind, said, got) for kind, said, got in pairs if said != got]


def _predicted(found: Mapping[str, Any], multipliers: int) -> Iterator[tuple[str, Any]]:
    for name in ("layers", "macs", "ring_bytes", "weight_bytes", "in_flight_bytes"):
        yield name, found[name]
    yield from _traffic(found["traffic"], "predicted")
    yield from _at_dram(found["dram"], "predicted")
    yield "cycles_predicted", found["cycles"]
    yield "slowest_stage_cycles", found["slowest_stage"]
    yield "utilisation", round(found["macs"] / (found["cycles"] * multipliers), 6) if found["cycles"] > 0 else None


def _measured(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield from _traffic(found["measured"], "measured")
    yield from _at_dram(found["dram"], "measured")
    yield "bias_bytes_measured", found["bias"]
    yield "equal", found["equal"]
    yield "output_exact", found["output_exact"]
    yield "cycles_measured", found["cycles"]["measured"]
    yield "utilisation", round(found["utilisation"], 6)


def _traffic(kinds: Mapping[str, int], source: str) -> Iterator[tuple[str, int]]:
    for kind in KINDS_OF_TRAFFIC:
        yield f"{kind}_bytes_{source}", kinds[kind]
    yield f"total_bytes_{source}", sum(kinds.values())


def _at_dram(counts: Mapping[str, int], source: str) -> Iterator[tuple[str, int]]:
    for name in AT_DRAM if counts else ():
        yield f"dram_{name}_{source}", counts[name]
