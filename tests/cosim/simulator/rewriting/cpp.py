"""A small interpreter of the C++ that `cosim.simulator.rewriting.statements` understands."""

import re
from collections.abc import Sequence

from cosim.simulator.rewriting.statements import Assignment, Node, statements

__all__ = ["execute", "execute_text"]


def execute_text(text: str, state: dict[str, int]) -> None:
    """Execute statements on variables that hold numbers of eight bits."""
    found = [statement.node for statement in statements(text)]
    execute([node for node in found if node is not None], state)
    assert None not in found


def execute(nodes: Sequence[Node], state: dict[str, int]) -> None:
    """Execute understood statements."""
    for node in nodes:
        if isinstance(node, Assignment):
            assert not node.index
            state[node.name] = _value(node.value, state)
        else:
            execute(node.then if _value(node.condition, state) else node.otherwise, state)


def _value(expression: str, state: dict[str, int]) -> int:
    python = re.sub(r"\bvlSelfRef\.", "", re.sub(r"\b(\d+)U\b", r"\1", expression))
    return int(eval(python, {}, state)) & 255
