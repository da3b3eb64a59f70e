"""``hwgen depth-first``: fronts and points as tables, JSON and YAML, and refusals."""

from pathlib import Path

from hwgen.ir.document import load_yaml
from hwgen.ir.network import Network, load_layer_set
from hwgen.model.pipeline.graph import Graph
from hwgen.search.pipeline.front import best_within, search_front
from tests.cli.command_line import Run, refused


def test_the_front(run: Run, tmp_path: Path) -> None:
    answer = run("depth-first", "vgg_e_first5", "-o", tmp_path, "--json")
    assert (answer.status, answer.err) == (0, "")
    points = answer.json["points"]
    front = search_front(Graph.of(load_layer_set("vgg_e_first5")))
    assert [(one["memory"], one["traffic"]) for one in points] == [(p.memory, p.traffic) for p in front.points]
    written = load_yaml(tmp_path / "front.yaml")
    assert answer.json["file"] == str(tmp_path / "front.yaml")
    bounds = ("layer_by_layer", "layer_by_layer_convolutions")
    assert written["points"] == [{key: one[key] for key in one if key not in bounds} for one in points]
    assert written["points"][-1] == {
        "memory": 671_686, "traffic": 953_344, "weights": "resident",
        "stacks": [{"first": "conv1_1", "last": "conv3_1", "factor": 1, "memory": 671_686}],
    }  # fmt: skip
    shown = run("depth-first", "vgg_e_first5")
    assert "25 points in bytes, 13 shown" in " ".join(shown.out.split())
    assert "671,686" in shown.out


def test_the_best_point_for_a_memory(run: Run, tmp_path: Path) -> None:
    answer = run("depth-first", "dmcnn_vd", "--resolution", "320x180", "--memory", "256KiB", "-o", tmp_path)
    assert (answer.status, answer.err) == (0, "")
    written = load_yaml(tmp_path / "depth_first.yaml")
    network = Network.from_data(written["network"])
    assert (network.input.width, network.input.height) == (320, 180) if network.input else False
    best = best_within(search_front(Graph.of(network)), 256 << 10)
    assert best is not None
    assert (written["memory"], written["traffic"]["total"]) == (best.memory, best.traffic)
    assert sum(amount for kind, amount in written["traffic"].items() if kind != "total") == best.traffic
    assert f"{best.traffic:,} bytes with {best.memory:,} on chip" in answer.out
    for stack in written["stacks"]:
        rings = sum(ring["channels"] * ring["pixels"] for ring in stack["rings"])
        assert stack["memory"] == rings + (stack["weights"] if written["weights"] == "fetched" else 667_008)


def test_the_published_rules(run: Run) -> None:
    answer = run("depth-first", "dmcnn_vd", "--rules", "published", "--memory", "1GiB", "--json")
    assert answer.json["rules"] == "published"
    (point,) = answer.json["points"]
    assert point["traffic"] == 9 * 1280 * 720
    assert point["stacks"] == [
        {
            "first": "conv1",
            "last": "add_skip",
            "factor": 1,
            "memory": 2_424_806,
            "through_dram": [["input", "add_skip"]],
        }
    ]


def test_refusals(run: Run, tmp_path: Path) -> None:
    refused(run("depth-first", "yang_2016"), "expected a connected network with an input, got a layer list")
    refused(run("depth-first", "nothing"), "nothing: expected a file or one of the built-in layersets")
    refused(run("depth-first", "fsrcnn_s", "--resolution", "big"), "--resolution: expected a size such as 1280x720")
    refused(run("depth-first", "fsrcnn_s", "--resolution", "0x5"), "--resolution: expected a size")
    refused(run("depth-first", "fsrcnn_s", "--memory", "much"), "--memory: expected a size such as 256KiB")
    refused(run("depth-first", "fsrcnn_s", "--memory", "0"), "--memory: expected a size")
    refused(run("depth-first", "vgg_e_first5", "--memory", "256KiB"), "--memory: expected at least 295936 bytes")
    refused(run("depth-first", "vgg16", "--resolution", "64x64"), "fc6: expected an input of 1x1 pixels for fc")
    refused(run("depth-first", "fsrcnn_s", "--rules", "other"), "--rules")
    (tmp_path / "file").touch()
    refused(run("depth-first", "fsrcnn_s", "-o", tmp_path / "file"), "-o: expected a folder, got the file")
