"""What a sweep says while it runs."""

from pathlib import Path

import pytest

from hwgen.studies.sweep import progress
from hwgen.studies.sweep.progress import Progress
from hwgen.studies.sweep.store import Store


def test_after_some_silence_it_says_what_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    store, told, shown = Store(tmp_path), list[str](), list[str]()
    found = Progress(store, lambda line, done, known: told.append(f"{done}/{known} {line}"),
                     lambda line, done, known: shown.append(line))  # fmt: skip
    titles = {"a": "plan shared 512", "b": "synthesis shared 512", "c": "waits"}

    def look(seconds: float) -> None:
        nonlocal now
        now += seconds
        found.look(titles, lambda: (1, 4))

    found.say("starting", 0, 4)
    store.begin("a")
    store.begin("b", "Yosys")
    look(1)
    assert told == ["0/4 starting"]  # not yet
    assert shown == ["plan shared 512, 0 s; synthesis shared 512: Yosys, 0 s"]
    look(0.1)
    assert len(shown) == 1  # just looked
    look(1)
    assert told[1:] == ["1/4 plan shared 512 ...; synthesis shared 512: Yosys ..."]
    store.end("a")
    store.begin("b", "nextpnr")
    look(2)
    assert told[2:] == ["1/4 synthesis shared 512: nextpnr ..."]
    look(60)
    assert len(told) == 3  # once
    assert shown[-1] == "synthesis shared 512: nextpnr, 0 s"
