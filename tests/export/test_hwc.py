"""What is written beside the Verilog agrees with it: memories, registers, header; and the lint is clean."""

import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest

from hwgen.export.hwc import files_of, hwc_memories, storage, verilog
from hwgen.ir.lanes import LANE_DIMS, Lanes
from tests.arch.test_hwc import SOUND
from tests.export.generated_files import lint, written

PARAMETERS = replace(SOUND, weight_bytes=108)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("hwc"), files_of(PARAMETERS))


def test_memories_hold_exactly_the_bytes_of_the_parameters() -> None:
    assert storage(PARAMETERS)["memories"] == {"I": 128, "W": 108, "O": 768}
    banks = [array for array in hwc_memories(PARAMETERS) if array.parent == ("hwc", "input", "memory_0")]
    assert sorted((bank.width, bank.depth) for bank in banks) == [(8, 8)] * 16


def every_shape() -> list[Any]:
    """Every shape of the lanes with both widths; all but a few nightly, for each takes seconds to generate."""
    few = {(Lanes(m=4, c=4), 16)}
    shapes = list(product(Lanes.shapes(16, LANE_DIMS), (8, 16)))
    assert few < set(shapes)
    marks = [() if shape in few else pytest.mark.nightly for shape in shapes]
    return [pytest.param(*shape, marks=mark) for shape, mark in zip(shapes, marks, strict=True)]


@pytest.mark.parametrize(("lanes", "operand_bits"), every_shape(), ids=str)
def test_what_lies_beside_the_memories_stays_below_256_bytes(lanes: Lanes, operand_bits: Literal[8, 16]) -> None:
    parameters = replace(PARAMETERS, input_bytes=256, weight_bytes=64, operand_bits=operand_bits, lanes=lanes)
    found_there = storage(parameters)
    beside = found_there["beside"]
    assert found_there["memories"]["W"] == parameters.weight_bytes
    assert all(beside.values())
    assert sum(beside.values()) < 256
    text = verilog(parameters)
    products = re.findall(r"\n  reg (?:signed )?\[(\d+):0\] product_\d+(?:_\d+)?(?: =|;)", text)
    assert sum(int(highest) + 1 for highest in products) == 8 * beside["products"]
    # In registers, or in a memory.
    waiting = re.findall(r"\n  reg \[(\d+):0\] waiting(?:_\d|) ?(?:\[(\d+):0\])?(?: =|;)", text)
    found = sum((int(highest) + 1) * (int(last or 0) + 1) for highest, last in waiting)
    assert found == 8 * beside["outputs_that_wait_for_a_word"]


def test_what_scaling_of_sums_adds_is_listed() -> None:
    parameters = replace(PARAMETERS, scaled=True)
    plain, beside = storage(PARAMETERS)["beside"], storage(parameters)["beside"]
    assert set(beside) - set(plain) == {"scales", "scaled_sums"}
    assert sum(beside.values()) < 256 + beside["scales"] + beside["scaled_sums"]
    units = re.findall(r"\nmodule \\hwc\.output\.port\.scaling_\d .*?\nendmodule", verilog(parameters), re.DOTALL)
    assert len(units) == parameters.requantisers
    registers = [highest for unit in units for highest in re.findall(r"\n  reg \[(\d+):0\] (?!_\d+_)\S+ ?;", unit)]
    assert -(-sum(int(highest) + 1 for highest in registers) // 8) == beside["scaled_sums"]


def test_verilog_is_the_same_run_after_run() -> None:
    text = verilog(PARAMETERS)
    verilog.cache_clear()
    assert verilog(PARAMETERS) == text


@pytest.mark.parametrize(("size", "told"), [(128, 0), (1024, 1), (4096, 0)])
def test_weights_that_a_block_ram_answers_too_late_are_in_luts(size: int, told: int) -> None:
    """On 16 lanes, in more than the few lines that are there in any case, and up to 2 KiB. Nothing else is told."""
    text = verilog(replace(SOUND, lanes=Lanes(m=4, c=4), weight_bytes=size))
    assert text.count('(* ram_style = "distributed" *)') == text.count("(*") == told


def test_lints_clean_with_the_waivers_and_not_without(folder: Path) -> None:
    assert lint(folder, "hwc.vlt", "hwc.v", top="hwc") == ""
    assert lint(folder, "hwc.vlt", "hwc.v", "hwc_axi_lite.v", top="hwc_axi_lite") == ""
    assert "%Warning-UNUSEDSIGNAL" in lint(folder, "hwc.v", top="hwc")
