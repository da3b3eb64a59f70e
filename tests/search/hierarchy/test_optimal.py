"""The search on hierarchies against every nest of small layers, and its bound."""

from random import Random

import pytest

from hwgen.ir.document import InputError
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.search.hierarchy.optimal import HierarchyResult, search_hierarchy
from tests.random.hierarchy_brute_force import least_cost, small_case

QUICK = 10
CHUNKS, PER_CHUNK = 4, 80
SAME = 1e-9


def compare(seed: int, number: int) -> int:
    """Search and bound of random small layers against all nests; returns how many were proven."""
    rng = Random(seed)
    proven = 0
    for _ in range(number):
        layer, hierarchy = small_case(rng, rng.choice((1, 2, 2)))
        objective = rng.choice(("energy", "energy", "dram"))
        fills = objective == "energy" and rng.random() < 0.3
        least = least_cost(layer, hierarchy, objective, fills=fills)
        found = search_hierarchy(layer, hierarchy, objective, fills=fills, effort=0.3)
        where = (layer.model_dump(), hierarchy.as_data(), objective, fills)
        assert found.value == pytest.approx(least, rel=SAME), where
        assert found.bound <= least * (1 + SAME), where
        proven += found.gap == 0
    return proven


def test_search_finds_the_least_of_all_nests() -> None:
    assert compare(2016, QUICK) >= QUICK // 2


@pytest.mark.nightly
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_search_finds_the_least_of_all_nests_of_many(chunk: int) -> None:
    assert compare(chunk, PER_CHUNK) >= PER_CHUNK // 2


def test_a_stride_beyond_the_step_of_the_kernel() -> None:
    """Where I slides along the kernel it would be fetched anew: the search says so itself if the model differs."""
    rng = Random(4)
    for number in range(8):
        kernel, stride = (rng.randint(3, 6), rng.randint(1, 6)), (rng.randint(2, 4), rng.randint(1, 3))
        out = rng.randint(3, 9), rng.randint(1, 9)
        size = [(one - 1) * step + taps for one, step, taps in zip(out, stride, kernel, strict=True)]
        layer = Layer(
            name=f"strided_{number}", input_channels=rng.randint(1, 5), output_channels=rng.randint(1, 6),
            input_height=size[0], input_width=size[1], output_height=out[0], output_width=out[1], kernel=kernel,
            stride=stride,
        )  # fmt: skip
        levels = [{"name": "dram"}, {"name": "sram", "bytes": rng.choice((200, 900))}, {"name": "reg", "bytes": 60}]
        hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
        found = search_hierarchy(layer, hierarchy, effort=0.1)
        assert found.bound <= found.value


def _found(objective: str = "energy") -> HierarchyResult:
    layer, hierarchy = small_case(Random(5), 2)
    return search_hierarchy(layer, hierarchy, objective, effort=0.3)


def test_equal_input_gives_equal_output() -> None:
    assert _found().schedule == _found().schedule


def test_value_is_what_the_model_counts() -> None:
    found = _found("dram")
    served = sum(found.counts.served.operand_bytes(operand, "dram") for operand in ("I", "W", "O"))
    assert found.value == served
    assert _found().value == pytest.approx(_found().energy.total)


def test_unknown_objective() -> None:
    with pytest.raises(InputError, match="--objective: expected energy or a level"):
        _found("words")


def test_bytes_of_a_level_that_nothing_needs() -> None:
    layer, _ = small_case(Random(1), 1)
    levels = [{"name": "dram"}, {"name": "sram", "bytes": 64}, {"name": "reg", "bytes": 8}]
    hierarchy = Hierarchy.from_data({"format": 1, "kind": "hierarchy", "name": "h", "levels": levels})
    found = search_hierarchy(layer, hierarchy, "sram", effort=0.1)
    assert (found.value, found.gap) == (0, 0)
