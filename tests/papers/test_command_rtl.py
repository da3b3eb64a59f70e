"""``hwgen paper --rtl`` of yang-2016 and goetschalckx-2019: rows, claims, and small ones that are simulated."""

from dataclasses import replace
from pathlib import Path

import pytest

import hwgen.papers.goetschalckx.command_rtl as pipelines
import hwgen.studies.regress.pipeline as regression
from cosim.pipeline.build import PipelineBuild
from hwgen.ir.counts import Access, Counts, Key
from hwgen.ir.hardware import Cluster, Hardware
from hwgen.ir.lanes import Lanes
from hwgen.ir.layer import Layer
from hwgen.ir.level import TCDM
from hwgen.ir.schedule import ArrayName, Loop, Marker, Schedule
from hwgen.model.cluster.cluster_counts import predict_cluster
from hwgen.papers.claims import Claim
from hwgen.papers.goetschalckx.pipelines import PipelineRow, pipeline_claims
from hwgen.papers.yang import command_rtl, measured
from hwgen.papers.yang.measured import FULL, ClusterRow, DesignScale, cluster_claims
from hwgen.readers.layer_sets import load_layer_set
from hwgen.studies.regress.pipeline_cases import small_cases
from tests.cli.command_line import Run
from tests.cli.hierarchies.test_design import LAYERS
from tests.studies.regress.test_pipeline import NAMES

FC = {
    "op": "fc", "input_channels": 72, "output_channels": 40, "input_height": 1, "input_width": 1, "output_height": 1,
    "output_width": 1, "kernel": (1, 1), "padding": (0, 0, 0, 0),
}  # fmt: skip
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


def test_claims_of_fully_connected_layers() -> None:
    one = ClusterRow("FC1", 1000, 2000, 3e6, 2e6, 1e6, 4e6, True, 100, 101, 1, True)
    four = replace(one, dram_bytes=1600, images=4)

    def claim(*rows: ClusterRow) -> Claim:
        found = cluster_claims([replace(one, layer="Conv3", nested=None), *rows], FULL)
        assert [claim.where for claim in found] == ["3.4, Eq. 1, in the RTL", "Fig. 8, in the RTL", "3.1, in the RTL"]
        assert found[0].found.startswith("1 of 1 layers")
        return found[2]

    found = claim(one, four)
    assert found.verdict == "reproduced"
    assert (
        found.found
        == "FC1, 1 images: 1,000 bytes of the DRAM for each; FC1, 4 images: 400 bytes of the DRAM for each"
    )
    assert claim(one, replace(four, nested=False)).verdict == "not reproduced"
    assert claim(one, replace(four, equal=False)).verdict == "not reproduced"
    assert claim(one, replace(four, dram_bytes=4000)).verdict == "not reproduced"


def test_bytes_that_a_hierarchy_would_not_move_are_found() -> None:
    """On a fake result: one byte more or less of an operand, at the DRAM or at the shared memory."""
    schedule = Schedule(
        layer=Layer(
            name="fc", op="fc", input_channels=8, output_channels=6, input_height=1, input_width=1, kernel=1, batch=4
        ),
        nest=(
            Marker(("W",), TCDM), Loop("m", 3), Marker(("I", "O"), TCDM), Loop("n", 1), Marker(("O",)), Loop("c", 2),
            Marker(("I", "W")), Loop("m", 1), Loop("c", 1),
        ),
    )  # fmt: skip
    hardware = Hardware(
        name="one", lanes=Lanes(m=2, c=2), buffers={"I": 64, "W": 64, "O": 64}, cluster=Cluster(hwcs=1, tcdm=1024)
    )
    counted = predict_cluster(schedule).counts

    def nested(**changed: Access) -> bool | None:
        level, _, array = next(iter(changed), "__").partition("_")
        key: Key = (level, array, "read" if array in "IW" else "write")  # type: ignore[assignment]
        measured = Counts({**counted.accesses, **({key: next(iter(changed.values()))} if changed else {})})
        return command_rtl.is_nested(schedule, measured, hardware)

    assert nested() is True
    assert counted["dram", "W", "read"].bytes == 48
    assert nested(dram_W=Access(49, 49)) is nested(tcdm_I=Access(1, 1)) is nested(dram_O=Access(23, 23)) is False
    several = hardware.model_copy(update={"cluster": Cluster(hwcs=2, tcdm=1024)})
    assert command_rtl.is_nested(schedule, counted, several) is None


@pytest.mark.parametrize("array", ["I", "W", "O"])
def test_vectors_that_a_hierarchy_would_not_move_are_found(array: ArrayName) -> None:
    """One more or less at the lanes, where all of them are full; the sums of two output channels stay there."""
    schedule = Schedule(
        layer=Layer(
            name="fc", op="fc", input_channels=8, output_channels=6, input_height=1, input_width=1, kernel=1, batch=4
        ),
        nest=(
            Marker(("I", "W", "O"), TCDM), Loop("n", 1), Loop("m", 2), Marker(("O",)), Loop("c", 4),
            Marker(("I", "W")), Loop("c", 2),
        ),
        lanes=Lanes(m=2, c=2),
        lane_registers=True,
    )  # fmt: skip
    hardware = Hardware(
        name="one", lanes=Lanes(m=2, c=2), buffers={"I": 64, "W": 64, "O": 64}, lane_registers=True,
        cluster=Cluster(hwcs=1, tcdm=1024),
    )  # fmt: skip
    counted = predict_cluster(schedule).counts
    assert command_rtl.is_nested(schedule, counted, hardware) is True
    key: Key = ("local", array, "write" if array == "O" else "read")
    assert counted[key].words == 4 * 3 * (1 if array == "O" else 4)
    for words in (counted[key].words - 1, counted[key].words + 1):
        others = Counts({**counted.accesses, key: replace(counted[key], words=words)})
        assert command_rtl.is_nested(schedule, others, hardware) is False


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
    wide, _ = layers = load_layer_set(str(file)).convolutions()
    connected = tuple(wide.model_copy(update={**FC, "batch": images}) for images in (1, 4))
    scale = DesignScale("made up", layers, 8192, 2, Lanes(m=2, c=2), connected, 2048)
    monkeypatch.setattr(measured, "SMALL", scale)
    answer = run("paper", "yang-2016", "--rtl", "--small", "-o", tmp_path / "out", "--json")
    assert answer.status == 0, answer.err
    *_, one, four = rows = answer.json["rtl"]
    assert [(row["layer"], row["images"]) for row in rows] == [("wide", 1), ("point", 1), ("wide", 1), ("wide", 4)]
    assert [row["nested"] for row in rows] == [None, None, True, True]
    weights = 72 * 40
    assert weights > 2048  # no memory on chip holds them
    assert one["dram_bytes"] == weights + 72 + 40
    assert four["dram_bytes"] == weights + 4 * (72 + 40)
    for row in rows:
        assert row["equal"]
        assert min(row["dram_bytes"], row["dram"], row["tcdm_bytes"], row["tcdm"], row["local"], row["mac"]) > 0
    assert [claim["verdict"] for claim in answer.json["claims"]] == ["reproduced", "not judged", "reproduced"]


@pytest.mark.nightly
@pytest.mark.parametrize(("paper", "rows"), [("yang-2016", 4), ("goetschalckx-2019", 15)])
def test_the_small_ones_of_the_command(run: Run, tmp_path: Path, paper: str, rows: int) -> None:
    answer = run("paper", paper, "--rtl", "--small", "-o", tmp_path, "--json")
    assert answer.status == 0, answer.err
    assert len(answer.json["rtl"]) == rows
    assert all(row["equal"] for row in answer.json["rtl"])
