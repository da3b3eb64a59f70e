"""A schedule: the loop nest of one layer, with buffer markers between the loops and what the lanes cover.

The semantics follow Stoutchinin et al. 2019 (Fig. 8: a marker above a loop), made exact; `tests.oracles.nest_walk`
executes them literally.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from hwgen.ir.document import Value, check_header, dump_yaml, load_yaml, validated, write_atomically, written
from hwgen.ir.lanes import NARROW_PORTS, ONE_LANE, WIDE, Lanes, LanesField, PortsField
from hwgen.ir.layer import DIMS, IMAGE, LOOP_DIMS, TAPS, Dim, Form, Layer
from hwgen.ir.level import LEVELS, LOCAL, TCDM, Level, level_named
from hwgen.ir.requantisation import RequantisationForm

__all__ = ["MOST_BIAS_WORDS", "Bits", "Loop", "Marker", "Schedule", "load_schedule", "save_schedule"]

ArrayName = Literal["I", "W", "O"]
ARRAYS: tuple[ArrayName, ...] = ("I", "W", "O")
FORM_KEYS = tuple(Form.__dataclass_fields__)
"""Keys of a file that say in which form its layer is run."""
MOST_BIAS_WORDS = 1024
"""Words of an HWC's bias store, at most."""


@dataclass(frozen=True, slots=True)
class Loop:
    """One loop: each iteration covers ``step`` of ``dim``; the last iteration covers what is left.

    ``over="hwc"`` spreads the iterations over the HWCs of a cluster, iteration i on HWC i mod N.
    """

    dim: Dim
    step: int
    over: Literal["hwc"] | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    """The arrays that are held at ``level`` across the loop that follows.

    ``double="halves"`` (in the TCDM only, Cecconi et al. 2017): nothing is kept from one iteration to the next, and
    each has a half of its own.
    """

    arrays: tuple[ArrayName, ...]
    level: Level = LOCAL
    double: Literal["halves"] | None = None


class Bits(Value):
    """Width of an element of each operand, and of the accumulator, in bits (multiples of 8)."""

    called = "schedule's bits"

    I: int = Field(default=8, ge=8, le=64, multiple_of=8)  # noqa: E741 - the operand's name
    W: int = Field(default=8, ge=8, le=64, multiple_of=8)
    O: int = Field(default=8, ge=8, le=64, multiple_of=8)  # noqa: E741
    acc: int = Field(default=32, ge=8, le=64, multiple_of=8)

    def bytes_of(self, operand: Literal["I", "W", "O", "acc"], elements: Any) -> Any:
        """Bytes of elements that are next to each other: a number, or an array of numbers."""
        return -(-elements * getattr(self, operand) // 8)


class Schedule(Value):
    """The nest of one layer, outermost first. Every check that the format makes is made here.

    ``bias_words`` is how many biases the HWC keeps: see `hwgen.model.nest.biases`. ``ports`` are the widths of the
    HWC's accesses, by which `words` are counted. ``requantisation`` is what the HWC does: where it scales sums, each
    bias brings its channel's multiplier and shift along. ``lane_registers``: its lanes have registers, so that what
    they access in the local memories is counted: see `hwgen.model.nest.lane_accesses`.
    """

    called = "schedule"

    layer: Layer
    """The layer that is run: `Layer.of_network` is the one that a file names."""
    bits: Bits = Bits()
    nest: tuple[Loop | Marker, ...]
    lanes: LanesField = ONE_LANE
    bias_words: int = Field(default=0, ge=0, le=MOST_BIAS_WORDS)
    ports: PortsField = NARROW_PORTS
    requantisation: RequantisationForm = "shift"
    lane_registers: bool = False

    @model_validator(mode="before")
    @classmethod
    def _in_form(cls, data: Any) -> Any:
        """The layer of a file in the form in which it is run."""
        keys = [] if not isinstance(data, Mapping) else [key for key in FORM_KEYS if key in data]
        if not keys:
            return data
        left = {key: value for key, value in data.items() if key not in keys}
        form = parse_form({key: data[key] for key in keys})
        try:
            layer = Layer.model_validate(data.get("layer"))
        except ValidationError:
            return left  # the field's own message
        return left | {"layer": layer.in_form(form)}

    @field_validator("nest", mode="before")
    @classmethod
    def _parse_nest(cls, nest: Any) -> Any:
        if not isinstance(nest, list | tuple):
            raise ValueError(f"expected a list of loops and markers, got {written(nest)}")
        items: list[Loop | Marker] = []
        for index, item in enumerate(nest):
            items += (item,) if isinstance(item, Loop | Marker) else parse_item(item, index)
        return tuple(items)

    @field_validator("lanes", mode="wrap")
    @classmethod
    def _parse_lanes(cls, lanes: Any, parsed: Callable[[Any], Lanes], info: ValidationInfo) -> Lanes:
        """The lanes as the file states them. With operands of 16 bits, one lane along c is what is left of two."""
        found, bits = parsed(lanes), info.data.get("bits")
        told = isinstance(lanes, Mapping) and lanes.get("c") == 1
        return found.with_one_along_c() if told and bits is not None and bits.W == WIDE else found

    @model_validator(mode="after")
    def _well_formed(self) -> Self:
        left: dict[Dim, int] = dict(self.layer.loop_extents)
        for loop in self.loops:
            if not 1 <= loop.step <= left[loop.dim]:
                raise ValueError(f"nest: {loop.dim}: {loop.step}: expected a step from 1 to {left[loop.dim]}")
            left[loop.dim] = loop.step
        for dim, rest in left.items():
            most = self.lanes.along(dim)
            if rest > most:
                raise ValueError(
                    f"nest: {dim}: the innermost step leaves {rest}, the lanes do {most}: end with {{{dim}: {most}}}"
                )
        check_markers(self.nest, "nest")
        if self.layer.requantisation is not None:
            self.layer.requantisation.check(self.bits.O)
        return self

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops alone, outermost first."""
        return tuple([item for item in self.nest if isinstance(item, Loop)])

    def marked_loop(self, array: ArrayName, level: Level = LOCAL) -> int | None:
        """Index into `loops` of the loop that the array's marker stands above; None without a marker."""
        found = self._marker(array, level)
        return None if found is None else found[0]

    def in_halves(self, array: ArrayName) -> bool:
        """Whether the array has two halves in the TCDM, instead of a ring."""
        found = self._marker(array, TCDM)
        return found is not None and found[1].double == "halves"

    def _marker(self, array: ArrayName, level: Level) -> tuple[int, Marker] | None:
        index = 0
        for item in self.nest:
            if isinstance(item, Loop):
                index += 1
            elif item.level == level and array in item.arrays:
                return index, item
        return None

    def iteration_size(self, below: int) -> dict[Dim, int]:
        """The most of each dimension that one iteration of ``loops[below - 1]`` covers (0: the whole layer)."""
        size: dict[Dim, int] = dict(self.layer.loop_extents)
        for loop in self.loops[:below]:
            size[loop.dim] = loop.step
        return size

    def of_layer(self, layer: Layer) -> "Schedule":
        """The same schedule of a layer of the same shape, which is run in the same form."""
        return self.model_copy(update={"layer": layer.in_form(self.layer.form)})

    def as_data(self) -> dict[str, Any]:
        """Plain data in the file format."""
        return {
            "format": 1,
            "kind": "schedule",
            "layer": self.layer.of_network.model_dump(mode="json"),
            **self.layer.form.as_data(),
            "bits": self.bits.model_dump(),
            "nest": [item_data(item) for item in self.nest],
            "lanes": self.lanes.as_data(),
            **({"bias_words": self.bias_words} if self.bias_words else {}),
            **({} if self.ports.narrow else {"ports": self.ports.as_data()}),
            **({} if self.requantisation == "shift" else {"requantisation": self.requantisation}),
            **({"lane_registers": True} if self.lane_registers else {}),
        }

    @classmethod
    def from_data(cls, data: object, where: str = "schedule") -> "Schedule":
        """Validate plain data; raises `InputError` with one line."""
        return validated(cls, check_header(data, ("schedule",), where, cls.called), where)


def parse_form(data: Mapping[str, Any]) -> Form:
    """The form of a layer from the keys of a file; raises ValueError."""
    at_once = data.get("groups_at_once", 1)
    if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:
        raise ValueError(f"groups_at_once: expected at least 1, got {written(at_once)}")
    taps = data.get("taps_as_channels")
    if taps is not None and taps not in TAPS:
        raise ValueError(f"taps_as_channels: expected one of {', '.join(TAPS)}, got {written(taps)}")
    window = data.get("column_window", False)
    if not isinstance(window, bool):
        raise ValueError(f"column_window: expected true or false, got {written(window)}")
    return Form(at_once, taps, window)


def check_markers(items: Sequence[object], where: str) -> None:
    """Raise ValueError unless each array is marked at most once a level, and a loop follows the last marker."""
    seen: set[tuple[str, Level]] = set()
    for marker in items:
        if isinstance(marker, Marker):
            for array in marker.arrays:
                if (array, marker.level) in seen:
                    raise ValueError(f"{where}: buffer: {array} is marked twice at level {marker.level}")
                seen.add((array, marker.level))
    if not items or isinstance(items[-1], Marker):
        raise ValueError(f"{where}: expected a loop below the last marker (a loop of one iteration will do)")


def parse_item(item: Any, index: int) -> tuple[Loop | Marker, ...]:
    """One item of a nest from plain data, a marker for each level that it names; raises ValueError."""
    if not isinstance(item, Mapping) or len(item) != 1:
        raise ValueError(f"item {index}: expected one loop ('m: 4') or one marker ('buffer: I'), got {written(item)}")
    ((key, value),) = item.items()
    if key == "buffer":
        return _parse_markers(value, index)
    if key not in LOOP_DIMS:
        raise ValueError(f"item {index}: expected one of {' '.join((*DIMS, IMAGE))} or buffer, got {written(key)}")
    over = None
    if isinstance(value, Mapping):
        unknown = set(value) - {"step", "over"}
        if unknown or "step" not in value:
            raise ValueError(f"item {index}: {key}: expected step and, where it spreads, over: hwc")
        over, value = value.get("over"), value["step"]
        if over not in (None, "hwc"):
            raise ValueError(f"item {index}: {key}: over: expected hwc, got {written(over)}")
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"item {index}: {key}: expected a step of at least 1, got {written(value)}")
    return (Loop(key, value, over),)


def _parse_markers(value: Any, index: int) -> tuple[Marker, ...]:
    if not isinstance(value, Mapping):
        return (Marker(_parse_arrays(value, index)),)
    double = None
    if "double" in value:
        double = value["double"]
        prefetched = [level.name for level in LEVELS.values() if level.prefetched]
        if double != "halves" or len(value) != 2 or not any(name in value for name in prefetched):
            raise ValueError(
                f"item {index}: buffer: double: expected halves, and the level {' or '.join(prefetched)}"
            )
    levels = {key: arrays for key, arrays in value.items() if key != "double"}
    for name in levels:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}", name):
            raise ValueError(f"item {index}: buffer: expected the name of a level, got {written(name)}")
    if not levels:
        raise ValueError(f"item {index}: buffer: expected a level, got {written(value)}")
    return tuple(Marker(_parse_arrays(arrays, index), level_named(name), double) for name, arrays in levels.items())


def _parse_arrays(value: Any, index: int) -> tuple[ArrayName, ...]:
    arrays = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list | tuple) else ()
    if not arrays or any(array not in ARRAYS for array in arrays):
        raise ValueError(f"item {index}: buffer: expected I, W, O or a list of them, got {written(value)}")
    return arrays


def item_data(item: Loop | Marker) -> dict[str, Any]:
    """One item of a file for a loop or a marker; `parse_item` reads it."""
    if isinstance(item, Loop):
        return {item.dim: {"step": item.step, "over": item.over} if item.over else item.step}
    arrays: Any = item.arrays[0] if len(item.arrays) == 1 else list(item.arrays)
    if item.level == LOCAL:
        return {"buffer": arrays}
    return {"buffer": {item.level.name: arrays, **({"double": item.double} if item.double else {})}}


def load_schedule(path: Path) -> Schedule:
    """Read one schedule file."""
    return Schedule.from_data(load_yaml(path), str(path))


def save_schedule(schedule: Schedule, path: Path, remarks: Iterable[str] = ()) -> bool:
    """Write one schedule file atomically, remarks first as comments; False if it was already there and equal."""
    comments = "".join(f"# {line}\n" for line in remarks)
    return write_atomically(path, comments + dump_yaml(schedule.as_data()))
