"""One name for one thing: built-in names, options, help, completion, sizes; and messages that name the file."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hwgen.arch.hardware_file import load_hardware, read_hardware_data
from hwgen.cli.program.registry import COMMANDS
from hwgen.ir.builtin import builtin_names, named_file
from hwgen.ir.document import write_atomically
from hwgen.ir.layer_set import Totals
from hwgen.model.area.estimate import estimated_area
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.hwc.shared import best_shared
from tests.cli.command_line import Run, refused


def test_what_is_built_in(run: Run) -> None:
    names = builtin_names("layersets")
    shown, told = run("sets"), run("sets", "--json").json["sets"]
    assert [one["name"] for one in told] == names
    for one in told:
        assert one["macs"] == Totals.of(load_layer_set(one["name"]).layers).macs
        assert Path(one["file"]).is_file()
        assert one["name"] in shown.out
    shown, listed = run("hardware"), run("hardware", "--json").json["hardware"]
    assert [one["name"] for one in listed] == builtin_names("hardware")
    assert all(one["name"] in shown.out for one in listed)
    for one in listed:
        keys = {key: value for key, value in one.items() if key not in ("file", "estimated", "what_for")}
        estimated = estimated_area(read_hardware_data(keys, one["name"]))
        assert one["estimated"] == estimated.to_dict()
        assert f"{estimated.lut4:,}" in shown.out
    (alexnet,) = (one for one in listed if one["name"] == "alexnet_1KiB")
    assert alexnet["what_for"].startswith("The HWC of 1 KiB with lanes along x that has the least traffic")
    assert "The HWC of 1 KiB with lanes along x" in shown.out
    assert run("hardware", "cluster").out == named_file("hardware", "cluster").read_text(encoding="utf-8")
    assert run("hardware", "cluster", "--json").json == load_hardware(named_file("hardware", "cluster")).as_data()
    refused(run("hardware", "none"), "none: expected a file or one of the built-in hardware: alexnet_16bit")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps(run: Run, command: str) -> None:
    answer = run(command, "-h")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == run(command, "--help").out
    assert " ".join(COMMANDS[command].summary.split()) in " ".join(answer.out.split())
    assert "--buffers" not in answer.out


def test_both_names_of_the_buffer_are_taken(run: Run, tmp_path: Path) -> None:
    for option in ("--buffer", "--buffers", "--buffers=1KB"):
        value = [] if "=" in option else ["1KB"]
        message = "--buffer: expected sizes such as 512 or 1KiB,4KiB, from 1 byte to 16MiB, got '1KB'"
        refused(run("schedule", "lenet", option, *value), message)
        refused(run("cosim", "lenet", option, *value), message)
        refused(run("sweep", "lenet", "-o", tmp_path / "out", option, *value), message)
    refused(run("schedule", "lenet", "--buffer", "10TiB"), "from 1 byte to 16MiB, got '10TiB'")
    refused(
        run("depth-first", "fsrcnn", "--memory", "1KB"), "such as 256KiB or 2MiB, from 1 byte to 1024GiB, got '1KB'"
    )


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("hwgen layers sto", ["stoutchinin_2019"]),
        ("hwgen cosim --hardware alex", ["alexnet_16bit", "alexnet_1KiB", "alexnet_cluster"]),
        ("hwgen calibrate cluster_d", ["cluster_ddr3"]),
        ("hwgen regress-cl", ["regress-clusters"]),
    ],
)
def test_the_shell_completes(words: str, found: list[str], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"_HWGEN_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    answer = run()
    assert (answer.status, answer.out.split()) == (0, found)


def test_too_small_an_hwc_says_which_would_do(run: Run) -> None:
    refused(
        run("cosim", "lenet:C", "--buffer", "64"),
        "no HWC of 64 bytes runs all 3 layers; the smallest that would do has 168",
    )
    layers = load_layer_set("lenet:C").convolutions()
    assert sum(best_shared(layers, 168).needed.values()) <= 168
    with pytest.raises(ValueError, match="the smallest that would do has 168"):
        best_shared(layers, 167)


def test_what_is_no_folder_is_named(run: Run, tmp_path: Path) -> None:
    link = tmp_path / "dangling"
    link.symlink_to("nowhere")
    for command in (("schedule", "lenet", "--buffer", "64"), ("generate", "lenet"), ("depth-first", "fsrcnn")):
        refused(run(*command, "-o", link), f"-o: expected a folder, got {link}, a link to the missing nowhere")


def test_errors_of_the_system_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fdopen", full)
        with pytest.raises(OSError, match="No space left on device") as told:
            write_atomically(tmp_path / "a.yaml", "text")
    assert told.value.filename == str(tmp_path / "a.yaml")
    monkeypatch.setattr("hwgen.cli.commands.layers.print_json", full)
    refused(run("layers", "lenet", "--json"), f"a file in {Path.cwd()}", "No space left on device")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_behind_standard_output() -> None:
    program = [sys.executable, "-c", "from hwgen.cli import main; main()", "layers", "lenet"]
    with Path("/dev/full").open("w") as output:
        answer = subprocess.run(program, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stderr.startswith("hwgen: standard output, or ")
    assert answer.stderr.count("\n") == 1


def test_the_keys_of_a_hardware_file_are_described(run: Run) -> None:
    keys = {key["key"]: key for key in run("hardware", "--describe", "--json").json["keys"]}
    assert keys["cluster.hwcs"]["default"] == 4
    text = run("hardware", "--describe").out
    assert all(name in text for name in keys)
    assert "`" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert "lanes\n  meaning: shape of the datapath, such as {m: 4, x: 4}\n  values: powers of two" in text
    refused(run("hardware", "cluster", "--describe"), "--describe: expected no name beside it, got cluster")
