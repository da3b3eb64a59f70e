"""YAML in: one clear line for whatever is wrong with it. Files out: whole or not at all."""

import json
from pathlib import Path

import numpy as np
import pytest

from hwgen.ir import document
from hwgen.ir.builtin import builtin_names, builtin_path, named_file
from hwgen.ir.document import InputError, Value, json_text, load_yaml, validated, write_atomically


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
