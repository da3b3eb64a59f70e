"""Files in which one value is wrong: either they are taken all the same, or one line says what is wrong where."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hwgen.ir.document import dump_yaml, parse_yaml
from hwgen.studies.fuzz.bench import Bench
from hwgen.studies.fuzz.kind import SET, Kind
from hwgen.studies.fuzz.pairs import Case, Space

__all__ = ["OF_FILES"]

BASE = """
set.yaml: &set
  format: 1
  kind: layer_list
  network: n
  layers:
  - &layer {name: a, op: conv, input_channels: 4, output_channels: 6, input_height: 5, input_width: 6,
      output_height: 5, output_width: 6, kernel: [3, 3], stride: [1, 1], padding: [1, 1, 1, 1], groups: 2,
      requantisation: {shift: 7, relu: true, ceiling: 9}}
network.yaml:
  format: 1
  kind: network
  network: n
  input: {name: i, channels: 4, height: 5, width: 6}
  layers:
  - {<<: *layer, inputs: [i], activation: relu}
  - {name: p, op: pool, pool: max, inputs: [a], input_channels: 6, output_channels: 6, input_height: 5,
      input_width: 6, output_height: 2, output_width: 3, kernel: [2, 2], stride: [2, 2]}
hwc.yaml:
  format: 1
  kind: hardware
  name: h
  lanes: {m: 4, x: 2}
  buffers: {I: 64, W: 64, O: 128}
  budget: 256
  order: [m, y, x, {buffer: [O]}, c, {buffer: [I, W]}, k, l, m, y, x]
  ports: {I: 32, W: 64, O: 32}
  bias_words: 2
  operand_bits: 8
  constants: {stride_y: 1}
  setting_bits: {extent_m: 8}
cluster.yaml:
  format: 1
  kind: hardware
  name: h
  lanes: {m: 4}
  cluster:
    hwcs: 2
    tcdm: 8192
    banks: 4
    axi_bits: 64
    vector: true
    vector_elements: 2
    dram: {latency: 3, block_cycles: 1.5, row_bytes: 1024}
    load: {transfer: 1.0, run: 1.0, byte: 1.0}
    energy: {dram: 9.0, tcdm: 2.0, local: 1.0, mac: 1.0}
hierarchy.yaml:
  format: 1
  kind: hierarchy
  name: h
  levels:
  - {name: dram}
  - {name: sram, bytes: 4096}
  - {name: reg, bytes: {I: 64, W: 64, O: 64}}
  lanes: {m: 2}
  width: 64
  energy: yang_2016
  bits: {I: 8, W: 8, O: 8, acc: 32}
one_level.yaml:
  format: 1
  kind: schedule
  layer: *layer
  bits: {I: 8, W: 8, O: 8, acc: 32}
  lanes: {x: 4}
  nest: [{m: 3}, {y: 2}, {buffer: [O]}, {c: 1}, {buffer: [I, W]}, {k: 1}, {l: 1}, {m: 1}, {y: 1}, {x: 4}]
two_levels.yaml:
  format: 1
  kind: schedule
  layer: *layer
  lanes: {x: 4}
  nest: [{buffer: {tcdm: [I, W, O]}}, {m: 3}, {y: {step: 2, over: hwc}}, {buffer: [O]}, {c: 1}, {buffer: [I, W]},
    {k: 1}, {l: 1}, {m: 1}, {y: 1}, {x: 4}]
"""
READS = {
    "set.yaml": "schedule {} --buffer 512",
    "network.yaml": "depth-first {} --memory 1KiB",
    "hwc.yaml": "schedule set.yaml --hardware {}",
    "cluster.yaml": "schedule set.yaml --hardware {}",
    "hierarchy.yaml": "schedule set.yaml --hierarchy {}",
    "one_level.yaml": "predict {}",
    "two_levels.yaml": "predict {}",
}
FILES: dict[str, Any] = parse_yaml(BASE, "files")
"""Files in which nothing is wrong; `READS` has a command for each."""
WRONG = {"nothing": None, "minus": -1, "zero": 0, "one": 1, "half": 0.5, "huge": 1 << 40, "endless": float("inf"),
         "text": "x", "empty": "", "list": [], "lists": [[1], [2]], "mapping": {}, "keys": {"x": 1}, "switch": True,
         "letters": "\u00e9\n\u200b", "long": "y" * 5000}  # fmt: skip
"""What is in the place of a value."""
ABSENT, UNKNOWN = "absent", "unknown"
"""The key is not there; it has another name."""
PLACES = 48


def _places(data: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where values are: keys and indices from the outermost mapping on."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*above, key)
        yield from _places(value, (*above, key))


def _damaged(case: Case) -> dict[str, Any]:
    data: dict[str, Any] = deepcopy(FILES[case["file"]])
    *above, key = list(_places(data))[case["place"]]
    within: Any = data
    for part in above:
        within = within[part]
    if case["wrong"] in (ABSENT, UNKNOWN):
        value = within.pop(key)
        if case["wrong"] == UNKNOWN and isinstance(within, dict):
            within[f"{key}_"] = value
    else:
        within[key] = WRONG[case["wrong"]]
    return data


def _write(case: Case, folder: Path) -> None:
    (folder / SET).write_text(dump_yaml(FILES[SET]), encoding="utf-8")
    (folder / case["file"]).write_text(dump_yaml(_damaged(case)), encoding="utf-8")


def _ask(case: Case, bench: Bench) -> None:
    file = case["file"]
    answer = bench(*READS[file].format(file).split())
    if answer.refused and file not in answer.refused:
        bench.differs(f"a refusal that does not name {file}: {answer.refused}")


def _legal(case: Case) -> bool:
    return bool(case["place"] < len(list(_places(FILES[case["file"]]))))


FEATURES: dict[str, tuple[Any, ...]] = {
    "file": tuple(FILES), "place": tuple(range(PLACES)), "wrong": (ABSENT, UNKNOWN, *WRONG)
}  # fmt: skip
OF_FILES = Kind(Space(FEATURES, _legal), _write, _ask)
