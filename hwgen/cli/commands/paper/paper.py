"""``hwgen paper``: the figures of a publication, computed anew, beside what it claims."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hwgen.campaigns.hwc import expected_rows, kept_configurations
from hwgen.campaigns.plans import Configuration
from hwgen.cli.commands.paper.cecconi import cecconi
from hwgen.cli.commands.paper.goetschalckx import goetschalckx
from hwgen.cli.commands.paper.sousa import sousa
from hwgen.cli.console import Json, buffer_sizes, note, print_json, printable, progress
from hwgen.ir.counts import Counts
from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.network import load_layer_set
from hwgen.report.documents import Found, readme, tables, write_bytes
from hwgen.report.stoutchinin.claims import claims
from hwgen.report.stoutchinin.measured import measured_csv, measured_engines, measured_readme
from hwgen.report.stoutchinin.rows import (
    HWC_BYTES,
    READINGS,
    TABLE,
    Search,
    engines,
    exceptions,
    median_ratios,
    network_of,
    order_quality,
    totals,
    traffic,
)

__all__ = ["paper"]

Publication = Annotated[
    Literal["stoutchinin-2019", "goetschalckx-2019", "cecconi-2017", "sousa-2022"],
    typer.Argument(
        metavar="PAPER",
        help="Which one: stoutchinin-2019, or, with -o and --networks only, goetschalckx-2019, cecconi-2017 and "
        "sousa-2022 (these with --hardware and --rtl too).",
    ),
]
Folder = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Where to; what is finished there is not done again.")
]
Networks = Annotated[
    str | None, typer.Option("--networks", metavar="NAME[,NAME...]", help="Only these networks or rows.")
]
Buffers = Annotated[str, typer.Option("--buffer", metavar="SIZE[,SIZE...]", help="Buffer sizes of Fig. 4 and 5.")]
Orders = Annotated[bool, typer.Option("--orders/--no-orders", help="Fig. 7 too: a second or so for each layer.")]
Rtl = Annotated[
    bool,
    typer.Option(
        "--rtl",
        help="stoutchinin-2019: Fig. 10 alone, from what hwgen regress counted in the RTL (make regress-hwce). "
        "cecconi-2017, sousa-2022: two small layers on our own cluster too, simulated.",
    ),
]
Results = Annotated[Path, typer.Option("--results", metavar="DIR", help="With --rtl: where hwgen regress left them.")]
LayerSet = Annotated[str, typer.Option("--layers", metavar="SET", help="With --rtl: layers other than the paper's.")]
Measured = Annotated[
    str | None,
    typer.Option(
        "--hardware",
        metavar="FILE",
        help="With cecconi-2017, sousa-2022: also with what hwgen calibrate stored in this file.",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, max=256, help="Layers at a time.")]

ON_CLUSTER = ("cecconi-2017", "sousa-2022")
STORE = ".found"
"""Folder, beside the figures, of the results of each finished layer."""
PAPER_SIZES = "1KiB,2KiB,4KiB,8KiB,16KiB,32KiB,64KiB,128KiB,256KiB"


def paper(
    name: Publication,
    *,
    output: Folder,
    networks: Networks = None,
    buffer: Buffers = PAPER_SIZES,
    orders: Orders = True,
    jobs: Jobs = 1,
    rtl: Rtl = False,
    results: Results = Path("results/regress"),
    layer_set: LayerSet = TABLE,
    hardware: Measured = None,
    as_json: Json = False,
) -> int:
    """Compute the figures of a publication anew: plots, CSV, and a README.md of its claims beside what was found."""
    if hardware is not None and name not in ON_CLUSTER:
        raise InputError(f"--hardware: expected with {' or '.join(ON_CLUSTER)}")
    if name != "stoutchinin-2019":
        if (rtl and name not in ON_CLUSTER) or buffer != PAPER_SIZES or layer_set != TABLE or not orders:
            more = "--networks, --hardware, --rtl" if name in ON_CLUSTER else "--networks"
            raise InputError(f"{name}: expected no options but -o, {more} and --json")
        if name == "cecconi-2017":
            return cecconi(output, networks, hardware, rtl=rtl, as_json=as_json)
        if name == "sousa-2022":
            return sousa(output, networks, hardware, rtl=rtl, as_json=as_json)
        return goetschalckx(output, networks, as_json=as_json)
    sizes = buffer_sizes(buffer)
    if layer_set != TABLE and not rtl:
        raise InputError("--layers: expected with --rtl")
    layers = _layers(networks, layer_set)
    if output.exists() and not output.is_dir():
        raise InputError(f"-o: expected a folder, got the file {output}")
    if rtl:
        return _measured(layers, layer_set, results, output, as_json=as_json)
    passes = len(READINGS) + 1 + orders
    with progress(passes * len(layers), "searching") as step:
        how = Search(jobs, output / STORE, lambda layer: step())
        rows = [row for reading in READINGS for row in traffic(layers, sizes, reading, how)]
        pairs = engines(layers, how)
        quality = order_quality(layers, HWC_BYTES, how) if orders else []
    found = Found(rows, totals(rows), pairs, quality, claims(rows, pairs, quality))
    note("drawing")
    text = readme(found)
    files = {"README.md": text.encode(), **{file: table.encode() for file, table in tables(found).items()}}
    files |= _drawn(found)
    for file, data in files.items():
        write_bytes(output / file, data)
    if as_json:
        print_json(
            {
                "paper": name,
                "layers": len(layers),
                "buffer_bytes": sizes,
                "claims": [asdict(claim) for claim in found.stated],
                "median_ratios": {str(size): round(ratio, 6) for size, ratio in median_ratios(rows).items()},
                "exceptions": [asdict(row) for row in exceptions(rows)],
                "files": sorted(str(output / file) for file in files),
            }
        )
    else:
        sys.stdout.write(text)
    return 0


def _measured(layers: tuple[Layer, ...], layer_set: str, results: Path, output: Path, *, as_json: bool) -> int:
    """Fig. 10 from the results of a regression; 1 if one of them is not what was predicted."""
    busy = Configuration.busy("per-layer", HWC_BYTES)
    chosen = busy if busy.name in kept_configurations(results) else Configuration("per-layer", HWC_BYTES)
    hwc = _results(layers, layer_set, chosen, results)
    theirs = _results(layers, layer_set, Configuration("hwce", HWC_BYTES), results)
    counts = [
        {name: Counts.from_json(result["measured"]) for name, result in found.items()} for found in (hwc, theirs)
    ]
    rows = measured_engines(layers, *counts)
    text = measured_readme(rows)
    from hwgen.report.stoutchinin.figures import figure_10_measured, rendered

    files = {"README.md": text.encode(), "fig10_rtl.csv": measured_csv(rows).encode()}
    files |= {f"fig10_rtl.{suffix}": data for suffix, data in rendered(figure_10_measured(rows)).items()}
    for file, data in files.items():
        write_bytes(output / file, data)
    wrong = [f"{name}: {failure}" for found in (hwc, theirs) for name, result in found.items()
             for failure in result["failures"]]  # fmt: skip
    if as_json:
        entries = [{**asdict(row), "ratio_32": row.ratio_32, "ratio_16": row.ratio_16} for row in rows]
        print_json({"rows": entries, "failures": wrong, "files": sorted(str(output / file) for file in files)})
    else:
        sys.stdout.write(text)
        for line in wrong:
            typer.echo(printable(line))
    return 1 if wrong else 0


def _results(
    layers: tuple[Layer, ...], layer_set: str, configuration: Configuration, folder: Path
) -> dict[str, dict[str, Any]]:
    """The results of a configuration; all of them, or a refusal that says how to come by them."""
    found = expected_rows(layers, configuration, folder)
    missing = [name for name, result in found.items() if result is None]
    if missing:
        kind, busy = configuration.kind, "" if configuration.utilisation is None else " --busy"
        target = "make regress" if kind == "per-layer" else f"make regress-{kind}"
        raise InputError(
            f"--results: {folder}: {len(missing)} of {len(found)} rows of {kind} are missing, or of another state of "
            f"the generator, {missing[0]} the first: run {target} "
            f"(hwgen regress {layer_set} --{kind}{busy} -o {folder})"
        )
    return {name: result for name, result in found.items() if result is not None}


def _drawn(found: Found) -> dict[str, bytes]:
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.report.stoutchinin.figures import figure_4, figure_5, figure_7, figure_10, rendered

    figures = {"fig4": figure_4(found.sums), "fig5": figure_5(found.sums), "fig10": figure_10(found.pairs)}
    if found.quality:
        figures["fig7"] = figure_7(found.quality)
    return {f"{stem}.{suffix}": data for stem, figure in figures.items() for suffix, data in rendered(figure).items()}


def _layers(networks: str | None, layer_set: str) -> tuple[Layer, ...]:
    """The rows of the paper's tables, or of another set, whose names start with one of the given names."""
    every = load_layer_set(layer_set).convolutions()
    if networks is None:
        return every
    wanted = [name.strip() for name in networks.split(",")]
    for name in wanted:
        if not any(name in (layer.name, network_of(layer)) for layer in every):
            known = ", ".join(dict.fromkeys(map(network_of, every)))
            raise InputError(f"--networks: expected some of {known}, or single rows, got {name[:40]!r}")
    return tuple(layer for layer in every if layer.name in wanted or network_of(layer) in wanted)
