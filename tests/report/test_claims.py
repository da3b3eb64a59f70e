"""Verdicts from their parts, and the table of claims."""

from hwgen.report.claims import Claim, claims_table, verdict_of


def test_a_verdict_is_that_of_all_parts() -> None:
    assert verdict_of([True, True]) == "reproduced"
    assert verdict_of([True, False]) == "reproduced in part"
    assert verdict_of([False]) == "not reproduced"
    assert verdict_of([]) == "not judged"


def test_every_claim_is_a_row_with_its_verdict() -> None:
    lines = claims_table([Claim("1", "a", "b", "c", "not reproduced"), Claim("2", "d", "e", "f")])
    assert lines[2:] == ["| 1 | a | b | not reproduced | c |", "| 2 | d | e | - | f |"]
