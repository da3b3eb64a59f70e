"""Nests of two levels by brute force: all loops around a tile, all of the HWCs' loops of one order, small layers."""

from collections.abc import Iterator
from itertools import permutations, product
from random import Random

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Dram, EnergyCost, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.placement import place
from hwgen.search.cluster.spreading import spreads_of
from tests.random.nests import random_layer

__all__ = ["ORDER", "TILED", "cluster", "conv", "every_outer", "every_schedule", "runs", "small_layer"]

Item = Loop | Marker
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")
LANES = Lanes(x=16)
ORDER = (Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "x", "l")


def small_layer(rng: Random, most_macs: int = 1500, *, op: str = "conv") -> Layer:
    """Strides within the kernel."""
    while True:
        layer = random_layer(rng, most_macs=most_macs, most_stride=2, most_kernel=3)
        if layer.op == op and all(s <= k for s, k in zip(layer.stride, layer.kernel, strict=True)):
            return layer


def cluster(
    tcdm: int,
    *,
    hwcs: int = 2,
    fixed: bool = True,
    budget: int = 512,
    dram: Dram | None = None,
    energy: EnergyCost | None = None,
) -> Hardware:
    """HWCs of 16 lanes; memories smaller than a file may say."""
    return Hardware.model_construct(
        name="cluster", lanes=LANES, budget=budget, buffers=None, order=ORDER if fixed else None, operand_bits=8,
        cluster=Cluster.model_construct(hwcs=hwcs, tcdm=tcdm, banks=4, axi_bits=64, dram=dram, energy=energy),
    )  # fmt: skip


def every_outer(layer: Layer) -> Iterator[tuple[tuple[Item, ...], dict[Dim, int]]]:
    """All loops around a tile over what can be cut, with all marker places and steps; and what is left."""
    dims = [dim for dim in TILED if layer.extents[dim] > 1] or ["m"]
    for number in range(1, len(dims) + 1):
        for order in permutations(dims, number):
            for marked in product(range(number), repeat=3):
                if max(marked) < number - 1:
                    continue
                for steps in product(*(range(1, layer.extents[dim] + 1) for dim in order)):
                    nest: list[Item] = []
                    for at, (dim, step) in enumerate(zip(order, steps, strict=True)):
                        arrays = tuple(array for array, mark in zip(ARRAYS, marked, strict=True) if mark == at)
                        nest += [Marker(arrays, TCDM)] if arrays else []
                        nest.append(Loop(dim, step))
                    yield tuple(nest), dict(layer.extents) | dict(zip(order, steps, strict=True))


def every_inside(left: dict[Dim, int]) -> Iterator[tuple[Item, ...]]:
    """The loops of `ORDER`, which has one over each dimension: their steps are given."""
    for columns in range(1, left["x"] + 1):
        steps = dict.fromkeys(left, 1) | {"x": columns}
        yield tuple(item if isinstance(item, Marker) else Loop(item, steps[item]) for item in ORDER)  # type: ignore[index]


def every_schedule(
    layer: Layer, hardware: Hardware, outer: tuple[Item, ...], left: dict[Dim, int]
) -> Iterator[Schedule]:
    """All that fit the TCDM with these loops around a tile."""
    assert hardware.cluster is not None
    for slices in spreads_of(left, hardware.cluster.hwcs):
        spread = tuple(Loop(dim, step, "hwc") for dim, step in slices.items())
        for inside in every_inside(left | slices):
            schedule = Schedule(layer=layer, nest=(*outer, *spread, *inside), lanes=LANES)
            if fits(schedule, hardware.cluster.tcdm):
                yield schedule


def fits(schedule: Schedule, tcdm: int) -> bool:
    try:
        return place(schedule).size <= tcdm
    except InputError:
        return False


def runs(schedule: Schedule, hardware: Hardware) -> bool:
    try:
        compile_cluster(schedule, hardware)
    except InputError:
        return False
    return True


def conv(
    sizes: tuple[int, int, int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: tuple[int, int, int, int] = (0, 0, 0, 0),
    groups: int = 1,
) -> Layer:
    """Of m, c, y and x; m and c over all groups."""
    outputs, inputs, rows, columns = sizes
    return Layer(
        name="small", op="depthwise_conv" if groups == inputs > 1 else "conv", input_channels=inputs,
        output_channels=outputs, input_height=(rows - 1) * stride[0] + kernel[0] - padding[0] - padding[2],
        input_width=(columns - 1) * stride[1] + kernel[1] - padding[1] - padding[3], output_height=rows,
        output_width=columns, kernel=kernel, stride=stride, padding=padding, groups=groups,
    )  # fmt: skip
