"""``hwgen paper sousa-2022``: what the paper prints, rows and their sums, files, refusals."""

import csv
from pathlib import Path

import pytest

from hwgen.model.published.sousa import Mapping
from hwgen.report.sousa.claims import mapping_claims
from hwgen.report.sousa.rows import MODELS, NPU, PUBLISHED, LayerRow, layer_rows, mapped_layers, model_rows
from hwgen.search.published.sousa import search_mappings
from tests.cli.command_line import Run, refused


@pytest.fixture(scope="module")
def few() -> list[LayerRow]:
    return layer_rows(["lenet", "yolo_fvlpd"])


def test_tiles_that_the_paper_prints() -> None:
    """Section VI, fifth layer of Inception v3: IN tiles of 14 x 4 x 73 with bursts, 16 x 11 x 20 without."""
    (layer,) = (one for one in mapped_layers("inception_v3") if one.name == "Conv2d_4a_3x3")
    found = search_mappings(layer, NPU, "published")["OFM", "IS"]
    assert found is not None
    assert found.burst.mapping == Mapping("OFM", "IS", 4 - 2, 73 - 2, 14)
    assert found.volume.mapping == Mapping("OFM", "IS", 11 - 2, 20 - 2, 16)


def test_counting_bursts_never_loses(few: list[LayerRow]) -> None:
    for row in few:
        assert row.burst <= row.kindest <= min(row.volume, row.first)
        fixed = [time for time in (row.KS, row.KS_OFM, row.OFM) if time is not None]
        assert row.burst == min(fixed)
        assert row.burst == min(time for time in (row.IS, row.OS, row.WS) if time is not None)
        assert row.OS is not None
        assert row.IS is None or row.OS <= row.IS
        assert row.loads + row.stores + row.macs_time == pytest.approx(row.burst)
        assert row.volume_loads + row.volume_stores + row.volume_macs_time == pytest.approx(row.volume)
    (claim,) = (one for one in mapping_claims(few, model_rows(few), NPU) if one.where == "VI")
    assert claim.found.startswith(f"never slower in {len(few)} cases")


def test_sums(few: list[LayerRow]) -> None:
    models = {(row.reading, row.network): row for row in model_rows(few)}
    assert list(models) == [
        (reading, network) for reading in ("published", "exact") for network in ("lenet", "yolo_fvlpd")
    ]
    yolo = models["exact", "yolo_fvlpd"]
    rows = [row for row in few if (row.reading, row.network) == ("exact", "yolo_fvlpd")]
    assert (yolo.layers, yolo.unfit) == (9, "WS: 2")
    assert yolo.burst == pytest.approx(sum(row.burst for row in rows))
    assert pytest.approx(sum(row.burst if row.WS is None else row.WS for row in rows)) == yolo.WS
    assert yolo.speedup == pytest.approx(sum(row.volume for row in rows) / yolo.burst)
    moving = sum(row.volume_loads + row.volume_stores for row in rows)
    assert yolo.transfer_share == pytest.approx(100 * moving / yolo.volume)


def test_published_times_give_the_published_gains() -> None:
    gains = {network: round(100 * (paper.volume / paper.burst - 1), 1) for network, paper in PUBLISHED.items()}
    assert (gains["inception_v3"], gains["yolo_fvlpd"]) == (21.7, 7.4)
    assert list(PUBLISHED) == list(MODELS)


def test_the_command(run: Run, tmp_path: Path) -> None:
    answer = run("paper", "sousa-2022", "--networks", "lenet,yolo_fvlpd", "-o", tmp_path, "--json")
    assert (answer.status, answer.err) == (0, "")
    models = {(model["reading"], model["network"]): model for model in answer.json["models"]}
    assert 1.03 < models["published", "yolo_fvlpd"]["speedup"] < 1.08
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"README.md", "table2.csv", "layers.csv", "own_layers.csv"} | {
        f"fig{number}.{suffix}" for number in (5, 6, 7) for suffix in ("png", "svg")
    }
    assert {Path(file).name for file in answer.json["files"]} == files
    own = {model["network"]: model for model in answer.json["own"]}
    assert 1.1 < own["yolo_fvlpd"]["speedup"] < 1.16
    assert "| YOLO | " in (tmp_path / "README.md").read_text(encoding="utf-8").split("## On our own cluster")[1]
    lines = list(csv.DictReader((tmp_path / "table2.csv").read_text(encoding="utf-8").splitlines()))
    assert [line["network"] for line in lines] == ["lenet", "yolo_fvlpd"] * 2
    assert float(lines[1]["speedup"]) == pytest.approx(models["published", "yolo_fvlpd"]["speedup"], rel=1e-5)


def test_refusals(run: Run, tmp_path: Path) -> None:
    refused(run("paper", "sousa-2022", "-o", tmp_path, "--networks", "vgg16"), "--networks: expected some of")
    refused(run("paper", "sousa-2022", "-o", tmp_path, "--no-orders"), "sousa-2022: expected no options but -o")
    (tmp_path / "file").touch()
    refused(run("paper", "sousa-2022", "-o", tmp_path / "file"), "-o: expected a folder, got the file")
