"""``hwgen schedule`` with the hardware of a cluster: its document, the files it writes, and what it refuses."""

import json
from pathlib import Path
from random import Random

import pytest

from hwgen.api.cluster_search import Moving
from hwgen.arch.dram import Dram, DramPort
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import Marker, load_schedule
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.placement import place
from hwgen.model.dram.counts import dram_counts
from tests.cli.command_line import Run, refused
from tests.random.layers import random_layer

ORDER = (Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "x", "l")


def test_schedules_for_a_cluster(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    cluster = Cluster(hwcs=2, tcdm=1 << 16, dram=Dram(row_bytes=256))
    save_hardware(Hardware(name="few", order=ORDER, budget=1 << 16, cluster=cluster), hardware)
    folder = tmp_path / "found"
    near = "--objective", "balanced"
    answer = run("schedule", "lenet:C1", "--hardware", hardware, *near, "-o", folder, "--json")
    assert (answer.status, answer.err) == (0, "")
    entries = answer.json["schedules"]
    assert [entry["layer"] for entry in entries] == ["C1"]
    for entry in entries:
        path = folder / f"{entry['layer']}.yaml"
        assert entry["file"] == str(path)
        schedule = load_schedule(path)
        counts = dram_counts(schedule, DramPort.of(cluster), 2)
        assert entry["total_bytes"] == counts.total_bytes("dram") == sum(entry["by_operand"].values())
        (predicted,) = run("predict", path, "--hardware", hardware, "--json").json["schedules"]
        assert entry["counts"] == predicted["counts"]  # with the program, and rows of this DRAM
        assert entry["counts"]["dram"]["P"]["read"]["bytes"] > 0
        assert entry["need"] == place(schedule).size <= 1 << 16
    table = run("schedule", "lenet:C1", "--hardware", hardware, *near)
    assert "Schedules of fewest cycles within 1 % of the least DRAM bytes" in table.out
    assert "fewest DRAM bytes" in table.out
    (least,) = run("schedule", "lenet:C1", "--hardware", hardware, "--objective", "traffic", "--json").json[
        "schedules"
    ]
    assert least["total_bytes"] <= entries[0]["total_bytes"] <= 1.01 * least["total_bytes"]
    assert (least["utilisation_in_cycles"], entries[0]["fewest_bytes"]) == (None, least["total_bytes"])


@pytest.mark.nightly
def test_one_cluster_for_a_set(run: Run, tmp_path: Path) -> None:
    rng, path = Random("a set"), tmp_path / "set.yaml"
    layers = [random_layer(rng, f"layer_{number}", 600) for number in range(2)]
    rows = [{"name": layer.name, "op": "conv", **layer.shape_data} for layer in layers]
    path.write_text(
        json.dumps({"format": 1, "kind": "layer_list", "network": "set", "layers": rows}), encoding="utf-8"
    )
    hardware, folder = tmp_path / "two.yaml", tmp_path / "found"
    save_hardware(Hardware(name="two", budget=1536, cluster=Cluster(hwcs=2, tcdm=1 << 14, banks=4)), hardware)
    document = run("schedule", path, "--hardware", hardware, "-o", folder, "--json").json
    beside = load_hardware(folder / "two.hardware.yaml")
    assert beside == Hardware.from_data(document["hardware"])
    assert beside.order is not None
    schedules = [load_schedule(folder / f"{layer.name}.yaml") for layer in layers]
    assert len({compile_cluster(schedule, beside).hardware for schedule in schedules}) == 1
    together, least = document["all_layers"], document["all_layers"]["fewest_bytes"]
    assert together["cycles"] <= least["cycles"]
    assert least["total_bytes"] <= together["total_bytes"] == sum(one["total_bytes"] for one in document["schedules"])
    assert {"total_bytes", "cycles"} <= set(together["alone"])
    own = run("schedule", path, "--hardware", hardware, "--per-layer", "--json").json
    assert own["hardware"] == {**load_hardware(hardware).as_data(), "lanes": {"x": 16}}
    save_hardware(load_hardware(hardware).model_copy(update={"lanes": beside.lanes}), tmp_path / "as_chosen.yaml")
    own = run("schedule", path, "--hardware", tmp_path / "as_chosen.yaml", "--per-layer", "--json").json
    assert own["all_layers"]["cycles"] == together["alone"]["cycles"]
    generated = run("generate", folder, "-o", tmp_path / "rtl", "--json").json
    (cluster,) = generated["clusters"]
    assert [path.parent for path in (tmp_path / "rtl").rglob("cluster.v")] == [tmp_path / "rtl"]
    assert [one["layer"] for one in cluster["layers"]] == [layer.name for layer in layers]
    assert len(list((tmp_path / "rtl" / "programs").glob("*.hex"))) == len(layers)
    refused(run("schedule", path, "--buffer", "1KiB", "--per-layer"), "--per-layer: expected with the hardware of a")


def test_refusals(run: Run) -> None:
    one = run("schedule", "lenet:C1", "--hardware", "cluster", "--buffer", "1KiB")
    refused(one, "--hardware: cluster: a cluster has its sizes: expected no options but --objective,")
    refused(run("schedule", "lenet:C1"), "--buffer: expected sizes such as 512 or 1KiB,4KiB")
    command = ("schedule", "lenet:C1", "--hardware", "cluster")
    said = "--objective: expected balanced, cycles, dram-bytes, dram-time or energy"
    refused(run(*command, "--objective", "words"), said)
    refused(run(*command, "--traffic-slack", "0"), "--traffic-slack: expected above 0 on a cluster, got 0")
    of_bytes = ("--objective", "dram-bytes", "--traffic-slack", "0.1")
    refused(run(*command, *of_bytes), "--traffic-slack: expected with --objective balanced, got dram-bytes")
    busy = (*command, "--min-utilisation", "0.5")
    refused(run(*busy, "--traffic-slack", "0.1"), "--traffic-slack: expected with --objective balanced")
    refused(run(*busy, "--objective", "balanced"), "--min-utilisation: expected without --objective balanced")
    refused(run(*command, "--objective", "energy"), "hardware: cluster: energy: expected dram, tcdm, local and mac")
    refused(run(*command, "--objective", "energy", "--energy", "1,2,x,4"), "--energy: expected DRAM,TCDM,LOCAL,MAC")
    refused(run(*command, "--objective", "energy", "--energy", "1,2,-3,4"), "--energy: expected DRAM,TCDM,LOCAL,MAC")
    refused(run(*command, "--energy", "1,2,3,4"), "--energy: expected together with --objective energy")
    refused(run(*command, "--min-utilisation", "1.5"), "--min-utilisation: expected 0 to 1, got 1.5")
    one_level = ("schedule", "lenet:C1", "--buffer", "1KiB")
    refused(run(*one_level, "--energy", "1,2,3,4"), "--energy: expected with the hardware of a cluster")
    refused(
        run(*one_level, "--traffic-slack", "0"), "--traffic-slack: expected with --objective balanced, got traffic"
    )
    refused(
        run(*one_level, "--objective", "dram-time"),
        "--objective: expected balanced, traffic, with-bias, words or cycles without a cluster, got dram-time",
    )


def test_objectives_and_busy_lanes(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    few = Hardware(
        name="few", order=ORDER, lanes=Lanes(m=16), budget=1 << 16, cluster=Cluster(hwcs=2, tcdm=1 << 16)
    )  # fmt: skip
    save_hardware(few, hardware)
    command = ("schedule", "lenet:C5", "--hardware", hardware, "-o", tmp_path, "--json")
    (weighed,) = run(*command, "--objective", "energy", "--energy", "200,6,1,1").json["schedules"]
    assert (weighed["objective"], weighed["unit"], weighed["utilisation_in_cycles"]) == ("energy", "units", None)
    moved, fetched = weighed["total_bytes"], weighed["tcdm_bytes"]
    (predicted,) = run("predict", tmp_path / "C5.yaml", "--json").json["schedules"]
    levels = predicted["energy"]["levels"]
    assert weighed["value"] == predicted["energy"]["total"] - levels["dram"]["P"]
    assert sum(levels["dram"][operand] for operand in "IWO") == 200 * moved
    assert sum(levels["tcdm"][operand] for operand in "IWO") == 6 * fetched
    text = (tmp_path / "C5.yaml").read_text(encoding="utf-8")
    assert f"# {weighed['value']:.12g} units; {moved} bytes of DRAM and {fetched} of TCDM for I, W and O." in text
    (busy,) = run(*command, "--min-utilisation", "0.04").json["schedules"]
    assert 0.04 <= busy["utilisation_in_cycles"] <= busy["utilisation"]


def test_the_bar_moves_within_the_search_of_a_layer_and_never_back() -> None:
    told: list[float] = []
    moving = Moving(told.append)
    for _ in range(2):
        with moving.search():
            for share in (0.2, 0.8, 0.1, 1.0, 0.0, 0.5):
                moving.tell(share)
    assert min(told) >= 0
    assert sum(told) == pytest.approx(2)
    assert sum(told[:2]) == pytest.approx(0.4)
    assert sum(told[:4]) == pytest.approx(0.75)


def test_free_lanes_are_chosen_and_written(run: Run, tmp_path: Path) -> None:
    hardware, layers = tmp_path / "free.yaml", tmp_path / "deep.yaml"
    save_hardware(Hardware(name="free", budget=2048, cluster=Cluster(hwcs=2, tcdm=1 << 14, banks=4)), hardware)
    row = {"name": "deep", "op": "conv", "input_channels": 2, "output_channels": 32, "input_height": 3,
           "input_width": 3, "output_height": 3, "output_width": 3, "kernel": [1, 1]}  # fmt: skip
    layers.write_text(json.dumps({"format": 1, "kind": "layer_list", "network": "n", "layers": [row]}))
    answer = run("schedule", layers, "--hardware", hardware, "-o", tmp_path / "out", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.json["lanes"]["of"] == 15
    assert len(answer.json["lanes"]["searched"]) == 3
    written = load_hardware(tmp_path / "out" / "free.hardware.yaml")
    schedule = load_schedule(tmp_path / "out" / "deep.yaml")
    assert written.lanes == schedule.lanes
    assert written.shape.m > 1
    along_rows = tmp_path / "rows.yaml"
    save_hardware(Hardware.model_validate({**written.model_dump(), "lanes": Lanes(x=16)}), along_rows)
    other = run("schedule", layers, "--hardware", along_rows, "--json")
    assert other.json["lanes"] == {"searched": ["x16"], "of": 1}
    assert answer.json["all_layers"]["cycles"] < other.json["all_layers"]["cycles"]
    table = run("schedule", layers, "--hardware", hardware)
    assert f"Lanes: {written.lanes}, the best of 3 shapes" in table.out


def test_objectives_on_a_cluster(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "two.yaml"
    save_hardware(
        Hardware(name="two", lanes=Lanes(x=16), budget=1024, cluster=Cluster(hwcs=2, tcdm=6144, banks=4)), hardware
    )
    found = {}
    for name, options in {
        "traffic": ["--objective", "traffic"],
        "balanced": ["--objective", "balanced"],
        "slack": ["--traffic-slack", "0.01"],
        "cycles": ["--objective", "cycles"],
        "default": [],
        "wide": ["--objective", "balanced", "--traffic-slack", "0.5"],
    }.items():
        answer = run("schedule", "lenet:C1", "--hardware", hardware, *options, "--json")
        assert answer.status == 0
        found[name] = answer.json["schedules"][0]
    least = found["traffic"]["total_bytes"]
    assert least <= found["balanced"]["total_bytes"] <= least * 1.01
    for one in found.values():
        del one["seconds"]
    assert found["slack"] == found["balanced"]
    assert found["default"] == found["cycles"] != found["balanced"]
    assert least <= found["wide"]["total_bytes"] <= least * 1.5
    busy = [found[name]["utilisation_in_cycles"] for name in ("balanced", "wide", "cycles")]
    assert busy == sorted(busy)
    answer = run("schedule", "lenet:C1", "--hardware", hardware, "--objective", "words")
    assert answer.status == 2
    assert "--objective: expected balanced" in answer.err
