"""The page on JSON as patterns of keys, and the keys of a document that no pattern has.

A row of a table is of the command, or of the form, whose heading it stands below. Its first cell has keys, such as
``layers[].macs``; a word in capitals stands for any name. A link in its second cell to a heading of the page is to
the form that lies below these keys; one to another page says that this has what lies below, and of the page of file
formats each name is looked up.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from manual.inserts import with_inserts

__all__ = ["Key", "keys_of", "undocumented"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
EVERYWHERE = "What is wrong"
FORMATS = "file-formats.md"


@dataclass(frozen=True)
class Key:
    """A pattern, and what lies below it: a form of the page, or keys that another page has."""

    parts: tuple[str, ...]
    form: str = ""
    page: str = ""


def parts_of(path: str) -> tuple[str, ...]:
    """Names of a path; the entries of a list are one more, ``[]``."""
    return tuple(part for name in path.split(".") for part in re.findall(r"\[\]|[^\[\]]+", name))


@cache
def sections() -> dict[str, tuple[Key, ...]]:
    """The keys below each heading."""
    found: dict[str, list[Key]] = {}
    heading = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        row = re.fullmatch(r"\| (`.*`) \| (.*) \|", line)
        if row is None:
            continue
        link = re.search(r"\]\((#|[^#)]*\.md)([^)]*)\)", row[2])
        form = link[2].replace("-", " ") if link and link[1] == "#" else ""
        page = link[1] if link and link[1] != "#" else ""
        for path in re.findall(r"`([^`]+)`", row[1]):
            found.setdefault(heading.lower(), []).append(Key(parts_of(path), form, page))
    return {name: tuple(keys) for name, keys in found.items()}


@cache
def named_in_formats() -> set[str]:
    """Words in backticks and in examples on the page of file formats, with the keys that are inserted there."""
    text = with_inserts((PAGE.parent / FORMATS).read_text(encoding="utf-8"))
    code = " ".join(re.findall(r"^```.*?^```|`[^`\n]+`", text, re.DOTALL | re.MULTILINE))
    return {"[]", *re.findall(r"\w+", code)}


def keys_of(name: str) -> tuple[Key, ...]:
    """The patterns below a heading, such as ``hwgen layers``; none where the page does not have it."""
    return sections().get(name.lower(), ())


def undocumented(command: str, document: object) -> list[str]:
    """Paths of a document that the page does not have below ``hwgen COMMAND``."""
    known = (*keys_of(f"hwgen {command}"), *keys_of(EVERYWHERE))
    return list(dict.fromkeys(".".join(path) for path in _paths(document) if not _is_known(path, known)))


def _paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for name, inside in value.items():
            yield from _paths(inside, (*path, str(name)))
    if isinstance(value, list):
        for inside in value:
            yield from _paths(inside, (*path, "[]"))


def _is_known(path: tuple[str, ...], keys: tuple[Key, ...]) -> bool:
    return any(_matches(path, key) for key in keys)


def _matches(path: tuple[str, ...], key: Key) -> bool:
    """Whether a path is a pattern or on the way to it, or lies below it in the form or on the page that it names."""
    if not all(one == part or _is_any(part, one) for one, part in zip(path, key.parts, strict=False)):
        return False
    below = path[len(key.parts) :]
    if key.page == FORMATS:
        return {*below} <= named_in_formats()
    if not below or key.page:
        return True
    if below == ("[]",) * len(below):  # a list of numbers or of lists of them
        return True
    return bool(key.form) and (_is_known(below, keys_of(key.form)))


def _is_any(part: str, one: str) -> bool:
    """Whether a part of a pattern stands for any name."""
    return one != "[]" and re.fullmatch(r"[A-Z]{2,}", part) is not None
