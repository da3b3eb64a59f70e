"""Memory levels: their order, and what is counted where they serve."""

import pickle
from dataclasses import fields

import pytest

from hwgen.ir.counts import Access, directions_at, quantities_at
from hwgen.ir.level import BUSES, DRAM, LEVELS, LOCAL, TCDM
from hwgen.ir.schedule import Marker, item_data, parse_item


def test_levels_go_inward() -> None:
    depths = [DRAM.depth, *(level.depth for level in LEVELS.values())]
    assert depths == sorted(set(depths))
    assert (DRAM.name in LEVELS, LEVELS["tcdm"], LEVELS["local"]) == (False, TCDM, LOCAL)


def test_what_each_level_does_with_data() -> None:
    assert (TCDM.shared, TCDM.prefetched) == (True, True)
    assert (LOCAL.shared, LOCAL.prefetched) == (False, False)


def test_a_level_survives_the_way_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(TCDM)) == TCDM
    assert len({TCDM, pickle.loads(pickle.dumps(TCDM)), LOCAL}) == 2


@pytest.mark.parametrize("name", BUSES)
def test_what_is_counted_is_a_count_of_an_access(name: str) -> None:
    assert set(quantities_at(name)) < {field.name for field in fields(Access)}
    assert ("P" in directions_at(name)) == BUSES[name].programs == (name == "dram")


@pytest.mark.parametrize("level", LEVELS.values(), ids=str)
def test_markers_name_their_level_in_files(level: object) -> None:
    assert level in (TCDM, LOCAL)
    marker = Marker(("I", "W"), TCDM if level == TCDM else LOCAL)
    assert parse_item(item_data(marker), 0) == (marker,)
    assert item_data(marker) == {"buffer": {"tcdm": ["I", "W"]} if level == TCDM else ["I", "W"]}
