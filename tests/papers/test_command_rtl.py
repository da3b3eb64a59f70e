"""``hwgen paper --rtl`` of yang-2016 and goetschalckx-2019: rows, claims, and small ones that are simulated."""

from dataclasses import replace
from pathlib import Path

import pytest

import hwgen.papers.goetschalckx.command_rtl as pipelines
import hwgen.studies.regress.pipeline as regression
from cosim.pipeline.build import PipelineBuild
from hwgen.ir.lanes import Lanes
from hwgen.papers.goetschalckx.pipelines import PipelineRow, pipeline_claims
from hwgen.papers.yang import measured
from hwgen.papers.yang.measured import FULL, ClusterRow, DesignScale, cluster_claims
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.pipeline_cases import small_cases
from tests.cli.command_line import Run
from tests.cli.hierarchies.test_design import LAYERS
from tests.studies.regress.test_pipeline import NAMES

WHOLE = PipelineRow("vgg", 1, "as published", 117_123, 950_000, 0, 0, 300, True, 5_000)
TILED = replace(WHOLE, tiles=2, rings=60_000, overlap=40_000)


def test_claims_of_pipelines() -> None:
    counted, tiles, elements, four_bytes = pipeline_claims([WHOLE, TILED])
    assert [claim.verdict for claim in (counted, tiles, elements, four_bytes)] == [
        "reproduced", "reproduced", "reproduced in another reading", "not reproduced",
    ]  # fmt: skip
    assert tiles.found == "vgg in 2: 1.95 times less in line buffers, 1.04 times the traffic of features"
    assert elements.found.endswith("3.09 times less")
    assert four_bytes.found.endswith("0.77 times less")
    counted, tiles, *_ = pipeline_claims([WHOLE, replace(TILED, equal=False, rings=117_124)])
    assert (counted.verdict, tiles.verdict) == ("not reproduced", "not reproduced")
    assert counted.found.startswith("1 of 2 runs")
    cut = pipeline_claims([replace(WHOLE, size="cut down")])
    assert [claim.verdict for claim in cut] == ["reproduced", *["not judged"] * 3]


def test_claims_of_a_designed_cluster() -> None:
    row = ClusterRow("Conv3", 1000, 2000, 3e6, 2e6, 1e6, 4e6, True, 100, 101)
    counted, share = cluster_claims([row, replace(row, layer="Conv4", equal=False)], FULL)
    assert (counted.verdict, share.verdict) == ("not reproduced", "not judged")
    assert counted.scope.startswith("2 of the 5 convolutions of Table 4")
    assert counted.found.startswith("1 of 2 layers")
    assert share.found == "Conv3 150 %, Conv4 150 %"
    assert cluster_claims([row], FULL)[0].verdict == "reproduced"


@pytest.mark.usefixtures("icarus")
def test_small_stacks_are_simulated(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the pipeline of `tests.studies.regress.test_pipeline`."""
    monkeypatch.setattr(pipelines, "small_cases", lambda: [case for case in small_cases() if case.name in NAMES])
    monkeypatch.setattr(regression, "PipelineBuild", lambda parts: PipelineBuild(parts, "icarus"))
    answer = run("paper", "goetschalckx-2019", "--rtl", "--small", "-o", tmp_path, "--json")
    assert answer.status == 0, answer.err
    whole, halved = answer.json["rtl"]
    assert (whole["stack"], whole["tiles"], halved["tiles"]) == ("srgan_blocks", 1, 2)
    assert whole["equal"]
    assert halved["equal"]
    assert whole["features"] == halved["features"] == 2 * (2 * 12 * 16)  # in and out
    assert halved["rings"] < whole["rings"]
    assert halved["overlap"] > whole["overlap"] == 0
    assert [claim["verdict"] for claim in answer.json["claims"]] == [
        "reproduced",
        "reproduced",
        "not judged",
        "not judged",
    ]
    assert "srgan_blocks" in (tmp_path / "README_rtl.md").read_text()


def test_a_small_designed_cluster_is_simulated(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster of `tests.cli.hierarchies.test_design`."""
    file = tmp_path / "two.yaml"
    file.write_text(LAYERS)
    scale = DesignScale("made up", load_layer_set(str(file)).convolutions(), 8192, 2, Lanes(m=2, c=2))
    monkeypatch.setattr(measured, "SMALL", scale)
    answer = run("paper", "yang-2016", "--rtl", "--small", "-o", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    assert [row["layer"] for row in answer.json["rtl"]] == ["wide", "point"]
    for row in answer.json["rtl"]:
        assert row["equal"]
        assert min(row["dram_bytes"], row["dram"], row["tcdm_bytes"], row["tcdm"], row["local"], row["mac"]) > 0
    assert [claim["verdict"] for claim in answer.json["claims"]] == ["reproduced", "not judged"]


@pytest.mark.nightly
@pytest.mark.parametrize(("paper", "rows"), [("yang-2016", 2), ("goetschalckx-2019", 15)])
def test_the_small_ones_of_the_command(run: Run, tmp_path: Path, paper: str, rows: int) -> None:
    answer = run("paper", paper, "--rtl", "--small", "-o", tmp_path, "--json")
    assert answer.status == 0, answer.err
    assert len(answer.json["rtl"]) == rows
    assert all(row["equal"] for row in answer.json["rtl"])
