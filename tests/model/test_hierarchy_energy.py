"""Energy by hand: bytes times the serving level's pJ, fills, multiply-accumulates; needs above a level's bytes."""

from typing import Any

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule
from hwgen.model.energy import energy_of
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit

LAYER = {
    "name": "fc", "op": "fc", "input_channels": 4, "output_channels": 8, "input_height": 1, "input_width": 1,
    "output_height": 1, "output_width": 1, "kernel": [1, 1],
}  # fmt: skip
NEST = [{"buffer": {"sram": "I"}}, {"m": 2}, {"buffer": {"reg": "O"}}, {"c": 1}, {"m": 1}]


def case(size: Any = 64) -> tuple[Schedule, Hierarchy]:
    """I in the SRAM for all outputs, two sums in the registers, W from the DRAM."""
    hierarchy = Hierarchy.from_data({
        "format": 1, "kind": "hierarchy", "name": "h",
        "levels": [{"name": "dram"}, {"name": "sram", "bytes": size}, {"name": "reg", "bytes": 8}],
        "energy": {"dram": 100.0, "sram": 10.0, "reg": 1.0, "mac": 0.5},
    })  # fmt: skip
    return hierarchy.read_schedule({"format": 1, "kind": "schedule", "layer": LAYER, "nest": NEST}), hierarchy


def test_energy_by_hand() -> None:
    schedule, hierarchy = case()
    found = energy_of(counts_of(schedule, hierarchy), hierarchy, schedule.layer.macs)
    # W: 32 bytes once. I: 4 bytes into the SRAM, 32 bytes from there. O: 8 final bytes; in the registers 24 partial
    # sums of 4 bytes are read and written, and 8 final bytes written.
    assert found.as_json() == {
        "levels": {
            "dram": {"I": 400.0, "W": 3200.0, "O": 800.0},
            "sram": {"I": 320.0, "W": 0.0, "O": 0.0},
            "reg": {"I": 0.0, "W": 0.0, "O": 200.0},
        },
        "mac": 16.0,
        "total": 4936.0,
    }


def test_fills_are_writes_into_the_level_that_receives() -> None:
    """I's 4 bytes are written into the SRAM; no partial sum comes back from the DRAM."""
    schedule, hierarchy = case()
    found = energy_of(counts_of(schedule, hierarchy), hierarchy, schedule.layer.macs, fills=True)
    assert found.levels["sram"]["I"] == 360.0
    assert found.total == 4936.0 + 40.0


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (9, None),
        ({"I": 4, "W": 5}, None),
        ({"I": 3, "W": 8}, "s.yaml: sram: expected at most 3 bytes of I, the schedule needs 4"),
        ({"W": 9}, "s.yaml: sram: expected at most 0 bytes of I, the schedule needs 4"),
    ],
)
def test_needs_above_the_bytes_of_a_level(size: Any, message: str | None) -> None:
    schedule, hierarchy = case(size)
    counts = counts_of(schedule, hierarchy)
    if message is None:
        require_fit(counts, hierarchy, "s.yaml")
        return
    with pytest.raises(InputError) as caught:
        require_fit(counts, hierarchy, "s.yaml")
    assert str(caught.value) == message


def test_a_level_for_all_operands_holds_their_sum() -> None:
    schedule, _ = case()
    small = Hierarchy.from_data({
        "format": 1, "kind": "hierarchy", "name": "h",
        "levels": [{"name": "dram"}, {"name": "sram", "bytes": 64}, {"name": "reg", "bytes": 7}],
    })  # fmt: skip
    with pytest.raises(InputError) as caught:
        require_fit(counts_of(schedule, small), small, "s.yaml")
    assert str(caught.value) == "s.yaml: reg: expected at most 7 bytes, the schedule needs 8 (I 0, W 0, O 8)"
