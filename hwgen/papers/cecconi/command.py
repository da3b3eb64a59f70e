"""``hwgen paper cecconi-2017``: the best tiles for DMA against naive ones, and three ways of moving them."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hwgen.api.arguments import chosen_names, claim_folder
from hwgen.cli.console import note, progress
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster
from hwgen.ir.layer import Layer
from hwgen.papers.answer import answer
from hwgen.papers.cecconi.claims import tiling_claims
from hwgen.papers.cecconi.documents import tiling_files, tiling_readme
from hwgen.papers.cecconi.measured import moved_in_rtl
from hwgen.papers.cecconi.model import TransferCost
from hwgen.papers.cecconi.own_hardware import FULL, SMALL, Scale, WayCase, way_cases, way_rows
from hwgen.papers.cecconi.rows import COSTS, ELEMENT_BYTES, KINDS, contracting_layers, tiling_rows, tiling_totals
from hwgen.papers.cecconi.transfers import WHOLE_CYCLES, TransferRow, transfer_cases, transfer_row
from hwgen.papers.cecconi.ways import OF_LAYERS
from hwgen.papers.documents import csv_text
from hwgen.papers.kept import command_text
from hwgen.papers.own_cluster_rtl import DEFAULT, calibrated, cycles_on, simulated

__all__ = ["cecconi"]

PAPER = "cecconi-2017"
STORE = ".found"
"""Folder, beside the figures, of what is known of each tiling: an interrupted run goes on."""


def cecconi(output: Path, names: str | None, hardware: str | None, *, rtl: bool, small: bool, as_json: bool) -> int:
    """Compute the figures: plots, CSV, and a README.md of claims beside what was found; 1 if the RTL differs.

    With ``rtl`` the ways of moving data are those of the full layers, some of which are simulated, or with
    ``small`` of small layers; without it the same two small ones are computed. Transfers alone are those of the full
    layers, or with ``small`` of small ones; with ``rtl`` they are simulated.
    """
    layers, costs = _layers(names), _costs(hardware)
    claim_folder(output)
    with progress(len(layers) * len(KINDS) * len(costs), "searching") as step:
        rows = tiling_rows(layers, costs, progress=step)
    cluster = calibrated(hardware or DEFAULT)
    scale = FULL if rtl and not small else SMALL
    cases = _cases(scale, layers if rtl else None, cluster)
    if rtl and not any(case.layer in scale.simulated for case in cases):
        raise InputError(f"--networks: with --rtl expected {' or '.join(scale.simulated)} among them")
    with progress(len(cases), "three ways of moving data") as step:
        ways = way_rows(cases, cluster, cycles_on(cluster, output / STORE / "cycles.jsonl"), step)
    size = SMALL if small else FULL
    transfers = _transfers(size, layers, cluster, rtl=rtl)
    every_layer = len(layers) == OF_LAYERS
    stated = tiling_claims(layers, rows, ways, scale.text, transfers, size.text, every_layer=every_layer)
    ran = [case.run for case in cases if case.layer in scale.simulated]
    runs = simulated(ran, cluster, fast=not small, store=output / STORE / "rtl.jsonl") if rtl else []
    text = tiling_readme(rows, stated, ways, scale.text, transfers, size.text, runs)
    tables = tiling_files(rows, ways, transfers)
    files = {"README.md": text.encode(), **{file: table.encode() for file, table in tables.items()}}
    if runs:
        files["rtl.csv"] = csv_text(runs, ()).encode()
    note("drawing")
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.papers.cecconi.figures import tiling_4, ways_3
    from hwgen.papers.figures import rendered

    for stem, figure in (("fig3", ways_3(ways)), ("fig4", tiling_4(rows))):
        files |= {f"{stem}.{suffix}": data for suffix, data in rendered(figure).items()}
    data = {
        "paper": PAPER,
        "ways": [asdict(row) for row in ways],
        "rtl": [asdict(run) for run in runs],
        "transfers": [asdict(row) for row in transfers],
        "totals": [{**asdict(total), "ratio": total.ratio} for total in tiling_totals(rows)],
    }
    options = {"--networks": names, "--hardware": hardware, "--rtl": rtl, "--small": small}
    command = command_text(PAPER, options)
    answer(output, command, stated, files, text, data, as_json=as_json)
    return 0 if all(run.equal for run in runs) and all(row.equal is not False for row in transfers) else 1


def _cases(scale: Scale, layers: Sequence[Layer] | None, cluster: Cluster) -> list[WayCase]:
    """The cases of these layers; None: of those that are simulated."""
    wanted = scale.simulated if layers is None else [layer.name for layer in layers]
    chosen = [layer for layer in scale.layers if layer.name in wanted]
    with progress(len(chosen), "tiles for our own cluster") as step:
        cases: list[WayCase] = []
        for layer in chosen:
            cases += way_cases(layer, cluster, scale.elements)
            step()
    return cases


def _transfers(scale: Scale, layers: Sequence[Layer], cluster: Cluster, *, rtl: bool) -> list[TransferRow]:
    """Transfers alone of the layers that have these names."""
    names = {layer.name for layer in layers}
    chosen = [layer for layer in scale.layers if layer.name in names]
    rows = []
    with progress(2 * len(chosen), "transfers alone") as step:
        for layer in chosen:
            for case in transfer_cases(layer, cluster, scale.elements, WHOLE_CYCLES if rtl else 0):
                rows.append(transfer_row(case, cluster, moved_in_rtl if rtl else None))
                step()
    return rows


def _costs(hardware: str | None) -> dict[str, TransferCost]:
    """The costs of the figures; with a calibrated cluster those of its loads beside them."""
    if hardware is None:
        return dict(COSTS)
    load = calibrated(hardware).load
    assert load is not None
    own = TransferCost(load.transfer, load.run, ELEMENT_BYTES * load.byte)
    return COSTS | {f"({own.transfer:.1f}, {own.run:.2f}, {own.element:.3f})": own}


def _layers(names: str | None) -> tuple[Layer, ...]:
    by_name = {layer.name: layer for layer in contracting_layers()}
    return tuple(by_name[name] for name in chosen_names("--networks", names, tuple(by_name)))
