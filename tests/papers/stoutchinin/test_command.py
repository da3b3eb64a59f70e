"""``hwgen paper``: rows against the models they come from, the published sampling, plots, summary, refusals."""

import csv
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import hwgen.search.core.batch
from hwgen.ir.layer import Layer
from hwgen.ir.schedule import ARRAYS, Bits, Loop, Marker, Schedule
from hwgen.model.nest.bounds import communication_bound, compulsory
from hwgen.model.nest.one_level import predict
from hwgen.papers.documents import csv_text
from hwgen.papers.stoutchinin.claims import claims
from hwgen.papers.stoutchinin.loop_orders import OrderTraffic, order_quality, order_summaries, order_traffic
from hwgen.papers.stoutchinin.rows import (
    Search,
    Traffic,
    engines,
    exceptions,
    median_ratios,
    totals,
    traffic,
)
from hwgen.papers.stoutchinin.sampling import least_by_order, powers_of_two, published_loops, sampled
from hwgen.papers.stoutchinin.utilisation import BusyLanes, busy_lanes
from hwgen.readers.layer_sets import load_layer_set
from hwgen.search.core.optimal import search
from hwgen.studies.regress.published_nests import hwce
from tests.cli.command_line import Run, refused

TINY = Layer(
    name="tiny_1", input_channels=3, output_channels=2, input_height=3, input_width=3, output_height=2,
    output_width=3, kernel=(2, 1), stride=(1, 1), padding=(0, 0, 0, 0),
)  # fmt: skip
OTHER = Layer(**{**TINY.model_dump(), "name": "tiny_2"})
ALONE = Search()


def row(ours: int, peemen: int | None, cache: int | None, network: str = "alexnet", size: int = 1024) -> Traffic:
    return Traffic(network, f"{network}_1", "bytes", size, ours, peemen, cache, essential=50, bound=80.0)


def test_derived_figures_by_hand() -> None:
    one = row(100, 125, 350)
    assert (one.peemen_overhead, one.saving, one.cache_factor, one.ratio) == (25.0, pytest.approx(20.0), 3.5, 1.25)
    none = row(100, None, None)
    assert (none.peemen_overhead, none.saving, none.cache_factor) == (None, None, None)


def test_exceptions_are_named() -> None:
    good = [row(100, 100, 100), row(100, 125, None), row(100, None, None)]
    bad = [row(101, 100, 200), row(100, 201, 200), row(100, None, 200)]
    assert exceptions([*good, *bad]) == bad
    (claim,) = (claim for claim in claims([*good, *bad], [], [], []) if claim.where == "IV-D")
    assert claim.found.startswith("3 of 6, not: alexnet_1 at 1024 (bytes)")
    assert claim.verdict == "refuted"
    (claim,) = (claim for claim in claims(good, [], [], []) if claim.where == "IV-D")
    assert claim.verdict == "reproduced"


def test_traffic_claims_are_judged_by_hand() -> None:
    """Savings of 1 - 100/110, 1 - 100/140: 9.1 % is in the published range, 28.6 % is not; CACHE 3.5 times ours."""
    both = [row(100, 110, 350), row(100, 140, 350, "vgg")]
    stated = {claim.where: claim for claim in claims(both, [], [], [])}
    assert (stated["Fig. 5"].verdict, stated["Fig. 4"].verdict) == ("reproduced in part", "reproduced")
    less = {claim.where: claim.verdict for claim in claims([row(100, 140, 340)], [], [], [])}
    assert (less["Fig. 5"], less["Fig. 4"]) == ("not reproduced", "reproduced in part")
    large = [row(100, 110, 350, name, 1 << 17) for name in ("vgg", "zfnet")]
    several = [claim for claim in claims(large, [], [], []) if claim.published.startswith("more than 5 %")]
    # The reading in elements was not computed here, so that it has none.
    assert [(claim.verdict, claim.found) for claim in several] == [
        ("reproduced in part", "elements, 128 KiB: none; bytes, 128 KiB: zfnet, vgg")
    ]


def test_utilisation_is_judged_for_both_hwcs() -> None:
    def verdicts(*busy: BusyLanes) -> list[tuple[str, str]]:
        return [(one.found, one.verdict) for one in claims([], [], busy, []) if one.published.startswith("average")]

    low, high = BusyLanes("a", 0.5, 0.9), BusyLanes("b", 0.6, 1.0)
    (published, verdict), (chosen, better) = verdicts(low, high)
    assert "0.550 over 2 layers" in published
    assert "0.950 over 2 layers" in chosen
    assert (verdict, better) == ("not reproduced", "reproduced")
    assert verdicts(BusyLanes("a", None, None)) == [
        ("another HWC (lanes {m: 8, x: 2}): none reaches 0.945 by the estimate of the search", "not reproduced")
    ]
    (accuracy,) = (one for one in claims([], [], [], []) if "0.5 %" in one.published)
    assert accuracy.verdict == "not judged"


def test_busy_lanes_are_macs_over_lanes_and_cycles() -> None:
    """Four and eight multiply-accumulates a cycle, of 16."""
    for name, chosen in (("vgg_8", pytest.approx(4 / 16)), ("resnet_s5_1", None)):
        (layer,) = (one for one in load_layer_set("stoutchinin_2019").convolutions() if one.name == name)
        (found,) = busy_lanes(
            [layer], ALONE, lambda schedule, hardware: schedule.layer.macs // (4 if hardware else 8)
        )
        assert found == BusyLanes(name, pytest.approx(8 / 16), chosen)


def test_sums_and_medians_by_hand() -> None:
    rows = [row(100, 110, 300), row(200, 220, 500), row(120, None, 400, "vgg"), row(90, 95, 99, size=2048)]
    sums = {(one.network, one.buffer_bytes): one for one in totals(rows)}
    assert (sums["alexnet", 1024].ours, sums["alexnet", 1024].peemen, sums["alexnet", 1024].cache) == (300, 330, 800)
    assert (sums["vgg", 1024].peemen, sums["vgg", 1024].cache) == (None, 400)
    assert median_ratios([*rows, replace(row(10**9, 1, 1), reading="elements")]) == {1024: 1.5, 2048: 1.125}


def test_traffic_of_a_layer() -> None:
    sizes = (40, 200)
    for reading, bits in (("bytes", Bits()), ("elements", Bits(acc=8))):
        rows = traffic([TINY], sizes, reading, ALONE)  # type: ignore[arg-type]
        assert [one.ours for one in rows] == [found.total_bytes for found in search(TINY, sizes, bits=bits)]
        for one in rows:
            assert one.essential == compulsory(TINY, bits).total_bytes()
            assert one.bound == max(one.essential, communication_bound(TINY, one.buffer_bytes, bits))
            assert one.ordered


def brute_force(loops: str, layer: Layer) -> dict[int, int]:
    """Least bytes for each need, over marker places and tile sizes of one order: what the model says of each operand.

    An operand's traffic and need do not depend on where the others' markers stand.
    """
    found: dict[int, int] = {}
    for tile in product(*(range(1, layer.extents[dim] + 1) for dim in ("m", "c", "y", "x"))):
        size = dict(zip("MCYX", tile, strict=True))
        steps = [Loop(loop.lower(), size.get(loop, 1)) for loop in loops]  # type: ignore[arg-type]
        marked = [
            predict(Schedule(layer=layer, nest=(*steps[:place], Marker(ARRAYS), *steps[place:])))
            for place in range(len(steps))
        ]
        marked.append(predict(Schedule(layer=layer, nest=tuple(steps))))
        operands = [{(one.need_bytes[array], one.counts.operand_bytes(array)) for one in marked} for array in ARRAYS]
        for three in product(*operands):
            need, total = (sum(values) for values in zip(*three, strict=True))
            found[need] = min(found.get(need, 1 << 62), total)
    return found


@pytest.mark.parametrize("number", [0, pytest.param(97, marks=pytest.mark.nightly)])
def test_an_order_reaches_what_brute_force_reaches(number: int) -> None:
    layer = Layer(**{**TINY.model_dump(), "kernel": (2, 2), "output_width": 2, "padding": (0, 0, 0, 0)})
    loops, sizes = published_loops()[number], (14, 30, 60)
    found = brute_force(loops, layer)
    least = [min(total for need, total in found.items() if need <= size) for size in sizes]
    assert least_by_order(layer, sizes, least, orders=[loops]) == [least]
    assert least_by_order(layer, sizes, [one - 1 for one in least], orders=[loops]) == [[None] * 3]


def test_several_buffer_sizes_at_once_are_as_one_by_one() -> None:
    layer = Layer(**{**TINY.model_dump(), "kernel": (2, 2), "output_width": 2, "padding": (0, 0, 0, 0)})
    sizes = (14, 30, 60)
    limits = [2 * found.total_bytes for found in search(layer, sizes)]
    together = least_by_order(layer, sizes, limits)
    for place, (size, limit) in enumerate(zip(sizes, limits, strict=True)):
        assert [order[place] for order in together] == [one for (one,) in least_by_order(layer, [size], [limit])]


def test_published_sampling() -> None:
    loops = published_loops()
    assert len(set(loops)) == 180
    assert all(order.startswith("MCYX") and sorted(order[4:]) == sorted("mcyxkl") for order in loops)
    assert [step for step, usable in enumerate(powers_of_two(13)) if usable] == [1, 2, 4, 8, 13]
    layer = load_layer_set("stoutchinin_2019:alexnet_4").convolutions()[0]
    sizes = (1024, 4096)
    ours = [found.total_bytes for found in search(layer, sizes)]
    published = sampled(layer, sizes)
    assert all(theirs is not None and theirs > least for theirs, least in zip(published, ours, strict=True))
    assert sampled(TINY, [1]) == [None]


def test_shares_of_the_orders_add_up_and_equal_layers_agree() -> None:
    tried = order_traffic([TINY, OTHER], [30, 60], ALONE)
    assert [(one.layer, one.buffer_bytes) for one in tried] == [
        ("tiny_1", 30), ("tiny_1", 60), ("tiny_2", 30), ("tiny_2", 60),
    ]  # fmt: skip
    (first, _, second, _) = order_quality(tried)
    for one in (first, second):
        shares = (one.optimal, one.within_10, one.within_20, one.within_50, one.within_100, one.beyond)
        assert sum(shares) == pytest.approx(100)
        assert one.optimal > 0
    assert first.optimal == second.optimal
    summaries = order_summaries(tried)
    assert [(one.buffer_bytes, one.layers) for one in summaries] == [(30, 2), (60, 2)]
    assert summaries[0].optimal == first.optimal == summaries[0].median_optimal


def tried(layer: str, size: int, *least: int | None) -> OrderTraffic:
    return OrderTraffic("n", layer, size, 100, least)


def test_orders_over_all_layers_by_hand() -> None:
    """Of four orders the first reaches the optimum of both layers at 64 KiB, none that of both at 1 KiB."""
    rows = [tried("a", 1024, 100, 105, 150, None), tried("b", 1024, 110, 100, 100, 100),
            tried("a", 1 << 17, 100, 100, 200, None), tried("b", 1 << 17, 100, 120, 100, 100)]  # fmt: skip
    small, large = order_summaries(rows)
    assert (small.optimal, small.median_optimal, small.everywhere) == (50, 50, 0)
    assert (small.within_10, small.within_50, small.beyond) == (25, 12.5, 12.5)
    assert (large.optimal, large.within_20, large.within_100, large.everywhere) == (62.5, 12.5, 12.5, 1)
    few, many, everywhere = claims([], [], [], [small, large])[-3:]
    assert few.found == "mean over the layers 1 KiB: 50.0 % (median 50.0); 128 KiB: 62.5 % (median 62.5)"
    assert (few.verdict, many.verdict) == ("not reproduced", "not reproduced")
    assert (everywhere.found, everywhere.verdict) == ("1 KiB: 0 orders; 128 KiB: 1 orders", "refuted")
    fewer = replace(small, optimal=19.9)
    assert [one.verdict for one in claims([], [], [], [fewer])[-3:]] == ["reproduced", "not judged", "reproduced"]


def test_engines_and_the_row_without_a_line_buffer() -> None:
    layers = load_layer_set("stoutchinin_2019").convolutions()
    chosen = [layer for layer in layers if layer.name in ("alexnet_1", "zfnet_6", "resnet_s5_1")]
    rows = {one.layer: one for one in engines(chosen, ALONE)}
    first = rows["alexnet_1"]
    assert (first.fits, first.over_fig8, first.over_best) == (False, None, None)
    assert first.hwce_need == 11 * 224 + 121 + 4
    assert first.stripe is not None
    assert first.hwce_striped is not None
    assert first.hwce_striped > first.hwce
    assert rows["resnet_s5_1"].pointwise
    small = rows["zfnet_6"]
    assert not small.pointwise
    assert small.fig8 is not None
    assert small.over_fig8 == predict(hwce(chosen[1])).total_bytes / small.fig8 == small.hwce / small.fig8
    assert small.best <= small.fig8
    stated = claims([], list(rows.values()), [], [])
    (claim,) = (claim for claim in stated if "no bar" in claim.published)
    assert (claim.found, claim.verdict) == ("alexnet_1", "reproduced")
    # zfnet_6 alone has larger kernels and a bar: it does not reach the published 14 times.
    (claim,) = (claim for claim in stated if claim.published.startswith("up to 14"))
    assert small.over_fig8 < 14
    assert claim.verdict == "not reproduced"


def test_rows_are_csv() -> None:
    assert csv_text([row(100, 110, None)], ["ratio"]).splitlines() == [
        "network,layer,reading,buffer_bytes,ours,peemen,cache,essential,bound,ratio",
        "alexnet,alexnet_1,bytes,1024,100,110,,50,80,1.25",
    ]


COMMAND = ("paper", "stoutchinin-2019", "--networks", "zfnet_6,resnet_s5_1", "--buffer", "1KiB,64KiB", "-o")


def test_the_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = run(*COMMAND, tmp_path, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert answer.json["layers"] == 2
    assert answer.json["exceptions"] == []
    stems = {f"{stem}.{suffix}" for stem in ("fig4", "fig5", "fig7", "fig10") for suffix in ("png", "svg", "csv")}
    expected = (stems - {"fig5.csv"}) | {"fig4_networks.csv", "fig7_sizes.csv", "utilisation.csv", "README.md"}
    assert all(claim["verdict"] for claim in answer.json["claims"])
    assert {Path(file).name for file in answer.json["files"]} == expected
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    assert set(files) == expected
    assert files["fig4.png"].startswith(b"\x89PNG")
    assert b"</svg>" in files["fig10.svg"]
    rows = list(csv.DictReader((tmp_path / "fig4.csv").read_text(encoding="utf-8").splitlines()))
    (one,) = (r for r in rows if (r["layer"], r["reading"], r["buffer_bytes"]) == ("zfnet_6", "bytes", "1024"))
    layer = load_layer_set("stoutchinin_2019:zfnet_6").convolutions()[0]
    assert int(one["ours"]) == search(layer, [1024])[0].total_bytes

    def searches_again(*_: object, **__: object) -> None:
        raise AssertionError("what is stored is not searched again")

    monkeypatch.setattr(hwgen.search.core.batch, "search", searches_again)
    answer = run(*COMMAND, tmp_path)
    assert answer.status == 0
    assert answer.out.encode() == files["README.md"]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == files


def test_refusals(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    refused(run("paper", "stoutchinin-2019"), "Missing option '-o' / '--output'")
    refused(run("paper", "stoutchinin-2020", "-o", folder), "stoutchinin-2020")
    refused(
        run("paper", "stoutchinin-2019", "-o", folder, "--networks", "lenet"), "--networks: expected some of alex"
    )
    refused(run("paper", "stoutchinin-2019", "-o", folder, "--buffer", "x"), "--buffer: expected sizes")
    assert not folder.exists()
    folder.touch()
    refused(run("paper", "stoutchinin-2019", "-o", folder), "-o: expected a folder, got the file")
