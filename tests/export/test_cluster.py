"""A generated cluster's files: its Verilog lints clean, and the register map is in all of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.arch.cluster import ClusterParameters
from hwgen.arch.parameter_error import ParameterError
from hwgen.arch.registers.cluster import cluster_registers
from hwgen.export.cached import generated_cluster
from hwgen.export.cluster import cluster_files_of
from hwgen.lower.cluster.program import compile_cluster
from tests.arch.test_hwc import SOUND
from tests.cosim.cluster.test_clusters import cases, hardware
from tests.export.generated_files import lint, written

HWC = replace(SOUND, weight_bytes=108, cluster=True)
PARAMETERS = ClusterParameters(hwc=HWC, hwcs=2, tcdm_bytes=4096, tcdm_banks=4, axi_bits=32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("cluster"), cluster_files_of(PARAMETERS))


@pytest.mark.nightly
def test_lints_clean_with_the_waivers(folder: Path) -> None:
    """That they are needed, `tests.export.test_hwc` says."""
    assert lint(folder, "cluster.vlt", "cluster.v", top="cluster") == ""
    assert lint(folder, "cluster.vlt", "cluster.v", "cluster_axi_lite.v", top="cluster_axi_lite") == ""


@pytest.mark.nightly
@pytest.mark.parametrize("elements", [1, 2, 4, 8])
def test_a_cluster_with_a_vector_unit_lints_clean_and_has_its_registers(
    folder: Path, tmp_path: Path, elements: int
) -> None:
    given = cluster_files_of(replace(PARAMETERS, vector=True, vector_elements=elements))
    assert {"vector_registers.h", "vector_registers.md"} <= given.keys()
    assert not (folder / "vector_registers.h").exists()
    written(tmp_path, given)
    assert "2 HWCs, a vector unit, 4096 bytes" in given["cluster.v"]
    assert lint(tmp_path, "cluster.vlt", "cluster.v", "cluster_axi_lite.v", top="cluster_axi_lite") == ""


def test_the_hwc_is_there_once_and_the_memory_begins_with_nothing() -> None:
    parameters = compile_cluster(cases("fig8")[0], hardware("fig8")).hardware  # which other tests generate, too
    text = generated_cluster(parameters)
    assert text.count("module hwc(") == 1
    assert text.count("  hwc hwc (") == parameters.hwcs
    memory = text[text.index("module cluster_tcdm(") : text.index("module hwc(")]
    assert memory.count("reg [31:0] bank_") == parameters.tcdm_banks
    assert "initial" not in memory


def test_registers_of_cluster_and_hwc_are_there_and_the_format_of_programs() -> None:
    names = {register.name for register in cluster_registers(PARAMETERS)}
    assert {f"conflicts_{name}" for name in PARAMETERS.masters} <= names
    files = cluster_files_of(PARAMETERS, "// Verilog that is made elsewhere\n")
    for block in ("cluster", "hwc"):
        assert {f"{block}_registers.{kind}" for kind in ("h", "json", "md", "rdl", "xml")} <= files.keys()
    program = json.loads(files["cluster_program.json"])
    assert program["opcodes"]["MOVE"] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hwcs": 9}, "hwcs: expected 1 to 8, got 9"),
        ({"hwcs": 8, "vector": True}, "hwcs: expected 1 to 7 beside a vector unit, got 8"),
        ({"vector_elements": 3}, "elements: expected 1, 2, 4 or 8, got 3"),
        ({"load_words": 8}, "load_words: expected 16 to 4096, got 8"),
        ({"axi_bits": 16}, "axi_bits: expected 32, 64 or 128, got 16"),
        ({"tcdm_banks": 3}, "banks: expected a power of two from 2 on, got 3"),
    ],
)
def test_what_cannot_be_built_is_refused(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        ClusterParameters(hwc=HWC, **changes)
    assert str(caught.value) == message


def test_an_hwc_that_stands_alone_is_refused() -> None:
    with pytest.raises(ParameterError, match="hwc: expected one that is generated for a cluster"):
        ClusterParameters(hwc=replace(HWC, cluster=False))
