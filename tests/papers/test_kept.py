"""Claims as they are kept in the documentation: verdicts judged anew, the page, planted figures."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.papers.claims import Claim, between
from hwgen.papers.kept import PAGE, claims_bytes, command_text, kept_files, load_kept, papers_page

REPRODUCED = ("reproduced", "reproduced in another reading")


def test_the_page_is_what_is_kept() -> None:
    """Every figure of the page is in a kept file, beside its command; `python -m hwgen.papers.kept` writes the
    page.
    """
    every = [load_kept(path) for path in kept_files()]
    commands = {path.stem: kept.command for path, kept in zip(kept_files(), every, strict=True)}
    assert commands.pop("sousa-2022_table1") == "python -m examples.digits.fixed_point"
    assert all(command.split()[:3] == ["hwgen", "paper", paper] for paper, command in commands.items())
    assert PAGE.read_text(encoding="utf-8") == papers_page(every)


@pytest.mark.parametrize("path", kept_files(), ids=lambda path: path.stem)
def test_no_kept_verdict_survives_a_planted_figure(path: Path) -> None:
    for claim in load_kept(path).claims:
        assert (claim.verdict in REPRODUCED) == bool(claim.parts and all(part.holds for part in claim.parts))
        for number, part in enumerate(claim.parts):
            for planted in (part.high + 1 + abs(part.high), part.low - 1 - abs(part.low)):
                parts = [*claim.parts]
                parts[number] = replace(part, found=planted)
                other = replace(claim, parts=tuple(parts))
                assert other.verdict not in REPRODUCED, (claim.where, part.name)


def test_a_planted_verdict_is_refused(tmp_path: Path) -> None:
    claim = Claim("1", "a", "b", "c", parts=(between("x", 3, 1, 2),), scope="s")
    path = tmp_path / "claims.json"
    path.write_bytes(claims_bytes("hwgen paper some", [claim]))
    assert load_kept(path).claims == (claim,)
    assert load_kept(path).command == "hwgen paper some"
    data = json.loads(path.read_text())
    data["claims"][0]["verdict"] = "reproduced"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="1: expected the verdict not reproduced, got reproduced"):
        load_kept(path)


def test_commands_have_their_options() -> None:
    options = {"--networks": None, "--cpu": Path("a/b.csv"), "--rtl": True, "--small": False}
    assert command_text("some", options) == "hwgen paper some --cpu a/b.csv --rtl"


def test_the_page_has_command_counts_and_table(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_bytes(claims_bytes("hwgen paper some", [Claim("1", "a", "b", "c"), Claim("2", "a", "b", "c")]))
    page = papers_page([load_kept(path)])
    assert "## `hwgen paper some`\n\n2 claims and readings: 2 not judged.\n" in page
    assert "| 1 | a |  |  | b | not judged | c |" in page
