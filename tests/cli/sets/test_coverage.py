"""Work that no schedule does: refused with its share, or left out with `--partial` and said everywhere."""

from pathlib import Path
from typing import Any

import pytest

from hwgen.api.work import left_out, work_of
from hwgen.cli import console as messages
from hwgen.cli.workload import tell_set
from hwgen.ir.coverage import Coverage, LeftOut
from hwgen.ir.document import InputError
from hwgen.ir.layer_set import Network, save_network
from hwgen.readers.layer_sets import load_layer_set
from tests.cli.command_line import Run, refused

SIZES = {"input_channels": 4, "output_channels": 4, "input_height": 4, "input_width": 4}
CONV = {**SIZES, "name": "c", "op": "conv", "kernel": [3, 3], "output_height": 2, "output_width": 2}
POOL = {**SIZES, "name": "p", "op": "pool", "pool": "max", "kernel": [2, 2], "output_height": 3, "output_width": 3}
UP = {**SIZES, "name": "u", "op": "deconv", "kernel": [3, 3], "output_height": 6, "output_width": 6}
# 4 x 4 channels x 9 of the kernel at 2 x 2 outputs of the convolution, at 4 x 4 inputs of the deconvolution.
SHARE = 16 / (16 + 4)


def table(tmp_path: Path, *rows: dict[str, Any]) -> str:
    data = {"format": 1, "kind": "layer_list", "network": "n", "layers": list(rows)}
    path = tmp_path / "n.yaml"
    save_network(Network.from_data(data), path)
    return str(path)


COMMANDS = [
    ("schedule", "--buffer", "256"),
    ("schedule", "--hardware", "cluster"),
    ("schedule", "--buffer", "256", "--min-utilisation", "0"),
    ("generate", "-o", "{folder}/out"),
    ("cosim", "--buffer", "256"),
    ("sweep", "--buffer", "256", "-o", "{folder}/out"),
    ("regress", "-o", "{folder}/out"),
    ("synth",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_lost_work_is_refused_with_its_share(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    name, *options = (word.format(folder=tmp_path) for word in command)
    mixed = table(tmp_path, CONV, POOL, UP)
    refused(
        run(name, mixed, *options), f"{mixed}: no schedule for 80 % of the multiply-accumulates: u (", "--partial"
    )
    refused(run(name, table(tmp_path, UP), *options), "100 % of the multiply-accumulates", "that is all there is")
    refused(run(name, table(tmp_path, UP), *options, "--partial"), "that is all there is")
    refused(run(name, table(tmp_path, POOL), *options), "expected a layer with multiply-accumulates, got 1 pool")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("schedule", ["--buffer", "256"]),
        ("schedule", ["--buffer", "256", "--min-utilisation", "0"]),
        ("schedule", ["--hardware", "cluster"]),
    ],
)
def test_the_share_is_said(run: Run, tmp_path: Path, name: str, options: list[str]) -> None:
    mixed = table(tmp_path, CONV, POOL, UP)
    answer = run(name, mixed, *options, "--partial", "--json")
    assert answer.status == 0
    assert f"{mixed}: left out: 80 % of the multiply-accumulates: u (no schedule is made for deconv)" in answer.err
    (lost,) = answer.json["left_out"]["layers"]
    assert (answer.json["left_out"]["share"], answer.json["left_out"]["macs"]) == (SHARE, 16 * 16 * 9)
    assert (lost["name"], lost["op"], lost["macs"]) == ("u", "deconv", 16 * 16 * 9)


def test_what_generate_cosim_and_synth_work_on_says_it_too(tmp_path: Path) -> None:
    mixed = table(tmp_path, CONV, POOL, UP)
    (work,) = work_of([mixed], buffer="256", hardware="hwc", per_layer=True, partial=True)
    assert [schedule.layer.name for schedule in work.schedules] == ["c"]
    assert work.coverage is not None
    assert left_out([work]) == {"left_out": work.coverage.as_json()}
    assert work.coverage.share == SHARE


def test_rows_without_work_are_noted_not_lost(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(messages, "note", said.append)
    answer = run("schedule", table(tmp_path, CONV, POOL), "--buffer", "256", "--json")
    assert (answer.status, answer.err) == (0, "")
    nothing = {"share": 0.0, "macs": 0, "layers": [], "activations": []}
    assert answer.json["left_out"] == {**nothing, "without_work": {"pool": 1}}
    assert said == ["not scheduled: 1 pool (no multiply-accumulates)"]


ACTIVATED = [
    {**CONV, "name": "exact", "activation": "relu"},
    {**CONV, "name": "sloped", "activation": "leaky_relu"},
    {**CONV, "name": "capped", "activation": "relu6", "requantisation": {"ceiling": 96}},
    {**CONV, "name": "open", "activation": "relu6"},
    {**CONV, "name": "curved", "activation": "tanh"},
    {**CONV, "name": "said", "activation": "tanh", "requantisation": {"relu": True}},
]
OTHERS = [
    {"name": "sloped", "activation": "leaky_relu", "runs_as": "relu"},
    {"name": "open", "activation": "relu6", "runs_as": "relu"},
    {"name": "curved", "activation": "tanh", "runs_as": "none"},
]


def test_activations_that_run_as_another_one_are_named(run: Run, tmp_path: Path) -> None:
    name = table(tmp_path, *ACTIVATED)
    answer = run("schedule", name, "--buffer", "256", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.json["left_out"]["activations"] == OTHERS
    assert run("schedule", name, "--buffer", "256").out.splitlines()[-2:] == [
        f"{name}: activations that run as ReLU: sloped (leaky_relu), open (relu6)",
        f"{name}: activations that do not run, the outputs being linear: curved (tanh)",
    ]
    assert "activations that do not run, the outputs being linear: curved (tanh)" in run("layers", name).out
    assert run("layers", name, "--json").json["left_out"]["activations"] == OTHERS


def test_what_generate_and_cosim_print_names_activations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = table(tmp_path, *ACTIVATED)
    works = work_of([name], buffer="256", hardware="hwc", per_layer=True)
    tell_set(works)
    assert "curved (tanh)" in capsys.readouterr().out
    said: Any = left_out(works)["left_out"]
    assert said["activations"] == OTHERS
    ran = {one.layer.name: one.layer.requantisation for one in works[0].schedules}
    assert {layer for layer, one in ran.items() if one is not None and one.relu} == {*ran} - {"curved"}


def test_a_published_network(run: Run) -> None:
    refused(run("schedule", "fsrcnn", "--buffer", "1KiB"), "fsrcnn: no schedule for 36.4 %", "deconv")
    assert len(load_layer_set("fsrcnn").convolutions(partial=True)) == 7
    assert [layer.name for layer in load_layer_set("fsrcnn:map").convolutions()] == ["map1", "map2", "map3", "map4"]


def test_partial_is_for_a_set(run: Run) -> None:
    refused(run("cosim", "schedules/examples", "--partial"), "--partial: expected with a layer set")


def test_many_losses_are_a_number_and_an_unknown_one_makes_the_share_unknown() -> None:
    lost = tuple(LeftOut(name=f"n{number}", op="LSTM", reason="why", macs=1) for number in range(6))
    assert Coverage("n", (), lost).lost == (
        "100 % of the multiply-accumulates: n0 (why), n1 (why), n2 (why), n3 (why) and 2 more"
    )
    unknown = Coverage("n", (), (LeftOut(name="e", op="Einsum", reason="why"),))
    assert (unknown.share, unknown.lost) == (None, "an unknown share of the multiply-accumulates: e (why)")
    with pytest.raises(InputError, match=r"^n: no schedule for an unknown share"):
        unknown.require(partial=False)
