"""``hwgen sets`` and ``hwgen hardware``: what is built in."""

import sys
from typing import Annotated

import typer

from hwgen.cli.console import Json, print_json, print_table, size_text
from hwgen.cli.names import hardware_names
from hwgen.cli.schedules import load_schedules
from hwgen.ir.builtin import builtin_names, builtin_path, builtin_schedules, named_file
from hwgen.ir.hardware import Hardware, load_hardware
from hwgen.ir.network import Totals, load_layer_set
from hwgen.ir.schedule import Marker

__all__ = ["hardware", "sets"]

Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Print this file: built-in or of your own.", autocompletion=hardware_names),
]


def sets(*, as_json: Json = False) -> None:
    """List the built-in layer sets, and the built-in folders of schedules."""
    found = [(name, load_layer_set(name)) for name in builtin_names("layersets")]
    totals = [Totals.of(network.layers) for _, network in found]
    if as_json:
        print_json({
            "sets": [
                {"name": name, "file": str(builtin_path("layersets", name)), "kind": network.kind, **one.model_dump()}
                for (name, network), one in zip(found, totals, strict=True)
            ],
            "schedules": [{"name": name, "folder": str(folder)} for name, folder in builtin_schedules().items()],
        })  # fmt: skip
        return
    rows = [
        [name, network.kind, one.layers, one.weighted_layers, one.macs, one.weights]
        for (name, network), one in zip(found, totals, strict=True)
    ]
    print_table(
        "Built-in layer sets",
        ["name", "kind", "rows", "with weights", "MACs", "weights"],
        rows,
        wide=["kind", "with weights"],
    )
    folders = [
        [name, len(files), ", ".join(sorted({file.hardware.name for file in files if file.hardware is not None}))]
        for name, files in ((name, load_schedules([str(folder)])) for name, folder in builtin_schedules().items())
    ]
    print_table("Built-in folders of schedules", ["name", "schedules", "hardware"], folders)


def hardware(name: Name = None, *, as_json: Json = False) -> None:
    """List the built-in hardware, or print one file of it, to be copied and changed."""
    if name is not None:
        path = named_file("hardware", name)
        given = load_hardware(path)
        if as_json:
            print_json(given.as_data())
        else:
            sys.stdout.write(path.read_text(encoding="utf-8"))
        return
    names = builtin_names("hardware")
    found = [load_hardware(named_file("hardware", one)) for one in names]
    if as_json:
        files = [str(builtin_path("hardware", one)) for one in names]
        print_json({"hardware": [{"file": file, **one.as_data()} for file, one in zip(files, found, strict=True)]})
        return
    columns = ["name", "lanes", "budget", "order", "HWCs", "TCDM", "DRAM"]
    print_table("Built-in hardware", columns, map(_row, found), wide=["budget"])


def _row(one: Hardware) -> list[object]:
    order = "".join(f"[{''.join(item.arrays)}]" if isinstance(item, Marker) else item for item in one.order or ())
    if one.cluster is None:
        return [one.name, str(one.lanes), size_text(one.budget), order or "any", 1, "", ""]
    dram = "a beat a cycle" if one.cluster.dram is None or one.cluster.dram.immediate else "timed"
    tcdm = size_text(one.cluster.tcdm)
    return [one.name, str(one.lanes), size_text(one.budget), order or "any", one.cluster.hwcs, tcdm, dram]
