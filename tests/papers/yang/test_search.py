"""The search of Yang et al. 2016 beside ours."""

import pytest

from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.model.nest.hierarchy_counts import counts_of, require_fit
from hwgen.papers.yang.search import level_by_level
from hwgen.search.hierarchy.optimal import objective_value, search_hierarchy


@pytest.mark.nightly
def test_level_by_level_fits_and_takes_no_less_energy_than_our_search() -> None:
    layer = Layer(name="cube", input_channels=12, output_channels=16, input_height=14, input_width=14, kernel=3)
    levels = [{"name": "dram"}, {"name": "sram", "bytes": 2000}, {"name": "reg", "bytes": 150}]
    hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
    schedule = level_by_level(layer, hierarchy)
    require_fit(counts_of(schedule, hierarchy), hierarchy, "cube")
    found = search_hierarchy(layer, hierarchy, effort=0.1)
    published = objective_value(schedule, hierarchy, "energy")
    assert found.bound <= found.value <= published <= 1.3 * found.value
