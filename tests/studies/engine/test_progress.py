"""What a sweep says while it runs."""

from pathlib import Path

import pytest

from hwgen.studies.engine import progress
from hwgen.studies.engine.attempt import Notes
from hwgen.studies.engine.progress import Progress


def test_after_some_silence_it_says_what_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    notes, told, shown = Notes(tmp_path), list[str](), list[str]()
    found = Progress(notes, lambda line, done, known: told.append(f"{done}/{known} {line}"),
                     lambda line, done, known: shown.append(line))  # fmt: skip
    titles = {"a": "plan shared 512", "b": "synthesis shared 512", "c": "waits"}

    def look(seconds: float) -> None:
        nonlocal now
        now += seconds
        found.look(titles, lambda: (1, 4))

    found.say("starting", 0, 4)
    notes.begin("a")
    notes.begin("b", "Yosys")
    look(1)
    assert told == ["0/4 starting"]  # not yet
    assert shown == ["plan shared 512, 0 s; synthesis shared 512: Yosys, 0 s"]
    look(0.1)
    assert len(shown) == 1  # just looked
    look(1)
    assert told[1:] == ["1/4 plan shared 512 ...; synthesis shared 512: Yosys ..."]
    notes.end("a")
    notes.begin("b", "nextpnr")
    look(2)
    assert told[2:] == ["1/4 synthesis shared 512: nextpnr ..."]
    look(60)
    assert len(told) == 3  # once
    assert shown[-1] == "synthesis shared 512: nextpnr, 0 s"


def test_notes_are_of_what_is_under_way(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    assert notes.under_way("ab12") is None
    notes.begin("ab12", "nextpnr, placing")
    seconds, stage = notes.under_way("ab12") or (-1.0, "")
    assert 0 <= seconds < 60
    assert stage == "nextpnr, placing"
    notes.end("ab12")
    assert notes.under_way("ab12") is None
    Notes(tmp_path / "none").begin("ab12")  # another machine's folder
    assert not (tmp_path / "none").exists()
