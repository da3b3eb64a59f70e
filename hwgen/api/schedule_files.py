"""Folders of schedules: the hardware that they run on lies beside them, in the one hardware file of their folder."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hwgen.api.progress import note, remark
from hwgen.arch.hardware_file import read_hardware_data
from hwgen.ir.builtin import builtin_path, builtin_schedules
from hwgen.ir.document import InputError, json_text, load_yaml, write_atomically
from hwgen.ir.hardware import Hardware, save_hardware
from hwgen.ir.layer import Layer
from hwgen.ir.names import file_names
from hwgen.ir.schedule import Schedule

__all__ = [
    "RECORD",
    "ScheduleFile",
    "clear_earlier",
    "is_builtin_folder",
    "load_schedules",
    "require_hardware",
    "save_beside",
    "schedule_files",
    "yaml_files",
]

SUFFIX = ".hardware.yaml"
OTHERS = ("hardware", "hierarchy", "layer_list", "network", "depth_first", "depth_first_front")
"""Kinds of files that may lie among schedules."""
TABLES = ("layer_list", "network")


@dataclass(frozen=True)
class ScheduleFile:
    """A schedule, its file, and the hardware that lies beside it; None if there is none."""

    path: Path
    schedule: Schedule
    hardware: Hardware | None


def load_schedules(
    names: Iterable[str],
    hardware: Hardware | None = None,
    read: Callable[[object, str], Schedule] = Schedule.from_data,
) -> list[ScheduleFile]:
    """Schedules by file, or all of a folder (a built-in one by its name) and of the folders in it; each is read once.

    With ``hardware`` all of them have this one, whatever lies beside them. ``read`` makes a schedule of the data of a
    file.
    """
    found: dict[Path, Schedule] = {}
    for name in names:
        path = _place(name)
        if not path.is_dir():
            found[path] = read(_no_table(name, path), str(path))
            continue
        inside = {file: data for file, data in _documents(path) if _kind(data) not in OTHERS}
        if not inside:
            raise InputError(f"{path}: expected a folder with schedules (*.yaml)")
        found.update({file: read(data, str(file)) for file, data in inside.items()})
    beside = cache(_hardware_of)
    return [ScheduleFile(path, one, hardware or beside(path.parent)) for path, one in found.items()]


def _no_table(name: str, path: Path) -> object:
    """The data of a file; `InputError` that says what makes schedules for layers, where it is a table of these."""
    builtin = None if path.exists() else builtin_path("layersets", name.partition(":")[0])
    data = None if builtin is not None else load_yaml(path)
    if builtin is not None or _kind(data) in TABLES:
        raise InputError(
            f"{name}: expected schedules, got layers; to make some: hwgen schedule {name} --buffer 1KiB -o DIR"
        )
    return data


def is_builtin_folder(name: str) -> bool:
    """Whether a name means a built-in folder of schedules, there being no such file or folder here."""
    return not Path(name).exists() and name in builtin_schedules()


def _place(name: str) -> Path:
    return builtin_schedules()[name] if is_builtin_folder(name) else Path(name)


def yaml_files(folder: Path) -> list[Path]:
    """All YAML files of a folder and of the folders in it, but for hidden ones."""
    files = (path.relative_to(folder) for path in folder.rglob("*.yaml"))
    return [folder / file for file in sorted(files) if not any(part.startswith(".") for part in file.parts)]


def _documents(folder: Path) -> Iterator[tuple[Path, Any]]:
    return ((path, load_yaml(path)) for path in yaml_files(folder))


def _kind(data: object) -> object:
    return data.get("kind") if isinstance(data, dict) else None


def _hardware_of(folder: Path) -> Hardware | None:
    """The hardware of a folder of schedules; of ``schedules`` that of the folder above, too, as it is generated."""
    places = [folder, folder.parent] if folder.name == "schedules" else [folder]
    for place in places:
        known = _hardware_in(place)
        if len(known) > 1:
            names = ", ".join(path.name for path in known)
            raise InputError(f"{place}: expected one hardware file beside schedules, or --hardware, got {names}")
        for path, data in known.items():
            return read_hardware_data(data, str(path))
    return None


def _hardware_in(folder: Path) -> dict[Path, Any]:
    """The hardware files of a folder: those named ``NAME.hardware.yaml`` if there are any, else all of the kind."""
    paths = sorted(folder.glob("*.yaml"))
    return _of_hardware(path for path in paths if path.name.endswith(SUFFIX)) or _of_hardware(paths)


def _of_hardware(paths: Iterable[Path]) -> dict[Path, Any]:
    """Those of the kind; what does not look like it is not parsed."""
    known = {}
    for path in paths:
        if re.search(r"""kind["']?\s*:\s*["']?hardware\b""", path.read_text(encoding="utf-8", errors="replace")):
            data = load_yaml(path)
            if _kind(data) == "hardware":
                known[path] = data
    return known


def require_hardware(name: str | None, folder: Path | None) -> None:
    """Refuse a folder with hardware of another name: its schedules would not run on this one. None: without any."""
    if folder is None or not folder.is_dir():
        return
    for path in folder.glob(f"*{SUFFIX}"):
        if name is None or path.name != name + SUFFIX:
            wanted = "schedules without hardware" if name is None else f"those for hardware {name}"
            raise InputError(f"-o: expected a folder for {wanted}, got {folder} with {path.name}")


def schedule_files(layers: Iterable[Layer]) -> dict[str, str]:
    """The files of the schedules of some layers in one folder, by the names of the layers, which differ."""
    names = [layer.name for layer in layers]
    return {name: f"{file}.yaml" for name, file in zip(names, file_names(names), strict=True)}


def save_beside(hardware: Hardware, folder: Path) -> Path:
    """Write the hardware that the schedules in a folder run on; its file."""
    path = folder / f"{hardware.name}{SUFFIX}"
    save_hardware(hardware, path)
    return path


def clear_earlier(folder: Path, written: Iterable[Path]) -> None:
    """Remove what an earlier run wrote into a folder, as its record says, and this one did not; write the record.

    A file that was changed since then stays, and is named on standard error.
    """
    now = {path.relative_to(folder).as_posix(): _digest(path) for path in written}
    removed = []
    for name, digest in _recorded(folder / RECORD).items():
        path = folder / name
        if name in now or not path.is_file():
            continue
        if _digest(path) != digest:
            remark(f"{path}: of an earlier run, and changed since: kept")
            continue
        path.unlink()
        removed.append(name)
        if path.parent != folder and not any(path.parent.iterdir()):
            path.parent.rmdir()
    if removed:
        note(f"{folder}: removed {len(removed)} files of an earlier run, such as {removed[0]}")
    write_atomically(folder / RECORD, json_text(now))


RECORD = ".written.json"
"""What a run wrote into a folder: a digest of each file."""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _recorded(path: Path) -> dict[str, str]:
    """The files of the earlier run inside the folder; none if there is no record that can be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    known = data.items() if isinstance(data, dict) else ()
    return {
        name: str(digest) for name, digest in known if ".." not in Path(name).parts and not Path(name).is_absolute()
    }
