"""Depth-first solutions read back: what was written, and one line for what is wrong."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hwgen.ir.document import InputError, dump_yaml
from hwgen.ir.excerpt import at_resolution
from hwgen.lower.pipeline.solution import is_solution, read_solution, solution_from_data
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.files import solution_data
from hwgen.search.pipeline.front import Front, search_front

NETWORK = at_resolution(load_layer_set("vgg_e_first5"), 24, 24)


@cache
def front() -> Front:
    return search_front(Graph.of(NETWORK), factors=(1, 2, 3))


def data_of(index: int) -> dict[str, Any]:
    return solution_data(NETWORK, front(), front().points[index])


def test_every_point_comes_back(tmp_path: Path) -> None:
    for index, point in enumerate(front().points):
        file = tmp_path / "depth_first.yaml"
        file.write_text(dump_yaml(data_of(index)), encoding="utf-8")
        solution = read_solution(file)
        assert (solution.stacks, solution.weights, solution.network) == (point.stacks, point.weights, NETWORK)
        assert sum(solution.traffic(stack).total for stack in solution.stacks) == point.traffic
    assert is_solution(tmp_path / "depth_first.yaml")
    assert not is_solution(tmp_path)


def test_a_solution_says_how_sums_become_outputs() -> None:
    assert solution_from_data(data_of(0), "f").requantisation == "shift"
    scaled = solution_data(NETWORK, front(), front().points[0], "scaled")
    solution = solution_from_data(scaled, "f")
    assert solution.requantisation == "scaled"
    plans = [plan_stack(solution, stack) for stack in solution.stacks]
    assert {plan.requantisation for plan in plans} == {"scaled"}
    with pytest.raises(InputError, match=r"^f: requantisation: expected .*shift.*scaled.*got .*rounded"):
        solution_from_data({**scaled, "requantisation": "rounded"}, "f")


def test_derived_figures_may_be_left_out() -> None:
    data = data_of(0)
    short = {key: data[key] for key in ("format", "kind", "network", "weights")}
    short["stacks"] = [{key: stack[key] for key in ("first", "last", "factor")} for stack in data["stacks"]]
    assert solution_from_data(short, "f").stacks == front().points[0].stacks


def stack(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data["stacks"][0][key] = value

    return change


def top(key: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        data[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (top("kind", "schedule"), "f: kind: expected depth_first, got 'schedule'"),
        (top("rules", "published"), "f: rules: expected default: the published rules leave out"),
        (top("stacks", []), "f: stacks: expected the last to end with conv3_1"),
        (top("traffic", {"total": 1}), "f: traffic: total: expected "),
        (top("more", 1), "f: more: unknown key"),
        (stack("first", "pool1"), "f: stacks: 0: first: expected conv1_1, got pool1"),
        (stack("last", "nothing"), "f: stacks: 0: last: expected conv1_1 or a row after it, got nothing"),
        (stack("factor", 99), "f: stacks: 0: factor: expected 1 to "),
        (stack("line_axis", "H"), "f: stacks: 0: line_axis: expected W, got H"),
        (stack("weights", 3), "f: stacks: 0: weights: expected "),
        (stack("traffic", {"input": 3}), "f: stacks: 0: traffic: input: expected 1728, got 3"),
        (stack("rings", []), "f: stacks: 0: rings: expected the rings of the model, or none"),
        (stack("through_dram", [["input", "conv1_1"]]), "f: stacks: 0: through_dram: expected an operand and a join"),
    ],
)
def test_refusals(change: Callable[[dict[str, Any]], None], message: str) -> None:
    data = data_of(0)
    change(data)
    with pytest.raises(InputError) as error:
        solution_from_data(data, "f")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_not_even_a_mapping() -> None:
    with pytest.raises(InputError, match="f: expected a mapping"):
        solution_from_data([], "f")
