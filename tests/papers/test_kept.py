"""Claims as they are kept in the documentation: verdicts judged anew, the page, planted figures."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from hwgen.ir.document import InputError
from hwgen.papers.claims import Claim, between
from hwgen.papers.kept import KEPT, PAGE, claims_bytes, command_text, kept_files, load_kept, papers_page
from hwgen.papers.sousa.rows import MODELS
from hwgen.papers.yang.caches import cache_rows, measured_layers

REPRODUCED = ("reproduced", "reproduced in another reading")


def test_the_page_is_what_is_kept() -> None:
    """Every figure of the page is in a kept file, beside its command; `python -m hwgen.papers.kept` writes the
    page.
    """
    every = [load_kept(path) for path in kept_files()]
    commands = {path.stem: kept.command for path, kept in zip(kept_files(), every, strict=True)}
    assert commands.pop("sousa-2022_table1") == "python -m examples.digits.fixed_point"
    assert all(command.split()[:3] == ["hwgen", "paper", paper] for paper, command in commands.items())
    assert PAGE.read_text(encoding="utf-8") == papers_page(every)


@pytest.mark.parametrize("path", kept_files(), ids=lambda path: path.stem)
def test_no_kept_verdict_survives_a_planted_figure(path: Path) -> None:
    for claim in load_kept(path).claims:
        assert (claim.verdict in REPRODUCED) == bool(claim.parts and all(part.holds for part in claim.parts))
        for number, part in enumerate(claim.parts):
            for planted in (part.high + 1 + abs(part.high), part.low - 1 - abs(part.low)):
                parts = [*claim.parts]
                parts[number] = replace(part, found=planted)
                other = replace(claim, parts=tuple(parts))
                assert other.verdict not in REPRODUCED, (claim.where, part.name)


def kept_rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((KEPT / name).read_text(encoding="utf-8").splitlines()))


def table(page: str, begins: str) -> list[list[str]]:
    """The cells of the table of the page of results whose head begins so."""
    lines = (PAGE.parent / page).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(begins))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_nests_of_the_results_are_kept() -> None:
    """`hwgen paper stoutchinin-2019` leaves fig8_sums.csv."""
    kept = kept_rows("stoutchinin-2019_fig8.csv")
    rows = table("results.md", "| nest | memory |")
    assert len(rows) == len(kept) == 6
    for cells, one in zip(rows, kept, strict=True):
        assert cells[0].removesuffix(", not as printed") == one["nest"]
        sizes = "" if not one["memories"] else ", ".join(one["memories"].split()[1::2])
        numbers = [sizes, f"{int(one['bytes']):,}", f"{float(one['of_the_optima']):.3f}"]
        assert cells[2:] == [*numbers, f"{int(one['cycles']):,}", f"{float(one['utilisation']):.3f}"]


PRINTED = {"I above LSY, W above LOF": "MYX[O]C[I]YK[W]ML", "I and W above LOF": "MYX[O]CYK[IW]ML"}
"""The loops of the nests with W as printed, as `hwgen regress` calls them."""
DIVISIONS = {"one HWC": "shared", "a division for each layer": "per-layer"}


def test_the_printed_nests_ran_as_the_model_has_them() -> None:
    """`hwgen regress --printed` leaves rows.csv: every row of every nest."""
    rows = kept_rows("stoutchinin-2019_printed.csv")
    nests = [one for one in kept_rows("stoutchinin-2019_fig8.csv") if one["nest"] in PRINTED]
    model = {f"{DIVISIONS[one['division']]} 1024 {PRINTED[one['nest']]}": one for one in nests}
    assert {row["configuration"] for row in rows} == set(model)
    for configuration, one in model.items():
        ran = [row for row in rows if row["configuration"] == configuration]
        assert len({row["layer"] for row in ran}) == len(ran) == int(one["layers"]) == 68
        assert all(row["passed"] == "yes" for row in ran)
        for name in ("bytes", "cycles"):
            assert all(row[f"{name}_predicted"] == row[f"{name}_measured"] for row in ran)
            assert sum(int(row[f"{name}_measured"]) for row in ran) == int(one[name])
        busy = sum(float(row["utilisation"]) for row in ran) / len(ran)
        assert busy == pytest.approx(float(one["utilisation"]), abs=5e-5)  # rows have four digits


NETWORKS = ("alexnet", "zfnet", "vgg", "inception", "resnet")
CLOCK_MHZ = 500
"""Of the paper."""


def test_the_rows_on_one_cluster_are_kept() -> None:
    """`hwgen regress-clusters` leaves clusters.csv: every row once, and the last one with random stalls."""
    ran = kept_rows("stoutchinin-2019_four_hwcs.csv")
    assert {one["passed"] for one in ran} == {"yes"}
    assert [one["stalled"] for one in ran].count("yes") == 1
    every = [one for one in ran if one["stalled"] == "no"]
    rows = table("results.md", "| rows | cycles | predicted | utilisation, mean |")
    groups = [[one for one in every if one["layer"].startswith(f"{network}_")] for network in NETWORKS] + [every]
    assert len(rows) == len(groups)
    assert len(every) == 68
    for row, group in zip(rows, groups, strict=True):
        assert row[0].endswith(f", {len(group)}")
        macs, found, expected = (
            sum(int(one[name]) for one in group) for name in ("macs", "cycles_measured", "cycles_predicted")
        )
        busy = [float(one["utilisation"]) for one in group]
        means = sum(busy) / len(busy), min(busy), max(busy)
        assert row[1:3] == [f"{found:,}", f"{expected:,}"]
        assert row[3:] == [*(f"{one:.3f}" for one in means), f"{macs * CLOCK_MHZ / found / 1000:.1f}"]
    off = max(abs(int(one["cycles_predicted"]) / int(one["cycles_measured"]) - 1) for one in every)
    assert off <= 0.01


def test_the_caches_of_the_results_are_kept() -> None:
    kept = measured_layers(cache_rows(KEPT / "cpu_accesses.csv"), "kept")
    rows = table("results.md", "| layer | share of its work |")
    assert [cells[0] for cells in rows] == [one.layer for one in kept]
    programs = ("blocked", "ATLAS", "MKL", "MKL, AVX2", "OpenBLAS")
    for cells, one in zip(rows, kept, strict=True):
        for first, level in ((3, "l2"), (9, "l3")):
            found = [getattr(one.counts[program], level) for program in programs]
            assert cells[first : first + 5] == [f"{value // 1000:,}" for value in found]


def test_the_stacks_with_all_channels_are_kept() -> None:
    """`hwgen paper goetschalckx-2019 --rtl` leaves rtl.csv, of which these are the rows with all channels."""
    kept = kept_rows("goetschalckx-2019_rtl.csv")
    rows = table("results.md", "| stack | tiles | input | MACs |")
    assert len(rows) == len(kept) == 4
    for cells, one in zip(rows, kept, strict=True):
        assert (f"{cells[0][1:-1]}_channels", cells[1]) == (one["stack"], one["tiles"])
        assert (one["size"], one["equal"]) == ("all channels, 24 of 720 rows", "yes")
        numbers = [one[name] for name in ("rings", "traffic", "overlap", "cycles")]
        assert [*cells[4:7], cells[8]] == [f"{int(number):,}" for number in numbers]


def test_the_layers_on_the_dram_of_eq_6_are_kept() -> None:
    """`hwgen paper sousa-2022 --rtl` leaves system.csv; the page has the layers that ran in the RTL, and the sums."""
    every = kept_rows("sousa-2022_bursts.csv")
    measured = [row for row in every if row["bursts_measured"]]
    cells = table("results.md", "| layer | of | bursts in view, predicted |")
    assert len(cells) == len(measured) == 9
    for row, one in zip(cells, measured, strict=True):
        cycles = [int(one[f"{way}_{what}"]) for way in ("bursts", "bytes") for what in ("predicted", "measured")]
        assert row[0] == f"`{one['layer']}`"
        assert row[2:] == [*(f"{cycle:,}" for cycle in cycles), f"{100 * (cycles[3] / cycles[1] - 1):.1f} %"]
    sums = {row[0]: row for row in table("results.md", "| network | layers | faster by more than 1 % |")}
    for network in ("yolo_fvlpd", "resnet50_tfslim", "inception_v3"):
        pairs = [pair for row in every for pair in _pairs(row, network)]
        faster, slower = (sum(one > 1.01 * other for one, other, _ in some) for some in (
            [(after, before, number) for before, after, number in pairs], pairs))  # fmt: skip
        before, after = (sum(pair[place] * pair[2] for pair in pairs) for place in (0, 1))
        assert sums[MODELS[network]][1:6] == [
            str(len(pairs)), str(faster), str(len(pairs) - faster - slower), str(slower),
            f"{100 * (after / before - 1):.1f} %",
        ]  # fmt: skip


def _pairs(row: dict[str, str], network: str) -> list[tuple[int, int, int]]:
    """Cycles with bursts in view and counting bytes, and how often a network has the layer; none if it has not."""
    numbers = dict(one.split(":") for one in row["networks"].split())
    cycles = [int(row[f"{way}_measured"] or row[f"{way}_predicted"]) for way in ("bursts", "bytes")]
    return [(cycles[0], cycles[1], int(numbers[network]))] if network in numbers else []


def test_the_ways_of_moving_data_are_kept() -> None:
    """`hwgen paper cecconi-2017 --rtl` leaves fig3.csv, by the cycle model, and rtl.csv, what of it ran."""
    cases = {(one["layer"], one["tiles"], one["way"]): one for one in kept_rows("cecconi-2017_fig3.csv")}
    columns = (("none", "single"), ("naive", "single"), ("naive", "halves"), ("best", "single"), ("best", "halves"))
    rows = table("results.md", "| layer | naive tile | best tile | no buffering |")
    assert [row[0] for row in rows] == list(dict.fromkeys(layer for layer, _, _ in cases))
    for row in rows:
        assert row[1:3] == [cases[row[0], tiles, "halves"]["tile"] for tiles in ("naive", "best")]
        assert row[3:] == [f"{float(cases[row[0], *column]['cycles']) / 1e6:,.2f}" for column in columns]
    ran = kept_rows("cecconi-2017_rtl.csv")
    text = (PAGE.parent / "results.md").read_text(encoding="utf-8").replace("\n", " ")
    assert f"in all seven ways, {sum(int(one['cycles']) for one in ran) / 1e6:,.0f} million cycles" in text
    assert {one["equal"] for one in ran} == {"yes"}
    layers = table("results.md", "| layer | no buffering, predicted | RTL |")
    assert [row[0] for row in layers] == list(dict.fromkeys(one["layer"] for one in ran))
    for row in layers:
        alone, *others = (one for one in ran if one["layer"] == row[0])
        assert len(others) == 6
        assert row[1:3] == [f"{int(alone[name]):,}" for name in ("predicted", "cycles")]
        assert row[3] == f"{sum(int(one['cycles']) for one in others):,}"
        off = max((int(one["predicted"]) / int(one["cycles"]) - 1 for one in others), key=abs)
        assert row[4] == f"{100 * off:+.2f} %"


def test_the_transfers_alone_are_kept() -> None:
    """`hwgen paper cecconi-2017 --rtl` leaves transfers.csv."""
    cases = {(one["layer"], one["tiles"]): one for one in kept_rows("cecconi-2017_transfers.csv")}
    rows = table("results.md", "| layer | naive tile | best tile | naive, RTL |")
    assert [row[0] for row in rows] == list(dict.fromkeys(layer for layer, _ in cases))
    for row in rows:
        naive, best = (cases[row[0], tiles] for tiles in ("naive", "best"))
        cycles = [float(one["cycles"]) for one in (naive, best)]
        assert row[1:3] == [naive["tile"], best["tile"]]
        assert row[3:6] == [*(f"{one / 1e6:,.2f}" for one in cycles), f"{cycles[0] / cycles[1]:.2f}"]
        assert row[6:8] == [f"{float(one['bytes_a_cycle']):.2f}" for one in (naive, best)]
        assert row[8:] == [f"{int(one['transfers']):,}" for one in (naive, best)]
        assert naive["equal"] == best["equal"] == "yes"


def test_a_planted_verdict_is_refused(tmp_path: Path) -> None:
    claim = Claim("1", "a", "b", "c", parts=(between("x", 3, 1, 2),), scope="s")
    path = tmp_path / "claims.json"
    path.write_bytes(claims_bytes("hwgen paper some", [claim]))
    assert load_kept(path).claims == (claim,)
    assert load_kept(path).command == "hwgen paper some"
    data = json.loads(path.read_text())
    data["claims"][0]["verdict"] = "reproduced"
    path.write_text(json.dumps(data))
    with pytest.raises(InputError, match="1: expected the verdict not reproduced, got reproduced"):
        load_kept(path)


def test_commands_have_their_options() -> None:
    options = {"--networks": None, "--cpu": Path("a/b.csv"), "--rtl": True, "--small": False}
    assert command_text("some", options) == "hwgen paper some --cpu a/b.csv --rtl"


def test_the_page_has_command_counts_and_table(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    path.write_bytes(claims_bytes("hwgen paper some", [Claim("1", "a", "b", "c"), Claim("2", "a", "b", "c")]))
    page = papers_page([load_kept(path)])
    assert "## `hwgen paper some`\n\n2 claims and readings: 2 not judged.\n" in page
    assert "| 1 | a |  |  | b | not judged | c |" in page
