"""``hwgen schedule`` with the hardware of a cluster: its document, the files it writes, and what it refuses."""

from pathlib import Path

from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from hwgen.ir.schedule import Marker, load_schedule
from hwgen.model.dram import Dram, dram_counts
from hwgen.model.tcdm_placement import place
from tests.command_line import Run, refused

ORDER = (Marker(("O",)), "c", Marker(("I", "W")), "y", "k", "m", "x", "l")


def test_schedules_for_a_cluster(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    save_hardware(Hardware(name="few", order=ORDER, budget=1 << 16, cluster=Cluster(hwcs=2, tcdm=1 << 16)), hardware)
    folder = tmp_path / "found"
    answer = run("schedule", "lenet:C1", "--hardware", hardware, "-o", folder, "--json")
    assert (answer.status, answer.err) == (0, "")
    entries = answer.json["schedules"]
    assert [entry["layer"] for entry in entries] == ["C1"]
    for entry in entries:
        path = folder / f"{entry['layer']}.yaml"
        assert entry["file"] == str(path)
        schedule = load_schedule(path)
        counts = dram_counts(schedule, Dram(), 2)
        assert entry["total_bytes"] == counts.total_bytes("dram") == sum(entry["by_operand"].values())
        assert entry["counts"]["dram"] == counts.as_json()["dram"]
        assert entry["need"] == place(schedule).size <= 1 << 16
    table = run("schedule", "lenet:C1", "--hardware", hardware)
    assert "Schedules of fewest DRAM bytes, then TCDM bytes" in table.out


def test_refusals(run: Run) -> None:
    one = run("schedule", "lenet:C1", "--hardware", "cluster", "--buffer", "1KiB")
    refused(one, "--hardware: cluster: a cluster has its sizes: expected no options but -o and --json beside it")
    refused(run("schedule", "lenet:C1"), "--buffer: expected sizes such as 512 or 1KiB,4KiB")
