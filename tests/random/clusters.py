"""Random small layers with schedules of clusters that a cluster of given HWCs can run."""

import zlib
from functools import partial
from random import Random

import numpy as np

from cosim.hwc.layer_data import randomly_requantised
from hwgen.ir.hardware import Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Bits, Loop, Marker, Schedule
from hwgen.lower.cluster.program import compile_cluster
from tests.random.cluster_nests import with_images
from tests.random.layers import if_it_runs, in_random_form, in_window, random_depthwise, random_layer
from tests.random.nests import with_biases

__all__ = ["SLICINGS", "cluster_schedules"]

SLICINGS: tuple[tuple[Dim, ...], ...] = ((), ("y",), ("m",), ("m", "y"), ("y", "m"))
"""Loops that are spread over HWCs: none, output rows (OFM), filters (KS), both."""


def cluster_schedules(
    hardware: Hardware, rng: Random, count: int, *, most_macs: int = 20000, forms: bool = True, images: bool = False
) -> list[Schedule]:
    """So many random schedules that the cluster runs, each requantised at random; every slicing in turn.

    ``forms`` : some of them are of layers in another form. ``images`` : all are of batches.
    """
    found: list[Schedule] = []
    for _ in range(1000 * count):
        slicing = SLICINGS[len(found) % len(SLICINGS)]
        draw = partial(_that_runs, hardware, slicing)
        if hardware.column_window and rng.random() < 0.7:
            schedule = in_window(rng, random_depthwise(rng, f"random_{len(found)}", most_macs), hardware, draw)
        else:
            schedule = draw(rng, random_layer(rng, f"random_{len(found)}", most_macs))
            schedule = in_random_form(schedule, draw) if schedule and forms else schedule
        if schedule is not None and images:
            schedule = if_it_runs(with_images(rng, schedule), lambda found: compile_cluster(found, hardware))
        if schedule is not None:
            rng_of_its_own = np.random.default_rng([zlib.crc32(hardware.name.encode()), len(found)])
            found.append(randomly_requantised(schedule, rng_of_its_own))
            if len(found) == count:
                return found
    raise AssertionError(f"{hardware.name}: only {len(found)} of {count} schedules can be run")


def _scheduled(rng: Random, layer: Layer, hardware: Hardware, slicing: tuple[Dim, ...]) -> Schedule | None:
    """Loops around the tiles, spread ones, and below them the order of the HWC with random steps."""
    left: dict[Dim, int] = dict(layer.extents)
    bits = rng.choice((8, 16)) if hardware.operand_bits == 16 else 8
    dims: tuple[Dim, ...] = ("m", "c", "y", "x", "k", "l", "m", "c", "y", "x")
    outer = [rng.choice(dims) for _ in range(rng.randint(2, 4))]
    places: dict[ArrayName, int] = {array: rng.randrange(len(outer)) for array in ARRAYS}
    nest: list[Loop | Marker] = []
    for index, dim in enumerate(outer):
        nest += [Marker((array,), TCDM) for array in ARRAYS if places[array] == index]
        left[dim] = _step(rng, left[dim])
        nest.append(Loop(dim, left[dim]))
    for dim in slicing:
        left[dim] = min(left[dim], rng.choice((1, 2, -(-left[dim] // 4), -(-left[dim] // 2))))
        nest.append(Loop(dim, left[dim], "hwc"))
    order, lanes = hardware.order or (), hardware.shape if bits == 8 else hardware.shape.halved()
    last = {item: index for index, item in enumerate(order) if not isinstance(item, Marker)}
    for index, item in enumerate(order):
        if isinstance(item, Marker):
            nest.append(item)
            continue
        most = lanes.along(item)
        if index < last[item]:
            left[item] = rng.choice((left[item], _step(rng, left[item])))
        else:
            left[item] = min(left[item], rng.choice((most, most, rng.randint(1, most))))
        nest.append(Loop(item, left[item]))
    if any(rest > lanes.along(dim) for dim, rest in left.items()):
        return None
    widths = Bits(I=bits, W=bits, O=bits)
    schedule = Schedule(
        layer=layer,
        bits=widths,
        nest=tuple(nest),
        lanes=lanes,
        ports=hardware.ports,
        requantisation=hardware.requantisation,
        lane_registers=hardware.lane_registers,
    )
    return with_biases(schedule, hardware.bias_words)


def _step(rng: Random, extent: int) -> int:
    """Mostly a few pieces of unequal size."""
    return rng.choice((extent, rng.randint(1, extent), -(-extent // 2), -(-extent // 3)))


def _that_runs(hardware: Hardware, slicing: tuple[Dim, ...], rng: Random, layer: Layer) -> Schedule | None:
    return if_it_runs(_scheduled(rng, layer, hardware, slicing), lambda found: compile_cluster(found, hardware))
