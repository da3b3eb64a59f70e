"""Latencies say what makes them, name hardware that is there, and agree with each other."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from hwgen.arch import latency

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "hwgen/arch/latency.py"


def sentences() -> dict[str, str]:
    """The text below each constant."""
    body = ast.parse(SOURCE.read_text(encoding="utf-8")).body
    found = {}
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper():
            text = after.value if isinstance(after, ast.Expr) else None
            found[node.targets[0].id] = text.value if isinstance(text, ast.Constant) else ""
    return found


def test_every_latency_has_a_sentence() -> None:
    assert set(sentences()) == set(latency.__all__)
    assert [name for name, text in sentences().items() if not text.endswith(".")] == []


@pytest.mark.parametrize("name", latency.__all__)
def test_the_hardware_that_a_sentence_names_is_there(name: str) -> None:
    for path in re.findall(r"`([a-z_]+(?:\.[A-Za-z_]+)+)`", sentences()[name]):
        parts = [part for part in path.split(".") if part.islower()]
        assert (ROOT / "hwgen/gateware" / Path(*parts)).with_suffix(".py").exists(), path
    for path in re.findall(r"`([a-z_]+(?:/[a-z_.]+)+)`", sentences()[name]):
        assert (ROOT / path).exists(), path


def test_states_of_the_placer_that_a_latency_counts() -> None:
    placer = (ROOT / "hwgen/gateware/hwc/input/placer.py").read_text(encoding="utf-8")
    columns = (ROOT / "hwgen/gateware/hwc/input/columns.py").read_text(encoding="utf-8")
    of = {
        path: set(re.findall(r'm\.State\("([A-Za-z-]+)"\)', text)) for path, text in (("p", placer), ("c", columns))
    }
    rows = {"Begin", "Corner", "Span", "Count-Rows", "Add-Rows"}
    skipped, rest = {"Place-Corner", "Place-Kept"}, {"Place-Rows", "Place-Line", "Place-End"}
    assert of["p"] == rows | skipped | rest | {"Idle", "Offer", "Overflow"}
    assert of["c"] == {"Idle", "Clip", "Place-Column", "Place-Word"}
    assert len(rows) == latency.INPUT_PLACE_ROWS
    assert len(rows | rest) == latency.INPUT_PLACE
    assert len(skipped) == latency.INPUT_PLACE_SKIPPED
    assert 3 + len(of["c"] - {"Idle"}) == latency.INPUT_PLACE_COLUMNS
