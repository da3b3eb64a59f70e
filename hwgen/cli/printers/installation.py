"""What `hwgen.api.installation` found, as tables."""

import sys

import typer

from hwgen.api.arguments import size_text
from hwgen.api.installation import CORE, Installation, Part, python_version
from hwgen.cli.console import print_table

__all__ = ["print_installation"]

COLUMNS = ("part", "found", "needed by", "to install")


def print_installation(found: Installation) -> None:
    """Parts, caches, the machine, and whether the main job works.

    Packages that come with hwgen are one row as long as all are there.
    """
    core = [part for part in found.parts if part.name in CORE and part.name != "verilator"]
    whole = all(part.found for part in core)
    rows = [_row(part) for part in found.parts if part not in core or (not whole and not part.found)]
    if whole:
        rows.append([f"{len(core)} packages of hwgen", "yes", "all commands", ""])
    print_table("What hwgen works with", COLUMNS, rows)
    kept: list[list[object]] = [[one.name, str(one.folder), one.size] for one in found.caches]
    print_table("What is kept", ["what", "folder", "bytes"], kept)
    free = found.free_memory
    memory = "" if free is None else f", {size_text(free >> 30 << 30)} of memory free"
    python = f"Python {python_version()} ({sys.executable})"
    typer.echo(f"hwgen {found.version}, {python}, {found.processors} processors{memory}")
    places = [f"{part.name} {part.place}" for part in found.parts if part.place and part.required]
    typer.echo(f"Used: {', '.join(places)}")
    typer.echo("The main job works." if found.works else "The main job does not work: install what is missing above.")


def _row(part: Part) -> list[object]:
    missing = "missing" if part.is_needed else "no"
    return [part.name, part.found or missing, part.commands, "" if part.found else part.cure]
