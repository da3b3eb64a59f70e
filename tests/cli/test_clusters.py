"""``hwgen predict`` on schedules of two memory levels."""

from pathlib import Path

import pytest

from hwgen.arch.dram import Dram, DramPort
from hwgen.ir.counts import Counts
from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ARRAYS, Loop, Marker, Schedule, save_schedule
from hwgen.lower.cluster.cycles import cluster_cycles
from hwgen.lower.cluster.program import compile_cluster
from hwgen.model.cluster.cluster_counts import predict_cluster
from tests.cli.command_line import Run, refused

LAYER = Layer(name="rows", input_channels=6, output_channels=16, input_height=10, input_width=12, kernel=3, padding=1)
NEST = (
    Marker(ARRAYS, TCDM), Loop("m", 8), Loop("m", 4, "hwc"), Marker(("O",)), Loop("c", 1), Marker(("I", "W")),
    Loop("y", 1), Loop("k", 1), Loop("m", 1), Loop("l", 1),
)  # fmt: skip
ROWS = Schedule(layer=LAYER, nest=NEST, lanes=Lanes(x=16))


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "rows.yaml"
    save_schedule(ROWS, path)
    return path


def test_counts_at_both_levels(run: Run, saved: Path) -> None:
    answer = run("predict", saved, "--json", "--elements")
    assert (answer.status, answer.err) == (0, "")
    (entry,) = answer.json["schedules"]
    found = predict_cluster(ROWS, 4)
    counts = Counts.from_json(entry["counts"])
    program = counts["dram", "P", "read"]
    assert program.bytes == 4 * len(compile_cluster(ROWS).words)
    assert program.blocks == program.axi_bursts == -(-program.bytes // 128)
    assert not found.with_program(program).counts.differences(counts)
    assert entry["total_bytes"] == 6 * 120 + 16 * 54 + 16 * 120
    assert entry["tcdm_buffer"]["I"] == {"elements": 720, "bytes": 720}
    assert len(entry["hwcs"]) == 4
    assert entry["hwcs"][0]["O"]["write"]["words"] == entry["counts"]["tcdm"]["O"]["write"]["words"] // 2
    assert entry["hwcs"][2]["O"]["write"]["words"] == 0
    assert entry["cycles"] == round(cluster_cycles(compile_cluster(ROWS)).total)
    assert (
        entry["cycles"] > entry["busy"]["compute"] > entry["waits"]["store for compute"] > entry["busy"]["load"] > 0
    )
    assert entry["refused"] is None
    assert entry["tcdm_rings"] == {array: ring.size for array, ring in compile_cluster(ROWS).rings.items()}
    assert all(entry["tcdm_rings"][array] >= entry["tcdm_buffer"][array]["bytes"] for array in ARRAYS)


def test_tables(run: Run, saved: Path) -> None:
    answer = run("predict", saved)
    assert (answer.status, answer.err) == (0, "")
    for word in ("dram", "tcdm_dma", "row_misses", "words read alike", "in the TCDM", "wait for load"):
        assert word in answer.out
    assert "no program" not in answer.out


def test_the_given_cluster(run: Run, saved: Path, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere" / "cluster.yaml"  # beside the schedule it would be taken without being named
    slow = Dram(latency=20, block_cycles=250, row_bytes=1024, banks=4)
    save_hardware(Hardware(name="two", budget=8192, cluster=Cluster(hwcs=2, axi_bits=128, dram=slow)), path)
    (entry,) = run("predict", saved, "--hardware", path, "--json").json["schedules"]
    assert len(entry["hwcs"]) == 2
    (default,) = run("predict", saved, "--json").json["schedules"]
    assert entry["busy"]["load"] > 3 * default["busy"]["load"]
    found = predict_cluster(ROWS, 2, DramPort(128, Dram(row_bytes=1024, banks=4)))
    assert entry["counts"]["dram"]["I"] == found.counts.as_json()["dram"]["I"]
    assert entry["counts"]["dram"]["W"] == found.counts.as_json()["dram"]["W"]


def test_what_no_cluster_runs_is_counted_without_a_program(run: Run, saved: Path, tmp_path: Path) -> None:
    strided = Layer(**{**LAYER.model_dump(), "output_height": 2, "stride": (5, 1)})
    save_schedule(ROWS.model_copy(update={"layer": strided}), saved)
    (entry,) = run("predict", saved, "--json").json["schedules"]
    assert entry["counts"]["dram"]["P"]["read"]["bytes"] == 0
    assert entry["counts"]["dram"]["I"]["read"]["bytes"] == 5 * 12 * 6
    assert entry["cycles"] is None
    assert "stride: expected at most 4" in entry["refused"]
    assert "stride: expected at most 4" in run("predict", saved).out
    path = tmp_path / "cluster.yaml"
    save_hardware(Hardware(name="four", cluster=Cluster()), path)
    refused(run("predict", saved, "--hardware", path), "rows.yaml", "stride: expected at most 4")


def test_refused(run: Run, saved: Path) -> None:
    save_schedule(ROWS.model_copy(update={"nest": (Marker(("I", "W"), TCDM), *NEST[1:])}), saved)
    refused(run("predict", saved), "rows.yaml", "expected a marker for O")
