"""Mappings on a multicore with bursts: the paper's examples, small layers by hand and tile by tile, all mappings."""

from itertools import product
from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.papers.sousa.model import (
    FLOWS,
    SLICINGS,
    Flow,
    Mapping,
    Npu,
    Reading,
    Slicing,
    burst_count,
    filters_a_core,
    input_tile,
    slices,
    spend,
)
from hwgen.papers.sousa.search import Mapped, search_mappings
from tests.random.nests import random_layer

NPU = Npu()
LINE = Layer(name="line", input_channels=2, output_channels=8, input_height=8, input_width=100, kernel=3, padding=1)


def test_fig_1() -> None:
    """Slices of 128 x 32 B, 128 x 64 B and 64 x 128 B of a map of 128 x 128 elements."""
    assert 8 * burst_count((1, 128, 16), 128, 128, NPU) == 1024
    assert 4 * burst_count((1, 128, 32), 128, 128, NPU) == 512
    assert 4 * burst_count((1, 64, 64), 128, 128, NPU) == 256


def test_fifth_layer_of_inception_v3() -> None:
    """Section VI: tiles of 14 x 4 x 73 (rows as wide as the map) and of 16 x 11 x 20."""
    assert burst_count((14, 4, 73), 73, 73, NPU) == 70
    assert burst_count((16, 11, 20), 73, 73, NPU) == 176


def test_slices_of_algorithm_2() -> None:
    assert [slices(one, LINE, NPU) for one in SLICINGS] == [(8, 2), (4, 4), (2, 8)]


def test_output_stationary_by_hand() -> None:
    """Two clusters' rows and two clusters' filters; tiles of 2 x 50 outputs, one channel, four filters (one a core).

    A slice of four rows has input rows 4 and 5 (clipped on one side), a column half 51 columns. Each tile of each
    cluster loads 1 x (3 or 4) x 51 elements and 4 x 9 weights for each of two channels.
    """
    mapping = Mapping("KS&OFM", "OS", 2, 50, 1)
    assert filters_a_core(LINE, mapping, NPU) == 1
    found = spend(LINE, mapping, NPU)
    rows = (3 + 4) + (4 + 3)
    tiles = 2 * 2 * 2
    assert found.load_bytes == 2 * (2 * (2 * rows * 102) + 2 * tiles * 2 * 4 * 9)
    assert found.load_bursts == 2 * (2 * rows * 2 * 1) + 2 * tiles * 2 * 4
    assert (found.store_bytes, found.store_bursts) == (2 * 8 * 8 * 100, 8 * 8 * 2)
    assert found.cycles == 2 * 2 * 2 * -(-2 * 50 * 9 // 8)
    time = found.load_bytes + found.store_bytes
    assert found.time(NPU) == pytest.approx(
        time * 14 / 128 + 14 * (found.load_bursts + found.store_bursts) + found.cycles * 4 / 3
    )
    assert found.volume_time(NPU) == pytest.approx(time * 14 / 128 + found.cycles * 4 / 3)


def test_weight_stationary_by_hand() -> None:
    """Rows as wide as the map are one run: 4 rows of 200 bytes are 7 bursts. The filters of a cluster come once."""
    found = spend(LINE, Mapping("KS", "WS", 4, 100, 2), NPU)
    assert found.load_bytes == 2 * (4 * 2 * (5 + 5) * 100 + 8 * 18)
    assert found.load_bursts == 4 * (2 * 8 * 2 + 1)
    assert (found.store_bytes, found.store_bursts) == (2 * 8 * 8 * 100, 8 * 2 * 7)


def test_published_reading_by_hand() -> None:
    """Whole tiles with whole halos: six rows of input for four, although two of them are padding at the edges."""
    found = spend(LINE, Mapping("OFM", "IS", 2, 60, 1), NPU, "published")
    assert found.load_bytes == 2 * 4 * 2 * 2 * (4 * 62 + 8 * 9)
    assert found.load_bursts == 4 * 2 * 2 * (4 * 1 + 8 * 1)
    assert (found.store_bytes, found.store_bursts) == (2 * 4 * 2 * 8 * 2 * 60, 4 * 2 * 8 * 2)


def every_mapping(layer: Layer, slicing: Slicing, flow: Flow, npu: Npu) -> list[Mapping]:
    rows, _ = slices(slicing, layer, npu)
    sizes = product(
        range(1, rows + 1), range(1, layer.output_width + 1), range(1, layer.channels_per_group + 1)
    )  # fmt: skip
    mappings = (Mapping(slicing, flow, *size) for size in sizes)
    return [mapping for mapping in mappings if filters_a_core(layer, mapping, npu)]


def brute_force(layer: Layer, slicing: Slicing, flow: Flow, npu: Npu, reading: Reading) -> list[Mapped] | None:
    """The fastest with bursts; without: the fullest of the fastest, the first, the fastest with bursts."""
    every = [
        Mapped(mapping, spend(layer, mapping, npu, reading)) for mapping in every_mapping(layer, slicing, flow, npu)
    ]
    if not every:
        return None

    def inputs(one: Mapped) -> int:
        rows, columns = input_tile(layer, one.mapping)
        return one.mapping.channels * rows * columns

    without = min(one.spent.volume_time(npu) for one in every)
    ties = [one for one in every if one.spent.volume_time(npu) == without]
    return [
        min(every, key=lambda one: (one.spent.time(npu), -inputs(one))),
        max(ties, key=inputs),
        ties[0],
        min(ties, key=lambda one: one.spent.time(npu)),
    ]


@pytest.mark.parametrize("reading", ["exact", "published"])
@pytest.mark.parametrize("seed", range(16))
def test_search_is_over_all_mappings(seed: int, reading: Reading) -> None:
    rng = Random(seed)
    wanted = "depthwise_conv" if seed % 4 == 3 else "conv"
    layer = random_layer(rng, most_macs=6000)
    while layer.op != wanted or layer.groups not in (1, layer.output_channels) or layer.macs < 100:
        layer = random_layer(rng, most_macs=6000)
    memory = rng.choice((16, 64, 256))
    npu = Npu(cores=rng.choice((1, 2, 3)), memory=memory, burst=rng.choice((4, 16)), burst_time=rng.choice((1, 16)))
    compare(layer, npu, reading)


@pytest.mark.parametrize("memory", [64, 128])
def test_depthwise_inputs_fill_the_memory(memory: int) -> None:
    """As many input channels as filters: in memories this small they are what decides how many."""
    layer = Layer(
        name="depth", op="depthwise_conv", input_channels=12, output_channels=12, input_height=5, input_width=6,
        kernel=3, padding=1, groups=12,
    )  # fmt: skip
    npu = Npu(cores=1, memory=memory, burst=16)
    assert filters_a_core(layer, Mapping("OFM", "OS", 1, 2, 1), npu) == memory // 2 // 12
    compare(layer, npu, "exact")


def compare(layer: Layer, npu: Npu, reading: Reading) -> None:
    """The search against all mappings, tile by tile."""
    found = search_mappings(layer, npu, reading)
    assert list(found) == [(slicing, flow) for slicing in SLICINGS for flow in FLOWS]
    for (slicing, flow), choice in found.items():
        expected = brute_force(layer, slicing, flow, npu, reading)
        assert (choice is None) == (expected is None)
        if choice is not None:
            assert list(choice) == expected


def test_both_objectives_on_a_wide_layer() -> None:
    """With bursts, wide tiles; without, the first of the tiles that move least."""
    choices = [one for one in search_mappings(LINE, NPU).values() if one is not None]
    assert len(choices) == 9
    for choice in choices:
        burst, volume, first, kindest = (one.spent.time(NPU) for one in choice)
        assert burst <= kindest <= min(volume, first)
        assert choice.volume.spent.volume_time(NPU) <= choice.burst.spent.volume_time(NPU)


def test_groups_are_refused() -> None:
    grouped = LINE.model_copy(update={"groups": 2})
    with pytest.raises(InputError, match="line: groups: expected 1, or as many as input and output channels"):
        search_mappings(grouped, NPU)
