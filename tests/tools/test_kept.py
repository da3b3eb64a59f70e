"""The cache: what is made once, what goes when it grows, and what stays."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.tools.kept import cache_limit, clear, entries, kept_folder, kept_text, locked_entry, trim
from hwgen.tools.processes import locked
from hwgen.tools.toolchain import cache_room


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    monkeypatch.delenv("HWGEN_CACHE_LIMIT", raising=False)
    return tmp_path


def build(cache: Path, name: str, size: int, hours: float) -> Path:
    """A build of ``size`` bytes that was last used ``hours`` hours ago."""
    folder = kept_folder(
        cache_room("builds") / name, lambda fresh: (fresh / "file").write_bytes(bytes(size)) and None
    )
    used = time.time() - 3600 * hours
    os.utime(folder / "complete", (used, used))
    return folder


def test_made_once(cache: Path) -> None:
    made: list[Path] = []

    def make(fresh: Path) -> None:
        made.append(fresh)
        (fresh / "file").write_text("whole", encoding="utf-8")

    for _ in range(2):
        folder = kept_folder(cache_room("builds") / "one", make)
        assert (folder / "file").read_text(encoding="utf-8") == "whole"
        assert kept_text(cache_room("verilog") / "one.v", lambda: f"made {len(made)}") == "made 1"
    assert len(made) == 1


def test_a_failure_leaves_nothing(cache: Path) -> None:
    def fail(fresh: Path) -> None:
        (fresh / "file").write_text("half", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept_folder(cache_room("builds") / "one", fail)
    assert entries() == []


def test_longest_unused_goes_first(cache: Path) -> None:
    oldest, used_again, newer = (build(cache, name, 1000, hours) for name, hours in (("a", 9), ("b", 8), ("c", 7)))
    kept_folder(cache / "builds" / "b", lambda fresh: pytest.fail("made again"))
    trim(3000)
    assert (oldest.exists(), used_again.exists(), newer.exists()) == (False, True, True)
    trim(0)
    assert (used_again.exists(), newer.exists()) == (True, False)  # what was just used may be about to start


def test_making_keeps_within_the_limit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE_LIMIT", "3KiB")
    for index in range(5):
        build(cache, f"n{index}", 1000, 5 - index / 10)
    assert [entry.path.name for entry in entries()] == ["n3", "n4"]
    assert sum(entry.size for entry in entries()) <= cache_limit() == 3072


def test_what_another_process_makes_stays(cache: Path) -> None:
    folder = build(cache, "a", 1000, 9)
    with locked(folder.with_suffix(".lock")):
        trim(0)
        assert clear() == (0, 0)
        assert folder.exists()
    assert clear()[0] == 1
    assert list((cache / "builds").iterdir()) == []


def test_limit_is_checked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_limit() == 1 << 30
    monkeypatch.setenv("HWGEN_CACHE_LIMIT", "1 GB")
    with pytest.raises(InputError, match=r"HWGEN_CACHE_LIMIT: expected a size such as 512MiB"):
        cache_limit()


def filled(fresh: Path) -> None:
    (fresh / "sim").mkdir()
    (fresh / "sim" / "program").write_bytes(b"program" * 100)
    (fresh / "log").write_text("said", encoding="utf-8")


def overwritten(file: Path) -> None:
    """By as many other bytes, with the time of before: only what is in it tells."""
    before = file.stat()
    file.write_bytes(bytes(before.st_size))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced_by(kind: str) -> Callable[[Path], None]:
    def replace(path: Path) -> None:
        subprocess.run(["rm", "-rf", str(path)], check=True)
        path.mkdir() if kind == "folder" else path.write_text("junk", encoding="utf-8")

    return replace


def another(path: Path) -> None:
    """An entry that is whole, in the place of one that was made of something else."""
    other = path.with_name("other.v" if path.suffix else "other")
    if path.suffix:
        kept_text(other, lambda: "module other")
    else:
        kept_folder(other, filled)
    subprocess.run(["rm", "-rf", str(path)], check=True)
    other.rename(path)


FILE_DAMAGES = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-3]),
    "emptied": lambda file: file.write_bytes(b""),
    "junk": lambda file: file.write_bytes(b"\xff\x00junk"),
    "overwritten": overwritten,
    "a number": lambda file: file.write_bytes(b"// hwgen 3\n"),
    "nested": lambda file: file.write_bytes(b"// hwgen " + b"[" * 100_000),
    "a folder": replaced_by("folder"),
    "another": another,
}


@pytest.mark.parametrize("damage", FILE_DAMAGES.values(), ids=FILE_DAMAGES)
def test_a_damaged_text_is_made_anew(
    cache: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    file = cache_room("verilog") / "one.v"
    assert kept_text(file, lambda: "module one\n") == "module one\n"
    damage(file)
    assert kept_text(file, lambda: "module two\n") == "module two\n"
    told = capsys.readouterr().err
    assert (told.startswith(f"hwgen: {file}: damaged ("), told.count("\n")) == (True, 1)
    assert kept_text(file, lambda: "module three\n") == "module two\n"
    assert capsys.readouterr().err == ""


FOLDER_DAMAGES = {
    "program truncated": lambda folder: FILE_DAMAGES["truncated"](folder / "sim" / "program"),
    "program overwritten": lambda folder: overwritten(folder / "sim" / "program"),
    "program gone": lambda folder: (folder / "sim" / "program").unlink(),
    "program a folder": lambda folder: replaced_by("folder")(folder / "sim" / "program"),
    "log emptied": lambda folder: (folder / "log").write_bytes(b""),
    "no list": lambda folder: (folder / "complete").unlink(),
    "list emptied": lambda folder: (folder / "complete").write_bytes(b""),
    "list junk": lambda folder: (folder / "complete").write_text('{"entry": 3, "files": [1]}', encoding="utf-8"),
    "list a folder": lambda folder: replaced_by("folder")(folder / "complete"),
    "a file": replaced_by("file"),
    "another": another,
}


@pytest.mark.parametrize("damage", FOLDER_DAMAGES.values(), ids=FOLDER_DAMAGES)
def test_a_damaged_folder_is_made_anew(
    cache: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    folder = kept_folder(cache_room("builds") / "one", filled)
    kept_folder(folder, lambda fresh: pytest.fail("made again"))
    damage(folder)
    made: list[Path] = []
    kept_folder(folder, lambda fresh: (made.append(fresh), filled(fresh))[1])
    told = capsys.readouterr().err
    assert (len(made), told.count("\n")) == (1, 1)
    assert told.startswith(f"hwgen: {folder}: damaged (")
    assert (folder / "sim" / "program").read_bytes() == b"program" * 100
    kept_folder(folder, lambda fresh: pytest.fail("made again"))
    assert capsys.readouterr().err == ""


def test_a_room_that_is_a_file_and_a_lock_that_is_a_folder_are_made_anew(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (cache / "builds").write_text("junk", encoding="utf-8")
    (cache_room("builds") / "one.lock").mkdir()
    folder = kept_folder(cache_room("builds") / "one", filled)
    assert capsys.readouterr().err.splitlines() == [
        f"hwgen: {cache / 'builds'}: damaged (a file where a folder belongs): made anew",
        f"hwgen: {folder}.lock: damaged (a folder where a lock belongs): made anew",
    ]
    assert (folder.with_suffix(".lock")).is_file()


def test_what_a_killed_process_was_making_goes(cache: Path) -> None:
    room = cache_room("builds")
    ours, others = room / "one.abc", room / "two.abc"
    for left in (ours, others):
        (left / "build").mkdir(parents=True)
    with locked_entry(room / "two"):
        kept_folder(room / "one", filled)
        assert (ours.exists(), others.exists()) == (False, True)
    kept_folder(room / "three", filled)
    assert sorted(path.name for path in room.iterdir() if path.is_dir()) == ["one", "three"]


@pytest.mark.parametrize("before", [None, 0o777, 0o755])
def test_it_is_the_user_s_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int | None) -> None:
    place = tmp_path / "cache"
    monkeypatch.setenv("HWGEN_CACHE", str(place))
    mask = os.umask(0)
    try:
        if before is not None:
            place.mkdir(mode=before)
            (place / "builds").mkdir(mode=before)
        kept_folder(cache_room("builds") / "one", filled)
    finally:
        os.umask(mask)
    assert [one.stat().st_mode & 0o777 for one in (place, place / "builds")] == [0o700, 0o700]


def test_another_user_s_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = cache_room("verilog") / "one.v"
    kept_text(file, lambda: "one")
    monkeypatch.setattr(os, "geteuid", lambda: cache.stat().st_uid + 1)
    with pytest.raises(
        InputError, match=r"HWGEN_CACHE: expected a folder of your own, since what it holds is executed: "
    ):
        cache_room("verilog")
    assert kept_text(file, lambda: "two") == "two"  # what another one has put there is not believed


def test_a_file_in_its_place_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="HWGEN_CACHE: expected a folder, got the file"):
        cache_room("builds")
