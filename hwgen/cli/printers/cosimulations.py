"""Cosimulations as tables."""

from collections.abc import Sequence
from typing import Any

import typer

from cosim.device.result import LayerResult, NodeResult
from hwgen.api.cosimulation import Cosimulation, StackCosimulation
from hwgen.cli.console import print_cycles_note, print_table, printable
from hwgen.cli.coverage import tell_activations
from hwgen.cli.workload import tell_set
from hwgen.ir.counts import DIRECTIONS, directions_at, quantities_at
from hwgen.ir.level import LOCAL
from hwgen.lower.pipeline.program import KINDS
from hwgen.model.cluster.levels import is_for_cluster

__all__ = ["print_accesses", "print_comparison", "print_cosimulation", "print_failures", "print_stacks"]


def print_cosimulation(found: Cosimulation | StackCosimulation, *, stalls: bool = False) -> None:
    """Print what was predicted and measured, the checks, and every failure.

    ``stalls`` : grants and responses were withheld at random.
    """
    if isinstance(found, StackCosimulation):
        print_stacks(found.stacks, stalls=stalls)
        if found.on_dram:
            print_accesses(found.stacks)
        tell_activations(found.coverage)
        return
    by_folder = found.by_folder()
    for folder, results in by_folder:
        if len(by_folder) > 1:
            typer.echo(f"{printable(str(folder))}:")
        print_comparison(results)
        _print_runs(results, stalls=stalls)
        print_failures(results)
    if found.works:
        tell_set(found.works)


def print_comparison(results: Sequence[LayerResult]) -> None:
    """Predicted and measured counts, one row per layer, operand and direction."""
    on_clusters = [result for result in results if is_for_cluster(result.schedule)]
    if on_clusters:
        _print_levels(on_clusters)
        return
    rows: list[list[object]] = []
    for result in results:
        for operand, directions in DIRECTIONS.items():
            for direction in directions:
                predicted = result.predicted["tcdm", operand, direction]
                measured = result.measured["tcdm", operand, direction]
                equal = (predicted.bytes, predicted.words) == (measured.bytes, measured.words)
                figures = [predicted.bytes, measured.bytes, predicted.words, measured.words]
                rows.append([result.layer, operand, direction, *figures, equal])
    columns = ["layer", "operand", "direction", "bytes predicted", "bytes measured", "words predicted",
               "words measured", "equal"]  # fmt: skip
    title = "Traffic at the shared memory: predicted by the model, measured on the bus"
    print_table(title, columns, rows, wide=[("words predicted", "words measured")])
    with_registers = [result for result in results if result.schedule.lane_registers]
    if with_registers:
        _print_level(with_registers, LOCAL.name)


def _print_levels(results: Sequence[LayerResult]) -> None:
    """The same at several memory levels, quantity by quantity."""
    for level in dict.fromkeys(level for result in results for level in result.predicted.levels()):
        _print_level(results, level)


def _print_level(results: Sequence[LayerResult], level: str) -> None:
    rows: list[list[object]] = []
    for result in results:
        for operand, directions in directions_at(level).items():
            for direction in directions:
                accesses = result.predicted[level, operand, direction], result.measured[level, operand, direction]
                for quantity in quantities_at(level):
                    predicted, measured = (getattr(access, quantity) for access in accesses)
                    if predicted or measured:
                        found = [predicted, measured, predicted == measured]
                        rows.append([result.layer, operand, direction, quantity, *found])
    columns = ["layer", "operand", "direction", "of", "predicted", "measured", "equal"]
    if level == LOCAL.name:
        title = "Vectors that the lanes access in the local memories: predicted by the model, counted beside the HWC"
    else:
        title = f"Traffic at {level}: predicted by the model, measured on the bus"
    print_table(title, columns, rows)


def _print_runs(results: Sequence[LayerResult], *, stalls: bool) -> None:
    """One row per layer: the checks, cycles, utilisation and simulation speed."""
    rows = [
        [
            result.label,
            result.simulator,
            result.equal,
            result.output_exact,
            result.predicted_cycles,
            result.cycles,
            result.utilisation,
            result.cycles / result.seconds / 1e6 if result.seconds else 0.0,
            result.seconds,
        ]
        for result in results
    ]
    columns = [
        "layer",
        "simulator",
        "counts equal",
        "output exact",
        "cycles predicted",
        "cycles",
        "MAC utilisation",
        "Mcycles/s",
        "seconds",
    ]
    print_table("Runs", columns, rows, wide=["simulator", "seconds", "Mcycles/s"])
    print_cycles_note(
        [(result.predicted_cycles, result.cycles) for result in results],
        clustered=any("dram" in result.predicted.levels() for result in results),
        stalls=stalls,
    )


def print_failures(results: Sequence[LayerResult | NodeResult]) -> None:
    """One line for each failure."""
    for result in results:
        for failure in result.failures:
            typer.echo(f"{result.layer}: {failure}")


def print_stacks(
    results: Sequence[dict[str, Any]], more: Sequence[tuple[str, str]] = (), *, stalls: bool = False
) -> None:
    """Print traffic by kind and cycles of every stack, then one line for each failure; ``stalls`` : as above."""
    kinds = [*KINDS, "weights"]
    names = [kind.replace("_", " ") for kind in kinds]
    rows: list[list[object]] = []
    for result in results:
        cycles = result["cycles"]
        rows.append([
            result["stack"], result["factor"], *(result["measured"][kind] for kind in kinds),
            result["equal"], result["output_exact"], cycles["predicted"], cycles["measured"], cycles["slowest_stage"],
        ])  # fmt: skip
    columns = [
        "stack",
        "tiles",
        *names,
        "as predicted",
        "output exact",
        "cycles predicted",
        "cycles",
        "slowest stage",
    ]
    title = "Bytes to and from DRAM in depth-first execution, measured at the pipeline's streams"
    print_table(title, columns, rows, wide=["tiles", *names, "slowest stage"])
    cycles_of = [(one["cycles"]["predicted"], one["cycles"]["measured"]) for one in results]
    print_cycles_note(cycles_of, stalls=stalls)
    for stack, failure in [*((one["stack"], failure) for one in results for failure in one["failures"]), *more]:
        typer.echo(f"{stack}: {failure}")


def print_accesses(results: Sequence[dict[str, Any]]) -> None:
    """Print what every stack asked of the DRAM, over all of its streams."""
    names = ["bytes", "beats", "axi_bursts", "blocks", "row_misses"]
    rows: list[list[object]] = [
        [result["stack"], *(sum(stream[name] for stream in result["dram"].values()) for name in names)]
        for result in results
    ]
    print_table("Accesses of the DRAM", ["stack", *(name.replace("_", " ") for name in names)], rows)
