"""What a generated folder holds, in ``manifest.json``: designs with their layers, and the files that belong to it."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, Self

from hwgen import __version__
from hwgen.ir.document import InputError, Name, Value, dump_yaml, json_text, load_yaml, validated, write_atomically
from hwgen.ir.names import file_names
from hwgen.tools.output import write_together, writing_into

__all__ = [
    "EXAMPLE",
    "MANIFEST",
    "Design",
    "GeneratedLayer",
    "Manifest",
    "add_files",
    "core_file",
    "read_manifest",
    "waivers",
    "write_generated",
]


MANIFEST = "manifest.json"
KIND = "generated"


class GeneratedLayer(Value):
    """A layer that a design has a program for.

    ``number`` : its place among the schedules that were generated together: with a seed it names its random data.
    """

    name: Name
    number: int


class Design(Value):
    """A design: its folder inside the generated one, its top module, and what names the state that it is in."""

    folder: str
    top: Literal["hwc", "cluster", "pipeline", "system"]
    digest: str
    layers: tuple[GeneratedLayer, ...]

    @property
    def files(self) -> list[str]:
        """What the files of the layers are called, before their suffix."""
        return file_names([layer.name for layer in self.layers])


class Manifest(Value):
    """A generated folder: its designs, and its files by path inside the folder.

    ``unfinished`` : whether its files are not all of one call yet; a process that was killed leaves it so.
    """

    designs: tuple[Design, ...]
    files: tuple[str, ...]
    unfinished: bool = False

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        left_out = set() if self.unfinished else {"unfinished"}
        return {"format": 1, "kind": KIND, **self.model_dump(mode="json", exclude=left_out)}

    @classmethod
    def from_data(cls, data: object, where: str) -> Self:
        """Validate plain data; raises `InputError` with one line."""
        if not isinstance(data, dict) or (data.get("format"), data.get("kind")) != (1, KIND):
            raise InputError(f"{where}: expected what hwgen generate writes, format 1 and kind {KIND}")
        found = validated(cls, {key: value for key, value in data.items() if key not in ("format", "kind")}, where)
        for name in (*found.files, *(design.folder for design in found.designs)):
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                raise InputError(f"{where}: files: expected paths inside the folder, got {name}")
        return found


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if there is none. Raises `InputError` if it is not one of ours."""
    path = folder / MANIFEST
    return Manifest.from_data(load_yaml(path), str(path)) if path.exists() else None


def write_generated(folder: Path, designs: Sequence[Design], files: Mapping[str, str | bytes]) -> list[str]:
    """Write the files of some designs, by path inside the folder, and the manifest.

    Files that an earlier manifest lists and that are no longer written are removed; their names are given back. Files
    that none lists stay. What was begun and not finished is listed, so that the next call clears it away, and marked,
    so that nobody takes it for whole. Other processes wait.
    """
    with writing_into(folder):
        before = read_manifest(folder)
        manifest = Manifest(designs=tuple(designs), files=tuple(sorted(files)))
        stale = sorted(set(before.files if before else ()) - set(files))
        if before == manifest and all(_holds(folder / name, content) for name, content in files.items()):
            return []
        _begin(manifest, {*files, *stale}, folder)
        write_together(folder, files)
        for name in stale:
            _remove(folder, name)
        _save(manifest, folder)
    return stale


def add_files(folder: Path, manifest: Manifest, files: Mapping[str, str | bytes]) -> None:
    """Write further files of a generated folder, whose manifest this is."""
    with writing_into(folder):
        if read_manifest(folder) != manifest:
            raise InputError(f"{folder}: another process has written into this folder meanwhile")
        _begin(manifest, {*manifest.files, *files}, folder)
        write_together(folder, files)
        _save(manifest.model_copy(update={"files": tuple(sorted({*manifest.files, *files}))}), folder)


def _holds(path: Path, content: str | bytes) -> bool:
    """Whether a file is there and has this content."""
    wanted = content.encode() if isinstance(content, str) else content
    return path.is_file() and path.read_bytes() == wanted


def _begin(manifest: Manifest, files: Iterable[str], folder: Path) -> None:
    _save(manifest.model_copy(update={"files": tuple(sorted(files)), "unfinished": True}), folder)


def _save(manifest: Manifest, folder: Path) -> None:
    write_atomically(folder / MANIFEST, json_text(manifest.as_data()))


def _remove(folder: Path, name: str) -> None:
    """Remove a file, and the folders that it leaves empty."""
    path = folder / name
    path.unlink(missing_ok=True)
    for parent in path.parents:
        if parent == folder or not parent.is_dir() or any(parent.iterdir()):
            break
        parent.rmdir()


# --- the FuseSoC core, and lint waivers ---

EXAMPLE = "example/"
"""The folder of what tries a block."""


def waivers(block: str) -> str:
    """Lint waivers for a block's Verilog."""
    return f"""\
`verilator_config
// The generator names every intermediate value and keeps whole structures together: not all of it is used.
lint_off -rule UNUSEDSIGNAL -file "*{block}*.v"
// One file holds the whole hierarchy, its modules named by their place in it.
lint_off -rule DECLFILENAME -file "*{block}*.v"
// Amaranth computes at full width and extends narrower operands by itself, as Verilog does.
lint_off -rule WIDTHEXPAND -file "*{block}*.v"
// Yosys writes "is zero" as a logical not of the whole vector.
lint_off -rule WIDTHTRUNC -file "*{block}*.v"
// Every case is preceded by an assignment of the default value.
lint_off -rule CASEINCOMPLETE -file "*{block}*.v"
// A place in a word is compared with a number that it reaches in wider words only.
lint_off -rule CMPCONST -file "*{block}*.v"
"""


def core_file(block: str, description: str, more: Iterable[str] = ()) -> str:
    """The FuseSoC core of a block.

    ``more`` : Verilog files beside the block's own; the target ``sim`` runs those in the folder `EXAMPLE`.
    """
    sources = [f"{block}.v", *(name for name in more if not name.startswith(EXAMPLE))]
    example = [name for name in more if name.startswith(EXAMPLE)]
    core: dict[str, Any] = {
        "name": f"hwgen:{block}:{block}:{__version__}",
        "description": description,
        "filesets": {
            "rtl": {"files": sources, "file_type": "verilogSource"},
            "waivers": {"files": [{f"{block}.vlt": {"file_type": "vlt"}}]},
        },
        "targets": {
            "default": {"filesets": ["rtl", "tool_verilator ? (waivers)"]},
            "lint": {
                "flow": "lint",
                "flow_options": {"tool": "verilator", "verilator_options": ["-Wall"]},
                "filesets": ["rtl", "waivers"],
                "toplevel": block,
            },
        },
    }
    if example:
        core["filesets"]["example"] = {"files": example, "file_type": "verilogSource"}
        core["targets"]["sim"] = {
            "flow": "sim",
            "flow_options": {"tool": "icarus", "iverilog_options": ["-g2012"]},
            "filesets": ["rtl", "example"],
            "toplevel": f"{block}_testbench",
        }
    return "CAPI=2:\n" + dump_yaml(core)
