"""Reading, writing and editing YAML and JSON documents: one clear error line for bad input, atomic writes."""

import csv
import difflib
import errno
import fcntl
import hashlib
import io
import json
import math
import os
import re
import reprlib
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

__all__ = [
    "SEAL",
    "Expected",
    "InputError",
    "Name",
    "Value",
    "check_header",
    "csv_lines",
    "csv_value",
    "dump_yaml",
    "edited",
    "format_of",
    "is_model",
    "json_text",
    "load_yaml",
    "nearest",
    "parse_yaml",
    "row_digest",
    "sealed",
    "unsealed",
    "validated",
    "write_atomically",
    "written",
]


T = TypeVar("T", bound=BaseModel)

_MOST_NESTED = 32
_TOO_DEEP = "nested too deeply"
_TOO_DEEP_FOR_PYYAML = "exceeded maximum nesting depth"  # from 6.0.4 on, which may find it before `_check_depth` does
_SHOWN = 6
"""Items of a list, or keys of a mapping, that a message shows."""
_LONGEST = 60
"""Characters of a value in a message."""


class InputError(ValueError):
    """Bad input, said in one line: what is wrong, where, and what was expected. The command line exits with 2."""

    def __init__(self, line: str) -> None:
        super().__init__(" ".join(line.splitlines()))  # a name from a file may have several


@dataclass(frozen=True, slots=True)
class Expected:
    """How the value of a field is written, for messages: annotates the field's type."""

    form: str


class Value(BaseModel):
    """Base of all file-backed values: frozen, no unknown keys, no silent conversions.

    ``called``: what a mapping with its keys is, for messages.
    """

    called: ClassVar[str] = "value"

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)

    def __init__(self, /, *unnamed: object, **data: Any) -> None:
        """Make a value from code; raises `InputError` with the line that a file with these keys has."""
        called, name = self.called.removesuffix(" file"), data.get("name")
        where = f"{called} {name}" if isinstance(name, str) else called
        if unnamed:
            first = next(iter(type(self).model_fields))
            raise InputError(f"{where}: expected keys by their names, such as {first}=..., got {written(unnamed[0])}")
        try:
            super().__init__(**data)
        except ValidationError as error:
            telling = _telling(error.errors(include_url=False))
            raise InputError(f"{where}: {_violation(type(self), data, telling)}") from None

    # Files are validated without it: pydantic takes it for its own.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def _named(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
        raise ValueError(f"expected letters, digits and any of _ . + -, got {written(name)}")
    return name


Name = Annotated[str, AfterValidator(_named)]
"""A name that is safe as part of a file name: no path separators, no blanks, no dot or dash in front."""


def written(value: object) -> str:
    """A value of a file as a message shows it: about as it was written, on one line, never long."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _short(reprlib.repr(value))
        case str():
            return _short(reprlib.repr(value))
        case list() | tuple():
            if len(value) <= _SHOWN and not any(isinstance(one, list | tuple | dict) for one in value):
                return _short(f"[{', '.join(map(written, value))}]")
            return f"a list of {len(value)}"
        case dict():
            keys = ", ".join(written(key) for key in list(value)[:_SHOWN])
            return _short(f"a mapping of {keys}" if value else "an empty mapping")
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def nearest(name: object, known: Iterable[str]) -> str:
    """The end of a message: which of the known names was meant, if one is near; else nothing."""
    found = difflib.get_close_matches(str(name), list(known), n=1, cutoff=0.6)
    return f" (did you mean {found[0]}?)" if found else ""


def check_header(data: object, kinds: Sequence[str], where: str, called: str) -> dict[str, Any]:
    """What a file says after its ``kind`` and ``format``, which are checked; ``kind`` stays where several may be."""
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a mapping with the keys of a {called}, got {written(data)}")
    if data.get("kind") not in kinds:
        raise InputError(f"{where}: kind: expected {' or '.join(kinds)}, got {written(data.get('kind'))}")
    if data.get("format") != 1 or isinstance(data["format"], bool):
        raise InputError(f"{where}: format: expected 1, got {written(data.get('format'))}")
    left = {"format"} if len(kinds) > 1 else {"format", "kind"}
    return {key: value for key, value in data.items() if key not in left}


def validated(model: type[T], data: object, where: str) -> T:
    """Build ``model`` from plain data; raise `InputError` with file, key and expectation on the first violation."""
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a mapping with the keys of a {_called(model)}, got {written(data)}")
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{where}: {_violation(model, data, _telling(error.errors(include_url=False)))}") from None


def _telling(errors: Sequence[Any]) -> Any:
    """The error to tell: the first; where that is a missing key, an unknown one beside it, which may be the same.

    Where a union fails, the errors of its branches follow one another: the first is that of the first branch.
    """
    first = errors[0]
    if first["type"] != "missing":
        return first
    beside = [one for one in errors if one["type"] == "extra_forbidden" and one["loc"][:-1] == first["loc"][:-1]]
    return next((one for one in beside if nearest(one["loc"][-1], [first["loc"][-1]])), first)


def _called(model: Any) -> str:
    return model.called if isinstance(model, type) and issubclass(model, Value) else "value"


def _violation(model: type[BaseModel], data: object, error: Any) -> str:
    """The key, as the file has it, and what was expected of it."""
    place: list[str] = []
    inside: Any = model
    loc = error["loc"]
    for index, part in enumerate(loc):
        field = inside.model_fields.get(part) if inside is not None and isinstance(part, str) else None
        if field is None and not _is_part(data, part):
            break  # a name of pydantic's own, of a branch of a union
        place.append(part if isinstance(part, str) else f"item {part}")
        known = _is_part(data, part)
        data = data[part] if known else None  # type: ignore[index]
        if field is None:
            continue
        form = next((one.form for one in field.metadata if isinstance(one, Expected)), None)
        if form is not None and known:
            return f"{': '.join(place)}: expected {form}, got {written(data)}{_meant(data, form)}"
        inside = _model_in(field.annotation)
        if error["type"] == "missing" and index == len(loc) - 2 and inside is None:
            return f"{': '.join(place)}: expected more items, got {written(data)}"
    return ": ".join((*place, _expectation(error, inside)))


def _meant(given: object, expected: str) -> str:
    """Which word of those that were expected was meant, as `nearest` has it."""
    words = [one for one in expected.replace(" or ", ", ").split(", ") if one.isidentifier()]
    return nearest(given, words) if isinstance(given, str) and given not in words else ""


def _is_part(data: object, part: object) -> bool:
    if isinstance(data, dict):
        return part in data
    return isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)


def _model_in(annotation: Any) -> Any:
    """The model that a field's value is, or that each of its items is; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _model_in(one)) is not None), None)


_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "finite": "a number",
    "string": "text",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "set": "a list",
    "dict": "a mapping",
    "mapping": "a mapping",
}
"""What values of Python's types are in a file, by how pydantic's errors begin."""


def _expectation(error: Any, inside: Any) -> str:
    """What was expected of a key, and what it was, without a word of Python."""
    given, limits = written(error.get("input")), error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "missing key"
        case "extra_forbidden" | "invalid_key":
            return "unknown key" + nearest(error["loc"][-1], getattr(inside, "model_fields", ()))
        case "value_error":
            return str(error["msg"]).removeprefix("Value error, ")
        case "literal_error":
            expected = str(limits["expected"]).replace("'", "")
            return f"expected {expected}, got {given}{_meant(error.get('input'), expected)}"
        case "greater_than_equal":
            return f"expected at least {limits['ge']}, got {given}"
        case "greater_than":
            return f"expected more than {limits['gt']}, got {given}"
        case "less_than_equal":
            return f"expected at most {limits['le']}, got {given}"
        case "less_than":
            return f"expected less than {limits['lt']:g}, got {given}"
        case "multiple_of":
            return f"expected a multiple of {limits['multiple_of']}, got {given}"
        case "too_short":
            return f"expected at least {limits['min_length']} items, got {given}"
        case "too_long":
            return f"expected at most {limits['max_length']} items, got {given}"
        case "model_type" | "model_attributes_type" | "dataclass_type":
            return f"expected a mapping with the keys of a {_called(inside)}, got {given}"
    kind = _KINDS.get(error["type"].split("_")[0])
    return f"expected {kind}, got {given}" if kind else f"not as expected, got {given}"


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
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    other = format_of(path, content)
    if other is not None:
        raise InputError(f"{path}: expected YAML, got {other}")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: cannot be read: not UTF-8 text") from None
    return parse_yaml(text, str(path))


MODELS = {".onnx": "an ONNX model", ".tflite": "a TFLite model"}
"""What a file with such a name is: a network with weights, which is no text of ours."""


def is_model(path: Path) -> bool:
    """Whether a file is a network with weights, by its name."""
    return path.suffix.lower() in MODELS


def format_of(path: Path, content: bytes) -> str | None:
    """What a file is that is no text of ours, and who takes it; None if it may be YAML or is unknown."""
    if content.startswith(b"\x93NUMPY"):
        return "an array of NumPy, as --input takes it"
    suffix = path.suffix.lower()
    if suffix in MODELS:
        return (
            f"{MODELS[suffix]}, which hwgen layers, network, run, schedule, predict, cosim and generate take "
            f"(hwgen schedule MODEL{suffix} -o DIR makes schedules of it)"
        )
    if content[4:8] == b"TFL3":
        return "a TFLite model, which hwgen reads from a file whose name ends in .tflite"
    return None


def parse_yaml(text: str, where: str) -> Any:
    """Parse YAML; `InputError` names where it stands and the line of a syntax error."""
    try:
        _check_depth(text, where)
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not valid YAML"
        problem = _TOO_DEEP if problem == _TOO_DEEP_FOR_PYYAML else problem
        raise InputError(f"{where}{line}: expected YAML: {problem}") from None
    except InputError:
        raise
    except Exception:  # a date, number or tag of YAML with a text that is none: the loader raises what it likes
        raise InputError(f"{where}: expected YAML: a date, number or tagged value is not well-formed") from None


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
            raise InputError(f"{where}{line}: expected YAML: {_TOO_DEEP}")


def dump_yaml(data: object) -> str:
    """YAML text with keys in the given order; nested leaves in flow style, so that tables stay one row a line."""
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=118)


def csv_lines(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV. Text that a spreadsheet would run as a formula has an apostrophe in front (see `csv_value`)."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_csv_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def csv_value(cell: str) -> str:
    """The text that a cell of `csv_lines` stands for."""
    return cell[1:] if cell[:1] == "'" and cell[1:2] in _FORMULA else cell


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a formula begins with in a spreadsheet. Numbers may begin so, too."""


def _csv_cell(cell: object) -> object:
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def json_text(data: object, indent: int = 1) -> str:
    """A JSON document as text, in the one form that every command prints and writes.

    Scalars of NumPy become those of Python. A number that JSON cannot write (infinite, or not a number) is null.
    """
    return json.dumps(_plain(data), indent=indent, allow_nan=False) + "\n"


SEAL = "digest"
"""The key of a kept document, and the column of a table, with the digest of all others."""


def sealed(data: Mapping[str, Any], indent: int | None = 1) -> str:
    """A JSON document that is kept to be believed later: with a digest of what it says."""
    plain = json.loads(json_text(data))
    return json.dumps({**plain, SEAL: _digest(plain)}, indent=indent) + "\n"


def unsealed(text: str | bytes) -> Any:
    """The document in a text, without its digest; `ValueError` if it is not as it was when `sealed`, or never was."""
    data = json.loads(text)
    if not isinstance(data, dict) or SEAL not in data:
        raise ValueError("without a digest")
    digest = data.pop(SEAL)
    if digest != _digest(data):
        raise ValueError("changed since it was written")
    return data


def row_digest(row: Mapping[str, object]) -> str:
    """The digest of a row of a table: the same whether its cells are read from CSV, Parquet or JSON."""
    cells = {name: _cell_text(cell) for name, cell in row.items() if name != SEAL}
    return _digest({name: text for name, text in cells.items() if text})


def _cell_text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return str(cell).lower()
        case float():
            return repr(int(cell)) if cell.is_integer() else repr(cell)
    return " ".join(str(cell).splitlines())


def _digest(plain: object) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _plain(data: object) -> object:
    match data:
        case Mapping():
            return {key: _plain(value) for key, value in data.items()}
        case list() | tuple():
            return [_plain(value) for value in data]
        case None | str() | bool() | int():
            return data
    number = data.item() if hasattr(data, "item") else data  # NumPy's, which this room does not import
    return None if isinstance(number, float) and not math.isfinite(number) else number


def write_atomically(path: Path, content: str | bytes) -> bool:
    """Write a file so that a reader sees the old one or the new one, never half; False if it already was equal.

    A link is followed. What is no file, a terminal, a pipe or ``/dev/null``, is written to, and remains what it is.
    An `OSError` names ``path``.
    """
    content = content.encode() if isinstance(content, str) else content
    try:
        number = _open_file(path)
        if number is not None:
            sys.stdout.flush()
            with os.fdopen(os.dup(number), "wb") as file:
                file.write(content)
            return True
        try:
            kind = path.stat().st_mode
        except FileNotFoundError:
            kind = stat.S_IFREG
        if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind):
            with path.open("wb") as file:
                file.write(content)
            return True
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "expected a file")
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        if target.is_file() and target.read_bytes() == content:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content)
    except OSError as error:  # of a full disk it does not say what was written
        raise OSError(error.errno, error.strerror, str(path)) from None
    return True


def _open_file(path: Path) -> int | None:
    """The number of the open file that a name such as ``/dev/stdout`` means; None for others."""
    for _ in range(_MOST_LINKS):
        folder = Path(os.path.realpath(path.parent))
        if folder == Path(f"/proc/{os.getpid()}/fd") and path.name.isdigit():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = folder / path.readlink()
    return None


_MOST_LINKS = 40


def _replace(target: Path, content: bytes) -> None:
    """Write to another file beside the target, which then gets its name.

    Its name is always the same, so that what a killed process has left of it goes with the next one. Where another
    process has it, the file gets a name of its own.
    """
    part = target.with_name(f".{target.name}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = os.path.samestat(os.fstat(handle), part.lstat())
    except (BlockingIOError, FileNotFoundError):
        alone = False
    except OSError:  # no locks here
        alone = False
        part.unlink(missing_ok=True)
    if not alone:
        os.close(handle)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.truncate()
            file.write(content)
            file.flush()
            part.chmod(0o644)
            part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


# --- values changed in place ---

_WIDE = 1 << 16


def edited(text: str, mapping: str, values: Mapping[str, Any]) -> str:
    """The text of a document with values set in one of its mappings, each on one line.

    Whoever calls it reads the result again and compares: a mapping that is an alias is changed where its anchor is.

    Parameters
    ----------
    text : a document that can be read, whose top is a mapping.
    mapping : the key of a mapping in it.
    values : by key, in plain data.
    """
    for key, value in values.items():
        text = _with(text, mapping, key, _line(value))
    return text


def _line(value: Any) -> str:
    """A value in flow style."""
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=True, width=_WIDE).removesuffix("\n")


def _with(text: str, mapping: str, key: str, value: str) -> str:
    inside = _pairs(yaml.compose(text, Loader=yaml.SafeLoader))[mapping][1]
    pairs = _pairs(inside)
    if key in pairs:
        at, old = pairs[key]
        return f"{text[: at.end_mark.index]}: {value}{text[_end(old) :]}"
    entry = f"{key}: {value}"
    if not pairs:
        return f"{text[: inside.start_mark.index]}{{{entry}}}{text[_end(inside) :]}"
    first, (_, last) = next(iter(pairs.values()))[0], list(pairs.values())[-1]
    end = _end(last)
    if inside.flow_style:
        return f"{text[:end]}, {entry}{text[end:]}"
    newline = "\r\n" if "\r\n" in text else "\n"
    line = text.find("\n", end) + 1
    before, after = (text[:line], text[line:]) if line else (text + newline, "")
    return f"{before}{' ' * first.start_mark.column}{entry}{newline}{after}"


def _pairs(node: Any) -> dict[str, tuple[Any, Any]]:
    """The nodes of a mapping's keys and values, by key."""
    return {key.value: (key, value) for key, value in node.value}


def _end(node: Any) -> int:
    """Where a value's text ends: of a block with its last scalar, not with the comments below it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)
