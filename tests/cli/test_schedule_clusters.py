"""``hwgen schedule`` with the hardware of a cluster: its document, the files it writes, and what it refuses."""

from pathlib import Path

from hwgen.arch.dram import DramPort
from hwgen.ir.hardware import Cluster, Hardware, save_hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.schedule import Marker, load_schedule
from hwgen.model.cluster.placement import place
from hwgen.model.dram.counts import dram_counts
from tests.cli.command_line import Run, refused

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
        counts = dram_counts(schedule, DramPort(), 2)
        assert entry["total_bytes"] == counts.total_bytes("dram") == sum(entry["by_operand"].values())
        assert entry["counts"]["dram"] == counts.as_json()["dram"]
        assert entry["need"] == place(schedule).size <= 1 << 16
    table = run("schedule", "lenet:C1", "--hardware", hardware)
    assert "Schedules of least DRAM bytes, then TCDM bytes" in table.out


def test_refusals(run: Run) -> None:
    one = run("schedule", "lenet:C1", "--hardware", "cluster", "--buffer", "1KiB")
    refused(one, "--hardware: cluster: a cluster has its sizes: expected no options but --objective,")
    refused(run("schedule", "lenet:C1"), "--buffer: expected sizes such as 512 or 1KiB,4KiB")
    command = ("schedule", "lenet:C1", "--hardware", "cluster")
    refused(run(*command, "--objective", "words"), "--objective: expected dram-bytes, dram-time or energy")
    refused(run(*command, "--objective", "energy"), "hardware: cluster: energy: expected dram, tcdm, local and mac")
    refused(run(*command, "--objective", "energy", "--energy", "1,2,x,4"), "--energy: expected DRAM,TCDM,LOCAL,MAC")
    refused(run(*command, "--objective", "energy", "--energy", "1,2,-3,4"), "--energy: expected DRAM,TCDM,LOCAL,MAC")
    refused(run(*command, "--energy", "1,2,3,4"), "--energy: expected together with --objective energy")
    refused(run(*command, "--min-utilisation", "1.5"), "--min-utilisation: expected 0 to 1, got 1.5")
    one_level = ("schedule", "lenet:C1", "--buffer", "1KiB")
    refused(run(*one_level, "--energy", "1,2,3,4"), "--energy: expected with the hardware of a cluster")
    refused(
        run(*one_level, "--objective", "dram-time"),
        "--objective: expected traffic, words or cycles without a cluster, got dram-time",
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
    macs = load_schedule(tmp_path / "C5.yaml").layer.macs
    moved, fetched = weighed["total_bytes"], weighed["tcdm_bytes"]
    assert weighed["value"] == 200 * moved + 6 * (moved + fetched) + fetched + 10 * macs + macs
    text = (tmp_path / "C5.yaml").read_text(encoding="utf-8")
    assert f"# {weighed['value']:.12g} units; {moved} bytes of DRAM and {fetched} of TCDM for I, W and O." in text
    (busy,) = run(*command, "--min-utilisation", "0.04").json["schedules"]
    assert 0.04 <= busy["utilisation_in_cycles"] <= busy["utilisation"]
