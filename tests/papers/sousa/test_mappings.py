"""Mappings on several clusters: which are simulated, which candidate runs, what a second run does again."""

from pathlib import Path

import pytest

from hwgen.ir.schedule import Loop, Schedule
from hwgen.papers.sousa.mappings import MappingCampaign, MappingCase
from tests.cosim.system.test_systems import cases, hardware

RUN, OTHER, REFUSED = "runs", "is long", "is refused"


def impossible(schedule: Schedule) -> Schedule:
    """The same without its first loop inside the HWC, which the hardware has."""
    places = [place for place, item in enumerate(schedule.nest) if isinstance(item, Loop) and item.over is None]
    nest = tuple(item for place, item in enumerate(schedule.nest) if place != places[-1])
    return schedule.model_copy(update={"nest": nest})


def campaign(folder: Path, limit: int) -> MappingCampaign:
    one, other = cases()[1], cases()[3]
    groups = [
        [MappingCase(OTHER, [(other, "OFM")]), MappingCase(OTHER, [(other, "KS")])],
        [MappingCase(RUN, [(impossible(one), "KS"), (one, "KS")]), MappingCase(RUN, [(one, "OFM")])],
        [MappingCase(REFUSED, [(impossible(one), "KS")]), MappingCase(RUN, [(one, "OFM")])],
    ]
    return MappingCampaign(groups, hardware(), 2, folder, limit)


@pytest.mark.nightly
def test_what_fits_the_limit_is_simulated_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    predicted = campaign(tmp_path, 0).predict()
    long, short = (max(one.predicted for one in group) for group in predicted[:2])
    assert short < long
    assert [one.chosen for group in predicted for one in group] == [0, 0, 1, 0, None, 0]
    assert "expected" in predicted[1][0].refused
    assert predicted[2][0].refused == predicted[1][0].refused
    assert predicted[1][1] == predicted[2][1]
    limited = campaign(tmp_path, int(short) + 1)
    results = limited.measure(predicted)
    cycles = [[one.measured for one in group] for group in results]
    assert [[one is not None for one in group] for group in cycles] == [[False] * 2, [True] * 2, [False] * 2]
    for one in results[1]:
        assert one.passed, one.failures
        assert one.error is not None
        assert abs(one.error) <= 0.10
    # Again: nothing is predicted or simulated, and what came of it is the same.
    again = campaign(tmp_path, int(short) + 1)
    for name in ("compile_system", "load_system"):
        monkeypatch.setattr(f"hwgen.papers.sousa.mappings.{name}", None)
    assert [[one.measured for one in group] for group in again.measure(again.predict())] == cycles
