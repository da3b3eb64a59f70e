"""Results of regressions in a line for each configuration, and as CSV."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from hwgen.ir.counts import Counts
from hwgen.ir.document import csv_lines
from hwgen.lower.pipeline.program import KINDS
from hwgen.studies.regress.goals import verdict
from hwgen.studies.regress.hwc import Outcome
from hwgen.studies.regress.plans import Configuration

__all__ = [
    "Summary",
    "borders",
    "borders_csv",
    "channels_text",
    "cluster_rows_csv",
    "failures",
    "longest_wait",
    "rows_csv",
    "shape_text",
    "stacks_csv",
    "summaries",
    "summary_csv",
    "ways_csv",
    "words_read",
]

COLUMNS = ("configuration", "layer", "bytes_predicted", "bytes_measured", "cycles_predicted", "cycles_measured",
           "utilisation", "passed", "seconds")  # fmt: skip
SUMMARY_COLUMNS = ("configuration", "rows", "missing", "wrong", "bytes", "of_the_optima", "utilisation", "cycles",
                   "cycles_off", "verdict", "cpu_seconds")  # fmt: skip
CLUSTER_COLUMNS = ("case", "layer", "hwcs", "stalled", "macs", "bytes_measured", "words_read", "cycles_predicted",
                   "cycles_measured", "utilisation", "longest_wait_read", "longest_wait_write", "passed",
                   "seconds")  # fmt: skip
STACK_COLUMNS = ("stack", "tiles", "input", "input_published", "channels", "macs", "macs_published", "rings",
                 "features", "overlap", "dram_bytes", "axi_bursts", "row_misses", "cycles_predicted",
                 "cycles_measured", "slowest_stage", "off_pace", "may_be_off", "passed")  # fmt: skip
BORDER_COLUMNS = ("stack", "tile", "slowest_stage", "output", "lost", "allowed")
WAYS = ("layer_by_layer", "depth_first")
WAYS_COLUMNS = ("network", "way", "on_chip_bytes", "dram_bytes", "cycles", "passed")


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


def summary_csv(rows: Sequence[Summary]) -> str:
    """Configurations as CSV, ratios with six digits; ``wrong`` are the rows of `Summary.differences` and `wrong`."""
    return csv_lines([SUMMARY_COLUMNS, *map(_summary_cells, rows)])


def _summary_cells(row: Summary) -> tuple[object, ...]:
    goal = row.configuration.goal
    return (
        row.configuration.name, row.rows, row.missing, row.differences + row.wrong, row.total_bytes,
        round(row.ratio, 6), round(row.mean_utilisation, 6), row.cycles, round(row.prediction_error, 6),
        "" if goal is None else verdict(goal, row.mean_utilisation, row.ratio), round(row.cpu_seconds),
    )  # fmt: skip


def cluster_rows_csv(results: Sequence[dict[str, Any]]) -> str:
    """Each case of a regression of clusters as CSV: bytes are those of I, W and O at the DRAM, words those of I and W
    that HWCs read at the TCDM, waits the most cycles that a burst of a cluster waited for those of others.
    """
    return csv_lines([CLUSTER_COLUMNS, *map(_cluster_cells, results)])


def _cluster_cells(result: dict[str, Any]) -> tuple[object, ...]:
    cycles, passed = result["cycles"], result["equal"] and result["output_exact"] and not result["failures"]
    return (
        result["case"], result["layer"], result["hwcs"], "yes" if result["stalled"] else "no", result["macs"],
        result["total_bytes"], words_read(result, "measured"), cycles["predicted"], cycles["measured"],
        result["utilisation"], *(longest_wait(result, channel) for channel in ("read", "write")),
        "yes" if passed else "no", round(result["seconds"], 1),
    )  # fmt: skip


def words_read(result: dict[str, Any], kind: str) -> int:
    """Words of I and W that HWCs read at the TCDM, ``predicted`` or ``measured``."""
    at_tcdm = result[kind]["tcdm"]
    return sum(int(at_tcdm[operand]["read"]["words"]) for operand in ("I", "W"))


def longest_wait(result: dict[str, Any], channel: str) -> int | None:
    """The longest wait of any cluster for a channel of the interconnect; None of one cluster alone."""
    if "shared_out" not in result:
        return None
    waits = result["stalls"]["measured"]
    return max(int(cycles) for name, cycles in waits.items() if name.endswith(f"_longest_wait_{channel}"))


def stacks_csv(results: Sequence[dict[str, Any]]) -> str:
    """Stacks of a regression as CSV: features are bytes of maps that are read and written, the overlap of tiles among
    them; bytes, bursts and row misses at a DRAM are empty without one.
    """
    return csv_lines([STACK_COLUMNS, *map(_stack_cells, results)])


def _stack_cells(result: dict[str, Any]) -> tuple[object, ...]:
    size, moved, cycles = result["size"], result["measured"], result["cycles"]
    dram = [sum(stream[name] for stream in result["dram"].values()) if result.get("dram") else None
            for name in ("bytes", "axi_bursts", "row_misses")]  # fmt: skip
    return (
        result["stack"], result["factor"], shape_text(size["input"]), shape_text(size["published_input"]),
        channels_text(size["divisor"]), size["macs"], size["published_macs"], result["rings"],
        sum(moved[kind] for kind in KINDS), moved["overlap_out"] + moved["overlap_in"], *dram,
        cycles["predicted"], cycles["measured"], cycles["slowest_stage"], *_off_pace(result["pace"]),
        "no" if result["failures"] else "yes",
    )  # fmt: skip


def _off_pace(pace: dict[str, Any] | None) -> tuple[object, object]:
    """How far the tile that differs most is from its slowest stage, and what it may; empty where it is not known."""
    found = [
        (tile["measured"] / tile["slowest"] - 1, tile["within"])
        for tile in (pace or {"tiles": []})["tiles"]
        if tile["measured"] is not None
    ]
    if not found:
        return None, None
    off, allowed = max(found, key=lambda one: abs(one[0]))
    return round(off, 6), round(allowed, 6)


def borders_csv(results: Sequence[dict[str, Any]]) -> str:
    """Borders between tiles as CSV (`borders`)."""
    return csv_lines([BORDER_COLUMNS, *borders(results)])


def borders(results: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Each later tile of each stack whose pace was measured: cycles of the slowest stage in it, from the end of the
    output of the tile before to that of its own, and what part is lost and may be.
    """
    rows: list[tuple[object, ...]] = []
    for result in results:
        for number, tile in enumerate((result["pace"] or {"tiles": []})["tiles"]):
            if tile["measured"] is not None:
                lost = tile["measured"] / tile["slowest"] - 1
                busy = round(tile["cycles"] * tile["slowest"] / tile["measured"])
                rows.append((result["stack"], number, busy, tile["cycles"], round(lost, 6), tile["within"]))
    return rows


def ways_csv(results: Sequence[dict[str, Any]]) -> str:
    """Networks both ways as CSV: bytes of maps, weights and biases at the DRAM; without failures both passed."""
    return csv_lines([WAYS_COLUMNS, *(_way_cells(one, way) for one in results for way in WAYS)])


def _way_cells(result: dict[str, Any], way: str) -> tuple[object, ...]:
    found = result[way]
    return (
        result["network"], way.replace("_", " "), found["on_chip"], found["tensors"], found["cycles"],
        "no" if result["failures"] else "yes",
    )  # fmt: skip


def shape_text(sizes: Sequence[int]) -> str:
    """Channels, height and width as text."""
    return " x ".join(map(str, sizes))


def channels_text(divisor: int) -> str:
    """What part of the published channels a case has."""
    return "all" if divisor == 1 else f"1/{divisor}"


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
