"""Whatever is wrong with a file is said in one line: the file, the key as it was written, no word of Python."""

import copy
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from hwgen.arch.hwc import HwcParameters
from hwgen.ir.builtin import named_file
from hwgen.ir.document import InputError, check_header, parse_yaml, written
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import LARGEST
from hwgen.ir.layer_set import Network
from hwgen.ir.schedule import Schedule
from hwgen.lower.pipeline.solution import solution_from_data
from tests.ir.test_schedule import fig_8

Path = tuple[str | int, ...]

WRONG: list[Any] = [
    None, True, "", "text", -1, 0, 1.5, float("nan"), 10**30, [], [None], [1, 2], [[[]]], {}, {"x": None}, {3: 4},
    "[", "a\nb",
]  # fmt: skip
PYTHON = re.compile(
    r"NoneType|\bNone\b|\bTrue\b|\bFalse\b|\btuple|\bdict\b|\bint\b|\bstr\b|\bbool\b|\bfloat\b|pydantic|\bNode\b"
    r"|[Ii]nput should"
    r"|valid (integer|number|string|boolean|list|dictionary)|instance of|_File|_StackEntry|[a-z_]\.\d"
    r"|Value error|Error\b"
)
NETWORK = """
format: 1
kind: network
network: n
source: somewhere
input: {name: image, channels: 4, height: 6, width: 6}
totals: {layers: 5, weighted_layers: 3, macs: 10608, conv_macs: 10368, fc_macs: 240, weights: 528, conv_weights: 288}
layers:
- {name: a, op: conv, inputs: [image], input_channels: 4, output_channels: 4, input_height: 6, input_width: 6,
   output_height: 6, output_width: 6, kernel: [3, 3], stride: [1, 1], padding: [1, 1, 1, 1], groups: 1,
   activation: relu, requantisation: {shift: 3}}
- {name: j, op: add, inputs: [a, image], input_channels: 4, output_channels: 4, input_height: 6, input_width: 6,
   output_height: 6, output_width: 6}
- {name: u, op: deconv, inputs: [j], input_channels: 4, output_channels: 4, input_height: 6, input_width: 6,
   output_height: 7, output_width: 7, kernel: [3, 3], padding: [1, 1, 1, 1], output_padding: [1, 1]}
- {name: p, op: pool, pool: max, inputs: [j], input_channels: 4, output_channels: 4, input_height: 6, input_width: 6,
   output_height: 3, output_width: 5, kernel: [2, 2], stride: [2, 1]}
- {name: f, op: fc, inputs: [p], input_channels: 60, output_channels: 4, input_height: 1, input_width: 1,
   output_height: 1, output_width: 1}
"""
FOUND = """
format: 1
kind: depth_first
weights: resident
stacks:
- {first: a, last: a, factor: 1, through_dram: []}
network:
  format: 1
  kind: network
  network: n
  input: {name: image, channels: 4, height: 6, width: 6}
  layers:
  - {name: a, op: conv, inputs: [image], input_channels: 4, output_channels: 4, input_height: 6, input_width: 6,
     output_height: 6, output_width: 6, kernel: [3, 3], padding: [1, 1, 1, 1]}
"""


def on_a_cluster() -> dict[str, Any]:
    data = fig_8()
    data["nest"] = [
        {"buffer": {"tcdm": ["I", "W", "O"]}}, {"m": {"step": 96, "over": "hwc"}}, {"m": 6}, {"y": 2}, {"x": 16},
        {"buffer": "O"}, {"c": 1}, {"buffer": ["I", "W"]}, {"y": 1}, {"k": 1}, {"m": 1}, {"l": 1},
    ]  # fmt: skip
    return data


def hardware() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(named_file("hardware", "alexnet_cluster").read_text(encoding="utf-8"))
    return data


KINDS: dict[str, tuple[dict[str, Any], Callable[[object, str], object]]] = {
    "network": (yaml.safe_load(NETWORK), Network.from_data),
    "schedule": (fig_8(), Schedule.from_data),
    "two levels": (on_a_cluster(), Schedule.from_data),
    "hardware": (hardware(), Hardware.from_data),
    "depth-first": (yaml.safe_load(FOUND), solution_from_data),
}


def paths(data: Any, before: Path = ()) -> Iterator[Path]:
    """Every key and item inside plain data."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield (*before, key)
            yield from paths(value, (*before, key))


def changed(data: Any, path: Path, change: Callable[[Any, Any], None]) -> Any:
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return data


def mutants(data: Any) -> Iterator[tuple[Path, Any]]:
    for path in paths(data):
        yield path, changed(data, path, lambda place, key: place.pop(key))
        for value in WRONG:
            yield path, changed(data, path, lambda place, key, value=value: place.__setitem__(key, value))
        if isinstance(path[-1], str):
            yield path, changed(data, path, lambda place, key: place.__setitem__("colour", place.pop(key)))


def complaints(kind: str, data: Any, read: Callable[[object, str], object]) -> Iterator[str]:
    """What is wrong with the messages."""
    for path, mutant in mutants(data):
        try:
            read(mutant, "f.yaml")
        except InputError as error:
            line = str(error)
            where = [str(key) for key in path if isinstance(key, str)]
            known = [*where, *_beside(data, path), *data, "colour", "item"]
            if not line.startswith("f.yaml: ") or "\n" in line or len(line) > 300:
                yield f"{kind} {path}: {line}"
            elif found := PYTHON.search(line.removeprefix("f.yaml")):
                yield f"{kind} {path}: {found[0]!r} in {line}"
            elif not any(re.search(rf"\b{key}\b", line.removeprefix("f.yaml")) for key in known):
                yield f"{kind} {path}: no key in {line}"


def _beside(data: Any, path: Path) -> list[str]:
    place = data
    for key in path[:-1]:
        place = place[key]
    return [key for key in place if isinstance(key, str)] if isinstance(place, dict) else []


@pytest.mark.parametrize("kind", KINDS)
def test_every_wrong_value_is_answered_in_a_line(kind: str) -> None:
    data, read = KINDS[kind]
    read(copy.deepcopy(data), "f.yaml")
    assert list(complaints(kind, data, read)) == []


def test_the_check_finds_words_of_python() -> None:
    def found(message: str) -> list[str]:
        def refuse(data: object, where: str) -> None:
            raise InputError(f"{where}: {message}")

        return list(complaints("k", {"size": 1}, refuse))

    assert found("size: got NoneType")
    assert found("kernel.0: bad")
    assert found("size: Input should be a valid integer")
    assert found("no such thing")
    assert found("size: expected a whole number, got 'x'") == []


def test_sizes_end_where_the_registers_do() -> None:
    assert (1 << HwcParameters.position_bits) - 1 == LARGEST
    data = yaml.safe_load(NETWORK)
    data["layers"][0]["input_width"] = LARGEST + 1
    with pytest.raises(InputError, match=r"^f.yaml: layers: a: input_width: expected at most 65535, got 65536$"):
        Network.from_data(data, "f.yaml")


def test_a_row_with_windows_says_its_kernel() -> None:
    for name, op in (("a", "conv"), ("u", "deconv"), ("p", "pool")):
        data = yaml.safe_load(NETWORK)
        next(row for row in data["layers"] if row["name"] == name).pop("kernel")
        with pytest.raises(InputError, match=rf"^f.yaml: layers: {name}: kernel: missing key \(a {op} has one\)$"):
            Network.from_data(data, "f.yaml")


@pytest.mark.parametrize(
    "text", ["a: 2020-13-45", "a: !!int x", "a: !!timestamp x", "a: !!bool x", f"a: {'9' * 5000}", "? [a]\n: 1"]
)
def test_values_that_yaml_cannot_make(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_yaml(text, "f.yaml")
    assert str(caught.value).startswith("f.yaml")
    assert "expected YAML: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_values_are_written_as_files_have_them() -> None:
    shown = [
        (None, "nothing"), (True, "true"), ([1, None, "x"], "[1, nothing, 'x']"), ([[1]], "a list of 1"),
        ({}, "an empty mapping"),
        ({"a": 1, "b": 2}, "a mapping of 'a', 'b'"), (list(range(9)), "a list of 9"),
    ]  # fmt: skip
    assert [written(value) for value, _ in shown] == [text for _, text in shown]
    assert max(len(written(value)) for value in ("x" * 999, 10**999, ["x" * 99] * 6, {"x" * 99: 1})) <= 60


def test_headers() -> None:
    assert check_header({"format": 1, "kind": "k", "a": 2}, ("k",), "f", "k") == {"a": 2}
    assert check_header({"format": 1, "kind": "k", "a": 2}, ("j", "k"), "f", "k") == {"kind": "k", "a": 2}
    for data, message in [
        ({"format": 1}, "f: kind: expected j or k, got nothing"),
        ({"kind": "k"}, "f: format: expected 1, got nothing"),
        ({"kind": "k", "format": True}, "f: format: expected 1, got true"),
    ]:
        with pytest.raises(InputError) as caught:
            check_header(data, ("j", "k"), "f", "thing")
        assert str(caught.value) == message
