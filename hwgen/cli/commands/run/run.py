"""``hwgen run``: a quantised network, its layers with weights in the simulated hardware."""

from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.depth_first_runs import DepthFirstRun
from hwgen.api.running import run_request
from hwgen.cli.clusters import ImageOnEachOption
from hwgen.cli.commands.cosim import Jobs, Sim
from hwgen.cli.commands.network.network import Inputs, Mean, Model, Seed, Std
from hwgen.cli.console import Json, print_json
from hwgen.cli.jobs import hardware_names
from hwgen.cli.pipelines import DepthFirstOption, DramOption, MacsOption, MemoryOption, UntilOption
from hwgen.cli.printers.depth_first import print_depth_first_run
from hwgen.cli.printers.runs import print_run
from hwgen.cli.workload import ResidentOption

__all__ = ["run"]

Hardware = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="The HWC or the cluster, with requantisation scaled: a hardware file, or a built-in name. If not given: "
        "cluster_64_vector, with --resident.",
        autocompletion=hardware_names,
    ),
]
Output = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Folder for the outputs, the layers' operands, and a page."),
]


def run(
    model: Model,
    *,
    output: Output,
    hardware: Hardware = None,
    given: Inputs = None,
    mean: Mean = None,
    std: Std = None,
    seed: Seed = None,
    simulator: Sim = "verilator",
    jobs: Jobs = 0,
    resident: ResidentOption = False,
    clusters: ImageOnEachOption = None,
    depth_first: DepthFirstOption = False,
    memory: MemoryOption = None,
    macs: MacsOption = None,
    dram: DramOption = None,
    until: UntilOption = None,
    as_json: Json = False,
) -> int:
    """Run a quantised network: its layers with weights on an HWC or a cluster in the simulator, others on the host.

    The layers run one after the other, with the network's own weights, biases, multipliers, shifts and zero points.
    On a cluster each stretch of layers between nodes of the host is one program. With --clusters images run at the
    same time, one on each. Every output is compared with the
    integer reference, every count with the model, and the reference with ONNX Runtime, or with LiteRT for TFLite.

    With --depth-first the nodes that the network begins with run as stacks on pipelines of line buffers, pixel by
    pixel, as far as pipelines have stages for them, and the host runs the rest; or, with --hardware, a cluster does,
    and as much is depth-first as both together take the fewest cycles with.
    """
    found = run_request(
        model, given, hardware, mean=mean, std=std, seed=seed, output=output, simulator=simulator, jobs=jobs,
        resident=resident, clusters=clusters, depth_first=depth_first, memory=memory, macs=macs, dram=dram,
        until=until,
    ).answer()  # fmt: skip
    if as_json:
        print_json(found.document())
    elif isinstance(found, DepthFirstRun):
        print_depth_first_run(found)
    else:
        print_run(found)
        typer.echo(f"The page of the run: {output / 'run.html'}")
    return 0 if found.passed else 1
