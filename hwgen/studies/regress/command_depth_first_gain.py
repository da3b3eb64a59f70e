"""``hwgen regress-ways``: parts of networks depth-first and layer by layer in the simulator, byte against byte.

No part has its published size; a table gives the sizes.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from hwgen.api.arguments import require_folder
from hwgen.api.machines import read_hardware
from hwgen.cli.console import Json, note, print_json, print_table, progress
from hwgen.cli.jobs import jobs_option
from hwgen.ir.document import InputError, write_atomically
from hwgen.studies.regress.command_pipelines import print_sizes
from hwgen.studies.regress.depth_first_gain_regression import MACS, NETWORKS, WaysRegression
from hwgen.studies.regress.summary import ways_csv

__all__ = ["regress_ways"]

ROWS = "ways.csv"

Folder = Annotated[
    Path,
    typer.Option("-o", "--output", metavar="DIR", help="Where results go; what is there is not simulated again."),
]
Clusters = Annotated[
    str,
    typer.Option(
        "--hardware", metavar="FILE", help="The cluster; its TCDM is made so large that both have equal memory."
    ),
]
Jobs = Annotated[int, jobs_option("Networks at a time.")]
Small = Annotated[bool, typer.Option("--small", help="The same networks with few channels on small maps.")]


def regress_ways(
    *,
    output: Folder,
    hardware: Clusters = "alexnet_cluster",
    jobs: Jobs = 1,
    small: Small = False,
    as_json: Json = False,
) -> int:
    """Run networks as one depth-first stack, and layer by layer on a cluster; compare what they move from the DRAM.

    Both have the same weights, shifts and activations, and must leave the same outputs. Each layer has the schedule
    of fewest DRAM bytes; pools, which a cluster does not have, cost it nothing.
    """
    require_folder(output)
    cluster = read_hardware(hardware)
    if cluster is None or cluster.cluster is None:
        raise InputError(f"--hardware: {hardware}: cluster: expected one")
    note(f"{len(NETWORKS)} networks both ways; each one's first run builds two simulators")
    with progress(len(NETWORKS), "simulating") as step:
        results = WaysRegression(NETWORKS, cluster, output, small, jobs).run(lambda result: step())
    write_atomically(output / ROWS, ways_csv(results))
    if as_json:
        print_json({"results": results})
    else:
        print_sizes([(part.name, part.case_size(small=small)) for part in NETWORKS])
        _print(results)
    return 1 if any(result["failures"] for result in results) else 0


def _print(results: list[dict[str, Any]]) -> None:
    rows: list[list[object]] = []
    for result in results:
        layered, stacked = result["layer_by_layer"], result["depth_first"]
        for name, way in (("layer by layer", layered), ("depth-first", stacked)):
            moved = way["measured"]
            rows.append([
                result["network"], name, way["on_chip"], moved["maps_read"], moved["maps_written"], moved["weights"],
                moved["biases"], way["tensors"], way["tensors"] / stacked["tensors"], moved["program"],
                moved == way["predicted"], way["cycles"],
            ])  # fmt: skip
    columns = ["network", "way", "on-chip bytes", "maps read", "maps written", "weights", "biases", "together",
               "/ depth-first", "program", "as predicted", "cycles"]  # fmt: skip
    print_table(
        f"Bytes from and to DRAM, measured, with {MACS} multipliers",
        columns,
        rows,
        wide=["biases", "weights", "maps written", "maps read", "program"],
    )
    for result in results:
        layered = result["layer_by_layer"]
        moved = layered["tensors"] - layered["measured"]["biases"]
        way = f"{result['network']}: layer by layer, with a TCDM of {layered['tcdm']:,} bytes:"
        typer.echo(f"{way} {moved / layered['compulsory']:.3f} times what each layer alone must move")
        if layered["left_out"]:
            more = sum(layered["left_out"].values())
            typer.echo(
                f"{way} {', '.join(layered['left_out'])} cost nothing; they would read and write {more:,} bytes"
            )
    for result in results:
        for failure in result["failures"]:
            typer.echo(f"{result['network']}: {failure}")
