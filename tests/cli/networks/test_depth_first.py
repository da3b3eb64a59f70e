"""``hwgen run`` and ``hwgen predict`` of a model with ``--depth-first``: stacks in the RTL, and refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hwgen
from cosim.pipeline.network import run_beginning
from hwgen.api import depth_first_runs
from hwgen.lower.pipeline.quantised import beginnings_of
from hwgen.readers.integers.reader import read_quantised
from tests.cli.command_line import refused
from tests.conftest import Run
from tests.readers.integers.models import Draft, small


def pooled(path: Path) -> Path:
    """Two convolutions, an average of all, a product with weights: scores [1, 3], all of it for pipelines."""
    rng, draft = np.random.default_rng(4), Draft([1, 2, 5, 6])
    first = draft.weights(rng.integers(-99, 99, (4, 2, 3, 3)), [0.01, 0.02, 0.005, 0.01])
    made = draft.node("Conv", draft.both("x", 0.05, 100), first, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    made = draft.both(draft.node("Relu", made), 0.06, 0)
    second = draft.weights(rng.integers(-99, 99, (4, 1, 3, 3)), [0.01, 0.02, 0.015, 0.01])
    made = draft.both(draft.node("Conv", made, second, kernel_shape=[3, 3], group=4), 0.11, 120)
    made = draft.both(draft.node("GlobalAveragePool", made), 0.05, 130)
    made = draft.node("Flatten", made)
    last = draft.weights(rng.integers(-99, 99, (3, 4)), 0.02)
    return draft.write(path, draft.both(draft.node("Gemm", made, last, transB=1), 0.1, 128), [1, 3])


@pytest.mark.usefixtures("icarus")
def test_a_network_runs_as_it_is_predicted(run: Run, tmp_path: Path) -> None:
    model = pooled(tmp_path / "x.onnx")
    foreseen = run("predict", model, "--depth-first", "--macs", 8, "--json").json
    answer = run(
        "run", model, "--depth-first", "--macs", 8, "--seed", 3, "--sim", "icarus", "-o", tmp_path / "out", "--json"
    )
    assert answer.status == 0
    found = answer.json
    assert found["exact"]
    assert found["host"] == []
    assert [one["failures"] for one in found["stacks"]] == [[]]
    assert found["cycles"] == {"predicted": foreseen["cycles"], "measured": foreseen["cycles"]}
    assert found["bytes"] == foreseen["total_bytes"] == 2 * 5 * 6 + 3
    assert len(foreseen["nodes"]) == 4
    assert found["onnxruntime"]["equal"] == 1
    assert np.load(tmp_path / "out" / next(iter(found["outputs"].values()))).shape == (1, 3)


@pytest.mark.usefixtures("icarus")
def test_a_script_runs_it_as_the_command_does(run: Run, tmp_path: Path) -> None:
    model, file = pooled(tmp_path / "x.onnx"), tmp_path / "x.npy"
    picture = np.random.default_rng(3).normal(size=(1, 2, 5, 6)).astype(np.float32)
    np.save(file, picture)
    options = "--memory", 110, "--macs", 8, "--dram", "cluster_64_ddr3", "--sim", "icarus"
    answer = run("run", model, "--depth-first", "--input", file, *options, "-o", tmp_path / "out", "--json")
    found = hwgen.run(
        hwgen.load(model), picture, depth_first=True, memory=110, macs=8,
        dram=hwgen.hardware("cluster_64_ddr3"), simulator="icarus",
    )  # fmt: skip
    assert (answer.status, found.passed, found.exact, found.equal, found.difference) == (0, True, True, True, None)
    (output,) = answer.json["outputs"]
    assert {**found.to_dict(), "outputs": answer.json["outputs"]} == answer.json
    np.testing.assert_array_equal(found.outputs[output], np.load(tmp_path / "out" / answer.json["outputs"][output]))
    assert found.cycles == sum(row["cycles"] for row in found.rows())  # type: ignore[misc]
    assert {path.name for path in tmp_path.iterdir()} == {"x.onnx", "x.npy", "out"}


def test_less_memory_takes_more_stacks_and_bytes(run: Run, tmp_path: Path) -> None:
    model = pooled(tmp_path / "x.onnx")
    whole = run("predict", model, "--depth-first", "--json").json
    few = run("predict", model, "--depth-first", "--memory", "110", "--json").json
    assert few["total_bytes"] > whole["total_bytes"]
    assert all(sum(one["memory"].values()) <= 110 for one in few["stacks"])
    shown = run("predict", model, "--depth-first")
    assert shown.status == 0
    assert f"{whole['total_bytes']:,}" in shown.out


def test_what_the_host_does_is_told(run: Run, tmp_path: Path) -> None:
    draft = Draft([1, 2, 5, 6])
    weights = draft.weights(np.arange(54).reshape(3, 2, 3, 3) - 20, [0.01, 0.02, 0.005])
    made = draft.both(draft.node("Conv", draft.both("x", 0.05, 100), weights, kernel_shape=[3, 3]), 0.1, 7)
    made = draft.both(draft.node("Sigmoid", made), 1 / 256, 0)
    moved = draft.node("Transpose", made, perm=[0, 1, 3, 2])
    model = draft.write(tmp_path / "x.onnx", draft.both(moved, 1 / 256, 0), [1, 3, 4, 3])
    found = run("predict", model, "--depth-first", "--json").json
    assert len(found["nodes"]) == 2  # the convolution, and its table
    (move,) = found["host"]
    assert found["host"] == {move: "a pipeline has no stage for move (Transpose)"}
    assert (
        f"host: {move} (a pipeline has no stage for move (Transpose))" in run("predict", model, "--depth-first").out
    )


@pytest.mark.parametrize("until", [0, 1, None])
def test_what_follows_runs_on_a_cluster(run: Run, tmp_path: Path, until: int | None) -> None:
    """Cut after one node, after two, and where both take the fewest cycles: on what the pipelines left in memory."""
    model = pooled(tmp_path / "x.onnx")
    lasts = [one.nodes[-1] for one in beginnings_of(read_quantised(model))[::-1]]
    options = ["--depth-first", "--macs", 8, "--hardware", "cluster_16_vector", "--resident"]
    options += [] if until is None else ["--until", lasts[until]]
    foreseen = run("predict", model, *options, "--json").json
    assert foreseen["host"] == {}
    nodes = [*foreseen["nodes"], *foreseen["rest"]["nodes"]]
    assert nodes == run("predict", model, "--depth-first", "--json").json["nodes"]
    cuts = foreseen["rest"]["cuts"]
    if until is not None:
        assert [cut["last"] for cut in cuts] == [foreseen["nodes"][-1]] == [lasts[until]]
    else:
        best = min(cuts, key=lambda cut: cut["stacks"] + cut["rest"])
        assert (foreseen["nodes"][-1], len(foreseen["nodes"])) == (best["last"], best["nodes"])
        assert [cut["last"] for cut in cuts] == lasts[: len(cuts)]

    answer = run("run", model, *options, "--seed", 3, "-o", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    found = answer.json
    assert found["exact"]
    assert found["onnxruntime"]["equal"] == 1
    assert found["cycles"]["measured"] == foreseen["cycles"]
    if foreseen["rest"]["nodes"]:
        rest = found["rest"]
        assert [one["node"] for one in rest["layers"]] == foreseen["rest"]["nodes"]
        assert all(one["exact"] and one["equal"] for one in rest["layers"])
        assert rest["cycles"]["predicted"] == foreseen["rest"]["cycles"]
        assert rest["cycles"]["measured"] == pytest.approx(rest["cycles"]["predicted"], rel=0.02)
        fetched = sum(one["measured"]["bytes"] for one in rest["programs"])
        moved = sum(one["total_with_bias"] for one in rest["layers"])
        assert fetched + moved == foreseen["rest"]["bytes"]


def test_the_host_runs_what_is_after_the_last_node(run: Run, tmp_path: Path) -> None:
    model = pooled(tmp_path / "x.onnx")
    whole = run("predict", model, "--depth-first", "--json").json["nodes"]
    found = run("predict", model, "--depth-first", "--until", whole[1], "--json").json
    assert found["nodes"] == whole[:2]
    assert found["host"] == {
        whole[2]: "the beginning was to end before it",
        whole[3]: f"it follows {whole[2]}, which ends the beginning",
    }


def test_a_wrong_map_from_a_pipeline_is_seen_on_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster computes on what the pipelines left, not on what the reference has."""

    def wrong(*arguments: Any, **options: Any) -> Any:
        ran = run_beginning(*arguments, **options)
        for one in ran:
            for array in one.outputs.values():
                array[...] = 127 - array
        return ran

    monkeypatch.setattr(depth_first_runs, "run_beginning", wrong)
    model = pooled(tmp_path / "x.onnx")
    first = beginnings_of(read_quantised(model))[-1].nodes[-1]
    found = hwgen.run(model, None, "cluster_16_vector", seed=3, depth_first=True, macs=8, until=first)
    assert not found.passed
    assert found.rest is not None
    assert not found.rest.exact


def test_refusals(run: Run, tmp_path: Path) -> None:
    model, out = small(tmp_path / "x.onnx"), tmp_path / "out"
    deep = "--depth-first", "--seed", 1, "-o", out
    alone = "--hardware: expected a cluster with --depth-first, got the HWC hwc_16"
    refused(run("run", model, *deep, "--hardware", "hwc_16"), alone)
    refused(run("predict", model, "--depth-first", "--hardware", "hwc_16"), alone)
    refused(
        run("run", model, *deep, "--resident"), "--resident: expected with --hardware, a cluster for what follows"
    )
    refused(run("run", model, *deep, "--until", "conv"), "--until: expected one of ")
    refused(run("predict", model, "--until", "conv"), "--until: expected with --depth-first")
    chained = "--hardware", "cluster_16_vector", "--sim", "icarus"
    refused(run("run", model, *deep, *chained), "--sim: expected verilator with a cluster")
    only = "not with --depth-first, whose rest runs on one"
    refused(run("run", model, "--seed", 1, "-o", out, "--macs", 8), "--macs: expected with --depth-first")
    refused(run("run", model, *deep, "--memory", "much"), "--memory: expected a size such as 256KiB")
    refused(run("run", model, *deep, "--memory", "4"), "--memory: expected at least ")
    refused(run("run", model, *deep, "--dram", "hwc_16"), "--dram: expected the hardware of a cluster, got hwc_16")
    refused(run("run", model, "--depth-first", "-o", out), "--input, --seed: expected one of them")
    with pytest.raises(hwgen.InputError, match=f"^--clusters: {only}$"):
        hwgen.run(model, None, seed=1, depth_first=True, clusters=2)  # type: ignore[call-overload]
    with pytest.raises(hwgen.InputError, match=r"^--memory: expected with --depth-first$"):
        hwgen.run(model, None, seed=1, memory="4KiB")  # type: ignore[call-overload]
    with pytest.raises(hwgen.InputError, match=r"^--macs: expected 1 to 65536, got 0$"):
        hwgen.run(model, None, seed=1, depth_first=True, macs=0)
    refused(run("predict", model, "--memory", "4KiB"), "--memory: expected with --depth-first")
    refused(run("predict", model, "--depth-first", "--mhz", 50), "--mhz: not with --depth-first")
    refused(run("predict", "lenet", "--depth-first"), "--depth-first: expected one quantised model, got lenet")
    draft = Draft([1, 2, 5, 6])
    moved = draft.both(draft.node("Transpose", draft.both("x", 0.05, 100), perm=[0, 1, 3, 2]), 0.05, 100)
    turned = draft.write(tmp_path / "turned.onnx", moved, [1, 2, 6, 5])
    refused(run("predict", turned, "--depth-first"), "expected nodes that a pipeline has stages for, got none")
    assert beginnings_of(read_quantised(model))[0].ends is None
