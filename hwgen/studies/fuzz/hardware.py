"""Values of the keys of a hardware file, from what its description says of each, so that a new key is drawn, too."""

import re
from typing import Any

from hwgen.arch.hardware_file import hardware_keys, read_hardware_data
from hwgen.arch.lanes import memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.keys import Choice, Key, Range
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import ARRAYS
from hwgen.studies.fuzz.pairs import Case

__all__ = ["HARDWARE", "hardware_data", "is_hardware"]

NAME = "drawn"
OWN: dict[str, tuple[Any, ...]] = {
    "lanes": ("x4", "m4", "c4", "y4", "m2x2", "m2c2", "y2x4", "m2c2y2x2", "m4c4", "c8", "x16", "m16", "m4x8"),
    "order": ("m y x O c IW y k l m x", "m y x O c I k W l m y x", "c m y x O c I k l W m y x",
              "m c k y x O l I m c W y x"),
    "buffers": (512, 256, 64),
    "ports": ("I64", "W128", "O64", "I64W64O64", "I128O32", "I32W256O128", "I512"),
    "constants": ("stride_y1", "stride_x2", "group_outputs1"),
    "setting_bits": ("weight_base24", "input_base32", "extent_m6", "extent_x8", "padding_top6", "input_pitch8"),
}  # fmt: skip
"""Keys whose values have a form of their own, and are short here: see `_value`."""
SMALL: dict[str, tuple[Any, ...]] = {
    "budget": (1024, 2048, 4096), "multipliers": (4, 16, 32), "cluster.hwcs": (1, 2, 3), "cluster.banks": (2, 4, 64),
    "cluster.tcdm": (16384, 8192, 4096, 2048), "cluster.dram.miss_cycles": (7, 21), "cluster.dram.latency": (1, 30),
    "cluster.dram.block_cycles": (1.5, 16.0), "cluster.dram.access_cycles": (0.5, 9.5),
    "cluster.dram.row_bytes": (128, 1024, 1 << 20), "in_flight": (1, 2, 7, 13), "bias_words": (0, 2, 8, 1024),
}  # fmt: skip
"""Values, of the whole range of a key, that make small hardware and short runs."""


def _values(key: Key) -> tuple[Any, ...]:
    """Values of a key, none of them its default; `KeyError` for a form that nothing is known of."""
    if key.name in OWN or key.name in SMALL:
        return (OWN | SMALL)[key.name]
    if isinstance(key.domain, Choice):
        return tuple(value for value in key.domain.values if value != key.default)
    if isinstance(key.domain, Range):
        low, high = key.domain.low, key.domain.high
        return tuple(dict.fromkeys((int(low), int(high or 0)) if key.domain.whole else (1.5, 0.0)))
    if key.domain.startswith("a mapping"):
        return (True,)
    raise KeyError(f"{key.name}: values in a form of their own, of which OWN has none")


def _features() -> dict[str, tuple[Any, ...]]:
    keys = [key for key in hardware_keys() if key.name != "name"]
    return {key.name: (() if key.otherwise == "required" else (None,)) + _values(key) for key in keys}


HARDWARE = _features()
"""Features of hardware: the keys of its file, absent or with a value; ``True`` for a mapping of keys."""


def hardware_data(case: Case) -> dict[str, Any]:
    """The file's data."""
    data: dict[str, Any] = {"format": 1, "kind": "hardware", "name": NAME}
    for name in HARDWARE:
        if case[name] is not None:
            *above, key = name.split(".")
            place = data
            for part in above:
                place = place[part]
            place[key] = _value(name, case[name])
    if case["buffers"] is not None:
        data["buffers"] = _buffers(data, case["buffers"])
        data["budget"] = sum(data["buffers"].values())
    return data


def is_hardware(case: Case) -> bool:
    """Whether its rules hold."""
    if case["buffers"] is not None and case["budget"] is not None:
        return False  # the budget is that of the buffers
    try:
        read_hardware_data(hardware_data(case), NAME)
    except InputError:
        return False
    return True


def _value(name: str, value: Any) -> Any:
    """What the file has for a value of a feature."""
    if name == "lanes":
        return Lanes.parse(value).as_data()
    if name == "order":
        return [{"buffer": list(word)} if word.isupper() else word for word in value.split()]
    if name in OWN and name != "buffers":
        return {key: int(number) for key, number in re.findall(r"([A-Z]|[a-z_]+)([0-9]+)", value)}
    return {} if f"{name}." in PARTS else value


PARTS = {name[: place + 1] for name in HARDWARE for place, letter in enumerate(name) if letter == "."}
"""Mappings of keys, with a dot after their names."""


def _buffers(data: dict[str, Any], size: int) -> dict[str, int]:
    """About that many bytes for each memory, as the lanes can have them."""
    machine = Hardware.from_data({**data, "buffers": None})
    lanes = machine.lanes or Lanes.shapes(machine.number_of_multipliers)[0]
    units = memory_units(lanes, machine.operand_bits, machine.ports)
    return {array: unit * max(2, size // unit) for array, unit in zip(ARRAYS, units, strict=True)}
