"""The cluster of Stoutchinin et al. 2019 beside ours: rates and verdicts by hand, and what the command finds kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import hwgen.cli.commands.paper.stoutchinin as command
from hwgen.campaigns.cluster import LEDGER, kept_results, regression_cases
from hwgen.cli.schedules import load_schedules
from hwgen.ir.builtin import named_file
from hwgen.ir.hardware import load_hardware
from hwgen.ir.network import load_layer_set
from hwgen.report.stoutchinin.cluster import RowOnCluster, cluster_claims, cluster_csv, cluster_lines

NARROW = RowOnCluster(8, "a", 4, 16, 640_000, 12_500, equal=True)
"""51.2 multiply-accumulates in a cycle, of 64."""
WIDE = replace(NARROW, bits=16, lanes=8, cycles=25_000)


def test_rates_are_cycles_at_the_clock_of_the_paper() -> None:
    assert (NARROW.utilisation, NARROW.rate) == (0.8, pytest.approx(25.6))
    assert (WIDE.utilisation, WIDE.rate) == (0.8, pytest.approx(12.8))
    assert cluster_csv([NARROW]).splitlines()[1] == "8,a,4,16,640000,12500,yes,0.8,25.6"


def test_verdicts_by_hand() -> None:
    operations, rate, busy, wide = cluster_claims([NARROW, WIDE])
    assert [claim.verdict for claim in (operations, rate, busy, wide)] == [
        "reproduced", "reproduced", "reproduced in part", "not judged",
    ]  # fmt: skip
    assert operations.found == "16 with 8 bits, 8 with 16 bits; counts as predicted and outputs exact in 2 of 2 runs"
    assert rate.found == "64 in a cycle, 32.0 GMAC/s at most at 500 MHz"
    assert busy.published.endswith("(25.6 GMAC/s)")
    assert busy.found == "0.800 in the mean of 1 layers, 0.800 to 0.800; 25.6 GMAC/s for all of them"
    assert cluster_claims([NARROW] * 68)[2].verdict == "reproduced"
    idle = cluster_claims([replace(NARROW, hwcs=3, cycles=20_000)])
    assert [claim.verdict for claim in idle[1:]] == ["not reproduced", "not reproduced"]
    assert cluster_claims([NARROW, replace(WIDE, equal=False)])[0].verdict == "refuted"
    assert cluster_claims([NARROW, replace(WIDE, lanes=4)])[0].verdict == "refuted"
    assert cluster_claims([]) == []


def test_the_table_has_all_rows_and_the_paper() -> None:
    slow = replace(NARROW, layer="b", cycles=20_000, equal=False)
    lines = cluster_lines([NARROW, slow, WIDE])
    assert "| 8 | a | 12,500 | 0.800 | 51.2 | 25.6 | as predicted, exact |" in lines
    assert "| 8 | all 2 | 32,500 | 0.615 | 39.4 | 19.7 | DIFFERENT |" in lines
    assert "| 8 | the paper, mean of its layers | | 0.80 | of 64 | 25.6 of 32 | |" in lines
    assert "| 16 | all 1 | 25,000 | 0.800 | 25.6 | 12.8 | as predicted, exact |" in lines


def test_what_is_kept_is_found_and_nothing_else(tmp_path: Path) -> None:
    layers = load_layer_set("stoutchinin_2019").convolutions()
    assert command._on_clusters(layers, tmp_path) == []
    hardware = load_hardware(named_file("hardware", "alexnet_cluster_16"))
    (schedule,) = (file.schedule for file in load_schedules(["alexnet_cluster_16"], hardware)
                   if file.schedule.layer.name == "alexnet_5")  # fmt: skip
    case = regression_cases([schedule], hardware)[0]
    entry = {"case": "alexnet_5", "hwcs": 4, "equal": True, "output_exact": True, "failures": [],
             "cycles": {"measured": 5_000_000, "predicted": 1}}  # fmt: skip
    lines = [{"key": "of another state", **entry}, {"key": case.key, **entry}]
    (tmp_path / LEDGER).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert command._on_clusters(layers, tmp_path) == [
        RowOnCluster(16, "alexnet_5", 4, 8, schedule.layer.macs, 5_000_000, equal=True)
    ]
    assert command._on_clusters(layers[-1:], tmp_path) == []
    assert kept_results([replace(case, stalls=True)], tmp_path) == [None]
