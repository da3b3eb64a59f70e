"""The closed form for two levels and several HWCs against the literal oracle, on random nests."""

import time
from random import Random

import pytest

from hwgen.ir.counts import Counts
from hwgen.ir.lanes import LANE_DIMS, OUTPUT_LANE_DIMS, PORT_WIDTHS, Lanes, Ports
from hwgen.ir.layer import IMAGE, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, ArrayName, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import dram_bytes, predict_cluster
from hwgen.model.cluster.levels import is_for_cluster, normalised, over_loops, run_depth, tile_depth
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.readers.layer_sets import load_layer_set
from tests.oracles.levels_apart import outer_level
from tests.oracles.nest_walk import walk_cluster
from tests.random.cluster_nests import cluster_cases

EVERYTHING = ("elements", "bytes", "words")
IN_TCDM = Marker(ARRAYS, TCDM)


def differences(schedule: Schedule, hwcs: int, *, multicast: bool) -> list[object]:
    """Everything in which closed form and oracle differ; empty if nothing."""
    walked = walk_cluster(schedule, hwcs, multicast=multicast)
    found = predict_cluster(schedule, hwcs, multicast=multicast)
    different: list[object] = [
        *walked.dram.differences(found.counts.at("dram"), ("elements", "bytes")),
        *walked.tcdm.differences(found.counts.at("tcdm"), EVERYTHING),
        *walked.dma.differences(without_weights(found.counts.at("tcdm_dma")), EVERYTHING),
    ]
    for one, other in zip(walked.hwcs, found.hwcs, strict=True):
        different += one.differences(other, EVERYTHING)
    pairs = [
        (walked.tcdm_need, found.tcdm_need),
        (walked.tcdm_need_bytes, found.tcdm_need_bytes),
        (walked.local_need, found.local.need),
        (walked.replicated, found.replicated),
        (walked.dram.total_bytes("dram"), dram_bytes(schedule, hwcs)),
    ]
    return different + [pair for pair in pairs if pair[0] != pair[1]]


def without_weights(counts: Counts) -> Counts:
    return Counts({key: access for key, access in counts.accesses.items() if key[1] != "W"})


@pytest.mark.parametrize("chunk", range(4))
def test_closed_form_equals_oracle(chunk: int) -> None:
    widths = Random(chunk)
    dims = LANE_DIMS if chunk == 3 else OUTPUT_LANE_DIMS
    for number, (schedule, hwcs) in enumerate(cluster_cases(301 + chunk, 75, most_macs=500, lane_dims=dims)):
        if number % 3:
            wide = Ports(*(widths.choice(PORT_WIDTHS) for _ in range(3)))
            schedule = schedule.model_copy(update={"ports": wide})
        if number % 5 == 0:
            schedule = schedule.model_copy(update={"requantisation": "scaled"})
        assert differences(schedule, hwcs, multicast=number % 2 == 0) == [], (schedule.as_data(), hwcs)


@pytest.mark.parametrize("chunk", range(2))
def test_batches_equal_the_oracle(chunk: int) -> None:
    """Loops over images anywhere outside of what an HWC runs: where they stand decides what serves several images."""
    seen, dims = dict.fromkeys(OF_IMAGES, 0), (OUTPUT_LANE_DIMS, LANE_DIMS)[chunk]
    for number, (schedule, hwcs) in enumerate(
        cluster_cases(501 + chunk, 90, most_macs=300, lane_dims=dims, images=True)
    ):
        assert differences(schedule, hwcs, multicast=number % 2 == 0) == [], (schedule.as_data(), hwcs)
        for corner, holds in (CORNERS | OF_IMAGES).items():
            seen[corner] = seen.get(corner, 0) + holds(schedule, hwcs)
    assert min(seen.values()) >= 2, seen
    assert min(seen[corner] for corner in OF_IMAGES) >= 4, seen


def test_the_random_cases_reach_every_corner() -> None:
    seen = dict.fromkeys(CORNERS, 0)
    for schedule, hwcs in cluster_cases(301, 400, most_macs=500):
        assert is_for_cluster(schedule)
        for corner, holds in CORNERS.items():
            seen[corner] += holds(schedule, hwcs)
    assert min(seen.values()) >= 9, seen


def images_of(schedule: Schedule, array: ArrayName) -> int:
    """Images of which the TCDM holds an operand at a time."""
    marked = schedule.marked_loop(array, TCDM)
    assert marked is not None
    return schedule.iteration_size(marked + 1)[IMAGE]


OF_IMAGES = {
    "a tile of W serves several images": lambda s, n: any(
        loop.dim == IMAGE for loop in s.loops[s.marked_loop("W", TCDM) :]
    ),
    "I of several images": lambda s, n: images_of(s, "I") > 1,
    "O of several images": lambda s, n: images_of(s, "O") > 1,
    "images one after the other in a tile": lambda s, n: run_depth(s) > tile_depth(s) and s.loops[-1].dim != IMAGE,
    "two loops over images": lambda s, n: sum(loop.dim == IMAGE for loop in s.loops) > 1,
    "images outside of all": lambda s, n: s.loops[0].dim == IMAGE,
    "partial sums of several images": lambda s, n: (
        images_of(s, "O") > 1
        and predict(outer_level(normalised(s, n))).counts["tcdm", "O", "write_partial"].bytes > 0
    ),
}


def _dims(schedule: Schedule) -> set[str]:
    return {schedule.loops[index].dim for index in over_loops(schedule)}


CORNERS = {
    "over m": lambda s, n: _dims(s) == {"m"} and n > 1,
    "over y": lambda s, n: _dims(s) == {"y"} and n > 1,
    "over both": lambda s, n: _dims(s) == {"m", "y"} and n > 1,
    "over y outside m": lambda s, n: _dims(s) == {"m", "y"} and s.loops[over_loops(s)[0]].dim == "y",
    "a marked loop is spread": lambda s, n: bool(over_loops(s)) and over_loops(s)[0] < tile_depth(s),
    "a loop between tile and slice": lambda s, n: bool(over_loops(s)) and over_loops(s)[0] > tile_depth(s),
    "groups": lambda s, n: s.layer.groups > 1 and s.layer.op == "conv",
    "depthwise": lambda s, n: s.layer.op == "depthwise_conv",
    "stride beyond the kernel": lambda s, n: s.layer.stride[0] > s.layer.kernel[0],
    "halves of I": lambda s, n: s.in_halves("I"),
    "halves of O": lambda s, n: s.in_halves("O"),
    "partial sums through the DRAM": lambda s, n: (
        predict(outer_level(normalised(s, n))).counts["tcdm", "O", "write_partial"].bytes > 0
    ),
    "markers apart": lambda s, n: len({s.marked_loop(array, TCDM) for array in ARRAYS}) == 3,
    "smaller last tile": lambda s, n: any(s.layer.loop_extents[loop.dim] % loop.step for loop in s.loops),
    "bits other than 8": lambda s, n: s.bits.I != 8,
}

CONV3 = Layer(
    name="conv3", input_channels=256, output_channels=384, input_height=13, input_width=13, kernel=3, padding=1
)
LOCAL = (
    Marker(("O",)), Loop("c", 1), Marker(("I", "W")), Loop("y", 1), Loop("k", 1), Loop("m", 1), Loop("l", 1),
)  # fmt: skip


def test_full_size_layer_by_hand() -> None:
    """All of the input stays, 32 filters a tile, 8 on each of four HWCs."""
    nest = (IN_TCDM, Loop("m", 32), Loop("m", 8, "hwc"), *LOCAL)
    found = predict_cluster(Schedule(layer=CONV3, nest=nest, lanes=Lanes(x=16)), 4)
    dram = found.counts.at("dram")
    assert dram["dram", "I", "read"].bytes == 256 * 169
    assert dram["dram", "I", "read"].axi_bursts == -(-256 * 169 // 2048)  # one run
    assert dram["dram", "W", "read"].bytes == 384 * 256 * 9
    assert dram["dram", "W", "read"].blocks == 12 * (32 * 256 * 9 // 128)
    assert dram["dram", "W", "read"].jumps == 2  # its first run, and the one after the input's
    assert dram["dram", "O", "write"].bytes == 384 * 169
    assert dram["dram", "B", "read"].bytes == 384 * 4
    # Tiles of 3 x 8 x 3 weights, k outside m: every three bytes apart, which half of the time lie in two words.
    assert found.counts["tcdm_dma", "W", "read"].words == 384 * 256 * 3 * 3 // 2
    assert found.tcdm_need == PerOperand(I=256 * 169, W=2 * 32 * 256 * 9, O=2 * 32 * 169)
    assert found.tcdm_need_bytes.O == 2 * 32 * 169
    for counts in found.hwcs:
        assert counts["tcdm", "I", "read"].words * 4 == found.counts["tcdm", "I", "read"].words
    assert found.replicated == PerOperand(I=found.counts["tcdm", "I", "read"].words * 3 // 4, W=0, O=0)


def test_json_form() -> None:
    nest = (IN_TCDM, Loop("m", 32), Loop("m", 8, "hwc"), *LOCAL)
    found = predict_cluster(Schedule(layer=CONV3, nest=nest, lanes=Lanes(x=16)), 4)
    data = found.as_json()
    assert list(data["counts"]) == ["dram", "tcdm", "tcdm_dma"]
    assert Counts.from_json(data["counts"])["dram", "W", "read"].row_misses > 0
    assert data["tcdm_buffer"]["W"] == {"elements": 147456, "bytes": 147456}
    assert data["buffer"]["O"] == {"elements": 8 * 169, "bytes": 8 * 169 * 4}
    assert len(data["hwcs"]) == 4
    assert data["replicated_words"]["W"] == 0


def cluster_nest(layer: Layer) -> Schedule:
    """A nest that fits any layer of the tables: filters by rows, eight rows of 32 channels at a time."""
    most: dict[str, int] = {"m": 32, "y": 8, "c": 32}
    steps = {dim: min(step, layer.extents[dim]) for dim, step in most.items()}  # type: ignore[index]
    slices = -(-steps["m"] // 4)
    return Schedule(
        layer=layer,
        nest=(
            Loop("m", steps["m"]), Marker(("W", "I"), TCDM), Loop("y", steps["y"]), Marker(("O",), TCDM),
            Loop("c", steps["c"]), Loop("m", slices, "hwc"), Loop("x", min(16, layer.output_width)), *LOCAL,
        ),
        lanes=Lanes(x=16),
    )  # fmt: skip


def test_full_size_layers_take_seconds() -> None:
    """The rows of one table, DRAM's figures and all."""
    rows = load_layer_set("stoutchinin_2019").convolutions()
    start = time.perf_counter()
    for layer in rows[:6]:
        predict_cluster(cluster_nest(layer), 4)
    assert (time.perf_counter() - start) / 6 < 2
