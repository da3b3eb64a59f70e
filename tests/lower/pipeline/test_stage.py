"""Kinds of stages: every kind is in every room that needs it, and nothing outside asks which kind a stage is."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hwgen.arch.pipeline import Stage
from hwgen.arch.pipeline.stage import SingleMapStage, WindowStage
from hwgen.gateware.pipeline.stage import component_kinds
from hwgen.golden.network import RowData, row_output, row_requantisation
from hwgen.golden.phases import in_phases
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, Node
from hwgen.ir.operators import OPERATORS, Reading
from hwgen.lower.pipeline.stage import kind_of_row, stage_kinds

ROOT = Path(__file__).resolve().parents[3]
ASKS = re.compile(r"isinstance\([^)]*Stage\b|case \w+Stage\(|\.op (?:==|!=|in|not in) |match \w*node\.op:")


def kinds(base: type[Stage] = Stage) -> Iterator[type[Stage]]:
    for kind in base.__subclasses__():
        if kind not in (SingleMapStage, WindowStage):
            yield kind
        yield from kinds(kind)


def test_every_kind_is_known_to_lowering_and_gateware() -> None:
    known = sorted(kind.__name__ for kind in kinds())
    assert len(known) >= 5
    assert sorted(kind.parameters.__name__ for kind in stage_kinds()) == known
    assert sorted(kind.builds.__name__ for kind in component_kinds()) == known


def row(op: str) -> Node:
    """The smallest row of an operation."""
    one = {"name": op, "op": op, "input_channels": 1, "output_channels": 1, "input_height": 1, "input_width": 1,
           "output_height": 1, "output_width": 1, "kernel": [1, 1]}  # fmt: skip
    return Node.model_validate({**one, "pool": "max" if op == "pool" else None, "factor": 1})


def alone(node: Node) -> Network:
    """A network of one row."""
    source = {
        "name": "input",
        "channels": node.input_channels,
        "height": node.input_height,
        "width": node.input_width,
    }
    layers = [{**node.model_dump(mode="json", exclude_unset=True), "inputs": ["input"]}]
    return Network.from_data({"format": 1, "kind": "network", "network": "n", "input": source, "layers": layers})


@pytest.mark.parametrize("op", OPERATORS)
def test_an_operation_without_a_stage_has_no_reference_either(op: str) -> None:
    """But a transposed convolution, which runs in phases."""
    node = row(op)
    transposed = node.operator.reading(node) is Reading.TRANSPOSED
    if not any(kind.runs(node) for kind in stage_kinds()):
        with pytest.raises(InputError, match=f"^{op}: op: a depth-first pipeline has no stage for {op}(; .*)?$"):
            kind_of_row(node)
        if transposed:
            assert all(kind_of_row(one) for one in in_phases(alone(node)).layers)
            return
        with pytest.raises(InputError, match="expected one that depth-first hardware has"):
            row_output(node, RowData(), [])
    else:
        settings = kind_of_row(node).arithmetic(node, RowData(requantisation=row_requantisation(node)), "shift")
        assert "shift" in settings or not node.operator.requantises


def asking() -> Iterator[str]:
    """Lines that ask for the kind of a stage or for the name of an operation, outside the kinds themselves."""
    for path in [*(ROOT / "hwgen").rglob("*.py"), *(ROOT / "cosim").rglob("*.py")]:
        name = path.relative_to(ROOT).as_posix()
        if "/pipeline/stages/" in name or name in ("hwgen/ir/layer.py", "hwgen/ir/operators.py"):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if ASKS.search(line):
                yield f"{name}:{number}: {line.strip()}"


def test_nobody_else_asks_which_kind_it_is() -> None:
    assert not list(asking())


@pytest.mark.parametrize(
    "line", ["if isinstance(stage, JoinStage):", "case ConvStage():", 'if node.op == "add":', "match node.op:",
             'node.op in ("add", "concat")']
)  # fmt: skip
def test_what_the_search_finds(line: str) -> None:
    assert ASKS.search(line)
