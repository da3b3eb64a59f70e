"""The search for nests of two levels: against all nests of small layers, the model, the placement, the lowering."""

from collections.abc import Iterator
from itertools import groupby, islice, permutations, product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.lower.cluster import compile_cluster
from hwgen.model.access import predict
from hwgen.model.dram import Dram, dram_counts
from hwgen.model.tcdm_placement import place
from hwgen.model.two_level import local_level, outer_level
from hwgen.search.outer import OuterSpace
from hwgen.search.two_level import search_two_levels, slicings
from tests.cases import random_layer

Item = Loop | Marker
TILED: tuple[Dim, ...] = ("m", "c", "y", "x")
LANES: dict[Dim, int] = {"x": 16}
ORDER = (Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "x", "l")


def small_layer(rng: Random, most_macs: int = 1500, *, op: str = "conv") -> Layer:
    """Strides within the kernel."""
    while True:
        layer = random_layer(rng, most_macs=most_macs, most_stride=2, most_kernel=3)
        if layer.op == op and all(s <= k for s, k in zip(layer.stride, layer.kernel, strict=True)):
            return layer


def cluster(tcdm: int, *, hwcs: int = 2, fixed: bool = True, budget: int = 512) -> Hardware:
    """HWCs of 16 lanes; memories smaller than a file may say."""
    return Hardware.model_construct(
        name="cluster", lanes=LANES, budget=budget, buffers=None, order=ORDER if fixed else None, operand_bits=8,
        cluster=Cluster.model_construct(hwcs=hwcs, tcdm=tcdm, banks=4, axi_bits=64),
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
                        nest += [Marker(arrays, "tcdm")] if arrays else []
                        nest.append(Loop(dim, step))
                    yield tuple(nest), dict(layer.extents) | dict(zip(order, steps, strict=True))


def every_inside(left: dict[Dim, int]) -> Iterator[tuple[Item, ...]]:
    """The loops of `ORDER`, which has one over each dimension: their steps are given."""
    for columns in range(1, left["x"] + 1):
        steps = dict.fromkeys(left, 1) | {"x": columns}
        yield tuple(item if isinstance(item, Marker) else Loop(item, steps[item]) for item in ORDER)  # type: ignore[index]


def brute_force(layer: Layer, hardware: Hardware) -> tuple[int, int] | None:
    """Fewest bytes of DRAM, then of TCDM, of all schedules that the lowering accepts."""
    assert hardware.cluster is not None
    moved = []
    for outer, left in every_outer(layer):
        probe = Schedule(layer=layer, nest=(*outer, *(Loop(dim, 1) for dim in layer.extents)))
        moved.append((predict(outer_level(probe)).total_bytes, outer, left))
    for bytes_moved, group in groupby(sorted(moved, key=lambda one: one[0]), key=lambda one: one[0]):
        found: dict[int, list[Schedule]] = {}
        for _, outer, left in group:
            for slices in slicings(left, hardware.cluster.hwcs):
                spread = tuple(Loop(dim, step, "hwc") for dim, step in slices.items())
                for inside in every_inside(left | slices):
                    schedule = Schedule(layer=layer, nest=(*outer, *spread, *inside), lanes=LANES)
                    if fits(schedule, hardware.cluster.tcdm):
                        found.setdefault(predict(local_level(schedule)).total_bytes, []).append(schedule)
        for tcdm_bytes in sorted(found):
            if any(runs(schedule, hardware) for schedule in found[tcdm_bytes]):
                return bytes_moved, tcdm_bytes
    return None


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
        name="small",
        op="depthwise_conv" if groups == inputs > 1 else "conv",
        input_channels=inputs,
        output_channels=outputs,
        input_height=(rows - 1) * stride[0] + kernel[0] - padding[0] - padding[2],
        input_width=(columns - 1) * stride[1] + kernel[1] - padding[1] - padding[3],
        output_height=rows,
        output_width=columns,
        kernel=kernel,
        stride=stride,
        padding=padding,
        groups=groups,
    )


STRIPES = conv((4, 1, 4, 1), (4, 10), (4, 1))  # 160 inputs and 160 weights


@pytest.mark.parametrize(
    ("layer", "tcdm", "expected"),
    [
        (STRIPES, 320, None),
        (STRIPES, 352, (336 + 3 * 160, 1296)),  # weights again for each of four stripes
        (STRIPES, 416, (336, 976)),
        (conv((4, 1, 4, 1), (4, 11), (4, 1), (2, 0, 1, 0)), 384, (764, 1292)),
        (conv((3, 3, 2, 1), (5, 5)), 384, (321, 597)),
        (conv((4, 4, 3, 1), (5, 8), groups=4), 384, (396, 684)),
    ],
)
def test_search_equals_brute_force(layer: Layer, tcdm: int, expected: tuple[int, int] | None) -> None:
    hardware = cluster(tcdm)
    assert brute_force(layer, hardware) == expected
    if expected is None:
        with pytest.raises(InputError, match=f"small: no schedule fits a TCDM of {tcdm} bytes with these HWCs"):
            search_two_levels(layer, hardware, looks=10**6, busy=0, attempts=10**6)
    else:
        found = search_two_levels(layer, hardware, looks=10**6, busy=0, attempts=10**6)
        assert found.complete
        assert (found.dram_bytes, found.tcdm_bytes) == expected
        assert found.need == place(found.schedule).size <= tcdm
        assert runs(found.schedule, hardware)


@pytest.mark.parametrize("seed", range(4))
def test_what_is_not_worth_while_moves_no_less(seed: int) -> None:
    """The steps that large layers leave out; the bytes of all loops found are those of the model."""
    rng = Random(seed)
    layer = small_layer(rng, 30_000, op="depthwise_conv" if seed == 3 else "conv")
    while layer.extents["m"] * layer.extents["y"] < 30:
        layer = small_layer(rng, 30_000, op=layer.op)
    whole = layer.input_elements + layer.weight_elements + layer.output_elements
    for size in (whole // 4, whole // 2, whole):
        every, few = OuterSpace(layer, Bits(), size), OuterSpace(layer, Bits(), size, most_steps=0)
        moved = every.least()
        assert moved == few.least()
        for _, steps, outers in islice(every.moving(moved), 3) if moved is not None else ():
            for outer in outers[:3]:
                nest = (*outer.items(), *(Loop(dim, 1) for dim in layer.extents))
                schedule = Schedule(layer=layer, nest=nest)
                assert predict(outer_level(schedule)).total_bytes == moved
                assert steps == {dim: step for dim, step in left_of(schedule).items() if dim in TILED}


def left_of(schedule: Schedule) -> dict[Dim, int]:
    return schedule.iteration_size(len(schedule.loops) - len(schedule.layer.extents))


def test_slicings() -> None:
    """Filters, both, rows: the same of 4 HWCs for each, as far as there is something to cut."""
    assert list(slicings({"m": 10, "c": 3, "y": 7, "x": 5}, 4)) == [{"y": 2}, {"m": 5, "y": 4}, {"m": 3}]
    assert list(slicings({"m": 10, "y": 1}, 4)) == [{"m": 3}]
    assert list(slicings({"m": 1, "y": 1}, 4)) == [{}]
    assert list(slicings({"m": 9, "y": 9}, 1)) == [{}]


def test_idle_hwcs_are_out() -> None:
    """7 rows or 24 filters on four HWCs: rows leave one of eight shares idle, whatever they save."""
    layer = conv((24, 2, 7, 13), (3, 3), padding=(1, 1, 1, 1))
    hardware = Hardware(name="cluster", order=ORDER, budget=4096, cluster=Cluster())
    by_bytes, busy = (search_two_levels(layer, hardware, looks=1, busy=share) for share in (0.0, 1.0))
    assert by_bytes.tcdm_bytes <= busy.tcdm_bytes
    assert (busy.dram_bytes, busy.utilisation) == (by_bytes.dram_bytes, pytest.approx(13 / 16))
    spread = [item for item in busy.schedule.nest if isinstance(item, Loop) and item.over]
    assert spread == [Loop("m", 6, "hwc")]


@pytest.mark.parametrize("seed", range(4))
def test_found_schedules_are_lowered(seed: int) -> None:
    """Ungrouped and depthwise, once with any order of the HWCs' loops; both levels as the model counts them."""
    rng = Random(seed)
    layer = small_layer(rng, 3000, op="depthwise_conv" if seed == 3 else "conv")
    hardware = cluster(2048, hwcs=4, fixed=seed > 0)
    found = search_two_levels(layer, hardware, looks=2)
    assert runs(found.schedule, hardware)
    assert found.dram_bytes == dram_counts(found.schedule, Dram(), 4).total_bytes("dram")
    assert found.tcdm_bytes == predict(local_level(found.schedule)).total_bytes
