"""Reading and writing YAML documents: one clear error line for bad input, atomic writes."""

import os
import re
import reprlib
import tempfile
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

__all__ = ["InputError", "Name", "Value", "dump_yaml", "load_yaml", "parse_yaml", "validated", "write_atomically"]


T = TypeVar("T", bound=BaseModel)

_MOST_NESTED = 32


class InputError(ValueError):
    """Bad input, said in one line: what is wrong, where, and what was expected. The command line exits with 2."""


class Value(BaseModel):
    """Base of all file-backed values: frozen, no unknown keys, no silent conversions."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


def _named(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
        raise ValueError(f"expected letters, digits and any of _ . + -, got {reprlib.repr(name)}")
    return name


Name = Annotated[str, AfterValidator(_named)]
"""A name that is safe as part of a file name: no path separators, no blanks, no dot or dash in front."""


def validated(model: type[T], data: object, where: str) -> T:
    """Build ``model`` from plain data; raise `InputError` with file, key and expectation on the first violation."""
    if not isinstance(data, dict):
        raise InputError(
            f"{where}: expected a mapping with the keys of a {model.__name__}, got {type(data).__name__}"
        )
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{where}: {f'{key}: ' if key else ''}{_expectation(first)}") from None


def _expectation(error: Any) -> str:
    given = reprlib.repr(error.get("input"))
    given = given if len(given) <= 60 else given[:57] + "..."
    match error["type"]:
        case "extra_forbidden":
            return "unknown key"
        case "missing":
            return "missing key"
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
    message = str(error["msg"])
    return f"{message[0].lower()}{message[1:]}, got {given}"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's plain types only, and no key twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"{key.value}: key twice", key.start_mark)
                seen.add(key.value)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep=deep)
        return mapping


def load_yaml(path: Path) -> Any:
    """Parse one YAML file; `InputError` names the file and the line of a syntax error."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{path}: cannot be read: {reason}") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Parse YAML; `InputError` names where it stands and the line of a syntax error."""
    try:
        _check_depth(text, where)
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        raise InputError(f"{where}{line}: expected YAML: {problem}") from None


def _check_depth(text: str, where: str) -> None:
    """Refuse what nests deeper than any format of ours: the loaders recurse, and the one in C does not survive it."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MOST_NESTED:
            line = f":{event.start_mark.line + 1}" if event.start_mark else ""
            raise InputError(f"{where}{line}: expected YAML: nested too deeply")


def dump_yaml(data: object) -> str:
    """YAML text with keys in the given order; nested leaves in flow style, so that tables stay one row a line."""
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=118)


def write_atomically(path: Path, text: str) -> bool:
    """Write ``text`` so that a reader sees the old file or the new one, never half; False if it already was equal.

    An `OSError` names ``path``.
    """
    if path.is_file() and path.read_bytes() == text.encode():
        return False
    name = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException as error:
        if name is not None:
            Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):  # of a full disk it does not say what was written
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise
    return True
