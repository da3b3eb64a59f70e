"""The benchmark of fronts against random clusters: what it draws, and what is better than a front."""

from benchmarks.bench_choose_random import _beats, _draws, _front


def test_what_is_drawn_is_the_same_each_time_and_can_be_built() -> None:
    some, more = (list(_draws("DS-CNN", number)) for number in (4, 6))
    assert [one.hardware for one in some] == [one.hardware for one in more[:4]]
    assert len({str(one.hardware.as_data()) for one in more}) == 6
    assert all(one.area.lut4 > 10_000 for one in more)
    assert some[0].hardware != next(_draws("ResNet-8", 1)).hardware


def test_a_front_and_what_beats_a_point_of_it() -> None:
    plans = [
        {"luts": luts, "cycles": cycles} for luts, cycles in ((30, 90), (10, 100), (20, 120), (40, 90), (50, 20))
    ]
    front = _front(plans)
    assert [(one["luts"], one["cycles"]) for one in front] == [(10, 100), (30, 90), (50, 20)]
    drawn = {"luts": 29, "cycles": 89}
    assert [_beats(drawn, point) for point in front] == [False, True, False]
    assert not _beats({"luts": 30, "cycles": 80}, front[1])
