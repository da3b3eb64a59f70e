"""A generated system's files: its Verilog lints clean, and each cluster has its window of registers."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.arch.bus import MOST_MASTERS
from hwgen.arch.cluster import WINDOW_BYTES, SystemParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.export.system import system_files_of, system_verilog
from tests.export.generated_files import lint, written
from tests.export.test_cluster import PARAMETERS as CLUSTER

PARAMETERS = SystemParameters(replace(CLUSTER, hwcs=1), 2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("system"), system_files_of(PARAMETERS))


@pytest.mark.nightly
def test_lints_clean_with_the_waivers(folder: Path) -> None:
    assert lint(folder, "system.vlt", "system.v", top="system") == ""


@pytest.mark.nightly
def test_every_cluster_is_an_instance_of_one_module(folder: Path) -> None:
    text = (folder / "system.v").read_text(encoding="utf-8")
    assert text.count("module cluster(") == text.count("module hwc(") == 1
    assert "for (i = 0; i < 2; i = i + 1) begin : clusters" in text
    assert text == system_verilog(PARAMETERS)


def test_registers_are_in_windows() -> None:
    files = system_files_of(PARAMETERS, "// Verilog that is made elsewhere\n")
    told = json.loads(files["system.json"])
    assert (told["clusters"], told["window_bytes"]) == (2, WINDOW_BYTES)
    assert "#define SYSTEM_CLUSTERS 2u\n#define SYSTEM_WINDOW_BYTES 0x1000u\n" in files["system.h"]
    assert "cluster cluster[2] @ 0x0 += 0x1000;" in files["system_registers.rdl"]


@pytest.mark.parametrize("clusters", [1, MOST_MASTERS + 1])
def test_numbers_of_clusters_that_are_refused(clusters: int) -> None:
    with pytest.raises(ParameterError, match=f"^clusters: expected 2 to {MOST_MASTERS}, got {clusters}$"):
        SystemParameters(CLUSTER, clusters)
