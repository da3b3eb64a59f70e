"""Clusters to choose from: a grid, and what is a step from a cluster."""

from types import SimpleNamespace
from typing import Any

import pytest

from hwgen.api.choosing import space
from hwgen.api.choosing.space import Candidate, Place, Space

BOUND = SimpleNamespace(has_vector_nodes=True, cycles=lambda hardware: 1000, guess=lambda hardware: 2000.0)
PLACE = Place((8, 8), 2, 1 << 16, 8, 2, (256, 256, 1024), (32, 32, 32), 64, False, 4)


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Candidate:
    """The cluster of a place of the grid."""
    for name, value in {"LANES": PLACE.lanes, "HWCS": PLACE.hwcs, "BUFFERS": PLACE.buffers, "PORTS": PLACE.ports,
                        "AXI_BITS": 64}.items():  # fmt: skip
        monkeypatch.setattr(space, name, (value,))
    return next(one for one in Space(BOUND).grid() if one.place == PLACE)


def test_a_step_changes_one_key_of_the_hardware(one: Candidate) -> None:
    here = one.hardware.as_data()
    found = {near.hardware.name: near for near in Space(BOUND, depthwise=True).near(one)}
    changed: dict[str, int] = {}
    for near in found.values():
        there = near.hardware.as_data()
        keys = different(here, there) - {"name", "budget"}
        if keys == {"cluster"}:
            keys = different(here["cluster"], there["cluster"])
        # Memories follow the lanes where these need them larger.
        (key,) = keys - ({"buffers"} if "lanes" in keys else set())
        changed[key] = changed.get(key, 0) + 1
    assert changed == {"lanes": 6, "hwcs": 2, "tcdm": 2, "banks": 2, "vector_elements": 2, "buffers": 5, "ports": 3,
                       "column_window": 1, "requantisers": 1}  # fmt: skip


def test_steps_end_at_what_a_network_needs_and_hardware_may_have(one: Candidate) -> None:
    for options in ({}, {"scaled": False}):
        near = [candidate.hardware for candidate in Space(BOUND, **options).near(one)]
        assert not any(hardware.column_window for hardware in near)
        assert any(hardware.requantisers != 4 for hardware in near) == ("scaled" not in options)
    assert isinstance(one.place, Place)
    most = one.place._replace(lanes=(16, 16), hwcs=2)
    (widest,) = Space(BOUND).at(most)
    assert all(near.hardware.shape.product <= space.MOST_MULTIPLIERS for near in Space(BOUND).near(widest))


def different(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Keys whose values differ."""
    return {key for key in {**one, **other} if one.get(key) != other.get(key)}
