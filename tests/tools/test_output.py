"""Folders that commands write into: one at a time, and whole."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hwgen.tools.output
from hwgen.ir.document import InputError
from hwgen.tools.output import claim, command, keep_unless_refused, write_together, writing_into

HOLDS = """
import sys, time
from pathlib import Path
from hwgen.tools.output import writing_into
with writing_into(Path(sys.argv[1])):
    print("there", flush=True)
    time.sleep(60)
"""


def everything(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_another_process_waits_or_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hwgen.tools.output, "WAIT_SECONDS", 0.1)
    folder = tmp_path / "new" / "out"
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(folder)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGSTOP)  # stopped midway
        with pytest.raises(InputError, match=f"{folder}: another process is writing into this folder"):
            write_together(folder, {"a": "1"})
        process.kill()
    monkeypatch.setattr(hwgen.tools.output, "WAIT_SECONDS", 10)
    write_together(folder, {"a": "1"})
    assert everything(folder) == {"a": "1"}


def test_one_process_may_begin_again_and_leaves_no_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "out"
    with writing_into(folder), writing_into(folder):
        assert folder.is_dir()
    assert list(tmp_path.iterdir()) == []
    with command():
        claim(folder)
        write_together(folder, {"a/b": "1"})
    assert everything(tmp_path) == {"new/out/a/b": "1"}


def test_what_cannot_all_be_written_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_together(tmp_path, {"a": "old", "b": "old"})
    write = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        if content == b"too much":
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_together(tmp_path, {"a": "new", "b": "too much"})
    assert raised.value.filename == str(tmp_path / "b")
    assert everything(tmp_path) == {"a": "old", "b": "old"}


KILLED = """
import os, signal, sys
from pathlib import Path
from hwgen.tools import output
write = output._write
def killed(part, content, target):
    if target.name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    write(part, content, target)
output._write = killed
output.write_together(Path(sys.argv[1]), {"a": "new", "b": "new"})
"""


def test_a_killed_one_changes_nothing_and_leaves_nothing_for_long(tmp_path: Path) -> None:
    write_together(tmp_path, {"a": "old", "b": "old"})
    assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    found = everything(tmp_path)
    assert (found["a"], found["b"]) == ("old", "old")
    write_together(tmp_path, {"c": "new"})
    assert everything(tmp_path) == {"a": "old", "b": "old", "c": "new"}


def test_links_are_followed_and_pipes_stay(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.write_text("old", encoding="utf-8")
    (folder / "link").symlink_to(elsewhere)
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", str(folder / "pipe")], stdout=subprocess.PIPE) as reader:
        write_together(folder, {"link": "new", "pipe": "said"})
        assert reader.communicate()[0] == b"said"
    assert (folder / "link").is_symlink()
    assert (folder / "pipe").is_fifo()
    assert elsewhere.read_text(encoding="utf-8") == "new"


def test_kept_results_of_what_is_refused_go(tmp_path: Path) -> None:
    folder, store = tmp_path / "out", tmp_path / "out" / ".found"

    def refused(error: BaseException) -> None:
        with command():
            claim(folder)
            keep_unless_refused(store)
            store.mkdir(exist_ok=True)
            (store / f"{type(error).__name__}.json").touch()
            raise error

    with pytest.raises(InputError):
        refused(InputError("late"))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        refused(KeyboardInterrupt())
    with pytest.raises(InputError):
        refused(InputError("late"))
    assert list(everything(tmp_path)) == ["out/.found/KeyboardInterrupt.json"]
