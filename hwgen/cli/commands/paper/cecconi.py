"""``hwgen paper cecconi-2017``: the best tiles for DMA against naive ones, computed anew."""

import sys
from dataclasses import asdict
from pathlib import Path

from hwgen.cli.commands.paper.own_cluster import DEFAULT, calibrated, cycles_on, simulated
from hwgen.cli.console import chosen_names, note, print_json, progress, require_folder
from hwgen.ir.layer import Layer
from hwgen.model.published.cecconi import TransferCost
from hwgen.report.cecconi.claims import tiling_claims
from hwgen.report.cecconi.documents import tiling_files, tiling_readme
from hwgen.report.cecconi.own_hardware import TCDM, overlaps, own_tiles, small_layers
from hwgen.report.cecconi.rows import COSTS, ELEMENT_BYTES, KINDS, contracting_layers, tiling_rows, tiling_totals
from hwgen.report.documents import csv_text, write_bytes

__all__ = ["cecconi"]

PAPER = "cecconi-2017"


def cecconi(output: Path, names: str | None, hardware: str | None, *, rtl: bool, as_json: bool) -> int:
    """Compute the figures: a plot, CSV, and a README.md of claims beside what was found; 1 if the RTL differs."""
    layers, costs = _layers(names), _costs(hardware)
    require_folder(output)
    with progress(len(layers) * len(KINDS) * len(costs), "searching") as step:
        rows = tiling_rows(layers, costs, progress=step)
    cluster = calibrated(hardware or DEFAULT).model_copy(update={"tcdm": TCDM})
    cases = [case for layer in small_layers() for case in own_tiles(layer, cluster)]
    stated = tiling_claims(layers, rows, overlaps(cases, cycles_on(cluster)))
    runs = simulated(cases, cluster) if rtl else []
    text = tiling_readme(rows, stated, runs)
    files = {"README.md": text.encode(), **{file: table.encode() for file, table in tiling_files(rows).items()}}
    if runs:
        files["rtl.csv"] = csv_text(runs, ()).encode()
    note("drawing")
    # The plotting library is slow to load, and no other command needs it.
    from hwgen.report.cecconi.figures import tiling_4
    from hwgen.report.figures import rendered

    files |= {f"fig4.{suffix}": data for suffix, data in rendered(tiling_4(rows)).items()}
    for file, data in files.items():
        write_bytes(output / file, data)
    if as_json:
        print_json(
            {
                "paper": PAPER,
                "claims": [asdict(claim) for claim in stated],
                "rtl": [asdict(run) for run in runs],
                "totals": [{**asdict(total), "ratio": total.ratio} for total in tiling_totals(rows)],
                "files": sorted(str(output / file) for file in files),
            }
        )
    else:
        sys.stdout.write(text)
    return 0 if all(run.equal for run in runs) else 1


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
