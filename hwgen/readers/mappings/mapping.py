"""A mapping as another tool made it: loops, which memory holds what across them, and the bytes that it claims.

A memory holds, of an operand, what the loops inside it touch. As a nest the operand's marker stands above the
innermost loop outside of that memory that changes what is held: what one iteration of it touches is the same tile.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hwgen.ir.document import InputError
from hwgen.ir.layer import DIMS, IMAGE, LOOP_DIMS, OUTPUT_DIMS, WEIGHT_DIMS, Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Schedule

__all__ = ["Claims", "ForeignLoop", "ForeignMapping", "Memory", "hierarchy_of", "layer_from", "schedule_of"]

Claims = Mapping[str, Mapping[str, float]]
"""Bytes by the level that serves them, and operand."""
OUTERMOST = "dram"
UNKNOWN_BYTES = 1 << 40
"""The size of a memory, and of each further in half of it, where the file does not say it."""


@dataclass(frozen=True)
class ForeignLoop:
    """One loop of a mapping: its dimension, as hwgen names it, and how much of it one iteration covers."""

    dim: str
    step: int


@dataclass(frozen=True)
class Memory:
    """A memory: its name, its bytes (None where the file does not say them), and the operands that it holds."""

    name: str
    bytes: int | None
    operands: frozenset[ArrayName]


@dataclass(frozen=True)
class ForeignMapping:
    """What a file of another tool says.

    Members
    -------
    tool : its name.
    name : of the layer.
    extents : of each loop dimension, ``m`` and ``c`` of all groups and of one; empty where only the layer says them.
    loops : in time, outermost first.
    lanes : iterations of each dimension in one cycle.
    memories : from the outermost, which holds everything, inward.
    depths : for each memory and operand that it holds, how many of the loops are outside of it.
    groups, stride : of the layer; None where the file does not say them.
    layer : the layer, where the file has all of it.
    bits : widths of elements.
    claimed : bytes that the tool claims, by level and operand.
    claimed_total : of I, W and O at the outermost memory.
    words : bits of an access of a level, where claims are whole words.
    notes : what was taken in some way that the file does not say.
    """

    tool: str
    name: str
    loops: tuple[ForeignLoop, ...]
    memories: tuple[Memory, ...]
    depths: Mapping[tuple[str, ArrayName], int]
    extents: Mapping[str, int] = field(default_factory=dict)
    lanes: Mapping[str, int] = field(default_factory=dict)
    groups: int = 1
    stride: tuple[int, int] | None = None
    layer: Layer | None = None
    bits: Bits = Bits()  # noqa: RUF009 - a frozen value
    claimed: Claims = field(default_factory=dict)
    claimed_total: int | None = None
    words: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def steps_of(factors: Sequence[tuple[str, int]], lanes: Mapping[str, int]) -> tuple[ForeignLoop, ...]:
    """Loops, outermost first, from their numbers of iterations; those of one iteration are left out."""
    step: dict[str, int] = {dim: lanes.get(dim, 1) for dim in LOOP_DIMS}
    found = []
    for dim, factor in reversed(factors):
        if factor > 1:
            found.append(ForeignLoop(dim, step[dim]))
            step[dim] *= factor
    return tuple(reversed(found))


def extents_of(factors: Iterable[tuple[str, int]], lanes: Mapping[str, int]) -> dict[str, int]:
    """How much of each dimension loops and lanes cover together."""
    found: dict[str, int] = {dim: lanes.get(dim, 1) for dim in LOOP_DIMS}
    for dim, factor in factors:
        found[dim] *= factor
    return found


def depth_of(factors: Sequence[tuple[str, int]], outside: int) -> int:
    """How many loops of more than one iteration are among the first ones."""
    return sum(factor > 1 for _, factor in factors[:outside])


def layer_from(mapping: ForeignMapping, given: Layer | None, where: str) -> Layer:
    """The layer of a mapping: the one that is given, which has to have its extents, or the one in the file.

    Without either it is made of the extents, with an input that is as large as the kernel needs, without padding.
    """
    layer = given or mapping.layer
    if layer is None:
        if not mapping.extents:
            raise InputError(f"{where}: a mapping of {mapping.tool} without its layer: expected --layer SET:NAME")
        size = mapping.extents
        stride = mapping.stride or (1, 1)
        layer = Layer(
            name=mapping.name,
            input_channels=size["c"] * mapping.groups,
            output_channels=size["m"],
            input_height=(size["y"] - 1) * stride[0] + size["k"],
            input_width=(size["x"] - 1) * stride[1] + size["l"],
            kernel=[size["k"], size["l"]],
            stride=stride,
            groups=mapping.groups,
            batch=size[IMAGE],
            op="depthwise_conv" if mapping.groups > 1 and size["c"] == 1 else "conv",
        )
    for dim, size_of in layer.loop_extents.items():
        if mapping.extents and mapping.extents[dim] != size_of:
            raise InputError(
                f"{where}: {dim}: expected loops over {size_of}, which layer {layer.name} has, "
                f"got {mapping.extents[dim]}"
            )
    if mapping.stride is not None and tuple(layer.stride) != mapping.stride:
        raise InputError(f"{where}: stride: expected {list(layer.stride)} of layer {layer.name}, "
                         f"got {list(mapping.stride)}")  # fmt: skip
    return layer


def relevant(layer: Layer, operand: ArrayName) -> frozenset[str]:
    """The dimensions along which other elements of an operand are touched."""
    match operand:
        case "I":
            return frozenset(LOOP_DIMS) - (set() if layer.groups > 1 else {"m"})
        case "W":
            return frozenset(WEIGHT_DIMS)
    return frozenset({IMAGE, *OUTPUT_DIMS})


def hierarchy_of(mapping: ForeignMapping, where: str) -> Hierarchy:
    """The memories as a hierarchy; memories of equal size that hold other operands are one level of it."""
    levels: list[dict[str, Any]] = [{"name": mapping.memories[0].name}]
    unknown = UNKNOWN_BYTES
    for one in mapping.memories[1:]:
        unknown //= 2
        levels.append({"name": one.name, "bytes": one.bytes or unknown})
    data = {"format": 1, "kind": "hierarchy", "name": plain(f"{mapping.tool}_{mapping.name}"), "levels": levels}
    return Hierarchy.from_data(data, where)


def plain(name: str) -> str:
    """A name that is safe as a part of file names."""
    return re.sub(r"[^A-Za-z0-9_.+-]+", "_", name).strip("_.+-") or "mapping"


def schedule_of(mapping: ForeignMapping, layer: Layer, where: str, *, local: bool = False) -> Schedule:
    """The mapping as a nest with markers; ``local`` : of a single level, whose markers then name none."""
    loops = list(mapping.loops)
    places: dict[tuple[str, ArrayName], int] = {}
    for (level, operand), depth in mapping.depths.items():
        touching = [at for at in range(depth) if loops[at].dim in relevant(layer, operand)]
        places[level, operand] = touching[-1] if touching else (0 if depth else -1)
    if -1 in places.values():  # all of an operand is held: across a loop of one iteration around everything
        loops.insert(0, ForeignLoop("m", layer.loop_extents["m"]))
        places = {key: place + 1 for key, place in places.items()}
    inner = [one.name for one in mapping.memories[1:]]
    nest: list[dict[str, Any]] = []
    left = dict(layer.loop_extents)
    for at, loop in enumerate(loops):
        for level in inner:
            held = [operand for operand in ARRAYS if places.get((level, operand)) == at]
            if held:
                nest.append({"buffer": held if local else {level: held}})
        nest.append({loop.dim: loop.step})
        left[loop.dim] = loop.step  # type: ignore[index]
    nest += [{dim: mapping.lanes.get(dim, 1)} for dim in (IMAGE, *DIMS) if left[dim] > mapping.lanes.get(dim, 1)]
    data = {
        "format": 1,
        "kind": "schedule",
        "layer": layer.model_dump(mode="json"),
        "bits": mapping.bits.model_dump(),
        "nest": nest,
        "lanes": {dim: lanes for dim, lanes in mapping.lanes.items() if lanes > 1},
    }
    return Schedule.from_data(data, where)
