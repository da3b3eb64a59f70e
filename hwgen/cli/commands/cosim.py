"""``hwgen cosim``: run the hardware and compare every access and every output with what was predicted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from cosim.cluster.generated import read_clusters
from cosim.cluster.results import cosimulate_clusters
from cosim.device.result import LayerResult, NodeResult
from cosim.hwc.generated import read_programs
from cosim.hwc.results import cosimulate, cosimulate_programs
from cosim.simulator.pace import Forecast
from cosim.system.results import cosimulate_systems
from hwgen.api.arguments import claim_folder, is_given
from hwgen.api.depth_first import solution_file
from hwgen.api.sharing import Sharing, sharing_of
from hwgen.api.work import Work, balance_data, left_out, save_works, work_of
from hwgen.cli.clusters import ClustersOption, PartitionOption
from hwgen.cli.console import Json, note, print_cycles_note, print_json, print_table, printable, progress
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import jobs_option
from hwgen.cli.names import set_names
from hwgen.cli.pipeline_runs import cosim_stacks
from hwgen.cli.pipelines import DramOption, MacsOption
from hwgen.cli.workload import BufferOption, HardwareOption, ObjectiveOption, PerLayer, SlackOption, tell_set
from hwgen.ir.counts import DIRECTIONS, directions_at, quantities_at
from hwgen.ir.document import InputError, json_text, write_atomically
from hwgen.ir.names import file_names
from hwgen.model.cluster.levels import is_for_cluster
from hwgen.tools.toolchain import Simulator

__all__ = ["Jobs", "cosim", "print_comparison", "print_failures", "run", "save_results", "tell_wait"]

Sim = Annotated[Simulator, typer.Option("--sim", help="Which simulator runs the Verilog.")]
Jobs = Annotated[
    int,
    jobs_option("Simulators that run at a time, at most; 0: as many as there are processors.", all_by_default=True),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=(1 << 31) - 1, help="Seed of the random operands and stalls.")
]
Stalls = Annotated[bool, typer.Option("--stalls", help="Withhold grants and responses at random.")]
Dump = Annotated[
    Path | None, typer.Option("--dump", metavar="DIR", help="Write each layer's operands and output here.")
]
Keep = Annotated[
    Path | None,
    typer.Option("--save-schedules", metavar="DIR", help="Write the schedules that run, and their hardware, here."),
]
Waves = Annotated[bool, typer.Option("--waves", help="Record waveforms (FST), in the --dump folder or in waves.")]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the JSON document here.")
]


Schedules = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SCHEDULE...|SET]",
        help="Schedule files, folders of them, or one layer set.",
        autocompletion=set_names,
    ),
]
Generated = Annotated[
    Path | None,
    typer.Option("--program", metavar="DIR", help="Run the Verilog and programs that generate wrote into DIR."),
]


def cosim(
    workload: Schedules = None,
    *,
    program: Generated = None,
    buffer: BufferOption = None,
    hardware: HardwareOption = None,
    per_layer: PerLayer = False,
    objective: ObjectiveOption = None,
    slack: SlackOption = None,
    partial: Partial = False,
    simulator: Sim = "verilator",
    jobs: Jobs = 0,
    seed: Seed = 0,
    stalls: Stalls = False,
    dump: Dump = None,
    waves: Waves = False,
    output: Output = None,
    keep: Keep = None,
    macs: MacsOption = None,
    dram: DramOption = None,
    clusters: ClustersOption = None,
    partition: PartitionOption = None,
    as_json: Json = False,
) -> int:
    """Run schedules in the simulator (a SET is scheduled first) and compare counts and outputs with the model.

    A depth-first solution runs stack by stack, each on a pipeline of its own, with --dram on a DRAM. With --program
    the files of a generated folder run as they are. With --clusters each layer of a cluster's schedules is shared out
    to several of it.
    """
    sharing = sharing_of(clusters, partition)
    if output is not None and output.is_dir():
        raise InputError(f"-o: expected a file, got the folder {output}")
    claim_folder(dump, "--dump")
    claim_folder(keep, "--save-schedules")
    if program is not None:
        of_schedules = {"SCHEDULE": workload, "--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer,
                        "--objective": objective, "--traffic-slack": slack, "--partial": partial, "--macs": macs,
                        "--dram": dram, "--save-schedules": keep, "--clusters": clusters}  # fmt: skip
        for option, value in of_schedules.items():
            if is_given(value):
                raise InputError(f"{option}: not with --program, whose folder says it")
        by_kind = _run_generated(program, simulator, jobs=jobs, seed=seed, stalls=stalls, dump=dump, waves=waves)
        return _told([(Path(), results) for results in by_kind], {}, output, as_json=as_json)
    if not workload:
        raise InputError("SCHEDULE: expected schedules, a layer set, or --program DIR")
    unfit = {"--buffer": buffer, "--hardware": hardware, "--per-layer": per_layer, "--dump": dump, "--waves": waves,
             "--partial": partial, "--save-schedules": keep, "--objective": objective,
             "--traffic-slack": slack, "--clusters": clusters}  # fmt: skip
    solution = solution_file(workload, macs, unfit, dram=dram)
    if solution is not None:
        return cosim_stacks(
            solution, macs=macs, dram=dram, simulator=simulator, jobs=jobs, seed=seed, stalls=stalls, output=output,
            as_json=as_json,
        )  # fmt: skip
    works = work_of(
        workload, buffer=buffer, hardware=hardware, per_layer=per_layer, objective=objective, slack=slack,
        partial=partial,
    )  # fmt: skip
    if keep is not None:
        save_works(works, keep)
    if any(work.on_cluster for work in works):
        _require_verilator(simulator, waves=waves)
    if sharing is not None and (dump is not None or not all(work.on_cluster for work in works)):
        raise InputError("--clusters: expected schedules of two memory levels, and no --dump")
    found = [
        (work.folder, run(work, simulator=simulator, jobs=jobs, seed=seed, stalls=stalls, sharing=sharing,
                          dump=None if dump is None else dump / work.folder,
                          waves=(dump or Path("waves")) / work.folder if waves else None))
        for work in works
    ]  # fmt: skip
    status = _told(found, {**balance_data(works[0].balance), **left_out(works)}, output, as_json=as_json)
    if not as_json:
        tell_set(works)
    return status


def _told(
    found: Sequence[tuple[Path, list[LayerResult]]], more: dict[str, object], output: Path | None, *, as_json: bool
) -> int:
    """Write and print results by folder; the exit status."""
    results = [result for _, some in found for result in some]
    document = {
        "results": [{**result.as_json(), "folder": str(folder)} for folder, some in found for result in some],
        **more,
    }
    if output is not None:
        save_results(output, document)
    if as_json:
        print_json(document)
    else:
        for folder, some in found:
            if len(found) > 1:
                typer.echo(f"{printable(str(folder))}:")
            print_comparison(some)
            _print_runs(some)
            print_failures(some)
    return 0 if all(result.passed for result in results) else 1


def _run_generated(
    folder: Path, simulator: Simulator, *, jobs: int, seed: int, stalls: bool, dump: Path | None, waves: bool
) -> list[list[LayerResult]]:
    """Run what ``hwgen generate`` wrote into a folder: the results on HWCs, and those on clusters."""
    programs, clusters = read_programs(folder), read_clusters(folder)
    layers = [one.program.schedule.layer.name for one in programs]
    layers += [schedule.layer.name for one in clusters for schedule in one.schedules]
    number, names = len(layers), iter(file_names(layers))
    if not number:
        raise InputError(f"{folder}: expected a folder with programs for HWCs or clusters")
    if clusters:
        _require_verilator(simulator, waves=waves)
    note(f"{simulator}: {number} programs of {folder}")
    with progress(number, "cosimulating") as step:
        found = cosimulate_programs(
            programs,
            simulator=simulator,
            seed=seed,
            jobs=jobs,
            stalls=stalls,
            dump=dump,
            waves=(dump or Path("waves")) if waves else None,
            names=[next(names) for _ in programs],
            tell=tell_wait,
            progress=lambda result: step(),
        )
        on_clusters = []
        for one in clusters:
            own = [next(names) for _ in one.schedules]
            on_clusters += one.run(
                seed=seed, stalls=stalls, dump=dump, names=own, jobs=jobs, tell=tell_wait,
                progress=lambda result: step(),
            )  # fmt: skip
    return [results for results in (found, on_clusters) if results]


def _require_verilator(simulator: Simulator, *, waves: bool) -> None:
    if simulator != "verilator" or waves:
        raise InputError(f"--{'waves' if waves else 'sim'}: clusters run in Verilator, without waveforms")


def run(
    work: Work,
    *,
    simulator: Simulator = "verilator",
    jobs: int = 1,
    seed: int = 0,
    stalls: bool = False,
    dump: Path | None = None,
    waves: Path | None = None,
    sharing: Sharing | None = None,
) -> list[LayerResult]:
    """Cosimulate the work with a progress bar. Waveforms go into the folder ``waves``."""
    note(f"{simulator}: {len(work.schedules)} layers")
    with progress(len(work.schedules), "cosimulating") as step:
        if sharing is not None:
            return cosimulate_systems(
                work.schedules,
                work.hardware,
                sharing.clusters,
                sharing.partition,
                seed=seed,
                stalls=stalls,
                jobs=jobs,
                tell=tell_wait,
                progress=lambda result: step(),
            )
        if work.on_cluster:
            return cosimulate_clusters(
                work.schedules,
                work.hardware,
                seed=seed,
                stalls=stalls,
                jobs=jobs,
                dump=dump,
                tell=tell_wait,
                progress=lambda result: step(),
            )
        return cosimulate(
            work.schedules,
            work.hardware,
            simulator=simulator,
            seed=seed,
            jobs=jobs,
            stalls=stalls,
            dump=dump,
            waves=waves,
            tell=tell_wait,
            progress=lambda result: step(),
        )


def tell_wait(forecast: Forecast) -> None:
    """Say how long the simulation will take, about."""
    if forecast.cycles:
        note(f"{forecast}")


def save_results(path: Path, document: object) -> None:
    """Write the JSON document of a command, complete or not at all."""
    write_atomically(path, json_text(document))


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
    print_table(title, columns, rows, wide=["words predicted", "words measured"])


def _print_levels(results: Sequence[LayerResult]) -> None:
    """The same at several memory levels, quantity by quantity."""
    for level in results[0].predicted.levels():
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
        print_table(f"Traffic at {level}: predicted by the model, measured on the bus", columns, rows)


def _print_runs(results: Sequence[LayerResult]) -> None:
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
    print_cycles_note()


def print_failures(results: Sequence[LayerResult | NodeResult]) -> None:
    """One line for each failure."""
    for result in results:
        for failure in result.failures:
            typer.echo(f"{result.layer}: {failure}")
