"""Depth-first solutions chain, too: ``depth-first --memory -o found``, and what takes ``found``."""

from pathlib import Path

import pytest
import yaml

import hwgen.api.synthesis
from hwgen.arch.pipeline import PipelineParameters
from hwgen.lower.pipeline.lowering import lower_stack
from hwgen.lower.pipeline.solution import read_solution
from hwgen.lower.pipeline.tiles import plan_stack
from hwgen.synthesis.ecp5 import Area, Device, Gates, Synthesis
from hwgen.synthesis.timing import CriticalPath
from tests.cli.command_line import Run, refused

NETWORK = {
    "format": 1,
    "kind": "network",
    "network": "tiny",
    "input": {"name": "input", "channels": 2, "height": 6, "width": 8},
    "layers": [
        {"name": "stem", "op": "conv", "inputs": ["input"], "input_channels": 2, "output_channels": 3,
         "input_height": 6, "input_width": 8, "output_height": 6, "output_width": 8, "kernel": [3, 3],
         "padding": [1, 1, 1, 1], "activation": "relu"},
        {"name": "head", "op": "conv", "inputs": ["stem"], "input_channels": 3, "output_channels": 2,
         "input_height": 6, "input_width": 8, "output_height": 6, "output_width": 8, "kernel": [1, 1]},
    ],
}  # fmt: skip


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small network in an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    Path("net.yaml").write_text(yaml.safe_dump(NETWORK), encoding="utf-8")
    return "net.yaml"


def test_a_solution(run: Run, network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (point,) = run("depth-first", network, "--memory", "1KiB", "-o", "found", "--json").json["points"]
    told = run("predict", "found", "--json").json
    assert told["total_bytes"] == point["traffic"]
    assert len(told["stacks"]) == len(point["stacks"])
    assert "tiny" in run("predict", "found").out
    answer = run("generate", "found", "-o", "rtl", "--json")
    assert [one["stack"] for one in answer.json["hardware"]] == [stack["stack"] for stack in told["stacks"]]
    seen = []

    def record(parameters: PipelineParameters, *_: object, **__: object) -> Synthesis:
        seen.append(parameters)
        path = CriticalPath("a", "b", 1.0, 2.0)
        return Synthesis(Device(), 99.0, path, Area(luts=7), {"M": Area(lut_rams=3)}, Gates(1, 1, 1, 1), {})

    monkeypatch.setattr(hwgen.api.synthesis, "synthesise_pipeline", record)
    answer = run("synth", "found", "--json")
    assert [one["stacks"] for one in answer.json["hardware"]] == [[stack["stack"] for stack in told["stacks"]]]
    (stack,) = read_solution(Path("found/depth_first.yaml")).stacks
    solution = read_solution(Path("found/depth_first.yaml"))
    assert seen == [lower_stack(plan_stack(solution, stack), None).parameters]
    assert "rings of maps" in run("synth", "found").out
    refused(run("predict", "found", "--hardware", "hwc"), "--hardware: not for a depth-first solution, got found/")


def test_a_front_is_no_solution(run: Run, network: str) -> None:
    assert run("depth-first", network, "-o", "found").status == 0
    line = "found/front.yaml: a front of many solutions; for one of them: hwgen depth-first NET --memory SIZE -o DIR"
    for command in (("predict", "found"), ("cosim", "found"), ("generate", "found", "-o", "rtl")):
        refused(run(*command), line)
