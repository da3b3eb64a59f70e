"""YAML text with some values of a mapping changed in place: comments, order and layout of all else stay."""

from collections.abc import Mapping
from typing import Any

import yaml

__all__ = ["edited"]

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
