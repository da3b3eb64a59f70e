"""The search for nests of two levels: against all nests of small layers, the model, the placement, the lowering."""

from itertools import groupby, islice
from random import Random

import pytest

from hwgen.arch.dram import DramPort
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Dim, Layer
from hwgen.ir.schedule import Bits, Loop, Schedule
from hwgen.model.cluster.placement import place
from hwgen.model.cluster.ring_sizes import bytes_needed
from hwgen.model.dram.counts import dram_counts
from hwgen.model.nest.one_level import predict
from hwgen.search.cluster.inner_nest import InnerNests
from hwgen.search.cluster.optimal import MAX_LEVELS, MAX_SEARCHED, search_cluster
from hwgen.search.cluster.outer_nest import OuterLoops, OuterSpace
from tests.model.cluster.nests import ORDER, TILED, cluster, conv, every_outer, every_schedule, runs, small_layer
from tests.oracles.levels_apart import local_level, outer_level


def brute_force(layer: Layer, hardware: Hardware) -> tuple[int, int] | None:
    """Fewest bytes of DRAM, then of TCDM, of all schedules that the lowering accepts."""
    moved = []
    for outer, left in every_outer(layer):
        probe = Schedule(layer=layer, nest=(*outer, *(Loop(dim, 1) for dim in layer.extents)))
        moved.append((predict(outer_level(probe)).total_bytes, outer, left))
    for bytes_moved, group in groupby(sorted(moved, key=lambda one: one[0]), key=lambda one: one[0]):
        found: dict[int, list[Schedule]] = {}
        for _, outer, left in group:
            for schedule in every_schedule(layer, hardware, outer, left):
                found.setdefault(predict(local_level(schedule)).total_bytes, []).append(schedule)
        for tcdm_bytes in sorted(found):
            if any(runs(schedule, hardware) for schedule in found[tcdm_bytes]):
                return bytes_moved, tcdm_bytes
    return None


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
    bound = OuterSpace(layer, Bits(), tcdm, classed=True).least()
    assert bound is None if expected is None else bound is not None and bound <= expected[0]
    if expected is None:
        with pytest.raises(InputError, match=f"small: no schedule fits a TCDM of {tcdm} bytes with these HWCs"):
            search_cluster(layer, hardware, max_searched=10**6, busy_share=0, max_tried=10**6)
    else:
        found = search_cluster(layer, hardware, max_searched=10**6, busy_share=0, max_tried=10**6)
        assert found.complete
        assert (found.dram_bytes, found.tcdm_bytes) == expected
        assert found.need == place(found.schedule).size <= tcdm
        assert runs(found.schedule, hardware)


def test_a_search_without_any_nest_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a layer with thousands of levels, no nest of which fits the HWCs."""
    tried: set[int] = set()

    def none(_: InnerNests, loops: OuterLoops, steps: dict[Dim, int], *others: object, **options: object) -> None:
        tried.add(hash(tuple(steps.values())))

    monkeypatch.setattr(InnerNests, "best", none)
    layer = conv((16, 16, 12, 12), (14, 14), (3, 3))
    with pytest.raises(InputError, match="small: no schedule fits a TCDM of 2048 bytes with these HWCs"):
        search_cluster(layer, cluster(1 << 11))
    assert MAX_LEVELS <= len(tried) <= MAX_LEVELS * MAX_SEARCHED


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
        bound = OuterSpace(layer, Bits(), size, classed=True).least()
        assert moved is None or (bound is not None and 0.95 * moved <= bound <= moved)
        for _, steps, outers in islice(every.between(moved, moved), 3) if moved is not None else ():
            for outer in outers[:3]:
                nest = (*outer.items(), *(Loop(dim, 1) for dim in layer.extents))
                schedule = Schedule(layer=layer, nest=nest)
                assert predict(outer_level(schedule)).total_bytes == moved
                assert steps == {dim: step for dim, step in left_of(schedule).items() if dim in TILED}


def left_of(schedule: Schedule) -> dict[Dim, int]:
    return schedule.iteration_size(len(schedule.loops) - len(schedule.layer.extents))


def test_idle_hwcs_are_out() -> None:
    """7 rows or 24 filters on four HWCs: rows leave one of eight shares idle, whatever they save."""
    layer = conv((24, 2, 7, 13), (3, 3), padding=(1, 1, 1, 1))
    hardware = Hardware(name="cluster", order=ORDER, budget=4096, cluster=Cluster())
    by_bytes, busy = (search_cluster(layer, hardware, max_searched=1, busy_share=share) for share in (0.0, 1.0))
    assert by_bytes.tcdm_bytes <= busy.tcdm_bytes
    assert (busy.dram_bytes, busy.utilisation) == (by_bytes.dram_bytes, pytest.approx(13 / 16))
    spread = [item for item in busy.schedule.nest if isinstance(item, Loop) and item.over]
    assert spread == [Loop("m", 6, "hwc")]


@pytest.mark.parametrize("lanes", [Lanes(m=2, c=2), Lanes(c=4)])
def test_lanes_along_c_do_not_change_what_fits(lanes: Lanes) -> None:
    """Lines of weights that are filled: as many bytes at the DRAM as with lanes along m."""
    layer = conv((16, 16, 14, 14), (3, 3), padding=(1, 1, 1, 1))
    of_m, of_c = (
        Hardware(name="small", lanes=each, budget=1024, cluster=Cluster(hwcs=2, tcdm=4096))
        for each in (Lanes(m=4), lanes)
    )
    most, found = (search_cluster(layer, hardware, max_searched=2, busy_share=0) for hardware in (of_m, of_c))
    assert found.dram_bytes == most.dram_bytes
    assert found.need == place(found.schedule).size <= 4096


@pytest.mark.nightly
def test_less_is_counted_on_where_nothing_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rings that need three times their bytes, so that what fits is far from what loops need at least.

    From one value of the objective to the next one it takes thousands of attempts to come there.
    """
    layer, needs = conv((12, 2, 7, 13), (3, 3), padding=(1, 1, 1, 1)), []

    def three_times(schedule: Schedule, most: int) -> int:
        needs.append(3 * bytes_needed(schedule, most))
        return needs[-1]

    monkeypatch.setattr("hwgen.search.cluster.cost_levels.bytes_needed", three_times)
    found = search_cluster(layer, cluster(3 * 480), max_searched=2, max_tried=20)
    assert found.need == place(found.schedule).size <= 480
    assert 3 * found.need in needs
    assert not found.complete
    assert len(needs) < 1000


@pytest.mark.parametrize("seed", range(4))
def test_found_schedules_are_lowered(seed: int) -> None:
    """Ungrouped and depthwise, once with any order of the HWCs' loops; both levels as the model counts them."""
    rng = Random(seed)
    layer = small_layer(rng, 3000, op="depthwise_conv" if seed == 3 else "conv")
    hardware = cluster(2048, hwcs=4, fixed=seed > 0)
    found = search_cluster(layer, hardware, max_searched=2)
    assert runs(found.schedule, hardware)
    assert found.dram_bytes == dram_counts(found.schedule, DramPort(), 4).total_bytes("dram")
    assert found.tcdm_bytes == predict(local_level(found.schedule)).total_bytes
