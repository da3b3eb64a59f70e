"""Fig. 10 and the cluster from the RTL: arithmetic by hand, and the command on a small set that is simulated."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

import hwgen.papers.stoutchinin.command as command
import hwgen.studies.regress.cluster as clusters
from hwgen.api.schedule_files import load_schedules
from hwgen.arch.hardware_file import load_hardware
from hwgen.ir.builtin import builtin_schedules, named_file
from hwgen.ir.counts import Access, Counts
from hwgen.ir.document import sealed, unsealed
from hwgen.model.nest.one_level import predict
from hwgen.papers.stoutchinin.cluster import FOR_ALL_LAYERS, RowOnCluster, cluster_claims, cluster_csv, cluster_lines
from hwgen.papers.stoutchinin.measured import (
    NO_BAR,
    MeasuredEngines,
    RunOfLayer,
    histogram,
    measured_claims,
    measured_csv,
    measured_engines,
    measured_readme,
)
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.cluster import LEDGER, kept_results, regression_cases
from hwgen.studies.regress.published_nests import hwce
from tests.cli.command_line import Run, refused
from tests.studies.regress.test_hwc import ROWS

NARROW = RowOnCluster("alexnet_cluster", 8, "a", 4, 16, 640_000, 12_500, equal=True)
"""51.2 multiply-accumulates in a cycle, of 64."""
WIDE = replace(NARROW, cluster="alexnet_16bit", bits=16, lanes=8, cycles=25_000)


def row(name: str, **changes: object) -> MeasuredEngines:
    plain = {"network": "n", "layer": name, "pointwise": False, "striped": False, "hwc": 100, "hwc_sums": 0,
             "hwce": 1000, "hwce_sums": 800}  # fmt: skip
    return MeasuredEngines(**{**plain, **changes})  # type: ignore[arg-type]


def test_narrower_sums_are_charged_in_both_engines() -> None:
    one = row("one")
    assert (one.ratio_32, one.ratio_16) == (10, 6)
    both = row("both", hwc_sums=40)
    assert (both.ratio_32, both.ratio_16) == (10, 600 / 80)
    assert row("none", hwce=None, hwce_sums=None).ratio_32 is None


def test_the_histogram_has_every_row_once() -> None:
    rows = [row("a", hwce=99, hwce_sums=0), row("b", hwce=100, hwce_sums=0), row("c"), row("d", hwce=1600),
            row("e", hwce=None, hwce_sums=None)]  # fmt: skip
    assert histogram(rows, 32) == {0: 1, 1: 1, 2: 0, 4: 0, 8: 1, 16: 1}
    assert histogram(rows, 16) == {0: 1, 1: 1, 2: 0, 4: 1, 8: 1}
    assert histogram([], 32) == {0: 0}


def test_counts_of_both_engines_are_put_together() -> None:
    rows = load_layer_set("stoutchinin_2019:resnet").convolutions()
    layers = [rows[0], next(layer for layer in rows if layer.kernel == (1, 1))]
    counts = Counts(
        {
            ("tcdm", "I", "read"): Access(10, 10, 3),
            ("tcdm", "W", "read"): Access(5, 5, 2),
            ("tcdm", "O", "read_partial"): Access(2, 8, 2),
            ("tcdm", "O", "write_partial"): Access(3, 12, 3),
            ("tcdm", "O", "write"): Access(4, 4, 1),
            ("tcdm", "B", "read"): Access(1, 4, 1),
        }
    )
    ours = dict.fromkeys((layer.name for layer in layers), counts)
    first, second = measured_engines(layers, ours, {layers[1].name: counts}, [layers[1].name])
    assert (first.hwc, first.hwc_sums, first.pointwise, first.striped, first.hwce) == (39, 20, False, False, None)
    assert (second.pointwise, second.striped, second.hwce, second.hwce_sums) == (True, True, 39, 20)


def test_the_text_says_what_was_found() -> None:
    rows = [row("c"), row("d", hwce=90, hwce_sums=0), row("e", hwce=None, hwce_sums=None)]
    text = measured_readme(rows, measured_claims(rows, []))
    assert "| 0.9 to 10.0 times (c), median 5.5 | not reproduced: each layer's best loops" in text
    assert "| 0.9 to 6.0 times (c), median 3.5 | not reproduced: each layer's best loops" in text
    assert "not: d" in text
    assert f"| {NO_BAR} | 3 of the 68 layers | layers: 3 of 3 | e | not reproduced |" in text
    assert "Partial sums are 0 to 80 % of what the HWCE moves" in text
    assert "with 32 bits the largest ratio is 10.0, within the published 14" in text
    assert "## 1x1 kernels" not in text
    assert "beyond the published 14" in measured_readme([row("c", hwce=2000)], [])
    assert "## Stripes" not in text
    apart = [row("p", pointwise=True, hwce=90, hwce_sums=0), row("s", striped=True, hwce=4000)]
    both = measured_readme([row("c"), *apart], measured_claims([row("c"), *apart], []))
    assert "## 1x1 kernels" in both
    assert "## Stripes" in both
    assert "0.9 to 10.0" not in both  # they are not in the figure
    assert "not: p" in both
    assert f"| {NO_BAR} | 3 of the 68 layers | layers: 2 of 2 | s | not reproduced |" in both
    assert measured_csv([row("c")]).splitlines()[1] == "n,c,no,no,100,0,1000,800,10,6"


def test_claims_on_runs_are_judged_by_hand() -> None:
    """A model that is one byte in 200 off is at the published limit, one that is two bytes off beyond it."""

    def run(layer: str, predicted: int, utilisation: float = 0.9, engine: str = "HWC") -> RunOfLayer:
        return RunOfLayer("some", engine, layer, predicted, 200, utilisation)  # type: ignore[arg-type]

    def verdicts(*runs: RunOfLayer) -> list[tuple[str, str]]:
        return [(one.found, one.verdict) for one in measured_claims([row("c")], runs) if one.where == "V-C"]

    exact = verdicts(run("a", 200), run("b", 200, 0.8), run("c", 200, 0.1, "HWCE"))
    assert exact == [
        ("3 of 3 runs equal to the byte; the largest deviation is 0.000 %", "reproduced"),
        ("0.850 in the mean", "exceeded"),
    ]
    assert verdicts(run("a", 200, 0.8))[1] == ("0.800 in the mean", "reproduced in another reading")
    assert verdicts(run("a", 199))[0] == (
        "0 of 1 runs equal to the byte; the largest deviation is 0.500 % (a)", "reproduced",
    )  # fmt: skip
    off = verdicts(run("a", 200), run("b", 202, 0.5))
    assert [verdict for _, verdict in off] == ["not reproduced", "not reproduced"]
    for moved, found in ((1400, "reproduced in another reading"), (2000, "exceeded"), (1000, "not reproduced")):
        claims = measured_claims([row("c", hwce=moved, hwce_sums=0)], [])
        assert [one.verdict for one in claims if one.published.startswith("up to 14")] == [found] * 2


def test_rates_are_cycles_at_the_clock_of_the_paper() -> None:
    assert (NARROW.utilisation, NARROW.rate) == (0.8, pytest.approx(25.6))
    assert (WIDE.utilisation, WIDE.rate) == (0.8, pytest.approx(12.8))
    assert cluster_csv([NARROW]).splitlines()[1] == "alexnet_cluster,8,a,4,16,640000,12500,yes,0.8,25.6"


def test_verdicts_by_hand() -> None:
    operations, lanes, rate, busy, wide = cluster_claims([NARROW, WIDE])
    assert [claim.verdict for claim in (operations, lanes, rate, busy, wide)] == [
        "reproduced", "reproduced", "not judged", "not judged", "not judged",
    ]  # fmt: skip
    assert operations.found == "16 with 8 bits, 8 with 16 bits; counts as predicted and outputs exact in 2 of 2 runs"
    assert lanes.found == "64 in a cycle"
    assert rate.found == "at the paper's clock 25.6 GMAC/s for these rows together"
    assert busy.remark.endswith("80 % of 32 GMAC/s are 25.6.")
    assert busy.found == "0.800 in the mean of 1 layers, 0.800 to 0.800; 25.6 GMAC/s for all of them"
    assert cluster_claims([NARROW] * 68)[3].verdict == "reproduced"
    assert cluster_claims([replace(NARROW, cycles=11_000)] * 68)[3].verdict == "exceeded"
    assert cluster_claims([replace(NARROW, cycles=20_000)] * 68)[3].verdict == "not reproduced"
    assert cluster_claims([replace(NARROW, hwcs=3)])[1].verdict == "not reproduced"
    assert cluster_claims([NARROW, replace(WIDE, equal=False)])[0].verdict == "not reproduced"
    assert cluster_claims([NARROW, replace(WIDE, lanes=4)])[0].verdict == "not reproduced"
    assert cluster_claims([]) == []
    everywhere = [NARROW, *[replace(NARROW, cluster=FOR_ALL_LAYERS)] * 68]
    assert [claim.verdict for claim in cluster_claims(everywhere)[3::2]] == ["not judged", "reproduced"]


def test_the_table_has_all_rows_and_the_paper() -> None:
    slow = replace(NARROW, layer="b", cycles=20_000, equal=False)
    lines = cluster_lines([NARROW, slow, WIDE])
    assert "| alexnet_cluster | 8 | a | 12,500 | 0.800 | 51.2 | 25.6 | as predicted, exact |" in lines
    assert "| alexnet_cluster | 8 | all 2 | 32,500 | 0.615 | 39.4 | 19.7 | DIFFERENT |" in lines
    assert "| the paper's, mean of its layers | 8 | | | 0.80 | of 64 | 25.6 of 32 | |" in lines
    assert "| alexnet_16bit | 16 | all 1 | 25,000 | 0.800 | 25.6 | 12.8 | as predicted, exact |" in lines


def test_what_is_kept_is_found_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its text is in the key of a case, and takes ten seconds.
    monkeypatch.setattr(clusters, "generated_cluster", lambda parameters: repr(parameters))
    layers = load_layer_set("stoutchinin_2019").convolutions()
    assert command._on_clusters(layers, tmp_path) == []
    hardware = load_hardware(named_file("hardware", "alexnet_16bit"))
    (schedule,) = (file.schedule for file in load_schedules(["alexnet_16bit"], hardware)
                   if file.schedule.layer.name == "alexnet_5")  # fmt: skip
    case = regression_cases([schedule], hardware)[0]
    entry = {"case": "alexnet_5", "hwcs": 4, "equal": True, "output_exact": True, "failures": [],
             "cycles": {"measured": 5_000_000, "predicted": 1}}  # fmt: skip
    lines = [{"key": key, "status": "done", "value": entry} for key in ("of another state", case.key)]
    (tmp_path / LEDGER).write_text("".join(sealed(line, indent=None) for line in lines), encoding="utf-8")
    assert command._on_clusters(layers, tmp_path) == [
        RowOnCluster("alexnet_16bit", 16, "alexnet_5", 4, 8, schedule.layer.macs, 5_000_000, equal=True)
    ]
    assert command._on_clusters(layers[-1:], tmp_path) == []
    # Where schedules were searched, they lie beside the results.
    monkeypatch.setattr(command, "ON_CLUSTERS", {"alexnet_16bit": 16})
    monkeypatch.setattr(command, "FOR_ALL_LAYERS", "alexnet_16bit")
    assert command._on_clusters(layers, tmp_path) == []
    shutil.copytree(builtin_schedules()["alexnet_16bit"], tmp_path / "alexnet_16bit")
    assert [row.layer for row in command._on_clusters(layers, tmp_path)] == ["alexnet_5"]
    assert kept_results([replace(case, stalls=True)], tmp_path) == [None]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    table = {"format": 1, "kind": "layer_list", "network": "small", "layers": ROWS}
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    return path


def test_the_printed_loops_are_judged_in_each_reading() -> None:
    rows = [row("c", hwce=1080, hwce_sums=0), row("p", pointwise=True, hwce=5000, hwce_sums=0),
            row("s", striped=True, hwce=4000, hwce_sums=0)]  # fmt: skip
    claims = measured_claims(rows, [], {"I and W above LOF, one HWC": rows})
    found = [one for one in claims if one.reading.startswith("I and W above LOF, one HWC, sums of")]
    assert [(one.verdict, one.found) for one in found] == [
        ("not reproduced", "10.8 to 10.8 times (c), median 10.8"),
    ] * 2  # fmt: skip
    assert not any(one.where == "Fig. 8, 10" for one in claims)
    (absent,) = (one for one in measured_claims(rows, []) if one.where == "Fig. 8, 10")
    assert absent.verdict == "not judged"


@pytest.mark.nightly
def test_the_command_reads_what_was_simulated(run: Run, small: Path, tmp_path: Path) -> None:
    results, output = tmp_path / "results", tmp_path / "figures"
    asked = ("paper", "stoutchinin-2019", "--rtl", "--layers", small, "--results", results, "-o", output)
    refused(run(*asked), "3 of 3 rows of per-layer are missing", "square the first: run make regress (hwgen regress")
    assert run("regress", small, "--per-layer", "-o", results).status == 0
    refused(run(*asked), "3 of 3 rows of hwce are missing", "run make regress-hwce (hwgen regress", "--hwce")
    assert run("regress", small, "--hwce", "-o", results).status == 0
    answer = run(*asked)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == (output / "README.md").read_text(encoding="utf-8")
    assert {file.name for file in output.iterdir()} == {
        "README.md",
        "claims.json",
        "fig10_rtl.csv",
        "fig10_rtl.png",
        "fig10_rtl.svg",
    }
    document = run(*asked, "--json").json
    found = {claim["published"]: claim for claim in document["claims"]}
    accuracy = found["the model's traffic is within 0.5 % of that counted on the implementation"]
    assert accuracy["found"].startswith("6 of 6 runs equal to the byte")
    assert accuracy["verdict"] == "reproduced"
    rows = {entry["layer"]: entry for entry in document["rows"]}
    assert {name for name, entry in rows.items() if entry["pointwise"]} == {"point"}
    for layer in load_layer_set(str(small)).convolutions():
        assert rows[layer.name]["hwce"] == predict(hwce(layer)).counts.total_bytes()
        assert rows[layer.name]["ratio_32"] > rows[layer.name]["ratio_16"] > 1
    # The loops as printed are judged once all their rows are there.
    printed = [one for one in document["claims"] if one["where"] == "Fig. 8, 10"]
    assert [one["verdict"] for one in printed] == ["not judged"]
    assert run("regress", small, "--printed", "--shared", "-o", results).status == 0
    again = run(*asked, "--json").json["claims"]
    readings = {one["reading"] for one in again if "one HWC, sums of" in one["reading"]}
    assert len(readings) == 4
    assert not any(one["where"] == "Fig. 8, 10" for one in again)
    # A result that is not what was predicted is named, and is no success.
    file = results / "results.jsonl"
    lines = [unsealed(line) for line in file.read_text(encoding="utf-8").splitlines()]
    lines[0]["value"]["failures"] = ["one word more"]
    file.write_text("".join(sealed(line, indent=None) for line in lines), encoding="utf-8")
    wrong = run(*asked)
    assert wrong.status == 1
    assert f"{lines[0]['value']['layer']}: one word more" in wrong.out


def test_options_that_do_not_go_together_are_refused(run: Run, small: Path, tmp_path: Path) -> None:
    refused(
        run("paper", "stoutchinin-2019", "--layers", small, "-o", tmp_path / "f"), "--layers: expected with --rtl"
    )
