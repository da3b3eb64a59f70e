"""The files that come with the package: layer tables and hardware, beside it in a checkout, inside it in a wheel."""

from pathlib import Path

from hwgen.ir.document import InputError

__all__ = ["builtin_names", "builtin_path", "named_file"]

_PACKAGE = Path(__file__).resolve().parents[1]


def _folder(kind: str) -> Path:
    inside = _PACKAGE / "schedules" / kind
    return inside if inside.is_dir() else _PACKAGE.parent / "schedules" / kind


def builtin_names(kind: str) -> list[str]:
    """Names of the built-in files of one kind (``layersets`` or ``hardware``), sorted."""
    return sorted(path.stem for path in _folder(kind).glob("*.yaml"))


def builtin_path(kind: str, name: str) -> Path | None:
    """The built-in file of that name; None if there is none. A name is looked up, never made into a path."""
    return _folder(kind) / f"{name}.yaml" if name in builtin_names(kind) else None


def named_file(kind: str, name: str) -> Path:
    """The file that ``name`` means: an existing file, else the built-in of that name."""
    path = Path(name)
    if path.is_file():
        return path
    builtin = builtin_path(kind, name)
    if builtin is None:
        raise InputError(f"{name}: expected a file or one of the built-in {kind}: {', '.join(builtin_names(kind))}")
    return builtin
