"""``hwgen calibrate``: the DMA is measured, and the hardware file has what was found."""

from pathlib import Path

import pytest

from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.hardware import Cluster, Dram, Hardware, save_hardware
from tests.cli.command_line import Run, refused


def test_a_cluster(run: Run, tmp_path: Path) -> None:
    file, target = tmp_path / "h.yaml", tmp_path / "calibrated.yaml"
    slow = Dram(latency=20, miss_cycles=28, block_cycles=16)
    hardware = Hardware(name="h", cluster=Cluster(dram=slow))
    save_hardware(hardware, file)
    answer = run("calibrate", file, "-o", target, "--tiles", 20, "--json")
    assert answer.status == 0
    assert load_hardware(file) == hardware
    found = load_hardware(target).cluster
    assert found is not None
    assert found.dram == slow
    for cost, fit in ((found.load, answer.json["load"]), (found.store, answer.json["store"])):
        assert cost is not None
        assert cost.transfer == pytest.approx(fit["transfer"], abs=0.005)
        assert (cost.run, cost.byte) == pytest.approx((fit["run"], fit["byte"]), abs=0.0005)
        assert 0.12 < cost.byte < 0.16  # 8 bytes a cycle at most, 16 cycles for 128 bytes
        assert 0 < fit["mean"] <= fit["percentile_95"] <= fit["largest"]
    assert run("calibrate", target, "--tiles", 20).status == 0
    assert load_hardware(target).cluster == found


def test_comments_stay(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "h.yaml"
    text = (
        "# mine\nformat: 1\nkind: hardware\nname: h  # named\ncluster:\n  hwcs: 2   # two\n  tcdm: 65536\n# the end\n"
    )
    file.write_text(text)
    assert run("calibrate", file, "--tiles", 20).status == 0
    lines = file.read_text().splitlines()
    assert [line for line in lines if not line.startswith(("  load: {", "  store: {"))] == text.splitlines()
    assert len(lines) == len(text.splitlines()) + 2
    first = file.read_text()
    assert run("calibrate", file, "--tiles", 20).status == 0
    assert file.read_text() == first


def test_a_single_hwc_has_no_dma(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "h.yaml"
    save_hardware(Hardware(name="h"), file)
    refused(run("calibrate", file), "h.yaml: cluster: expected one, since only clusters have a DMA")
