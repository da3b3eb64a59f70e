"""The closed form against the literal oracle, on thousands of random nests."""

import time
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from hwgen.ir.counts import Access
from hwgen.ir.document import InputError
from hwgen.ir.lanes import LANE_DIMS, Lanes, Ports
from hwgen.ir.layer import DIMS, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.nest.biases import bias_depth, biases_kept
from hwgen.model.nest.one_level import PerOperand, allocation, predict
from hwgen.model.nest.ranges import tiles, whole
from tests.oracles.nest_walk import walk
from tests.random.nests import cases, random_layer, random_schedule, schedules

CHUNKS, PER_CHUNK = 8, 400
EVERYTHING = ("I", "W", "O")


def differences(schedule: Schedule) -> list[object]:
    """Everything in which closed form and oracle differ; empty if nothing."""
    predicted, walked = predict(schedule), walk(schedule)
    found: list[object] = list(walked.counts.differences(predicted.counts, ("elements", "bytes", "words")))
    if walked.need != predicted.need:
        found.append((walked.need, predicted.need))
    if walked.iterations != predicted.iterations:
        found.append((walked.iterations, predicted.iterations))
    return found


@pytest.mark.parametrize("chunk", [0, 1, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(2, CHUNKS))])
def test_closed_form_equals_oracle(chunk: int) -> None:
    for schedule in cases(1902 + chunk, PER_CHUNK):
        assert differences(schedule) == [], schedule.as_data()


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(schedules())
def test_closed_form_equals_oracle_property(schedule: Schedule) -> None:
    assert differences(schedule) == []


def test_the_random_cases_reach_every_corner() -> None:
    """Each corner of the space that the closed form treats, or could have forgotten, occurs at least fifty times."""
    seen = dict.fromkeys(CORNERS, 0)
    for schedule in cases(1902, 2000):
        for corner, holds in CORNERS.items():
            seen[corner] += holds(schedule)
    assert min(seen.values()) >= 50, seen


def _splits(schedule: Schedule) -> list[int]:
    return [sum(loop.dim == dim for loop in schedule.loops) for dim in schedule.layer.extents]


CORNERS = {
    "stride beyond the kernel": lambda s: (
        s.layer.stride[0] > s.layer.kernel[0] or s.layer.stride[1] > s.layer.kernel[1]
    ),
    "stride within the kernel": lambda s: 1 < s.layer.stride[1] < s.layer.kernel[1],
    "unequal padding": lambda s: s.layer.padding[0] != s.layer.padding[2] or s.layer.padding[1] != s.layer.padding[3],
    "groups": lambda s: s.layer.groups > 1 and s.layer.op == "conv",
    "depthwise": lambda s: s.layer.op == "depthwise_conv",
    "one pixel": lambda s: s.layer.input_height == s.layer.input_width == 1,
    "map smaller than the kernel": lambda s: s.layer.input_width < s.layer.kernel[1],
    "two splits": lambda s: 2 in _splits(s),
    "three splits": lambda s: max(_splits(s)) >= 3,
    "lanes over m": lambda s: s.lanes.m > 1,
    "lanes over y": lambda s: s.lanes.y > 1,
    "lanes over x": lambda s: s.lanes.x > 1,
    "bits other than 8": lambda s: s.bits.I != 8 and s.bits.acc != 32,
    "smaller last tile": lambda s: any(s.layer.extents[loop.dim] % loop.step for loop in s.loops),
    "no marker for I": lambda s: s.marked_loop("I") is None,
    "no marker for O": lambda s: s.marked_loop("O") is None,
    **{
        f"{array} held across {dim}": lambda s, array=array, dim=dim: (
            (at := s.marked_loop(array)) is not None and s.loops[at].dim == dim
        )
        for array in EVERYTHING
        for dim in ("m", "c", "y", "x", "k", "l")
    },
    "biases kept over the whole layer": lambda s: bias_depth(s) == 0 and biases_kept(s) > 0,
    "biases kept over a part": lambda s: bias_depth(s) > 0 and biases_kept(s) > 0,
    "biases kept, sums that leave": lambda s: (
        biases_kept(s) > 0 and any(loop.dim in "ckl" for loop in s.loops[: s.marked_loop("O")])
    ),
    "a store too small for any place": lambda s: 0 < s.bias_words < s.iteration_size(bias_depth(s))["m"],
    "taps apart, kept": lambda s: (
        s.layer.stride[1] > 1 and (at := s.marked_loop("I")) is not None and s.iteration_size(at + 1)["l"] > 1
    ),
}


CONV4_2 = Layer(
    name="conv4_2", input_channels=512, output_channels=512, input_height=28, input_width=28, kernel=3, padding=1
)


def hwc_nest(layer: Layer, m: int, y: int, x: int) -> Schedule:
    """The published nest with its markers (Stoutchinin et al. 2019, Fig. 8), all of c in the tile."""
    steps: list[Loop | Marker] = [
        Loop("m", min(m, layer.output_channels)), Loop("y", min(y, layer.output_height)),
        Loop("x", min(x, layer.output_width)), Marker(("O",)), Loop("c", 1), Marker(("I", "W")), Loop("y", 1),
        Loop("k", 1), Loop("m", 1), Loop("l", 1),
    ]  # fmt: skip
    return Schedule(layer=layer, nest=tuple(steps), lanes=Lanes(x=x))


def test_full_size_layer_by_hand() -> None:
    found = predict(hwc_nest(CONV4_2, 6, 2, 16))
    tiles = 86 * 14  # of m and y
    rows, columns = 3 + 12 * 4 + 3, 17 + 13  # 28 rows in tiles of 2 with halo, clipped; columns -1..16 and 15..28
    assert found.counts["tcdm", "I", "read"].elements == 86 * 512 * rows * columns
    assert found.counts["tcdm", "I", "read"].words == 86 * 512 * rows * (5 + 4)
    assert found.counts["tcdm", "W", "read"] == Access(
        28 * CONV4_2.weight_elements, 28 * CONV4_2.weight_elements, 28 * 512 * (85 * 14 + 5)
    )
    assert found.counts["tcdm", "O", "write"] == Access(512 * 784, 512 * 784, 512 * 28 * 7)
    assert found.counts["tcdm", "O", "write_partial"] == Access()
    assert found.counts["tcdm", "B", "read"].elements == 512 * 14 * 2
    assert found.need == PerOperand(I=3 * 17, W=54, O=6 * 2 * 16)
    assert found.iterations == tiles * 2 * 512 * 2 * 3 * 3 * 6 - 14 * 2 * 512 * 2 * 3 * 3 * 4
    assert found.allocation == PerOperand(I=64, W=56, O=768)
    assert found.allocated_bytes == 64 + 56 + 768


def test_allocation_counts_vectors_not_columns() -> None:
    schedule = Schedule(
        layer=CONV4_2,
        nest=(Loop("m", 3), Marker(("O",)), Loop("c", 1), Loop("y", 1), Loop("x", 12), *_ones("k", "m", "l")),
        lanes=Lanes(x=16),
    )
    assert predict(schedule).need.O == 3 * 28 * 28
    assert allocation(schedule).O == 3 * 28 * 3 * 16 * 4  # 28 columns in vectors of 12, 12 and 4


def test_allocation_of_columns_with_gaps() -> None:
    layer = Layer(
        name="gaps", input_channels=1, output_channels=1, input_height=1, input_width=20, kernel=(1, 4),
        stride=(1, 3), padding=(0, 4, 0, 1),
    )  # fmt: skip
    nest = (Loop("l", 2), Marker(("I",)), Loop("m", 1), Loop("x", 1), Loop("l", 1))
    # taps 0 1 touch columns -4 -3, -1 0, 2 3 .. 17 18, taps 2 3 touch -2 -1, 1 2, .. 16 17, 19 20: of both 13 exist
    assert predict(Schedule(layer=layer, nest=nest)).need.I == 13
    assert allocation(Schedule(layer=layer, nest=nest)).I == 2 * 8  # clipped by 2, less than a stride: x from 0 on
    assert allocation(Schedule(layer=layer, nest=(Loop("x", 7), *nest))).I == 2 * 7 + 2  # to words
    first = Layer(**{**layer.model_dump(), "kernel": (1, 2), "padding": (0, 4, 0, 0), "input_width": 19})
    assert allocation(Schedule(layer=first, nest=nest)).I == 2 * 7 + 2  # clipped by 4: x from 1 on


def test_allocation_rounds_up_the_need_of_every_tile() -> None:
    """O in lane vectors, W in words or lanes, I so too and a copy for each lane along y, each found tile by tile."""
    for schedule in cases(77, 600):
        across = schedule.lanes.x
        lanes = across * schedule.lanes.y * schedule.lanes.m
        vectors = 0
        for tile in tiles(whole(schedule.layer), schedule.loops[: _inside(schedule)]):
            below = tiles(tile, schedule.loops[_inside(schedule) :])
            vectors = max(vectors, len({(b["m"], b["y"], b["x"]) for b in below}))
        found, predicted = allocation(schedule), predict(schedule)
        assert found["O"] == vectors * lanes * schedule.bits.acc // 8, schedule.as_data()
        unit_w = max(4, schedule.lanes.m)
        weight_words = -(-predicted.need_bytes.W // unit_w)
        assert found["W"] == weight_words * unit_w
        assert found.I >= predicted.need_bytes.I
        if schedule.layer.stride[1] <= 1:
            unit = max(4, across)
            assert found["I"] == -(-predicted.need_bytes.I // unit) * unit * schedule.lanes.y


def test_allocation_with_lanes_along_c() -> None:
    """Channels of I are rounded up to the lanes, which have a memory each; W has a line for each operation."""
    layer = Layer(name="sums", input_channels=6, output_channels=5, input_height=1, input_width=7, kernel=1)
    nest = (Loop("x", 1), Marker(("I", "W")), Loop("m", 4), Loop("c", 4))
    schedule = Schedule(layer=layer, nest=nest, lanes=Lanes(m=4, c=4))
    assert (predict(schedule).need_bytes.I, predict(schedule).need_bytes.W) == (6, 24)
    assert allocation(schedule).I == 4 * 4  # four memories: two channels each, a byte a channel, in words
    assert allocation(schedule).W == 2 * 16
    # Two lines of four channels and two of two; of one output channel a word for each channel, too.
    assert predict(schedule).counts["tcdm", "W", "read"].words == 7 * (4 + 2 + 4 + 2)


def test_counts_with_lanes_along_c_are_those_of_the_walk() -> None:
    lines = wide = 0
    for schedule in cases(78, 300, LANE_DIMS):
        assert not differences(schedule), schedule.as_data()
        lines += schedule.lanes.c > 1
        if schedule.bits.W == 16 and schedule.lanes.c == 1:
            left = schedule.model_copy(update={"lanes": schedule.lanes.with_one_along_c()})
            assert not differences(left), left.as_data()
            wide += predict(left).counts["tcdm", "W", "read"] != predict(schedule).counts["tcdm", "W", "read"]
    assert lines > 50
    assert wide > 5


def test_allocation_of_16_bits_takes_two_lanes_along_c_each() -> None:
    """The memories hold as many bytes as those of 8 bits with twice as many channels."""
    layer = Layer(name="sums", input_channels=6, output_channels=5, input_height=1, input_width=7, kernel=1)
    nest = (Loop("x", 1), Marker(("I", "W")), Loop("m", 4), Loop("c", 2))
    schedule = Schedule(layer=layer, nest=nest, lanes=Lanes(m=4, c=2), bits=Bits(I=16, W=16, O=16))
    assert allocation(schedule).I == 4 * 4  # four memories: three bytes each, in words
    assert allocation(schedule).W == 3 * 16
    one = schedule.model_copy(update={"lanes": Lanes(m=4, c=2).halved(), "nest": (*nest[:3], Loop("c", 1))})
    assert allocation(one).W == 6 * 8
    assert Schedule.from_data(one.as_data()) == one


def _inside(schedule: Schedule) -> int:
    """Index of the first loop below the one at which O is held."""
    marked = schedule.marked_loop("O")
    return len(schedule.loops) if marked is None else marked + 1


def _ones(*dims: str) -> tuple[Loop, ...]:
    return tuple(Loop(dim, 1) for dim in dims)  # type: ignore[arg-type]


def test_counts_with_scales_of_channels_are_those_of_the_walk() -> None:
    rng = Random("scales")
    for schedule in cases(77, 60):
        ports = Ports(O=rng.choice((32, 64, 256)))
        scaled = schedule.model_copy(update={"requantisation": "scaled", "ports": ports})
        assert differences(scaled) == [], scaled.as_data()
        plain, found = (predict(one).counts["tcdm", "B", "read"] for one in (schedule, scaled))
        assert (found.elements, found.bytes) == (plain.elements, 2 * plain.bytes)


def test_json_form() -> None:
    data = predict(hwc_nest(CONV4_2, 6, 2, 16)).as_json()
    assert data["buffer"]["O"] == {"elements": 192, "bytes": 768}
    assert data["counts"]["tcdm"]["O"]["write_partial"] == {"bytes": 0, "words": 0}
    # O's 768 bytes; W's 6 x 3 x 3 bytes in words of four; I's 3 rows of 18 pixels in vectors of 16 lanes.
    assert data["allocated_bytes"] == 768 + 56 + 64
    assert data["total_with_bias"] == data["total_bytes"] + 4 * 512 * 14 * 2
    kept = predict(hwc_nest(CONV4_2, 6, 2, 16).model_copy(update={"bias_words": 8})).as_json()
    assert kept["total_with_bias"] == data["total_bytes"] + 4 * 512
    assert kept["bias_store"] == {"elements": 6, "bytes": 24}


def test_more_than_one_level_is_refused() -> None:
    schedule = Schedule(layer=CONV4_2, nest=(Marker(("I",), TCDM), *_ones("m", "c", "y", "x", "k", "l")))
    with pytest.raises(InputError, match="expected markers of one memory level only"):
        predict(schedule)


TABLE = Path(__file__).parents[3] / "schedules" / "layersets" / "stoutchinin_2019.yaml"


def test_full_size_layers_take_milliseconds() -> None:
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["layers"]
    nests = [hwc_nest(Layer(**{key: row[key] for key in row if key in Layer.model_fields}), 6, 2, 16) for row in rows]
    start = time.perf_counter()
    for nest in nests:
        predict(nest)
    assert (time.perf_counter() - start) / len(nests) < 0.02


def test_lanes_along_any_dimension() -> None:
    rng = Random(31)
    for _ in range(400):
        schedule = random_schedule(rng, random_layer(rng), lane_dims=DIMS)
        assert differences(schedule) == [], schedule.as_data()
