"""Counts on hierarchies: by hand, and the closed form against the literal walk of all levels at once."""

from typing import Any

import pytest

from hwgen.ir.counts import Access
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import ARRAYS, Schedule
from hwgen.model.nest.hierarchy_counts import HierarchyCounts, counts_of
from hwgen.model.nest.one_level import PerOperand
from tests.oracles.nest_walk import walk_hierarchy
from tests.random.hierarchies import hierarchy_cases

QUICK = 120
CHUNKS, PER_CHUNK = 4, 550


def differences(schedule: Schedule, hierarchy: Hierarchy) -> list[object]:
    """Everything in which closed form and walk differ; empty if nothing."""
    closed, walked = counts_of(schedule, hierarchy), walk_hierarchy(schedule, hierarchy)
    found: list[object] = []
    for mine, theirs in (
        (closed.served, walked.served),
        (closed.datapath, walked.datapath),
        (closed.filled, walked.filled),
    ):
        found += mine.differences(theirs, ("elements", "bytes"))
    for one, other in ((closed.need, walked.need), (closed.need_bytes, walked.need_bytes)):
        found += [] if one == other else [(one, other)]
    return found


def test_closed_form_equals_walk() -> None:
    for schedule, hierarchy in hierarchy_cases(2016, QUICK):
        assert differences(schedule, hierarchy) == [], (schedule.as_data(), hierarchy.as_data())


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_closed_form_equals_walk_on_many(chunk: int) -> None:
    for schedule, hierarchy in hierarchy_cases(chunk, PER_CHUNK, most_macs=800):
        assert differences(schedule, hierarchy) == [], (schedule.as_data(), hierarchy.as_data())


def _held(schedule: Schedule, hierarchy: Hierarchy) -> dict[str, int]:
    return {operand: len(hierarchy.held(schedule, operand)) for operand in ARRAYS}


CORNERS = {
    "one level": lambda s, h: len(h.levels) == 1,
    "four levels": lambda s, h: len(h.levels) == 4,
    "an operand in all levels": lambda s, h: len(h.levels) == 4 and max(_held(s, h).values()) == 3,
    "an operand that leaves a level out": lambda s, h: 0 < min(_held(s, h).values()) < len(h.levels) - 1,
    "an operand held nowhere": lambda s, h: len(h.levels) > 1 and 0 in _held(s, h).values(),
    "several images": lambda s, h: s.layer.batch > 1,
    "a split loop over images": lambda s, h: sum(loop.dim == "n" for loop in s.loops) > 1,
    "a level held across images": lambda s, h: any(
        s.loops[place].dim == "n" for operand in ARRAYS for _, place in h.held(s, operand)
    ),
    "groups": lambda s, h: s.layer.groups > 1,
    "stride": lambda s, h: max(s.layer.stride) > 1,
    "padding": lambda s, h: max(s.layer.padding) > 0,
    "lanes along c": lambda s, h: s.lanes.c > 1,
    "partial sums from a level": lambda s, h: any(
        counts_of(s, h).served[level.name, "O", "write_partial"].elements for level in h.inner
    ),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_the_random_cases_reach_every_corner(corner: str) -> None:
    assert sum(bool(CORNERS[corner](*case)) for case in hierarchy_cases(2016, QUICK)) >= 8


# --- by hand ---

LEVELS: list[dict[str, Any]] = [{"name": "dram"}, {"name": "sram", "bytes": 4096}, {"name": "reg", "bytes": 64}]
"""1 input channel, 4 output channels, 3 outputs in a row of 2 images, kernel 1 x 2, padding 1 at the right."""
LAYER: dict[str, Any] = {
    "name": "small", "input_channels": 1, "output_channels": 4, "input_height": 1, "input_width": 3,
    "output_height": 1, "output_width": 3, "kernel": [1, 2], "padding": [0, 0, 0, 1], "batch": 2,
}  # fmt: skip


def counted(nest: list[dict[str, Any]], lanes: dict[str, int] | None = None, **keys: Any) -> HierarchyCounts:
    hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": LEVELS, **keys})
    data = {"format": 1, "kind": "schedule", "layer": LAYER, "nest": nest, "lanes": lanes or {}}
    schedule = hierarchy.read_schedule(data)
    assert differences(schedule, hierarchy) == []
    return counts_of(schedule, hierarchy)


def test_two_levels_by_hand() -> None:
    """W in the SRAM for both images; I in the registers for all m; O nowhere: from and to the DRAM."""
    found = counted([{"buffer": {"sram": "W"}}, {"n": 1}, {"x": 1}, {"buffer": {"reg": "I"}}, {"m": 1}, {"l": 1}])
    # 24 pairs of output and image, two taps each; the second tap of the last column meets padding.
    assert found.served["dram", "W", "read"] == Access(8, 8)
    assert found.served["sram", "W", "read"] == Access(48, 48)
    # A window of 2, 2 and 1 elements for each column of each image; the registers give each of them to 4 channels.
    assert found.served["dram", "I", "read"] == Access(10, 10)
    assert found.served["reg", "I", "read"] == Access(40, 40)
    # Every output leaves after the first tap, comes back, and leaves as final.
    assert found.served["dram", "O", "write_partial"] == found.served["dram", "O", "read_partial"] == Access(24, 96)
    assert found.served["dram", "O", "write"] == Access(24, 24)
    assert (found.need["sram"], found.need["reg"]) == (PerOperand(0, 8, 0), PerOperand(2, 0, 0))
    assert found.filled["sram", "W", "read"] == Access(8, 8)
    assert found.filled["reg", "I", "read"] == Access(10, 10)
    assert found.datapath["dram", "O", "write"] == Access(24, 24)
    assert found.datapath["sram", "I", "read"] == Access()


def test_outputs_are_as_wide_as_what_reaches_them() -> None:
    """In the registers partial sums of 4 bytes; in the SRAM only final outputs of 1 byte."""
    nest = [
        {"buffer": {"sram": "O"}},
        {"n": 1},
        {"m": 2},
        {"x": 3},
        {"buffer": {"reg": "O"}},
        {"l": 1},
        {"x": 1},
        {"m": 1},
    ]
    found = counted(nest)
    assert (found.need["sram"].O, found.need_bytes["sram"].O) == (12, 12)
    assert (found.need["reg"].O, found.need_bytes["reg"].O) == (6, 24)
    assert found.served["sram", "O", "write_partial"] == Access()
    # With the kernel in one cycle no partial sum reaches the registers either.
    whole = counted([{"buffer": {"reg": "O"}}, {"n": 1}, {"m": 1}, {"x": 1}], {"l": 2})
    assert (whole.need["reg"].O, whole.need_bytes["reg"].O) == (12, 12)


def test_lanes_share_what_they_read() -> None:
    """Four channels in one cycle read an element of I once."""
    found = counted([{"n": 1}, {"x": 1}, {"l": 1}], {"m": 4})
    assert found.served["dram", "I", "read"] == Access(10, 10)
    assert found.served["dram", "W", "read"] == Access(48, 48)


def test_widths_of_the_hierarchy_take_the_place_of_the_schedules() -> None:
    found = counted([{"n": 1}, {"m": 1}, {"x": 1}, {"l": 1}], bits={"I": 16, "W": 16, "O": 16, "acc": 16})
    assert found.served["dram", "O", "read_partial"] == Access(24, 48)
    assert found.served["dram", "O", "write"] == Access(24, 48)
