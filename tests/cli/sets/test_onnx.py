"""ONNX files on the command line: `hwgen layers` accounts for every node, `depth-first` takes connected ones."""

import re
from pathlib import Path

import pytest
from onnx import TensorProto

from hwgen.readers.layer_sets import load_layer_set
from tests.cli.command_line import Run, refused
from tests.readers.layers.models import FORMS, Form, Graph


def block(form: Form, *, dilations: list[int] | None = None, batch: int | str = 1) -> Graph:
    """Two convolutions whose maps are added, and their mean."""
    graph = Graph(form, [batch, 4, 8, 8])
    one = graph.node("Relu", [graph.conv(graph.entry, [4, 4, 3, 3], "one", pads=[1, 1, 1, 1])])
    width = 1 if dilations is None else dilations[0]
    two = graph.conv(one, [4, 4, 3, 3], "two", pads=[width] * 4, **({"dilations": dilations} if dilations else {}))
    graph.mean(graph.add(two, graph.entry, "sum"), "mean")
    return graph


def accounted(out: str, graph: Graph) -> None:
    """Every node is counted once, as taken, ignored or left out."""
    lines = out.splitlines()
    taken = [int(count) for line in lines if line.startswith("taken: ") for count in re.findall(r"(\d+) \w+", line)]
    ignored = [int(line.split()[1]) for line in lines if line.startswith("ignored: ")]
    left_out = sum(line.startswith("left out: ") for line in lines)
    assert sum(taken) + sum(ignored) + left_out == len(graph.nodes)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_a_connected_network(run: Run, tmp_path: Path, form: Form) -> None:
    graph = block(form, batch="n")
    path = graph.save(tmp_path / "m.onnx")
    answer = run("layers", path)
    assert (answer.status, answer.err) == (0, "")
    accounted(answer.out, graph)
    assert "a connected network: input image" in answer.out
    convolutions, joins, means = {
        "float": ("2 Conv", "1 Add", "1 GlobalAveragePool"),
        "qdq": ("2 Conv", "1 Add", "1 GlobalAveragePool"),
        "qoperator": ("2 QLinearConv", "1 QLinearAdd", "1 QLinearGlobalAveragePool"),
    }[form]
    assert f"taken: {convolutions}, {joins}, {means}" in answer.out
    assert run("layers", path, "--json").json["totals"]["macs"] == 2 * 4 * 4 * 9 * 64
    front = run("depth-first", path, "--memory", "2KiB", "-o", tmp_path / "found", "--json")
    assert front.status == 0
    assert front.json["points"][0]["traffic"] == 4 * 64 + 4  # the input once, the mean once
    found = run("schedule", path, "--buffer", "512", "--json")
    assert [one["layer"] for one in found.json["schedules"]] == ["one", "two"]
    assert found.json["left_out"]["share"] == 0


def test_a_dilated_convolution_is_left_out_by_name(run: Run, tmp_path: Path) -> None:
    graph = block("float", dilations=[2, 2])
    path = graph.save(tmp_path / "m.onnx")
    answer = run("layers", path)
    assert answer.status == 2
    accounted(answer.out, graph)
    assert "left out: two (Conv: dilations [2, 2], expected 1), 9,216 MACs" in answer.out
    assert "a layer list, no connected network: two is left out: Conv: dilations [2, 2], expected 1" in answer.out
    assert answer.err.count("\n") == 1
    assert f"hwgen: {path}: no layer for 50 % of the multiply-accumulates: two (Conv: dilations" in answer.err
    assert run("layers", path, "--partial").status == 0
    as_json = run("layers", path, "--json")
    assert (as_json.status, as_json.json["left_out"]["share"]) == (2, 0.5)
    refused(run("schedule", path, "--buffer", "512"), "no schedule for 50 % of the multiply-accumulates: two (Conv")
    partial = run("schedule", path, "--buffer", "512", "--partial", "--json")
    assert [one["layer"] for one in partial.json["schedules"]] == ["one"]
    assert partial.json["left_out"]["layers"][0]["name"] == "two"
    assert "left out: 50 % of the multiply-accumulates: two (" in partial.err
    refused(run("depth-first", path), "got a layer list (two is left out: Conv: dilations [2, 2], expected 1)")
    refused(run("schedule", f"{path}:two", "--buffer", "512"), "no layer's name starts with 'two': 100 % of")


def test_a_batch_is_for_hierarchies_and_clusters(run: Run, tmp_path: Path) -> None:
    path = block("qdq", batch=4).save(tmp_path / "m.onnx")
    document = run("layers", path, "--json").json
    assert [row["batch"] for row in document["layers"]] == [4] * 4
    assert document["totals"]["macs"] == 4 * 2 * 4 * 4 * 9 * 64
    assert "4 images" in run("layers", path).out
    refused(run("generate", path, "-o", tmp_path / "out"), "weights that cluster_64_vector runs, got t3: an input")
    for command in (["schedule", "--buffer", "512"], ["cosim"]):
        refused(
            run(command[0], path, *command[1:]),
            "m.onnx: one: batch: expected 1: only a cluster runs several images, got 4",
        )


def test_transposed_convolutions_alone(run: Run, tmp_path: Path) -> None:
    graph = Graph("float", [1, 4, 8, 8])
    graph.node("ConvTranspose", [graph.entry, graph.weights([4, 2, 3, 3])], "up", strides=[2, 2])
    path = graph.save(tmp_path / "m.onnx")
    answer = run("layers", path)
    assert (answer.status, answer.err) == (0, "")
    assert "no schedule for 100 % of the multiply-accumulates: up (no schedule is made for deconv)" in answer.out
    for options in ([], ["--partial"]):
        refused(run("schedule", path, "--buffer", "512", *options), "100 % of the multiply-accumulates: up")
    assert run("depth-first", path, "--json").status == 0


def test_sizes_that_are_free_and_files_that_are_cut(run: Run, tmp_path: Path) -> None:
    graph = Graph("float", ["n", 4, "height", 8])
    graph.conv(graph.entry, [4, 4, 3, 3])
    free = graph.save(tmp_path / "free.onnx")
    refused(
        run("layers", free), "free.onnx: input image: size 2 (height) is free: expected fixed sizes", "export it so"
    )
    cut = tmp_path / "cut.onnx"
    cut.write_bytes(Path(free).read_bytes()[:-20])
    refused(run("layers", cut), "cut.onnx: expected an ONNX model (is the file whole?)")
    one = Graph("float", [1, 4, 8])
    one.conv(one.entry, [4, 4, 3])
    found = run("layers", one.save(tmp_path / "one.onnx"), "--json")
    assert (found.json["layers"][0]["kernel"], found.json["kind"]) == ([1, 3], "network")


def test_a_layer_list_says_which_operator_stood_between(run: Run, tmp_path: Path) -> None:
    graph = Graph("float", [1, 4, 8, 8])
    scales = graph.constant("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2])
    bigger = graph.node("Resize", [graph.conv(graph.entry, [4, 4, 3, 3], "a"), "", scales], "bigger")
    graph.conv(bigger, [4, 4, 3, 3], "b")
    path = graph.save(tmp_path / "m.onnx")
    assert "no connected network: no row expresses Resize bigger (an interpolation" in run("layers", path).out
    refused(run("depth-first", path), "got a layer list (no row expresses Resize bigger")
    assert [layer.name for layer in load_layer_set(f"{path}:b").layers] == ["b"]
