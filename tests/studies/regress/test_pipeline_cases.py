"""The stacks of the regression say what of the published networks they are."""

import re

from hwgen.arch.dram import Dram, DramPort
from hwgen.studies.regress import depth_first_gain_regression, pipeline_cases
from hwgen.studies.regress.pipeline_cases import (
    PARTS,
    CaseSize,
    all_channels_cases,
    full_size_cases,
    regression_cases,
    small_cases,
)


def test_what_is_cut_down_says_so() -> None:
    sizes = {case.name.rpartition("_x")[0]: case.size for case in regression_cases()}
    assert {name for name, size in sizes.items() if size and size.is_published} == {
        "mobilenet_v2_stride1", "mobilenet_v2_stride2",
    }  # fmt: skip
    # 23 M of 5636 M: a quarter of the channels on both sides of all rows but the first, a sixteenth of the pixels.
    assert sizes["vgg_e_first5"] == CaseSize((3, 56, 56), (3, 224, 224), 4, 23_030_784, 5_635_768_320)
    assert not any(case.size is None or case.size.is_published for case in small_cases())


def test_cases_at_full_size_are_as_published() -> None:
    port = DramPort(64, Dram())
    cases = list(full_size_cases(port))
    assert [case.solution.stacks[0].factor for case in cases] == [1, 2, 4]
    assert all(case.port == port for case in cases)
    assert all(case.size == CaseSize((3, 224, 224), (3, 224, 224), 1, 5_635_768_320, 5_635_768_320) for case in cases)


def test_cases_with_all_channels_are_strips_of_the_published_width() -> None:
    cases = list(all_channels_cases())
    parts = ["srgan_blocks_channels", "dmcnn_vd_first6_channels"]
    assert [case.name for case in cases] == [f"{part}_x{factor}" for part in parts for factor in (1, 2)]
    for case in cases:
        assert case.size is not None
        channels, height, width = case.size.published_input
        assert case.size.input == (channels, 24, width)
        assert (case.size.divisor, case.size.is_published) == (1, False)
        assert case.size.macs * height == case.size.published_macs * 24  # as much for each line
    assert "24 of 720 rows" in (pipeline_cases.__doc__ or "")


def test_the_docstring_has_the_sizes_of_the_cases() -> None:
    text = pipeline_cases.__doc__ or ""
    rows = {
        found[1]: found for found in re.finditer(r"\| `(\w+)` \| (\d+) \| ([\dx ]+) \| ([\w ]+) \| (\d+) M", text)
    }
    assert set(rows) == {part.name for part in PARTS}
    for part in PARTS:
        size, said = part.case_size(small=False), rows[part.name]
        assert int(said[2]) == len(part.published().layers)
        assert said[3] == " x ".join(map(str, size.input))
        assert said[4] == ("the same" if size.is_published else " x ".join(map(str, size.published_input)))
        assert int(said[5]) == round(size.macs / 1e6)


def test_the_docstring_of_the_comparison_has_the_sizes_of_its_parts() -> None:
    text = depth_first_gain_regression.__doc__ or ""
    said = re.findall(r"- `(\w+)`: ([\dx ]+) instead of ([\dx ]+), (a quarter|half) of the channels", text)
    assert said == [
        (part.name, " x ".join(map(str, size.input)), " x ".join(map(str, size.published_input)),
         {2: "half", 4: "a quarter"}[size.divisor])
        for part in depth_first_gain_regression.NETWORKS
        for size in (part.case_size(small=False),)
    ]  # fmt: skip
