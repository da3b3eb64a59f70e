"""Accesses of caches as they were counted: the file, and what the paper states of them."""

from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.papers.documents import csv_text
from hwgen.papers.yang.caches import CacheRow, cache_claims, cache_rows, measured_layers

ROWS = [
    CacheRow("Conv1", "blocked", 0.5, 10, 10), CacheRow("Conv1", "ATLAS", 0.5, 50, 60),
    CacheRow("Conv2", "blocked", 1.0, 10, 10), CacheRow("Conv2", "ATLAS", 1.0, 60, 55),
]  # fmt: skip


def test_ratios_are_judged_by_the_ranges_that_the_paper_states() -> None:
    claims = cache_claims(measured_layers(ROWS, "file"))
    fewest, atlas_2, mkl_2, avx2_2, atlas_3, mkl_3, avx2_3, falling, most = claims
    assert (fewest.verdict, atlas_2.verdict, atlas_2.found) == ("reproduced", "exceeded", "Conv1 5.0, Conv2 6.0")
    assert atlas_3.verdict == "reproduced"
    assert {one.verdict for one in (mkl_2, avx2_2, mkl_3, avx2_3)} == {"not judged"}
    assert falling.verdict == "not reproduced"
    assert (most.found, most.verdict) == ("L2: 83 %, L3: 83 %", "not reproduced")
    fewer = [*ROWS, CacheRow("Conv2", "MKL", 1.0, 100, 15)]
    _, _, mkl_2, _, _, mkl_3, _, _, most = cache_claims(measured_layers(fewer, "file"))
    assert (mkl_2.verdict, mkl_3.verdict, most.verdict) == ("exceeded", "not reproduced", "not reproduced")


def test_the_file_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "accesses.csv"
    path.write_text(csv_text(ROWS), encoding="utf-8")
    assert cache_rows(path) == ROWS


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected the columns layer,program,share,l2,l3"),
        ("layer,program,share,l2,l3\nConv1,blocked,1,2\n", "line 2: expected layer,program,share,l2,l3, got Conv1,b"),
        ("layer,program,share,l2,l3\nConv1,blocked,1,x,3\n", "line 2: expected layer,program,share,l2,l3, got"),
        ("layer,program,share,l2,l3\nConv1,blocked,2,2,3\n", "line 2: expected a share of at most 1"),
        ("layer,program,share,l2,l3\nConv1,ATLAS,1,2,3\n", "Conv1: expected a row of the program blocked"),
        ("layer,program,share,l2,l3\n", "expected a row for each layer and program, got none"),
    ],
)
def test_a_file_of_another_form_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "accesses.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        measured_layers(cache_rows(path), str(path))
