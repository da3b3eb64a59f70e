"""``hwgen sweep`` through the RTL: every point measured and equal, on one layer that other tests build for too."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
import yaml

from hwgen.ir.schedule import load_schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.nest.one_level import predict
from hwgen.studies.engine.attempt import environment
from tests.cli.command_line import Run
from tests.studies.regress.test_hwc import ROWS


@pytest.mark.nightly
def test_points_on_clusters_are_measured_and_equal(tmp_path: Path) -> None:
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": ROWS[:1]}
    layer_set, out = tmp_path / "small.yaml", tmp_path / "out"
    layer_set.write_text(yaml.safe_dump(table), encoding="utf-8")
    command = [sys.executable, "-c", "from hwgen.cli import main; main()", "sweep", str(layer_set), "--buffers",
               "512", "--cluster", "2", "--tcdm", "16KiB", "-j", "1", "-o", str(out)]  # fmt: skip
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    with (out / "results.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["status"], row["equal"], row["output_exact"]) == ("ok", "true", "true")
    counts = predict_cluster(load_schedule(out / row["schedule"]), 2).counts
    assert int(row["dram_total_bytes_measured"]) == counts.total_bytes("dram") > 0
    assert int(row["dram_I_read_beats_measured"]) == counts["dram", "I", "read"].beats > 0
    assert int(row["dram_P_read_bytes_measured"]) == int(row["dram_P_read_bytes_predicted"]) > 0
    assert int(row["total_bytes_measured"]) == counts.total_bytes()
    assert int(row["wait_load_measured"]) + int(row["wait_store_measured"]) < int(row["cycles_measured"])
    assert 0 < float(row["utilisation"]) < 1
    assert float(row["energy_measured"]) == float(row["energy_predicted"]) > 0
    (line,) = [line for line in done.stderr.splitlines() if "as predicted" in line]
    assert "cluster of 2, TCDM 16384, 512 cycles" in line


def test_points_are_measured_and_equal(run: Run, tmp_path: Path) -> None:
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": ROWS[:2]}
    layer_set, out = tmp_path / "small.yaml", tmp_path / "out"
    layer_set.write_text(yaml.safe_dump(table), encoding="utf-8")
    asked = ("sweep", str(layer_set), "--buffers", "1KiB", "--per-layer", "--objective", "traffic", "--lanes", "x16",
             "-j", "1", "-o", str(out))  # fmt: skip
    program = [sys.executable, "-c", "from hwgen.cli import main; main()", *asked]
    first = subprocess.run(program, env=environment(), capture_output=True, text=True, check=False, timeout=900)
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("as predicted") == 2
    with (out / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["layer"], row["status"], row["equal"], row["output_exact"]) for row in rows] == [
        ("square", "ok", "true", "true"), ("point", "ok", "true", "true")
    ]  # fmt: skip
    for row in rows:
        counts = predict(load_schedule(out / row["schedule"])).counts
        assert int(row["total_bytes_measured"]) == int(row["total_bytes_predicted"]) == counts.total_bytes()
        assert int(row["tcdm_O_write_words_measured"]) == counts["tcdm", "O", "write"].words > 0
        assert row["cycles_measured"] == row["cycles_predicted"]
        assert int(row["stall_input_measured"]) == int(row["stall_input_predicted"])
        assert (row["simulator"], row["scale"]) == ("verilator", "1")
    assert pyarrow.parquet.read_table(out / "results.parquet").num_rows == 2
    (question,) = json.loads((out / "provenance.json").read_text(encoding="utf-8"))["questions"].values()
    assert question["simulated"] is True
    text = (out / "results.csv").read_bytes()
    again = run(*asked)
    assert (again.status, again.err) == (0, "")
    assert (out / "results.csv").read_bytes() == text
