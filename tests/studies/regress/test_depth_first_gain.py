"""A small network depth-first and layer by layer in the simulator: traffic, equal outputs, what is told if not."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hwgen.studies.regress.depth_first_gain_regression as regression
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.model.pipeline.cost import stack_cost
from hwgen.studies.regress.depth_first_gain import BothWays, Moved, as_large_as, run_both_ways
from hwgen.studies.regress.pipeline_cases import Part, whole_stack
from tests.cli.command_line import Run, refused
from tests.cosim.cluster.test_clusters import hardware
from tests.studies.engine.inline import open_inline

PART = Part("few", "vgg_e_first5", "conv1_1", "conv2_1", 16, (12, 12), 32, (12, 12))
"""Two convolutions, a pool, and another one."""


@pytest.fixture(scope="module")
def both() -> BothWays:
    """One run, on the cluster that other tests build too; with more memory than the pipeline has."""
    solution = whole_stack(PART.made(small=False), 2)
    return run_both_ways(PART.name, solution, hardware("fig8"), macs=16, equal_memory=False, fast=False)


@pytest.mark.nightly
def test_both_ways_move_what_the_model_says_and_leave_the_same(both: BothWays) -> None:
    assert both.failures == []
    conv1, conv2, conv3 = (one.schedule.layer for one in both.layered.results)
    pool = both.layered.maps["pool1"]
    assert list(both.layered.left_out) == ["pool1"]
    weights = conv1.weight_elements + conv2.weight_elements + conv3.weight_elements
    biases = 4 * (conv1.output_channels + conv2.output_channels + conv3.output_channels)
    read = conv1.input_elements + conv2.input_elements + pool.size
    written = conv1.output_elements + conv2.output_elements + conv3.output_elements
    layered = both.layered.measured
    # each layer alone moves the least it can
    assert layered == Moved(read, written, weights, biases, layered.program)
    (stack,) = whole_stack(PART.made(small=False), 2).stacks
    traffic = both.depth_first.run.traffic
    assert both.measured == Moved(
        conv1.input_elements + traffic.overlap_in, conv3.output_elements + traffic.overlap_out, weights, biases
    )
    assert traffic.overlap_in > 0
    assert layered.tensors > 1.8 * both.measured.tensors
    assert both.on_chip < both.layered.on_chip
    assert both.on_chip > stack_cost(whole_stack(PART.made(small=False), 2).graph, stack).ring_elements + weights


@pytest.mark.nightly
def test_what_differs_is_told(both: BothWays) -> None:
    first, *others = both.layered.results
    fewer = replace(first, measured=first.predicted.__class__({}))
    lines = replace(both, layered=replace(both.layered, results=(fewer, *others))).failures
    assert any(line.startswith("layer by layer: weights: ") for line in lines)
    result = both.depth_first
    lines = replace(both, depth_first=replace(result, bias=result.bias + 4)).failures
    assert lines == [f"depth-first: biases: {result.bias + 4} bytes, {result.bias} predicted"]
    name = result.run.program.plan.maps[-1].name
    maps = {**both.layered.maps, name: both.layered.maps[name] ^ np.int8(1)}
    lines = replace(both, layered=replace(both.layered, maps=maps)).failures
    assert lines == [f"{name}: {maps[name].size} of {maps[name].size} bytes differ between the two ways"]


def test_equal_memory() -> None:
    base = Hardware(name="h", budget=100, cluster=Cluster(hwcs=2, tcdm=1 << 16, banks=16))
    assert as_large_as(base, 10_000).cluster == Cluster(hwcs=2, tcdm=9_856, banks=16)  # 200 in the HWCs; 64 at a time
    assert as_large_as(base, 10).cluster == Cluster(hwcs=2, tcdm=1 << 10, banks=16)


@pytest.mark.nightly
def test_the_command(both: BothWays, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it prints and keeps, and its exit status; the simulation is the one above."""
    runs: list[str] = []

    def ran(name: str, *_: Any, **options: Any) -> BothWays:
        runs.append(name)
        return replace(both, name=name)

    monkeypatch.setattr("hwgen.studies.engine.work.open_farm", open_inline)
    monkeypatch.setattr(regression, "run_both_ways", ran)
    answer = run("regress-ways", "-o", tmp_path, "--small")
    assert answer.status == 0, answer.out
    assert "1/16" in answer.out  # of the channels
    assert " 1.000 times what each layer alone must move" in answer.out
    assert "pool1 cost nothing; they would read and write 720 bytes" in answer.out
    document = run("regress-ways", "-o", tmp_path, "--small", "--json").json["results"]
    assert len(document) == len(runs) == len(regression.NETWORKS)  # nothing runs twice
    assert all(one["depth_first"]["tensors"] < one["layer_by_layer"]["tensors"] for one in document)
    lines = list(csv.DictReader((tmp_path / "ways.csv").read_text(encoding="utf-8").splitlines()))
    moved = [one[way]["tensors"] for one in document for way in ("layer_by_layer", "depth_first")]
    assert [int(line["dram_bytes"]) for line in lines] == moved
    wrong = replace(both.depth_first, bias=0)
    monkeypatch.setattr(regression, "run_both_ways", lambda *_, **__: replace(both, depth_first=wrong))
    answer = run("regress-ways", "-o", tmp_path / "other", "--small")
    assert (answer.status, "depth-first: biases: 0 bytes" in answer.out) == (1, True)
    file = tmp_path / "file"
    file.touch()
    refused(run("regress-ways", "-o", file), "-o: expected a folder, got the file")
    refused(run("regress-ways", "-o", tmp_path, "--hardware", "hwc"), "--hardware: hwc: cluster: expected one")
