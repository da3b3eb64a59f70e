"""Statements of Verilator's C++: what they read, write and give a value to in any case."""

import pytest

from cosim.simulator.rewriting.statements import Statement, statements, written


def only(text: str) -> Statement:
    """The one statement of a text."""
    (found,) = statements(text)
    return found


def test_an_assignment() -> None:
    found = only("    vlSelfRef.a__DOT__b = (0xffU & ((IData)(vlSelfRef.c) + VL_EXTENDS_II(8,4, d)));\n")
    assert (found.reads, found.writes, found.fresh) == ({"c", "d"}, {"a__DOT__b"}, {"a__DOT__b"})


def test_an_index_is_read_and_a_part_leaves_the_rest() -> None:
    found = only("    vlSelfRef.a[(3U & vlSelfRef.i)][2U] = vlSelfRef.c;\n")
    assert (found.reads, found.writes, found.fresh) == ({"i", "c"}, {"a"}, set())


def test_a_variable_that_is_read_first_is_not_fresh() -> None:
    assert only("a = (1U & a);").fresh == set()
    assert only("if (a) { a = 0U; b = 1U; } else { b = c; a = b; }").fresh == {"b"}


def test_branches() -> None:
    found = only("if (VL_UNLIKELY((x))) { a = y; if (z) { b = 1U; } } else if (w) { a = 2U; } else { a = 3U; }")
    assert (found.reads, found.writes, found.fresh) == ({"x", "y", "z", "w"}, {"a", "b"}, {"a"})


def test_the_text_of_what_is_understood() -> None:
    found = only("if ((1U & x)) {\n a\n = y; } else if (w) { b[2U] = 2U; }")
    assert found.node is not None
    again = only(written([found.node]))
    assert again.node == found.node
    assert written([found.node]).startswith("    if ((1U & x)) {\n        a = y;\n    } else {\n        if (w) {\n")


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        (
            "VL_SHIFTL_WWI(65,65,5, __Vtemp_2, __Vtemp_1, (IData)(vlSelfRef.shift));",
            {"__Vtemp_2", "__Vtemp_1", "shift"},
        ),
        ("VL_FWRITEF_NX(file,\"%h;}\\n\",0,'#',32,(word));", {"file", "word"}),
        ("a = VL_RANDOM_I();", {"a"}),
        ("a = (b = c);", {"a", "b"}),
        ("if (x) { a = 1U; do { n = (1U + n); } while (n); }", {"a", "n"}),
        ("a += b;", {"a"}),
    ],
)
def test_of_other_statements_it_is_known_what_they_may_write(text: str, writes: set[str]) -> None:
    found = only(text)
    assert found.node is None
    assert found.writes >= writes
    assert found.fresh == set()


def test_one_after_the_other() -> None:
    text = "a = 1U;\n    if (b) {\n c = a; }\n else {\n c = 2U;\n }\n    d = c;\n"
    assert [sorted(statement.writes) for statement in statements(text)] == [["a"], ["c"], ["d"]]
