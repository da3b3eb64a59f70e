"""``hwgen predict --hierarchy``, the built-in hierarchies, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from hwgen.ir.document import load_yaml
from hwgen.ir.memory.hierarchy import Hierarchy
from tests.cli.command_line import Run, refused

LAYER = {
    "name": "conv", "input_channels": 32, "output_channels": 32, "input_height": 6, "input_width": 6,
    "output_height": 6, "output_width": 6, "kernel": [3, 3], "padding": [1, 1, 1, 1], "batch": 2,
}  # fmt: skip
NEST: list[dict[str, Any]] = [
    {"n": 1}, {"m": 16}, {"buffer": {"sram": ["I", "W", "O"]}}, {"y": 1}, {"c": 16}, {"x": 1}, {"k": 1}, {"l": 1},
]  # fmt: skip


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(tmp_path, NEST)


def save(folder: Path, nest: list[dict[str, Any]], **keys: Any) -> Path:
    path = folder / "conv.yaml"
    data = {"format": 1, "kind": "schedule", "layer": LAYER, "nest": nest, "lanes": {"m": 16, "c": 16}, **keys}
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


def test_counts_needs_and_energy(run: Run, saved: Path) -> None:
    answer = run("predict", "--hierarchy", "diannao", saved, "--json")
    assert (answer.status, answer.err) == (0, "")
    (entry,) = answer.json["schedules"]
    assert list(entry["counts"]) == ["dram", "sram"]
    # Two images of 32 channels of 6 x 6, once for each half of m; weights once for each image; 16 bits each.
    assert entry["counts"]["dram"]["I"] == {"read": {"bytes": 2 * 2 * 32 * 36 * 2}}
    assert entry["counts"]["dram"]["W"] == {"read": {"bytes": 2 * 32 * 32 * 9 * 2}}
    outputs = 2 * 32 * 36 * 2
    assert entry["counts"]["dram"]["O"] == {
        "read_partial": {"bytes": 0}, "write_partial": {"bytes": 0}, "write": {"bytes": outputs},
    }  # fmt: skip
    # An iteration adds 16 channels for one tap: 18 of them for an output, all but the last are partial sums.
    assert entry["counts"]["sram"]["O"]["read_partial"] == {"bytes": 17 * outputs}
    assert entry["counts"]["sram"] == entry["datapath"]["sram"]
    # Three rows of 32 channels, the weights of 16 filters, a row of 16 outputs.
    assert entry["buffer"] == {
        "sram": {
            "I": {"elements": 576, "bytes": 1152}, "W": {"elements": 4608, "bytes": 9216},
            "O": {"elements": 96, "bytes": 192},
        }
    }  # fmt: skip
    energy = entry["energy"]
    assert set(energy) == {"levels", "mac", "total"}
    assert energy["levels"]["dram"]["W"] == 2 * 32 * 32 * 9 * 2 * 160
    assert energy["levels"]["sram"]["O"] == pytest.approx(35 * outputs * 1.54 / 2)
    assert energy["mac"] == pytest.approx(0.9 * entry["macs"])
    every = sum(pj for level in energy["levels"].values() for pj in level.values())
    assert energy["total"] == pytest.approx(every + energy["mac"])
    with_elements = run("predict", "--hierarchy", "diannao", saved, "--json", "--elements")
    assert with_elements.json["schedules"][0]["counts"]["dram"]["W"]["read"]["elements"] == 2 * 32 * 32 * 9


def test_fills_add_what_is_written_into_the_buffers(run: Run, saved: Path) -> None:
    def predicted(*options: str) -> Any:
        return run("predict", "--hierarchy", "diannao", saved, "--json", *options).json["schedules"][0]

    without, with_fills = predicted(), predicted("--fills")
    assert with_fills["counts"] == without["counts"]
    levels, dram = with_fills["energy"]["levels"], with_fills["counts"]["dram"]
    filled = dram["I"]["read"]["bytes"] * 1.54 / 2
    assert levels["sram"]["I"] - without["energy"]["levels"]["sram"]["I"] == pytest.approx(filled)
    assert levels["dram"] == without["energy"]["levels"]["dram"]
    assert levels["sram"]["O"] == without["energy"]["levels"]["sram"]["O"]


def test_tables(run: Run, saved: Path) -> None:
    answer = run("predict", "--hierarchy", "diannao", saved)
    assert answer.status == 0
    for words in ("served by", "bytes held", "energy in uJ", "multiply-accumulates"):
        assert words in answer.out


def test_a_folder_with_a_hierarchy_in_it(run: Run, saved: Path) -> None:
    file = saved.parent / "own.yaml"
    file.write_text(run("hardware", "diannao").out, encoding="utf-8")
    answer = run("predict", "--hierarchy", file, saved.parent, "--json")
    assert [entry["layer"] for entry in answer.json["schedules"]] == ["conv"]


def test_built_in_hierarchies_are_listed(run: Run) -> None:
    listed = run("hardware", "--json").json["hierarchies"]
    assert [one["name"] for one in listed] == ["diannao", "fixed4"]
    for one in listed:
        assert Hierarchy.from_data(load_yaml(Path(one["file"]))).name == one["name"]
        assert one["levels"][0] == {"name": "dram"}
    assert "diannao" in run("hardware").out
    assert run("hardware", "fixed4", "--json").json["levels"][3] == {"name": "reg", "bytes": 512}


def test_needs_above_the_bytes_of_a_level(run: Run, tmp_path: Path) -> None:
    saved = save(tmp_path, [{"buffer": {"sram": ["I", "W"]}}, *NEST[:2], *NEST[3:]])
    message = f"{saved}: sram: expected at most 2048 bytes of I, the schedule needs 2304"
    refused(run("predict", "--hierarchy", "diannao", saved), message)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--hierarchy", "nowhere"], ["nowhere: expected a file or one of the built-in hierarchies: diannao,"]),
        (["--hierarchy", "diannao", "--hardware", "hwc"], ["--hardware: not with --hierarchy"]),
        (["--hierarchy", "diannao", "--macs", "4"], ["--macs: not with --hierarchy"]),
        (["--fills"], ["--fills: expected with --hierarchy"]),
        (["--hierarchy", "fixed4"], ["nest: buffer: expected large or small or reg, the levels of fixed4, got sram"]),
        ([], ["buffer: sram: expected markers of one memory level only; levels of a hierarchy need --hierarchy"]),
    ],
)
def test_refused(run: Run, saved: Path, arguments: list[str], parts: list[str]) -> None:
    refused(run("predict", *arguments, saved), *parts)


@pytest.mark.parametrize("command", ["generate", "cosim", "synth"])
def test_hardware_runs_one_image(run: Run, tmp_path: Path, command: str) -> None:
    saved = save(tmp_path, [*NEST[:2], {"buffer": "O"}, *NEST[3:]])
    more = ["-o", tmp_path / "rtl"] if command == "generate" else []
    refused(run(command, saved, *more), "conv: batch: expected 1: an HWC alone runs one image at a time, got 2")


def test_a_hierarchys_schedule_runs_on_no_hardware(run: Run, tmp_path: Path) -> None:
    saved = save(tmp_path, NEST[1:], layer={**LAYER, "batch": 1})
    refused(run("cosim", saved), "buffer: sram: expected markers of one memory level only")


def test_batches_are_not_scheduled_for_hardware(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "set.yaml"
    row = {**LAYER, "op": "conv"}
    table.write_text(yaml.safe_dump({"format": 1, "kind": "layer_list", "network": "n", "layers": [row]}), "utf-8")
    refused(
        run("schedule", table, "--buffer", "1KiB", "-o", tmp_path / "out"),
        "conv: batch: expected 1: only a cluster runs several images, got 2",
    )
    entry = {"channels": 32, "height": 6, "width": 6}
    network = {"network": "n", "input": entry, "layers": [{**row, "inputs": ["input"]}]}
    table.write_text(yaml.safe_dump({"format": 1, "kind": "network", **network}), "utf-8")
    refused(run("layers", table), "layers: conv: batch: expected 1 in a connected network, got 2")


def test_batches_are_scheduled_on_a_hierarchy(run: Run, tmp_path: Path) -> None:
    """All images share the weights, which the middle memory holds: they come once from the DRAM."""
    table, found = tmp_path / "set.yaml", tmp_path / "out"
    rows = [{**LAYER, "op": "conv", "input_channels": 4, "output_channels": 4, "batch": 3}]
    table.write_text(yaml.safe_dump({"format": 1, "kind": "layer_list", "network": "n", "layers": rows}), "utf-8")
    answer = run("schedule", table, "--hierarchy", "diannao", "--objective", "dram", "-o", found, "--json")
    (one,) = answer.json["schedules"]
    assert one["counts"]["dram"]["W"] == {"read": {"bytes": 4 * 4 * 9 * 2}}
    assert one["counts"]["dram"]["I"] == {"read": {"bytes": 3 * 4 * 36 * 2}}
    (two,) = run("predict", "--hierarchy", "diannao", found, "--json").json["schedules"]
    assert (two["counts"], two["macs"]) == (one["counts"], 3 * 4 * 4 * 9 * 36)
