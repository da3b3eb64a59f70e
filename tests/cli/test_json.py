"""``--json``: standard output is one JSON document, of every command and for each kind of input that it takes."""

import inspect
import shlex
from pathlib import Path

import numpy as np
import pytest

from hwgen.cli.program.registry import COMMANDS
from hwgen.ir.document import dump_yaml
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_network
from hwgen.search.pipeline.files import solution_data
from hwgen.search.pipeline.front import search_front
from tests.cli.command_line import Run
from tests.readers.integers.models import small

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
    "one_level/a.yaml": f"{HEADER}- {{m: 4}}\n{INNER}",
    "two_levels/a.yaml": f"""{HEADER}- buffer: {{tcdm: [I, W, O]}}
- {{m: 4}}
- {{y: {{step: 3, over: hwc}}}}
{INNER}""",
    "levels/a.yaml": HEADER
    + "- buffer: {sram: [I, W]}\n- {m: 1}\n- {c: 1}\n- {k: 1}\n- {l: 1}\n- {y: 1}\n- {x: 4}\n",
}

QUICK = """
layers lenet
layers table.yaml
layers network.yaml
layers quantised.onnx
network quantised.onnx
network quantised.onnx --seed 1
sets
hardware
hardware hwc.yaml
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
predict one_level/a.yaml --elements
predict one_level
predict two_levels
predict two_levels --hardware cluster.yaml --elements
predict levels --hierarchy hierarchy.yaml --fills
predict depth_first.yaml
predict depth_first.yaml --macs 8 --dram cluster.yaml
calibrate cluster.yaml --tiles 10
depth-first network.yaml
depth-first network.yaml --memory 1KiB -o out
design table.yaml --levels 3 --sizes 512,1KiB --sram 2KiB -o out
design table.yaml --cores 1 --sram 4KiB -o out
regress table.yaml --buffer 512 --model --per-layer -o out
sweep network.yaml --depth-first --memory 1KiB --no-sim -j 1 -o out; report out -o page
""".strip().splitlines()

NIGHTLY = """
schedule table.yaml --hardware cluster.yaml --objective dram-bytes --per-layer
schedule table.yaml --hardware cluster.yaml --objective dram-time
generate one_level -o out; pack out --operands operands
generate table.yaml --buffer 512 -o out; cosim --program out --sim icarus
generate table.yaml --hardware cluster.yaml -o out; cosim --program out
generate two_levels --hardware cluster.yaml --clusters 2 -o out
generate depth_first.yaml --macs 8 -o out; cosim --program out --sim icarus
cosim one_level --sim icarus
cosim table.yaml --per-layer --buffer 512 --sim icarus
cosim two_levels --hardware cluster.yaml
cosim two_levels --hardware cluster.yaml --clusters 2
cosim depth_first.yaml --macs 8 --sim icarus
run quantised.onnx --hardware fixed.yaml --seed 1 --sim icarus -o out
regress table.yaml --buffer 512 --shared -o out
regress-clusters two_levels --hardware cluster.yaml -o out
regress-stacks --small -o out
regress-ways --small -o out
demo -o out --rtl rtl
synth one_level
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
    (tmp_path / "operands").mkdir()
    np.save(tmp_path / "operands" / "a.W.npy", np.ones((4, 3, 3, 3), np.int8))
    network = load_network(tmp_path / "network.yaml")
    front = search_front(Graph.of(network))
    (tmp_path / "depth_first.yaml").write_text(dump_yaml(solution_data(network, front, front.points[0])))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answers(run: Run, commands: str) -> None:
    for command in commands.split(";"):
        answer = run(*shlex.split(command), "--json")
        assert answer.status == 0, answer.err
        assert isinstance(answer.json, dict), command


@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", QUICK)
def test_one_document(run: Run, commands: str) -> None:
    answers(run, commands)


@pytest.mark.nightly
@pytest.mark.usefixtures("inputs")
@pytest.mark.parametrize("commands", NIGHTLY)
def test_one_document_of_commands_that_take_long(run: Run, commands: str) -> None:
    answers(run, commands)


def test_no_command_is_left_out() -> None:
    called = {command.split()[0] for commands in QUICK + NIGHTLY for command in commands.split(";")}
    assert called == {
        name for name, entry in COMMANDS.items() if "as_json" in inspect.signature(entry.function).parameters
    }
