"""``hwgen sets`` and ``hwgen hardware``: what is built in."""

import re
import sys
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from hwgen.api.arguments import size_text
from hwgen.api.schedule_files import load_schedules
from hwgen.arch.hardware_file import hardware_keys, load_hardware, read_hardware_data
from hwgen.cli.console import Json, print_json, print_table, print_wrapped
from hwgen.cli.jobs import hardware_names, hierarchy_names
from hwgen.ir.builtin import builtin_names, builtin_path, builtin_schedules, named_file
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import Hardware, order_text
from hwgen.ir.layer_set import Totals
from hwgen.ir.memory.hierarchy import Hierarchy, MemoryLevel, load_hierarchy
from hwgen.model.area.estimate import estimated_area
from hwgen.readers.layer_sets import load_layer_set

__all__ = ["hardware", "sets"]


def _names(incomplete: str) -> list[str]:
    return [*hardware_names(incomplete), *hierarchy_names(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Print this file: built-in or of your own.", autocompletion=_names),
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


Describe = Annotated[
    bool, typer.Option("--describe", help="What each key of a hardware file may be, what it excludes and is for.")
]


def hardware(name: Name = None, *, describe: Describe = False, as_json: Json = False) -> None:
    """List the built-in hardware and hierarchies, or print one file of them, to be copied and changed."""
    if describe:
        if name is not None:
            raise InputError(f"--describe: expected no name beside it, got {name[:40]}")
        _describe(as_json=as_json)
        return
    if name is not None:
        path = builtin_path("hierarchies", name) or named_file("hardware", name)
        data = load_yaml(path)
        is_hierarchy = isinstance(data, dict) and data.get("kind") == "hierarchy"
        given = Hierarchy.from_data(data, str(path)) if is_hierarchy else read_hardware_data(data, str(path))
        if as_json:
            print_json(given.as_data())
        else:
            sys.stdout.write(path.read_text(encoding="utf-8"))
        return
    found = {one: load_hardware(named_file("hardware", one)) for one in builtin_names("hardware")}
    purposes = {one: _purpose(named_file("hardware", one)) for one in found}
    memories = {one: load_hierarchy(named_file("hierarchies", one)) for one in builtin_names("hierarchies")}
    if as_json:
        print_json({
            "hardware": [
                {
                    "file": str(builtin_path("hardware", one)),
                    **of.as_data(),
                    "estimated": estimated_area(of).to_dict(),
                    "what_for": purposes[one],
                }
                for one, of in found.items()
            ],
            "hierarchies": [
                {"file": str(builtin_path("hierarchies", one)), **of.as_data()} for one, of in memories.items()
            ],
        })  # fmt: skip
        return
    columns = ["name", "multipliers", "lanes", "buffers", "HWCs", "TCDM", "DRAM", "order"]
    print_table("Built-in hardware", columns, map(_row, found.values()), wide=["multipliers", "buffers"])
    print_table(
        "On an ECP5, estimated",
        ["name", "multipliers", "LUT4", "MHz", "what for"],
        [_estimated_row(of, purposes[one]) for one, of in found.items()],
    )
    print_table("Built-in hierarchies", ["name", "levels", "lanes", "bits"], map(_levels_row, memories.values()))


def _describe(*, as_json: bool) -> None:
    """The keys of a hardware file."""
    keys = hardware_keys()
    if as_json:
        print_json({"keys": [key.as_json() for key in keys]})
        return
    for key in keys:
        typer.echo(key.name)
        says = {"meaning": key.meaning, "values": str(key.domain), "without it": key.otherwise}
        for what, text in [*says.items(), *(("rule", rule) for rule in key.rules)]:
            print_wrapped(_plain(text), f"  {what}: ")


def _plain(markdown: str) -> str:
    """Text of the manual for a terminal."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "")


def _levels_row(one: Hierarchy) -> list[object]:
    levels = (f"{level.name} {_size(level)}".strip() for level in one.levels)
    bits = "" if one.bits is None else ", ".join(f"{key} {width}" for key, width in one.bits.model_dump().items())
    return [one.name, " > ".join(levels), "" if one.lanes is None else str(one.lanes), bits]


def _size(level: MemoryLevel) -> str:
    if isinstance(level.bytes, dict):
        return " + ".join(f"{operand} {size_text(size)}" for operand, size in level.bytes.items())
    return "" if level.bytes is None else size_text(level.bytes)


def _row(one: Hardware) -> list[object]:
    sizes = one.buffers or {}
    buffers = " + ".join(f"{array} {size_text(size)}" for array, size in sizes.items())
    cluster = one.cluster
    dram = "" if cluster is None else "at once" if cluster.dram is None or cluster.dram.immediate else "timed"
    return [
        one.name,
        _multipliers(one),
        "any" if one.lanes is None else str(one.lanes),
        buffers or f"{size_text(one.budget)} together",
        1 if cluster is None else cluster.hwcs,
        "" if cluster is None else size_text(cluster.tcdm),
        dram,
        order_text(one.order) or "any",
    ]


def _estimated_row(one: Hardware, purpose: str) -> list[object]:
    area = estimated_area(one)
    first = re.split(r"\. (?=[A-Z])", purpose)[0].removesuffix(".")
    return [one.name, _multipliers(one), area.lut4, round(area.mhz or 0.0), first]


def _multipliers(one: Hardware) -> int:
    return one.number_of_multipliers * (1 if one.cluster is None else one.cluster.hwcs)


def _purpose(path: Path) -> str:
    """The sentences at the head of a file: what it is for."""
    lines = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    return " ".join(line.removeprefix("#").strip() for line in lines)
