"""Random hardware files: every key is drawn from what its description says, so that a new key is drawn, too."""

from collections.abc import Callable
from random import Random
from typing import Any

from hwgen.arch.hardware_file import hardware_keys, read_hardware_data
from hwgen.arch.lanes import memory_units
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.keys import Choice, Key, Range
from hwgen.ir.lanes import LANE_DIMS, PORT_WIDTHS, Lanes
from hwgen.ir.schedule import ARRAYS

__all__ = ["drawn", "random_hardware"]

ORDERS = ("m y x O c IW y k l m x", "m y x O c I k W l m y x", "c m y x O c I k l W m y x")
"""In short form; what order is drawn is a word of its own, see `tests.random.layers.random_hwc`."""


def _lanes(rng: Random) -> dict[str, int]:
    return rng.choice(Lanes.shapes(rng.choice((4, 8, 16, 32)), LANE_DIMS)).as_data()


def _order(rng: Random) -> list[Any]:
    words = rng.choice(ORDERS).split()
    return [{"buffer": list(word)} if word.isupper() else word for word in words]


def _setting_bits(rng: Random) -> dict[str, int]:
    if rng.random() < 0.5:
        return {rng.choice(("input_base", "weight_base")): rng.choice((24, 32))}
    return {
        rng.choice(("extent_m", "extent_x", "padding_top", "input_pitch", "output_plane")): rng.choice((6, 8, 12))
    }


OWN: dict[str, Callable[[Random], Any]] = {
    "name": lambda rng: f"drawn_{rng.randrange(1000)}",
    "lanes": _lanes,
    "ports": lambda rng: {port: rng.choice((*PORT_WIDTHS[:3], rng.choice(PORT_WIDTHS))) for port in ARRAYS},
    "order": _order,
    "constants": lambda rng: {rng.choice(("group_outputs", "stride_y", "stride_x")): rng.choice((1, 1, 2))},
    "setting_bits": _setting_bits,
}
"""Keys whose values have a form of their own. Those of ``buffers`` follow from the lanes."""
SIZES = {"budget": (1024, 2048, 4096), "multipliers": (4, 16, 32), "cluster.hwcs": (1, 2, 3),
         "cluster.tcdm": (2048, 4096, 8192, 16384), "cluster.dram.miss_cycles": (0, 7, 21),
         "cluster.dram.latency": (0, 5, 30), "cluster.dram.access_cycles": (0, 0, 9.5)}  # fmt: skip
"""Of the whole range, what makes small hardware and short runs."""
ALWAYS = {"name", "lanes"}


def drawn(rng: Random, key: Key) -> Any:
    """A value of a key that is no mapping of other keys; `KeyError` for a form that nothing is known of."""
    if key.name in SIZES:
        return rng.choice(SIZES[key.name])
    match key.domain:
        case Choice(values):
            return rng.choice(values)
        case Range(low, high, whole, powers):
            if powers:
                most = int(high or 0).bit_length()
                return rng.choice([1 << n for n in range(most) if low <= 1 << n] + [0] * (low == 0))
            return rng.randint(int(low), int(high or 0)) if whole else round(rng.uniform(low, min(high or 20, 20)), 3)
    return OWN[key.name](rng)


def random_hardware(rng: Random) -> Hardware:
    """Hardware that is legal when it is read: an HWC, or a cluster half of the time; most keys may be absent."""
    keys = list(hardware_keys())
    for _ in range(1000):
        data: dict[str, Any] = {"format": 1, "kind": "hardware"}
        mappings = {key.name for key in keys if any(one.name.startswith(f"{key.name}.") for one in keys)}
        absent: set[str] = set()
        for key in keys:
            above, _, name = key.name.rpartition(".")
            place = data
            for part in above.split(".") if above else ():
                place = place.get(part, {})
            required = key.otherwise == "required" or key.name in ALWAYS
            if above in absent or (not required and rng.random() < 0.5):
                absent.add(key.name)
            elif key.name in mappings:
                place[name] = {}
            elif key.name != "buffers":
                place[name] = drawn(rng, key)
        if rng.random() < 0.4:
            _with_buffers(rng, data)
        try:
            # What is written states its budget, which is checked then.
            return read_hardware_data(read_hardware_data(data, "drawn").as_data(), "drawn")
        except InputError:
            continue
    raise AssertionError("no legal hardware was drawn")


def _with_buffers(rng: Random, data: dict[str, Any]) -> None:
    """Memories that the lanes of the drawn hardware can have."""
    try:
        machine = Hardware.from_data(data)
    except InputError:
        return
    units = memory_units(machine.shape, machine.operand_bits, machine.ports)
    data["buffers"] = {
        array: unit * max(2, rng.choice((64, 256, 512)) // unit) for array, unit in zip(ARRAYS, units, strict=True)
    }
    data["budget"] = sum(data["buffers"].values())
