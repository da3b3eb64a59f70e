"""Verdicts from quantities with two sides, and the table of claims."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hwgen.papers.claims import (
    Claim,
    Count,
    Largest,
    Least,
    OverAll,
    Quantity,
    about,
    between,
    cases,
    claims_table,
    of_a_part,
    share_of_cases,
)

REPRODUCED = ("reproduced", "reproduced in another reading")


def judged(*parts: Quantity, reading: str = "", refutable: bool = False) -> Claim:
    return Claim("1", "a", "b", "c", parts=parts, reading=reading, refutable=refutable)


def test_a_figure_is_reproduced_between_two_sides_only() -> None:
    assert judged(about("x", 14.7, 14)).verdict == "reproduced"
    assert judged(about("x", 13.3, 14)).verdict == "reproduced"
    assert judged(about("x", 13.2, 14, gain="more")).verdict == "not reproduced"
    assert judged(about("x", 14.8, 14, gain="more")).verdict == "exceeded"
    assert judged(about("x", 14.8, 14)).verdict == "not reproduced"
    assert judged(about("x", 13.2, 14, gain="less")).verdict == "exceeded"
    assert judged(about("x", 14.8, 14, gain="less")).verdict == "not reproduced"


def test_far_beyond_a_figure_is_exceeded_and_no_longer_reproduced() -> None:
    """A saving of 51 % where 3.9 % are printed, which is "not so marked"."""
    assert judged(between("saving", 51.1, 3.7, 4.1, "%", "more")).verdict == "exceeded"
    assert judged(between("saving", 3.9, 3.7, 4.1, "%", "more")).verdict == "reproduced"


def test_cases_that_were_not_computed_may_change_the_verdict() -> None:
    """From 10 to 20: what can still leave the range, or come into it, is not judged."""
    for kind, verdicts in (
        (Quantity, ("not reproduced", "reproduced", "not reproduced")),
        (Largest, ("not judged", "not judged", "not reproduced")),
        (Least, ("not reproduced", "not judged", "not judged")),
        (OverAll, ("not judged", "not judged", "not judged")),
        (Count, ("not judged", "reproduced", "not reproduced")),
    ):
        claims = [judged(kind("x", found, 10, 20)) for found in (9, 15, 21)]
        assert tuple(of_a_part(claim).verdict for claim in claims) == verdicts
        assert [claim.verdict for claim in claims] == ["not reproduced", "reproduced", "not reproduced"]
    open_and_wrong = judged(OverAll("x", 15, 10, 20), Quantity("y", 0, 1, 2))
    assert of_a_part(open_and_wrong) == open_and_wrong
    assert of_a_part(judged(OverAll("x", 15, 10, 20))).remark.endswith("can change the verdict. c")


def test_every_part_counts() -> None:
    low, inside, high = (about("x", value, 10, 0.1, gain="more") for value in (8, 10, 12))
    assert judged(inside, high).verdict == "exceeded"
    assert judged(inside, low).verdict == "not reproduced"
    assert judged(high, low).verdict == "not reproduced"
    assert judged(inside, inside).verdict_text == "reproduced"
    assert judged(inside, high, low).verdict_text == "not reproduced (1 of 3 within)"


def test_another_reading_is_named() -> None:
    one = judged(about("x", 10, 10), reading="bytes")
    assert (one.verdict, one.verdict_text) == (
        "reproduced in another reading", "reproduced in another reading: bytes",
    )  # fmt: skip
    assert judged(about("x", 1, 10), reading="bytes").verdict_text == "not reproduced: bytes"


def test_a_counterexample_refutes_in_the_papers_own_space_alone() -> None:
    assert judged(*cases("n", [True, True]), refutable=True).verdict == "reproduced"
    assert judged(*cases("n", [True, False]), refutable=True).verdict_text == "refuted in the paper's own space"
    assert judged(*cases("n", [True, False])).verdict == "not reproduced"


def test_without_quantities_nothing_is_judged_and_the_reason_is_told() -> None:
    assert cases("n", []) == share_of_cases("n", [], 50, 100) == ()
    assert judged().verdict == "not judged"
    with pytest.raises(ValueError, match="expected the reason why this is not judged"):
        Claim("1", "a", "b", "")


def test_a_tolerance_has_two_sides() -> None:
    for low, high in ((13, float("inf")), (float("-inf"), 1), (2, 1), (float("nan"), 1)):
        with pytest.raises(ValueError, match="x: expected a tolerance with two sides"):
            Quantity("x", 1, low, high)


def test_most_are_a_share() -> None:
    (most,) = share_of_cases("n", [True, True, False], 50, 100)
    assert (round(most.found), most.low, most.high, most.unit) == (67, 50, 100, "%")


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1), st.booleans())
def test_no_planted_figure_outside_its_tolerance_is_reproduced(
    parts: list[tuple[float, float, float]], read: bool
) -> None:
    quantities = [Quantity("x", found, low, low + width, gain="more") for found, low, width in parts]
    one = judged(*quantities, reading="r" if read else "")
    assert (one.verdict in REPRODUCED) == all(part.low <= part.found <= part.high for part in quantities)
    planted = replace(quantities[0], found=quantities[0].high + 1)
    assert judged(planted, *quantities[1:], reading="r" if read else "").verdict not in REPRODUCED


def test_every_claim_is_a_row_with_its_verdict() -> None:
    two = Claim("2", "d", "e", "f", scope="g", parts=(between("x", 3, 1, 2, "%"), between("y", 1, 1, 1)))
    lines = claims_table([Claim("1", "a", "b", "c"), two])
    assert lines[2:] == [
        "| 1 | a |  |  | b | not judged | c |",
        "| 2 | d | g | x: 1 to 2 %; y: 1 | e | not reproduced (1 of 2 within) | f |",
    ]
    assert claims_table([judged(*(about("x", 1, 1, 0.1) for _ in range(3)))])[2].split("|")[4] == " each: 0.9 to 1.1 "
    assert about("x", 1, 165e6, 0.01).tolerance == "163,350,000 to 166,650,000"
    assert claims_table([judged(about("x", 1, 1, 0.1))])[2].split("|")[4] == " x: 0.9 to 1.1 "
