"""A regression's results in a line for each configuration."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from hwgen.ir.counts import Counts
from hwgen.ir.document import csv_lines
from hwgen.studies.regress.hwc import Outcome
from hwgen.studies.regress.plans import Configuration

__all__ = ["Summary", "cluster_rows_csv", "failures", "rows_csv", "summaries"]

COLUMNS = ("configuration", "layer", "bytes_predicted", "bytes_measured", "cycles_predicted", "cycles_measured",
           "utilisation", "passed", "seconds")  # fmt: skip
CLUSTER_COLUMNS = ("case", "layer", "hwcs", "stalled", "macs", "bytes_measured", "cycles_predicted",
                   "cycles_measured", "utilisation", "passed", "seconds")  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """One configuration.

    Members
    -------
    rows, missing, left_out : layers with a result; without one; that the configuration cannot or need not run.
    differences : rows in which a count is not the predicted one.
    wrong : rows that fail otherwise: their output, the bus protocol, the status.
    total_bytes, ratio : I, W and O measured; over the sum of the same rows' optima in the pure model.
    mean_utilisation, least_utilisation : multiply-accumulates by what the lanes could have done.
    prediction_error : the largest difference of predicted and measured cycles, by the measured ones.
    cycles, seconds, cpu_seconds : simulated, and the time of the simulations alone.
    """

    configuration: Configuration
    rows: int
    missing: int
    left_out: int
    differences: int
    wrong: int
    total_bytes: int
    ratio: float
    mean_utilisation: float
    least_utilisation: float
    prediction_error: float
    cycles: int
    seconds: float
    cpu_seconds: float


def summaries(outcome: Outcome) -> list[Summary]:
    """One for each configuration that has results."""
    found = []
    for plan in outcome.plans:
        names = [entry.schedule.layer.name for entry in plan.entries]
        keys = [(plan.configuration, name) for name in names]
        results = {key[1]: outcome.results[key] for key in keys if key in outcome.results}
        if results:
            found.append(_summary(plan.configuration, results, len(names), len(plan.left_out), plan.optima))
    return found


def rows_csv(outcome: Outcome) -> str:
    """Each row with a result as CSV, in the order of the plans: bytes are those of I, W and O, as in `Summary`."""
    keys = [(plan.configuration, entry.schedule.layer.name) for plan in outcome.plans for entry in plan.entries]
    return csv_lines([COLUMNS, *(_cells(outcome.results[key]) for key in keys if key in outcome.results)])


def _cells(result: dict[str, Any]) -> tuple[object, ...]:
    cycles = result["cycles"]
    return (
        result["configuration"], result["layer"], Counts.from_json(result["predicted"]).total_bytes(),
        result["total_bytes"], cycles["predicted"], cycles["measured"], round(result["utilisation"], 6),
        "yes" if result["passed"] else "no", round(result["seconds"], 1),
    )  # fmt: skip


def cluster_rows_csv(results: Sequence[dict[str, Any]]) -> str:
    """Each case of a regression of clusters as CSV: bytes are those of I, W and O at the DRAM."""
    return csv_lines([CLUSTER_COLUMNS, *map(_cluster_cells, results)])


def _cluster_cells(result: dict[str, Any]) -> tuple[object, ...]:
    cycles, passed = result["cycles"], result["equal"] and result["output_exact"] and not result["failures"]
    return (
        result["case"], result["layer"], result["hwcs"], "yes" if result["stalled"] else "no", result["macs"],
        result["total_bytes"], cycles["predicted"], cycles["measured"], result["utilisation"],
        "yes" if passed else "no", round(result["seconds"], 1),
    )  # fmt: skip


def _summary(
    configuration: Configuration,
    results: dict[str, dict[str, Any]],
    planned: int,
    left_out: int,
    optima: dict[str, int],
) -> Summary:
    rows = list(results.values())
    moved = sum(row["total_bytes"] for row in rows)
    errors = [
        abs(row["cycles"]["predicted"] - row["cycles"]["measured"]) / max(1, row["cycles"]["measured"])
        for row in rows
    ]
    return Summary(
        configuration=configuration,
        rows=len(rows),
        missing=planned - len(rows),
        left_out=left_out,
        differences=sum(not row["equal"] for row in rows),
        wrong=sum(row["equal"] and not row["passed"] for row in rows),
        total_bytes=moved,
        ratio=moved / sum(optima[name] for name in results),
        mean_utilisation=mean(row["utilisation"] for row in rows),
        least_utilisation=min(row["utilisation"] for row in rows),
        prediction_error=max(errors),
        cycles=sum(row["cycles"]["measured"] for row in rows),
        seconds=sum(row["seconds"] for row in rows),
        cpu_seconds=sum(row["cpu_seconds"] for row in rows),
    )


def failures(outcome: Outcome) -> list[str]:
    """One line for each failure."""
    lines = [
        f"{configuration.name}: {layer}: {failure}"
        for (configuration, layer), result in outcome.results.items()
        if not result["passed"]
        for failure in result["failures"] or ["failed"]
    ]
    return [*lines, *outcome.failures]
