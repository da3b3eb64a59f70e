"""The lower bounds: by hand, their inequality over all sets of MACs of tiny layers, against schedules and optima."""

from collections.abc import Iterator
from itertools import product
from math import prod, sqrt
from random import Random

import numpy as np
import pytest

from hwgen.ir.counts import Access
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import LOOP_DIMS, Layer
from hwgen.ir.schedule import ARRAYS, Bits
from hwgen.model.cluster.levels import normalised
from hwgen.model.nest.bounds import bounds, communication_bound, compulsory, work_of
from hwgen.model.nest.one_level import predict
from hwgen.model.nest.ranges import Tile, whole
from hwgen.search.core.optimal import search
from tests.oracles.levels_apart import outer_level
from tests.oracles.nest_walk import touched_of, walk
from tests.random.cluster_nests import cluster_cases
from tests.random.nests import cases, random_bits, random_layer

CONV = Layer(
    name="conv", input_channels=64, output_channels=128, input_height=56, input_width=56, kernel=3, stride=2,
    padding=1,
)  # fmt: skip


def test_compulsory_is_everything_once() -> None:
    counts = compulsory(CONV)
    assert counts["tcdm", "I", "read"].bytes == 64 * 56 * 56
    assert counts["tcdm", "W", "read"].bytes == 128 * 64 * 9
    assert counts["tcdm", "O", "write"].bytes == 128 * 28 * 28
    assert counts["tcdm", "O", "write_partial"] == counts["tcdm", "O", "read_partial"] == Access()
    assert counts.total_bytes() == 64 * 56 * 56 + 128 * 64 * 9 + 128 * 28 * 28


def test_compulsory_leaves_out_what_nothing_needs() -> None:
    layer = Layer(
        name="sparse", input_channels=1, output_channels=1, input_height=7, input_width=7, kernel=(2, 1),
        stride=(2, 3),
    )  # fmt: skip
    assert compulsory(layer)["tcdm", "I", "read"].elements == 6 * 3  # rows 0..5, columns 0 3 6


# --- the communication bound by hand ---


def matrix_product(rows: int, columns: int, sums: int) -> Layer:
    """A 1x1 convolution."""
    return Layer(
        name="product", input_channels=sums, output_channels=columns, input_height=1, input_width=rows, kernel=1
    )


def test_a_matrix_product_by_hand() -> None:
    """Prices 1, 1, 4: a phase of S ** 1.5 / 2 MACs touches 3 S, so that each but the first brings 2 S in."""
    layer, size = matrix_product(1024, 1024, 4096), 4096
    phases = 1024 * 1024 * 4096 / (size**1.5 / 2)
    by_hand = 3 * size + (phases - 1) * 2 * size + (1 - 4) * 1024 * 1024
    assert int(by_hand) - 1 <= communication_bound(layer, size) <= 1.02 * by_hand
    wide = Bits(I=16, W=16, O=16, acc=64)  # all widths and the buffer twice as large
    assert communication_bound(layer, 2 * size, wide) == pytest.approx(2 * communication_bound(layer, size), abs=3)


@pytest.mark.parametrize(
    ("kernel", "stride", "reuse"), [((4, 4), (2, 2), 4), ((3, 3), (1, 1), 9), ((1, 1), (2, 2), 1)]
)
def test_a_kernel_divides_by_the_root_of_its_reuse(
    kernel: tuple[int, int], stride: tuple[int, int], reuse: int
) -> None:
    layer = Layer(
        name="deep", input_channels=4096, output_channels=512, input_height=64 * stride[0] + kernel[0] - stride[0],
        input_width=64 * stride[1] + kernel[1] - stride[1], kernel=kernel, stride=stride,
    )  # fmt: skip
    limit = 4 * layer.macs / sqrt(reuse * 1024)
    assert 0.97 * limit <= communication_bound(layer, 1024) <= limit


def test_the_larger_one_counts() -> None:
    small, large = bounds(CONV, 1024), bounds(CONV, 1 << 22)
    assert small.largest == small.communication > small.compulsory
    assert large.largest == large.compulsory >= large.communication
    assert large.ratio(2 * large.compulsory) == 2


def test_an_empty_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="buffer_bytes: expected at least 1, got 0"):
        communication_bound(CONV, 0)


def test_a_layer_that_meets_only_padding() -> None:
    layer = Layer(
        name="padded", input_channels=1, output_channels=1, input_height=1, input_width=1, kernel=1, stride=(2, 1),
        padding=(1, 0, 0, 0),
    )  # fmt: skip
    assert work_of(layer).weight == communication_bound(layer, 6) == 0
    assert bounds(layer, 6).largest == 1 + 1  # a weight and an output


# --- its inequality, by plain enumeration ---


def macs_of(layer: Layer) -> Iterator[Tile]:
    """Each multiply-accumulate that meets no padding, as a tile."""
    for place in product(*whole(layer).values()):
        tile: Tile = {dim: range(at, at + 1) for dim, at in zip(LOOP_DIMS, place, strict=True)}
        if touched_of(layer, "I", tile):
            yield tile


def weight_of(layer: Layer, mac: Tile) -> float:
    """``1 / sqrt(r)``, with the taps that differ by multiples of the strides counted one by one."""
    return prod(
        sum((tap - mac[dim].start) % stride == 0 for tap in range(kernel)) ** -0.5
        for dim, kernel, stride in zip(("k", "l"), layer.kernel, layer.stride, strict=True)  # type: ignore[arg-type]
    )


def test_every_set_of_macs_meets_the_inequality_and_the_limits() -> None:
    """All 2 ** n sets of the n MACs of tiny layers: weight <= sqrt(inputs x weights x outputs), and by element."""
    rng, tight, kinds = Random(11), 0, set()
    while len(kinds) < 16:
        layer = random_layer(rng, most_macs=40, most_stride=3, most_kernel=4)
        layer = layer.of_images(2) if len(kinds) >= 12 else layer
        macs = list(macs_of(layer))
        work = work_of(layer)
        assert work.weight == pytest.approx(sum(weight_of(layer, mac) for mac in macs))
        kind = (layer.groups > 1, layer.stride != (1, 1), sum(layer.padding) > 0, max(layer.kernel) > 1, layer.batch)
        if not 6 <= len(macs) <= 14 or kind in kinds:
            continue
        kinds.add(kind)
        chosen = (np.arange(1 << len(macs))[:, None] >> np.arange(len(macs)) & 1).astype(bool)
        weight = chosen @ np.array([weight_of(layer, mac) for mac in macs])
        touched = []
        elements = [tuple(touched_of(layer, array, mac) for array in ARRAYS) for mac in macs]
        for number in range(3):
            names = [next(iter(of_mac[number])) for of_mac in elements]
            using = np.array([[name == other for other in names] for name in dict.fromkeys(names)])
            touched.append((chosen @ using.T.astype(int) > 0).sum(axis=1))
            assert (weight <= work.most[number] * touched[-1] + 1e-9).all(), layer
            assert touched[-1].max() <= work.elements[number]
        limit = np.sqrt(touched[0] * touched[1] * touched[2])
        assert (weight <= limit + 1e-9).all(), layer
        tight += int((weight[1:] >= limit[1:] - 1e-9).sum())
    assert tight > 100


# --- against schedules ---


def test_no_schedule_moves_less() -> None:
    """Any nest, lanes and widths, in buffers of just what it needs; the needs are those of the literal walk."""
    above = 0
    for number, schedule in enumerate(cases(5, 500)):
        found = predict(schedule)
        least = compulsory(schedule.layer, schedule.bits)
        for key, access in least.accesses.items():
            assert found.counts[key].bytes >= access.bytes, schedule.as_data()
        assert found.allocated_bytes >= found.need_bytes.total
        if number % 10 == 0:
            assert walk(schedule).need.in_bytes(schedule.bits) == found.need_bytes
        limit = bounds(schedule.layer, found.need_bytes.total, schedule.bits)
        assert limit.largest <= found.total_bytes, schedule.as_data()
        above += limit.communication > limit.compulsory
    assert above > 10


def test_no_schedule_of_a_batch_moves_less() -> None:
    """Nests with loops over images anywhere; and the weight of a batch is that of each of its images."""
    above = 0
    for schedule, hwcs in cluster_cases(17, 150, images=True):
        flat = outer_level(normalised(schedule, hwcs))
        found, layer, one = predict(flat), flat.layer, flat.layer.of_images(1)
        limit = bounds(layer, found.need_bytes.total, flat.bits)
        assert limit.largest <= found.total_bytes, flat.as_data()
        above += limit.communication > limit.compulsory
        assert work_of(layer).weight == pytest.approx(layer.batch * work_of(one).weight)
        assert work_of(layer).elements[0] == layer.batch * work_of(one).elements[0]
    assert above > 3


SHAPES = (Lanes(x=2), Lanes(m=4), Lanes(m=2, y=2), Lanes(y=2, x=2))
PARTS, NIGHTLY_PARTS = 1, 100
DRAWN = [*range(PARTS), *(pytest.param(part, marks=pytest.mark.nightly) for part in range(PARTS, NIGHTLY_PARTS))]
LAYERS = 50
"""Layers of each part: 50 in every run of the tests, 5000 nightly."""


def layer_with_channels(rng: Random) -> Layer:
    """Small maps and up to 20 channels: layers whose communication bound is above the compulsory traffic."""
    kernel = (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 3, 4)))
    stride = (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2)))
    outputs = (rng.randint(1, 6), rng.randint(1, 6))
    groups = rng.choice((1, 1, 1, 2))
    padding = tuple(rng.randint(0, kernel[side % 2] // 2) for side in range(4))
    inputs = [
        max(1, (outputs[n] - 1) * stride[n] + kernel[n] - padding[n] - padding[n + 2] + rng.randint(0, stride[n] - 1))
        for n in range(2)
    ]
    return Layer(
        name="random", input_channels=groups * rng.randint(1, 20 // groups),
        output_channels=groups * rng.randint(1, 20 // groups), input_height=inputs[0], input_width=inputs[1],
        kernel=kernel, stride=stride, padding=padding, groups=groups,
    )  # fmt: skip


@pytest.mark.parametrize("part", DRAWN)
def test_the_bound_is_at_most_the_optimum(part: int) -> None:
    """Tight buffers to large ones; pure model, lanes, operands of 16 bits and of any width."""
    rng, above, ratios = Random(7000 + part), 0, []
    for number in range(LAYERS):
        layer = random_layer(rng) if number % 4 == 0 else layer_with_channels(rng)
        bits = (Bits(), Bits(), Bits(I=16, W=16, O=16), random_bits(rng))[number % 4]
        hardware = Hardware(name="small", lanes=rng.choice(SHAPES)) if number % 5 == 0 and bits == Bits() else None
        once = compulsory(layer, bits).total_bytes()
        sizes = sorted({*(int(once * share) for share in (0.02, 0.05, 0.15)), 16})
        try:
            found = search(layer, sizes, hardware, bits=bits)
        except InputError as error:  # the smallest is too small: with what would do
            least = int(str(error).rsplit(" ", 1)[1])
            found = search(layer, [max(size, least) for size in sizes], hardware, bits=bits)
        for one in found:
            limit = bounds(layer, one.buffer_bytes, bits)
            assert limit.largest <= one.total_bytes, (layer, one.buffer_bytes, bits)
            assert one.schedule.bits == bits
            above += limit.communication > limit.compulsory
            ratios.append(limit.ratio(one.total_bytes))
    assert above > LAYERS
    assert min(ratios) < 1.001
