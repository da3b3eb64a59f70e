"""``hwgen paper yang-2016``: DianNao's schedule, rows by hand, claims, the command and its files."""

from pathlib import Path

import pytest

import hwgen.cli.commands.paper.yang
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.model.hierarchy.access import counts_of
from hwgen.model.hierarchy.energy import energy_of
from hwgen.model.published.yang import diannao_blocked, diannao_unblocked, window_bytes
from hwgen.report.yang.claims import blocking_claims
from hwgen.report.yang.rows import BENCHMARKS, benchmark_layers, diannao, energy_rows, network_rows, on_diannao
from hwgen.search.hierarchy.batch import HierarchyRequest
from tests.cli.command_line import Run, refused

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_file_is_the_schedule_with_its_energy(name: str) -> None:
    path, hierarchy = ROOT / "schedules" / "diannao" / f"{name}.yaml", diannao()
    schedule = load_schedule(path)
    assert schedule == diannao_blocked(schedule.layer, hierarchy)
    hierarchy.check_markers(schedule)
    energy = energy_of(counts_of(schedule, hierarchy), hierarchy, schedule.layer.macs)
    text = path.read_text(encoding="utf-8")
    assert f": {energy.total / 1e9:,.2f} mJ, of these {energy.mac / 1e9:,.2f} of the multiply-accumulates" in text


def test_counts_of_the_baseline_by_hand() -> None:
    """Conv5: weights for every row of 28, inputs for each of 32 blocks of outputs and three kernel rows."""
    (layer,) = benchmark_layers(["Conv5"])
    hierarchy = diannao()
    served = counts_of(diannao_blocked(layer, hierarchy), hierarchy).served
    assert served["dram", "W", "read"].bytes == 28 * 512 * 256 * 9 * 2
    rows = 3 * 28 - 2  # kernel rows over all outputs, without the two that meet padding only
    assert served["dram", "I", "read"].bytes == 32 * 256 * rows * 28 * 2
    assert served["dram", "O", "write"].bytes == 512 * 28 * 28 * 2
    assert served["dram", "O", "write_partial"].bytes == 0
    # A block of the output row, tap by tap: every tap fetches its 28 columns anew, 27 where one is padding.
    plain = counts_of(diannao_unblocked(layer, hierarchy), hierarchy).served
    assert plain["dram", "I", "read"].bytes == 32 * 256 * rows * (28 + 27 + 27) * 2
    assert window_bytes(layer, diannao_blocked(layer, hierarchy).bits) == 3 * 3 * 256 * 2


def test_printed_energies_and_networks() -> None:
    rows = {row.kib: row for row in energy_rows()}
    assert (rows[32].bits_64, rows[32].bits_512) == pytest.approx((5.82, 2.64))
    by_name = {row.network: row for row in network_rows()}
    assert by_name["VGGNet-D"].conv == pytest.approx(15.3, abs=0.1)


def test_claims_of_two_layers() -> None:
    """The best schedule of Conv3 and of Conv5 in the place of the baseline would change nothing."""
    hierarchy = diannao()

    def baseline(layer: Layer) -> tuple[Schedule, float]:
        return diannao_blocked(layer, hierarchy), 0.5

    rows = on_diannao(benchmark_layers(["Conv3", "Conv5"]), hierarchy, baseline)
    claims = {
        claim.published: claim for claim in blocking_claims(network_rows(), rows, {"Conv3": 0.9, "Conv5": 1.09})
    }
    saved = next(claim for published, claim in claims.items() if "2 to 15 times" in published)
    assert saved.verdict == "not reproduced"
    assert saved.found.startswith("Conv3 1.0")
    first = next(claim for published, claim in claims.items() if "take the most energy" in published)
    assert first.verdict == "reproduced"
    seeds = next(claim for published, claim in claims.items() if "128 seeds" in published)
    assert (seeds.found, seeds.verdict) == ("Conv3 -10.0 %, Conv5 +9.0 %", "reproduced in part")
    assert {claim.verdict for claim in claims.values() if claim.found == "-"} == {"not judged"}


def test_the_command_and_its_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(layers: list[Layer], request: HierarchyRequest, **_: object) -> object:
        """A layer as small as possible is searched; its figures are those of the layer that is asked for."""
        return [_Found(layer, request) for layer in layers]

    class _Found:
        def __init__(self, layer: Layer, request: HierarchyRequest) -> None:
            self.schedule, self.gap = diannao_blocked(layer, request.hierarchy), 0.02

    def seeded(layer: Layer, hierarchy: Hierarchy) -> float:
        return 1.07

    monkeypatch.setattr(hwgen.cli.commands.paper.yang, "search_on_hierarchy", quick)
    monkeypatch.setattr(hwgen.cli.commands.paper.yang, "seeded_over_enumerated", seeded)
    answer = run("paper", "yang-2016", "-o", tmp_path / "out", "--networks", "Conv3", "--json")
    assert (answer.status, answer.json["paper"]) == (0, "yang-2016")
    assert [row["schedule"] for row in answer.json["layers"]] == ["baseline", "best"]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"README.md", "table1.csv", "table3.csv", "fig5.csv", "fig5.png", "fig5.svg"}
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| Conv3 | best |" in text
    assert "2.0 %" in text
    assert "Conv3 +7.0 %" in text
    refused(run("paper", "yang-2016", "-o", tmp_path, "--networks", "Conv9"), "--networks: expected some of Conv1")
    refused(run("paper", "yang-2016", "-o", tmp_path, "--rtl"), "yang-2016: expected no options but")
