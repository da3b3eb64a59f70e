"""The timing model: a case by hand, tiles against the whole nest, refusals. RTL: `tests.cosim.hwc.test_cycles`."""

import time
from random import Random

import pytest

from hwgen.arch.lanes import capture, datapath
from hwgen.arch.latency import REQUESTED_AGAIN
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import Bits, Loop, Marker, Schedule
from hwgen.model.hwc import tiles
from hwgen.model.hwc.cycles import Cycles, HwcTiming, cycles
from hwgen.model.hwc.timing.state import PARTS
from hwgen.model.nest.one_level import PerOperand, allocation, predict
from tests.random.layers import order_from, schedules_for
from tests.random.nests import random_schedule

LEAST = PerOperand(128, 64, 128)
WAITS = PerOperand(20, 68, 132)
ORDERS: dict[str, tuple[Lanes, str]] = {
    "outputs stay": (Lanes(m=8, x=2), "m y x O c I k W l m y x"),
    "rows slide": (Lanes(m=4, x=4), "m y x O c IW y k m l"),
    "inputs outermost": (Lanes(m=8, y=2), "m I y x O c k l m y W x"),
    "no marker": (Lanes(x=16), "m y x c k l"),
    "sums leave": (Lanes(m=2, x=8), "c m y x O k I m c y x l"),
}


def tight(schedule: Schedule) -> PerOperand:
    need = allocation(schedule)
    return PerOperand(max(need.I, LEAST.I), max(need.W, LEAST.W), max(need.O, LEAST.O))


def schedules(name: str, count: int = 12) -> list[Schedule]:
    lanes, order = ORDERS[name]
    buffers = {"I": 4096, "W": 1024, "O": 8192}
    hardware = Hardware(name="any", lanes=lanes, budget=1 << 16, buffers=buffers, order=order_from(order))
    return schedules_for(hardware, Random(name), count, 30_000)


def one_operation() -> Schedule:
    """Sixteen pixels, a weight, sixteen outputs."""
    layer = Layer(name="pixels", input_channels=1, output_channels=1, input_height=1, input_width=16, kernel=1)
    dims: tuple[Dim, ...] = ("m", "c", "y", "k", "l")
    nest = (Loop("x", 16), Marker(("I", "W", "O")), *(Loop(dim, 1) for dim in dims if dim != "m"), Loop("m", 1))
    return Schedule(layer=layer, nest=nest, lanes=Lanes(x=16))


def test_one_operation_by_hand() -> None:
    """Four words of I: placed in cycle 10, announced in 11, asked for in 12 to 15, the last one taken in 17; the
    operation in 20.

    The vector is asked for in 21, captured in 24, its outputs are requantised from 25 to 28, and its four words are
    asked to be written from 26 to 29. The layer has ended five cycles after that.
    """
    found = cycles(one_operation(), LEAST)
    assert found == Cycles(startup=5, compute=1, stalls=PerOperand(18, 0, 0), drain=11)
    assert found.total == 35
    assert cycles(one_operation(), LEAST, in_cluster=True).total == 34


def test_waits_by_hand() -> None:
    """Each word of I waits a cycle, so that the last of the four comes four cycles later; so do those of O. That of W
    has time."""
    timing = HwcTiming(one_operation(), LEAST)
    assert timing.cycles(PerOperand(PARTS, 0, 0)).total == 35 + 4
    assert timing.cycles(PerOperand(PARTS // 2, 0, 0)).total == 35 + 2
    assert timing.cycles(PerOperand(0, PARTS, 0)).total == 35
    assert timing.cycles(PerOperand(0, 0, PARTS)).total == 35 + 4
    assert timing.cycles(PerOperand(PARTS, PARTS, PARTS)).total == 35 + 4 + 4
    assert timing.cycles() == cycles(one_operation(), LEAST)


@pytest.mark.parametrize("name", ORDERS)
def test_what_a_wait_costs_at_most(name: str) -> None:
    """At I and W no more than itself; at O what it takes to ask once more for a vector that came in vain."""
    cost = []
    for schedule in schedules(name, 6):
        timing, counts = HwcTiming(schedule, PerOperand(4096, 1024, 8192)), predict(schedule).counts
        words = {
            arrays: sum(access.words for (_, array, _), access in counts.accesses.items() if array in arrays)
            for arrays in ("IW", "OB")
        }
        fetched, stored = (
            timing.cycles(waits).total - timing.cycles().total
            for waits in (PerOperand(PARTS, PARTS, 0), PerOperand(0, 0, PARTS))
        )
        again = capture(datapath(schedule.lanes, 8)) + REQUESTED_AGAIN
        assert 0 <= fetched <= words["IW"]
        assert 0 < stored <= again * words["OB"]
        cost.append((fetched + stored) / sum(words.values()))
    assert max(cost) > 0.2


@pytest.mark.parametrize("name", ORDERS)
def test_tiles_of_a_kind_are_played_once_and_the_sum_is_that_of_the_whole_nest(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    depths = set()
    for schedule in schedules(name):
        for memories in (tight(schedule), PerOperand(4096, 1024, 8192)):
            found, waiting = cycles(schedule, memories), HwcTiming(schedule, memories).cycles(WAITS)
            depths.add(tiles.Timed(schedule, memories).depth)
            with monkeypatch.context() as patch:
                patch.setattr(tiles, "MOST_TILES", 0)
                assert tiles.Timed(schedule, memories).depth == 0
                assert cycles(schedule, memories) == found
                assert HwcTiming(schedule, memories).cycles(WAITS) == waiting
            assert found.compute == predict(schedule).iterations
            assert found.total == found.startup + found.compute + found.stalls.total + found.drain
    assert max(depths) > 0 or name in ("sums leave", "no marker")


def layer_of_many_channels(rng: Random) -> Layer:
    """Small maps, 30 to 200 channels on one side."""
    kernel, stride = (rng.choice((1, 2, 3)), rng.choice((1, 2, 3))), (rng.choice((1, 1, 2)), rng.choice((1, 1, 2)))
    padding = tuple(rng.randint(0, kernel[side % 2] // 2) for side in range(4))
    inputs = [rng.randint(kernel[n], kernel[n] + 5) for n in range(2)]
    channels = rng.sample((rng.randint(30, 200), rng.randint(1, 4)), 2)
    groups = rng.choice((1, 1, 1, 2))
    return Layer(
        name="deep", input_channels=groups * channels[0], output_channels=groups * channels[1],
        input_height=inputs[0], input_width=inputs[1], kernel=kernel, stride=stride, padding=padding, groups=groups,
    )  # fmt: skip


def test_iterations_that_repeat_are_left_out_and_the_sum_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    repeat = spill = 0
    for seed in range(90):
        rng = Random(seed)
        schedule = random_schedule(rng, layer_of_many_channels(rng), lane_dims=("m", "y", "x"), bits=Bits())
        need, spare = tight(schedule), rng.choice((0, 64, 1000))
        memories = PerOperand(need.I + spare, need.W + spare, need.O + 4 * schedule.lanes.product * spare)
        found, waiting = cycles(schedule, memories), HwcTiming(schedule, memories).cycles(WAITS)
        with monkeypatch.context() as patch:
            patch.setattr(tiles, "MOST_TILES", 0)
            timed = tiles.Timed(schedule, memories)
            assert cycles(schedule, memories) == found, (seed, schedule.as_data()["nest"])
            patch.setattr(tiles, "LEAST_ITERATIONS", 1 << 30)
            assert not tiles.Timed(schedule, memories).nest.repeats.any()
            assert cycles(schedule, memories) == found, (seed, schedule.as_data()["nest"])
            assert HwcTiming(schedule, memories).cycles(WAITS) == waiting, (seed, schedule.as_data()["nest"])
        repeat += bool(timed.nest.repeats.any())
        spill += bool(timed.nest.repeats.any()) and timed.block.spills
    assert repeat > 40
    assert spill > 20


def test_tens_of_thousands_of_channels_take_no_longer_than_hundreds() -> None:
    """Each m, row and c an execution: 59 million tiles whose sums leave."""
    layer = Layer(
        name="wide", input_channels=65535, output_channels=64, input_height=14, input_width=16, kernel=3, padding=1
    )
    loops = (Loop("m", 1), Loop("y", 1), Loop("c", 1), Loop("k", 1), Marker(("I", "W", "O")), Loop("l", 1))
    schedule = Schedule(layer=layer, nest=loops, lanes=Lanes(x=16))
    cycles(one_operation(), LEAST)  # is compiled now
    started = time.process_time()
    assert cycles(schedule, tight(schedule)).compute == 64 * 14 * 65535 * 9
    assert time.process_time() - started < 10  # seconds, where it took minutes


def test_room_ahead_takes_stalls_away() -> None:
    for schedule in schedules("outputs stay"):
        small, large = (cycles(schedule, memories) for memories in (tight(schedule), PerOperand(4096, 1024, 8192)))
        assert large.total <= small.total
    saved = [
        cycles(schedule, tight(schedule)).total - cycles(schedule, PerOperand(4096, 1024, 8192)).total
        for schedule in schedules("outputs stay")
    ]
    assert max(saved) > 100


def test_a_marker_of_the_output_above_a_loop_over_outputs_means_the_place_inside_it() -> None:
    layer = schedules("rows slide")[0].layer.model_copy(update={"name": "same"})
    inner: tuple[Dim, ...] = ("c", "k", "l", "m", "x", "y")
    steps = Lanes(m=4, x=4)
    plain = (Loop("m", min(4, layer.output_channels)),)
    rest = tuple(Loop(dim, min(steps.along(dim), layer.extents[dim])) for dim in inner)
    outside = Schedule(layer=layer, nest=(Marker(("O",)), *plain, *rest), lanes=Lanes(m=4, x=4))
    inside = Schedule(layer=layer, nest=(*plain, Marker(("O",)), *rest), lanes=Lanes(m=4, x=4))
    memories = PerOperand(4096, 1024, 1 << 16)
    assert cycles(outside, memories) == cycles(inside, memories)


def test_what_the_model_cannot_tell_is_refused() -> None:
    schedule = one_operation()
    wide = schedule.model_copy(update={"bits": Bits(I=16, W=16)})
    with pytest.raises(InputError, match="bits: expected operands of 8 or of 16 bits and 32-bit sums"):
        cycles(wide, LEAST)
    nest = (Marker(("I", "W", "O"), TCDM), *schedule.nest)
    with pytest.raises(InputError, match="expected markers of one memory level"):
        cycles(schedule.model_copy(update={"nest": nest}), LEAST)
