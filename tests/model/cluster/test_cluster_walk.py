"""The oracle for two memory levels, against cases worked out by hand and the oracle for one level."""

from dataclasses import replace

import pytest

from hwgen.ir.counts import Access, Counts
from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule
from hwgen.model.cluster.levels import normalised, over_loops
from hwgen.model.nest.one_level import PerOperand
from tests.oracles.levels_apart import local_level, outer_level
from tests.oracles.nest_walk import walk, walk_cluster
from tests.random.cluster_nests import cluster_cases

LINE = Layer(name="line", input_channels=1, output_channels=1, input_height=1, input_width=8, kernel=(1, 3))
SQUARE = Layer(name="square", input_channels=2, output_channels=4, input_height=6, input_width=4, kernel=(3, 1))
IN_TCDM = Marker(ARRAYS, TCDM)
INSIDE = (Marker(ARRAYS), Loop("c", 1), Loop("x", 1), Loop("k", 1), Loop("m", 1))


def schedule(layer: Layer, *nest: Loop | Marker) -> Schedule:
    return Schedule(layer=layer, nest=nest)


def test_columns_that_slide_and_weights_that_stay() -> None:
    found = walk_cluster(schedule(LINE, IN_TCDM, Loop("x", 2), Marker(("I",)), Loop("x", 1), Loop("l", 1)))
    # tiles touch columns 0 to 3, 2 to 5, 4 to 7
    assert found.dram["dram", "I", "read"] == Access(8, 8)
    assert found.dram["dram", "W", "read"] == Access(3, 3)
    assert found.dram["dram", "O", "write"] == Access(6, 6)
    assert found.dram["dram", "B", "read"] == Access(1, 4)
    assert found.dma["tcdm_dma", "I", "read"] == Access(8, 8, 1 + 1 + 1)  # columns 0 to 3, 4 and 5, 6 and 7
    assert found.dma["tcdm_dma", "B", "read"] == Access(1, 4, 1)
    assert found.tcdm_need == PerOperand(I=6, W=3, O=4)
    assert found.tcdm_need_bytes == PerOperand(I=6, W=3, O=4 * 4)  # O has no local buffer: partial sums leave
    assert found.local_need == PerOperand(I=3, W=1, O=1)
    # In each tile 3 columns, then the one after them: 0 to 2, 3; 2 to 4, 5; 4 to 6, 7.
    assert found.tcdm["tcdm", "I", "read"] == Access(12, 12, 1 + 1 + 2 + 1 + 1 + 1)


def test_halves_keep_nothing() -> None:
    halves = replace(IN_TCDM, double="halves")
    found = walk_cluster(schedule(LINE, halves, Loop("x", 2), Marker(("I",)), Loop("x", 1), Loop("l", 1)))
    assert found.dram["dram", "I", "read"] == Access(12, 12)
    assert found.dram["dram", "W", "read"] == Access(9, 9)
    assert found.tcdm_need == PerOperand(I=8, W=6, O=4)


def test_partial_sums_that_leave_the_tcdm() -> None:
    nest = (Loop("c", 1), IN_TCDM, Loop("m", 2), *INSIDE[:1], Loop("y", 1), *INSIDE[2:])
    found = walk_cluster(schedule(SQUARE, *nest))
    assert found.dram["dram", "O", "write_partial"] == Access(64, 256)
    assert found.dram["dram", "O", "read_partial"] == Access(64, 256)
    assert found.dram["dram", "O", "write"] == Access(64, 64)
    assert found.tcdm_need_bytes.O == 2 * 32 * 4


def test_slices_over_two_hwcs_by_filters() -> None:
    nest = (IN_TCDM, Loop("y", 2), Loop("m", 1, "hwc"), *INSIDE[:1], Loop("y", 1), *INSIDE[1:])
    one, two = (walk_cluster(schedule(SQUARE, *nest), hwcs) for hwcs in (1, 2))
    assert two.dram == one.dram
    assert two.tcdm == one.hwcs[0]
    for counts in two.hwcs:
        assert counts["tcdm", "O", "write"] == Access(32, 32, 8)
        assert counts["tcdm", "I", "read"].words * 2 == one.tcdm["tcdm", "I", "read"].words
    # Both HWCs read the same rows of I as often; no weight is read by both.
    assert two.replicated == PerOperand(I=two.hwcs[0]["tcdm", "I", "read"].words, W=0, O=0)


def test_slices_over_rows_share_the_rows_between_them() -> None:
    nest = (IN_TCDM, Loop("m", 4), Loop("y", 2, "hwc"), *INSIDE[:1], Loop("c", 2), Loop("y", 1), *INSIDE[1:])
    found = walk_cluster(schedule(SQUARE, *nest), 2)
    # Held across a loop of one iteration: rows 0 to 3 on one HWC, 2 to 5 on the other, of 2 channels, a word each.
    assert [counts["tcdm", "I", "read"].words for counts in found.hwcs] == [8, 8]
    assert found.replicated.I == 2 * 2
    assert found.hwcs[0]["tcdm", "W", "read"].words == found.replicated.W == 24 // 4


def test_slices_over_filters_and_rows() -> None:
    nest = (IN_TCDM, Loop("c", 2), Loop("m", 2, "hwc"), Loop("y", 3, "hwc"), *INSIDE[:1], Loop("y", 1), *INSIDE[1:])
    found = walk_cluster(schedule(SQUARE, *nest), 3)
    # Slices (m, y): 0 0, 0 1, 1 0, 1 1 on HWCs 0, 1, 2, 0; rows of 3 and 1.
    assert [counts["tcdm", "O", "write"].elements for counts in found.hwcs] == [2 * 4 * (3 + 1), 2 * 4, 2 * 4 * 3]


def test_iterations_at_the_same_time_are_one_in_the_tcdm() -> None:
    nest = (Loop("c", 2), *INSIDE[:1], Loop("y", 1), *INSIDE[1:])
    spread = schedule(SQUARE, IN_TCDM, Loop("m", 1, "hwc"), *nest)
    grouped = schedule(SQUARE, IN_TCDM, Loop("m", 2), Loop("m", 1, "hwc"), *nest)
    assert normalised(spread, 2) == grouped
    assert walk_cluster(spread, 2) == walk_cluster(grouped, 2)
    assert walk_cluster(spread, 2).tcdm_need.W == 4 * 6
    assert walk_cluster(spread, 4).tcdm_need.W == 4 * 6
    assert walk_cluster(spread, 1).tcdm_need.W == 2 * 6


def test_a_tile_of_weights_that_serves_four_images() -> None:
    """A fully connected layer of 8 inputs and 6 outputs: W once where images are inside of its tiles, else often."""
    layer = Layer(
        name="fc", op="fc", input_channels=8, output_channels=6, input_height=1, input_width=1, kernel=1, batch=4
    )
    images, outputs, inside = Loop("n", 1), Loop("m", 3), (Marker(ARRAYS), Loop("c", 1), Loop("m", 1))
    inner = walk_cluster(schedule(layer, Marker(("W",), TCDM), outputs, Marker(("I", "O"), TCDM), images, *inside))
    assert inner.dram["dram", "W", "read"] == Access(48, 48)
    assert inner.dram["dram", "I", "read"] == Access(2 * 32, 2 * 32)  # of all images for each of two tiles
    assert inner.dram["dram", "O", "write"] == Access(24, 24)
    assert inner.tcdm_need == PerOperand(I=2 * 8, W=2 * 24, O=2 * 3)  # of two images, of two tiles of W
    assert inner.tcdm["tcdm", "W", "read"].bytes == 4 * 48  # an HWC runs one image at a time
    outer = walk_cluster(schedule(layer, images, IN_TCDM, outputs, *inside))
    assert outer.dram["dram", "W", "read"] == Access(4 * 48, 4 * 48)
    assert outer.dram["dram", "I", "read"] == Access(32, 32)
    # The inputs of all images are there from the beginning.
    held = walk_cluster(schedule(layer, Marker(("I", "W"), TCDM), outputs, Marker(("O",), TCDM), images, *inside))
    assert (held.dram["dram", "I", "read"], held.dram["dram", "W", "read"]) == (Access(32, 32), Access(48, 48))
    assert held.tcdm_need == PerOperand(I=32, W=2 * 24, O=2 * 3)


def without_bias(counts: Counts) -> Counts:
    return Counts({key: access for key, access in counts.accesses.items() if key[1] != "B"})


def test_both_levels_are_nests_of_one_level() -> None:
    """What all HWCs fetch together does not depend on tiles and slices, nor the DMA on what is inside of them."""
    spread = 0
    for nest, hwcs in cluster_cases(41, 70):
        found, flat = walk_cluster(nest, hwcs), normalised(nest, hwcs)
        local, outer = walk(local_level(flat)), walk(outer_level(flat))
        assert not without_bias(found.tcdm).differences(without_bias(local.counts), ("elements", "bytes", "words")), (
            nest.as_data()
        )
        # Biases are kept within the share of one HWC at most.
        kept, fetched = local.counts["tcdm", "B", "read"].elements, found.tcdm["tcdm", "B", "read"].elements
        assert fetched == kept if nest.bias_words == 0 else fetched >= kept
        assert found.local_need == local.need
        moved = Counts({("dram", *key[1:]): access for key, access in without_bias(outer.counts).accesses.items()})
        assert not without_bias(found.dram).differences(moved, ("elements", "bytes")), nest.as_data()
        spread += bool(over_loops(nest)) and hwcs > 1 and found.replicated.total > 0
    assert spread > 12


@pytest.mark.parametrize(
    ("nest", "message"),
    [
        ((Marker(("I", "W"), TCDM), Loop("x", 1), Loop("l", 1)), "tcdm: expected a marker for O"),
        (
            (Marker(("I",)), Loop("x", 2), IN_TCDM, Loop("x", 1), Loop("l", 1)),
            "I: expected the tcdm marker at or outside the local one",
        ),
        ((Marker(("I",)), IN_TCDM, Loop("x", 1), Loop("l", 1)), "I: expected the tcdm marker at or outside"),
        (
            (IN_TCDM, Loop("x", 1, "hwc"), Loop("l", 1)),
            "over: expected at most one loop over m and one over y, got x",
        ),
        (
            (IN_TCDM, Loop("m", 1), Loop("y", 1, "hwc"), Loop("y", 1, "hwc"), Loop("x", 1), Loop("l", 1)),
            "over: expected at most one loop over m and one over y, got y y",
        ),
        (
            (Marker(("I", "W"), TCDM), Loop("m", 1, "hwc"), Marker(("O",), TCDM), Loop("x", 1), Loop("l", 1)),
            "over: expected spread loops below all tcdm markers, O's is inside",
        ),
        (
            (IN_TCDM, Loop("x", 1), Marker(("W",)), Loop("m", 1, "hwc"), Loop("l", 1)),
            "over: expected spread loops above all local markers, W's is outside",
        ),
        (
            (IN_TCDM, Loop("m", 1, "hwc"), Loop("y", 1, "hwc"), Loop("x", 1), Loop("l", 1)),
            "over: of two spread loops, expected both below the loops that have tcdm markers",
        ),
        (
            (IN_TCDM, Loop("y", 1, "hwc"), Loop("n", 1), Loop("x", 1), Loop("l", 1)),
            "n: expected the loops over images outside of the spread ones: a wave of slices is of one image",
        ),
        (
            (IN_TCDM, Loop("x", 2), Marker(("W",)), Loop("n", 1), Loop("x", 1), Loop("l", 1)),
            "n: expected the loops over images above all local markers, W's is outside: HWCs run one image at a time",
        ),
    ],
)
def test_refused(nest: tuple[Loop | Marker, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        walk_cluster(schedule(LINE, *nest), 2)
    assert message in str(caught.value)
