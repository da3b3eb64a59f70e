"""What is said of input that is nearly right: the nearest that is, what a file is, JSON where JSON was asked for."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

import hwgen.ir.builtin as builtin
from hwgen.cli.program.registry import COMMANDS, callback_of
from tests.cli.command_line import Run, refused
from tests.readers.integers.models import Draft, small

ROOT = Path(__file__).resolve().parents[3]
HWGEN = (sys.executable, "-c", "from hwgen.cli import main; main()")


@pytest.mark.parametrize(("typed", "meant"), [("1KB", "1KiB"), ("4k", "4KiB"), ("2kib", "2KiB"), ("1M", "1MiB")])
def test_the_nearest_size(run: Run, typed: str, meant: str) -> None:
    refused(run("schedule", "lenet", "--buffer", typed, "-o", "none"), f"got {typed!r} (did you mean {meant}?)")


def test_the_nearest_name(run: Run) -> None:
    refused(
        run("layers", "alexnit"), "alexnit: expected a file or one of the built-in layersets (did you mean alexnet?)"
    )
    refused(run("cosim", "lenet", "--hardware", "m4c4_1kb"), "(did you mean m4c4_1KiB?)")
    assert "did you mean" not in run("layers", "zzz").err


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_takes_one_value_is_given_once(run: Run, command: str) -> None:
    program = typer.Typer(add_completion=False)
    program.command(command)(callback_of(COMMANDS[command]))
    options = [one for one in typer.main.get_command(program).params if one.param_type_name == "option"]
    assert {option.name for option in options} >= {"wide", "quiet"}
    for option in options:
        if option.is_flag or option.multiple:  # type: ignore[attr-defined]
            continue
        long, short = max(option.opts, key=len), min(option.opts, key=len)
        given = run(command, "--help", long, 1, f"{long}=2", short, 3)  # what is not refused starts no work
        refused(given, f"hwgen: {long}: expected once", "got it 3 times")


def test_several_values_of_an_option(run: Run) -> None:
    """Flags may be repeated, and so may options that take a list; a list in one value is named."""
    twice = run("schedule", "lenet:C5", "--buffer", 256, "--buffers", 512)
    refused(twice, "--buffer: expected once, with commas between values, SIZE[,SIZE...], got it 2 times")
    assert run("layers", "lenet", "-q", "-q", "--json", "--json").status == 0
    refused(run("network", "none.onnx", "--input", "a.png", "--input", "b.png"), "none.onnx: cannot be read")


@pytest.mark.parametrize("key", ["in_channels", "input_chanels"])
def test_the_nearest_key_is_told_in_place_of_the_one_that_is_missing(run: Run, tmp_path: Path, key: str) -> None:
    table = tmp_path / "set.yaml"
    table.write_text(
        f"format: 1\nkind: layer_list\nnetwork: n\nlayers:\n- {{name: a, op: conv, {key}: 4, output_channels: 4, "
        "input_height: 6, input_width: 6, kernel: 3}\n"
    )
    refused(run("layers", table), f"layers: a: {key}: unknown key (did you mean input_channels?)")


def test_what_a_file_is(run: Run, tmp_path: Path) -> None:
    model, lite, array = small(tmp_path / "small.onnx"), tmp_path / "model.tflite", tmp_path / "x.yaml"
    lite.write_bytes(b"\x1c\0\0\0TFL3\xff\xfe")
    array.write_bytes(b"\x93NUMPY\x01\0")
    for one in (model, lite):
        refused(run("predict", one, one), "expected YAML, got a")
    refused(run("predict", lite), "expected a TFLite model (is the file whole?)")
    refused(run("layers", lite), "expected a TFLite model (is the file whole?)")
    other = tmp_path / "model.onnx"
    other.write_bytes(lite.read_bytes())
    refused(run("network", other), "expected an ONNX model, got a TFLite model", "whose name ends in .tflite")
    refused(run("layers", array), "expected YAML, got an array of NumPy")
    table = tmp_path / "table.yaml"
    table.write_text("format: 1\nkind: layer_list\n", encoding="utf-8")
    for command in ("network", "run"):
        refused(run(command, table, "--seed", 1, "-o", tmp_path / "o"), "expected a model, a file whose name ends in")


@pytest.mark.parametrize(
    "arguments",
    [
        ("layers", "alexnit"), ("predict", "none.yaml"), ("layers",), ("layers", "lenet", "--bufer", "1KiB"),
        ("lauers",), ("schedule", "lenet", "--buffer", "1KB"),
    ],
)  # fmt: skip
def test_an_error_is_json_where_json_was_asked_for(run: Run, arguments: tuple[str, ...]) -> None:
    answer = run(*arguments, "--json")
    assert answer.json == {"error": {"message": answer.err[len("hwgen: ") : -1], "status": 2}}
    assert run(*arguments).out == ""


def test_what_is_typed_to_install_a_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert builtin.how_to_install("onnx") == "pip install -e '.[onnx]'"
    monkeypatch.setattr(builtin, "_PACKAGE", tmp_path / "hwgen")
    assert builtin.how_to_install("onnx") == "pip install 'hwgen[onnx]'"


def test_streams_that_are_closed() -> None:
    closed = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *HWGEN, "layers", "lenet"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert (closed.returncode, closed.stderr.count("\n")) == (2, 1)
    assert closed.stderr.startswith("hwgen: standard output: expected to be open")
    others = subprocess.run(
        ["sh", "-c", '"$@" <&- 2>&-', "sh", *HWGEN, "layers", "lenet", "--json"], stdout=subprocess.PIPE, check=False
    )
    assert others.returncode == 0
    assert others.stdout.startswith(b"{")


def test_a_current_folder_that_was_removed(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    (tmp_path / "table.yaml").write_text("format: 1\n", encoding="utf-8")
    script = f'cd "{gone}" && rmdir "{gone}" && "$@"'
    answer = subprocess.run(
        ["sh", "-c", script, "sh", *HWGEN, "schedule", "lenet:C5", "--buffer", "256", "-o", "out", "--json"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "HWGEN_CACHE": str(tmp_path / "cache")},
    )
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.count("\n") == 1
    assert json.loads(answer.stdout)["error"]["status"] == 2


def test_a_quantised_network_of_which_only_shapes_would_be_generated(run: Run, tmp_path: Path) -> None:
    draft = Draft([1, 2, 5, 6])
    there = draft.both("x", 0.05, 100)
    weights = draft.weights(np.ones((2, 2, 1, 1)), [0.01, 0.02])
    made = draft.both(draft.node("Conv", there, weights, kernel_shape=[1, 1]), 0.1, 7)
    path = draft.write(tmp_path / "residual.onnx", draft.both(draft.node("Add", made, there), 0.2, 1), [1, 2, 5, 6])
    refused(
        run("generate", path, "--hardware", "m4c4_1KiB", "-o", tmp_path / "made"),
        "without the weights, 1 x add: expected a cluster with requantisation scaled (--hardware), or --partial",
    )
    assert not (tmp_path / "made").exists()
