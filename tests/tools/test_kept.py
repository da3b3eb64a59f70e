"""The cache: what is made once, what goes when it grows, and what stays."""

import os
import time
from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.tools.kept import cache_limit, clear, entries, kept_folder, kept_text, trim
from hwgen.tools.processes import locked


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    monkeypatch.delenv("HWGEN_CACHE_LIMIT", raising=False)
    return tmp_path


def build(cache: Path, name: str, size: int, hours: float) -> Path:
    """A build of ``size`` bytes that was last used ``hours`` hours ago."""
    folder = kept_folder(cache / "builds" / name, lambda fresh: (fresh / "file").write_bytes(bytes(size)) and None)
    used = time.time() - 3600 * hours
    os.utime(folder / "complete", (used, used))
    return folder


def test_made_once(cache: Path) -> None:
    made: list[Path] = []

    def make(fresh: Path) -> None:
        made.append(fresh)
        (fresh / "file").write_text("whole", encoding="utf-8")

    for _ in range(2):
        folder = kept_folder(cache / "builds" / "one", make)
        assert (folder / "file").read_text(encoding="utf-8") == "whole"
        assert kept_text(cache / "verilog" / "one.v", lambda: f"made {len(made)}") == "made 1"
    assert len(made) == 1


def test_a_failure_leaves_nothing(cache: Path) -> None:
    def fail(fresh: Path) -> None:
        (fresh / "file").write_text("half", encoding="utf-8")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        kept_folder(cache / "builds" / "one", fail)
    assert entries() == []


def test_longest_unused_goes_first(cache: Path) -> None:
    oldest, used_again, newer = (build(cache, name, 1000, hours) for name, hours in (("a", 9), ("b", 8), ("c", 7)))
    kept_folder(cache / "builds" / "b", lambda fresh: pytest.fail("made again"))
    trim(2500)
    assert (oldest.exists(), used_again.exists(), newer.exists()) == (False, True, True)
    trim(0)
    assert (used_again.exists(), newer.exists()) == (True, False)  # what was just used may be about to start


def test_making_keeps_within_the_limit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HWGEN_CACHE_LIMIT", "2KiB")
    for index in range(5):
        build(cache, f"n{index}", 1000, 5 - index / 10)
    assert [entry.path.name for entry in entries()] == ["n3", "n4"]
    assert sum(entry.size for entry in entries()) <= cache_limit() == 2048


def test_what_another_process_makes_stays(cache: Path) -> None:
    folder = build(cache, "a", 1000, 9)
    with locked(folder.with_suffix(".lock")):
        trim(0)
        assert clear() == (0, 0)
        assert folder.exists()
    assert clear() == (1, 1000)
    assert list((cache / "builds").iterdir()) == []


def test_limit_is_checked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_limit() == 1 << 30
    monkeypatch.setenv("HWGEN_CACHE_LIMIT", "1 GB")
    with pytest.raises(InputError, match=r"HWGEN_CACHE_LIMIT: expected a size such as 512MiB"):
        cache_limit()
