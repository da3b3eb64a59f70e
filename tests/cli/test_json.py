"""``--json``: standard output is one JSON document, of every command and for each kind of input that it takes.

It has no NaN, and no key that the page on JSON does not have. What a command does not take is one document, too.
"""

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from typer.models import ArgumentInfo

from hwgen.cli.program.registry import COMMANDS
from hwgen.ir.document import dump_yaml
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_network
from hwgen.search.pipeline.files import solution_data
from hwgen.search.pipeline.front import search_front
from tests.cli.command_line import Run
from tests.cli.json_keys import Key, keys_of, sections, undocumented
from tests.random.tflite_models import Drawn
from tests.readers.integers.models import Draft, small

LAYER = """{name: a, op: conv, input_channels: 3, output_channels: 4, input_height: 6, input_width: 5,
  output_height: 6, output_width: 5, kernel: [3, 3], padding: [1, 1, 1, 1]}"""
HEADER = f"format: 1\nkind: schedule\nlayer: {LAYER}\nlanes: {{x: 4}}\nnest:\n"
INNER = "- {buffer: O}\n- {c: 1}\n- {buffer: [I, W]}\n- {k: 1}\n- {l: 1}\n- {m: 1}\n- {y: 1}\n- {x: 4}\n"
FILES = {
    "table.yaml": f"format: 1\nkind: layer_list\nnetwork: table\nlayers:\n- {LAYER}\n",
    "network.yaml": f"""format: 1
kind: network
network: network
input: {{name: input, channels: 3, height: 6, width: 5}}
layers:
- {{inputs: [input], activation: relu, {LAYER[1:]}
- {{name: p, op: pool, pool: max, inputs: [a], input_channels: 4, output_channels: 4, input_height: 6, input_width: 5,
  output_height: 3, output_width: 2, kernel: [2, 2], stride: [2, 2]}}
""",
    "hwc.yaml": "format: 1\nkind: hardware\nname: hwc\nlanes: {m: 4, c: 4}\nbudget: 512\nrequantisation: scaled\n",
    "fixed.yaml": """format: 1
kind: hardware
name: fixed
lanes: {m: 4, c: 4}
budget: 1024
buffers: {I: 176, W: 80, O: 768}
order: [m, y, x, {buffer: O}, c, {buffer: I}, k, {buffer: W}, l, m, y, x]
requantisation: scaled
""",
    "cluster.yaml": """format: 1
kind: hardware
name: cluster
lanes: {x: 4}
budget: 512
cluster: {hwcs: 2, tcdm: 8192, banks: 4, axi_bits: 64}
""",
    "hierarchy.yaml": "format: 1\nkind: hierarchy\nname: two\nlevels:\n- {name: dram}\n- {name: sram, bytes: 512}\n",
    "tight.yaml": "format: 1\nkind: hierarchy\nname: tight\nlevels:\n- {name: dram}\n- {name: sram, bytes: 100}\n",
    "mapping.txt": "m:4 [O in Buf] c:1 [I, W in Buf] m:1 p:1 q:1 r:1 s:1",
    "one_level/a.yaml": f"{HEADER}- {{m: 4}}\n{INNER}",
    "two_levels/a.yaml": f"""{HEADER}- buffer: {{tcdm: [I, W, O]}}
- {{m: 4}}
- {{y: {{step: 3, over: hwc}}}}
{INNER}""",
    "levels/a.yaml": HEADER
    + "- buffer: {sram: [I, W]}\n- {m: 1}\n- {c: 1}\n- {k: 1}\n- {l: 1}\n- {y: 1}\n- {x: 4}\n",
}

SETS = ("table.yaml", "network.yaml", "lenet:C5", "float.onnx", "quantised.onnx", "quantised.tflite")
QUANTISED = ("quantised.onnx", "quantised.tflite")
SCHEDULES = ("one_level/a.yaml", "one_level")
SOLUTION = ("depth_first.yaml",)
KINDS = (*SETS, "hierarchy.yaml", "hwc.yaml", *SCHEDULES, *SOLUTION)
"""An input of each kind: layer tables, built-in sets, models, hierarchies, hardware, schedules, solutions."""
TAKEN = {
    "layers": ("layers {}", SETS),
    "network": ("network {}", QUANTISED),
    "hardware": ("hardware {}", ("hierarchy.yaml", "hwc.yaml")),
    "import-mapping": ("import-mapping {} --from accelforge --layer table.yaml", ()),
    "schedule": ("schedule {} --buffer 512", SETS),
    "predict": ("predict {}", (*QUANTISED, *SCHEDULES, *SOLUTION)),
    "depth-first": ("depth-first {}", ("network.yaml", "float.onnx", "quantised.onnx")),
    "cosim": ("cosim {}", (*SETS, *SCHEDULES, *SOLUTION)),
    "generate": ("generate {} -o out", (*SETS, *SCHEDULES, *SOLUTION)),
    "run": ("run {} --seed 1 -o out", QUANTISED),
    "build": ("build {} --simulate -o out", QUANTISED),
    "choose": ("choose {} --minutes 0.001 -o out", SETS),
    "sweep": ("sweep {} --buffer 512 --lanes x4 --no-sim -j 1 -o out", SETS),
    "report": ("report {} -o page", ()),
    "synth": ("synth {} --blocks", (*SETS, "hwc.yaml", *SCHEDULES, *SOLUTION)),
    "design": ("design {} --cores 1 --sram 4KiB -o out", SETS),
    "calibrate": ("calibrate {} --tiles 10", ()),
    "pack": ("pack {} --operands operands", ()),
    "paper": ("paper {} -o out", ()),
    "regress": ("regress {} --buffer 512 --model --per-layer -o out", SETS),
    "regress-clusters": ("regress-clusters {} --hardware cluster.yaml -o out", ()),
}
"""Commands with an input: how they are called, and which of `KINDS` they take."""
SOON = ("layers", "network", "hardware", "schedule", "predict", "depth-first")
"""Those that take any input in a second or two."""

QUICK = """
network quantised.onnx --seed 1 -o out
network quantised.tflite --seed 1
network quantised.onnx --hardware fixed.yaml
sets
hardware
hardware --describe
hardware cluster_64_ddr3
hardware diannao
cache
doctor
schedule lenet:C5 --buffer 1KiB
schedule table.yaml --buffer 256,512 -o out
schedule table.yaml --buffer 256 --objective with-bias
schedule table.yaml --buffer 256 --objective words
schedule table.yaml --buffer 256 --objective cycles
schedule network.yaml --buffer 256
schedule quantised.onnx --buffer 256
schedule table.yaml --buffer 512 --hardware hwc.yaml
schedule table.yaml --buffer 512 --shared --multipliers 4
schedule table.yaml --buffer 1KiB --min-utilisation 0.1 --lanes x4
schedule table.yaml --buffer 1KiB --min-utilisation 0.1 --lanes x4 --shared
schedule table.yaml --hardware cluster.yaml
schedule table.yaml --hardware cluster.yaml --objective energy --energy 100,10,1,1
schedule table.yaml --hierarchy hierarchy.yaml -o out
schedule table.yaml --hierarchy tight.yaml
schedule table.yaml --hierarchy hierarchy.yaml --fills
schedule table.yaml --hierarchy hierarchy.yaml --objective dram
import-mapping mapping.txt --from accelforge --layer table.yaml -o theirs/nest.yaml; predict theirs
predict one_level/a.yaml --elements
predict one_level
predict two_levels
predict two_levels --hardware cluster.yaml --elements
predict levels --hierarchy hierarchy.yaml --fills
predict depth_first.yaml
predict depth_first.yaml --macs 8 --dram cluster.yaml
predict quantised.onnx --depth-first --macs 8
predict quantised.onnx --depth-first --macs 8 --hardware cluster_16_vector
calibrate cluster.yaml --tiles 10
fuzz --cases 1 --what files -o out
depth-first network.yaml
depth-first network.yaml --memory 1KiB -o out
design table.yaml --levels 3 --sizes 512,1KiB --sram 2KiB -o out
design table.yaml --cores 1 --sram 4KiB -o out
regress table.yaml --buffer 512 --model --per-layer -o out
sweep network.yaml --depth-first --memory 1KiB --no-sim -j 1 -o out; report out -o page
""".strip().splitlines()

NIGHTLY = """
predict quantised.onnx --hardware cluster_64_vector,hwc_16 --resident --mhz 100
predict quantised.tflite --hardware hwc_16
generate quantised.tflite --hardware cluster_64_vector -o out
choose quantised.onnx --luts 40000 --minutes 0.001 -o out
choose quantised.tflite --fps 1000 --mhz 50 --minutes 0.001 --no-confirm
run quantised.onnx --seed 1 -o out
run quantised.tflite --hardware hwc_16 --seed 1 --sim icarus -o out
schedule table.yaml --hardware cluster.yaml --objective dram-bytes --per-layer
schedule table.yaml --hardware cluster.yaml --objective dram-time
generate one_level -o out; pack out --operands operands
generate table.yaml --buffer 512 -o out; cosim --program out --sim icarus
generate table.yaml --hardware cluster.yaml -o out; cosim --program out
generate two_levels --hardware cluster.yaml --clusters 2 -o out
generate depth_first.yaml --macs 8 -o out
cosim one_level --sim icarus
cosim table.yaml --per-layer --buffer 512 --sim icarus
cosim two_levels --hardware cluster.yaml
cosim two_levels --hardware cluster.yaml --clusters 2
cosim depth_first.yaml --macs 8 --sim icarus
run quantised.onnx --hardware fixed.yaml --seed 1 --sim icarus -o out
run quantised.tflite --depth-first --seed 1 --sim icarus -o out
run quantised.onnx --depth-first --hardware cluster_16_vector --seed 1 -o out
regress table.yaml --buffer 512 --shared -o out
regress-clusters two_levels --hardware cluster.yaml -o out
regress-stacks --small -o out
regress-ways --small -o out
demo -o out --rtl rtl
synth one_level
synth hwc.yaml
synth cluster.yaml --blocks
synth two_levels --hardware cluster.yaml --blocks
synth depth_first.yaml --macs 8 --blocks
sweep table.yaml --buffer 512 --lanes x4 -j 1 -o out; report out -o page
sweep table.yaml --buffer 256 --cluster 1 --tcdm 8KiB --no-sim -j 1 -o out
paper yang-2016 -o out
""".strip().splitlines()


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an input of each kind, where commands run."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    small(tmp_path / "quantised.onnx")
    draft = Draft([1, 2, 5, 6])
    made = draft.node("Conv", "x", draft.constant(np.ones((3, 2, 3, 3))), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    draft.write(tmp_path / "float.onnx", made, [1, 3, 5, 6])
    Drawn(3).write(tmp_path / "quantised.tflite", ["convolution", "pool", "mean", "product", "softmax"])
    (tmp_path / "operands").mkdir()
    np.save(tmp_path / "operands" / "a.W.npy", np.ones((4, 3, 3, 3), np.int8))
    network = load_network(tmp_path / "network.yaml")
    front = search_front(Graph.of(network))
    (tmp_path / "depth_first.yaml").write_text(dump_yaml(solution_data(network, front, front.points[0])))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(run: Run, commands: str) -> None:
    for command in commands.split(";"):
        name, *arguments = shlex.split(command)
        answer = run(name, *arguments, "--json")
        assert answer.status == 0, answer.err
        assert isinstance(answer.json, dict), command
        assert undocumented(name, answer.json) == [], command


def taken() -> Iterator[object]:
    """A command line for each command and each kind of input that it takes."""
    for name, (form, kinds) in TAKEN.items():
        marks = () if name in SOON else (pytest.mark.nightly,)
        yield from (pytest.param(form.format(kind), marks=marks, id=form.format(kind)) for kind in kinds)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", QUICK)
def test_one_document(run: Run, commands: str) -> None:
    answers(run, commands)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("command", list(taken()))
def test_one_document_of_every_kind_of_input(run: Run, command: str) -> None:
    answers(run, command)


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("name", TAKEN)
def test_one_document_of_an_input_that_is_not_taken(run: Run, name: str) -> None:
    form, kinds = TAKEN[name]
    for kind in KINDS:
        if kind not in kinds:
            answer = run(*shlex.split(form.format(kind)), "--json")
            assert answer.status == 2, kind
            assert answer.json == {"error": {"message": answer.err[len("hwgen: ") : -1], "status": 2}}, kind
            assert undocumented(name, answer.json) == []


@pytest.mark.nightly
@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", NIGHTLY)
def test_one_document_of_commands_that_take_long(run: Run, commands: str) -> None:
    answers(run, commands)


def test_no_command_is_left_out() -> None:
    called = {command.split()[0] for commands in QUICK + NIGHTLY for command in commands.split(";")} | {*TAKEN}
    found = {name: entry.function for name, entry in COMMANDS.items()}
    assert called == {name for name, one in found.items() if "as_json" in inspect.signature(one).parameters}
    with_input = {name for name, one in found.items() if _has_input(one)}
    assert {*TAKEN} == with_input
    assert {*sections()} > {f"hwgen {name}" for name in called}


def _has_input(command: object) -> bool:
    hints = get_type_hints(command, include_extras=True).values()
    return any(isinstance(extra, ArgumentInfo) for hint in hints for extra in get_args(hint)[1:])


def test_a_key_that_the_page_does_not_have_is_found() -> None:
    assert keys_of("Cost") == (Key(("total_bytes",)), Key(("cycles",)), Key(("mhz",)))
    layer = {"name": "a", "op": "conv", "macs": 1, "reason": "no"}
    assert undocumented("layers", {"left_out": {"layers": [layer], "without_work": {"pool": 1}}}) == []
    assert undocumented("layers", {"left_out": {"layers": [{**layer, "why": "no"}]}}) == ["left_out.layers.[].why"]
    counts = {"tcdm": {"I": {"read": {"bytes": 96, "words": 24}}}}
    assert undocumented("schedule", {"schedules": [{"layer": "a", "counts": counts}]}) == []
    assert undocumented("schedule", {"schedules": [{"count": counts}]})[0] == "schedules.[].count"
    assert undocumented("schedule", {"schedules": [{"chosen": {"bytes": 1}}]}) == ["schedules.[].chosen.bytes"]
    assert undocumented("hardware", {"hardware": [{"file": "a", "lanes": {"m": 4}, "no_such_key": 1}]}) == [
        "hardware.[].no_such_key"
    ]
    assert undocumented("cosim", {"error": {"message": "", "status": 2, "file": ""}}) == ["error.file"]
