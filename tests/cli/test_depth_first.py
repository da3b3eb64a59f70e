"""``hwgen depth-first``: fronts and points as tables, JSON and YAML, and refusals."""

from pathlib import Path

from hwgen.ir.document import load_yaml
from hwgen.ir.layer_set import Network
from hwgen.model.pipeline.graph import Graph
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.pipeline.front import best_within, search_front
from tests.cli.command_line import Run, refused

DMCNN_WEIGHTS = 9 * (3 * 64 + 18 * 64 * 64 + 64 * 3)
"""DMCNN-VD: 20 convolutions of 3 x 3 over 64 maps, from 3 maps and to 3."""


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
    # One stack, all weights on chip. Rings: 2 lines and 2 pixels of a 3 x 3 convolution, 1 and 1 of a 2 x 2 pool.
    weights = 9 * (3 * 64 + 64 * 64 + 64 * 128 + 128 * 128 + 128 * 256)
    rings = 3 * 2 * 225 + 64 * (2 * 225 + 225) + 64 * 2 * 113 + 128 * (2 * 113 + 113) + 128 * 2 * 57
    assert written["points"][-1] == {
        "memory": weights + rings, "traffic": 3 * 224**2 + 256 * 56**2, "weights": "resident",
        "stacks": [{"first": "conv1_1", "last": "conv3_1", "factor": 1, "memory": weights + rings}],
    }  # fmt: skip
    shown = run("depth-first", "vgg_e_first5")
    assert "25 points in bytes, 13 shown" in " ".join(shown.out.split())
    assert f"{weights + rings:,}" in shown.out


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
        assert stack["memory"] == rings + (stack["weights"] if written["weights"] == "fetched" else DMCNN_WEIGHTS)


def test_rectifiers_by_tables(run: Run, tmp_path: Path) -> None:
    """The same bytes, and the tables' registers in the cycles of each."""
    taken = {}
    for folder, more in (("relu", []), ("tables", ["--tables"])):
        options = "--resolution", "24x24", "--phases", "--memory", "1MiB", "-o", tmp_path / folder
        assert run("depth-first", "fsrcnn_s", *options, *more).status == 0
        taken[folder] = run("predict", tmp_path / folder, "--json").json
    operations = [row["op"] for row in load_yaml(tmp_path / "tables" / "depth_first.yaml")["network"]["layers"]]
    rows = load_yaml(tmp_path / "relu" / "depth_first.yaml")["network"]["layers"]
    assert operations.count("lookup") == sum(row.get("activation") == "prelu" for row in rows) > 0
    assert taken["tables"]["total_bytes"] == taken["relu"]["total_bytes"]
    assert taken["tables"]["cycles"] > taken["relu"]["cycles"]


def test_activations_that_run_as_another_one(run: Run, tmp_path: Path) -> None:
    """relu6 is none that tables are made for; with a ceiling it runs as it is."""
    rows = """
- {name: a, op: conv, output_channels: 2, kernel: 3, activation: relu6}
- {name: b, op: conv, inputs: [a], output_channels: 2, kernel: 3, activation: prelu}
- {name: c, op: conv, inputs: [b], output_channels: 2, kernel: 3, activation: relu6, requantisation: {ceiling: 6}}"""
    head = "format: 1\nkind: network\nnetwork: n\ninput: {name: x, channels: 2, height: 9, width: 9}\nlayers:"
    (tmp_path / "n.yaml").write_text(head + rows.replace("op: conv, output", "op: conv, inputs: [x], output", 1))
    command = ("depth-first", tmp_path / "n.yaml")
    assert "n: activations that run as ReLU: a (relu6), b (prelu)" in run(*command).out
    assert "n: activations that run as ReLU: a (relu6)\n" in run(*command, "--tables", "--memory", "4KiB").out
    found = run(*command, "--json").json["left_out"]["activations"]
    assert [(one["name"], one["activation"], one["runs_as"]) for one in found] == [
        ("a", "relu6", "relu"),
        ("b", "prelu", "relu"),
    ]


def test_pipelines_that_scale_their_sums(run: Run, tmp_path: Path) -> None:
    taken = {}
    for form in ("shift", "scaled"):
        options = "--resolution", "8x8", "--memory", "1MiB", "--requantisation", form, "-o", tmp_path / form
        assert run("depth-first", "vgg_e_first5", *options).status == 0
        answer = run("predict", tmp_path / form, "--json").json
        taken[form] = answer["cycles"], answer["total_bytes"]
    assert load_yaml(tmp_path / "scaled" / "depth_first.yaml")["requantisation"] == "scaled"
    assert taken["scaled"][1] == taken["shift"][1]
    assert taken["scaled"][0] > taken["shift"][0]
    refused(
        run("depth-first", "vgg_e_first5", "--requantisation", "scaled"),
        "--requantisation: expected with --memory, which says what pipelines run",
    )


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
            # Rings of 2 lines of 720 pixels and 2 pixels, of 3 maps once and of 64 maps 19 times.
            "memory": DMCNN_WEIGHTS + (3 + 19 * 64) * 2 * 721,
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
    # The weights of conv3_1, and its ring with tiles of 2 columns: 128 maps of 2 lines of 3 pixels and 2 pixels.
    conv3_1 = 9 * 128 * 256 + 128 * (2 * 3 + 2)
    refused(run("depth-first", "vgg_e_first5", "--memory", "256KiB"), f"--memory: expected at least {conv3_1} bytes")
    refused(run("depth-first", "vgg16", "--resolution", "64x64"), "fc6: expected an input of 1x1 pixels for fc")
    refused(run("depth-first", "fsrcnn_s", "--rules", "other"), "--rules")
    (tmp_path / "file").touch()
    refused(run("depth-first", "fsrcnn_s", "-o", tmp_path / "file"), "-o: expected a folder, got the file")


def test_a_front_and_a_solution_that_do_not_belong_together(run: Run, tmp_path: Path) -> None:
    def files() -> set[str]:
        return {path.name for path in tmp_path.glob("*.yaml")}

    assert run("depth-first", "vgg_e_first5", "--memory", "1MiB", "-o", tmp_path).status == 0
    assert run("depth-first", "vgg_e_first5", "-o", tmp_path).status == 0
    assert files() == {"front.yaml", "depth_first.yaml"}
    assert run("depth-first", "vgg_e_first5", "--resolution", "32x32", "-o", tmp_path).status == 0
    assert files() == {"front.yaml"}
    assert run("depth-first", "fsrcnn_s", "--memory", "1MiB", "--resolution", "32x32", "-o", tmp_path).status == 0
    assert files() == {"depth_first.yaml"}
