"""A nest's traffic under premises that are not ours, one operand and memory at a time: what another model may count.

Each premise has the words that say what is then counted otherwise.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from hwgen.ir.layer import IMAGE, Layer
from hwgen.ir.schedule import ArrayName, Schedule
from hwgen.model.nest.ranges import Nest
from hwgen.model.nest.traffic import Held, crossing

__all__ = ["Premise", "padding_as_data", "premises"]

PADDING = "padding is counted as data"
WHOLE = "padding is counted as data, unless a tile spans the whole map"
HALO = "the halo is fetched again: nothing is kept from one tile to the next"
ZEROS = "zeros are read before the first sum of each output"
WIDE = "outputs are written as partial sums, {acc} bits each"
NARROW = "partial sums are counted as outputs, {O} bits each"
ONCE = "partial sums are counted where they are written, not where they are read back"
EACH = "every multiply-accumulate makes an access of its own: lanes share none"


@dataclass(frozen=True)
class Premise:
    """What is counted otherwise (nothing: as we count), and the bytes and elements that are moved then."""

    causes: tuple[str, ...]
    bytes: int
    elements: int


def padding_as_data(layer: Layer) -> Layer:
    """The layer whose padding is a part of its input."""
    top, left, bottom, right = layer.padding
    data = layer.model_dump(mode="json") | {
        "input_height": layer.input_height + top + bottom, "input_width": layer.input_width + left + right,
        "padding": [0, 0, 0, 0],
    }  # fmt: skip
    return Layer(**data).run_as(layer)


def premises(schedule: Schedule, operand: ArrayName, place: int | None) -> list[Premise]:
    """All of them, those of the fewest causes first, for an operand whose marker is above ``loops[place]``.

    None: what the datapath accesses.
    """
    found = list(_outputs(schedule, place) if operand == "O" else _inputs(schedule, operand, place))
    return sorted(found, key=lambda one: len(one.causes))


def _moved(schedule: Schedule, operand: ArrayName, place: int | None, *, kept: bool) -> dict[Any, Any]:
    return dict(crossing(Nest(schedule), operand, Held.above(schedule, place, halves=not kept)).accesses)


def _inputs(schedule: Schedule, operand: ArrayName, place: int | None) -> Iterator[Premise]:
    padded = schedule.model_copy(update={"layer": padding_as_data(schedule.layer)})
    layers = [((), schedule), ((PADDING,), padded)] if operand == "I" and any(schedule.layer.padding) else [
        ((), schedule)
    ]  # fmt: skip
    for causes, one in layers:
        for kept in (True, False) if place is not None else (True,):
            (access,) = _moved(one, operand, place, kept=kept).values()
            yield Premise((*causes, *(() if kept else (HALO,))), access.bytes, access.elements)
    if operand == "I" and place is not None and any(schedule.layer.padding):
        elements = _uniform_tiles(schedule, place)
        yield Premise((WHOLE, HALO), int(schedule.bits.bytes_of("I", elements)), elements)
    if place is None:
        macs = schedule.layer.macs
        yield Premise((EACH,), int(schedule.bits.bytes_of(operand, macs)), macs)


def _uniform_tiles(schedule: Schedule, place: int) -> int:
    """Inputs of all tiles, each as large as one without a border, and at most as large as the map."""
    layer, tile = schedule.layer, schedule.iteration_size(place + 1)
    left, tiles = dict(layer.loop_extents), 1
    for loop in schedule.loops[: place + 1]:
        tiles *= -(-left[loop.dim] // loop.step)
        left[loop.dim] = loop.step
    channels = tile["c"] * max(1, tile["m"] // layer.outputs_per_group if layer.groups > 1 else 1)
    sizes = [
        min(size, outputs * taps if taps <= stride else (outputs - 1) * stride + taps)
        for size, outputs, taps, stride in (
            (layer.input_height, tile["y"], tile["k"], layer.stride[0]),
            (layer.input_width, tile["x"], tile["l"] + layer.columns_beside, layer.stride[1]),
        )
    ]
    return tiles * tile.get(IMAGE, 1) * channels * sizes[0] * sizes[1]


def _outputs(schedule: Schedule, place: int | None) -> Iterator[Premise]:
    bits, outputs = schedule.bits, schedule.layer.output_elements
    named = {"acc": bits.acc, "O": bits.O}
    for kept in (True, False) if place is not None else (True,):
        moved = _moved(schedule, "O", place, kept=kept)
        elements = {way: access.elements for way, access in moved.items()}
        sums = [elements.get("write_partial", 0)]
        if place is None:
            sums.append(schedule.layer.macs - outputs)  # every multiply-accumulate for itself
        for at, partial in enumerate(sums):
            for zeros, wide, narrow, once in product((False, True), repeat=4):
                if not partial and (narrow or once):
                    continue
                width = bits.O if narrow else bits.acc
                written, read = partial, (0 if once else partial) + (outputs if zeros else 0)
                final = bits.acc if wide else bits.O
                causes = [
                    *([] if kept else [HALO]), *([EACH] if at else []), *([ZEROS] if zeros else []),
                    *([WIDE.format(**named)] if wide else []), *([NARROW.format(**named)] if narrow else []),
                    *([ONCE] if once else []),
                ]  # fmt: skip
                yield Premise(
                    tuple(causes), ((written + read) * width + outputs * final) // 8, written + read + outputs
                )
