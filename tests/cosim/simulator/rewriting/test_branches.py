"""Values in the branches that read them: by hand, and random texts that have to compute the same."""

from hypothesis import given
from hypothesis import strategies as st

from cosim.simulator.rewriting.branches import Value, in_branches
from cosim.simulator.rewriting.statements import statements
from tests.cosim.simulator.rewriting.cpp import execute_text

REGISTERS = [f"r{n}" for n in range(4)]
WIRES = [f"w{n}" for n in range(6)]


def arranged(values: str, rest: str) -> str:
    """The text of values, one in each statement, and of what comes after them."""
    return in_branches([Value([statement]) for statement in statements(values)], statements(rest))


def test_a_value_is_computed_where_it_is_read() -> None:
    found = arranged("v = (a + 1U);\nw = (v + 2U);\n", "if (x) { r = w; }\n")
    assert found == ("    if (x) {\n        v = (a + 1U);\n        w = (v + 2U);\n        r = w;\n    }\n")


def test_a_value_that_is_read_anyway_stays() -> None:
    assert arranged("v = a;", "if (v) { r = v; }").startswith("    v = a;\n")
    assert arranged("v = a;", "r = v;").startswith("    v = a;\n")


def test_a_value_that_nothing_reads_is_left_out() -> None:
    assert "v" not in arranged("v = a;", "r = a;")


def test_what_a_value_depends_on_is_written_after_it_is_read() -> None:
    found = arranged("v = a;", "a = b;\nif (x) { r = v; }\n")
    assert found == "    if (x) {\n        v = a;\n        r = v;\n    }\n    a = b;\n"


def test_a_value_stays_if_what_it_depends_on_is_written_before() -> None:
    found = arranged("v = a;", "a = b;\nif (a) { r = v; }\n")
    assert found.startswith("    v = a;\n")
    assert arranged("v = a;", "if (x) { a = v; }").startswith("    v = a;\n")


def test_a_value_in_several_branches_is_computed_in_each() -> None:
    found = arranged("v = a;", "if (x) { r = v; }\nif (y) { s = v; } else { t = v; }\n")
    assert found.count("v = a;") == 3
    assert arranged("v = a;", "".join(f"if (x{n}) {{ r{n} = v; }}\n" for n in range(4))).count("v = a;") == 1


def test_branches_with_one_condition_are_one() -> None:
    found = arranged("", "if (x) { r = a; }\nb = r;\nif (x) { s = c; } else { s = d; }\n")
    assert found.count("if (x)") == 1
    assert arranged("", "if (x) { x = a; }\nif (x) { s = c; }\n").count("if (x)") == 2


@st.composite
def expressions(draw: st.DrawFn, names: list[str]) -> str:
    one, other = (draw(st.sampled_from([*names, "3U", "85U"])) for _ in range(2))
    return f"({one} {draw(st.sampled_from('+^&|'))} {other})"


@st.composite
def updates(draw: st.DrawFn, names: list[str], written: list[str], depth: int = 2) -> str:
    """A statement that writes some variables."""
    if depth and draw(st.booleans()):
        then, other = (
            " ".join(draw(st.lists(updates(names, written, depth - 1), min_size=1, max_size=2))) for _ in range(2)
        )
        return f"if ({draw(expressions(names))}) {{ {then} }}" + (
            f" else {{ {other} }}" if draw(st.booleans()) else ""
        )
    return f"{draw(st.sampled_from(written))} = {draw(expressions(names))};"


@given(data=st.data())
def test_random_texts_compute_the_same(data: st.DataObject) -> None:
    wires = [
        f"{wire} = {data.draw(expressions([*REGISTERS, *WIRES[:number]]))};" for number, wire in enumerate(WIRES)
    ]
    rest = data.draw(st.lists(updates([*REGISTERS, *WIRES], REGISTERS), min_size=1, max_size=8))
    state = {name: data.draw(st.integers(0, 255)) for name in REGISTERS} | dict.fromkeys(WIRES, 0)
    other = dict(state)
    execute_text("\n".join([*wires, *rest]), state)
    execute_text(arranged("\n".join(wires), "\n".join(rest)), other)
    assert [state[name] for name in REGISTERS] == [other[name] for name in REGISTERS]
