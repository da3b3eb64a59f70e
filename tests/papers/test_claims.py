"""Verdicts from their parts, and the table of claims."""

from hwgen.papers.claims import Claim, claims_table, verdict_of, verdict_of_all


def test_a_verdict_is_that_of_all_parts() -> None:
    assert verdict_of([True, True]) == "reproduced"
    assert verdict_of([True, False]) == "reproduced in part"
    assert verdict_of([False]) == "not reproduced"
    assert verdict_of([]) == "not judged"


def test_a_counterexample_refutes_a_statement_about_all_cases() -> None:
    assert verdict_of_all([True, True]) == "reproduced"
    assert verdict_of_all([True, False, True]) == "refuted"
    assert verdict_of_all([]) == "not judged"


def test_every_claim_is_a_row_with_its_verdict() -> None:
    lines = claims_table([Claim("1", "a", "b", "c", "not reproduced"), Claim("2", "d", "e", "f", "refuted")])
    assert lines[2:] == ["| 1 | a | b | not reproduced | c |", "| 2 | d | e | refuted | f |"]
