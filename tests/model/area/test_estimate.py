"""Estimates of area against designs that were synthesised, and what must hold of any hardware."""

from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from benchmarks.area_designs import TABLE, design, is_held_out, read_rows
from benchmarks.area_fit import GROUPS, KINDS, Judged, errors_of, fitted, group_of, judged, structure_of, total
from hwgen.api.choosing.space import Place, Space
from hwgen.arch.hardware_file import load_hardware, read_hardware_data
from hwgen.arch.hwc import HwcParameters
from hwgen.arch.registers.hwc import setting_widths
from hwgen.ir.builtin import builtin_names, named_file
from hwgen.ir.document import InputError
from hwgen.ir.hardware import Hardware
from hwgen.ir.lanes import Lanes
from hwgen.model.area.assumed import USUAL_ORDER, assumed_buffers, hwc_of
from hwgen.model.area.estimate import coefficients, estimated_area, estimated_hwc
from hwgen.model.area.terms import widths

ROWS = list(read_rows(TABLE).values())
HWC = HwcParameters(tuple("myxcklmyx"), 4, 5, 3, 1024, 512, 2560, lanes=Lanes(m=4, c=4), bias_words=64)


WINDOWS = {
    (2, 4): (9_832, 98),
    (4, 2): (10_117, 117),
    (4, 4): (10_599, 171),
    (8, 4): (11_207, 110),
    (4, 8): (10_710, 314),
    (8, 8): (12_014, 664),
    (16, 8): (15_324, 623),
    (16, 16): (18_995, 2_311),
}
"""By lanes along m and c: LUT4 of an HWC, synthesised, and how many more it has with a window for columns."""

PLACES = {
    Place((2, 2), 1, 1 << 15, 2, 0, (128, 256, 512), (32, 32, 32), 32, False, 4): 23_246,
    Place((2, 2), 1, 1 << 15, 2, 1, (128, 256, 512), (32, 32, 32), 32, False, 4): 25_651,
    Place((4, 2), 1, 1 << 15, 2, 1, (128, 512, 1024), (32, 32, 32), 32, False, 4): 26_043,
    Place((8, 8), 4, 1 << 16, 8, 2, (1024, 512, 5120), (32, 32, 32), 32, True, 4): 84_105,
    Place((8, 8), 4, 1 << 17, 8, 2, (1024, 512, 2560), (32, 32, 32), 32, True, 4): 84_758,
    Place((16, 8), 1, 0, 0, 0, (2048, 512, 5120), (64, 64, 32), 0, True, 4): 17_830,
    Place((16, 8), 1, 1 << 16, 8, 1, (1024, 512, 2560), (32, 64, 64), 64, True, 4): 40_501,
    Place((16, 16), 1, 0, 0, 0, (256, 1024, 2560), (32, 64, 32), 0, False, 4): 18_852,
    Place((16, 16), 1, 0, 0, 0, (2048, 1024, 5120), (64, 64, 32), 0, False, 4): 21_077,
    Place((16, 16), 1, 0, 0, 0, (2048, 1024, 5120), (64, 64, 32), 0, True, 4): 23_254,
    Place((16, 16), 1, 1 << 16, 4, 4, (1024, 1024, 5120), (32, 64, 64), 32, True, 4): 43_181,
    Place((16, 16), 1, 1 << 16, 4, 4, (2048, 1024, 5120), (32, 64, 32), 32, False, 4): 42_095,
    Place((16, 16), 2, 1 << 16, 16, 8, (1024, 1024, 2560), (32, 64, 64), 32, False, 4): 73_834,
}
"""What ``python -m benchmarks choose`` named, by its place in the space of `hwgen choose`, and its LUT4, synthesised:
no design that is fitted to is among them."""


class NoBound:
    """No bound of cycles."""

    has_vector_nodes = True

    def cycles(self, hardware: Hardware) -> int:
        return 0

    def guess(self, hardware: Hardware) -> float:
        return 0.0


def of(group: str, *, held_out: bool) -> list[Judged]:
    return [judged(row) for row in ROWS if group_of(row) == group and is_held_out(row) == held_out]


@pytest.mark.parametrize("part", ["fitted", "held_out"])
@pytest.mark.parametrize("group", GROUPS)
def test_the_printed_errors_are_those_of_the_table(group: str, part: str) -> None:
    found = of(group, held_out=part == "held_out")
    printed = coefficients()["errors"].get(part, {}).get(group)
    assert bool(found) == (printed is not None)
    if printed:
        assert errors_of(found).__dict__ == printed


@pytest.mark.parametrize("kind", KINDS)
def test_the_designs_are_those_of_the_table(kind: str) -> None:
    for part in ("fitted", "held_out"):
        numbers = [row["number"] for row in ROWS if row["kind"] == kind and is_held_out(row) == (part == "held_out")]
        assert sorted(numbers) == coefficients()["designs"][kind][part]


def test_the_coefficients_are_those_that_the_table_gives() -> None:
    again = fitted(ROWS)
    for block, quantities in coefficients()["blocks"].items():
        for quantity, terms in quantities.items():
            assert again["blocks"][block][quantity] == pytest.approx(terms, rel=1e-3, abs=1e-3)
    assert again["clock"] == pytest.approx(coefficients()["clock"], rel=1e-3)


def test_the_table_is_of_the_designs_that_its_numbers_are_the_seeds_of() -> None:
    for row in ROWS:
        assert design(row["kind"], row["number"]).data == row["data"]


def test_memories_of_hwcs_in_luts_are_known() -> None:
    equal = [structure_of(row).lut_rams == total(row, "lut_rams") for row in ROWS if row["kind"] == "hwc"]
    assert sum(equal) >= 0.8 * len(equal)


def test_widths_of_settings_that_are_kept_are_right() -> None:
    for row in ROWS:
        if row["kind"] == "hwc":
            one = hwc_of(read_hardware_data(row["data"], "drawn"))
            for factor in (1, 2):
                larger = replace(one, output_bytes=factor * one.output_bytes, input_bytes=factor * one.input_bytes)
                assert widths(larger) == setting_widths(larger)
    with_it = hwc_of(load_hardware(named_file("hardware", "cluster_64_vector")))
    for one in (with_it, replace(with_it, column_window=False), with_it):
        assert widths(one) == setting_widths(one)


@pytest.mark.parametrize("name", builtin_names("hardware"))
def test_every_built_in_has_an_estimate(name: str) -> None:
    hardware = load_hardware(named_file("hardware", name))
    found = estimated_area(hardware)
    number = 1 if hardware.cluster is None else hardware.cluster.hwcs
    assert found.dsps >= number * hardware.number_of_multipliers
    assert found.lut4 > number * 5000
    assert found.flip_flops > number * 3000
    assert found.mhz is not None
    assert 30 < found.mhz < 200


@pytest.mark.parametrize("lanes", [Lanes(m=2, c=4), Lanes(m=4, c=4), Lanes(m=4, c=8), Lanes(m=8, c=8)])
def test_more_lanes_take_more(lanes: Lanes) -> None:
    """Of buffers that are as many times as large, so that their depths are the same."""
    more = replace(lanes, m=2 * lanes.m)
    small, large = (
        estimated_hwc(replace(HWC, lanes=one, weight_bytes=16 * one.m * one.c, output_bytes=64 * one.m,
                              input_bytes=64 * one.c))
        for one in (lanes, more)
    )  # fmt: skip
    assert small.lut4 < large.lut4
    assert small.flip_flops < large.flip_flops
    assert small.dsps < large.dsps
    assert small.block_rams <= large.block_rams
    assert (small.mhz or 0) >= (large.mhz or 0)


@pytest.mark.parametrize("buffer", ["input_bytes", "weight_bytes", "output_bytes"])
@pytest.mark.parametrize("lanes", [Lanes(m=4, c=4), Lanes(m=8), Lanes(x=16)])
def test_larger_buffers_take_more(buffer: str, lanes: Lanes) -> None:
    """A memory that becomes block RAM leaves LUTs free: never more than those that would hold its bits."""
    size = 1 << 9
    previous = estimated_hwc(replace(HWC, lanes=lanes, **{buffer: size}))
    while size < 1 << 14:
        size *= 2
        found = estimated_hwc(replace(HWC, lanes=lanes, **{buffer: size}))
        blocks = found.block_rams - previous.block_rams
        assert blocks >= 0
        assert found.lut4 >= previous.lut4 if not blocks else found.lut4 + 36 * 512 * blocks > previous.lut4
        previous = found


@pytest.mark.parametrize(("lanes", "slower"), [(Lanes(m=4, c=4), True), (Lanes(m=8, c=8), False)])
def test_weights_in_block_ram_slow_down_what_has_no_register_on_their_way(lanes: Lanes, slower: bool) -> None:
    """Up to 2 KiB they are in LUTs then, which is faster, but slower than few."""
    few, some, many = (estimated_hwc(replace(HWC, lanes=lanes, weight_bytes=size)) for size in (512, 2048, 1 << 14))
    assert few.mhz is not None
    assert some.mhz is not None
    assert many.mhz is not None
    assert (some.mhz < few.mhz) == slower
    assert many.block_rams > some.block_rams
    assert (many.mhz < 0.7 * few.mhz) == slower


def test_a_cluster_takes_its_hwcs_and_more() -> None:
    hardware = load_hardware(named_file("hardware", "cluster_64_vector"))
    assert hardware.cluster is not None
    one = estimated_hwc(hwc_of(hardware))
    whole = estimated_area(hardware)
    narrow = estimated_area(hardware.model_copy(update={"cluster": hardware.cluster.model_copy(
        update={"vector_elements": 1})}))  # fmt: skip
    without = estimated_area(hardware.model_copy(update={"cluster": hardware.cluster.model_copy(
        update={"vector": False, "vector_elements": 1})}))  # fmt: skip
    assert 4 * one.lut4 < without.lut4 < narrow.lut4 < whole.lut4
    assert whole.mhz == one.mhz
    fewer = hardware.model_copy(update={"cluster": hardware.cluster.model_copy(update={"hwcs": 3})})
    assert estimated_area(fewer).lut4 < whole.lut4 - one.lut4


def test_what_a_file_leaves_free_may_be_given() -> None:
    hardware = load_hardware(named_file("hardware", "hwc_16")).model_copy(update={"buffers": None, "order": None})
    assumed = assumed_buffers(Lanes(m=4, c=4), 1024)
    assert assumed == {"I": 256, "W": 128, "O": 640}
    assert estimated_area(hardware) == estimated_area(hardware, buffers=assumed, order=USUAL_ORDER)
    assert estimated_area(hardware, buffers={"I": 4096, "W": 128, "O": 640}).lut4 > estimated_area(hardware).lut4
    free = load_hardware(named_file("hardware", "hwc")).model_copy(update={"lanes": None})
    assert estimated_area(free, lanes=Lanes(m=8, c=8)).dsps > 64


def test_what_a_choice_names_takes_what_was_estimated() -> None:
    """A search names what is estimated to be small: errors in one direction would all be there."""
    space, errors = Space(NoBound(), depthwise=True), []
    for place, synthesised in PLACES.items():
        (made,) = space.at(place)
        errors.append(made.area.lut4 / synthesised - 1)
    assert abs(mean(errors)) < 0.02
    assert max(map(abs, errors)) < 0.05


def test_impossible_hardware_is_refused() -> None:
    hardware = load_hardware(named_file("hardware", "hwc_16")).model_copy(update={"buffers": None})
    with pytest.raises(InputError, match=r"hardware hwc_16: input_bytes: expected a multiple of 16"):
        estimated_area(hardware, buffers={"I": 50, "W": 128, "O": 640})


@pytest.mark.nightly
@pytest.mark.parametrize("place", [0, 1])
def test_a_design_that_is_held_out_synthesised_anew(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two HWCs with the fewest LUTs, in an empty cache; within the worst error that is printed."""
    monkeypatch.setenv("HWGEN_CACHE", str(tmp_path))
    rows = [row for row in ROWS if group_of(row) == "hwc" and is_held_out(row)]
    row = sorted(rows, key=lambda one: total(one, "luts"))[place]
    again = design("hwc", row["number"]).with_area(None)
    if again["digest"] == row["digest"]:
        assert again["blocks"] == row["blocks"]
    worst = coefficients()["errors"]["held_out"]["hwc"]["lut4_worst"]
    assert abs(judged(again).lut4) <= worst + 1e-4


@pytest.mark.parametrize(("m", "c"), WINDOWS)
def test_what_a_window_for_columns_takes(m: int, c: int) -> None:
    without = replace(HWC, lanes=Lanes(m=m, c=c), weight_bytes=4 * m * c, input_bytes=1024, output_bytes=64 * m)
    more = estimated_hwc(replace(without, column_window=True)).lut4 - estimated_hwc(without).lut4
    whole, synthesised = WINDOWS[m, c]
    assert abs(more - synthesised) < 0.01 * whole
