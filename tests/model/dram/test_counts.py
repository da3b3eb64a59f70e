"""The DRAM's figures: by hand, and against the oracle that looks at every byte."""

import numpy as np
import pytest

from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Access
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.levels import normalised
from hwgen.model.cluster.parts import loads, stores
from hwgen.model.cluster.tile_order import TileWalk
from hwgen.model.dram import counts as dram_module
from hwgen.model.dram.counts import dram_counts, dram_layout, program_access, runs_of
from tests.oracles.dram_walk import walk_dram
from tests.oracles.nest_walk import walk_cluster
from tests.random.cluster_nests import cluster_cases

LINE = Layer(name="line", input_channels=1, output_channels=1, input_height=1, input_width=8, kernel=(1, 3))
IN_TCDM = Marker(ARRAYS, TCDM)
EVERYTHING = ("elements", "bytes", "beats", "axi_bursts", "blocks", "jumps", "row_misses")
DRAMS = [
    DramPort(axi_bits, Dram(row_bytes=row_bytes, banks=banks))
    for axi_bits in (32, 64, 128)
    for row_bytes, banks in ((128, 2), (256, 1), (2048, 8))
]


def moved(elements: int, size: int, *rest: int) -> Access:
    beats, bursts, blocks, jumps, misses = rest
    return Access(elements, size, beats=beats, axi_bursts=bursts, blocks=blocks, jumps=jumps, row_misses=misses)


def test_tiles_of_a_line_by_hand() -> None:
    schedule = Schedule(layer=LINE, nest=(IN_TCDM, Loop("x", 2), Marker(("O",)), Loop("l", 1), Loop("x", 1)))
    found = dram_counts(schedule, DramPort())
    layout = dram_layout(schedule)
    assert [layout.weights.base, layout.bias.base, layout.output.base] == [4096, 8192, 12288]
    assert (layout.partial.size, layout.program) == (0, 16384)
    # Loads: W; columns 0 to 3; the bias; columns 4 and 5; 6 and 7, which begin where the last run ended.
    assert found["dram", "W", "read"] == moved(3, 3, 1, 1, 1, 1, 1)
    assert found["dram", "I", "read"] == moved(8, 8, 3, 3, 3, 2, 1)
    assert found["dram", "B", "read"] == moved(1, 4, 1, 1, 1, 1, 1)
    assert found["dram", "O", "write"] == moved(6, 6, 3, 3, 3, 1, 1)


def test_runs_merge_across_rows_and_channels_and_bursts_end_at_windows() -> None:
    layer = Layer(name="planes", input_channels=4, output_channels=1, input_height=30, input_width=30, kernel=1)
    nest = (IN_TCDM, Loop("c", 2), Marker(ARRAYS), Loop("c", 1), Loop("y", 1), Loop("x", 1))
    found = dram_counts(Schedule(layer=layer, nest=nest), DramPort())
    # 1800 bytes from 0 on, then 1800 from 1800 on: with bursts of 2 KiB the second run is cut at 2048.
    assert found["dram", "I", "read"] == moved(3600, 3600, 225 + 225, 1 + 2, 15 + 15, 2, 2)
    narrow = dram_counts(Schedule(layer=layer, nest=nest), DramPort(32))
    assert narrow["dram", "I", "read"].axi_bursts == 2 + 3  # at 1024; 2048 and 3072
    rows = (IN_TCDM, Loop("y", 15), Marker(ARRAYS), Loop("c", 1), Loop("y", 1), Loop("x", 1))
    found = dram_counts(Schedule(layer=layer, nest=rows), DramPort())
    assert found["dram", "I", "read"].axi_bursts == 8 + 1  # a run a channel and tile; that from 1800 on is cut
    assert found["dram", "I", "read"].jumps == 8


def test_tiles_of_packed_weights_are_runs() -> None:
    """Two tiles of two of four channels: of eight filters in turn, or packed one after the other."""
    layer = Layer(name="packed", input_channels=4, output_channels=8, input_height=1, input_width=4, kernel=1)
    schedule = Schedule(
        layer=layer, nest=(IN_TCDM, Loop("c", 2), Marker(ARRAYS), Loop("x", 1), Loop("m", 1), Loop("c", 1))
    )
    dense, packed = (
        dram_counts(schedule, DramPort(), layout=dram_layout(schedule, ordered=ordered)) for ordered in (False, True)
    )
    # Each run of two bytes is a jump but the first of the second tile, which has the inputs before it.
    assert dense["dram", "W", "read"] == moved(32, 32, 16, 16, 16, 16, 1)
    assert packed["dram", "W", "read"] == moved(32, 32, 4, 2, 2, 2, 1)
    assert dense["dram", "I", "read"] == packed["dram", "I", "read"]


def test_gaps_of_more_than_an_eighth_keep_weights_dense() -> None:
    """Lines of four filters and four channels: nine filters leave a quarter of them empty, and 31 a thirty-second."""
    lanes = Lanes(m=4, c=4)
    for filters, ordered in ((9, False), (31, True)):
        layer = Layer(**{**LINE.model_dump(), "input_channels": 4, "output_channels": filters})
        nest = (IN_TCDM, Loop("m", filters), Marker(ARRAYS), Loop("l", 1), Loop("c", 4), Loop("m", 4))
        schedule = Schedule(layer=layer, nest=(*nest, Loop("x", 1)), lanes=lanes)
        layout = dram_layout(schedule, ordered=True)
        assert layout.ordered == ordered
        lines = -(-filters // 4) * 4 if ordered else filters
        assert layout.weights.size == 3 * 4 * lines


def test_the_program_is_fetched_block_by_block() -> None:
    schedule = Schedule(layer=LINE, nest=(IN_TCDM, Loop("x", 2), Marker(("O",)), Loop("l", 1), Loop("x", 1)))
    layout = dram_layout(schedule)
    assert program_access(layout, DramPort(), 260) == moved(65, 260, 33, 3, 3, 1, 1)
    assert program_access(layout, DramPort(), 2052).row_misses == 2


@pytest.mark.parametrize(
    ("seed", "chunk", "images"), [(0, dram_module.CHUNK, False), (1, 3, False), (2, dram_module.CHUNK, True)]
)
def test_equal_to_the_oracle(seed: int, chunk: int, images: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dram_module, "CHUNK", chunk)
    spilled, most_macs = 0, 300 if images else 1000
    for number, (schedule, hwcs) in enumerate(cluster_cases(71 + seed, 45, most_macs=most_macs, images=images)):
        dram = DRAMS[number % len(DRAMS)]
        walked, found = walk_dram(schedule, dram, hwcs), dram_counts(schedule, dram, hwcs)
        assert not walked.differences(found, EVERYTHING), (schedule.as_data(), hwcs, dram)
        assert not walk_cluster(schedule, hwcs).dram.differences(found, ("elements", "bytes")), schedule.as_data()
        spilled += found["dram", "O", "read_partial"].bytes > 0
    assert spilled > 10


def test_parts_come_in_the_order_of_their_tiles() -> None:
    for schedule, hwcs in cluster_cases(5, 40):
        nest = normalised(schedule, hwcs)
        layout, last = dram_layout(nest), len(TileWalk(nest).tiles) - 1
        loaded, stored = list(loads(nest)), list(stores(nest))
        order = [(part.tile, "WIBO".index(part.operand)) for part in loaded]
        assert order == sorted(set(order))
        assert [part.tile for part in stored] == sorted(part.tile for part in stored)
        assert loaded[0].tile == 0
        assert stored[-1].tile == last
        for part in loaded + stored:
            start, stop = runs_of(nest, layout, part)
            assert (start < stop).all()
            assert (start[1:] > stop[:-1]).all()
            assert np.prod([sum(b - a for a, b in spans) for spans in part.axes]) > 0
