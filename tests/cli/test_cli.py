"""The command line: what it prints, and that bad input is answered by one line and exit status 2."""

import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml

from hwgen import __version__
from hwgen.api.arguments import buffer_sizes, size_text
from hwgen.cli.program.registry import COMMANDS
from hwgen.ir.document import InputError
from hwgen.ir.schedule import Schedule, save_schedule
from hwgen.model.hwc.cycles import cycles
from hwgen.model.nest.one_level import PerOperand, predict
from hwgen.readers.layer_sets import load_layer_set
from tests.cli.command_line import Answer, Run, refused
from tests.ir.test_schedule import fig_8


@pytest.fixture
def schedule_file(tmp_path: Path) -> Path:
    path = tmp_path / "fig8.yaml"
    path.write_text(yaml.safe_dump(fig_8()), encoding="utf-8")
    return path


def test_version_and_help(run: Run) -> None:
    assert run("--version") == Answer(0, f"hwgen {__version__}\n", "")
    shown = run("--help")
    assert shown.status == 0
    for command in ("layers", "predict"):
        assert command in shown.out
        assert run(command, "--help").status == 0


def test_help_begins_with_what_is_used_every_day(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one column, each command once, those of a heading together, on a terminal of 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)
    shown = run("--help").out
    assert max(map(len, shown.splitlines())) == 80
    listed = re.findall(r"^│ ([a-z][a-z-]*)  ", shown, re.MULTILINE)
    assert listed == list(COMMANDS)
    everyday = ["schedule", "predict", "cosim", "generate", "run", "choose", "sweep", "report"]
    first = [name for name in everyday if name in COMMANDS]
    assert listed[: len(first)] == first
    headings = [entry.heading for entry in COMMANDS.values()]
    assert [heading for heading, _ in groupby(headings)] == list(dict.fromkeys(headings))
    assert list(dict.fromkeys(headings)) == ["Every day", "Inspect", "Hardware", "Study", "Housekeeping"]
    assert all(f"─ {heading} ─" in shown for heading in headings)
    places = [COMMANDS[name].heading for name in ("synth", "depth-first", "doctor")]
    assert places == ["Hardware", "Study", "Housekeeping"]


def test_layers(run: Run) -> None:
    answer = run("layers", "stoutchinin_2019:alexnet", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert [layer["name"] for layer in answer.json["layers"]] == [f"alexnet_{n}" for n in range(1, 6)]
    # Filters x channels x pixels x kernel of the five rows.
    macs = (
        96 * 3 * 55**2 * 11**2
        + 256 * 96 * 27**2 * 5**2
        + 384 * 256 * 13**2 * 3**2
        + 384 * 384 * 13**2 * 3**2
        + 256 * 384 * 13**2 * 3**2
    )
    assert answer.json["totals"]["macs"] == sum(layer["macs"] for layer in answer.json["layers"]) == macs
    table = run("layers", "alexnet")
    assert table.status == 0
    assert "724,406,816" in table.out
    assert all(node.name in table.out for node in load_layer_set("alexnet").layers)


def test_predict(run: Run, schedule_file: Path) -> None:
    prediction = predict(Schedule.from_data(fig_8()))
    (entry,) = run("predict", schedule_file, "--json").json["schedules"]
    assert (entry["layer"], entry["file"]) == ("conv4_2", str(schedule_file))
    assert entry["counts"] == prediction.counts.as_json()
    assert entry["allocated_bytes"] == prediction.allocated_bytes
    assert entry["buffer"]["O"] == {"elements": 192, "bytes": 768}
    least = {"I": 32, "W": 8, "O": 128}
    timed = cycles(Schedule.from_data(fig_8()), PerOperand(*(max(prediction.allocation[o], least[o]) for o in least)))
    assert entry["cycles"] == timed.total > prediction.iterations == timed.compute
    assert entry["stalls"] == {"input": timed.stalls.I, "weight": timed.stalls.W, "output": timed.stalls.O}
    (entry,) = run("predict", schedule_file, "--json", "--elements").json["schedules"]
    assert entry["counts"] == prediction.counts.as_json(elements=True)
    table = run("predict", schedule_file.parent)
    assert table.status == 0
    assert f"{prediction.total_bytes:,}" in table.out
    assert f"{timed.total:,}" in table.out


def with_layer(**changes: Any) -> dict[str, Any]:
    data = fig_8()
    data["layer"] |= changes
    return data


def with_nest(**item: Any) -> dict[str, Any]:
    data = fig_8()
    data["nest"][0] = item
    return data


BAD_SCHEDULES = [
    (with_layer(colour="red"), "bad.yaml: layer: colour: unknown key"),
    (with_layer(input_height=-28), "bad.yaml: layer: input_height: expected at least 1"),
    (with_layer(output_height=27), "bad.yaml: layer: output_height: expected 28 from input 28, padding 2, kernel 3"),
    (with_layer(name="../../etc/passwd"), "bad.yaml: layer: name: expected letters, digits"),
    (with_layer(name="a; rm -rf ~"), "bad.yaml: layer: name: expected letters, digits"),
    (with_nest(m=0), "bad.yaml: nest: item 0: m: expected a step of at least 1, got 0"),
    (with_nest(m=600), "bad.yaml: nest: m: 600: expected a step from 1 to 512"),
    (with_nest(buffer={"tcdm": "I"}), "bad.yaml: "),
    ({"kind": "schedule"}, "bad.yaml: format: expected 1, got nothing"),
    ("just text", "bad.yaml: expected a mapping with the keys of a schedule, got 'just text'"),
]


@pytest.mark.parametrize(("data", "message"), BAD_SCHEDULES)
def test_bad_schedules_are_refused(run: Run, tmp_path: Path, data: Any, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    for flags in ([], ["--json"]):
        refused(run("predict", path, *flags), message)


def test_unreadable_schedules_are_refused(run: Run, tmp_path: Path) -> None:
    refused(run("predict", tmp_path / "none.yaml"), "none.yaml: cannot be read: No such file or directory")
    refused(run("predict", tmp_path), "expected a folder with schedules (*.yaml)")
    broken = tmp_path / "broken.yaml"
    broken.write_text("format: [1\n", encoding="utf-8")
    refused(run("predict", broken), "broken.yaml:2: expected YAML")
    refused(run("predict", tmp_path / "two\nlines.yaml"), "cannot be read")
    (tmp_path / "table.yaml").write_text(yaml.safe_dump(load_layer_set("lenet").as_data()), encoding="utf-8")
    for layers in ("lenet:C3", tmp_path / "table.yaml"):
        what = f"expected schedules, got layers; to make some: hwgen schedule {layers} --buffer 1KiB -o DIR"
        refused(run("predict", layers), what)


BAD_TABLES = [
    ({"surprise": 1}, "layers: l1: surprise: unknown key"),
    (
        {"kernel": [0, 3]},
        "layers: l1: kernel: expected [height, width], or one number for both, from 1 to 65535, got [0, 3]",
    ),
    ({"input_width": -8}, "layers: l1: input_width: expected at least 1, got -8"),
    ({"output_width": 8}, "layers: l1: output_width: expected 6 from input 8, padding 0, kernel 3, stride 1, got 8"),
]


@pytest.mark.parametrize(("changes", "message"), BAD_TABLES)
def test_bad_tables_are_refused(run: Run, tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    row = {"name": "l1", "op": "conv", "input_channels": 2, "output_channels": 2, "input_height": 8, "input_width": 8,
           "output_height": 6, "output_width": 6, "kernel": [3, 3]}  # fmt: skip
    table = {"format": 1, "kind": "layer_list", "network": "n", "layers": [{**row, **changes}]}
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    refused(run("layers", path), f"table.yaml: {message}")


def test_nothing_from_a_file_reaches_the_terminal_as_an_escape(run: Run, tmp_path: Path) -> None:
    table = load_layer_set("lenet").as_data() | {"network": "\x1b[31m[bold]x[/nope] :smile:\n\x07"}
    path = tmp_path / "table.yaml"
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    shown = run("layers", path)
    assert shown.status == 0
    assert shown.out.startswith("?[31m[bold]x[/nope] :smile: ?")
    assert "\x1b" not in shown.out
    refused(run("layers", f"{path}:\x1b[2J"), "no layer's name starts with")
    refused(run("layers", "\udc80\x1b"), "??: expected a file")


def test_wrong_usage_is_refused(run: Run) -> None:
    refused(run("layers"), "Missing argument 'SET': A layer table (YAML, ONNX or TFLite)")
    refused(run("generate", "lenet"), "Missing option '-o' / '--output': Where the files go.")
    refused(
        run("layers", "nonet"),
        "nonet: expected a file or one of the built-in layersets (did you mean lenet?): alexnet, ",
    )
    refused(run("layers", "alexnet:zzz"), "no layer's name starts with 'zzz'")
    refused(run("layers", "alexnet", "--colour"), "No such option: --colour")
    refused(run("frobnicate"), "No such command 'frobnicate'")


@pytest.mark.parametrize("name", ["lenet", "inception_v3"])
def test_a_closed_pipe_ends_in_silence(name: str) -> None:
    command = [sys.executable, "-c", "from hwgen.cli import main; main()", "layers", name, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("1KiB", [1024]),
        ("512,1KiB, 4KiB", [512, 1024, 4096]),
        ("2048,2KiB", [2048]),
        ("1MiB", [1 << 20]),
        ("7B", [7]),
    ],
)
def test_buffer_sizes(text: str, sizes: list[int]) -> None:
    assert buffer_sizes(text) == sizes
    assert buffer_sizes(",".join(map(size_text, sizes))) == sizes


@pytest.mark.parametrize("text", ["", "0", "-1", "1kb", "1.5KiB", "1KiB,", "17MiB", "x" * 1000])
def test_bad_buffer_sizes(text: str) -> None:
    with pytest.raises(InputError, match=r"^--buffer: expected "):
        buffer_sizes(text)


def test_saved_schedules_are_found_in_a_folder(run: Run, tmp_path: Path) -> None:
    for name in ("b", "a"):
        save_schedule(Schedule.from_data(with_layer(name=name)), tmp_path / f"{name}.yaml")
    found = run("predict", tmp_path, tmp_path / "a.yaml", "--json").json["schedules"]
    assert [entry["layer"] for entry in found] == ["a", "b"]


def test_values_of_options_are_refused_without_the_parsers_words(run: Run) -> None:
    for jobs, said in (("0", "at least 1"), ("1.5", "a whole number")):
        answer = run("sweep", "lenet", "--buffer", "1KiB", "-j", jobs)
        refused(answer, f"hwgen: Invalid value for '--jobs' / '-j': expected {said}\n")
    refused(run("choose", "x.onnx", "--fps", "fast"), "hwgen: Invalid value for '--fps': expected a number\n")
    refused(run("paper", "sousa"), "hwgen: Invalid value for 'PAPER': 'sousa' is not one of 'stoutchinin-2019', ")
