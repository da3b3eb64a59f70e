"""The errors of the estimates of area, and which blocks instances belong to."""

from benchmarks.area_fit import Errors, block_of
from manual.results.area_tables import COLUMNS


def test_the_page_has_all_errors() -> None:
    assert sorted(COLUMNS) == sorted(Errors.__dataclass_fields__)


def test_instances_belong_to_blocks() -> None:
    assert block_of("hwc", "input.memory_3") == "fill"
    assert block_of("hwc", "input.placer") == "placer"
    assert block_of("hwc", "") == "control"
    assert block_of("hwc", "master_o") == "ports"
    assert block_of("cluster", "core.hwc_1") == "interconnect"
    assert block_of("cluster", "core.dma.load") == "dma"
    assert block_of("cluster", "core.load_words") == "queues"
    assert block_of("cluster", "") == block_of("cluster", "tcdm") == "interconnect"
