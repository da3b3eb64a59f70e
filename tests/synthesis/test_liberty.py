"""Liberty files: what is read of a library of a few cells, delays by hand, and files that are none."""

from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.synthesis.liberty import Macro, read_library
from tests.synthesis.few_cells import LIBRARY, write_library, write_macro


def test_cells_of_a_library(tmp_path: Path) -> None:
    found = read_library(write_library(tmp_path))
    assert found.corner == "few_cells, 1.1 V, 85 C"
    assert {name: (cell.area, cell.flip_flop) for name, cell in found.cells.items()} == {
        "INV": (1, False), "BUF": (1.25, False), "NAND2": (1.5, False), "NOR2": (1.75, False), "DFF": (6, True),
    }  # fmt: skip
    assert found.cells["NAND2"].inputs == {"A": 1, "B": 2}
    assert found.cells["DFF"].leakage == pytest.approx(10e-6)  # 10 nW in mW
    assert found.macros == {}


def test_a_cell_drives_four_inputs_like_its_own(tmp_path: Path) -> None:
    found = read_library(write_library(tmp_path))
    # An inverter with a load of 4: its output takes 4/10 of the 50 ps at a load of 10.
    assert found.transition == pytest.approx(20)
    assert found.delays["INV"] == pytest.approx({("A", "Y"): 0.014})
    # A fifth of the way from 0 to 100 ps of transition: 20 + 10 ps; a load of 4 adds 4 ps, of 8 from pin B 8 ps.
    assert found.delays["NAND2"] == pytest.approx({("A", "Y"): 0.034, ("B", "Y"): 0.038})
    assert found.delays["DFF"] == pytest.approx({("CK", "Q"): 0.104})
    assert found.setup(found.cells["DFF"], "D") == pytest.approx(0.009)


def test_axes_of_a_table_in_the_other_order(tmp_path: Path) -> None:
    file = tmp_path / "turned.lib"
    turned = LIBRARY.replace("variable_1 : input_net_transition", "variable_1 : total_output_net_capacitance")
    file.write_text(turned.replace('index_1 ("0, 100")', 'index_1 ("0, 10")'), encoding="utf-8")
    # Along the second axis, now the transition, an inverter's output has 0 ps at 0 ps: it stays there.
    assert read_library(file).transition == 0
    assert read_library(file).delays["INV"] == pytest.approx({("A", "Y"): 0.010})


def test_a_macro(tmp_path: Path) -> None:
    found = read_library(write_macro(tmp_path))
    assert (found.cells, found.macros) == ({}, {"RAM_256x16": Macro("RAM_256x16", 256, 16, 5000)})
    assert found.transition is None
    assert found.delays == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "expected a Liberty file, which begins with library"),
        ("library (a) { cell (b) { area : 1;", "expected a Liberty file, which begins with library"),
        ("library (a) { }", "expected a library with cells"),
        ("library (a) { cell (b) { } }", "cell b: expected an area"),
        ("library (a) { cell (b) { area : 1; memory () { } } }", "cell b: memory: expected address_width"),
    ],
)
def test_what_is_no_library(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "a.lib"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_library(file)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.lib: expected a Liberty file: No such file"):
        read_library(tmp_path / "nowhere.lib")
    with pytest.raises(InputError, match="expected a Liberty file: Is a directory"):
        read_library(tmp_path)
    file = tmp_path / "packed.lib.gz"
    file.write_bytes(b"\x1f\x8b\xff\x00")
    with pytest.raises(InputError, match=r"expected a Liberty file \(text\), got other bytes"):
        read_library(file)
