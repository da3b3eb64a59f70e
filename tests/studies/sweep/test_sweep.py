"""``hwgen sweep``: points, keys, the table, and what is refused."""

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask
import pyarrow.parquet
import pytest
import yaml

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.counts import directions_at, quantities_at
from hwgen.ir.document import SEAL, InputError, dump_yaml, row_digest
from hwgen.ir.hardware import Cluster
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.lower.hwc import compile_layer
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.model.nest.one_level import predict
from hwgen.search.core.optimal import Balance
from hwgen.studies.engine.attempt import environment
from hwgen.studies.regress.hwc import rows_of
from hwgen.studies.regress.plans import Configuration, Entry, Kind, Plan, make_plan
from hwgen.studies.regress.published_nests import hwce
from hwgen.studies.sweep.clusters import ClusterConfiguration, cluster_row, plan_on_cluster
from hwgen.studies.sweep.request import Outcome, Question
from hwgen.studies.sweep.rows import order_text, row_of
from hwgen.studies.sweep.steps import scaled, simulate_step
from hwgen.studies.sweep.synthesis import area_cells
from hwgen.studies.sweep.tables.columns import COLUMNS, CURVES
from hwgen.studies.sweep.tables.files import write_results
from hwgen.studies.sweep.tables.merge import known_tables
from hwgen.synthesis.ecp5 import Area, CriticalPath, Device, Gates, Synthesis
from hwgen.tools.toolchain import ToolError
from tests.cli.command_line import Answer, Run, refused
from tests.studies.engine.points import layers_named

SMALL = {"name": "small", "op": "conv", "input_channels": 3, "output_channels": 4, "input_height": 6,
         "input_width": 9, "output_height": 6, "output_width": 9, "kernel": [3, 3],
         "padding": [1, 1, 1, 1]}  # fmt: skip

pytestmark = pytest.mark.usefixtures("kernels_of_plans")


@pytest.fixture
def layer_set(tmp_path: Path) -> Path:
    path, table = tmp_path / "set.yaml", {"format": 1, "kind": "layer_list", "network": "small", "layers": [SMALL]}
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    return path


# --- layers, keys ---


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"m": 16, "c": 8, "y": 14, "x": 14, "k": 3, "l": 3}),
        ({"groups": 4}, {"m": 16, "c": 2, "y": 14, "x": 14, "k": 3, "l": 3}),
        ({"op": "depthwise_conv", "input_channels": 64, "groups": 64}, {"m": 16, "c": 1, "y": 14, "x": 14}),
        ({"stride": (2, 2), "output_height": 28, "output_width": 28}, {"m": 16, "c": 8, "y": 7, "x": 7}),
    ],
)
def test_scaled_layers_are_of_the_same_kind(changes: dict[str, Any], expected: dict[str, int]) -> None:
    sizes = dict.fromkeys(("input_height", "input_width", "output_height", "output_width"), 56)
    data = {**SMALL, **sizes, "name": "layer", "input_channels": 32, "output_channels": 64}
    layer = Layer.model_validate({**data, **changes})
    small = scaled(layer, 4)
    assert {dim: small.extents[dim] for dim in expected} == expected  # type: ignore[index]
    assert (small.name, small.stride, small.padding) == (layer.name, layer.stride, layer.padding)
    assert scaled(layer, 1) == layer
    assert min(scaled(layer, 1000).extents.values()) >= 1


def plan_of(layer: Layer, budget: int = 1024) -> Plan:
    return Plan(Configuration("hwce", budget), (Entry(hwce(layer, lanes=Lanes(x=16)), None),), {}, {layer.name: 100})


def test_a_key_names_what_a_simulation_depends_on() -> None:
    one, other = layers_named("a", "b")
    (row,), (elsewhere,) = rows_of(plan_of(one)), rows_of(plan_of(other))
    keys = {simulate_step(row, 0).key, simulate_step(row, 1).key, simulate_step(elsewhere, 0).key}
    assert len(keys) == 3
    # The same schedule on the same HWC, found for another budget, is the same simulation.
    (same,) = rows_of(plan_of(one, 2048))
    assert simulate_step(same, 0).key == simulate_step(row, 0).key


def test_lanes_and_orders_are_part_of_a_configuration(tmp_path: Path) -> None:
    layer = Layer.model_validate({**SMALL, "output_channels": 8})
    plain = make_plan([layer], Configuration("per-layer", 1024), tmp_path)
    wanted = Configuration("per-layer", 1024, lanes=Lanes(m=8, x=2), order="MYX[O]C[I]k[W]lmyx")
    assert wanted.name == "per-layer 1024 m8x2 MYX[O]C[I]k[W]lmyx"
    shaped = make_plan([layer], wanted, tmp_path)
    (row,), (other,) = rows_of(shaped), rows_of(plain)
    assert (row.parameters.lanes.m, row.parameters.lanes.x, other.parameters.lanes.x) == (8, 2, 16)
    assert row.parameters.loops == ("m", "y", "x", "c", "k", "l", "m", "y", "x")
    assert (row.parameters.output_marker, row.parameters.input_marker, row.parameters.weight_marker) == (3, 4, 5)


@pytest.mark.parametrize(("kind", "lanes"), [("per-layer", Lanes(m=2, x=8)), ("shared", None)])
def test_the_fewest_cycles_near_the_least_traffic(kind: Kind, lanes: Lanes | None, tmp_path: Path) -> None:
    layers = [Layer.model_validate({**SMALL, "name": f"of{m}", "output_channels": m}) for m in (4, 8)]
    wanted = Configuration(kind, 512, lanes=lanes, slack=0.05, room=True)
    assert wanted.name == f"{kind} 512 {lanes or 'auto'} balanced 0.05"
    plan = make_plan(layers, wanted, tmp_path)
    assert Plan.from_data(wanted, plan.as_data()) == plan == make_plan(layers, wanted, tmp_path)
    asked = Question(tuple(layers), (wanted,)).asked(wanted)
    assert (asked["lanes"], asked["objective"], asked["traffic_slack"]) == (str(lanes or "auto"), "balanced", 0.05)
    for row in rows_of(plan):
        balance = plan.balances[row.layer]
        cells = row_of(
            row, point="p", optimum=100, asked=asked, file="s.yaml", simulated=None, area=None, balance=balance
        )
        assert (cells["total_bytes_predicted"], cells["cycles_predicted"]) == (
            balance.chosen.total_bytes, balance.chosen.cycles
        )  # fmt: skip
        least, fewest = balance.least_traffic, balance.fewest_cycles
        assert (cells["least_traffic_bytes"], cells["least_traffic_cycles"]) == (least.total_bytes, least.cycles)
        assert (cells["fewest_cycles_bytes"], cells["fewest_cycles"]) == (fewest.total_bytes, fewest.cycles)
    together = Balance.together(list(plan.balances.values()))
    bytes_of, cycles_of = ([getattr(end, name) for end in together.ends] for name in ("total_bytes", "cycles"))
    assert bytes_of[1] <= bytes_of[0] <= 1.05 * bytes_of[1]
    assert cycles_of[2] <= cycles_of[0] <= cycles_of[1]
    # The least traffic alone is the same end, and nothing is weighed for it.
    alone = make_plan(layers, replace(wanted, slack=None), tmp_path)
    assert sum(predict(entry.schedule).total_bytes for entry in alone.entries) == bytes_of[1]
    assert alone.balances == {}


# --- the table ---


def synthesis() -> Synthesis:
    return Synthesis(
        Device(), 81.5, CriticalPath("a", "b", 1.0, 2.0), Area(100, 5, 30, 2, 0),
        {"I": Area(lut_rams=8), "W": Area(block_rams=1)}, Gates(1000, 30, 8192, 64), {},
    )  # fmt: skip


OF_CLUSTERS = {
    "hwcs", "tcdm_bytes", "axi_bits", "banks", "dram", "tcdm_taken_bytes", "search_complete",
    "dram_total_bytes_predicted", "dram_total_with_bias_predicted",
    "wait_load_predicted",
    "wait_store_predicted",
    *(f"dram_{operand}_{direction}_{quantity}_predicted" for operand, directions in directions_at("dram").items()
      for direction in directions for quantity in quantities_at("dram")),
}  # fmt: skip
"""Columns that a lone HWC has no figures for."""
OF_A_SEARCH = {
    "objective", "traffic_slack", "least_traffic_bytes", "least_traffic_cycles", "fewest_cycles_bytes",
    "fewest_cycles",
}  # fmt: skip
"""Columns that the HWCE, which nobody searches for, has no figures for."""


def missing(cells: dict[str, Any]) -> set[str]:
    return {name for name, cell in cells.items() if cell is None and not name.endswith("_measured")}


def test_a_row_of_a_cluster_has_everything() -> None:
    layer = Layer.model_validate(SMALL)
    hwc = Configuration("per-layer", 512, slack=0.01)
    configuration = ClusterConfiguration(hwc, Cluster(hwcs=2, tcdm=1 << 14))
    assert configuration.name == "cluster of 2, TCDM 16384, 512 balanced 0.01"
    plan = plan_on_cluster(layer, configuration)
    schedule = Schedule.from_data(plan["schedule"])
    asked = Question((layer,), (configuration,)).asked(configuration)
    cells = cluster_row(plan, configuration, point="p", asked=asked, file="s.yaml", simulated=None)
    assert list(cells) == [column.name for column in COLUMNS]
    assert (cells["configuration"], cells["hwcs"], cells["tcdm_bytes"]) == ("cluster", 2, 1 << 14)
    counts = predict_cluster(schedule, 2).counts
    assert cells["dram_total_bytes_predicted"] == counts.total_bytes("dram") == cells["compulsory_bytes"]
    assert cells["least_traffic_bytes"] == cells["compulsory_bytes"]
    assert cells["least_traffic_cycles"] >= cells["cycles_predicted"]
    assert cells["dram_W_read_axi_bursts_predicted"] == counts["dram", "W", "read"].axi_bursts > 0
    assert cells["dram_P_read_bytes_predicted"] > 0  # the program
    assert cells["total_bytes_predicted"] == counts.total_bytes()
    assert 0 < cells["tcdm_taken_bytes"] <= 1 << 14
    assert missing(cells) & {*OF_CLUSTERS, *(column.name for column in COLUMNS[:25]), "cycles_predicted"} == {"dram"}
    # Of a run, with what its registers say.
    stalls = {"wait_compute_for_load": 7, "wait_compute_for_store": 5}
    run = {"measured": counts.as_json(), "equal": True, "output_exact": True, "passed": True, "failures": [],
           "cycles": {"measured": layer.macs}, "stalls": {"measured": stalls}}  # fmt: skip
    cells = cluster_row(plan, configuration, point="p", asked=asked, file="s.yaml", simulated=run)
    assert (cells["status"], cells["wait_load_measured"], cells["wait_store_measured"]) == ("ok", 7, 5)
    assert (cells["utilisation"], cells["bound_ratio"]) == (1 / 32, 1.0)
    assert cells["dram_total_bytes_measured"] == cells["dram_total_bytes_predicted"]
    assert 0 < cells["energy_measured"] < cells["energy_predicted"]  # without the program


def test_a_row_has_everything() -> None:
    (layer,) = layers_named("a")
    plan = plan_of(layer)
    (row,) = rows_of(plan)
    counts = predict(row.entry.schedule).counts
    asked = Question((layer,), (plan.configuration,)).asked(plan.configuration)
    cells = row_of(
        row,
        point="p",
        optimum=100,
        asked=asked,
        file="s.yaml",
        simulated=None,
        area={**area_cells(synthesis()), "design": "d"},
    )
    assert list(cells) == [column.name for column in COLUMNS]
    assert (cells["status"], cells["total_bytes_predicted"]) == ("predicted", counts.total_bytes())
    assert cells["optimum_ratio"] == counts.total_bytes() / 100
    assert missing(cells) == {"equal", "output_exact", *OF_CLUSTERS, *OF_A_SEARCH}
    assert (cells["luts"], cells["lut_rams"], cells["buffer_lut_rams"], cells["buffer_block_rams"]) == (100, 5, 8, 1)
    assert (cells["gates"], cells["buffer_bits"], cells["clock_mhz"]) == (1000, 8192, 81.5)
    assert cells["schedule"] == "s.yaml"
    assert cells["hardware_order"].count("[") == 2  # the HWCE keeps rows and weights, no sums


def test_files_hold_the_same_rows(tmp_path: Path) -> None:
    (layer,) = layers_named("a")
    plan = plan_of(layer)
    (row,) = rows_of(plan)
    question = Question((layer,), (plan.configuration,), simulate=False, layer_set="few")
    asked = question.asked(plan.configuration)
    cells = row_of(row, point="p", optimum=100, asked=asked, file="s.yaml", simulated=None, area=None)
    curve = {"layer": "a", "buffer_bytes": 64, "I_bytes": 1, "W_bytes": 2, "O_bytes": 3, "total_bytes": 6,
             "bound_bytes": 5, "set": "few", "scale": 1, "question": question.name}  # fmt: skip
    text = dump_yaml(row.entry.schedule.as_data())
    write_results(tmp_path, Outcome([cells], [curve], {"s.yaml": text}), question)
    assert load_schedule(tmp_path / "s.yaml") == row.entry.schedule
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        (read,) = csv.DictReader(file)
    table = pyarrow.parquet.read_table(tmp_path / "results.parquet")
    sealed = {**cells, SEAL: row_digest(cells)}
    assert table.to_pylist() == [sealed]
    assert {name: cell for name, cell in read.items() if cell} == {
        name: str(cell) for name, cell in sealed.items() if cell not in (None, "")
    }
    schema = json.loads((tmp_path / "schema.json").read_text(encoding="utf-8"))
    assert [column["name"] for column in schema["results"]] == table.column_names
    field = table.schema.field("total_bytes_measured")
    assert field.metadata == {b"unit": b"bytes", b"meaning": b"I, W and O at the shared memory, counted on the bus"}
    provenance = json.loads(table.schema.metadata[b"hwgen.provenance"])
    assert provenance == json.loads((tmp_path / "provenance.json").read_text(encoding="utf-8"))
    asked = provenance["questions"][cells["question"]]
    assert (asked["size"], asked["configurations"], asked["set"]) == ("full", ["hwce 1024"], "few")
    curves = pyarrow.parquet.read_table(tmp_path / "curves.parquet")
    assert curves.to_pylist() == [{**curve, SEAL: row_digest(curve)}]
    assert set(curves.column_names) == {column.name for column in CURVES} | {SEAL}


# --- the command ---


def command(*arguments: object) -> Answer:
    """The command line in a process of its own: Dask starts threads, loops and processes."""
    program = [sys.executable, "-c", "from hwgen.cli import main; main()", *map(str, arguments)]
    done = subprocess.run(program, capture_output=True, text=True, check=False, env=environment(), timeout=600)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.mark.usefixtures("inline")
def test_a_sweep_of_the_model_alone(run: Run, layer_set: Path, tmp_path: Path) -> None:
    """A worker does the steps of the first, those of another size are done here."""
    out = tmp_path / "out"
    wanted = ("sweep", layer_set, "--buffers", "512,1KiB", "--per-layer", "--hwce", "--no-sim", "-j", 1, "-o", out,
              "--objective", "traffic", "--lanes", "x16")  # fmt: skip
    answer = command(*wanted, "--json")
    assert answer.status == 0, answer.err
    rows = answer.json["results"]
    assert [(row["configuration"], row["buffer_bytes"], row["status"]) for row in rows] == [
        ("per-layer", 512, "predicted"), ("per-layer", 1024, "predicted"),
        ("hwce", 512, "predicted"), ("hwce", 1024, "predicted"),
    ]  # fmt: skip
    for row in rows:
        counts = predict(load_schedule(out / row["schedule"])).counts
        assert row["tcdm_I_read_bytes_predicted"] == counts["tcdm", "I", "read"].bytes
        assert row["total_bytes_predicted"] == counts.total_bytes()
        assert row["total_bytes_measured"] is None
    sizes = [row["buffer_bytes"] for row in answer.json["curves"]]
    assert {512, 1024} <= set(sizes)
    totals = [row["total_bytes"] for row in answer.json["curves"]]
    assert totals == sorted(totals, reverse=True)
    told = answer.err.splitlines()
    assert told[0] == "[0/4] 4 configurations, 1 layer: starting 1 worker"
    assert any(line.startswith("[4/4] ") for line in told)
    again = run(*wanted)
    assert (again.status, again.err) == (0, "")  # nothing was left to do
    assert "Sweep, layers at full size" in again.out
    assert {file.name for file in out.iterdir()} == {
        "store", "results.csv", "results.parquet", "curves.csv", "curves.parquet", "schema.json", "provenance.json",
        "schedules",
    }  # fmt: skip
    # Layers of another size are rows of their own.
    looked = run(*wanted, "--scale", 2, "--json").json
    assert {row["scale"] for row in looked["results"]} == {2}
    assert looked["provenance"]["size"] == "channels, rows and columns divided by 2"
    assert looked["results"][0]["macs"] < rows[0]["macs"]
    table = pyarrow.parquet.read_table(out / "results.parquet").to_pylist()
    assert [row["scale"] for row in table] == [1, 1, 2, 2] * 2
    assert len((out / "results.csv").read_text(encoding="utf-8").splitlines()) == 9  # a line a row
    # The schedules run on the hardware beside them.
    for row in table:
        hardware = load_hardware(next((out / row["schedule"]).parent.glob("*.hardware.yaml")))
        p = compile_layer(load_schedule(out / row["schedule"]), hardware).parameters
        assert order_text(p) == row["hardware_order"]
        assert p.input_bytes == row["input_buffer_bytes"]


def test_bad_input_is_one_line(run: Run, layer_set: Path, tmp_path: Path) -> None:
    sweep = ("sweep", layer_set, "-o", tmp_path / "out", "--no-sim", "-j", 1)
    expected = "sizes such as 512 or 1KiB,4KiB, or --hardware, which has its own (with --depth-first: --memory)"
    refused(run(*sweep), f"--buffer: expected {expected}")
    refused(run(*sweep, "--buffers", "some"), "--buffer: expected sizes such as 512")
    refused(
        run(*sweep, "--buffers", "1KiB", "--objective", "balanced,least"),
        "--objective: expected balanced, cycles, traffic",
    )
    slack = (*sweep, "--buffers", "1KiB", "--traffic-slack")
    refused(run(*slack, "0.01,-1"), "--traffic-slack: expected 0 to 10, such as 0.01,0.05, got '-1'")
    refused(run(*slack, "nan"), "--traffic-slack: expected 0 to 10")
    refused(run(*slack, "0.1", "--objective", "traffic"), "--traffic-slack: expected with --objective balanced")
    cycles = (*sweep, "--buffers", "1KiB", "--objective", "cycles")
    refused(run(*cycles), "--objective: cycles: expected with --cluster, --hardware or --per-layer, not")
    refused(
        run(*cycles, "--per-layer", "--traffic-slack", "0.1"), "--traffic-slack: expected with --objective balanced"
    )
    refused(run(*sweep, "--buffers", "1KiB", "--lanes", "x15"), "--lanes: expected auto, or 4 to 256 lanes")
    refused(run(*sweep, "--buffers", "1KiB", "--order", "MYX[O]C[I"), "--order: expected best or an order such as")
    refused(run(*sweep, "--buffers", "1KiB", "--order", "MYX[OO]c"), "--order: expected best or an order such as")
    cluster = (*sweep, "--buffers", "1KiB", "--cluster")
    refused(run(*cluster, "2,many"), "--cluster: expected numbers of HWCs such as 1,2,4, got '2,many'")
    refused(run(*cluster, "9"), "--cluster: hwcs: ")
    refused(run(*cluster, "2", "--lanes", "x16,auto"), "--lanes: auto: not in a cluster")
    refused(run(*cluster, "2", "--traffic-slack", "0"), "--traffic-slack: expected above 0 on a cluster, got 0")
    refused(run(*cluster, "2", "--tcdm", "100"), "--cluster: tcdm: ")
    refused(run(*cluster, "2", "--hardware", "hwc"), "--hardware: hwc: expected hardware with a cluster")
    refused(run(*cluster, "2", "--per-layer"), "--per-layer: expected without --cluster")
    refused(run(*sweep, "--buffers", "1KiB", "--tcdm", "64KiB"), "--tcdm: expected with --cluster")
    refused(run(*sweep, "--buffers", "1KiB", "--farm", "pbs"), "Invalid value for '--farm'")
    refused(run("sweep", "nonet", "--buffers", "1KiB"), "nonet: expected a file or one of the built-in layersets")
    (tmp_path / "file").touch()
    refused(run("sweep", layer_set, "--buffers", "1KiB", "-o", tmp_path / "file"), "-o: expected a folder")
    both = ("--scheduler", "tcp://127.0.0.1:1", "--farm", "slurm")
    refused(run(*sweep, "--buffers", "1KiB", *both), "--farm: expected without --scheduler")
    assert not (tmp_path / "out").exists()


def test_what_has_no_effect_where_a_sweep_runs_is_refused(
    run: Run, layer_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = ("sweep", layer_set, "-o", tmp_path / "out", "--no-sim", "--buffers", "1KiB")
    for option, value in {"--queue": "main", "--walltime": "12:00", "--job-memory": "4GiB"}.items():
        refused(run(*sweep, option, value), f"{option}: expected with --farm")
        refused(run(*sweep, option, value, "--scheduler", "tcp://h:1"), f"{option}: expected with --farm")
    refused(run(*sweep, "--synth-limit", 9), "--synth-limit: expected with --synth")
    refused(run(*sweep, "--worker-limit", 9), "--worker-limit: expected with --farm or --scheduler")
    refused(run(*sweep, "-j", 2, "--scheduler", "tcp://h:1"), "--jobs: expected without --scheduler")
    monkeypatch.setattr("hwgen.studies.engine.jobs.shutil.which", lambda name: name)
    farm = (*sweep, "--farm", "slurm")
    refused(run(*farm, "--walltime", "never"), "--walltime: expected hours and minutes such as 12:00")
    refused(run(*farm, "--job-memory", "some"), "--job-memory: expected 256MiB or more, such as 4GiB")
    assert not (tmp_path / "out").exists()


def test_tls_without_settings_is_one_line(
    run: Run, layer_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hwgen.studies.engine.jobs.shutil.which", lambda name: name)
    sweep = ("sweep", layer_set, "-o", tmp_path / "out", "--no-sim", "--buffers", "1KiB")
    tls = "expected TLS settings of Dask: distributed.comm.tls: ca-file, client.cert, client.key"
    refused(run(*sweep, "--scheduler", "tls://127.0.0.1:1"), f"--scheduler: tls://127.0.0.1:1: {tls}\n")
    with dask.config.set({"distributed.comm.require-encryption": True}):
        refused(run(*sweep, "--scheduler", "tcp://127.0.0.1:1"), f"--scheduler: tcp://127.0.0.1:1: {tls}\n")
        refused(run(*sweep, "--farm", "slurm"), f"--farm slurm: {tls}, scheduler.cert, scheduler.key, worker.cert")
    assert not (tmp_path / "out").exists()


def test_a_scheduler_that_does_not_answer_is_named(
    run: Run, layer_set: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hwgen.studies.engine.farm.ANSWER_SECONDS", 0.5)
    sweep = ("sweep", layer_set, "-o", tmp_path / "out", "--no-sim", "--buffers", "1KiB")
    refused(run(*sweep, "--scheduler", "tcp://127.0.0.1:1"), "--scheduler: tcp://127.0.0.1:1: no Dask scheduler")
    refused(run(*sweep, "--scheduler", "nowhere"), "--scheduler: nowhere: no Dask scheduler")


def test_tables_without_pyarrow_are_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = layers_named("a")
    (row,) = rows_of(plan_of(*layers))
    question = Question(layers, (row.configuration,), simulate=False)
    cells = row_of(
        row, point="p", optimum=100, asked=question.asked(row.configuration), file="s.yaml", simulated=None, area=None
    )
    outcome = Outcome([cells], [], {"s.yaml": "text"})
    with monkeypatch.context() as without:
        without.setattr("hwgen.studies.sweep.tables.merge.find_spec", lambda name: None)
        written = write_results(tmp_path, outcome, question)
        assert {file.name for file in tmp_path.iterdir()} == {
            "store", "results.csv", "curves.csv", "schema.json", "provenance.json", "s.yaml",
        }  # fmt: skip
        assert known_tables(tmp_path) == written
    # What a column means may be said in other words; its unit may not be another.
    file = tmp_path / "schema.json"
    known = file.read_text(encoding="utf-8")
    with monkeypatch.context() as without:
        without.setattr("hwgen.studies.sweep.tables.merge.find_spec", lambda name: None)
        file.write_text(known.replace("what was searched for", "what was wanted"), encoding="utf-8")
        assert file.read_text(encoding="utf-8") != known
        assert known_tables(tmp_path).rows == [cells]
        file.write_text(known.replace('"unit": "cycles"', '"unit": "seconds"'), encoding="utf-8")
        with pytest.raises(InputError, match="another version of hwgen"):
            known_tables(tmp_path)
        file.write_text(known, encoding="utf-8")
    # With pyarrow the next sweep goes on from there, and has Parquet; without it again that cannot be read.
    assert write_results(tmp_path, Outcome(), question).rows == [cells]
    assert pyarrow.parquet.read_table(tmp_path / "results.parquet").to_pylist() == [
        {**cells, SEAL: row_digest(cells)}
    ]
    assert not (tmp_path / "store" / "tables.json").exists()
    monkeypatch.setattr("hwgen.studies.sweep.tables.merge.find_spec", lambda name: None)
    with pytest.raises(ToolError, match="its Parquet needs pyarrow"):
        known_tables(tmp_path)


@pytest.mark.usefixtures("inline")
def test_a_sweep_without_a_feasible_point_is_refused(run: Run, layer_set: Path, tmp_path: Path) -> None:
    sweep = ("sweep", layer_set, "--buffers", "16", "--no-sim", "-j", 1, "-o", tmp_path / "out")
    answer = command(*sweep)
    told = answer.err.splitlines()
    assert (answer.status, answer.out) == (2, "")
    assert told[-1].startswith("hwgen: no feasible point: no HWC of 16 bytes runs all 1 layers")
    assert told[0].startswith("[0/1] ")
    assert told[-2].startswith("[1/1] ")
    assert run(*sweep, "-q").err.splitlines() == told[-1:]
    assert not (tmp_path / "out" / "results.csv").exists()
