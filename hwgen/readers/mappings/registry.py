"""The tools whose mappings are read, by name; a file is a mapping, or a record of one with layer and claims."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hwgen.ir.document import InputError, nearest, written
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS
from hwgen.readers.mappings.accelforge import AccelForge
from hwgen.readers.mappings.mapping import ForeignMapping
from hwgen.readers.mappings.timeloop import Timeloop
from hwgen.readers.mappings.zigzag import ZigZag

__all__ = ["TOOLS", "Reader", "read_mapping"]

RECORD = "mapping"
"""The key of a record that has the tool's own text: beside it there are ``layer``, ``buffer_bytes`` and claims."""


class Reader(Protocol):
    """What reads the mappings of one tool."""

    name: str

    def read(self, text: str, data: Any, words: Mapping[str, int], where: str) -> ForeignMapping:
        """The mapping of a file; ``data`` : the file as JSON, None where it is none; ``words`` : bits of accesses."""


TOOLS: dict[str, Reader] = {reader.name: reader for reader in (ZigZag(), Timeloop(), AccelForge())}
"""The readers, by the name that ``--from`` has for them."""


def read_mapping(path: Path, tool: str, words: Mapping[str, int]) -> ForeignMapping:
    """Read a mapping, or the record in a JSON file, or ``FILE.jsonl:LINE``; `InputError` says what is wrong."""
    if tool not in TOOLS:
        raise InputError(f"--from: expected {', '.join(TOOLS)}, got {tool[:40]!r}{nearest(tool, TOOLS)}")
    text, where = _text(path)
    data = _json(text)
    if isinstance(data, dict) and RECORD in data and not isinstance(data[RECORD], list | dict):
        return _of_record(data, tool, words, where)
    return replace(TOOLS[tool].read(text, data, words, where), name=_name(data, path))


def _name(data: Any, path: Path) -> str:
    named = data.get("inputs", {}).get("layer", {}).get("name") if isinstance(data, dict) else None
    return named if isinstance(named, str) else path.stem.split(".")[0]


def _text(path: Path) -> tuple[str, str]:
    """The text of a file, or of one line of it, and its place for messages."""
    name, _, line = str(path).rpartition(":")
    file, number = (Path(name), int(line)) if not path.exists() and name and line.isdigit() else (path, None)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "").lower() if isinstance(error, OSError) else "not UTF-8 text"
        raise InputError(f"{file}: cannot be read: {reason}") from None
    if number is None:
        lines = [one for one in text.splitlines() if one.strip()]
        if file.suffix == ".jsonl" and len(lines) > 1:
            raise InputError(f"{file}: expected one of its {len(lines)} lines, such as {file}:1")
        return text, str(file)
    lines = text.splitlines()
    if not 1 <= number <= len(lines):
        raise InputError(f"{file}: expected a line from 1 to {len(lines)}, got {number}")
    return lines[number - 1], f"{file}:{number}"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _of_record(data: dict[str, Any], tool: str, words: Mapping[str, int], where: str) -> ForeignMapping:
    """The mapping of a record: the tool's text, the layer, the bytes of one buffer for all operands, the claims."""
    if data.get("tool", tool) != tool:
        raise InputError(f"{where}: tool: expected {tool}, which --from says, got {written(data['tool'])}")
    if not isinstance(data[RECORD], str):
        raise InputError(f"{where}: mapping: expected text, got {written(data[RECORD])}")
    found = TOOLS[tool].read(data[RECORD].replace(" | ", "\n"), None, words, f"{where}: mapping")
    if len(found.memories) != 2:
        raise InputError(
            f"{where}: mapping: expected one memory inside of the outermost, got {len(found.memories) - 1}"
        )
    size = _number(data, "buffer_bytes", where)
    outer, inner = found.memories
    claimed = data.get("claimed_bytes", {})
    if not isinstance(claimed, dict) or any(name not in ARRAYS for name in claimed):
        raise InputError(f"{where}: claimed_bytes: expected numbers for I, W and O, got {written(claimed)}")
    bytes_of = {name: _number(claimed, name, f"{where}: claimed_bytes") for name in claimed}
    total = _number(data, "claimed_total_bytes", where) if "claimed_total_bytes" in data else None
    layer = _layer(data.get("layer"), f"{where}: layer")
    return replace(
        found, name=layer.name, layer=layer, memories=(outer, replace(inner, bytes=size)),
        claimed={outer.name: bytes_of} if bytes_of else {}, claimed_total=total,
    )  # fmt: skip


def _number(data: Mapping[str, Any], key: str, where: str) -> int:
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InputError(f"{where}: {key}: expected a number of at least 1, got {written(value)}")
    return value


def _layer(data: Any, where: str) -> Layer:
    """A layer: the keys of a layer table, or H, E, C, M, R, S and padding_low_high, of square maps and kernels."""
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a layer, got {written(data)}")
    if "input_channels" in data:
        return Layer(**data)
    size = {key: _number(data, key, where) for key in ("H", "E", "C", "M", "R", "S")}
    padding = data.get("padding_low_high", [0, 0])
    if not isinstance(padding, list) or len(padding) != 2 or not all(isinstance(one, int) for one in padding):
        raise InputError(f"{where}: padding_low_high: expected two numbers, got {written(padding)}")
    return Layer(
        name=str(data.get("name", "layer")), input_channels=size["C"], output_channels=size["M"],
        input_height=size["H"], input_width=size["H"], output_height=size["E"], output_width=size["E"],
        kernel=size["R"], stride=size["S"], padding=[padding[0], padding[0], padding[1], padding[1]],
    )  # fmt: skip
