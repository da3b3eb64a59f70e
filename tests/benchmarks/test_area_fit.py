"""The errors of the estimates of area: those on the page are those beside the coefficients."""

from pathlib import Path
from typing import Any

from benchmarks.area_fit import Errors, block_of
from hwgen.model.area.estimate import coefficients

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
NAMES = {
    "hwc": "HWCs",
    "cluster": "clusters without their HWCs",
    "vector": "vector units",
    "dma": "DMAs",
    "hwc of choose": "HWCs of `choose`",
    "cluster of choose": "clusters of `choose` without their HWCs",
}
PARTS = {"fitted": "fitted to", "held_out": "held out"}


def line(kind: str, part: str, errors: dict[str, Any]) -> str:
    """A line of the table on the page."""
    cells = [
        "" if value is None else f"{100 * value:.1f} %" if name.endswith(("median", "worst")) else str(value)
        for name, value in errors.items()
    ]
    designs, *luts_and_registers = cells[:5]
    dsps, blocks, placed, *clocks = cells[5:]
    return " | ".join(
        [f"| {NAMES[kind]}, {PARTS[part]}", designs, *luts_and_registers, placed, *clocks, dsps, blocks]
    )


def test_the_page_has_the_errors() -> None:
    for part, kinds in coefficients()["errors"].items():
        for kind, errors in kinds.items():
            assert list(errors) == list(Errors.__dataclass_fields__)
            assert f"{line(kind, part, errors)} |\n" in PAGE


def test_instances_belong_to_blocks() -> None:
    assert block_of("hwc", "input.memory_3") == "fill"
    assert block_of("hwc", "input.placer") == "placer"
    assert block_of("hwc", "") == "control"
    assert block_of("hwc", "master_o") == "ports"
    assert block_of("cluster", "core.hwc_1") == "interconnect"
    assert block_of("cluster", "core.dma.load") == "dma"
    assert block_of("cluster", "core.load_words") == "queues"
    assert block_of("cluster", "") == block_of("cluster", "tcdm") == "interconnect"
