"""Hardware files: what is read is checked against the facts of the hardware, too, before any work begins."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from hwgen.arch.hwc import MOST_MEMORY, HwcParameters
from hwgen.arch.lanes import memory_units
from hwgen.arch.registers.hwc import hwc_registers, layer_settings
from hwgen.ir.document import InputError, load_yaml
from hwgen.ir.hardware import MULTIPLIER_NUMBERS, Hardware
from hwgen.ir.keys import Key, Rule, described
from hwgen.ir.lanes import LANE_DIMS, Lanes
from hwgen.ir.layer import DIMS
from hwgen.ir.schedule import ARRAYS

__all__ = ["RULES", "hardware_keys", "load_hardware", "possible_hardware", "read_hardware_data"]


def _units(one: Hardware) -> Iterator[tuple[Lanes, tuple[int, int, int]]]:
    """The shapes that the lanes may have, and the bytes by which the I, W and O memories grow with each."""
    shapes = [one.lanes] if one.lanes is not None else Lanes.shapes(one.number_of_multipliers, LANE_DIMS)
    for lanes in shapes:
        yield lanes, memory_units(lanes, one.operand_bits, one.ports)


def _lanes_of_a_datapath(one: Hardware) -> str | None:
    if one.lanes is None:
        return None
    powers = all(one.lanes.along(dim) & (one.lanes.along(dim) - 1) == 0 for dim in LANE_DIMS)
    if powers and one.lanes.product in MULTIPLIER_NUMBERS:
        return None
    return (
        f"lanes: expected powers of two along {', '.join(LANE_DIMS)}, {MULTIPLIER_NUMBERS[0]} to "
        f"{MULTIPLIER_NUMBERS[-1]} together, got {one.lanes}"
    )


def _memories_of_lanes(one: Hardware) -> str | None:
    if one.buffers is None:
        return None
    wrong = None
    for lanes, units in _units(one):
        for array, unit in zip(ARRAYS, units, strict=True):
            size = one.buffers[array]
            if size % unit or not 2 * unit <= size <= MOST_MEMORY:
                most = MOST_MEMORY // unit * unit
                wrong = wrong or (
                    f"buffers: {array}: expected a multiple of {unit} bytes from {2 * unit} to {most} with lanes "
                    f"{lanes}, got {size}"
                )
                break
        else:
            return None
    return wrong


def _room_in_budget(one: Hardware) -> str | None:
    if one.buffers is not None or "budget" not in one.model_fields_set:
        return None
    least = min(2 * sum(units) for _, units in _units(one))
    lanes = "any lanes" if one.lanes is None else f"lanes {one.lanes}"
    return f"budget: expected at least {least} bytes with {lanes}, got {one.budget}" if one.budget < least else None


@cache
def _setting_names() -> frozenset[str]:
    """The names of settings that HWCs have, numbers of loops left out."""
    names: set[str] = set()
    for cluster in (False, True):
        for operand_bits, scaled in ((16, False), (8, True)):
            for marked in ("y", "x"):
                parameters = HwcParameters(
                    loops=(marked, "c", *DIMS, *DIMS),
                    input_marker=0,
                    weight_marker=1,
                    output_marker=1,
                    input_bytes=64,
                    weight_bytes=32,
                    output_bytes=128,
                    lanes=Lanes(m=2, c=2, y=2, x=2),
                    operand_bits=operand_bits,
                    bias_words=2,
                    cluster=cluster,
                    scaled=scaled,
                )
                names |= {register.name for register in layer_settings(hwc_registers(parameters))}
    return frozenset(map(_unnumbered, names))


def _unnumbered(name: str) -> str:
    return re.sub(r"_[0-9]+(?=_|$)", "_#", name)


def _known_settings(one: Hardware) -> str | None:
    for key in ("constants", "setting_bits"):
        for name in getattr(one, key) or {}:
            if _unnumbered(name) not in _setting_names():
                return f"{key}: {name}: expected the name of a setting of the HWC, as its register is called"
    return None


RULES = (
    Rule(
        ("lanes",),
        f"powers of two, {MULTIPLIER_NUMBERS[0]} to {MULTIPLIER_NUMBERS[-1]} together",
        _lanes_of_a_datapath,
    ),
    Rule(
        ("buffers", "lanes", "ports", "operand_bits"),
        "each of `buffers` is a multiple of what its lanes and its port access at a time, from two of it to "
        f"{MOST_MEMORY}",
        _memories_of_lanes,
    ),
    Rule(
        ("budget", "lanes", "ports", "operand_bits"),
        "`budget` has room for two of what lanes and port access at a time in each memory",
        _room_in_budget,
    ),
    Rule(("constants", "setting_bits"), "settings that an HWC has", _known_settings),
)
"""What `Hardware` itself does not know: the facts of the hardware."""


def hardware_keys() -> list[Key]:
    """Every key of a hardware file."""
    return list(described(Hardware, RULES))


def possible_hardware(hardware: Hardware, where: str) -> Hardware:
    """The same hardware; raises `InputError` if none can be made of it."""
    for rule in RULES:
        if wrong := rule.broken(hardware):
            raise InputError(f"{where}: {wrong}")
    return hardware


def read_hardware_data(data: object, where: str) -> Hardware:
    """The hardware of plain data that was read from a file; raises `InputError` with one line."""
    return possible_hardware(Hardware.from_data(data, where), where)


def load_hardware(path: Path) -> Hardware:
    """Read one hardware file; raises `InputError` with one line."""
    return read_hardware_data(load_yaml(path), str(path))
