"""Which loop dimensions an operand has, and along which ones lanes lie, is said once, in `hwgen.ir`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from hwgen.ir.layer import DIMS, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS

ROOT = Path(__file__).resolve().parents[2]
NAMED = {DIMS, OUTPUT_DIMS, REDUCTION_DIMS, WEIGHT_DIMS}
OWNERS = {"hwgen/ir/layer.py", "hwgen/ir/lanes.py"}


def spelled(source: str) -> Iterator[int]:
    """Lines that spell one of the lists of dimensions, as a collection or as a string."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            found = tuple(item.value for item in node.elts if isinstance(item, ast.Constant))
            if len(found) == len(node.elts) and found in NAMED:
                yield node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and tuple(node.value) in NAMED:
            yield node.lineno


def test_lists_of_dimensions_are_spelled_in_one_place() -> None:
    files = [path for room in ("hwgen", "cosim") for path in (ROOT / room).rglob("*.py")]
    found = {
        f"{path.relative_to(ROOT)}:{line}"
        for path in files
        for line in spelled(path.read_text(encoding="utf-8"))
        if str(path.relative_to(ROOT)) not in OWNERS
    }
    assert len(files) > 100
    assert found == set()


@pytest.mark.parametrize(
    "source", ['("m", "y", "x")', '{"c", "k", "l"}', 'dim in "mckl"', '["m", "c", "y", "x", "k", "l"]']
)
def test_such_lists_are_seen(source: str) -> None:
    assert list(spelled(source)) == [1]


@pytest.mark.parametrize("source", ['("m", "y")', 'order = ("m", "y", "x", "c")', '"my"'])
def test_orders_of_loops_are_no_such_list(source: str) -> None:
    assert list(spelled(source)) == []
