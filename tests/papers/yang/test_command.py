"""``hwgen paper yang-2016``: DianNao's schedule, rows by hand, claims, the command and its files."""

from pathlib import Path

import pytest

import hwgen.papers.yang.command
from hwgen.ir.layer import Layer
from hwgen.ir.memory.hierarchy import Hierarchy
from hwgen.ir.schedule import Schedule, load_schedule
from hwgen.model.energy import energy_of
from hwgen.model.nest.hierarchy_counts import counts_of
from hwgen.papers.claims import Claim
from hwgen.papers.yang.claims import blocking_claims, unjudged_claims
from hwgen.papers.yang.design_claims import core_claims, design_claims
from hwgen.papers.yang.designs import BUDGETS, LARGE, NARROW, WIDE, CoreRow, DesignRow, DesignTask, core_rows
from hwgen.papers.yang.memories import Fitted, MemorySpace, fitted_memories
from hwgen.papers.yang.model import diannao_blocked, diannao_unblocked, window_bytes
from hwgen.papers.yang.rows import BENCHMARKS, benchmark_layers, diannao, energy_rows, network_rows, on_diannao
from hwgen.search.hierarchy.batch import HierarchyRequest
from tests.cli.command_line import Run, refused

ROOT = Path(__file__).resolve().parents[3]


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
    assert by_name["VGGNet-B"].conv == pytest.approx(11.2, abs=0.05)
    assert (by_name["VGGNet-B"].conv_mb, by_name["VGGNet-B"].fc_mb) == pytest.approx((18.8, 247.3), abs=0.1)


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
    every = blocking_claims(network_rows(), rows, {"Conv3": 0.9})
    of_all, of_dram = (claim for claim in every if "inputs and outputs dominates" in claim.published)
    assert (of_all.verdict, of_all.reading) == ("not reproduced", "")
    assert of_dram.reading == "of the DRAM's energy alone"
    shares = [100 * (one.dram_i + one.dram_o) / one.memory for one in rows[1::2]]
    assert [part.found for part in of_all.parts] == pytest.approx(shares)
    (strings,) = (claim for claim in every if claim.published.startswith("for two blockings"))
    assert (strings.found, strings.verdict) == ("2,520", "reproduced in another reading")
    first = next(claim for published, claim in claims.items() if "take the most energy" in published)
    assert first.verdict == "reproduced"
    seeds = next(claim for published, claim in claims.items() if "128 seeds" in published)
    assert (seeds.found, seeds.verdict) == ("Conv3 -10.0 %, Conv5 +9.0 %", "not reproduced")
    less = blocking_claims(network_rows(), rows, {"Conv3": 0.9, "Conv5": 1.07})
    (seeds,) = (claim for claim in less if "128 seeds" in claim.published)
    assert seeds.verdict == "exceeded"


def designed(
    layer: str, budget: int, gain: float, share: float, images: int = 1, width: int = WIDE, narrow: float = 2.0
) -> DesignRow:
    """A row of which gain and share matter: the memories take ``share`` of 1 pJ of multiply-accumulates.

    ``narrow`` : with accesses of 64 bits DianNao and the design take as many times more.
    """
    more = 1.0 if width == WIDE else narrow
    energy = more * gain * (1 + share) if images == 1 else None
    parts = (share / 2, 0.0, share / 4, 0.0, share / 4, 0.0)
    return DesignRow(layer, images, width, budget, budget, "", 1.0, *parts, 1.0, energy)


def of(claims: list[Claim], begins: str, reading: str = "") -> Claim:
    (one,) = (one for one in claims if one.published.startswith(begins) and reading in one.reading)
    return one


def test_claims_of_designs_hang_on_gain_and_share() -> None:
    """With accesses of 64 bits DianNao takes twice as much, so against wide ones of a design the gain is twice,
    too.
    """
    rows = [
        designed("Conv3", LARGE >> 3, 10.5, 1.0), designed("Conv3", LARGE, 13.5, 0.7),
        designed("Conv5", LARGE >> 3, 6.0, 1.0), designed("Conv5", LARGE, 9.0, 0.9),
        designed("FC2", LARGE, 0, 300.0, 64), designed("FC2", LARGE, 0, 0.5, 1024),
    ]  # fmt: skip
    rows += [designed(row.layer, row.budget, row.gain or 0, row.share, row.images, NARROW) for row in rows[:4]]
    claims = design_claims(rows, [])
    both = "512 bits on both sides, with the multiply-accumulates"
    unequal = "DianNao in accesses of 64 bits, the design of 512, with the multiply-accumulates"
    # 13.5 * 1.7 - 1 of 0.7 and 9 * 1.9 - 1 of 0.9.
    alone = of(claims_of(rows), "memories and schedule designed", "512 bits on both sides, the memories alone")
    assert alone.found == "Conv3 31.4, Conv5 17.9"
    assert of(claims, "memories and schedule designed", both).found == "Conv3 13.5, Conv5 9.0"
    assert of(claims, "memories and schedule designed", both).verdict == "not reproduced"
    assert of(claims, "memories and schedule designed", unequal).found == "Conv3 27.0, Conv5 18.0"
    assert of(claims, "memories and schedule designed", unequal).verdict == "exceeded"
    assert of(claims, "optimized blockings", both).verdict == "exceeded"
    assert of(claims, "even of Conv1").verdict == "not judged"
    assert of(claims, "with 1 MB about", both).verdict == "not reproduced"
    assert of(claims, "with 1 MB about", unequal).verdict == "exceeded"
    kept = of(claims, "1 MB has most", both)
    assert (kept.found, kept.verdict) == ("Conv3 78 %, Conv5 67 %", "reproduced in another reading")
    assert of(claims, "8 MB take 45 mm2").verdict == "not judged"
    below = next(one for one in claims if one.published.startswith("with 8 MB the memories") and not one.reading)
    assert (below.found, below.verdict) == ("Conv3 70 %, Conv5 90 %, FC2 (1024 images) 50 %", "not reproduced")
    assert of(claims, "one sometimes wants").verdict == "reproduced"
    less = [row for row in rows if row.layer != "Conv5"]
    assert of(design_claims(less, []), "memories and schedule", both).verdict == "reproduced in another reading"


def claims_of(rows: list[DesignRow]) -> list[Claim]:
    return design_claims(rows, [])


def test_what_is_not_judged_says_why() -> None:
    assert all(claim.verdict == "not judged" and claim.remark for claim in unjudged_claims())
    assert "Absent here" in unjudged_claims()[0].remark


def test_cores_share_the_large_memory_or_split_it() -> None:
    """Schedules of a small layer with different memories; all claims are judged by what the rows say."""
    layer = Layer(name="cube", input_channels=32, output_channels=64, input_height=14, input_width=14, kernel=3)
    lanes = diannao().lanes
    assert lanes is not None
    (runs,) = fitted_memories(layer, MemorySpace(2, lanes), [1 << 16], effort=0.01)
    rows = core_rows(runs)
    assert {row.cores for row in rows} == {1, 2, 4, 8}
    assert len({row.schedule for row in rows}) == min(4, len({repr(one.hierarchy.levels) for one in runs}))
    largest, sharing, cores, small, shuffle = core_claims(rows)
    first = [row for row in rows if row.cores == 1 and row.shared == "W"]
    assert (largest.verdict == "reproduced") == all(
        row.last_bytes_w > max(row.last_bytes_i, row.last_bytes_o) for row in first
    )
    by_key = {(row.schedule, row.cores, row.shared): row for row in rows}

    def other(row: CoreRow) -> CoreRow:
        return by_key[row.schedule, row.cores, "I" if row.shared == "W" else "W"]

    better = [row.on_chip < other(row).on_chip for row in rows if row.cores > 1 and row.shared == row.large]
    assert (sharing.verdict == "reproduced") == all(better)
    assert sharing.parts[0].found == sum(better)
    assert cores.verdict
    assert len(small.parts) == len({row.schedule for row in rows})
    assert shuffle.found.startswith("at most")


def test_the_command_and_its_files(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick(layers: list[Layer], request: HierarchyRequest, **_: object) -> object:
        """A layer as small as possible is searched; its figures are those of the layer that is asked for."""
        return [_Found(layer, request) for layer in layers]

    class _Found:
        def __init__(self, layer: Layer, request: HierarchyRequest) -> None:
            self.schedule, self.gap = diannao_blocked(layer, request.hierarchy), 0.02

    def seeded(layer: Layer, hierarchy: Hierarchy) -> float:
        return 1.07

    def designs(tasks: list[DesignTask], jobs: int, progress: object) -> list[list[list[Fitted]]]:
        """Searches that are far too short."""
        return [
            fitted_memories(task.layer, MemorySpace(2, task.lanes, task.width), task.budgets, effort=0.001)
            for task in tasks
        ]

    monkeypatch.setattr(hwgen.papers.yang.command, "search_on_hierarchy", quick)
    monkeypatch.setattr(hwgen.papers.yang.command, "designs", designs)
    counted = tmp_path / "accesses.csv"
    counted.write_text("layer,program,share,l2,l3\nConv3,blocked,1,100,50\nConv3,ATLAS,1,400,300\n")
    monkeypatch.setattr(hwgen.papers.yang.command, "seeded_over_enumerated", seeded)
    answer = run("paper", "yang-2016", "-o", tmp_path / "out", "--networks", "Conv3", "--cpu", counted, "--json")
    assert (answer.status, answer.json["paper"]) == (0, "yang-2016")
    assert [row["schedule"] for row in answer.json["layers"]] == ["baseline", "best"]
    written = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = {f"fig{number}.{suffix}" for number in range(3, 9) for suffix in ("png", "svg")}
    tables = {"table1.csv", "table3.csv", "fig3_4.csv", "fig5.csv", "fig6_7_8.csv"}
    assert written == {"README.md", "claims.json"} | pictures | tables
    assert (tmp_path / "out" / "fig6_7_8.csv").read_text().count("\nConv3,") == len(BUDGETS) + 2
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "| Conv3 | best |" in text
    assert "2.0 %" in text
    assert "Conv3 +7.0 %" in text
    assert "| 5.1, Fig. 3 | L2: 2 to 5 times fewer accesses than ATLAS | 1 of the 5 convolutions; simulated" in text
    assert "| Conv3: 2 to 5 times | Conv3 4.0 | reproduced |" in text
    refused(run("paper", "yang-2016", "-o", tmp_path, "--networks", "Conv9"), "--networks: expected some of Conv1")
    refused(
        run("paper", "yang-2016", "-o", tmp_path, "--rtl", "--networks", "Conv3"),
        "yang-2016 --rtl: expected no options but",
    )
    none = tmp_path / "none.csv"
    refused(run("paper", "yang-2016", "-o", tmp_path, "--cpu", none), f"{none}: expected accesses of caches")
    refused(run("paper", "cecconi-2017", "-o", tmp_path, "--cpu", counted), "--cpu: expected with yang-2016")
