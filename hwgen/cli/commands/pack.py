"""``hwgen pack``: operands of layers as the bytes that generated programs expect in memory."""

from pathlib import Path
from typing import Annotated

import typer

from cosim.hwc.generated import generated_folder, programs_of
from hwgen.api.operands import OPERAND_FILES, read_operands
from hwgen.cli.console import Json, print_json, print_table
from hwgen.export.hwc_program import image_files
from hwgen.export.manifest import add_files
from hwgen.ir.document import InputError

__all__ = ["pack"]

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that generate wrote.")]
Operands = Annotated[Path, typer.Option("--operands", metavar="DIR", help=OPERAND_FILES)]


def pack(folder: Folder, *, operands: Operands, as_json: Json = False) -> None:
    """Pack weights (in the order in which the HWC fetches them), biases and inputs for the programs of a folder."""
    manifest = generated_folder(folder)
    if any(design.top == "cluster" for design in manifest.designs):
        raise InputError(f"{folder}: not for clusters: their tensors are stored in DRAM as they are")
    contents: dict[str, bytes] = {}
    for design in manifest.designs:
        for own, one in zip(design.files, programs_of(folder, design), strict=False):
            images = image_files(own, one.program, read_operands(operands, one.program.schedule))
            contents |= {(Path(design.folder) / "programs" / name).as_posix(): data for name, data in images.items()}
    if not contents:
        raise InputError(f"{folder}: expected a folder with programs for HWCs")
    add_files(folder, manifest, contents)
    if as_json:
        print_json({"files": {name: len(content) for name, content in contents.items()}})
        return
    print_table("Packed operands", ["file", "bytes"], [[name, len(content)] for name, content in contents.items()])
