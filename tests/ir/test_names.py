"""Names of files and of constants in C: those that need no change stay, others never meet."""

from collections.abc import Callable
from itertools import combinations

import pytest

from hwgen.ir.names import LONGEST_NAME, c_name, file_names, plain_name, safe_name

FOLDED = ("a b", "a_b", "a/b", "a-b", "a.b", "a  b", "a_b ", "ä_b", "a_b.", "", "日本")
MADE = {
    plain_name: (*FOLDED, *("n" * 98 + end for end in ("x", "xx", "xxy", "xy" * 900))),
    c_name: ("conv1.1", "conv1_1", "conv1-1", "conv1+1", "conv1.1_writes", "conv1_1_writes", "A_b", "a_b"),
}


@pytest.mark.parametrize("made", MADE)
def test_other_names_are_made_into_other_names(made: Callable[[str], str]) -> None:
    names = MADE[made]
    found = [made(name) for name in names]
    assert len(set(found)) == len(names)
    # Nor is one that is made the name of something else.
    assert not {made(one) for one in found} & (set(found) - set(names))
    assert all(len(one) <= LONGEST_NAME for one in found)


def test_names_that_need_no_change_stay() -> None:
    for name in ("conv1", "a.b-c+d_e", "Conv_1", "_x", "net.v2"):
        assert plain_name(name) == name
    assert [c_name(name) for name in ("conv1", "Conv_1", "inputs", "x_1")] == ["conv1", "Conv_1", "inputs", "x_1"]
    assert file_names(["conv1", "conv2", "a.b"]) == ["conv1", "conv2", "a.b"]
    assert plain_name("") == ""


def test_a_constant_is_not_a_part_of_another_program() -> None:
    # Of a program `a` there is hwc_program_a_writes; a layer of that name gets a digest.
    assert c_name("a_writes") != "a_writes"
    assert c_name("a_cluster0") != "a_cluster0"


def test_files_of_layers_are_told_apart_without_capitals_too() -> None:
    for names in (
        ["A_b", "a_b"],
        ["a", "a", "a-2"],
        ["a", "A", "a", "A"],
        ["x.hardware", "x"],
        ["a", "A", file_names(["a", "A"])[0]],
    ):
        found = file_names(names)
        assert len({one.casefold() for one in found}) == len(names), names
    assert file_names(["a", "b", "a"]) == ["a", "b", "a-2"]
    # A schedule is not written over the hardware beside it, nor a folder over a file.
    assert not file_names(["shared.hardware"])[0].endswith(".hardware")
    assert file_names(["hardware.yaml", "b"], taken=["hardware.yaml"])[0] != "hardware.yaml"


def test_names_of_a_model_are_told_apart_without_capitals_too() -> None:
    taken: set[str] = set()
    found = [safe_name(name, taken) for name in ("Conv/1", "conv/1", "conv_1", "Conv", "conv")]
    assert all(one.casefold() != other.casefold() for one, other in combinations(found, 2))
