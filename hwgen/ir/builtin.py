"""The files that come with the package: layer tables, hardware, schedules. In a wheel they are inside it."""

from pathlib import Path

from hwgen.ir.document import InputError, nearest

__all__ = ["builtin_names", "builtin_path", "builtin_schedules", "how_to_install", "named_file"]

_PACKAGE = Path(__file__).resolve().parents[1]
_TABLES = ("layersets", "hardware", "hierarchies")
_BESIDE_SCHEDULES = ".hardware"


def _root() -> Path:
    inside = _PACKAGE / "schedules"
    return inside if inside.is_dir() else _PACKAGE.parent / "schedules"


def _files(kind: str) -> dict[str, Path]:
    """The built-in files of a kind by name; hardware may lie beside the schedules that run on it."""
    beside = _root().glob(f"*/*{_BESIDE_SCHEDULES}.yaml") if kind == "hardware" else ()
    return {path.stem.removesuffix(_BESIDE_SCHEDULES): path for path in (*(_root() / kind).glob("*.yaml"), *beside)}


def builtin_names(kind: str) -> list[str]:
    """Names of the built-in files of one kind (``layersets``, ``hardware`` or ``hierarchies``), sorted."""
    return sorted(_files(kind))


def builtin_path(kind: str, name: str) -> Path | None:
    """The built-in file of that name; None if there is none. A name is looked up, never made into a path."""
    return _files(kind).get(name)


def builtin_schedules() -> dict[str, Path]:
    """The built-in folders of schedules by name."""
    return {path.name: path for path in sorted(_root().iterdir()) if path.is_dir() and path.name not in _TABLES}


def named_file(kind: str, name: str) -> Path:
    """The file that ``name`` means: an existing file, else the built-in of that name."""
    path = Path(name)
    if path.is_file():
        return path
    builtin = builtin_path(kind, name)
    if builtin is None:
        names = builtin_names(kind)
        raise InputError(
            f"{name}: expected a file or one of the built-in {kind}{nearest(name, names)}: {', '.join(names)}"
        )
    return builtin


def how_to_install(extra: str) -> str:
    """What to type for the packages of an optional part of hwgen, in a checkout and where it came as a wheel."""
    checkout = (_PACKAGE.parent / "pyproject.toml").is_file()
    return f"pip install -e '.[{extra}]'" if checkout else f"pip install 'hwgen[{extra}]'"
