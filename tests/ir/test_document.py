"""YAML in: one clear line for whatever is wrong with it. Files out: whole or not at all."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hwgen.ir import document
from hwgen.ir.builtin import builtin_names, builtin_path, named_file
from hwgen.ir.document import (
    InputError,
    Value,
    csv_lines,
    csv_value,
    json_text,
    load_yaml,
    row_digest,
    sealed,
    unsealed,
    validated,
    write_atomically,
)


class Point(Value):
    called = "point"

    x: int
    y: int = 0


def load(tmp_path: Path, text: str | bytes) -> object:
    path = tmp_path / "f.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_yaml(path)


BAD = [
    ("a: [1\nb: 2", ":2: expected YAML: "),
    ("a: 1\nb: {c: 1, c: 2}\n", ":2: expected YAML: c: key twice"),
    ("a: !!python/object/apply:os.system [id]", ":1: expected YAML: could not determine a constructor"),
    (b"\xff\xfe\xff", ": cannot be read: not UTF-8 text"),
    ("- " * 100_000, ":1: expected YAML: nested too deeply"),
    ("\n" + "[" * 100_000, ":2: expected YAML: nested too deeply"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_yaml_is_refused_in_one_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path}/f.yaml{message}")
    assert "\n" not in str(caught.value)


def test_bad_input_is_one_line_whatever_names_it_has() -> None:
    assert str(InputError("f.yaml: a\nb: unknown")) == "f.yaml: a b: unknown"


def test_merge_keys_are_no_duplicates(tmp_path: Path) -> None:
    assert load(tmp_path, "a: &p {x: 1}\nb: {<<: *p, y: 2}") == {"a": {"x": 1}, "b": {"x": 1, "y": 2}}


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.yaml: cannot be read: No such file or directory"):
        load_yaml(tmp_path / "missing.yaml")
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_yaml(tmp_path)


def test_first_violation_is_named() -> None:
    assert validated(Point, {"x": 3}, "p") == Point(x=3)
    for data, message in [
        (None, "p: expected a mapping with the keys of a point, got nothing"),
        ({}, "p: x: missing key"),
        ({"x": 1, "z": 1}, "p: z: unknown key"),
        ({"x": "one"}, "p: x: expected a whole number, got 'one'"),
    ]:
        with pytest.raises(InputError) as caught:
            validated(Point, data, "p")
        assert str(caught.value) == message


def test_a_bomb_of_aliases_is_not_printed(tmp_path: Path) -> None:
    lines = ["a0: &a0 [0, 0, 0, 0, 0, 0, 0, 0]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 12)]
    data = load(tmp_path, "\n".join(lines))
    assert isinstance(data, dict)
    with pytest.raises(InputError) as caught:
        validated(Point, {"x": data["a11"]}, "p")
    assert len(str(caught.value)) < 200


def test_values_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Point(x=1).x = 2  # type: ignore[misc]


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "f.txt"
    assert write_atomically(path, "one")
    stamp = path.stat().st_mtime_ns
    assert not write_atomically(path, "one")
    assert path.stat().st_mtime_ns == stamp

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(document.Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "two")
    assert [file.name for file in path.parent.iterdir()] == ["f.txt"]
    assert path.read_text(encoding="utf-8") == "one"


def test_binary_files_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f.txt"
    path.write_bytes(b"\xff")
    assert write_atomically(path, "text")
    assert path.read_text(encoding="utf-8") == "text"


def test_names_are_looked_up_not_made_into_paths(tmp_path: Path) -> None:
    assert "alexnet" in builtin_names("layersets")
    assert builtin_path("layersets", "../layersets/alexnet") is None
    assert named_file("layersets", "alexnet").name == "alexnet.yaml"
    own = tmp_path / "own"
    own.touch()
    assert named_file("layersets", str(own)) == own
    with pytest.raises(InputError, match="none: expected a file or one of the built-in layersets: alexnet, "):
        named_file("layersets", "none")


def test_scalars_of_numpy_and_what_json_cannot_write() -> None:
    data = {
        "equal": np.bool_(1),
        "words": (np.int64(3), 4),
        "gap": np.float64("inf"),
        "share": [float("nan"), np.float32(0.5)],
    }
    assert json.loads(json_text(data)) == {"equal": True, "words": [3, 4], "gap": None, "share": [None, 0.5]}
    with pytest.raises(TypeError, match="PosixPath"):
        json_text({"file": Path("a")})


def test_links_are_followed(tmp_path: Path) -> None:
    target, link, loop = tmp_path / "target", tmp_path / "link", tmp_path / "loop"
    link.symlink_to("target")
    for text in ("new", "newer"):  # to nothing, then to a file
        assert write_atomically(link, text)
        assert (link.is_symlink(), target.is_symlink(), target.read_text(encoding="utf-8")) == (True, False, text)
    loop.symlink_to("loop")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        write_atomically(loop, "text")
    assert sorted(tmp_path.iterdir()) == [link, loop, target]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for name in (pipe, link):
        with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
            write_atomically(name, "text")
            assert reader.communicate()[0] == b"text"
    assert (pipe.is_fifo(), link.is_symlink()) == (True, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_a_device_is_written_to_and_stays(tmp_path: Path) -> None:
    null, disk = tmp_path / "null", tmp_path / "disk"
    try:
        os.mknod(null, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        os.mknod(disk, stat.S_IFBLK | 0o600, os.makedev(7, 250))
        null.write_bytes(b"")
    except PermissionError:
        pytest.skip("no device nodes here")
    write_atomically(null, "text")
    assert null.is_char_device()
    with pytest.raises(OSError, match="expected a file") as raised:
        write_atomically(disk, "text")
    assert (disk.is_block_device(), raised.value.filename) == (True, str(disk))


def test_standard_output_is_written_to(tmp_path: Path) -> None:
    """Also where it is a file, which what is printed afterwards goes to, too. ``/dev/stdout`` is such a link."""
    code = (
        "from pathlib import Path; from hwgen.ir.document import write_atomically; print('before'); "
        "write_atomically(Path('{}'), 'text\\n'); print('after')"
    )
    out, link = tmp_path / "out", tmp_path / "link"
    link.symlink_to("/proc/self/fd/1")
    for name in (link, Path("/proc/self/fd/1")):
        with out.open("wb") as file:
            subprocess.run([sys.executable, "-c", code.format(name)], stdout=file, check=True)
        assert out.read_text(encoding="utf-8") == "before\ntext\nafter\n"
    assert (sorted(tmp_path.iterdir()), link.is_symlink()) == ([link, out], True)


def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from hwgen.ir.document import write_atomically; "
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        "write_atomically(Path(sys.argv[1]), 'long text')"
    )
    file = tmp_path / "file"
    assert subprocess.run([sys.executable, "-c", code, str(file)], check=False).returncode == -signal.SIGKILL
    assert not file.exists()
    write_atomically(file, "text")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {"file": "text"}


def test_text_that_a_spreadsheet_would_run_is_quoted() -> None:
    cells = ["=cmd|calc", "@sum", "+x", "-y", "-3", "-1e-3", "'", "plain", -2, 0.5]
    text = csv_lines([cells, ["a,b"]])
    assert text == "'=cmd|calc,'@sum,'+x,'-y,-3,-1e-3,',plain,-2,0.5\n\"a,b\"\n"
    (line, _) = csv.reader(text.splitlines())
    assert [csv_value(cell) for cell in line] == [str(cell) for cell in cells]


def test_a_sealed_document_is_read_as_it_was_written_or_not_at_all() -> None:
    text = sealed({"bytes": 8, "equal": True})
    assert unsealed(text) == {"bytes": 8, "equal": True}
    with pytest.raises(ValueError, match="changed since it was written"):
        unsealed(text.replace("8", "4", 1))
    with pytest.raises(ValueError, match="without a digest"):
        unsealed('{"bytes": 8, "equal": true}')


def test_the_digest_of_a_row_does_not_depend_on_its_file() -> None:
    row = {"layer": "a\nb", "bytes": 8, "ratio": 2.0, "equal": True, "reason": None, "exact": 0.1}
    as_csv = {"layer": "a b", "bytes": 8, "ratio": 2, "equal": True, "reason": "", "exact": 0.1}
    assert row_digest(row) == row_digest(as_csv) == row_digest({**row, "digest": "any"})
    others = ({"bytes": 9}, {"equal": False}, {"equal": None}, {"layer": "a"}, {"exact": 0.10000000000000002})
    assert len({row_digest({**row, **other}) for other in (*others, {})}) == 6
