"""``hwgen cosim``: run the hardware and compare every access and every output with what was predicted."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.cosimulation import CosimRequest
from hwgen.api.names import Simulator
from hwgen.cli.clusters import ClustersOption, PartitionOption
from hwgen.cli.console import Json, print_json
from hwgen.cli.coverage import Partial
from hwgen.cli.jobs import jobs_option, set_names
from hwgen.cli.pipelines import DramOption, MacsOption
from hwgen.cli.printers.cosimulations import print_cosimulation
from hwgen.cli.workload import BufferOption, HardwareOption, ObjectiveOption, PerLayer, SlackOption

__all__ = ["Jobs", "Seed", "Sim", "cosim"]

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
    typer.Option(
        "--program",
        metavar="DIR",
        help="Run the Verilog and programs that generate wrote into DIR, for schedules or layers.",
    ),
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
    the files of a folder generated for schedules run as they are; quantised networks are run by hwgen run. With
    --clusters each layer of a cluster's schedules is shared out to several of it.
    """
    found = CosimRequest(
        workload=workload, program=program, buffer=buffer, hardware=hardware, per_layer=per_layer,
        objective=objective, slack=slack, partial=partial, simulator=simulator, jobs=jobs, seed=seed, stalls=stalls,
        dump=dump, waves=waves, output=output, keep=keep, macs=macs, dram=dram, clusters=clusters,
        partition=partition,
    ).answer()  # fmt: skip
    if as_json:
        print_json(found.document())
    else:
        print_cosimulation(found, stalls=stalls)
    return 0 if found.passed else 1
